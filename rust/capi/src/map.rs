//! Maps.

use crate::arena::sa_arena;
use crate::error::*;
use crate::{bytes, room};
use libc::c_char;
use shared_arena::{Content, Counted, Error, Map, MapShape, NextKey, Read, Stored};

/// A map, bound in this process. It keeps its arena's mapping.
pub struct sa_map(Map);

/// The time to live of an entry that never lapses.
pub const SA_TTL_NONE: u64 = 0;

/// What kind of value was fetched.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum sa_kind {
    /// `length` bytes were written.
    SA_KIND_BYTES = 0,
    /// A value that is there and undefined.
    SA_KIND_UNDEF = 1,
    /// A counter: its `number`.
    SA_KIND_COUNTER = 2,
}

/// A fetched value.
#[repr(C)]
pub struct sa_value {
    /// One of `sa_kind`.
    pub kind: u32,
    /// Bytes of the value; with SA_SHORT, the bytes the caller's buffer must hold.
    pub length: u32,
    /// A counter's number.
    pub number: i64,
}

/// A map's statistics, exact while no call is in flight.
#[repr(C)]
pub struct sa_map_figures {
    /// Entries, lapsed ones that nobody has collected among them.
    pub used: u64,
    /// Entries the map takes.
    pub capacity: u64,
    /// Slots that were used and are free again.
    pub tombstones: u64,
    /// Calls that gave up.
    pub busy: u64,
    /// New keys refused for want of a slot.
    pub full: u64,
    /// Lapsed entries collected.
    pub expired: u64,
}

/// The map of that name, carved now if nobody has. SA_INVALID, SA_FULL, SA_SHAPE, SA_CORRUPT.
///
/// # Safety
/// `arena` is a live handle; `name` points at `len` bytes; `out` is writable; `err` is null or writable.
#[no_mangle]
pub unsafe extern "C" fn sa_map_bind(
    arena: *const sa_arena,
    name: *const c_char,
    len: usize,
    slots: u64,
    slot_size: u64,
    serialise: bool,
    out: *mut *mut sa_map,
    err: *mut sa_error,
) -> sa_status {
    // SAFETY: the caller's promises.
    unsafe {
        call(err, || {
            let shape = MapShape { slots, slot_size, serialised: serialise };
            let map = Map::bind(&(*arena).0, bytes(name, len), shape)?;
            out.write(Box::into_raw(Box::new(sa_map(map))));
            Ok(SA_OK)
        })
    }
}

/// Gives a handle up.
///
/// # Safety
/// `map` came from this library and is not used afterwards.
#[no_mangle]
pub unsafe extern "C" fn sa_map_release(map: *mut sa_map) {
    // SAFETY: the caller's promise.
    quietly((), || drop(unsafe { Box::from_raw(map) }));
}

/// Stores a value; a null `value` stores an undefined one. `ttl_ms` is the time to live in milliseconds, or
/// SA_TTL_NONE. SA_OK, SA_FULL, SA_TOO_LARGE; SA_BUSY and SA_CORRUPT with a text.
///
/// # Safety
/// `map` is a live handle; `key` points at `key_len` bytes; `value` is null or points at `value_len` bytes; `err`
/// is null or writable.
#[no_mangle]
pub unsafe extern "C" fn sa_map_store(
    map: *const sa_map,
    key: *const u8,
    key_len: usize,
    value: *const u8,
    value_len: usize,
    ttl_ms: u64,
    err: *mut sa_error,
) -> sa_status {
    // SAFETY: the caller's promises.
    unsafe {
        call(err, || {
            let (map, key) = (&(*map).0, bytes(key, key_len));
            let stored = match value.is_null() {
                true => store_undefined(map, key, ttl_ms)?,
                false => map.store(key, Content::Bytes(std::slice::from_raw_parts(value, value_len)), ttl_ms)?,
            };
            Ok(match stored {
                Stored::Yes => SA_OK,
                Stored::Full => SA_FULL,
                Stored::TooLarge => SA_TOO_LARGE,
            })
        })
    }
}

#[inline(never)] // so that the common store knows what kind of value it has
fn store_undefined(map: &Map, key: &[u8], ttl_ms: u64) -> Result<Stored, Error> {
    map.store(key, Content::Undefined, ttl_ms)
}

/// Fetches a value into `out`. SA_OK, SA_ABSENT; SA_SHORT when the value has more bytes than `capacity`: then
/// `value->length` tells how many, and nothing was written; SA_BUSY when the entry kept changing.
///
/// # Safety
/// `map` is a live handle; `key` points at `key_len` bytes; `out` holds `capacity` bytes; `value` is writable.
#[no_mangle]
pub unsafe extern "C" fn sa_map_fetch(
    map: *const sa_map,
    key: *const u8,
    key_len: usize,
    out: *mut u8,
    capacity: usize,
    value: *mut sa_value,
) -> sa_status {
    // SAFETY: the caller's promises.
    quietly(SA_INTERNAL, || unsafe {
        let tell = |kind: sa_kind, length: usize, number| {
            value.write(sa_value { kind: kind as u32, length: length as u32, number });
        };
        match (*map).0.fetch(bytes(key, key_len), room(out, capacity)) {
            Read::Bytes(length) => tell(sa_kind::SA_KIND_BYTES, length, 0),
            Read::Undefined => tell(sa_kind::SA_KIND_UNDEF, 0, 0),
            Read::Counter(number) => tell(sa_kind::SA_KIND_COUNTER, 0, number),
            Read::Absent => return SA_ABSENT,
            Read::TooShort(length) => {
                tell(sa_kind::SA_KIND_BYTES, length, 0);
                return SA_SHORT;
            }
            Read::Busy => return SA_BUSY,
        }
        SA_OK
    })
}

/// Whether a key is there.
///
/// # Safety
/// `map` is a live handle; `key` points at `key_len` bytes.
#[no_mangle]
pub unsafe extern "C" fn sa_map_exists(map: *const sa_map, key: *const u8, key_len: usize) -> bool {
    // SAFETY: the caller's promises.
    quietly(false, || unsafe { (*map).0.exists(bytes(key, key_len)) })
}

/// Removes a key. SA_OK when it was there, SA_ABSENT when not; SA_BUSY and SA_CORRUPT with a text.
///
/// # Safety
/// As `sa_map_exists`; `err` is null or writable.
#[no_mangle]
pub unsafe extern "C" fn sa_map_delete(
    map: *const sa_map,
    key: *const u8,
    key_len: usize,
    err: *mut sa_error,
) -> sa_status {
    // SAFETY: the caller's promises.
    unsafe { call(err, || Ok(if (*map).0.delete(bytes(key, key_len))? { SA_OK } else { SA_ABSENT })) }
}

/// Adds to a counter, making it, with its time to live, when it is absent. SA_OK, SA_FULL, SA_TOO_LARGE,
/// SA_NOT_COUNTER; SA_OVERFLOW, SA_INVALID (a serialised map), SA_BUSY and SA_CORRUPT with a text.
///
/// # Safety
/// As `sa_map_delete`; `now` is writable.
#[no_mangle]
pub unsafe extern "C" fn sa_map_incr(
    map: *const sa_map,
    key: *const u8,
    key_len: usize,
    by: i64,
    ttl_ms: u64,
    now: *mut i64,
    err: *mut sa_error,
) -> sa_status {
    // SAFETY: the caller's promises.
    unsafe {
        call(err, || {
            Ok(match (*map).0.incr(bytes(key, key_len), by, ttl_ms)? {
                Counted::Now(number) => {
                    now.write(number);
                    SA_OK
                }
                Counted::Full => SA_FULL,
                Counted::TooLarge => SA_TOO_LARGE,
                Counted::NotCounter => SA_NOT_COUNTER,
            })
        })
    }
}

/// Adds to a counter that is there: what `sa_map_incr` does first, for itself. False when that has to decide, and then
/// nothing has changed. Takes no lock.
///
/// # Safety
/// As `sa_map_exists`; `now` is writable.
#[no_mangle]
pub unsafe extern "C" fn sa_map_count(
    map: *const sa_map,
    key: *const u8,
    key_len: usize,
    by: i64,
    now: *mut i64,
) -> bool {
    // SAFETY: the caller's promises.
    quietly(false, || unsafe {
        let Some(number) = (*map).0.count(bytes(key, key_len), by) else { return false };
        now.write(number);
        true
    })
}

/// A counter's number. SA_ABSENT also when the key holds something else.
///
/// # Safety
/// As `sa_map_exists`; `now` is writable.
#[no_mangle]
pub unsafe extern "C" fn sa_map_counter(
    map: *const sa_map,
    key: *const u8,
    key_len: usize,
    now: *mut i64,
) -> sa_status {
    // SAFETY: the caller's promises.
    quietly(SA_ABSENT, || unsafe {
        let Some(number) = (*map).0.counter(bytes(key, key_len)) else { return SA_ABSENT };
        now.write(number);
        SA_OK
    })
}

/// The next live key, from `*cursor` on, which starts at 0 and moves. SA_ABSENT at the end.
///
/// # Safety
/// `map` is a live handle; `cursor` and `len` are writable; `out` holds `capacity` bytes, and `sa_map_max_pair` are
/// always enough.
#[no_mangle]
pub unsafe extern "C" fn sa_map_next_key(
    map: *const sa_map,
    cursor: *mut u64,
    out: *mut u8,
    capacity: usize,
    len: *mut usize,
) -> sa_status {
    // SAFETY: the caller's promises.
    quietly(SA_ABSENT, || unsafe {
        match (*map).0.next_key(&mut *cursor, room(out, capacity)) {
            NextKey::Key(length) => {
                len.write(length);
                SA_OK
            }
            NextKey::End => SA_ABSENT,
        }
    })
}

/// Largest key and value together, in bytes.
///
/// # Safety
/// `map` is a live handle.
#[no_mangle]
pub unsafe extern "C" fn sa_map_max_pair(map: *const sa_map) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { (*map).0.max_pair() }
}

/// Entries the map takes.
///
/// # Safety
/// `map` is a live handle.
#[no_mangle]
pub unsafe extern "C" fn sa_map_capacity(map: *const sa_map) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { (*map).0.capacity() }
}

/// Whether values are encoded structures.
///
/// # Safety
/// `map` is a live handle.
#[no_mangle]
pub unsafe extern "C" fn sa_map_serialised(map: *const sa_map) -> bool {
    // SAFETY: the caller's promise.
    unsafe { (*map).0.serialised() }
}

/// The statistics: SA_OK.
///
/// # Safety
/// `map` is a live handle; `out` is writable; `err` is null or writable.
#[no_mangle]
pub unsafe extern "C" fn sa_map_stats(map: *const sa_map, out: *mut sa_map_figures, err: *mut sa_error) -> sa_status {
    // SAFETY: the caller's promises.
    unsafe {
        call(err, || {
            let figures = (*map).0.figures();
            out.write(sa_map_figures {
                used: figures.used,
                capacity: figures.capacity,
                tombstones: figures.tombstones,
                busy: figures.busy,
                full: figures.full,
                expired: figures.expired,
            });
            Ok(SA_OK)
        })
    }
}

/// Checks every invariant of a map that nobody is writing: SA_OK, or SA_CORRUPT with the first problem.
///
/// # Safety
/// `map` is a live handle; `err` is null or writable.
#[no_mangle]
pub unsafe extern "C" fn sa_map_verify(map: *const sa_map, err: *mut sa_error) -> sa_status {
    // SAFETY: the caller's promises.
    unsafe { call(err, || (*map).0.verify().map(|()| SA_OK)) }
}
