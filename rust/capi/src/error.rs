//! Status codes, error texts, and the boundary no panic crosses.

use libc::c_char;
use shared_arena::patience::{self, Wait};
use shared_arena::Error;
use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// How a call ended: one of the `SA_…` codes below.
pub type sa_status = i32;

/// Done.
pub const SA_OK: sa_status = 0;
/// No arena, region or key of that name.
pub const SA_ABSENT: sa_status = 1;
/// No room.
pub const SA_FULL: sa_status = 2;
/// The key is empty, or key and value are larger than `sa_map_max_pair`.
pub const SA_TOO_LARGE: sa_status = 3;
/// The key holds a value that is no counter.
pub const SA_NOT_COUNTER: sa_status = 4;
/// The counter would leave the signed 64-bit range.
pub const SA_OVERFLOW: sa_status = 5;
/// Somebody held a lock for too long, or an entry kept changing.
pub const SA_BUSY: sa_status = 6;
/// The caller's buffer is too small.
pub const SA_SHORT: sa_status = 7;
/// The name is carved already with another type or shape.
pub const SA_SHAPE: sa_status = 8;
/// An argument out of its range.
pub const SA_INVALID: sa_status = 9;
/// The operating system refused.
pub const SA_SYSTEM: sa_status = 10;
/// Memory that this build cannot use, or that was written over.
pub const SA_CORRUPT: sa_status = 11;
/// A bug in this library.
pub const SA_INTERNAL: sa_status = 12;

/// Somebody holds a lock, and the process waits in turns (`sa_wait_in_turns`): nothing has happened. Handle signals,
/// then make the same call with the same `sa_error`.
pub const SA_AGAIN: sa_status = 13;

/// Bytes of an error's text, the NUL that ends it among them.
pub const SA_ERROR_TEXT: usize = 500;

/// Why a call failed. Filled whenever a function that takes one returns SA_OVERFLOW, SA_BUSY, SA_SHAPE,
/// SA_INVALID, SA_SYSTEM, SA_CORRUPT or SA_INTERNAL, or SA_FULL from carving or binding.
#[repr(C)]
pub struct sa_error {
    /// What the call has waited in its turns, in nanoseconds: 0 before the first. Only read and written where the
    /// process waits in turns, as are the next three.
    pub waited_ns: u64,
    /// How much of that was for the present holder of the lock.
    pub held_ns: u64,
    /// That holder: the kernel's id of a thread.
    pub holder: u32,
    /// Which lock it holds.
    pub lock: usize,
    /// The code that was returned.
    pub status: sa_status,
    /// Bytes of text, without the NUL.
    pub length: u32,
    /// UTF-8, ended by a NUL, cut to fit.
    pub text: [c_char; SA_ERROR_TEXT],
}

fn code(error: &Error) -> sa_status {
    match error {
        Error::Invalid(_) => SA_INVALID,
        Error::Shape { .. } => SA_SHAPE,
        Error::Full { .. } | Error::NoEntry { .. } => SA_FULL,
        Error::Busy(_) | Error::Reentered => SA_BUSY,
        Error::Waiting(_) => SA_AGAIN,
        Error::Overflow { .. } => SA_OVERFLOW,
        Error::System { .. } => SA_SYSTEM,
        Error::Corrupt(_) => SA_CORRUPT,
        _ => SA_INTERNAL,
    }
}

/// # Safety
/// `out` is null or points at an sa_error.
pub(crate) unsafe fn fill(out: *mut sa_error, status: sa_status, text: &str) -> sa_status {
    // SAFETY: the caller's promise.
    if let Some(error) = unsafe { out.as_mut() } {
        let mut length = text.len().min(SA_ERROR_TEXT - 1);
        while !text.is_char_boundary(length) {
            length -= 1;
        }
        error.status = status;
        error.length = length as u32;
        for (to, from) in error.text.iter_mut().zip(&text.as_bytes()[..length]) {
            *to = *from as c_char;
        }
        error.text[length] = 0;
    }
    status
}

/// Runs a call; an error or a panic becomes a code and a text.
///
/// # Safety
/// `out` is null or points at an sa_error.
#[inline(always)] // so that a call which ends well is one function and passes no results through memory
pub(crate) unsafe fn call(out: *mut sa_error, body: impl FnOnce() -> Result<sa_status, Error>) -> sa_status {
    // SAFETY: the caller's promise.
    let resumes = patience::waits_in_turns() && unsafe { out.as_ref() }.is_some_and(|error| error.waited_ns != 0);
    if resumes {
        // SAFETY: as above, and not null.
        unsafe { resume(&*out) };
    }
    // SAFETY: the caller's promise.
    let told = AssertUnwindSafe(|| body().unwrap_or_else(|error| unsafe { tell(out, error) }));
    // SAFETY: as above.
    let status = catch_unwind(told).unwrap_or_else(|panic| unsafe { tell_bug(out, panic) });
    if resumes {
        patience::resume_wait(Wait::default());
    }
    status
}

/// The call goes on waiting where it came back before.
#[cold]
fn resume(error: &sa_error) {
    let sa_error { waited_ns, held_ns, holder, lock, .. } = *error;
    patience::resume_wait(Wait { waited_ns, held_ns, holder, lock });
}

/// # Safety
/// As `fill`.
#[cold]
#[inline(never)]
unsafe fn tell(out: *mut sa_error, error: Error) -> sa_status {
    if let Error::Waiting(Wait { waited_ns, held_ns, holder, lock }) = error {
        // SAFETY: the caller's promise.
        if let Some(error) = unsafe { out.as_mut() } {
            (error.waited_ns, error.held_ns, error.holder, error.lock) = (waited_ns, held_ns, holder, lock);
        }
        return SA_AGAIN;
    }
    // SAFETY: the caller's promise.
    unsafe { fill(out, code(&error), &error.to_string()) }
}

/// # Safety
/// As `fill`.
#[cold]
#[inline(never)]
unsafe fn tell_bug(out: *mut sa_error, panic: Box<dyn Any + Send>) -> sa_status {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    // SAFETY: the caller's promise.
    unsafe { fill(out, SA_INTERNAL, &format!("a bug in the library: {text}")) }
}

/// Lets every call of this process that must wait for a lock return SA_AGAIN after a turn of a few milliseconds, so
/// that its caller can handle signals meanwhile. Without it, calls wait by themselves.
#[no_mangle]
pub extern "C" fn sa_wait_in_turns(on: bool) {
    patience::wait_in_turns(on);
}

/// Runs a call that has no error to tell; a panic becomes `otherwise`.
pub(crate) fn quietly<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(otherwise)
}
