//! The tags: the first byte of everything in a body.

/// The bit of a tag that says that something later refers to it.
pub(crate) const TRACKED: u8 = 0x80;

macro_rules! tags {
    ($($(#[doc = $doc:literal])* $name:ident = $value:literal;)*) => {
        $($(#[doc = $doc])* pub(crate) const $name: u8 = $value;)*

        /// What the specification calls a tag that has a name of its own.
        pub(crate) fn name(tag: u8) -> &'static str {
            match tag {
                $($value => stringify!($name),)*
                _ => "a tag without a name",
            }
        }
    };
}

tags! {
    /// 0 to 15, in the tag's low bits.
    POS = 0x00;
    /// -16 to -1: the tag less 32.
    NEG = 0x10;
    /// An unsigned number, a varint.
    VARINT = 0x20;
    /// A signed number, a varint that has its sign in the lowest bit.
    ZIGZAG = 0x21;
    /// 4 bytes, little-endian.
    FLOAT = 0x22;
    /// 8 bytes, little-endian.
    DOUBLE = 0x23;
    /// 16 bytes of a format that depends on the machine.
    LONG_DOUBLE = 0x24;
    /// The undefined value.
    UNDEF = 0x25;
    /// A varint, and so many bytes.
    BINARY = 0x26;
    /// A varint, and so many bytes of UTF-8.
    STR_UTF8 = 0x27;
    /// A reference to the item that follows.
    REFN = 0x28;
    /// A reference to what is tracked at an offset, a varint.
    REFP = 0x29;
    /// A varint, and so many keys, each with its value.
    HASH = 0x2a;
    /// A varint, and so many items.
    ARRAY = 0x2b;
    /// A class name, and the reference that it blesses.
    OBJECT = 0x2c;
    /// The offset of a class name, a varint, and the reference that it blesses.
    OBJECTV = 0x2d;
    /// What is tracked at an offset, a varint: the same scalar, in a second place.
    ALIAS = 0x2e;
    /// The item at an offset, a varint, as if it stood here once more.
    COPY = 0x2f;
    /// A weak reference: the one that follows.
    WEAKEN = 0x30;
    /// Two strings, the pattern and its modifiers.
    REGEXP = 0x31;
    /// As OBJECT, with what the class's FREEZE returned.
    OBJECT_FREEZE = 0x32;
    /// As OBJECTV, with what the class's FREEZE returned.
    OBJECTV_FREEZE = 0x33;
    /// A false boolean.
    NO = 0x34;
    /// A true boolean.
    YES = 0x35;
    /// 16 bytes: quadruple precision.
    FLOAT_128 = 0x38;
    /// The one undefined value of the language; in an array, an element that is not there.
    CANONICAL_UNDEF = 0x39;
    /// False.
    FALSE = 0x3a;
    /// True.
    TRUE = 0x3b;
    /// Many items of one kind.
    MANY = 0x3c;
    /// The first byte of a document's magic.
    PACKET_START = 0x3d;
    /// For tags to come.
    EXTEND = 0x3e;
    /// Nothing: passed over wherever a tag may stand.
    PAD = 0x3f;
    /// REFN ARRAY, with up to 15 items: how many, in the tag's low bits.
    ARRAYREF = 0x40;
    /// REFN HASH, with up to 15 pairs.
    HASHREF = 0x50;
    /// BINARY, with up to 31 bytes.
    SHORT_BINARY = 0x60;
}

/// Most of ARRAYREF and HASHREF.
pub(crate) const MOST_REFERRED: usize = 15;
/// Most of SHORT_BINARY.
pub(crate) const MOST_SHORT: usize = 31;

/// Whether an item with that tag, less its track bit, is a reference.
#[inline]
pub(crate) fn is_reference(tag: u8) -> bool {
    matches!(tag, REFN | REFP) || (ARRAYREF..SHORT_BINARY).contains(&tag)
}

/// Whether an item with that tag, less its track bit, is a string.
#[inline]
pub(crate) fn is_string(tag: u8) -> bool {
    matches!(tag, BINARY | STR_UTF8) || tag >= SHORT_BINARY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tag_has_one_name() {
        let named = |range: std::ops::RangeInclusive<u8>| range.filter(|tag| name(*tag) != name(0xff)).count();
        // All from VARINT to PAD but three, and the first of each kind that holds a number.
        assert_eq!((named(0x00..=0x1f), named(0x20..=0x3f), named(0x40..=0x7f)), (2, 30, 3));
        assert_eq!((name(0x28), name(0x32), name(0x60)), ("REFN", "OBJECT_FREEZE", "SHORT_BINARY"));
    }

    #[test]
    fn references_and_strings_are_told_from_the_rest() {
        let all = |belongs: fn(u8) -> bool| (0..TRACKED).filter(|tag| belongs(*tag)).collect::<Vec<u8>>();
        assert_eq!(all(is_reference), [0x28, 0x29].into_iter().chain(0x40..0x60).collect::<Vec<u8>>());
        assert_eq!(all(is_string), [0x26, 0x27].into_iter().chain(0x60..0x80).collect::<Vec<u8>>());
    }
}
