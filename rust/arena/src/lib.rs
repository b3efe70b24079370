//! Maps, counters and rate limiters in one mapped region that many processes read and write directly.
//!
//! Start at [`Arena`]; [`Map`] and [`Limiter`] live in one. Nothing here knows of Perl, and nothing shared
//! is ever a pointer: everything in the mapping is a fixed-width integer that is bounded before it is used.
//!
//! The modules, from the bottom up: `sync` (atomics), `layout` (the shared bytes), `hash`, `clock`, `error`,
//! `mapping` (where the bytes come from), `header` (validating them), `process`, `patience` and `lock` (robust locks),
//! `arena` and `registry` (regions), `map` and `rate`.

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
compile_error!("shared-arena needs 64-bit Linux");

mod arena;
pub mod clock;
mod error;
pub mod failpoint;
mod hash;
mod header;
pub mod layout;
mod lock;
mod map;
mod mapping;
pub mod patience;
mod process;
mod rate;
mod registry;
mod sync;

pub use arena::{Arena, DEFAULT_REGIONS, DEFAULT_SIZE};
pub use error::{Error, Result};
pub use map::{Content, Counted, Figures as MapFigures, Map, NextKey, Read, Shape as MapShape, Stored};
pub use rate::{Figures as LimiterFigures, Limiter, Outlook, Policy, MAX_LIMIT, MAX_WINDOW, MIN_LIMIT, MIN_WINDOW};
pub use registry::Region;

/// Whether this machine has the 16-byte compare-and-swap that counters and limiters rest on.
#[must_use]
pub fn have_atomics() -> bool {
    sync::Pair::is_lock_free()
}
