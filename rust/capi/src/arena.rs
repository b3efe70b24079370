//! Arenas and raw regions.

use crate::error::*;
use crate::{bytes, room};
use libc::c_char;
use shared_arena::{Arena, Region};
use std::sync::Arc;

/// An arena, open in this process.
pub struct sa_arena(pub(crate) Arc<Arena>);

/// # Safety
/// `out` is writable.
unsafe fn give(out: *mut *mut sa_arena, arena: Arc<Arena>) -> sa_status {
    // SAFETY: the caller's promise.
    unsafe { out.write(Box::into_raw(Box::new(sa_arena(arena)))) };
    SA_OK
}

/// Makes an arena of `size` bytes for `regions` regions, or opens the one of that name. A null `name` makes one
/// without a name, for forked children.
///
/// # Safety
/// `name` is null or points at `name_len` bytes; `out` is writable; `err` is null or writable.
#[no_mangle]
pub unsafe extern "C" fn sa_arena_create(
    name: *const c_char,
    name_len: usize,
    size: u64,
    regions: u32,
    out: *mut *mut sa_arena,
    err: *mut sa_error,
) -> sa_status {
    // SAFETY: the caller's promises.
    unsafe {
        call(err, || {
            let name = (!name.is_null()).then(|| bytes(name, name_len));
            Arena::create(name, size, regions).map(|arena| give(out, arena))
        })
    }
}

/// Opens the arena of that name: SA_ABSENT when there is none.
///
/// # Safety
/// As `sa_arena_create`; `name` is not null.
#[no_mangle]
pub unsafe extern "C" fn sa_arena_attach(
    name: *const c_char,
    name_len: usize,
    out: *mut *mut sa_arena,
    err: *mut sa_error,
) -> sa_status {
    // SAFETY: the caller's promises.
    unsafe { call(err, || Ok(Arena::attach(bytes(name, name_len))?.map_or(SA_ABSENT, |arena| give(out, arena)))) }
}

/// Removes a name: SA_OK when it was there, SA_ABSENT when not.
///
/// # Safety
/// As `sa_arena_attach`.
#[no_mangle]
pub unsafe extern "C" fn sa_arena_destroy(name: *const c_char, name_len: usize, err: *mut sa_error) -> sa_status {
    // SAFETY: the caller's promises.
    unsafe { call(err, || Ok(if Arena::destroy(bytes(name, name_len))? { SA_OK } else { SA_ABSENT })) }
}

/// Gives a handle up. The mapping goes when no map or limiter uses it either.
///
/// # Safety
/// `arena` came from this library and is not used afterwards.
#[no_mangle]
pub unsafe extern "C" fn sa_arena_release(arena: *mut sa_arena) {
    // SAFETY: the caller's promise.
    quietly((), || drop(unsafe { Box::from_raw(arena) }));
}

/// The bytes that regions may take: what `create` was asked for.
///
/// # Safety
/// `arena` is a live handle.
#[no_mangle]
pub unsafe extern "C" fn sa_arena_size(arena: *const sa_arena) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { (*arena).0.size() }
}

/// Whether this very handle's call made the arena.
///
/// # Safety
/// `arena` is a live handle.
#[no_mangle]
pub unsafe extern "C" fn sa_arena_created(arena: *const sa_arena) -> bool {
    // SAFETY: the caller's promise.
    unsafe { (*arena).0.created() }
}

/// The name, not ended by a NUL; null for an arena without one. It lives as long as the handle.
///
/// # Safety
/// `arena` is a live handle; `len` is writable.
#[no_mangle]
pub unsafe extern "C" fn sa_arena_name(arena: *const sa_arena, len: *mut usize) -> *const c_char {
    // SAFETY: the caller's promises.
    unsafe {
        let name = (*arena).0.name();
        len.write(name.map_or(0, <[u8]>::len));
        name.map_or(std::ptr::null(), <[u8]>::as_ptr).cast()
    }
}

/// The address of the mapping in this process.
///
/// # Safety
/// `arena` is a live handle.
#[no_mangle]
pub unsafe extern "C" fn sa_arena_base(arena: *const sa_arena) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { (*arena).0.base() as u64 }
}

/// Registry entries that point outside the mapping: 0 unless memory was written over.
///
/// # Safety
/// `arena` is a live handle.
#[no_mangle]
pub unsafe extern "C" fn sa_arena_refused(arena: *const sa_arena) -> u64 {
    // SAFETY: the caller's promise.
    quietly(0, || unsafe { (*arena).0.refused() })
}

/// How many regions have been carved.
///
/// # Safety
/// `arena` is a live handle.
#[no_mangle]
pub unsafe extern "C" fn sa_arena_region_count(arena: *const sa_arena) -> u32 {
    // SAFETY: the caller's promise.
    quietly(0, || unsafe { (*arena).0.region_count() })
}

/// The name of the region carved `index`-th, from 0: at most 31 bytes into `out`. SA_ABSENT past the end, and for
/// an entry that was written over.
///
/// # Safety
/// `arena` is a live handle; `out` holds 32 bytes; `len` is writable.
#[no_mangle]
pub unsafe extern "C" fn sa_arena_region_name(
    arena: *const sa_arena,
    index: u32,
    out: *mut c_char,
    len: *mut u32,
) -> sa_status {
    // SAFETY: the caller's promises; a name has at most 31 bytes.
    quietly(SA_ABSENT, || unsafe {
        let Some(name) = (*arena).0.region_name(index) else { return SA_ABSENT };
        out.copy_from_nonoverlapping(name.as_ptr().cast(), name.len());
        len.write(name.len() as u32);
        SA_OK
    })
}

/// # Safety
/// `offset` and `length` are writable.
unsafe fn tell(region: Region, offset: *mut u64, length: *mut u64) -> sa_status {
    // SAFETY: the caller's promise.
    unsafe {
        offset.write(region.offset);
        length.write(region.length);
    }
    SA_OK
}

/// Finds a region of any kind: SA_ABSENT when there is none of that name.
///
/// # Safety
/// `arena` is a live handle; `name` points at `len` bytes; `offset` and `length` are writable.
#[no_mangle]
pub unsafe extern "C" fn sa_region_find(
    arena: *const sa_arena,
    name: *const c_char,
    len: usize,
    offset: *mut u64,
    length: *mut u64,
) -> sa_status {
    // SAFETY: the caller's promises.
    quietly(SA_ABSENT, || unsafe {
        (*arena).0.find_region(bytes(name, len)).map_or(SA_ABSENT, |region| tell(region, offset, length))
    })
}

/// Carves a region of `size` raw bytes, or finds the one of that name and size. SA_FULL, SA_INVALID, SA_SHAPE.
///
/// # Safety
/// As `sa_region_find`; `err` is null or writable.
#[no_mangle]
pub unsafe extern "C" fn sa_region_carve(
    arena: *const sa_arena,
    name: *const c_char,
    len: usize,
    size: u64,
    offset: *mut u64,
    length: *mut u64,
    err: *mut sa_error,
) -> sa_status {
    // SAFETY: the caller's promises.
    unsafe { call(err, || (*arena).0.carve_region(bytes(name, len), size).map(|region| tell(region, offset, length))) }
}

/// Writes `n` bytes into a region. SA_INVALID when they do not lie inside it, or it does not exist.
///
/// # Safety
/// `arena` is a live handle; `name` points at `len` bytes and `from` at `n`; `err` is null or writable.
#[no_mangle]
pub unsafe extern "C" fn sa_region_poke(
    arena: *const sa_arena,
    name: *const c_char,
    len: usize,
    offset: u64,
    from: *const u8,
    n: usize,
    err: *mut sa_error,
) -> sa_status {
    // SAFETY: the caller's promises.
    unsafe { call(err, || (*arena).0.poke(bytes(name, len), offset, bytes(from, n)).map(|()| SA_OK)) }
}

/// Reads `n` bytes out of a region into `out`. Otherwise as `sa_region_poke`.
///
/// # Safety
/// As `sa_region_poke`; `out` holds `n` bytes.
#[no_mangle]
pub unsafe extern "C" fn sa_region_peek(
    arena: *const sa_arena,
    name: *const c_char,
    len: usize,
    offset: u64,
    out: *mut u8,
    n: usize,
    err: *mut sa_error,
) -> sa_status {
    // SAFETY: the caller's promises.
    unsafe { call(err, || (*arena).0.peek(bytes(name, len), offset, room(out, n)).map(|()| SA_OK)) }
}
