//! Documents through the C ABI: every call of a writer, and every field of an item.

use shared_arena_capi::sa_item_kind::*;
use shared_arena_capi::*;
use std::mem::MaybeUninit;
use std::ptr;

/// A reader with its document, as a caller in C has them.
struct Reading {
    reader: *mut sa_reader,
    document: Vec<u8>,
    error: sa_error,
}

impl Reading {
    fn begin(document: &[u8]) -> Reading {
        // SAFETY: an sa_error is numbers and characters; the pointers are the vector's, which is not changed.
        unsafe {
            let mut reading = Reading {
                reader: sa_reader_new(),
                document: document.to_vec(),
                error: MaybeUninit::zeroed().assume_init(),
            };
            let Reading { reader, document, error } = &mut reading;
            sa_reader_begin(*reader, document.as_ptr(), document.len(), error);
            reading
        }
    }

    fn next(&mut self) -> Result<sa_item, sa_status> {
        let Reading { reader, document, error } = self;
        // SAFETY: as above; an sa_item is numbers.
        unsafe {
            let mut item = MaybeUninit::<sa_item>::zeroed();
            let mut count = 7;
            match sa_reader_read(*reader, document.as_ptr(), document.len(), item.as_mut_ptr(), 1, &mut count, error) {
                SA_OK if count == 1 => Ok(item.assume_init()),
                SA_OK => Err(SA_ABSENT),
                status => Err(status),
            }
        }
    }

    fn item(&mut self, kind: sa_item_kind) -> sa_item {
        let item = self.next().expect("an item");
        assert_eq!(item.kind, kind as u32);
        item
    }

    fn bytes(&self, start: u32, length: u32) -> &[u8] {
        &self.document[start as usize..][..length as usize]
    }

    fn text(&self) -> String {
        self.error.text.iter().take_while(|byte| **byte != 0).map(|byte| *byte as u8 as char).collect()
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        // SAFETY: the reader is not used afterwards.
        unsafe { sa_reader_release(self.reader) }
    }
}

/// What the calls of `write` wrote; `None` when it is larger than the limit.
fn written(limit: usize, write: impl FnOnce(*mut sa_writer)) -> Option<Vec<u8>> {
    // SAFETY: the writer is live until its release, and the document is copied before.
    unsafe {
        let writer = sa_writer_new();
        sa_writer_begin(writer, limit);
        write(writer);
        let mut length = usize::MAX;
        let start = sa_writer_finish(writer, &mut length);
        let document = (!start.is_null()).then(|| std::slice::from_raw_parts(start, length).to_vec());
        assert!(document.is_some() || length == 0);
        sa_writer_release(writer);
        document
    }
}

fn text(writer: *mut sa_writer, text: &str, utf8: bool) {
    // SAFETY: the writer is live, here and below, and the text is as long as it says.
    unsafe { sa_writer_text(writer, text.as_ptr(), text.len(), utf8) }
}

#[test]
fn every_call_says_what_its_name_says() {
    // SAFETY: the writer is live, and the texts are as long as they are said to be.
    let document = written(1_000, |writer| unsafe {
        sa_writer_array(writer, 20, true);
        sa_writer_undef(writer);
        sa_writer_hole(writer);
        sa_writer_boolean(writer, false);
        sa_writer_boolean(writer, true);
        sa_writer_signed(writer, -300);
        sa_writer_unsigned(writer, u64::MAX);
        sa_writer_real(writer, 0.1);
        let string = sa_writer_position(writer);
        text(writer, "\u{e9}", true);
        sa_writer_copy(writer, string);
        sa_writer_reference(writer);
        let scalar = sa_writer_position(writer);
        sa_writer_signed(writer, 5);
        sa_writer_same(writer, scalar);
        sa_writer_alias(writer, scalar);
        sa_writer_hash(writer, 1, true);
        text(writer, "\u{e8}", true);
        let weak = sa_writer_position(writer);
        sa_writer_weaken(writer);
        sa_writer_same(writer, scalar);
        let name = sa_writer_position(writer) + 1;
        sa_writer_class(writer, "\u{e7}".as_ptr(), 2, true);
        sa_writer_reference(writer);
        let array = sa_writer_position(writer);
        sa_writer_array(writer, 0, false);
        sa_writer_class_again(writer, name);
        sa_writer_reference(writer);
        let hash = sa_writer_position(writer);
        sa_writer_hash(writer, 0, false);
        sa_writer_reference(writer);
        let regexp = sa_writer_position(writer);
        sa_writer_regexp(writer, "\u{e6}".as_ptr(), 2, true, "ix".as_ptr(), 2);
        sa_writer_same(writer, array);
        sa_writer_same(writer, hash);
        sa_writer_same(writer, regexp);
        sa_writer_weaken(writer);
        sa_writer_strengthen(writer, sa_writer_position(writer) - 1);
        sa_writer_strengthen(writer, weak - 1);
        sa_writer_array(writer, 0, true);
    });
    let mut reading = Reading::begin(&document.expect("it fits"));

    let item = reading.item(SA_ITEM_ARRAY_REF);
    assert_eq!((item.depth, item.flags, item.length, item.at), (0, 0, 20, 6));
    assert_eq!((item.track, item.referent_track), (SA_UNTRACKED, SA_UNTRACKED));
    for kind in [SA_ITEM_UNDEF, SA_ITEM_HOLE, SA_ITEM_FALSE, SA_ITEM_TRUE] {
        let item = reading.item(kind);
        assert_eq!((item.depth, item.flags, item.track), (1, 0, SA_UNTRACKED));
    }
    // SAFETY: of numbers, every field can be read.
    unsafe {
        assert_eq!(reading.item(SA_ITEM_SIGNED).number.whole, -300);
        assert_eq!(reading.item(SA_ITEM_UNSIGNED).number.positive, u64::MAX);
        assert_eq!(reading.item(SA_ITEM_REAL).number.real.to_bits(), 0.1_f64.to_bits());
    }
    for _ in 0..2 {
        let item = reading.item(SA_ITEM_TEXT);
        assert_eq!((item.flags, reading.bytes(item.start, item.length)), (SA_ITEM_UTF8, "\u{e9}".as_bytes()));
    }
    assert_eq!(reading.item(SA_ITEM_REF).depth, 1);
    let item = reading.item(SA_ITEM_SIGNED);
    assert_eq!((item.depth, item.track), (2, 0));
    let item = reading.item(SA_ITEM_SAME);
    assert_eq!((item.depth, item.target, item.flags), (1, 0, 0));
    assert_eq!(reading.item(SA_ITEM_ALIAS).target, 0);
    assert_eq!(reading.item(SA_ITEM_HASH_REF).length, 1);
    let item = reading.item(SA_ITEM_SAME);
    assert_eq!((item.depth, item.flags), (2, SA_ITEM_WEAK | SA_ITEM_KEY | SA_ITEM_KEY_UTF8));
    assert_eq!(reading.bytes(item.key_start, item.key_length), "\u{e8}".as_bytes());
    for (kind, number) in [(SA_ITEM_ARRAY_REF, 1), (SA_ITEM_HASH_REF, 2)] {
        let item = reading.item(kind);
        assert_eq!((item.length, item.flags), (0, SA_ITEM_CLASS | SA_ITEM_CLASS_UTF8));
        assert_eq!((item.track, item.referent_track), (SA_UNTRACKED, number));
        assert_eq!(reading.bytes(item.class_start, item.class_length), "\u{e7}".as_bytes());
    }
    let item = reading.item(SA_ITEM_REGEXP_REF);
    assert_eq!((item.flags, item.track, item.referent_track), (SA_ITEM_UTF8, SA_UNTRACKED, 3));
    assert_eq!(reading.bytes(item.start, item.length), "\u{e6}".as_bytes());
    assert_eq!(reading.bytes(item.modifiers_start, item.modifiers_length), b"ix");
    for number in 1..4 {
        assert_eq!(reading.item(SA_ITEM_SAME).target, number);
    }
    assert_eq!(reading.item(SA_ITEM_ARRAY_REF).flags, 0);
    assert!(matches!(reading.next(), Err(SA_ABSENT)));
    assert!(matches!(reading.next(), Err(SA_ABSENT)));
}

#[test]
fn a_document_beyond_its_limit_is_none() {
    let hello = |writer| text(writer, "hello", false);
    assert_eq!(written(12, hello), Some(b"\x3d\xf3rl\x05\x00\x65hello".to_vec()));
    assert_eq!(written(11, hello), None);
    assert_eq!(written(0, |_| ()), None);
}

#[test]
fn no_bytes_may_be_a_null_pointer() {
    // SAFETY: a null pointer stands for no bytes.
    let document = written(100, |writer| unsafe { sa_writer_text(writer, ptr::null(), 0, false) });
    assert_eq!(document, Some(b"\x3d\xf3rl\x05\x00\x60".to_vec()));
    let mut reading = Reading::begin(b"");
    // SAFETY: as above; the error is not wanted.
    unsafe { assert_eq!(sa_reader_begin(reading.reader, ptr::null(), 0, ptr::null_mut()), SA_CORRUPT) };
    assert!(matches!(reading.next(), Err(SA_CORRUPT)));
}

#[test]
fn an_error_has_a_text_and_stays() {
    let mut reading = Reading::begin(b"\x3d\xf3rl\x05\x00\x42\x05\x24");
    assert!(reading.next().is_ok() && reading.next().is_ok());
    for _ in 0..2 {
        assert!(matches!(reading.next(), Err(SA_CORRUPT)));
        assert_eq!(reading.text(), "byte 8: LONG_DOUBLE, which is not supported");
        assert_eq!((reading.error.status, reading.error.length), (SA_CORRUPT, 43));
        reading.error.text[0] = 0;
    }
    let mut reading = Reading::begin(b"\x3d\xf3rl\x45\x00\x25");
    assert_eq!(reading.text(), "byte 4: the body is compressed with zstd, which is not supported");
    assert!(matches!(reading.next(), Err(SA_CORRUPT)));
}

#[test]
fn items_come_in_lots() {
    let body: Vec<u8> = [0x2b, 0x14].into_iter().chain(0..20).collect();
    let mut reading = Reading::begin(&[b"\x3d\xf3rl\x05\x00\x28".as_slice(), &body].concat());
    let Reading { reader, document, error } = &mut reading;
    let mut counts = Vec::new();
    // SAFETY: as above; the items that are looked at were written.
    unsafe {
        let mut items = [MaybeUninit::<sa_item>::zeroed(); 8];
        loop {
            let (room, mut count) = (items.len(), 0);
            let out = items.as_mut_ptr().cast();
            assert_eq!(sa_reader_read(*reader, document.as_ptr(), document.len(), out, room, &mut count, error), SA_OK);
            let lot = &items[..count];
            counts.push((count, lot.iter().filter(|item| item.assume_init_ref().depth == 1).count()));
            if count < room {
                break;
            }
        }
    }
    assert_eq!(counts, [(8, 7), (8, 8), (5, 5)]);
}
