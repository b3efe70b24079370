//! Documents that Sereal::Encoder 5.003 wrote, and a few more with what it never writes.

use super::bytes;

/// What a document says, its bytes, and its outline.
pub struct Fixture {
    pub what: &'static str,
    pub hex: &'static str,
    pub outline: &'static str,
}

impl Fixture {
    pub fn document(&self) -> Vec<u8> {
        bytes(self.hex)
    }
}

const fn fixture(what: &'static str, hex: &'static str, outline: &'static str) -> Fixture {
    Fixture { what, hex, outline }
}

pub const FIXTURES: &[Fixture] = &[
    fixture("undef", "3df3726c0500 39", "hole"),
    fixture("two undefs", "3df3726c0500 42 25 25", "[undef, undef]"),
    fixture(
        "integers",
        "3df3726c0500 282b0b 00 0f 2010 20ac02 1f 10 2121 21d704 20ffffffffffffffff7f 20ffffffffffffffffff01
            21ffffffffffffffffff01",
        "[0, 15, 16, 300, -1, -16, -17, -300, 9223372036854775807, 18446744073709551615, -9223372036854775808]",
    ),
    fixture(
        "reals",
        "3df3726c0500 282b05 220000c03f 2200000080 236e861bf0f9210940 220000807f 22000080ff",
        "[1.5, -0.0, 3.14159, inf, -inf]",
    ),
    fixture("booleans", "3df3726c0500 282b02 35 34", "[true, false]"),
    fixture(
        "strings",
        "3df3726c0500 282b05 60 63616263 26207878787878787878787878787878787878787878787878787878787878787878
            2703e298ba 61e9",
        "[\"\", \"abc\", \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\", u\"\u{263a}\", \"\u{fffd}\"]",
    ),
    fixture("an array of nothing", "3df3726c0500 282b00", "[]"),
    fixture("a hash of nothing", "3df3726c0500 282a00", "{}"),
    fixture(
        "an array of sixteen",
        "3df3726c0500 282b10 0102030405060708090a0b0c0d0e0f 2010",
        "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]",
    ),
    fixture(
        "a hash",
        "3df3726c0500 282a03 6161 01 6162 282b020203 2703e298ba 282a00",
        "{\"a\": 1, \"b\": [2, 3], u\"\u{263a}\": {}}",
    ),
    fixture("short references", "3df3726c0500 51 6161 42 01 50", "{\"a\": [1, {}]}"),
    fixture("a reference to a scalar", "3df3726c0500 28 6178", "\\\"x\""),
    fixture("a reference to that", "3df3726c0500 28 28 6178", "\\\\\"x\""),
    fixture("an array twice", "3df3726c0500 282b02 28ab00 2905", "[[0=], same 0]"),
    fixture("a hash twice", "3df3726c0500 282b02 28aa00 2905", "[{0=}, same 0]"),
    fixture("a reference to itself", "3df3726c0500 a901", "0=same 0"),
    fixture("a scalar that refers to itself", "3df3726c0500 a8 2901", "0=\\same 0"),
    fixture("an element that refers to itself", "3df3726c0500 282b01 a904", "[0=same 0]"),
    fixture("an array that holds itself", "3df3726c0500 28ab01 2902", "[0=same 0]"),
    fixture("a regexp twice", "3df3726c0500 282b02 2c66526567657870 28b1617860 290d", "[Regexp of /0=x/, same 0]"),
    fixture(
        "a regexp",
        "3df3726c0500 2c66526567657870 28312709615c787b323633617d 626978",
        "Regexp of /ua\\\\x{263a}/ix",
    ),
    fixture("objects", "3df3726c0500 282b03 2c63466f6f28aa00 2d05282b00 290a", "[Foo of {0=}, Foo of [], same 0]"),
    fixture("a scalar that is an object", "3df3726c0500 2c68466f6f3a3a426172 28 03", "Foo::Bar of \\3"),
    fixture("a reference that is an object", "3df3726c0500 2c6152 28 282b00", "R of \\[]"),
    fixture("a weak reference", "3df3726c0500 282b02 28aa00 302905", "[{0=}, weak same 0]"),
    fixture("a weak reference to what is gone", "3df3726c0500 282b01 3f282a00", "[{}]"),
    fixture(
        "a weak reference to an object",
        "3df3726c0500 282b02 2c63466f6f28aa00 30290a",
        "[Foo of {0=}, weak same 0]",
    ),
    fixture("a weak reference first", "3df3726c0500 282b02 302c63466f6f28aa00 290b", "[weak Foo of {0=}, same 0]"),
    fixture("a scalar twice", "3df3726c0500 282b02 87 2e04", "[0=7, alias 0]"),
    fixture("elements that are not there", "3df3726c0500 282b03 39 39 01", "[hole, hole, 1]"),
    fixture(
        "a string three times",
        "3df3726c0500 282b03 6568656c6c6f 2f04 282a01 6568656c6c6f 2f04",
        "[\"hello\", \"hello\", {\"hello\": \"hello\"}]",
    ),
    fixture("a string twice, as one scalar", "3df3726c0500 282b02 e568656c6c6f 2e04", "[0=\"hello\", alias 0]"),
    fixture("a key twice", "3df3726c0500 282b02 282a01 646e616d65 01 282a01 2f07 02", "[{\"name\": 1}, {\"name\": 2}]"),
    fixture("a header with more in it", "3df3726c05 06 01646d657461 01", "1"),
    fixture("version 3", "3df3726c0300 42 01 6161", "[1, \"a\"]"),
    fixture("version 4", "3df3726c0400 42 01 6161", "[1, \"a\"]"),
    fixture("false and true", "3df3726c0500 42 3a 3b", "[false, true]"),
    fixture(
        "PADs everywhere",
        "3df3726c0500 3f3f 28 3f 2a 01 3f 6161 3f 2c 3f 6142 3f 28 3f 2b 00",
        "{\"a\": B of []}",
    ),
    fixture("tracked PADs", "3df3726c0500 42 bf 30 28 bf 2b 00 42 2902 2905", "[0=weak [1=], [same 0, same 1]]"),
    fixture(
        "a copied structure",
        "3df3726c0500 44 52 6161 c1 07 6162 a8 05 af02 2905 290b",
        "[{\"a\": 0=[7], \"b\": 1=\\5}, 2={\"a\": [7], \"b\": \\5}, same 0, same 2]",
    ),
    fixture(
        "an object's copy",
        "3df3726c0500 45 2c6146 50 2f02 302f02 2c2f03 41 01 2d03 28 02",
        "[F of {}, F of {}, weak F of {}, F of [1], F of \\2]",
    ),
    fixture("a class name that is a copy", "3df3726c0500 43 6146 2c2f02 50 2d05 50", "[\"F\", F of {}, F of {}]"),
];
