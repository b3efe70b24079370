//! Why a document is refused, and the one table from reason to message.

use crate::tag;
use std::fmt;

/// Why a document is refused, and where. `Display` gives "byte 17: a number of more than 64 bits".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Error {
    /// Where, in bytes from the document's first.
    pub at: u32,
    /// Why.
    pub reason: Reason,
}

/// Why a document is refused. Offsets are the format's own: 1 is the first byte of the body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// It does not begin as one.
    Magic,
    /// It begins as one of version 1 or 2.
    OldMagic,
    /// It begins as one whose bytes were encoded as UTF-8.
    MagicAsUtf8,
    /// A version that is not read.
    Version(u8),
    /// A compressed body, with the name of the compressor.
    Compressed(&'static str),
    /// An encoding of the body that the specification does not know.
    Encoding(u8),
    /// A header that is longer than the document.
    LongHeader {
        /// Bytes that it claims.
        length: u64,
        /// Bytes there are.
        left: u32,
    },
    /// More bytes than [`MAX_DOCUMENT`](crate::MAX_DOCUMENT).
    LargeDocument,
    /// Another length than that of the document that was begun.
    OtherDocument,
    /// No byte is left, and there should be one.
    Ended,
    /// A varint of more than 64 bits.
    Number,
    /// A string that is longer than what is left.
    LongString {
        /// Bytes that it claims.
        length: u64,
        /// Bytes there are.
        left: u32,
    },
    /// More items than can be in what is left.
    Promised {
        /// Items that are to come, keys among them.
        items: u64,
        /// Bytes there are.
        left: u32,
    },
    /// More open things in each other than [`MAX_DEPTH`](crate::MAX_DEPTH).
    Deep,
    /// A tag that the specification keeps for later.
    Reserved(u8),
    /// A tag that is known, and not read.
    Unsupported(u8),
    /// An object whose class was asked for its content.
    Frozen,
    /// An array, hash or regular expression that is not directly behind REFN.
    NoRefn(u8),
    /// WEAKEN or an object before something that is no reference.
    NoReference(u8),
    /// An object directly before an object.
    TwoClasses,
    /// A class name without a character.
    EmptyClass,
    /// Something else where a string must be.
    NoString(Role),
    /// REFP or ALIAS to where nothing is tracked so far.
    NotTracked {
        /// Which of the two.
        tag: u8,
        /// Where to.
        offset: u64,
    },
    /// An ALIAS to an array, hash or regular expression, which can be in no second place.
    AliasOfNoScalar,
    /// An ALIAS that is the whole document.
    AliasAlone,
    /// An ALIAS behind a PAD with a track bit.
    AliasTracked,
    /// COPY or OBJECTV to where nothing is, or nothing yet.
    NotBefore {
        /// Which of the two.
        tag: u8,
        /// Where to.
        offset: u64,
    },
    /// A copied item that does not end before the COPY.
    CopyOpen,
    /// A COPY in a copied item.
    CopyInCopy,
    /// More copied than the bound, which is given in bytes.
    CopiedMuch(u64),
    /// Bytes after the end, and how many.
    Trailing(u32),
}

/// Where a string must be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// A key of a hash.
    Key,
    /// The name of a class.
    Class,
    /// What a regular expression looks for.
    Pattern,
    /// The letters behind a regular expression.
    Modifiers,
}

/// An error on its way: in a box, so that the results of what is called for every byte fit into registers.
pub(crate) type Stop = Box<Error>;

impl Reason {
    /// The error at a place.
    #[cold]
    pub(crate) fn at(self, at: usize) -> Stop {
        Box::new(Error { at: at.min(u32::MAX as usize) as u32, reason: self })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "byte {}: {}", self.at, self.reason)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Reason::Magic => out.write_str("not a Sereal document"),
            Reason::OldMagic => out.write_str("a document of Sereal version 1 or 2, which is not supported"),
            Reason::MagicAsUtf8 => out.write_str("a Sereal document that was encoded as UTF-8"),
            Reason::Version(version) => write!(out, "Sereal version {version}, which is not supported"),
            Reason::Compressed(name) => write!(out, "the body is compressed with {name}, which is not supported"),
            Reason::Encoding(encoding) => write!(out, "the body has encoding {encoding}, which is unknown"),
            Reason::LongHeader { length, left } => {
                write!(out, "a header of {length} more bytes, and only {left} are left")
            }
            Reason::LargeDocument => out.write_str("a document of 4 GiB or more"),
            Reason::OtherDocument => out.write_str("not the document that was begun"),
            Reason::Ended => out.write_str("the document ends too soon"),
            Reason::Number => out.write_str("a number of more than 64 bits"),
            Reason::LongString { length, left } => write!(out, "a string of {length} bytes, and only {left} are left"),
            Reason::Promised { items, left } => {
                write!(out, "{items} items are to come, and only {left} bytes are left")
            }
            Reason::Deep => write!(out, "deeper than {} levels", crate::MAX_DEPTH),
            Reason::Reserved(tag) => write!(out, "the reserved tag {tag:#04x}"),
            Reason::Unsupported(tag) => write!(out, "{}, which is not supported", tag::name(tag)),
            Reason::Frozen => out.write_str("an object frozen by a FREEZE callback"),
            Reason::NoRefn(tag) => write!(out, "{} that is not directly behind REFN", tag::name(tag)),
            Reason::NoReference(tag) => write!(out, "{} before something that is no reference", tag::name(tag)),
            Reason::TwoClasses => out.write_str("an object directly behind another's class name"),
            Reason::EmptyClass => out.write_str("an empty class name"),
            Reason::NoString(role) => write!(out, "no string where {role} should be"),
            Reason::NotTracked { tag, offset } => {
                write!(out, "{} to offset {offset}, where nothing is tracked", tag::name(tag))
            }
            Reason::AliasOfNoScalar => out.write_str("ALIAS to something that is no scalar"),
            Reason::AliasAlone => out.write_str("ALIAS that is the whole document"),
            Reason::AliasTracked => out.write_str("ALIAS behind a PAD that is tracked"),
            Reason::NotBefore { tag, offset } => {
                write!(out, "{} of offset {offset}, which is not before it", tag::name(tag))
            }
            Reason::CopyOpen => out.write_str("a copied item that does not end before its COPY"),
            Reason::CopyInCopy => out.write_str("COPY inside a copied item"),
            Reason::CopiedMuch(limit) => write!(out, "more than {limit} bytes copied in all"),
            Reason::Trailing(count) => write!(out, "{count} bytes after the end of the document"),
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Role::Key => "a hash key",
            Role::Class => "a class name",
            Role::Pattern => "a regexp's pattern",
            Role::Modifiers => "a regexp's modifiers",
        })
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_names_the_thing_and_its_place() {
        for (reason, text) in [
            (Reason::Magic, "not a Sereal document"),
            (Reason::OldMagic, "a document of Sereal version 1 or 2, which is not supported"),
            (Reason::MagicAsUtf8, "a Sereal document that was encoded as UTF-8"),
            (Reason::Version(6), "Sereal version 6, which is not supported"),
            (Reason::Compressed("zstd"), "the body is compressed with zstd, which is not supported"),
            (Reason::Encoding(9), "the body has encoding 9, which is unknown"),
            (Reason::LongHeader { length: 300, left: 12 }, "a header of 300 more bytes, and only 12 are left"),
            (Reason::LargeDocument, "a document of 4 GiB or more"),
            (Reason::OtherDocument, "not the document that was begun"),
            (Reason::Ended, "the document ends too soon"),
            (Reason::Number, "a number of more than 64 bits"),
            (Reason::LongString { length: 300, left: 12 }, "a string of 300 bytes, and only 12 are left"),
            (Reason::Promised { items: 300, left: 12 }, "300 items are to come, and only 12 bytes are left"),
            (Reason::Deep, "deeper than 10000 levels"),
            (Reason::Reserved(0x36), "the reserved tag 0x36"),
            (Reason::Unsupported(0x24), "LONG_DOUBLE, which is not supported"),
            (Reason::Frozen, "an object frozen by a FREEZE callback"),
            (Reason::NoRefn(0x2b), "ARRAY that is not directly behind REFN"),
            (Reason::NoReference(0x30), "WEAKEN before something that is no reference"),
            (Reason::TwoClasses, "an object directly behind another's class name"),
            (Reason::EmptyClass, "an empty class name"),
            (Reason::NoString(Role::Key), "no string where a hash key should be"),
            (Reason::NoString(Role::Class), "no string where a class name should be"),
            (Reason::NoString(Role::Pattern), "no string where a regexp's pattern should be"),
            (Reason::NoString(Role::Modifiers), "no string where a regexp's modifiers should be"),
            (Reason::NotTracked { tag: 0x29, offset: 9 }, "REFP to offset 9, where nothing is tracked"),
            (Reason::NotTracked { tag: 0x2e, offset: 9 }, "ALIAS to offset 9, where nothing is tracked"),
            (Reason::AliasOfNoScalar, "ALIAS to something that is no scalar"),
            (Reason::AliasAlone, "ALIAS that is the whole document"),
            (Reason::AliasTracked, "ALIAS behind a PAD that is tracked"),
            (Reason::NotBefore { tag: 0x2f, offset: 9 }, "COPY of offset 9, which is not before it"),
            (Reason::NotBefore { tag: 0x2d, offset: 9 }, "OBJECTV of offset 9, which is not before it"),
            (Reason::CopyOpen, "a copied item that does not end before its COPY"),
            (Reason::CopyInCopy, "COPY inside a copied item"),
            (Reason::CopiedMuch(1 << 20), "more than 1048576 bytes copied in all"),
            (Reason::Trailing(3), "3 bytes after the end of the document"),
        ] {
            assert_eq!(reason.at(17).to_string(), format!("byte 17: {text}"));
        }
    }
}
