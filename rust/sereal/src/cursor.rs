//! Reading from a position on, never beyond an end.

use crate::error::{Error, Reason};
use crate::item::Text;
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
    pub(crate) fn byte(&mut self) -> Result<u8, Error> {
        let byte = *self.bytes.get(self.at).ok_or(Reason::Ended.at(self.at))?;
        self.at += 1;
        Ok(byte)
    }

    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, Error> {
        let (number, end) = varint::read(self.bytes, self.at).map_err(|reason| reason.at(self.at))?;
        self.at = end;
        Ok(number)
    }

    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let array = self.bytes.get(self.at..).and_then(|rest| rest.get(..N)).and_then(|part| part.try_into().ok());
        let array = array.ok_or(Reason::Ended.at(self.at))?;
        self.at += N;
        Ok(array)
    }

    /// The next tag that is no PAD, without its track bit, and where it stands.
    #[inline]
    pub(crate) fn tag(&mut self) -> Result<(u8, usize), Error> {
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
    pub(crate) fn string(&mut self, string: u8, at: usize) -> Result<Text, Error> {
        let length = if string >= tag::SHORT_BINARY { u64::from(string - tag::SHORT_BINARY) } else { self.varint()? };
        let left = self.left();
        if length > left as u64 {
            return Err(Reason::LongString { length, left: left as u32 }.at(at));
        }
        let start = self.at;
        self.at += length as usize;
        Ok(Text::new(start as u32, length as u32, string == tag::STR_UTF8))
    }
}
