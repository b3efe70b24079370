//! Everything that can go wrong, and the one table from error to message.

use crate::patience::Wait;
use std::fmt;
use std::io;

/// The result of a call on shared memory.
pub type Result<T> = core::result::Result<T, Error>;

/// Why a call could not be carried out. `Display` gives the message, without the caller's place or a newline.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// An argument outside its documented range.
    Invalid(String),
    /// The name is carved already, as something else.
    Shape {
        /// What the caller asked for.
        asked: String,
        /// What the arena holds under that name.
        there: String,
    },
    /// The arena has no room left for a region.
    Full {
        /// Bytes the region would be charged.
        needed: u64,
        /// Bytes not charged yet.
        free: u64,
        /// The arena's size.
        size: u64,
    },
    /// Every registry entry is taken.
    NoEntry {
        /// How many regions the arena was created for.
        limit: u32,
    },
    /// A lock was held by somebody else for longer than a caller waits.
    Busy(Wait),
    /// A lock is held and the caller asked to wait in turns: nothing has happened, and the call may be made again.
    Waiting(Wait),
    /// This thread holds the lock already: a handler ran in the middle of a call.
    Reentered,
    /// A counter would leave the signed 64-bit range.
    Overflow {
        /// The counter's number, which stands.
        number: i64,
        /// What was to be added.
        by: i64,
    },
    /// The operating system refused.
    System {
        /// What was being done, and to what.
        doing: String,
        /// The system's own reason.
        cause: io::Error,
    },
    /// An arena or region that this build cannot use, or that was damaged.
    Corrupt(String),
}

impl Error {
    /// The last system error, with what was being done.
    pub(crate) fn system(doing: impl Into<String>) -> Error {
        Error::System { doing: doing.into(), cause: io::Error::last_os_error() }
    }
}

/// A name as messages show it: readable, and never so long that the rest of the message is lost.
pub(crate) fn shown(name: &[u8]) -> String {
    const MOST: usize = 60;
    let text = String::from_utf8_lossy(name);
    let mut characters = text.chars();
    let start: String = characters.by_ref().take(MOST).flat_map(char::escape_debug).collect();
    if characters.next().is_some() {
        format!("'{start}...'")
    } else {
        format!("'{start}'")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Invalid(text) | Error::Corrupt(text) => out.write_str(text),
            Error::Shape { asked, there } => {
                write!(out, "is already carved with a different type or size (asked for {asked}; there is {there})")
            }
            Error::Full { needed, free, size } => {
                write!(out, "does not fit: it takes {needed} bytes, and of the arena's {size} bytes {free} are free")
            }
            Error::NoEntry { limit } => write!(out, "does not fit: all {limit} regions of the arena are taken"),
            Error::Busy(Wait { waited_ns, held_ns, holder, .. }) => {
                write!(out, "thread {holder} has held the lock for more than {} ms", held_ns / 1_000_000)?;
                if held_ns < waited_ns {
                    write!(out, ", and others before, {} ms in all", waited_ns / 1_000_000)?;
                }
                Ok(())
            }
            Error::Waiting(wait) => write!(out, "still waiting for a lock, after {} ms", wait.waited_ns / 1_000_000),
            Error::Reentered => out.write_str("called from a handler that interrupted another call on the same lock"),
            Error::Overflow { number, by } => write!(out, "counter overflow: {number} and {by} more"),
            Error::System { doing, cause } => {
                // The standard library appends "(os error N)", which tells a user nothing more.
                let text = cause.to_string();
                let reason = text.split(" (os error").next().unwrap_or(&text);
                write!(out, "{doing}: {reason}")
            }
        }
    }
}

impl std::error::Error for Error {}
