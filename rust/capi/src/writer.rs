//! Writing Sereal documents: the values of maps with `serialise`.

use crate::bytes;
use crate::error::quietly;
use shared_arena_sereal::{short_text, Writer, SHORT_DOCUMENT, SHORT_TEXT};
use std::ptr;

/// A writer of documents, one after the other. Whoever holds it says what there is, in the order of the format. None of
/// its calls fails: what goes beyond the limit is counted and dropped, so that the caller can look at the rest of its
/// structure, and `sa_writer_finish` tells.
pub struct sa_writer(Writer);

// Nothing in the writer can panic, so its calls are not wrapped: each is a few nanoseconds.

/// Longest string that `sa_short_text` makes a document of, in bytes.
pub const SA_SHORT_TEXT: usize = 31;
/// Room for such a document.
pub const SA_SHORT_DOCUMENT: usize = 38;

const _: () = assert!(SA_SHORT_TEXT == SHORT_TEXT && SA_SHORT_DOCUMENT == SHORT_DOCUMENT);

/// The document of a short string that is not said to be UTF-8, made without a writer: its length; 0 for a string that
/// is longer.
///
/// # Safety
/// `start` points at `length` bytes; `document` has room for SA_SHORT_DOCUMENT.
#[no_mangle]
pub unsafe extern "C" fn sa_short_text(start: *const u8, length: usize, document: *mut u8) -> usize {
    // SAFETY: the caller's promises.
    unsafe {
        let Some((made, length)) = short_text(bytes(start, length)) else { return 0 };
        document.cast::<[u8; SHORT_DOCUMENT]>().write(made);
        length
    }
}

/// A writer that has begun no document.
#[no_mangle]
pub extern "C" fn sa_writer_new() -> *mut sa_writer {
    quietly(ptr::null_mut(), || Box::into_raw(Box::new(sa_writer(Writer::new()))))
}

/// Gives a writer up.
///
/// # Safety
/// `writer` came from this library and is not used afterwards.
#[no_mangle]
pub unsafe extern "C" fn sa_writer_release(writer: *mut sa_writer) {
    // SAFETY: the caller's promise.
    quietly((), || drop(unsafe { Box::from_raw(writer) }));
}

/// Begins a document of at most `limit` bytes, its header among them, and forgets the last. A writer keeps up to 1 MiB of
/// memory from one document to the next.
///
/// # Safety
/// `writer` is live, and no other thread uses it, here and below.
#[no_mangle]
pub unsafe extern "C" fn sa_writer_begin(writer: *mut sa_writer, limit: usize) {
    // SAFETY: the caller's promise.
    unsafe { (*writer).0.begin(limit) }
}

/// The document, which lives until the next begin or release; null when it is larger than the limit.
///
/// # Safety
/// As `sa_writer_begin`; `length` is writable.
#[no_mangle]
pub unsafe extern "C" fn sa_writer_finish(writer: *const sa_writer, length: *mut usize) -> *const u8 {
    // SAFETY: the caller's promises.
    unsafe {
        let document = (*writer).0.finish();
        length.write(document.map_or(0, <[u8]>::len));
        document.map_or(ptr::null(), <[u8]>::as_ptr)
    }
}

/// The offset of the next tag, as the format counts: 1 is the first byte of the body. It goes on counting beyond the
/// limit.
///
/// # Safety
/// As `sa_writer_begin`.
#[no_mangle]
pub unsafe extern "C" fn sa_writer_position(writer: *const sa_writer) -> usize {
    // SAFETY: the caller's promise.
    unsafe { (*writer).0.position() }
}

/// The undefined value.
///
/// # Safety
/// As `sa_writer_begin`.
#[no_mangle]
pub unsafe extern "C" fn sa_writer_undef(writer: *mut sa_writer) {
    // SAFETY: the caller's promise.
    unsafe { (*writer).0.undef() }
}

/// An element of an array that is not there.
///
/// # Safety
/// As `sa_writer_begin`.
#[no_mangle]
pub unsafe extern "C" fn sa_writer_hole(writer: *mut sa_writer) {
    // SAFETY: the caller's promise.
    unsafe { (*writer).0.hole() }
}

/// A boolean.
///
/// # Safety
/// As `sa_writer_begin`.
#[no_mangle]
pub unsafe extern "C" fn sa_writer_boolean(writer: *mut sa_writer, truth: bool) {
    // SAFETY: the caller's promise.
    unsafe { (*writer).0.boolean(truth) }
}

/// An integer.
///
/// # Safety
/// As `sa_writer_begin`.
#[no_mangle]
pub unsafe extern "C" fn sa_writer_signed(writer: *mut sa_writer, number: i64) {
    // SAFETY: the caller's promise.
    unsafe { (*writer).0.signed(number) }
}

/// An integer that is not negative.
///
/// # Safety
/// As `sa_writer_begin`.
#[no_mangle]
pub unsafe extern "C" fn sa_writer_unsigned(writer: *mut sa_writer, number: u64) {
    // SAFETY: the caller's promise.
    unsafe { (*writer).0.unsigned(number) }
}

/// A floating-point number, in 4 bytes where these hold exactly it, else in 8. A NaN keeps its bits.
///
/// # Safety
/// As `sa_writer_begin`.
#[no_mangle]
pub unsafe extern "C" fn sa_writer_real(writer: *mut sa_writer, number: f64) {
    // SAFETY: the caller's promise.
    unsafe { (*writer).0.real(number) }
}

/// A string: a value, or a key of a hash. Whether its bytes are UTF-8 when `utf8` says so is the caller's to know.
///
/// # Safety
/// As `sa_writer_begin`; `start` points at `length` bytes.
#[no_mangle]
pub unsafe extern "C" fn sa_writer_text(writer: *mut sa_writer, start: *const u8, length: usize, utf8: bool) {
    // SAFETY: the caller's promises.
    unsafe { (*writer).0.text(bytes(start, length), utf8) }
}

/// The string whose tag stands at `offset`, once more.
///
/// # Safety
/// As `sa_writer_begin`.
#[no_mangle]
pub unsafe extern "C" fn sa_writer_copy(writer: *mut sa_writer, offset: usize) {
    // SAFETY: the caller's promise.
    unsafe { (*writer).0.copy(offset) }
}

/// An array whose `count` elements follow. `referred`: the reference to it is said here too; else sa_writer_reference
/// stands before it.
///
/// # Safety
/// As `sa_writer_begin`.
#[no_mangle]
pub unsafe extern "C" fn sa_writer_array(writer: *mut sa_writer, count: usize, referred: bool) {
    // SAFETY: the caller's promise.
    unsafe { (*writer).0.array(count, referred) }
}

/// A hash whose `count` pairs follow, each a string and a value. `referred` as for sa_writer_array.
///
/// # Safety
/// As `sa_writer_begin`.
#[no_mangle]
pub unsafe extern "C" fn sa_writer_hash(writer: *mut sa_writer, count: usize, referred: bool) {
    // SAFETY: the caller's promise.
    unsafe { (*writer).0.hash(count, referred) }
}

/// A reference to what follows.
///
/// # Safety
/// As `sa_writer_begin`.
#[no_mangle]
pub unsafe extern "C" fn sa_writer_reference(writer: *mut sa_writer) {
    // SAFETY: the caller's promise.
    unsafe { (*writer).0.reference() }
}

/// A reference to what stands at `offset`. An offset where nothing can stand is written all the same, here and below.
///
/// # Safety
/// As `sa_writer_begin`.
#[no_mangle]
pub unsafe extern "C" fn sa_writer_same(writer: *mut sa_writer, offset: usize) {
    // SAFETY: the caller's promise.
    unsafe { (*writer).0.same(offset) }
}

/// The scalar that stands at `offset`, in a second place.
///
/// # Safety
/// As `sa_writer_begin`.
#[no_mangle]
pub unsafe extern "C" fn sa_writer_alias(writer: *mut sa_writer, offset: usize) {
    // SAFETY: the caller's promise.
    unsafe { (*writer).0.alias(offset) }
}

/// Says of the reference that follows that it is weak. It stands before the reference's class, if there is one.
///
/// # Safety
/// As `sa_writer_begin`.
#[no_mangle]
pub unsafe extern "C" fn sa_writer_weaken(writer: *mut sa_writer) {
    // SAFETY: the caller's promise.
    unsafe { (*writer).0.weaken() }
}

/// Takes back what sa_writer_weaken said at `offset`: that reference is strong.
///
/// # Safety
/// As `sa_writer_begin`.
#[no_mangle]
pub unsafe extern "C" fn sa_writer_strengthen(writer: *mut sa_writer, offset: usize) {
    // SAFETY: the caller's promise.
    unsafe { (*writer).0.strengthen(offset) }
}

/// Says of the reference that follows that it makes an object of that class. For sa_writer_class_again, the name stands
/// at the position before the call and one.
///
/// # Safety
/// As `sa_writer_begin`; `start` points at `length` bytes.
#[no_mangle]
pub unsafe extern "C" fn sa_writer_class(writer: *mut sa_writer, start: *const u8, length: usize, utf8: bool) {
    // SAFETY: the caller's promises.
    unsafe { (*writer).0.class(bytes(start, length), utf8) }
}

/// The same, of the class whose name stands at `offset`.
///
/// # Safety
/// As `sa_writer_begin`.
#[no_mangle]
pub unsafe extern "C" fn sa_writer_class_again(writer: *mut sa_writer, offset: usize) {
    // SAFETY: the caller's promise.
    unsafe { (*writer).0.class_again(offset) }
}

/// A regular expression; sa_writer_reference stands before it. `utf8` is about the pattern.
///
/// # Safety
/// As `sa_writer_begin`; `pattern` points at `pattern_len` bytes and `modifiers` at `modifiers_len`.
#[no_mangle]
pub unsafe extern "C" fn sa_writer_regexp(
    writer: *mut sa_writer,
    pattern: *const u8,
    pattern_len: usize,
    utf8: bool,
    modifiers: *const u8,
    modifiers_len: usize,
) {
    // SAFETY: the caller's promises.
    unsafe { (*writer).0.regexp(bytes(pattern, pattern_len), utf8, bytes(modifiers, modifiers_len)) }
}
