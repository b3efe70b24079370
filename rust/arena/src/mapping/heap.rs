//! Private memory in place of a file: the heap, which miri can watch, and pages that cost nothing.

use super::{Backing, Mapping};
use crate::error::{Error, Result};
use crate::layout::LINE;
use std::alloc::{alloc_zeroed, dealloc, Layout};
use std::ptr::NonNull;

pub(super) struct Block {
    start: NonNull<u8>,
    layout: Layout,
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: start came from alloc_zeroed with this very layout, and a Block is dropped once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

pub(crate) fn heap(length: usize) -> Result<Mapping> {
    let layout = Layout::from_size_align(length.max(1), LINE as usize)
        .map_err(|_| Error::Invalid(format!("{length} bytes are more than the heap can hold")))?;
    // SAFETY: the layout has a size of at least 1.
    let start = NonNull::new(unsafe { alloc_zeroed(layout) })
        .ok_or_else(|| Error::system(format!("cannot allocate {length} bytes")))?;
    Ok(Mapping { base: start, length, _backing: Backing::Heap(Block { start, layout }) })
}

/// Pages that cost nothing until they are touched, for tests of large arenas; None where the machine gives no such.
#[cfg(all(test, not(miri)))]
pub(crate) fn sparse(length: usize) -> Option<Mapping> {
    let pages = memmap2::MmapOptions::new().len(length).no_reserve_swap().map_anon().ok()?;
    let pages = memmap2::MmapRaw::from(pages);
    Some(Mapping { base: NonNull::new(pages.as_mut_ptr())?, length, _backing: Backing::Pages(pages) })
}
