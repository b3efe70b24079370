//! Reading Sereal documents: the values of maps with `serialise`.

use crate::bytes;
use crate::error::*;
use shared_arena_sereal::{Error, Item, Reader};
use std::ptr;

/// A reader of documents, one after the other. It keeps up to 1 MiB of memory from one to the next.
pub struct sa_reader(Reader);

/// Most open things in each other in a document.
pub const SA_MAX_DEPTH: u32 = 10_000;

/// Most bytes that a document may have read once more (copied strings, keys and class names), for each of its own.
pub const SA_COPIED_PER_BYTE: usize = 64;
/// And for a document of any length.
pub const SA_COPIED_ANYWAY: usize = 1_048_576;

const _: () = {
    use shared_arena_sereal as sereal;
    assert!(SA_MAX_DEPTH == sereal::MAX_DEPTH);
    assert!(SA_COPIED_PER_BYTE == sereal::COPIED_PER_BYTE && SA_COPIED_ANYWAY == sereal::COPIED_ANYWAY);
};

/// What an item is. Those that open are followed by what lies in them, at one depth more.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum sa_item_kind {
    /// The undefined value.
    SA_ITEM_UNDEF = 0,
    /// The undefined value of the language itself; in an array, an element that is not there.
    SA_ITEM_HOLE = 1,
    /// False.
    SA_ITEM_FALSE = 2,
    /// True.
    SA_ITEM_TRUE = 3,
    /// An integer: `number.whole`.
    SA_ITEM_SIGNED = 4,
    /// An integer above INT64_MAX: `number.positive`.
    SA_ITEM_UNSIGNED = 5,
    /// A floating-point number: `number.real`.
    SA_ITEM_REAL = 6,
    /// A string: `start`, `length`, SA_ITEM_UTF8.
    SA_ITEM_TEXT = 7,
    /// A reference to a scalar. Opens: the scalar is the next item.
    SA_ITEM_REF = 8,
    /// A reference to an array of `length` elements; `referent_track`. Opens, unless it is empty.
    SA_ITEM_ARRAY_REF = 9,
    /// A reference to a hash of `length` pairs; `referent_track`. Opens, unless it is empty. The same key may come twice.
    SA_ITEM_HASH_REF = 10,
    /// A reference to a regular expression: `start`, `length`, SA_ITEM_UTF8, `modifiers_start`, `modifiers_length`,
    /// `referent_track`.
    SA_ITEM_REGEXP_REF = 11,
    /// A reference to what was tracked as `target`, which may be this very item.
    SA_ITEM_SAME = 12,
    /// No scalar of its own, but the one that was tracked as `target` once more. It has no `track`, is never the whole
    /// document, and is never weak or blessed.
    SA_ITEM_ALIAS = 13,
}

/// The item is a weak reference.
pub const SA_ITEM_WEAK: u32 = 1;
/// The string, or the pattern of the regular expression, is said to be UTF-8; nothing has checked that.
pub const SA_ITEM_UTF8: u32 = 2;
/// The item is a value of a hash: `key_start` and `key_length` are its key.
pub const SA_ITEM_KEY: u32 = 4;
/// The key is said to be UTF-8.
pub const SA_ITEM_KEY_UTF8: u32 = 8;
/// The item, a reference, makes an object of what it refers to: `class_start` and `class_length` are its class, which is
/// never empty.
pub const SA_ITEM_CLASS: u32 = 16;
/// The class is said to be UTF-8.
pub const SA_ITEM_CLASS_UTF8: u32 = 32;

/// The `track` of what nothing refers to later.
pub const SA_UNTRACKED: u32 = 0xffff_ffff;

/// A number, by the item's kind.
#[repr(C)]
#[derive(Clone, Copy)]
pub union sa_number {
    /// Of SA_ITEM_SIGNED.
    pub whole: i64,
    /// Of SA_ITEM_UNSIGNED.
    pub positive: u64,
    /// Of SA_ITEM_REAL.
    pub real: f64,
}

/// One scalar of a document, and what is said of it. All ranges lie in the document. Fields that neither the kind nor a
/// flag names mean nothing, but for `kind`, `depth`, `flags`, `track`, `referent_track` and `at`, which always do.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sa_item {
    /// One of `sa_item_kind`.
    pub kind: u32,
    /// How many open things it lies in, at most SA_MAX_DEPTH. Its parent is the last item before it of one less that
    /// opened; 0 is the whole document.
    pub depth: u32,
    /// SA_ITEM_WEAK and so on, added up.
    pub flags: u32,
    /// The number under which later items refer to the scalar itself, or SA_UNTRACKED. Numbers are dealt from 0 on, in the
    /// order of the document, and within an item `track` before `referent_track`.
    pub track: u32,
    /// The number under which they refer to the array, hash or regular expression it refers to, or SA_UNTRACKED.
    pub referent_track: u32,
    /// The number of what is meant: one that was dealt to an item before, or to this one's `track`.
    pub target: u32,
    /// Where its tag stands, in bytes from the document's first.
    pub at: u32,
    /// The key: its first byte, from the document's first on.
    pub key_start: u32,
    /// Bytes of the key.
    pub key_length: u32,
    /// The class: its first byte.
    pub class_start: u32,
    /// Bytes of the class.
    pub class_length: u32,
    /// The string or pattern: its first byte.
    pub start: u32,
    /// Bytes of the string or pattern; elements of the array; pairs of the hash. All elements and pairs that have been
    /// promised and have not come are never more than the bytes that are left.
    pub length: u32,
    /// The modifiers: their first byte.
    pub modifiers_start: u32,
    /// Bytes of the modifiers.
    pub modifiers_length: u32,
    /// The number.
    pub number: sa_number,
}

/// Whether a document is a string and nothing else, as the short ones often are: then its bytes are told, and whether they
/// are said to be UTF-8. Any other document, a damaged one among them, is for a reader.
///
/// # Safety
/// `document` points at `length` bytes; `start`, `text_length` and `utf8` are writable.
#[no_mangle]
pub unsafe extern "C" fn sa_document_text(
    document: *const u8,
    length: usize,
    start: *mut usize,
    text_length: *mut usize,
    utf8: *mut bool,
) -> bool {
    // SAFETY: the caller's promises.
    unsafe {
        let Some(text) = shared_arena_sereal::text(bytes(document, length)) else { return false };
        start.write(text.start() as usize);
        text_length.write(text.length() as usize);
        utf8.write(text.utf8);
        true
    }
}

/// A reader that has begun no document.
#[no_mangle]
pub extern "C" fn sa_reader_new() -> *mut sa_reader {
    quietly(ptr::null_mut(), || Box::into_raw(Box::new(sa_reader(Reader::new()))))
}

/// Gives a reader up.
///
/// # Safety
/// `reader` came from this library and is not used afterwards.
#[no_mangle]
pub unsafe extern "C" fn sa_reader_release(reader: *mut sa_reader) {
    // SAFETY: the caller's promise.
    quietly((), || drop(unsafe { Box::from_raw(reader) }));
}

// Nothing in the reader can panic, so the two calls below are not wrapped: an item takes a few nanoseconds.

/// Begins a document: reads its header, and forgets the last document. SA_OK, or SA_CORRUPT with a text: "byte 4: Sereal
/// version 6, which is not supported".
///
/// # Safety
/// `reader` is live, and no other thread uses it; `document` points at `length` bytes that nobody writes meanwhile;
/// `err` is null or writable.
#[no_mangle]
pub unsafe extern "C" fn sa_reader_begin(
    reader: *mut sa_reader,
    document: *const u8,
    length: usize,
    err: *mut sa_error,
) -> sa_status {
    // SAFETY: the caller's promises.
    unsafe {
        match (*reader).0.begin(bytes(document, length)) {
            Ok(()) => SA_OK,
            Err(error) => refuse(err, error),
        }
    }
}

/// The next items of the document that was begun, which must be the same bytes as then: at most `room`, and fewer only
/// when these are the last of a document that is in order. SA_OK; SA_CORRUPT with a text, again and again.
///
/// # Safety
/// As `sa_reader_begin`; `items` has room for that many, which was filled with zeros or by this function; `count` is
/// writable.
#[no_mangle]
pub unsafe extern "C" fn sa_reader_read(
    reader: *mut sa_reader,
    document: *const u8,
    length: usize,
    items: *mut sa_item,
    room: usize,
    count: *mut usize,
    err: *mut sa_error,
) -> sa_status {
    // SAFETY: the caller's promises. The reader's items are laid out as these (below), and zeros are one.
    unsafe {
        let items = std::slice::from_raw_parts_mut(items.cast::<Item>(), room);
        match (*reader).0.read(bytes(document, length), items) {
            Ok(read) => {
                count.write(read);
                SA_OK
            }
            Err(error) => refuse(err, error),
        }
    }
}

/// # Safety
/// `err` is null or writable.
#[cold]
unsafe fn refuse(err: *mut sa_error, error: Error) -> sa_status {
    // SAFETY: the caller's promise.
    unsafe { fill(err, SA_CORRUPT, &error.to_string()) }
}

// The reader's items are this header's: the fields in their order (a test looks at each), the numbers here.
const _: () = {
    use shared_arena_sereal::{flag, Sort};
    assert!(std::mem::size_of::<sa_item>() == std::mem::size_of::<Item>());
    assert!(std::mem::align_of::<sa_item>() == std::mem::align_of::<Item>());
    assert!(sa_item_kind::SA_ITEM_UNDEF as u32 == Sort::Undefined as u32);
    assert!(sa_item_kind::SA_ITEM_HOLE as u32 == Sort::Hole as u32);
    assert!(sa_item_kind::SA_ITEM_FALSE as u32 == Sort::False as u32);
    assert!(sa_item_kind::SA_ITEM_TRUE as u32 == Sort::True as u32);
    assert!(sa_item_kind::SA_ITEM_SIGNED as u32 == Sort::Signed as u32);
    assert!(sa_item_kind::SA_ITEM_UNSIGNED as u32 == Sort::Unsigned as u32);
    assert!(sa_item_kind::SA_ITEM_REAL as u32 == Sort::Real as u32);
    assert!(sa_item_kind::SA_ITEM_TEXT as u32 == Sort::Text as u32);
    assert!(sa_item_kind::SA_ITEM_REF as u32 == Sort::Reference as u32);
    assert!(sa_item_kind::SA_ITEM_ARRAY_REF as u32 == Sort::Array as u32);
    assert!(sa_item_kind::SA_ITEM_HASH_REF as u32 == Sort::Hash as u32);
    assert!(sa_item_kind::SA_ITEM_REGEXP_REF as u32 == Sort::Regexp as u32);
    assert!(sa_item_kind::SA_ITEM_SAME as u32 == Sort::Same as u32);
    assert!(sa_item_kind::SA_ITEM_ALIAS as u32 == Sort::Alias as u32);
    assert!(SA_ITEM_WEAK == flag::WEAK && SA_ITEM_UTF8 == flag::UTF8);
    assert!(SA_ITEM_KEY == flag::KEY && SA_ITEM_KEY_UTF8 == flag::KEY_UTF8);
    assert!(SA_ITEM_CLASS == flag::CLASS && SA_ITEM_CLASS_UTF8 == flag::CLASS_UTF8);
    assert!(SA_UNTRACKED == shared_arena_sereal::UNTRACKED);
};

#[cfg(test)]
mod tests {
    use super::*;
    use shared_arena_sereal::{Sort, Span};

    #[test]
    fn an_item_is_laid_out_as_the_header_says() {
        let span = |start| Span { start, length: start + 1 };
        let item = Item {
            sort: Sort::Alias,
            depth: 1,
            flags: 2,
            track: 3,
            referent_track: 4,
            target: 5,
            at: 6,
            key: span(7),
            class: span(9),
            text: span(11),
            modifiers: span(13),
            number: 15,
        };
        // SAFETY: every bit pattern is an sa_item, and both are of one size, as asserted above.
        let seen: sa_item = unsafe { std::mem::transmute(item) };
        // SAFETY: every bit pattern is a number.
        let number = unsafe { seen.number.positive };
        assert_eq!((seen.kind, number), (sa_item_kind::SA_ITEM_ALIAS as u32, 15));
        let said = [seen.depth, seen.flags, seen.track, seen.referent_track, seen.target, seen.at];
        let lie = [seen.key_start, seen.key_length, seen.class_start, seen.class_length];
        let more = [seen.start, seen.length, seen.modifiers_start, seen.modifiers_length];
        assert_eq!((said, lie, more), ([1, 2, 3, 4, 5, 6], [7, 8, 9, 10], [11, 12, 13, 14]));
    }
}
