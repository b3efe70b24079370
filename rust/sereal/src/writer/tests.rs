use super::*;
use crate::testing::bytes;

/// What a writer writes, without the header.
fn body(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.begin(usize::MAX);
    write(&mut writer);
    let document = writer.finish().expect("no limit");
    let (header, body) = document.split_at(header::WRITTEN.len());
    assert_eq!(header, bytes("3df3726c0500"));
    body.to_vec()
}

#[test]
fn a_short_text_is_what_a_writer_writes() {
    let bytes = [7; SHORT_TEXT + 1];
    for length in 0..=SHORT_TEXT {
        let mut writer = Writer::new();
        writer.begin(1000);
        writer.text(&bytes[..length], false);
        let Some((document, made)) = short_text(&bytes[..length]) else { panic!("{length} bytes are short") };
        assert_eq!(Some(&document[..made]), writer.finish());
    }
    assert_eq!(short_text(&bytes), None);
}

#[test]
fn integers_take_the_shortest_form() {
    for (number, hex) in [
        (0, "00"),
        (15, "0f"),
        (16, "2010"),
        (300, "20ac02"),
        (-1, "1f"),
        (-16, "10"),
        (-17, "2121"),
        (-300, "21d704"),
        (i64::MAX, "20ffffffffffffffff7f"),
        (i64::MIN, "21ffffffffffffffffff01"),
    ] {
        assert_eq!(body(|writer| writer.signed(number)), bytes(hex), "{number}");
        if number >= 0 {
            assert_eq!(body(|writer| writer.unsigned(number as u64)), bytes(hex), "{number}");
        }
    }
    assert_eq!(body(|writer| writer.unsigned(u64::MAX)), bytes("20ffffffffffffffffff01"));
}

#[test]
fn reals_take_four_bytes_where_these_are_exact() {
    for (number, hex) in [
        (0.0, "2200000000"),
        (-0.0, "2200000080"),
        (1.5, "220000c03f"),
        (f64::INFINITY, "220000807f"),
        (f64::NEG_INFINITY, "22000080ff"),
        (f64::from(f32::MAX), "22ffff7f7f"),
        (f64::from(f32::from_bits(1)), "2201000000"),
        (2.71, "23ae47e17a14ae0540"),
        (0.1, "239a9999999999b93f"),
        (f64::MAX, "23ffffffffffffef7f"),
        (f64::from_bits(1), "230100000000000000"),
        // Rounded it would be infinite.
        (1e39, "231d4a9cf487820748"),
        (f64::from_bits(0x7ff8_0000_0000_0000), "23000000000000f87f"),
        (f64::from_bits(0xfff0_0000_0000_0001), "23010000000000f0ff"),
    ] {
        assert_eq!(body(|writer| writer.real(number)), bytes(hex), "{number}");
    }
}

#[test]
fn strings_have_their_length_before_them() {
    assert_eq!(body(|writer| writer.text(b"", false)), bytes("60"));
    assert_eq!(body(|writer| writer.text(b"abc", false)), bytes("63616263"));
    assert_eq!(body(|writer| writer.text(&[b'x'; 31], false)), [&[0x7f][..], &[b'x'; 31]].concat());
    assert_eq!(body(|writer| writer.text(&[b'x'; 32], false)), [&[0x26, 0x20][..], &[b'x'; 32]].concat());
    assert_eq!(body(|writer| writer.text(&[b'x'; 300], false)), [&[0x26, 0xac, 0x02][..], &[b'x'; 300]].concat());
    assert_eq!(body(|writer| writer.text("\u{263a}".as_bytes(), true)), bytes("2703e298ba"));
    assert_eq!(body(|writer| writer.text(b"", true)), bytes("2700"));
}

#[test]
fn each_of_the_rest_has_its_tag() {
    assert_eq!(body(Writer::undef), bytes("25"));
    assert_eq!(body(Writer::hole), bytes("39"));
    assert_eq!(body(|writer| writer.boolean(true)), bytes("35"));
    assert_eq!(body(|writer| writer.boolean(false)), bytes("34"));
    assert_eq!(body(Writer::reference), bytes("28"));
    assert_eq!(body(Writer::weaken), bytes("30"));
    assert_eq!(body(|writer| writer.copy(300)), bytes("2fac02"));
    assert_eq!(body(|writer| writer.class(b"Foo", false)), bytes("2c63466f6f"));
    assert_eq!(body(|writer| writer.class("\u{263a}".as_bytes(), true)), bytes("2c2703e298ba"));
    assert_eq!(body(|writer| writer.class_again(300)), bytes("2dac02"));
    assert_eq!(body(|writer| writer.regexp(b"x", false, b"")), bytes("31617860"));
    assert_eq!(body(|writer| writer.regexp("\u{263a}".as_bytes(), true, b"ix")), bytes("312703e298ba626978"));
}

#[test]
fn arrays_and_hashes_are_short_where_they_can_be() {
    for (count, short, long) in [(0, "40", "00"), (15, "4f", "0f"), (16, "282b10", "10"), (300, "282bac02", "ac02")] {
        assert_eq!(body(|writer| writer.array(count, true)), bytes(short));
        assert_eq!(body(|writer| writer.array(count, false)), bytes(&format!("2b{long}")));
    }
    for (count, short, long) in [(0, "50", "00"), (15, "5f", "0f"), (16, "282a10", "10"), (300, "282aac02", "ac02")] {
        assert_eq!(body(|writer| writer.hash(count, true)), bytes(short));
        assert_eq!(body(|writer| writer.hash(count, false)), bytes(&format!("2a{long}")));
    }
    assert_eq!(body(|writer| writer.array(usize::MAX, true)), bytes("282bffffffffffffffffff01"));
}

#[test]
fn what_is_referred_to_is_tracked() {
    // An array twice.
    let twice = body(|writer| {
        writer.array(2, true);
        writer.reference();
        let there = writer.position();
        writer.array(0, false);
        writer.same(there);
    });
    assert_eq!(twice, bytes("42 28ab00 2903"));
    // A regular expression twice, as Sereal::Encoder has it.
    let twice = body(|writer| {
        writer.reference();
        writer.array(2, false);
        writer.class(b"Regexp", false);
        writer.reference();
        let there = writer.position();
        writer.regexp(b"x", false, b"");
        writer.same(there);
    });
    assert_eq!(twice, bytes("282b02 2c66526567657870 28b1617860 290d"));
    // A scalar twice, and one that refers to itself.
    let twice = body(|writer| {
        writer.array(2, true);
        writer.signed(7);
        writer.alias(2);
    });
    assert_eq!(twice, bytes("42 87 2e02"));
    let itself = body(|writer| {
        writer.reference();
        writer.same(1);
    });
    assert_eq!(itself, bytes("a8 2901"));
}

#[test]
fn a_class_is_named_once() {
    let objects = body(|writer| {
        writer.array(2, true);
        let name = writer.position() + 1;
        writer.class(b"Foo", false);
        writer.hash(0, true);
        writer.class_again(name);
        writer.array(0, true);
    });
    assert_eq!(objects, bytes("42 2c63466f6f50 2d0340"));
}

#[test]
fn a_weak_reference_can_be_made_strong() {
    let weak = |tracked: bool, strengthen: &[usize]| {
        body(|writer| {
            writer.array(2, true);
            writer.weaken();
            writer.hash(0, true);
            if tracked {
                writer.same(2);
            }
            strengthen.iter().for_each(|offset| writer.strengthen(*offset));
        })
    };
    assert_eq!(weak(false, &[]), bytes("42 3050"));
    assert_eq!(weak(false, &[2]), bytes("42 3f50"));
    assert_eq!(weak(false, &[2, 2]), bytes("42 3f50"));
    // Its track bit stays.
    assert_eq!(weak(true, &[2]), bytes("42 bf50 2902"));
    // Nothing else is changed.
    assert_eq!(weak(false, &[0, 1, 3, 4, 5, 1 << 20, usize::MAX]), bytes("42 3050"));
}

#[test]
fn offsets_where_nothing_is_do_no_harm() {
    for offset in [0, 100, 1 << 40, usize::MAX - 5, usize::MAX] {
        let written = body(|writer| {
            writer.same(offset);
            writer.alias(offset);
        });
        assert_eq!((written[0], written.iter().filter(|byte| **byte == 0x2e).count()), (0x29, 1), "{offset}");
    }
}

#[test]
fn positions_are_those_of_the_format() {
    let mut writer = Writer::new();
    writer.begin(1_000);
    assert_eq!(writer.position(), 1);
    writer.undef();
    assert_eq!(writer.position(), 2);
    writer.text(b"abc", false);
    assert_eq!(writer.position(), 6);
    writer.begin(1_000);
    assert_eq!(writer.position(), 1);
}

#[test]
fn a_document_is_finished_up_to_its_limit() {
    let mut writer = Writer::new();
    for (limit, fits) in [(0, false), (5, false), (9, false), (10, true), (11, true)] {
        writer.begin(limit);
        writer.text(b"abc", false);
        assert_eq!(writer.finish().is_some(), fits, "{limit}");
        // More can still be said.
        writer.undef();
        assert_eq!(writer.finish().is_some(), fits && limit > 10, "{limit}");
    }
    assert_eq!(Writer::new().finish(), None);
}

#[test]
fn what_goes_beyond_the_limit_is_counted_and_not_kept() {
    const LIMIT: usize = 5_000;
    let mut writer = Writer::new();
    writer.begin(LIMIT);
    let text = [b'x'; 1_000];
    for round in 0..100 {
        assert_eq!(writer.position(), 1 + round * 1_012);
        writer.text(&text, false);
        writer.real(0.1);
    }
    assert_eq!(writer.finish(), None);
    // Where nothing is kept nothing is tracked.
    let there = writer.position();
    writer.weaken();
    writer.strengthen(there);
    writer.strengthen(LIMIT);
    writer.same(there);
    writer.alias(50_000);
    for _ in 0..1_000 {
        writer.text(&[0; 100_000], false);
    }
    assert_eq!(writer.position(), there + 1 + 4 + 4 + 1_000 * 100_004);
    assert!(writer.buffer.capacity() <= LIMIT + PIECE, "{}", writer.buffer.capacity());
    // Something small behind something large that did not fit does not take its place.
    writer.begin(100);
    writer.text(&text, false);
    writer.undef();
    assert_eq!((writer.finish(), writer.position()), (None, 1_005));
}

#[test]
fn counting_stops_where_numbers_do() {
    let mut writer = Writer { buffer: vec![0; FIRST_ROOM], length: usize::MAX - 20, limit: 100 };
    writer.real(0.1);
    writer.text(&[0; 100], false);
    writer.same(3);
    assert_eq!((writer.length, writer.finish()), (usize::MAX, None));
}

#[test]
fn the_room_of_a_large_document_is_given_back() {
    let mut writer = Writer::new();
    let large = vec![b'x'; 3 * KEPT_ROOM];
    for _ in 0..2 {
        writer.begin(usize::MAX);
        writer.text(&large, false);
        writer.undef();
        assert_eq!(writer.finish().map(<[u8]>::len), Some(6 + 5 + large.len() + 1));
        writer.begin(1_000);
        assert!(writer.buffer.capacity() <= KEPT_ROOM);
        writer.undef();
        assert_eq!(writer.finish(), Some(&bytes("3df3726c0500 25")[..]));
    }
}

#[test]
fn nothing_of_the_last_document_is_left() {
    let mut writer = Writer::new();
    writer.begin(1_000);
    writer.text(&[0xff; 500], false);
    writer.begin(1_000);
    // Offsets of the last document.
    writer.undef();
    writer.same(100);
    writer.strengthen(200);
    assert_eq!(writer.finish(), Some(&bytes("3df3726c0500 25 2964")[..]));
    writer.text(&[0; 200], false);
    assert_eq!(writer.finish().map(|document| document[9 + 3..].to_vec()), Some(vec![0; 200]));
}
