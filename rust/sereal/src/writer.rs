//! Writing a document, up to a limit.
//!
//! The buffer is filled in pieces of sixteen bytes, of which a call takes those it needs: so one check of the room does
//! for a tag and its number. What goes beyond the limit is counted, and no longer kept.

use crate::tag::{self, MOST_REFERRED, MOST_SHORT, TRACKED};
use crate::{header, varint};

/// Room for a tag or two and a number.
const PIECE: usize = 16;
const FIRST_ROOM: usize = 1 << 10;
/// Bytes of its buffer that a writer keeps from one document to the next.
const KEPT_ROOM: usize = 1 << 20;

/// Writes documents, one after the other. Every call takes constant time, but those that are given bytes, which are
/// copied, and growth, which is amortised.
///
/// The caller says what there is in the order of the format, and must say as many items as it announced; offsets are
/// those that [`position`](Writer::position) gave.
#[derive(Debug)]
pub struct Writer {
    /// Longer than what is written by the room that is there.
    buffer: Vec<u8>,
    /// Bytes of the document. Above `limit`: only counted, since some time before.
    length: usize,
    limit: usize,
}

impl Default for Writer {
    fn default() -> Writer {
        Writer::new()
    }
}

impl Writer {
    /// A writer that has begun no document.
    #[must_use]
    pub fn new() -> Writer {
        Writer { buffer: vec![0; FIRST_ROOM], length: usize::MAX, limit: 0 }
    }

    /// Begins a document of at most `limit` bytes, its header among them, and forgets the last.
    pub fn begin(&mut self, limit: usize) {
        if self.buffer.len() > KEPT_ROOM {
            self.buffer.truncate(KEPT_ROOM);
            self.buffer.shrink_to_fit();
        }
        self.limit = limit;
        self.length = 0;
        self.bytes(&header::WRITTEN);
    }

    /// The offset of the next tag, as the format counts: 1 is the first byte of the body.
    #[inline]
    #[must_use]
    pub fn position(&self) -> usize {
        self.length.saturating_sub(header::WRITTEN.len() - 1)
    }

    /// The document; `None` when it is larger than the limit.
    #[must_use]
    pub fn finish(&self) -> Option<&[u8]> {
        if self.length > self.limit {
            return None;
        }
        self.buffer.get(..self.length)
    }

    /// The undefined value.
    #[inline]
    pub fn undef(&mut self) {
        self.tag(tag::UNDEF);
    }

    /// An element of an array that is not there.
    #[inline]
    pub fn hole(&mut self) {
        self.tag(tag::CANONICAL_UNDEF);
    }

    /// A boolean.
    #[inline]
    pub fn boolean(&mut self, truth: bool) {
        self.tag(if truth { tag::YES } else { tag::NO });
    }

    /// An integer.
    #[inline]
    pub fn signed(&mut self, number: i64) {
        match number {
            0.. => self.unsigned(number as u64),
            -16..=-1 => self.tag((number + 32) as u8),
            _ => self.tag_and_number(tag::ZIGZAG, varint::zigzag(number)),
        }
    }

    /// An integer that is not negative.
    #[inline]
    pub fn unsigned(&mut self, number: u64) {
        match number {
            0..=15 => self.tag(tag::POS | number as u8),
            _ => self.tag_and_number(tag::VARINT, number),
        }
    }

    /// A floating-point number, in 4 bytes where these hold exactly it, else in 8. A NaN keeps its bits.
    #[inline]
    pub fn real(&mut self, number: f64) {
        let single = number as f32;
        if f64::from(single) == number {
            self.piece(|piece| {
                piece[0] = tag::FLOAT;
                piece[1..5].copy_from_slice(&single.to_le_bytes());
                5
            });
        } else {
            self.piece(|piece| {
                piece[0] = tag::DOUBLE;
                piece[1..9].copy_from_slice(&number.to_le_bytes());
                9
            });
        }
    }

    /// A string. Whether its bytes are the UTF-8 that they are said to be is the caller's to know.
    #[inline]
    pub fn text(&mut self, bytes: &[u8], utf8: bool) {
        if bytes.len() <= MOST_SHORT && !utf8 {
            let end = self.length.saturating_add(1 + bytes.len());
            let place = self.buffer.get_mut(self.length..end).and_then(<[u8]>::split_first_mut);
            if let Some((tag, place)) = place {
                *tag = tag::SHORT_BINARY | bytes.len() as u8;
                place.copy_from_slice(bytes);
                self.length = end;
                return;
            }
        }
        self.long_text(bytes, utf8);
    }

    /// The same, whatever its length, and however little room there is.
    fn long_text(&mut self, bytes: &[u8], utf8: bool) {
        if utf8 {
            self.tag_and_number(tag::STR_UTF8, bytes.len() as u64);
        } else if bytes.len() <= MOST_SHORT {
            self.tag(tag::SHORT_BINARY | bytes.len() as u8);
        } else {
            self.tag_and_number(tag::BINARY, bytes.len() as u64);
        }
        self.bytes(bytes);
    }

    /// The string whose tag stands at `offset`, once more.
    #[inline]
    pub fn copy(&mut self, offset: usize) {
        self.tag_and_number(tag::COPY, offset as u64);
    }

    /// An array whose `count` elements follow; where it is `referred` to here for the first time, that reference too.
    #[inline]
    pub fn array(&mut self, count: usize, referred: bool) {
        self.container(tag::ARRAY, tag::ARRAYREF, count, referred);
    }

    /// A hash whose `count` pairs follow, each a string and a value; where it is `referred` to here for the first time,
    /// that reference too.
    #[inline]
    pub fn hash(&mut self, count: usize, referred: bool) {
        self.container(tag::HASH, tag::HASHREF, count, referred);
    }

    /// A reference to what follows.
    #[inline]
    pub fn reference(&mut self) {
        self.tag(tag::REFN);
    }

    /// A reference to what stands at `offset`.
    #[inline]
    pub fn same(&mut self, offset: usize) {
        self.tag_and_number(tag::REFP, offset as u64);
        self.track(offset); // which may be this one
    }

    /// The scalar that stands at `offset`, in a second place.
    #[inline]
    pub fn alias(&mut self, offset: usize) {
        self.tag_and_number(tag::ALIAS, offset as u64);
        self.track(offset);
    }

    /// Says of the reference that follows that it is weak.
    #[inline]
    pub fn weaken(&mut self) {
        self.tag(tag::WEAKEN);
    }

    /// Takes back what [`weaken`](Writer::weaken) said at `offset`.
    pub fn strengthen(&mut self, offset: usize) {
        if let Some(byte) = self.tag_at(offset).filter(|byte| **byte & !TRACKED == tag::WEAKEN) {
            *byte = *byte & TRACKED | tag::PAD;
        }
    }

    /// Says of the reference that follows that it makes an object of that class. The tag of the name stands one after the
    /// position before.
    #[inline]
    pub fn class(&mut self, name: &[u8], utf8: bool) {
        self.tag(tag::OBJECT);
        self.text(name, utf8);
    }

    /// The same, of the class whose name's tag stands at `offset`.
    #[inline]
    pub fn class_again(&mut self, offset: usize) {
        self.tag_and_number(tag::OBJECTV, offset as u64);
    }

    /// A regular expression. `utf8` is about the pattern.
    pub fn regexp(&mut self, pattern: &[u8], utf8: bool, modifiers: &[u8]) {
        self.tag(tag::REGEXP);
        self.text(pattern, utf8);
        self.text(modifiers, false);
    }

    #[inline]
    fn container(&mut self, tag: u8, short: u8, count: usize, referred: bool) {
        if !referred {
            self.tag_and_number(tag, count as u64);
        } else if count <= MOST_REFERRED {
            self.tag(short | count as u8);
        } else {
            self.piece(|piece| {
                (piece[0], piece[1]) = (tag::REFN, tag);
                varint::write(piece, 2, count as u64)
            });
        }
    }

    #[inline]
    fn tag(&mut self, tag: u8) {
        self.piece(|piece| {
            piece[0] = tag;
            1
        });
    }

    #[inline]
    fn tag_and_number(&mut self, tag: u8, number: u64) {
        self.piece(|piece| {
            piece[0] = tag;
            varint::write(piece, 1, number)
        });
    }

    /// Appends what `write` puts at the front of a piece; it returns how many bytes that are.
    #[inline]
    fn piece(&mut self, write: impl FnOnce(&mut [u8; PIECE]) -> usize) {
        if self.length.saturating_add(PIECE) > self.buffer.len() {
            self.grow(PIECE);
        }
        let place = self.buffer.get_mut(self.length..).and_then(|rest| rest.get_mut(..PIECE));
        let taken = match place.and_then(|place| place.try_into().ok()) {
            Some(piece) => write(piece),
            None => write(&mut [0; PIECE]),
        };
        self.length = self.length.saturating_add(taken);
    }

    #[inline]
    fn bytes(&mut self, bytes: &[u8]) {
        let end = self.length.saturating_add(bytes.len());
        if end > self.buffer.len() {
            self.grow(bytes.len());
        }
        if let Some(place) = self.buffer.get_mut(self.length..end) {
            place.copy_from_slice(bytes);
        }
        self.length = end;
    }

    /// Makes room for that many bytes more, unless they are beyond the limit.
    #[cold]
    fn grow(&mut self, more: usize) {
        let needed = self.length.saturating_add(more);
        let most = self.limit.saturating_add(PIECE);
        if self.length <= self.limit && needed <= most {
            let room = self.buffer.len().saturating_mul(2).min(most).max(needed);
            self.buffer.reserve_exact(room - self.buffer.len());
            self.buffer.resize(room, 0);
        }
    }

    /// The tag at an offset; `None` when none was kept there.
    #[inline]
    fn tag_at(&mut self, offset: usize) -> Option<&mut u8> {
        let index = offset.checked_sub(1)?.checked_add(header::WRITTEN.len())?;
        self.buffer.get_mut(index).filter(|_| index < self.length)
    }

    #[inline]
    fn track(&mut self, offset: usize) {
        if let Some(byte) = self.tag_at(offset) {
            *byte |= TRACKED;
        }
    }
}

/// Longest string that [`short_text`] makes a document of, in bytes.
pub const SHORT_TEXT: usize = MOST_SHORT;
/// Room for such a document.
pub const SHORT_DOCUMENT: usize = header::WRITTEN.len() + 1 + SHORT_TEXT;

/// The document that a [`Writer`] makes of a short string that is not said to be UTF-8, without one, and how long it is.
/// None for a string that is longer.
#[inline]
#[must_use]
pub fn short_text(bytes: &[u8]) -> Option<([u8; SHORT_DOCUMENT], usize)> {
    let mut document = [0; SHORT_DOCUMENT];
    let (head, body) = document.split_at_mut(header::WRITTEN.len());
    let (tag, place) = body.split_first_mut()?;
    place.get_mut(..bytes.len())?.copy_from_slice(bytes);
    head.copy_from_slice(&header::WRITTEN);
    *tag = tag::SHORT_BINARY | bytes.len() as u8;
    Some((document, header::WRITTEN.len() + 1 + bytes.len()))
}

#[cfg(test)]
mod tests;
