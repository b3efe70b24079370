//! What tests need of the inside: clocks that stand still, short patience, failpoints.

use crate::bytes;
use crate::error::*;
use libc::c_char;
use shared_arena::{clock, failpoint, patience, Error};

/// Freezes the wall clock (nanoseconds since 1970), the monotonic clock, both or neither, for this process.
#[no_mangle]
pub extern "C" fn sa_test_set_clock(wall_frozen: bool, wall_ns: u64, mono_frozen: bool, mono_ns: u64) {
    clock::freeze(wall_frozen.then_some(wall_ns), mono_frozen.then_some(mono_ns));
}

/// How often this process has read a clock since it first called sa_test_set_clock.
#[no_mangle]
pub extern "C" fn sa_test_clock_reads() -> u64 {
    clock::reads()
}

/// How long this process waits for a lock somebody holds, in milliseconds.
#[no_mangle]
pub extern "C" fn sa_test_lock_patience(ms: u64) {
    patience::set_patience(ms);
}

/// Whether this build has failpoints.
#[no_mangle]
pub extern "C" fn sa_test_failpoints() -> bool {
    failpoint::COMPILED
}

/// The name of the failpoint with that number, from 0, not ended by a NUL; null past the last.
///
/// # Safety
/// `len` is writable.
#[no_mangle]
pub unsafe extern "C" fn sa_test_failpoint_name(index: u32, len: *mut usize) -> *const c_char {
    let Some(name) = failpoint::NAMES.get(index as usize) else { return std::ptr::null() };
    // SAFETY: the caller's promise.
    unsafe { len.write(name.len()) };
    name.as_ptr().cast()
}

/// Arms one failpoint: 0 nothing, 1 SIGKILL, 2 SIGSTOP. SA_INVALID for an unknown name or action, and in a build
/// without failpoints.
///
/// # Safety
/// `name` points at `len` bytes; `err` is null or writable.
#[no_mangle]
pub unsafe extern "C" fn sa_test_failpoint(
    name: *const c_char,
    len: usize,
    action: u32,
    err: *mut sa_error,
) -> sa_status {
    // SAFETY: the caller's promises.
    unsafe {
        call(err, || {
            let name = String::from_utf8_lossy(bytes(name, len));
            let action = match action {
                0 => failpoint::Action::Off,
                1 => failpoint::Action::Kill,
                2 => failpoint::Action::Stop,
                _ => return Err(Error::Invalid(format!("no failpoint action {action}"))),
            };
            if failpoint::arm(&name, action) {
                return Ok(SA_OK);
            }
            let why = if failpoint::COMPILED { "there is none of that name" } else { "this build has none" };
            Err(Error::Invalid(format!("cannot arm failpoint '{name}': {why}")))
        })
    }
}
