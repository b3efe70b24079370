use crate::testing::outline::outline;
use crate::testing::{document, read};
use crate::{Item, Kind, Reader};

/// The outline of the document with that body.
fn says(body: &str) -> String {
    outline(&document(body))
}

/// All items of a document that is in order.
fn items(body: &str) -> Vec<Item> {
    let (items, error) = read(&document(body));
    assert_eq!(error, None, "{body}");
    items
}

#[test]
fn every_tag_of_an_item_is_read() {
    for (body, outline) in [
        ("00", "0"),
        ("0f", "15"),
        ("10", "-16"),
        ("1f", "-1"),
        ("20 00", "0"),
        ("20 ff01", "255"),
        ("20 ffffffffffffffff7f", "9223372036854775807"),
        ("20 80808080808080808001", "9223372036854775808"),
        ("21 00", "0"),
        ("21 01", "-1"),
        ("21 02", "1"),
        ("21 ffffffffffffffffff01", "-9223372036854775808"),
        ("22 0000c03f", "1.5"),
        ("22 0000807f", "inf"),
        ("23 000000000000f83f", "1.5"),
        ("23 0000000000000080", "-0.0"),
        ("23 010000000000f87f", "nan 7ff8000000000001"),
        ("25", "undef"),
        ("26 00", "\"\""),
        ("26 02 6162", "\"ab\""),
        ("27 03 e298ba", "u\"\u{263a}\""),
        ("28 25", "\\undef"),
        ("28 2b 02 01 02", "[1, 2]"),
        ("28 2a 01 6161 02", "{\"a\": 2}"),
        ("28 31 6161 6162", "/a/b"),
        ("28 31 27 03 e298ba 60", "/u\u{263a}/"),
        ("2c 6141 50", "A of {}"),
        ("34", "false"),
        ("35", "true"),
        ("39", "hole"),
        ("3a", "false"),
        ("3b", "true"),
        ("3f 3f 01", "1"),
        ("40", "[]"),
        ("43 01 02 03", "[1, 2, 3]"),
        ("4f 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e", "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]"),
        ("50", "{}"),
        ("52 6161 01 6162 02", "{\"a\": 1, \"b\": 2}"),
        ("60", "\"\""),
        ("62 6162", "\"ab\""),
        ("7f 30313233343536373839303132333435363738393031323334353637383930", "\"0123456789012345678901234567890\""),
    ] {
        assert_eq!(says(body), outline, "{body}");
    }
}

#[test]
fn an_integer_is_unsigned_only_where_it_must_be() {
    assert_eq!(items("20 ffffffffffffffff7f")[0].kind(), Kind::Signed(i64::MAX));
    assert_eq!(items("20 80808080808080808001")[0].kind(), Kind::Unsigned(1 << 63));
}

#[test]
fn a_float_keeps_its_bits() {
    for bits in [0x7ff0_0000_0000_0001_u64, 0xffff_ffff_ffff_ffff, 0x7ff8_0000_0000_0000, 1, 0x8000_0000_0000_0000] {
        let hex: String = bits.to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        let Kind::Real(number) = items(&format!("23 {hex}"))[0].kind() else { panic!("a real") };
        assert_eq!(number.to_bits(), bits);
    }
}

#[test]
fn places_are_counted_from_the_first_byte() {
    // A suffix of the header, so that the body begins at 8.
    let bytes = crate::testing::bytes("3df3726c05 02 0000 51 3f 6161 3f30 3f2c6142 28 3f 2b 01 62 7879");
    let (items, error) = read(&bytes);
    assert_eq!((items.len(), error), (3, None));
    assert_eq!((items[0].at, items[0].depth), (8, 0));
    // The tag, not what stands before it.
    assert_eq!((items[1].at, items[1].depth), (18, 1));
    assert_eq!(items[1].key().map(|key| (key.start(), key.length())), Some((11, 1)));
    assert_eq!(items[1].class().map(|class| (class.start(), class.length())), Some((17, 1)));
    let Kind::Text(text) = items[2].kind() else { panic!("a string") };
    assert_eq!((items[2].at, items[2].depth, text.start(), text.length()), (22, 2, 23, 2));
}

#[test]
fn what_stands_before_an_item_is_said_of_it() {
    for (body, outline) in [
        ("30 28 01", "weak \\1"),
        ("30 41 01", "weak [1]"),
        ("30 2c 6141 40", "weak A of []"),
        ("2c 6141 30 40", "weak A of []"),
        ("2c 6141 28 2c 6142 40", "A of \\B of []"),
        ("2c 27 03 e298ba 40", "u\u{263a} of []"),
        ("42 28 85 2c 6141 2903", "[\\0=5, A of same 0]"),
    ] {
        assert_eq!(says(body), outline, "{body}");
    }
}

#[test]
fn a_track_bit_names_the_scalar_or_what_it_refers_to() {
    for (body, outline) in [
        // On the tag, or on what stands before it: the scalar.
        ("42 85 2902", "[0=5, same 0]"),
        ("42 80 2902", "[0=0, same 0]"),
        ("42 e161 2902", "[0=\"a\", same 0]"),
        ("42 c0 2902", "[0=[], same 0]"),
        ("42 d0 2902", "[0={}, same 0]"),
        ("42 a82b00 2902", "[0=[], same 0]"),
        ("43 b0ac6141a840 2902 2902", "[0=weak A of \\[], same 0, same 0]"),
        // Behind REFN: what it refers to.
        ("42 28ab00 2903", "[[0=], same 0]"),
        ("42 28aa00 2903", "[{0=}, same 0]"),
        ("42 28b16061 61 2903", "[/0=/a, same 0]"),
        ("42 28bf2b00 2903", "[[0=], same 0]"),
        // Both, and the scalar's number first.
        ("43 a8ab00 2903 2902", "[0=[1=], same 1, same 0]"),
        // A PAD before a scalar that is referred to: the scalar's.
        ("42 28bf05 2903", "[\\0=5, same 0]"),
        // A name of a scalar is one number, however often it is tracked.
        ("44 bfbf85 2902 2903 2904", "[0=5, same 0, same 0, same 0]"),
        // Who comes first has the lower number.
        ("45 81 82 01 2903 2902", "[0=1, 1=2, 1, same 1, same 0]"),
    ] {
        assert_eq!(says(body), outline, "{body}");
    }
}

#[test]
fn an_alias_is_the_scalar_in_a_second_place() {
    for (body, outline) in [
        ("42 85 2e02", "[0=5, alias 0]"),
        // Which may be named itself.
        ("43 85 ae02 2903", "[0=5, alias 0, same 0]"),
        ("43 85 ae02 ae03", "[0=5, alias 0, alias 0]"),
        ("52 6161 85 6162 2e04", "{\"a\": 0=5, \"b\": alias 0}"),
        ("42 85 282e02", "[0=5, \\alias 0]"),
        // Of a scalar that is not complete.
        ("41 c1 2e02", "[0=[alias 0]]"),
    ] {
        assert_eq!(says(body), outline, "{body}");
    }
}

#[test]
fn a_copy_is_read_as_what_it_copies() {
    for (body, outline) in [
        ("42 6161 2f02", "[\"a\", \"a\"]"),
        ("42 05 2f02", "[5, 5]"),
        ("42 42 01 02 2f02", "[[1, 2], [1, 2]]"),
        ("42 41 51 6161 41 07 2f02", "[[{\"a\": [7]}], [{\"a\": [7]}]]"),
        ("42 3f05 2f02", "[5, 5]"),
        ("43 2c614140 2f02 2f02", "[A of [], A of [], A of []]"),
        ("42 3040 2f02", "[weak [], weak []]"),
        ("42 40 302f02", "[[], weak []]"),
        ("42 40 2c61412f02", "[[], A of []]"),
        ("42 01 282f02", "[1, \\1]"),
        ("43 2840 2f02 2f02", "[\\[], \\[], \\[]]"),
        // Its track bits are the original's; that of the COPY is its own.
        ("44 85 af02 2902 2903", "[0=5, 1=5, same 0, same 1]"),
        ("43 28ab00 2f02 2903", "[[0=], [], same 0]"),
        // Keys and class names.
        ("42 6161 51 2f02 05", "[\"a\", {\"a\": 5}]"),
        ("42 51 6161 05 51 2f03 06", "[{\"a\": 5}, {\"a\": 6}]"),
        ("42 6161 2c2f0240", "[\"a\", a of []]"),
        ("42 6161 28312f022f02", "[\"a\", /a/a]"),
        ("43 6161 2c2f0240 2d0540", "[\"a\", a of [], a of []]"),
        ("42 2c614140 2d0340", "[A of [], A of []]"),
    ] {
        assert_eq!(says(body), outline, "{body}");
    }
}

#[test]
fn a_key_and_a_class_may_have_a_track_bit() {
    assert_eq!(says("51 e161 05"), "{\"a\": 5}");
    assert_eq!(says("2c e141 40"), "A of []");
}

#[test]
fn the_end_stays_the_end() {
    let (bytes, mut reader, mut item) = (document("40"), Reader::new(), Item::default());
    reader.begin(&bytes).unwrap();
    assert_eq!(reader.next(&bytes, &mut item), Ok(true));
    for _ in 0..3 {
        assert_eq!(reader.next(&bytes, &mut item), Ok(false));
    }
}

#[test]
fn a_document_that_is_a_string_is_known_at_a_look() {
    let seen =
        |hex: &str| crate::text(&crate::testing::bytes(hex)).map(|text| (text.start(), text.length(), text.utf8));
    assert_eq!(seen("3df3726c0500 60"), Some((7, 0, false)));
    assert_eq!(seen("3df3726c0500 62 6162"), Some((7, 2, false)));
    assert_eq!(seen("3df3726c0500 26 02 6162"), Some((8, 2, false)));
    assert_eq!(seen("3df3726c0500 27 02 c3a9"), Some((8, 2, true)));
    // Anything else is not, though some of it can be read.
    for other in [
        "",
        "3df3726c0500",
        "3df3726c05",
        "3df3726c0400 62 6162",
        "3df3726c0501ff 62 6162",
        "3df3726c0500 e2 6162",
        "3df3726c0500 62 61",
        "3df3726c0500 62 6162 63",
        "3df3726c0500 26 03 6162",
        "3df3726c0500 26",
        "3df3726c0500 05",
        // Nor is a tag in front of what could be a string's length and bytes.
        "3df3726c0500 25 01 61",
        "3df3726c0500 42 01 61",
        "3df3726c0500 3f 62 6162",
        "3df3726c0500 28 62 6162",
    ] {
        assert_eq!(seen(other), None, "{other}");
    }
}
