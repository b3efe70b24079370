//! Where the bytes come from: a memfd, a named file, or (for miri and tests) the heap.

mod anonymous;
mod heap;
mod memory;
pub(crate) mod named;

use crate::error::{Error, Result};
use crate::layout::{ArenaHeader, Shared};
use memmap2::{MmapOptions, MmapRaw};
use std::fs::File;
use std::io;
use std::mem::{align_of, size_of};
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

pub(crate) use anonymous::anonymous;
pub(crate) use heap::heap;
#[cfg(all(test, not(miri)))]
pub(crate) use heap::sparse;

/// A region of bytes that stays where it is until dropped. Its length is the one checked when it was made.
pub(crate) struct Mapping {
    base: NonNull<u8>,
    length: usize,
    // Held for its Drop, which gives the bytes back.
    _backing: Backing,
}

enum Backing {
    Pages(#[allow(dead_code)] MmapRaw),
    Heap(#[allow(dead_code)] heap::Block),
}

// SAFETY: the bytes belong to no thread; every access to them goes through atomics.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    pub(crate) fn base(&self) -> NonNull<u8> {
        self.base
    }

    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// The one place where an offset becomes a reference: `count` values from `offset` on, or None when they do
    /// not lie inside, or not aligned.
    pub(crate) fn view<T: Shared>(&self, offset: u64, count: u64) -> Option<&[T]> {
        let bytes = count.checked_mul(size_of::<T>() as u64)?;
        let end = offset.checked_add(bytes)?;
        if end > self.length as u64 || offset % align_of::<T>() as u64 != 0 {
            return None;
        }
        // SAFETY: the range lies inside the mapping, whose base is aligned to a line or better; T is atomics
        // alone (Shared), so any bytes are a value and any writer is allowed.
        Some(unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(offset as usize).cast::<T>(), count as usize) })
    }

    /// The header, which every mapping is long enough for.
    #[inline]
    pub(crate) fn header(&self) -> &ArenaHeader {
        debug_assert!(self.length as u64 >= crate::header::SMALLEST);
        // SAFETY: no mapping shorter than a header is ever made (`header::extent`, `NamedPath::open`); the rest as
        // in `view`.
        unsafe { &*self.base.as_ptr().cast::<ArenaHeader>() }
    }

    /// Maps `length` bytes of a file, shared. The file may be closed afterwards.
    fn of_file(file: &File, length: usize, what: &str) -> Result<Mapping> {
        let pages = MmapOptions::new()
            .len(length)
            .map_raw(file)
            .map_err(|cause| Error::System { doing: format!("cannot map {length} bytes of {what}"), cause })?;
        let base = NonNull::new(pages.as_mut_ptr())
            .ok_or_else(|| Error::Corrupt(format!("{what} was mapped at address 0")))?;
        Ok(Mapping { base, length, _backing: Backing::Pages(pages) })
    }
}

/// Sets the length of a new file and reserves every page of it, so that no later write can find the file system
/// full. Tells how much was wanted and how much there is.
fn reserve(file: &File, length: u64, what: &str) -> Result<()> {
    // A signal interrupts a reservation and undoes it; small steps make progress between two ticks of a timer.
    const STEP: u64 = 4 << 20;
    let refused = |code: i32, most: Option<u64>, of_what: &str| {
        let room = most.map_or(String::new(), |most| format!(" ({most} bytes {of_what})"));
        let doing = format!("cannot reserve {length} bytes in {what}{room}");
        Err(Error::System { doing, cause: io::Error::from_raw_os_error(code) })
    };
    // Asking first: a request that can never fit must neither fill the file system on the way nor, worse, the
    // memory, for then the kernel would kill somebody to make room.
    let largest = largest_file();
    if largest.is_some_and(|most| most < length) {
        return refused(libc::EFBIG, largest, "may a file have here");
    }
    let room = free_bytes(file);
    if room.is_some_and(|free| free < length) {
        return refused(libc::ENOSPC, room, "free");
    }
    let memory = if lives_in_memory(file) { memory::available() } else { None };
    if memory.is_some_and(|free| free < length) {
        return refused(libc::ENOMEM, memory, "free");
    }
    let mut done = 0;
    while done < length {
        let step = STEP.min(length - done);
        // SAFETY: posix_fallocate takes plain integers and an open descriptor.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), done as libc::off_t, step as libc::off_t) } {
            0 => done += step,
            libc::EINTR => {}
            code => return refused(code, free_bytes(file), "free"),
        }
    }
    Ok(())
}

/// The limit on the size of files (`ulimit -f`), if there is one: going past it is answered with a signal.
fn largest_file() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: getrlimit fills the structure it is given.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) == 0 };
    (known && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// Bytes an ordinary user can still take in the file system of `file`; None where it does not say.
fn free_bytes(file: &File) -> Option<u64> {
    // SAFETY: an all-zero statvfs is a valid value of that plain C struct, and fstatvfs fills it.
    let figures = unsafe {
        let mut figures: libc::statvfs = std::mem::zeroed();
        (libc::fstatvfs(file.as_raw_fd(), &mut figures) == 0).then_some(figures)
    }?;
    // A tmpfs without a limit, as behind a memfd, reports no blocks at all.
    (figures.f_blocks > 0).then(|| figures.f_bavail.saturating_mul(figures.f_frsize))
}

/// Whether the file system of `file` keeps its pages in memory.
fn lives_in_memory(file: &File) -> bool {
    // SAFETY: an all-zero statfs is a valid value of that plain C struct, and fstatfs fills it.
    unsafe {
        let mut figures: libc::statfs = std::mem::zeroed();
        libc::fstatfs(file.as_raw_fd(), &mut figures) == 0 && figures.f_type == libc::TMPFS_MAGIC as _
    }
}

/// Checked references into a mapping that a structure keeps, together with the mapping itself.
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
    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: start and count were a slice of the mapping, which `new` had its caller keep alive.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}
