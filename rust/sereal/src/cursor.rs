//! Reading from a position on, never beyond an end.

use crate::error::{Reason, Stop};
use crate::item::{flag, Item, Sort, Span, Text};
use crate::{tag, varint};

/// A position in a document of at most [`MAX_DOCUMENT`](crate::MAX_DOCUMENT) bytes. Nothing that is read ends beyond
/// `bytes`, and where a read fails the position stays in them.
pub(crate) struct Cursor<'a> {
    /// The document's bytes, from its first on, as far as may be read.
    bytes: &'a [u8],
    /// How many of them have been read.
    pub at: usize,
}

impl<'a> Cursor<'a> {
    #[inline]
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Cursor<'a> {
        Cursor { bytes, at }
    }

    /// Another one over the bytes before `end`, at a position before it; `None` when there is no such place.
    pub(crate) fn before(&self, end: usize, at: usize) -> Option<Cursor<'a>> {
        self.bytes.get(..end).filter(|_| at < end).map(|bytes| Cursor { bytes, at })
    }

    /// How many bytes may still be read.
    #[inline]
    pub(crate) fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8, Stop> {
        let byte = *self.bytes.get(self.at).ok_or_else(|| Reason::Ended.at(self.at))?;
        self.at += 1;
        Ok(byte)
    }

    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, Stop> {
        let (number, end) = varint::read(self.bytes, self.at).map_err(|reason| reason.at(self.at))?;
        self.at = end;
        Ok(number)
    }

    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let array = self.bytes.get(self.at..).and_then(|rest| rest.get(..N)).and_then(|part| part.try_into().ok());
        let array = array.ok_or_else(|| Reason::Ended.at(self.at))?;
        self.at += N;
        Ok(array)
    }

    /// The next tag that is no PAD, without its track bit, and where it stands.
    #[inline]
    pub(crate) fn tag(&mut self) -> Result<(u8, usize), Stop> {
        loop {
            let at = self.at;
            let tag = self.byte()? & !tag::TRACKED;
            if tag != tag::PAD {
                return Ok((tag, at));
            }
        }
    }

    /// The rest of a string whose tag, read just now, stands at `at`.
    #[inline]
    pub(crate) fn string(&mut self, string: u8, at: usize) -> Result<Text, Stop> {
        let length = if string >= tag::SHORT_BINARY { u64::from(string - tag::SHORT_BINARY) } else { self.varint()? };
        let left = self.left();
        if length > left as u64 {
            return Err(Reason::LongString { length, left: left as u32 }.at(at));
        }
        let start = self.at;
        self.at += length as usize;
        Ok(Text::new(start as u32, length as u32, string == tag::STR_UTF8))
    }

    /// A scalar, or the beginning of a reference to an array or hash, into the item, behind its key if it is in a hash; how
    /// many parts follow. `None` when it is of a kind that takes more than this, or wrong.
    #[inline(always)]
    pub(crate) fn plain(&mut self, in_hash: bool, item: &mut Item) -> Option<u64> {
        item.flags = 0;
        if in_hash {
            let tag = *self.bytes.get(self.at)?;
            item.key = self.short(tag)?;
            item.flags = flag::KEY;
        }
        let at = self.at;
        item.at = at as u32;
        let tag = *self.bytes.get(at)?;
        if let Some(text) = self.short(tag) {
            (item.sort, item.text) = (Sort::Text, text);
            return Some(0);
        }
        self.at += 1;
        if self.scalar(tag, at, item).ok()? {
            return Some(0);
        }
        let (sort, parts) = match tag {
            tag::ARRAYREF..=0x4f => (Sort::Array, u64::from(tag & 15)),
            tag::HASHREF..=0x5f => (Sort::Hash, u64::from(tag & 15)),
            tag::REFN => {
                let sort = match self.byte().ok()? {
                    tag::ARRAY => Sort::Array,
                    tag::HASH => Sort::Hash,
                    _ => return None,
                };
                item.at = self.at as u32 - 1;
                (sort, self.varint().ok()?)
            }
            _ => return None,
        };
        (item.sort, item.text.length) = (sort, parts as u32);
        Some(parts)
    }

    /// A whole SHORT_BINARY that nothing refers to, whose tag is next; `None`, and nothing read, when it is another.
    #[inline(always)]
    fn short(&mut self, tag: u8) -> Option<Span> {
        let length = usize::from(tag.wrapping_sub(tag::SHORT_BINARY));
        let start = self.at.wrapping_add(1);
        let end = start.wrapping_add(length);
        if length > tag::MOST_SHORT || end > self.bytes.len() {
            return None;
        }
        self.at = end;
        Some(Span { start: start as u32, length: length as u32 })
    }

    /// The rest of a scalar that is no reference and whose tag, read just now, stands at `at`, into the item; false when
    /// the tag is not that of one.
    #[inline(always)]
    pub(crate) fn scalar(&mut self, tag: u8, at: usize, item: &mut Item) -> Result<bool, Stop> {
        match tag {
            tag::SHORT_BINARY..=0x7f | tag::BINARY | tag::STR_UTF8 => item.set_text(self.string(tag, at)?),
            tag::POS..=0x0f => item.set_number(Sort::Signed, tag.into()),
            tag::NEG..=0x1f => item.set_number(Sort::Signed, (i64::from(tag) - 32) as u64),
            tag::VARINT => {
                let number = self.varint()?;
                item.set_number(if number > i64::MAX as u64 { Sort::Unsigned } else { Sort::Signed }, number);
            }
            tag::ZIGZAG => item.set_number(Sort::Signed, varint::unzigzag(self.varint()?) as u64),
            tag::FLOAT => item.set_number(Sort::Real, f64::from(f32::from_le_bytes(self.array()?)).to_bits()),
            tag::DOUBLE => item.set_number(Sort::Real, u64::from_le_bytes(self.array()?)),
            tag::UNDEF => item.sort = Sort::Undefined,
            tag::CANONICAL_UNDEF => item.sort = Sort::Hole,
            tag::NO | tag::FALSE => item.sort = Sort::False,
            tag::YES | tag::TRUE => item.sort = Sort::True,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::bytes;

    #[test]
    fn a_read_that_fails_leaves_the_position_inside() {
        let three = [0x80, 0x80, 0x80];
        for at in [0, 2, 3, 4, usize::MAX] {
            let mut cursor = Cursor::new(&three, at);
            assert_eq!(cursor.left(), 3_usize.saturating_sub(at));
            assert!(cursor.varint().is_err() && cursor.array::<4>().is_err() && cursor.at == at);
        }
        let mut cursor = Cursor::new(&three, 3);
        assert_eq!((cursor.byte(), cursor.at), (Err(Reason::Ended.at(3)), 3));
        assert_eq!(cursor.array(), Ok([]));
    }

    #[test]
    fn pads_are_passed_over() {
        let pads = bytes("3f bf e1 3f");
        let mut cursor = Cursor::new(&pads, 0);
        assert_eq!(cursor.tag(), Ok((0x61, 2)));
        assert_eq!(cursor.tag(), Err(Reason::Ended.at(4)));
    }

    #[test]
    fn a_string_lies_between_its_tag_and_the_end() {
        let text = |hex: &str| {
            let bytes = bytes(hex);
            let mut cursor = Cursor::new(&bytes, 0);
            let (tag, at) = cursor.tag()?;
            cursor.string(tag, at).map(|text| (text, cursor.left()))
        };
        assert_eq!(text("62 6162 00"), Ok((Text::new(1, 2, false), 1)));
        assert_eq!(text("3f 26 02 6162"), Ok((Text::new(3, 2, false), 0)));
        assert_eq!(text("27 00 00"), Ok((Text::new(2, 0, true), 1)));
        assert_eq!(text("3f 63 6162"), Err(Reason::LongString { length: 3, left: 2 }.at(1)));
    }

    #[test]
    fn another_cursor_is_always_before() {
        let three = [0; 3];
        let cursor = Cursor::new(&three, 0);
        assert_eq!(cursor.before(2, 1).map(|other| (other.at, other.left())), Some((1, 1)));
        assert!(cursor.before(2, 2).is_none() && cursor.before(0, 0).is_none() && cursor.before(4, 1).is_none());
    }
}
