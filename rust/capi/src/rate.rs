//! Rate limiters.

use crate::arena::sa_arena;
use crate::bytes;
use crate::error::*;
use libc::c_char;
use shared_arena::{Limiter, Policy};

/// A limiter, bound in this process. It keeps its arena's mapping.
pub struct sa_rate(Limiter);

/// A limiter's policy and statistics, exact while no call is in flight.
#[repr(C)]
pub struct sa_rate_figures {
    /// Requests a full bucket holds.
    pub limit: f64,
    /// Seconds in which an empty bucket fills.
    pub window: f64,
    /// Keys the table holds.
    pub slots: u64,
    /// Buckets that are not full.
    pub keys: u64,
    /// Checks that said yes.
    pub allowed: u64,
    /// Checks that said no.
    pub denied: u64,
    /// Buckets taken over while still in use.
    pub evicted: u64,
    /// Checks that gave up and were allowed.
    pub contended: u64,
}

/// A time that never comes.
pub const SA_NEVER: u64 = u64::MAX;

/// What an HTTP response tells a client about its bucket, in whole requests and seconds.
#[repr(C)]
pub struct sa_rate_outlook {
    /// Requests a full bucket holds, rounded down.
    pub limit: u64,
    /// Requests the bucket holds now, rounded down.
    pub remaining: u64,
    /// Seconds until the bucket is full, rounded up.
    pub reset: u64,
    /// Seconds until the cost can be paid, rounded up: 0 when it can be now, SA_NEVER when it never can.
    pub retry_after: u64,
}

/// The limiter of that name, carved now if nobody has. `slots` are rounded up to a power of two, at least 64.
/// SA_INVALID, SA_FULL, SA_SHAPE, SA_CORRUPT.
///
/// # Safety
/// `arena` is a live handle; `name` points at `len` bytes; `out` is writable; `err` is null or writable.
#[no_mangle]
pub unsafe extern "C" fn sa_rate_bind(
    arena: *const sa_arena,
    name: *const c_char,
    len: usize,
    limit: f64,
    window: f64,
    slots: u64,
    out: *mut *mut sa_rate,
    err: *mut sa_error,
) -> sa_status {
    // SAFETY: the caller's promises.
    unsafe {
        call(err, || {
            let limiter = Limiter::bind(&(*arena).0, bytes(name, len), Policy { limit, window, slots })?;
            out.write(Box::into_raw(Box::new(sa_rate(limiter))));
            Ok(SA_OK)
        })
    }
}

/// Gives a handle up.
///
/// # Safety
/// `rate` came from this library and is not used afterwards.
#[no_mangle]
pub unsafe extern "C" fn sa_rate_release(rate: *mut sa_rate) {
    // SAFETY: the caller's promise.
    quietly((), || drop(unsafe { Box::from_raw(rate) }));
}

/// Spends `cost` requests of the key's bucket if it holds them; true when it did. `cost` is finite and not
/// negative, here and below. A cost above the limit is never allowed. Constant time, without a lock, as are all calls
/// that are given a key.
///
/// # Safety
/// `rate` is a live handle; `key` points at `key_len` bytes.
#[no_mangle]
pub unsafe extern "C" fn sa_rate_allow(rate: *const sa_rate, key: *const u8, key_len: usize, cost: f64) -> bool {
    // SAFETY: the caller's promises. A limiter that fails fails open.
    quietly(true, || unsafe { (*rate).0.allow(bytes(key, key_len), cost) })
}

/// How many requests of that cost the key could make now; infinitely many of cost 0. The whole part is exact, the rest
/// rounded down. Spends and writes nothing.
///
/// # Safety
/// As `sa_rate_allow`.
#[no_mangle]
pub unsafe extern "C" fn sa_rate_remaining(rate: *const sa_rate, key: *const u8, key_len: usize, cost: f64) -> f64 {
    // SAFETY: the caller's promises.
    quietly(0.0, || unsafe { (*rate).0.remaining(bytes(key, key_len), cost) })
}

/// Seconds until that cost is allowed: 0 when it is now, infinite when it never will be. Writes nothing.
///
/// # Safety
/// As `sa_rate_allow`.
#[no_mangle]
pub unsafe extern "C" fn sa_rate_retry_after(rate: *const sa_rate, key: *const u8, key_len: usize, cost: f64) -> f64 {
    // SAFETY: the caller's promises.
    quietly(0.0, || unsafe { (*rate).0.retry_after(bytes(key, key_len), cost) })
}

/// What a response should say of the key's bucket, all of one moment; `retry_after` is for that cost. Spends and writes
/// nothing.
///
/// # Safety
/// As `sa_rate_allow`; `out` is writable.
#[no_mangle]
pub unsafe extern "C" fn sa_rate_look(
    rate: *const sa_rate,
    key: *const u8,
    key_len: usize,
    cost: f64,
    out: *mut sa_rate_outlook,
) {
    // SAFETY: the caller's promises.
    quietly((), || unsafe {
        let outlook = (*rate).0.outlook(bytes(key, key_len), cost);
        out.write(sa_rate_outlook {
            limit: outlook.limit,
            remaining: outlook.remaining,
            reset: outlook.reset,
            retry_after: outlook.retry_after.unwrap_or(SA_NEVER),
        });
    });
}

/// Fills the key's bucket; true when it had one.
///
/// # Safety
/// As `sa_rate_allow`.
#[no_mangle]
pub unsafe extern "C" fn sa_rate_reset(rate: *const sa_rate, key: *const u8, key_len: usize) -> bool {
    // SAFETY: the caller's promises.
    quietly(false, || unsafe { (*rate).0.reset(bytes(key, key_len)) })
}

/// Gives the key's slot back; true when it had one.
///
/// # Safety
/// As `sa_rate_allow`.
#[no_mangle]
pub unsafe extern "C" fn sa_rate_forget(rate: *const sa_rate, key: *const u8, key_len: usize) -> bool {
    // SAFETY: the caller's promises.
    quietly(false, || unsafe { (*rate).0.forget(bytes(key, key_len)) })
}

/// Keys the table holds.
///
/// # Safety
/// `rate` is a live handle.
#[no_mangle]
pub unsafe extern "C" fn sa_rate_slots(rate: *const sa_rate) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { (*rate).0.slots() }
}

/// Policy and statistics. Walks the whole table.
///
/// # Safety
/// `rate` is a live handle; `out` is writable.
#[no_mangle]
pub unsafe extern "C" fn sa_rate_stats(rate: *const sa_rate, out: *mut sa_rate_figures) {
    // SAFETY: the caller's promises.
    quietly((), || unsafe {
        let figures = (*rate).0.figures();
        out.write(sa_rate_figures {
            limit: figures.policy.limit,
            window: figures.policy.window,
            slots: figures.policy.slots,
            keys: figures.keys,
            allowed: figures.allowed,
            denied: figures.denied,
            evicted: figures.evicted,
            contended: figures.contended,
        });
    });
}
