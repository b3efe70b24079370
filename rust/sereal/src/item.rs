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

    #[inline]
    fn of_span(span: Span, utf8: bool) -> Text {
        Text::new(span.start, span.length, utf8)
    }

    #[inline]
    pub(crate) fn span(self) -> Span {
        Span { start: self.start(), length: self.length() }
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

/// A range of a document's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[repr(C)]
pub struct Span {
    /// Where it begins, in bytes from the document's first.
    pub start: u32,
    /// Its bytes, counted.
    pub length: u32,
}

/// The `track` of what nothing refers to later.
pub const UNTRACKED: u32 = u32::MAX;

/// What [`Item::flags`] is the sum of.
pub mod flag {
    /// The item is a weak reference.
    pub const WEAK: u32 = 1;
    /// The string or pattern is said to be UTF-8.
    pub const UTF8: u32 = 2;
    /// The item has a key.
    pub const KEY: u32 = 4;
    /// The key is said to be UTF-8.
    pub const KEY_UTF8: u32 = 8;
    /// The item has a class.
    pub const CLASS: u32 = 16;
    /// The class is said to be UTF-8.
    pub const CLASS_UTF8: u32 = 32;
}

/// Which fields of an item mean something, beside those that always do. As [`Kind`], without what belongs to it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[repr(u32)]
#[allow(missing_docs)]
pub enum Sort {
    #[default]
    Undefined,
    Hole,
    False,
    True,
    Signed,
    Unsigned,
    Real,
    Text,
    Reference,
    Array,
    Hash,
    Regexp,
    Same,
    Alias,
}

/// One scalar of a document, and what is said of it.
///
/// It is flat, in C's layout, since it is written and read once for every scalar of every document: fields that neither
/// `sort` nor a flag speaks of are left from the item before. The methods say the same in types.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub struct Item {
    /// What it is.
    pub sort: Sort,
    /// How many open things it lies in, at most [`MAX_DEPTH`](crate::MAX_DEPTH); its parent is the last item before it
    /// of one less that opened.
    pub depth: u32,
    /// What is said of it: a sum of [`flag`]s.
    pub flags: u32,
    /// The number under which the scalar is referred to later, or [`UNTRACKED`]. Numbers are dealt from 0 on, in the order
    /// of the document; an item's own before that of what it refers to.
    pub track: u32,
    /// The number of the array, hash or regular expression that it refers to, or [`UNTRACKED`].
    pub referent_track: u32,
    /// The number that `Same` and `Alias` name.
    pub target: u32,
    /// Where its tag stands, in bytes from the document's first; that of a copied item where it stands first.
    pub at: u32,
    /// Its key.
    pub key: Span,
    /// Its class.
    pub class: Span,
    /// The string or pattern; of an array or hash, the length alone: how many elements or pairs.
    pub text: Span,
    /// The letters behind a regular expression.
    pub modifiers: Span,
    /// The bits of a number.
    pub number: u64,
}

impl Item {
    /// Whether that is said of it.
    #[inline]
    #[must_use]
    pub fn is(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// Its key, when it is a value of a hash.
    #[must_use]
    pub fn key(&self) -> Option<Text> {
        self.is(flag::KEY).then(|| Text::of_span(self.key, self.is(flag::KEY_UTF8)))
    }

    /// The class that blesses what it refers to; never empty. Only references have one.
    #[must_use]
    pub fn class(&self) -> Option<Text> {
        self.is(flag::CLASS).then(|| Text::of_span(self.class, self.is(flag::CLASS_UTF8)))
    }

    /// The number under which the scalar is referred to later.
    #[must_use]
    pub fn track(&self) -> Option<u32> {
        Some(self.track).filter(|number| *number != UNTRACKED)
    }

    /// What it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        let text = || Text::of_span(self.text, self.is(flag::UTF8));
        let track = Some(self.referent_track).filter(|number| *number != UNTRACKED);
        match self.sort {
            Sort::Undefined => Kind::Undefined,
            Sort::Hole => Kind::Hole,
            Sort::False => Kind::Boolean(false),
            Sort::True => Kind::Boolean(true),
            Sort::Signed => Kind::Signed(self.number as i64),
            Sort::Unsigned => Kind::Unsigned(self.number),
            Sort::Real => Kind::Real(f64::from_bits(self.number)),
            Sort::Text => Kind::Text(text()),
            Sort::Reference => Kind::Reference,
            Sort::Array => Kind::Array { length: self.text.length, track },
            Sort::Hash => Kind::Hash { length: self.text.length, track },
            Sort::Regexp => Kind::Regexp { pattern: text(), modifiers: Text::of_span(self.modifiers, false), track },
            Sort::Same => Kind::Same(self.target),
            Sort::Alias => Kind::Alias(self.target),
        }
    }

    #[inline]
    pub(crate) fn set_text(&mut self, text: Text) {
        (self.sort, self.text) = (Sort::Text, text.span());
        self.flags |= if text.utf8 { flag::UTF8 } else { 0 };
    }

    #[inline]
    pub(crate) fn set_key(&mut self, key: Text) {
        self.key = key.span();
        self.flags |= flag::KEY | if key.utf8 { flag::KEY_UTF8 } else { 0 };
    }

    #[inline]
    pub(crate) fn set_class(&mut self, class: Text) {
        self.class = class.span();
        self.flags |= flag::CLASS | if class.utf8 { flag::CLASS_UTF8 } else { 0 };
    }

    #[inline]
    pub(crate) fn set_number(&mut self, sort: Sort, bits: u64) {
        (self.sort, self.number) = (sort, bits);
    }
}

/// What an item is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    /// The undefined value.
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
