//! An arena: one mapping, its header, and the way from an offset to a reference.

use crate::error::{Error, Result};
use crate::header::{self, Header};
use crate::layout::{MAX_ARENA_SIZE, MAX_REGIONS};
use crate::lock::{self, Court, Guard};
use crate::mapping::named::{Made, NamedPath};
use crate::mapping::{self, Mapping};
use crate::process;
use crate::sync::{AtomicU32, AtomicU64, Ordering, Pair};
use std::sync::Arc;
use std::time::Duration;

/// `size` where the caller names none: 1 MiB.
pub const DEFAULT_SIZE: u64 = 1 << 20;
/// `regions` where the caller names none.
pub const DEFAULT_REGIONS: u32 = 64;

/// Before a line is drawn: of no life that a process comes to.
const NOT_DRAWN: u64 = u64::MAX;

/// How often a creation that the system refused is tried again: others may have taken, for a moment, what there was.
/// On a busy machine a moment may be long: the pauses double from this one, to 0.6 seconds in all.
const CREATE_AGAIN: u32 = 8;
const CREATE_PAUSE: Duration = Duration::from_millis(5);

/// Memory that processes share, and the regions carved from it.
///
/// Dropping the last reference unmaps it from this process; a name stays until [`Arena::destroy`].
pub struct Arena {
    mapping: Mapping,
    pub(crate) header: Header,
    name: Option<Vec<u8>>,
    created: bool,
    /// Which life of this process (see `process.rs`) has been checked against the arena's pid namespace.
    checked_life: AtomicU64,
    /// This process's line of statistics, and the life in which it was drawn; see [`Arena::line`].
    drawn_line: AtomicU64,
    /// What says which life this is.
    life: &'static AtomicU64,
}

impl Arena {
    /// Makes an arena in which regions charged up to `size` bytes in all can be carved; or, when `name` exists
    /// already, opens that one as it is.
    ///
    /// # Errors
    /// `Invalid` for an argument out of range, `System` when memory cannot be had, `Corrupt` when the name exists
    /// and cannot be used.
    pub fn create(name: Option<&[u8]>, size: u64, regions: u32) -> Result<Arc<Arena>> {
        check_machine()?;
        if size == 0 || size > MAX_ARENA_SIZE {
            return Err(Error::Invalid(format!("an arena's size is 1 to {MAX_ARENA_SIZE} bytes, not {size}")));
        }
        if regions == 0 || regions > MAX_REGIONS {
            return Err(Error::Invalid(format!("an arena has 1 to {MAX_REGIONS} regions, not {regions}")));
        }
        let (_, mapped) = header::extent(size, regions);
        let length = usize::try_from(mapped)
            .map_err(|_| Error::Invalid(format!("an arena of {size} bytes is too large for this machine")))?;
        let seeds = header::seeds()?;
        let Some(name) = name else {
            let mapping = mapping::anonymous(length)?;
            header::write(&mapping, size, regions, seeds);
            return Arena::open(mapping, None, true, "the new arena");
        };
        let path = NamedPath::new(name)?;
        let mut _queue = None;
        let mut refused = 0;
        // Losing the race for a name and then finding it destroyed is bad luck a few times, and a bug for ever.
        for _ in 0..100 {
            if let Some(mapping) = path.open()? {
                return Arena::open(mapping, Some(name), false, &path.describe());
            }
            match path.create(length, |fresh| header::write(fresh, size, regions, seeds)) {
                Ok(Made::Created(mapping)) => return Arena::open(mapping, Some(name), true, &path.describe()),
                Ok(Made::Exists) => {}
                // Those who lose the race hold their memory until they know: together they may have wanted more than
                // there is, where one has room. They queue up, and the first makes it for all.
                Err(Error::System { .. }) if refused < CREATE_AGAIN => {
                    if refused == 0 {
                        _queue = path.queue();
                    } else {
                        std::thread::sleep(CREATE_PAUSE * (1 << (refused - 1)));
                    }
                    refused += 1;
                }
                Err(error) => return Err(error),
            }
        }
        Err(Error::Corrupt(format!("{} comes and goes", path.describe())))
    }

    /// Opens the arena of that name; None when there is none.
    ///
    /// # Errors
    /// `Invalid` for a name that can be none, `System` or `Corrupt` when it exists and cannot be used.
    pub fn attach(name: &[u8]) -> Result<Option<Arc<Arena>>> {
        check_machine()?;
        let path = NamedPath::new(name)?;
        match path.open()? {
            Some(mapping) => Arena::open(mapping, Some(name), false, &path.describe()).map(Some),
            None => Ok(None),
        }
    }

    /// Removes a name; true when it was there. Whoever has the arena open keeps it.
    ///
    /// # Errors
    /// As [`Arena::attach`].
    pub fn destroy(name: &[u8]) -> Result<bool> {
        NamedPath::new(name)?.destroy()
    }

    /// An arena on the heap of this process: for tests, and for miri.
    ///
    /// # Errors
    /// `System` when there is not enough memory.
    pub fn on_heap(size: u64, regions: u32) -> Result<Arc<Arena>> {
        let mapping = mapping::heap(header::extent(size, regions).1 as usize)?;
        header::write(&mapping, size, regions, header::seeds()?);
        Arena::open(mapping, None, true, "an arena on the heap")
    }

    /// An arena of this process alone whose pages cost nothing until they are touched.
    #[cfg(all(test, not(miri)))]
    pub(crate) fn sparse(size: u64, regions: u32) -> Option<Arc<Arena>> {
        let mapping = mapping::sparse(header::extent(size, regions).1 as usize)?;
        header::write(&mapping, size, regions, header::seeds().ok()?);
        Arena::open(mapping, None, true, "a sparse arena").ok()
    }

    fn open(mapping: Mapping, name: Option<&[u8]>, created: bool, what: &str) -> Result<Arc<Arena>> {
        let header = header::read(&mapping, what)?;
        Ok(Arc::new(Arena {
            mapping,
            header,
            name: name.map(<[u8]>::to_vec),
            created,
            checked_life: AtomicU64::new(0),
            drawn_line: AtomicU64::new(NOT_DRAWN),
            life: process::life_word(),
        }))
    }

    /// The bytes that regions may be charged in all: what `create` was asked for.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.header.size
    }

    /// Whether this very call made the arena: true in exactly one process.
    #[must_use]
    pub fn created(&self) -> bool {
        self.created
    }

    /// The name; None for an anonymous arena.
    #[must_use]
    pub fn name(&self) -> Option<&[u8]> {
        self.name.as_deref()
    }

    /// The address of the mapping in this process.
    #[must_use]
    pub fn base(&self) -> usize {
        self.mapping.base().as_ptr() as usize
    }

    pub(crate) fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// A number for this process in this arena, drawn from a shared counter once: its line of statistics.
    #[inline]
    pub(crate) fn line(&self) -> usize {
        // Relaxed: a line only spreads the writes, any one serves.
        let drawn = self.drawn_line.load(Ordering::Relaxed);
        // In a life that is new to us the word is 0, or not that in which ours was drawn.
        if drawn >> 32 == self.life.load(Ordering::Relaxed) & 0xffff_ffff {
            drawn as u32 as usize
        } else {
            self.draw_line()
        }
    }

    #[cold]
    #[inline(never)]
    fn draw_line(&self) -> usize {
        // Relaxed: as in `line`; threads that draw at once end with one of their lines.
        let line = self.mapping.header().processes.fetch_add(1, Ordering::Relaxed);
        self.drawn_line.store(process::life() << 32 | u64::from(line), Ordering::Relaxed);
        line as usize
    }

    /// Takes one of the arena's locks, if that needs no more than a few instructions.
    #[inline(always)] // as lock::acquire_at_once
    pub(crate) fn lock_at_once<'a>(&'a self, word: &'a AtomicU32) -> Option<Guard<'a>> {
        lock::acquire_at_once(word, self.court())
    }

    /// Takes one of the arena's locks.
    pub(crate) fn lock<'a>(&'a self, word: &'a AtomicU32) -> Result<Guard<'a>> {
        lock::acquire(word, self.court())
    }

    /// Takes one of the arena's locks if nobody has it.
    pub(crate) fn try_lock<'a>(&'a self, word: &'a AtomicU32) -> Option<Guard<'a>> {
        lock::try_acquire(word, self.court())
    }

    #[inline(always)]
    fn court(&self) -> Court<'_> {
        let raw = self.mapping.header();
        Court {
            broken: &raw.broken_locks,
            mixed_namespaces: &raw.mixed_namespaces,
            pid_namespace: self.header.pid_namespace,
            checked_life: &self.checked_life,
        }
    }

    /// How often a lock was broken because its word named nobody alive: only a scribble does that.
    #[must_use]
    pub fn broken_locks(&self) -> u64 {
        self.mapping.header().broken_locks.load(Ordering::Relaxed)
    }
}

fn check_machine() -> Result<()> {
    if Pair::is_lock_free() {
        return Ok(());
    }
    let text = "this processor has no 16-byte compare-and-swap".into();
    Err(Error::System { doing: text, cause: std::io::Error::from_raw_os_error(libc::ENOTSUP) })
}
