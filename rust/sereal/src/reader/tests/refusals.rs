use crate::error::Reason::{self, *};
use crate::testing::{bytes, document, read};
use crate::{tag, Item, Reader, Role};

const BODY: u32 = crate::header::WRITTEN.len() as u32;

/// Asserts that each body is refused: where, from its own first byte on, and why.
fn refused(cases: &[(&str, u32, Reason)]) {
    for (body, at, reason) in cases {
        let error = read(&document(body)).1.unwrap_or_else(|| panic!("{body} is read"));
        assert_eq!((error.at - BODY, error.reason), (*at, *reason), "{body}");
    }
}

#[test]
fn what_ends_too_soon() {
    refused(&[
        ("", 0, Ended),
        ("3f", 1, Ended),
        ("20", 1, Ended),
        ("20 8080", 1, Ended),
        ("21", 1, Ended),
        ("22 000000", 1, Ended),
        ("23 00000000000000", 1, Ended),
        ("26", 1, Ended),
        ("28", 1, Ended),
        ("28 2b", 2, Ended),
        ("28 2a", 2, Ended),
        ("28 31", 2, Ended),
        ("28 31 60", 3, Ended),
        ("29", 1, Ended),
        ("2c", 1, Ended),
        ("2c 6141", 3, Ended),
        ("2d", 1, Ended),
        ("30", 1, Ended),
        ("42 85 2e", 3, Ended),
        ("42 85 2f", 3, Ended),
    ]);
}

#[test]
fn what_is_longer_than_the_document() {
    refused(
        &[
            ("26 05 61", 0, LongString { length: 5, left: 1 }),
            ("27 ffffffffffffffffff01 61", 0, LongString { length: u64::MAX, left: 1 }),
            ("62 61", 0, LongString { length: 2, left: 1 }),
            ("51 62 61", 1, LongString { length: 2, left: 1 }),
            ("2c 62 61", 1, LongString { length: 2, left: 1 }),
            ("41", 0, Promised { items: 1, left: 0 }),
            ("28 2b 05 00 00", 0, Promised { items: 5, left: 2 }),
            ("52 6161 00", 0, Promised { items: 4, left: 3 }),
            ("28 2b ffffffffffffffffff01 00", 0, Promised { items: u64::MAX, left: 1 }),
            ("28 2a ffffffffffffffffff01 00", 0, Promised { items: u64::MAX, left: 1 }),
            ("28 2b 8080808010 00", 0, Promised { items: 1 << 32, left: 1 }),
            // What is still to come of those around it counts.
            ("44 41 00 00 00", 0, Ended),
        ][..10],
    );
    refused(&[
        ("43 43 00 00 00 00", 1, Promised { items: 5, left: 4 }),
        ("42 28 2a 02 6161 00", 1, Promised { items: 5, left: 3 }),
        ("42 28 28", 1, Promised { items: 2, left: 1 }),
        // A string that leaves too little for the others.
        ("43 62 6161 00", 1, Promised { items: 2, left: 1 }),
    ]);
}

#[test]
fn numbers_of_more_than_64_bits() {
    refused(&[
        ("20 ffffffffffffffffff02", 1, Number),
        ("20 8080808080808080808000", 1, Number),
        ("21 ffffffffffffffffff7f", 1, Number),
        ("26 ffffffffffffffffffff01", 1, Number),
        ("28 2b ffffffffffffffffffff01", 2, Number),
        ("29 ffffffffffffffffffff01", 1, Number),
        ("42 00 2f ffffffffffffffffffff01", 3, Number),
    ]);
}

#[test]
fn tags_that_are_not_read() {
    refused(&[
        ("24 00000000000000000000000000000000", 0, Unsupported(tag::LONG_DOUBLE)),
        ("38 00000000000000000000000000000000", 0, Unsupported(tag::FLOAT_128)),
        ("3c 00", 0, Unsupported(tag::MANY)),
        ("3d 00", 0, Unsupported(tag::PACKET_START)),
        ("3e 00", 0, Unsupported(tag::EXTEND)),
        ("32 6141 40", 0, Frozen),
        ("42 32 6141 40", 1, Frozen),
        ("33 01 40", 0, Frozen),
        ("36", 0, Reserved(0x36)),
        ("37", 0, Reserved(0x37)),
        // With a track bit too.
        ("b6", 0, Reserved(0x36)),
        ("bd 00", 0, Unsupported(tag::PACKET_START)),
    ]);
}

#[test]
fn things_without_their_reference() {
    refused(&[
        ("2b 00", 0, NoRefn(tag::ARRAY)),
        ("2a 00", 0, NoRefn(tag::HASH)),
        ("31 60 60", 0, NoRefn(tag::REGEXP)),
        ("41 2b 00", 1, NoRefn(tag::ARRAY)),
        ("28 30 2b 00", 2, NoRefn(tag::ARRAY)),
        ("28 2c 6141 2b 00", 4, NoRefn(tag::ARRAY)),
        // A copy of the array behind a REFN would be one without.
        ("42 28 2b 00 2f 03", 2, NoRefn(tag::ARRAY)),
        ("42 28 2b 00 28 2f 03", 2, NoRefn(tag::ARRAY)),
    ]);
}

#[test]
fn weak_and_blessed_things_that_are_no_references() {
    refused(&[
        ("30 05", 1, NoReference(tag::WEAKEN)),
        ("30 6161", 1, NoReference(tag::WEAKEN)),
        ("30 25", 1, NoReference(tag::WEAKEN)),
        ("2c 6141 05", 3, NoReference(tag::OBJECT)),
        ("30 2c 6141 05", 4, NoReference(tag::OBJECT)),
        ("42 85 30 2e 02", 3, NoReference(tag::WEAKEN)),
        ("42 85 2c 6141 2e 02", 5, NoReference(tag::OBJECT)),
        ("42 2c 6141 40 2d 03 05", 7, NoReference(tag::OBJECT)),
        // The item that is copied is none.
        ("42 05 30 2f 02", 1, NoReference(tag::WEAKEN)),
        ("42 05 2c 6141 2f 02", 1, NoReference(tag::OBJECT)),
        ("2c 6141 2c 6142 40", 3, TwoClasses),
        ("42 2c 6141 40 2c 6142 2d 03 40", 8, TwoClasses),
        ("42 2c 6141 40 2c 6142 2f 02", 1, TwoClasses),
        ("2c 60 40", 1, EmptyClass),
        ("42 60 2d 02 40", 1, EmptyClass),
    ]);
}

#[test]
fn things_in_the_place_of_a_string() {
    refused(&[
        ("51 05 05", 1, NoString(Role::Key)),
        ("51 25 05", 1, NoString(Role::Key)),
        ("51 40 05", 1, NoString(Role::Key)),
        ("42 85 51 2e 02 05", 3, NoString(Role::Key)),
        ("42 05 51 2f 02 05", 1, NoString(Role::Key)),
        ("2c 05 40", 1, NoString(Role::Class)),
        ("42 05 2d 02 40", 1, NoString(Role::Class)),
        ("42 05 2c 2f 02 40", 1, NoString(Role::Class)),
        ("28 31 05 60", 2, NoString(Role::Pattern)),
        ("28 31 60 05", 3, NoString(Role::Modifiers)),
        // A COPY of a COPY.
        ("43 6161 2f 02 51 2f 04 05", 3, NoString(Role::Key)),
    ]);
}

#[test]
fn references_to_what_is_not_tracked() {
    let untracked = |tag, offset| NotTracked { tag, offset };
    refused(&[
        ("29 09", 0, untracked(tag::REFP, 9)),
        ("29 00", 0, untracked(tag::REFP, 0)),
        ("29 01", 0, untracked(tag::REFP, 1)),
        ("29 ffffffffffffffffff01", 0, untracked(tag::REFP, u64::MAX)),
        // 2 to the 32nd power more than what is tracked.
        ("42 85 29 8280808010", 2, untracked(tag::REFP, (1 << 32) + 2)),
        ("42 05 29 02", 2, untracked(tag::REFP, 2)),
        // Tracked later.
        ("42 29 04 85", 1, untracked(tag::REFP, 4)),
        ("42 05 2e 02", 2, untracked(tag::ALIAS, 2)),
        ("42 05 2e 00", 2, untracked(tag::ALIAS, 0)),
        // The track bit of a key counts for nothing, nor does one in a copied item.
        ("42 51 e161 05 29 03", 5, untracked(tag::REFP, 3)),
        ("42 28 ab 00 2e 03", 4, AliasOfNoScalar),
        ("42 28 aa 00 2e 03", 4, AliasOfNoScalar),
        ("42 28 b1 60 60 2e 03", 5, AliasOfNoScalar),
        ("2e 01", 0, AliasAlone),
        ("ae 01", 0, AliasAlone),
        ("41 ae 02", 1, untracked(tag::ALIAS, 2)),
        ("42 85 bf 2e 02", 3, AliasTracked),
        ("42 85 af 04", 2, NotBefore { tag: tag::COPY, offset: 4 }),
    ]);
}

#[test]
fn copies_that_cannot_be() {
    let not_before = |tag, offset| NotBefore { tag, offset };
    refused(&[
        ("2f 01", 0, not_before(tag::COPY, 1)),
        ("2f 00", 0, not_before(tag::COPY, 0)),
        ("42 05 2f 03", 2, not_before(tag::COPY, 3)),
        ("42 05 2f 63", 2, not_before(tag::COPY, 99)),
        ("42 05 2f ffffffffffffffffff01", 2, not_before(tag::COPY, u64::MAX)),
        ("42 05 51 2f 63 05", 3, not_before(tag::COPY, 99)),
        ("2d 01 40", 0, not_before(tag::OBJECTV, 1)),
        ("2d 63 40", 0, not_before(tag::OBJECTV, 99)),
        // Of what is open around the COPY.
        ("42 05 2f 01", 2, CopyOpen),
        ("42 42 01 2f 02 05", 3, CopyOpen),
        // Of what the COPY's own tag would be part of: of PADs, a number, a string, an array.
        ("3f 2f 01", 1, CopyOpen),
        ("42 61 20 2f 03", 3, CopyOpen),
        ("42 61 62 2f 03", 3, CopyOpen),
        ("42 61 41 2f 03", 3, CopyOpen),
        // In a copied item.
        ("43 05 41 2f 02 2f 03", 3, CopyInCopy),
        ("43 6161 51 2f 02 05 2f 04", 4, CopyInCopy),
    ]);
    // The promises of what is around a COPY are looked at before it is followed.
    refused(&[("44 05 05 2f 02", 3, Promised { items: 1, left: 0 })]);
}

#[test]
fn bytes_behind_the_end() {
    refused(&[
        ("05 05", 1, Trailing(1)),
        ("40 00 00", 1, Trailing(2)),
        ("05 3f", 1, Trailing(1)),
        ("41 05 3f3f3f", 2, Trailing(3)),
    ]);
}

#[test]
fn another_document_than_was_begun() {
    let (one, other) = (document("42 05 05"), document("43 05 05 05"));
    let (mut reader, mut item) = (Reader::new(), Item::default());
    reader.begin(&one).unwrap();
    assert_eq!(reader.next(&one, &mut item), Ok(true));
    let error = reader.next(&other, &mut item).unwrap_err();
    assert_eq!(error.reason, OtherDocument);
    // It stays refused, until the next is begun.
    assert_eq!(reader.next(&one, &mut item), Err(error));
    reader.begin(&one).unwrap();
    assert_eq!(reader.next(&one, &mut item), Ok(true));
}

#[test]
fn the_same_again_after_an_error() {
    let (mut reader, mut item) = (Reader::new(), Item::default());
    let bad_header = bytes("3df3726c06 00 39");
    let error = reader.begin(&bad_header).unwrap_err();
    assert_eq!(error.reason, Version(6));
    assert_eq!(reader.next(&bad_header, &mut item), Err(error));
    let bad = document("42 05 36");
    reader.begin(&bad).unwrap();
    assert_eq!([reader.next(&bad, &mut item), reader.next(&bad, &mut item)], [Ok(true), Ok(true)]);
    let error = reader.next(&bad, &mut item).unwrap_err();
    assert_eq!(reader.next(&bad, &mut item), Err(error));
    assert_eq!(reader.next(&bad, &mut item), Err(error));
}

#[test]
fn a_reader_that_has_begun_nothing() {
    let mut item = Item::default();
    assert_eq!(Reader::new().next(&document("05"), &mut item).unwrap_err().reason, OtherDocument);
    assert_eq!(Reader::new().next(&[], &mut item).unwrap_err().reason, Ended);
}
