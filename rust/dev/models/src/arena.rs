//! Stands in for the arena itself: memory, the bounds that its header gives, and its locks.

use crate::error::Result;
use crate::hash::KeyHash;
use crate::layout::{room_for, ArenaHeader, RegistryEntry};
use crate::lock::{self, Guard};
use crate::mapping::Mapping;
use crate::sync::AtomicU32;
use std::mem::size_of;
use std::sync::Arc;

pub(crate) struct Header {
    pub size: u64,
    pub region_limit: u32,
    pub regions_start: u64,
    pub hash: KeyHash,
}

pub struct Arena {
    mapping: Mapping,
    pub(crate) header: Header,
}

impl Arena {
    pub(crate) fn new(size: u64, region_limit: u32) -> Arc<Arena> {
        let table = size_of::<RegistryEntry>() as u64 * u64::from(region_limit);
        let regions_start = size_of::<ArenaHeader>() as u64 + table;
        let mapping = Mapping::new(regions_start + room_for(size, u64::from(region_limit)));
        Arc::new(Arena { mapping, header: Header { size, region_limit, regions_start, hash: KeyHash } })
    }

    pub(crate) fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    pub(crate) fn lock_at_once<'a>(&'a self, word: &'a AtomicU32) -> Option<Guard<'a>> {
        lock::acquire_at_once(word)
    }

    pub(crate) fn lock<'a>(&'a self, word: &'a AtomicU32) -> Result<Guard<'a>> {
        lock::acquire(word)
    }

    pub(crate) fn try_lock<'a>(&'a self, word: &'a AtomicU32) -> Option<Guard<'a>> {
        lock::try_acquire(word)
    }
}
