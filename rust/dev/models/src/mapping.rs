//! Stands in for the arena's `mapping`: memory whose cells loom knows of, and checked references into it.

use crate::layout::{ArenaHeader, Shared};
use crate::memory::Memory;
use std::mem::{align_of, size_of};
use std::ptr::NonNull;

pub(crate) struct Mapping(Memory);

impl Mapping {
    pub(crate) fn new(length: u64) -> Mapping {
        Mapping(Memory::new(length as usize))
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.0
    }

    pub(crate) fn length(&self) -> usize {
        self.0.length()
    }

    pub(crate) fn view<T: Shared>(&self, offset: u64, count: u64) -> Option<&[T]> {
        let end = offset.checked_add(count.checked_mul(size_of::<T>() as u64)?)?;
        if end > self.length() as u64 || offset % align_of::<T>() as u64 != 0 {
            return None;
        }
        // SAFETY: the range lies inside, aligned, and T is atomics alone.
        Some(unsafe { std::slice::from_raw_parts(self.0.start().add(offset as usize).cast::<T>(), count as usize) })
    }

    pub(crate) fn header(&self) -> &ArenaHeader {
        &self.view(0, 1).expect("a mapping has a header")[0]
    }
}

pub(crate) struct View<T: Shared> {
    start: NonNull<T>,
    count: usize,
}

// SAFETY: a View is a shared slice of atomics.
unsafe impl<T: Shared> Send for View<T> {}
// SAFETY: as above.
unsafe impl<T: Shared> Sync for View<T> {}

impl<T: Shared> View<T> {
    /// # Safety
    /// Whoever keeps the View keeps the mapping of `slice` alive as long.
    pub(crate) unsafe fn new(slice: &[T]) -> View<T> {
        View { start: NonNull::from(slice).cast(), count: slice.len() }
    }
}

impl<T: Shared> std::ops::Deref for View<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: start and count were a slice of the mapping, which `new` had its caller keep alive.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}
