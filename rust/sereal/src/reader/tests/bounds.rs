use crate::testing::{document, promises, read};
use crate::{header, Item, Kind, Reader, Reason, MAX_DEPTH};

const DEPTH: usize = MAX_DEPTH as usize;

/// A document with a body of bytes.
fn with_body(body: &[u8]) -> Vec<u8> {
    [&header::WRITTEN, body].concat()
}

fn last_depth(body: &[u8]) -> Result<u32, Reason> {
    let (items, error) = read(&with_body(body));
    error.map_or_else(|| Ok(items.last().expect("an item").depth), |error| Err(error.reason))
}

#[test]
fn a_document_may_be_as_deep_as_the_limit_and_no_deeper() {
    for opening in [&[0x41][..], &[0x51, 0x60], &[0x28], &[0x28, 0x2b, 0x01], &[0x2c, 0x61, 0x41, 0x41]] {
        let nest = |depth: usize| [opening.repeat(depth), vec![0x05]].concat();
        assert_eq!(last_depth(&nest(DEPTH)), Ok(MAX_DEPTH));
        assert_eq!(last_depth(&nest(DEPTH + 1)), Err(Reason::Deep));
    }
    // What holds nothing opens nothing.
    assert_eq!(last_depth(&[vec![0x41; DEPTH], vec![0x40]].concat()), Ok(MAX_DEPTH));
}

#[test]
fn a_copy_is_as_deep_as_where_it_stands() {
    // An array of a deep one and, at so many levels, its copy.
    let body = |original: usize, around: usize| {
        [&[0x42][..], &vec![0x41; original], &[0x05], &vec![0x41; around], &[0x2f, 0x02]].concat()
    };
    assert_eq!(last_depth(&body(5_000, DEPTH - 5_001)), Ok(MAX_DEPTH));
    assert_eq!(last_depth(&body(5_000, DEPTH - 5_000)), Err(Reason::Deep));
}

#[test]
fn weak_and_blessed_and_padded_things_are_no_deeper() {
    let body = [vec![0x3f; 3 * DEPTH], vec![0x30; 3 * DEPTH], vec![0x41, 0x05]].concat();
    assert_eq!(last_depth(&body), Ok(1));
}

#[test]
fn what_is_copied_has_a_bound() {
    const LENGTH: usize = 10_000;
    // An array of a string and of so many copies of it; the last of them two bytes shorter, to be exact.
    let copies = |count: usize| {
        let mut body = vec![0x28, 0x2b];
        body.extend([(count + 1) as u8 & 0x7f | 0x80, ((count + 1) >> 7) as u8]);
        body.extend([0x26, (LENGTH & 0x7f) as u8 | 0x80, (LENGTH >> 7) as u8]);
        body.resize(body.len() + LENGTH, b'x');
        for _ in 0..count {
            body.extend([0x2f, 0x05]);
        }
        with_body(&body)
    };
    let fits = |count: usize| {
        let bound = 64 * copies(count).len() + (1 << 20);
        (count * (LENGTH + 3 + 64)) <= bound
    };
    let most = (1..).find(|count| !fits(count + 1)).expect("a bound");
    let mut reader = Reader::new();
    assert_eq!(promises::hold(&mut reader, &copies(most)), Ok(most as u64 + 2));
    let error = promises::hold(&mut reader, &copies(most + 1)).unwrap_err();
    let bound = 64 * copies(most + 1).len() as u64 + (1 << 20);
    assert_eq!(error.reason, Reason::CopiedMuch(bound));
    assert_eq!(error.to_string(), format!("byte {}: more than {bound} bytes copied in all", error.at));
    // At the COPY that was one too many.
    assert_eq!(error.at as usize, copies(most + 1).len() - 2);
    // The next document has a bound of its own.
    assert!(promises::hold(&mut reader, &copies(most)).is_ok());
}

#[test]
fn copied_items_of_one_byte_count_for_what_they_take() {
    // A thousand empty hashes, and copies of them all.
    let copies = |count: u8| {
        let mut body = vec![0x28, 0x2b, count + 1, 0x28, 0x2b, 0xe8, 0x07];
        body.resize(body.len() + 1_000, 0x50);
        for _ in 0..count {
            body.extend([0x2f, 0x04]);
        }
        with_body(&body)
    };
    let each = 1_001 * 64 + 1_004;
    let most = (1..).find(|count| (*count as usize + 1) * each > 64 * copies(count + 1).len() + (1 << 20)).unwrap();
    assert!(most < 20);
    assert_eq!(promises::hold(&mut Reader::new(), &copies(most)), Ok(2 + 1_000 + u64::from(most) * 1_001));
    let error = promises::hold(&mut Reader::new(), &copies(most + 1)).unwrap_err();
    assert!(matches!(error.reason, Reason::CopiedMuch(_)), "{error}");
}

#[test]
fn keys_class_names_and_structures_count_as_copied() {
    let key = [&[0x27, 0x80, 0x80, 0x01][..], &[b'k'; 1 << 14]].concat();
    let many = |first: &[u8], again: &[u8]| {
        const COUNT: usize = 300;
        let elements = [0x28, 0x2b, (COUNT & 0x7f) as u8 | 0x80, (COUNT >> 7) as u8];
        with_body(&[&elements, first, &again.repeat(COUNT - 1)].concat())
    };
    for document in [
        many(&[&[0x51][..], &key, &[0x05]].concat(), &[0x51, 0x2f, 0x06, 0x05]),
        many(&[&[0x2c][..], &key, &[0x40]].concat(), &[0x2d, 0x06, 0x40]),
        many(&[&[0x2c][..], &key, &[0x40]].concat(), &[0x2c, 0x2f, 0x06, 0x40]),
        many(&[&[0x41][..], &key].concat(), &[0x2f, 0x05]),
        many(&[&[0x28, 0x31][..], &key, &[0x60]].concat(), &[0x28, 0x31, 0x2f, 0x07, 0x60]),
    ] {
        let error = promises::hold(&mut Reader::new(), &document).unwrap_err();
        assert!(matches!(error.reason, Reason::CopiedMuch(_)), "{error}");
    }
}

#[test]
fn what_is_still_to_come_always_fits_into_what_is_left() {
    let mut reader = Reader::new();
    // Arrays that claim all that is left, in each other: the first can, and no other.
    let body = [0x28, 0x2b, 0x20].repeat(12);
    assert!(matches!(promises::hold(&mut reader, &with_body(&body)), Err(error) if error.at == 9));
    // A document that keeps its promises to the last byte.
    let whole = document("43 42 00 00 52 60 00 60 00 00");
    assert_eq!(promises::hold(&mut reader, &whole), Ok(8));
}

#[test]
fn a_reader_gives_back_what_a_large_document_took() {
    const COUNT: usize = 200_000;
    let mut body = vec![0x28, 0x2b];
    body.extend([0x80 | (COUNT & 0x7f) as u8, 0x80 | (COUNT >> 7 & 0x7f) as u8, (COUNT >> 14) as u8]);
    body.resize(body.len() + COUNT, 0x85);
    let (large, small, mut reader) = (with_body(&body), document("05"), Reader::new());
    assert_eq!(promises::hold(&mut reader, &large), Ok(COUNT as u64 + 1));
    assert!(reader.tracks.room() > super::super::KEPT_ROOM);
    reader.begin(&small).unwrap();
    assert!(reader.tracks.room() <= super::super::KEPT_ROOM);
}

#[test]
fn pads_cost_no_more_than_their_bytes() {
    // Each REFN looks for what is behind the PADs, and leaves them when it is a scalar.
    let body = [[&[0x28][..], &[0x3f; 9_000]].concat().repeat(100), vec![0x05]].concat();
    let (items, error) = read(&with_body(&body));
    assert_eq!((items.len(), error), (101, None));
    assert!(items[..100].iter().all(|item: &Item| item.kind() == Kind::Reference));
}
