//! Reading from a position on, never beyond an end.

use crate::error::{Reason, Stop};
use crate::item::{Kind, Text};
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
    /// The rest of a scalar that is no reference and whose tag, read just now, stands at `at`; `None` when the tag is not
    /// that of one.
    #[inline(always)]
    pub(crate) fn scalar(&mut self, tag: u8, at: usize) -> Result<Option<Kind>, Stop> {
        Ok(Some(match tag {
            tag::SHORT_BINARY..=0x7f | tag::BINARY | tag::STR_UTF8 => Kind::Text(self.string(tag, at)?),
            tag::POS..=0x0f => Kind::Signed(i64::from(tag)),
            tag::NEG..=0x1f => Kind::Signed(i64::from(tag) - 32),
            tag::VARINT => {
                let number = self.varint()?;
                i64::try_from(number).map_or(Kind::Unsigned(number), Kind::Signed)
            }
            tag::ZIGZAG => Kind::Signed(varint::unzigzag(self.varint()?)),
            tag::FLOAT => Kind::Real(f32::from_le_bytes(self.array()?).into()),
            tag::DOUBLE => Kind::Real(f64::from_le_bytes(self.array()?)),
            tag::UNDEF => Kind::Undefined,
            tag::CANONICAL_UNDEF => Kind::Hole,
            tag::NO | tag::FALSE => Kind::Boolean(false),
            tag::YES | tag::TRUE => Kind::Boolean(true),
            _ => return Ok(None),
        }))
    }
}
