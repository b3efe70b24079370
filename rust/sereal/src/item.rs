//! What a reader tells of a document: one item after the other, parents before their children.

/// A range of a document's bytes that is a string.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Text {
    /// The start in the high half, the length in the low: one word, which stays in a register.
    range: u64,
    /// Whether the document calls them UTF-8. Nothing has checked that they are.
    pub utf8: bool,
}

impl Text {
    #[inline]
    pub(crate) fn new(start: u32, length: u32, utf8: bool) -> Text {
        Text { range: u64::from(start) << 32 | u64::from(length), utf8 }
    }

    /// Where it begins, in bytes from the document's first.
    #[inline]
    #[must_use]
    pub fn start(self) -> u32 {
        (self.range >> 32) as u32
    }

    /// Its bytes, counted.
    #[inline]
    #[must_use]
    pub fn length(self) -> u32 {
        self.range as u32
    }

    /// Its bytes, in the document that it is of.
    #[must_use]
    pub fn of(self, document: &[u8]) -> Option<&[u8]> {
        document.get(self.start() as usize..)?.get(..self.length() as usize)
    }
}

/// One scalar of a document, and what is said of it.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Item {
    /// Where its tag stands, in bytes from the document's first; that of a copied item where it stands first.
    pub at: u32,
    /// How many open things it lies in, at most [`MAX_DEPTH`](crate::MAX_DEPTH); its parent is the last item before it
    /// of one less that opened.
    pub depth: u32,
    /// The number under which the scalar is referred to later. Numbers are dealt from 0 on, in the order of the document;
    /// an item's own before that of what it refers to.
    pub track: Option<u32>,
    /// Whether it is a weak reference.
    pub weak: bool,
    /// Its key, when it is a value of a hash.
    pub key: Option<Text>,
    /// The class that blesses what it refers to; never empty. Only references have one.
    pub class: Option<Text>,
    /// What it is.
    pub kind: Kind,
}

/// What an item is.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub enum Kind {
    /// The undefined value.
    #[default]
    Undefined,
    /// The undefined value of the language itself; in an array, an element that is not there.
    Hole,
    /// True or false.
    Boolean(bool),
    /// An integer.
    Signed(i64),
    /// An integer above `i64::MAX`.
    Unsigned(u64),
    /// A floating-point number.
    Real(f64),
    /// A string.
    Text(Text),
    /// A reference to a scalar. It opens: the scalar is the next item.
    Reference,
    /// A reference to an array. It opens, unless it is empty.
    Array {
        /// Its elements: the items that follow in it, no more than bytes that were left.
        length: u32,
        /// The number under which the array itself is referred to.
        track: Option<u32>,
    },
    /// A reference to a hash. It opens, unless it is empty. The same key may come twice.
    Hash {
        /// Its pairs: the items that follow in it, each with its key. No more than half the bytes that were left.
        length: u32,
        /// The number under which the hash itself is referred to.
        track: Option<u32>,
    },
    /// A reference to a regular expression.
    Regexp {
        /// What it looks for.
        pattern: Text,
        /// The letters behind it.
        modifiers: Text,
        /// The number under which the expression itself is referred to.
        track: Option<u32>,
    },
    /// A reference to the scalar, array, hash or expression of that number, which may be this very item's.
    Same(u32),
    /// Not a scalar of its own, but that of that number once more. Never tracked, and never the whole document.
    Alias(u32),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_knows_its_bytes() {
        let text = Text::new(1, 2, true);
        assert_eq!((text.start(), text.length(), text.utf8), (1, 2, true));
        assert_eq!(text.of(b"abcd"), Some(&b"bc"[..]));
        assert_eq!(text.of(b"ab"), None);
        let last = Text::new(u32::MAX, u32::MAX, false);
        assert_eq!((last.start(), last.length(), last.of(b"")), (u32::MAX, u32::MAX, None));
        assert_eq!(Text::new(0, 0, false).of(b""), Some(&b""[..]));
    }
}
