//! Reading a document: one item after the other, without recursion.
//!
//! Every byte is doubted. What a document can make a reader, or its caller, do is bounded by its length: what all open
//! things together still owe must fit into the bytes that are left, what is copied has a bound, and so has the depth.

mod copy;
#[cfg(test)]
mod tests;
mod track;
mod value;

use crate::cursor::Cursor;
use crate::error::{Error, Reason, Stop};
use crate::header;
use crate::item::{Item, Sort, Text};
use crate::tag;
use copy::Copying;
pub use copy::{COPIED_ANYWAY, COPIED_PER_BYTE};
use track::Tracks;

/// Most open things in each other.
pub const MAX_DEPTH: u32 = 10_000;
/// Most bytes of a document.
pub const MAX_DOCUMENT: usize = u32::MAX as usize;

/// Bytes of its tables that a reader keeps from one document to the next.
const KEPT_ROOM: usize = 1 << 20;

/// Reads documents, one after the other. Every call takes constant time, but for PADs (each is read at most twice) and a
/// REFP, which searches what is tracked: logarithmic.
#[derive(Default, Debug)]
pub struct Reader {
    /// Bytes of the document.
    length: usize,
    /// Where its body begins.
    body: usize,
    /// The next byte to read, and where reading ends: with the document, or before the COPY while an item is copied.
    at: usize,
    end: usize,
    /// The whole document's item has been begun.
    begun: bool,
    /// What is open, the outermost first.
    open: Vec<Open>,
    /// Items that those still owe, between `at` and `end`; a key counts as one.
    owed: u64,
    tracks: Tracks,
    copying: Option<Copying>,
    /// Bytes that were read a second time.
    copied: u64,
    failed: Option<Error>,
}

/// An item whose parts follow.
#[derive(Debug)]
struct Open {
    /// How many it has yet to get: values in a hash, items elsewhere.
    left: u32,
    hash: bool,
}

impl Reader {
    /// A reader that has begun no document.
    #[must_use]
    pub fn new() -> Reader {
        Reader::default()
    }

    /// Begins a document: reads its header, and forgets the last document.
    ///
    /// # Errors
    /// The header is none, or says that the rest cannot be read.
    pub fn begin(&mut self, document: &[u8]) -> Result<(), Error> {
        let begun = if document.len() > MAX_DOCUMENT {
            Err(Reason::LargeDocument.at(MAX_DOCUMENT))
        } else {
            header::read(document)
        };
        let begun = begun.map_err(|error| *error);
        self.length = document.len();
        self.body = begun.unwrap_or(self.length);
        (self.at, self.end) = (self.body, self.length);
        self.begun = false;
        self.open.clear();
        self.tracks.clear(KEPT_ROOM);
        (self.owed, self.copied, self.copying) = (0, 0, None);
        self.failed = begun.err();
        begun.map(drop)
    }

    /// Reads the next items of the document that was begun: how many. They are as many as there is room for, or the last.
    ///
    /// # Errors
    /// The document is no good from there on, and `items` hold nothing of meaning. The same error is returned from then
    /// on.
    pub fn read(&mut self, document: &[u8], items: &mut [Item]) -> Result<usize, Error> {
        let mut count = 0;
        while let Some(room) = items.get_mut(count..).filter(|room| !room.is_empty()) {
            let run = self.run(document, room);
            count += run;
            let Some(item) = room.get_mut(run) else { break };
            match self.advance(document, item) {
                Ok(true) => count += 1,
                Ok(false) => break,
                Err(error) => {
                    self.open.clear(); // so that nothing more is read
                    return Err(*self.failed.insert(*error));
                }
            }
        }
        Ok(count)
    }

    /// Reads the next item; false behind the last.
    ///
    /// # Errors
    /// As for [`read`](Reader::read).
    pub fn next(&mut self, document: &[u8], item: &mut Item) -> Result<bool, Error> {
        self.read(document, std::slice::from_mut(item)).map(|count| count == 1)
    }

    #[inline]
    fn advance(&mut self, document: &[u8], item: &mut Item) -> Result<bool, Stop> {
        if let Some(error) = self.failed {
            return Err(Box::new(error));
        }
        if document.len() != self.length {
            return Err(Reason::OtherDocument.at(0));
        }
        let in_hash = loop {
            if self.copying.is_some() {
                self.end_copy()?;
            }
            match self.open.last_mut() {
                Some(open) if open.left == 0 => {
                    self.open.pop();
                }
                Some(open) => {
                    open.left -= 1;
                    self.owed = self.owed.saturating_sub(1 + u64::from(open.hash));
                    break open.hash;
                }
                None if self.begun => return self.finish().map(|()| false),
                None => {
                    self.begun = true;
                    break false;
                }
            }
        };
        self.item(document, in_hash, item).map(|()| true)
    }

    /// Behind the last item.
    fn finish(&self) -> Result<(), Stop> {
        match self.end.saturating_sub(self.at) {
            0 => Ok(()),
            left => Err(Reason::Trailing(left as u32).at(self.at)),
        }
    }

    /// Makes the item, whose tag stands at `at`, one that has so many parts. Whether that can be, `afford` says.
    #[inline]
    fn open(&mut self, sort: Sort, parts: u64, at: usize, item: &mut Item) -> Result<(), Stop> {
        let hash = sort == Sort::Hash;
        (item.sort, item.text.length) = (sort, parts as u32);
        if parts > 0 {
            if self.open.len() >= MAX_DEPTH as usize {
                return Err(Reason::Deep.at(at));
            }
            self.owed = self.owed.saturating_add(parts.saturating_mul(1 + u64::from(hash)));
            self.open.push(Open { left: parts as u32, hash });
        }
        Ok(())
    }

    /// Whether what is owed can be in the bytes that are left behind the tag at `at` and what belongs to it.
    #[inline]
    fn afford(&self, left: usize, at: usize) -> Result<(), Stop> {
        if self.owed > left as u64 {
            return Err(Reason::Promised { items: self.owed, left: left as u32 }.at(at));
        }
        Ok(())
    }

    /// The format's own number for a place in the body.
    #[inline]
    fn offset(&self, at: usize) -> u32 {
        (at + 1).saturating_sub(self.body) as u32
    }

    /// The place of an offset; `None` when it is not before `end`.
    fn place(&self, offset: u64, end: usize) -> Option<usize> {
        let index = usize::try_from(offset).ok()?.checked_sub(1)?.checked_add(self.body)?;
        Some(index).filter(|index| *index < end)
    }
}

/// The string that a document is, if it is one and nothing else. Any other document, a damaged one among them, is for a
/// [`Reader`].
#[must_use]
pub fn text(document: &[u8]) -> Option<Text> {
    let mut cursor = Cursor::new(document, header::WRITTEN.len());
    if !document.starts_with(&header::WRITTEN) {
        return None;
    }
    let at = cursor.at;
    let tag = cursor.byte().ok().filter(|tag| tag::is_string(*tag) && *tag < tag::TRACKED)?;
    cursor.string(tag, at).ok().filter(|_| cursor.left() == 0)
}
