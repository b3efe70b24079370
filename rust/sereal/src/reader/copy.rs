//! COPY: what stands before is read once more.
//!
//! While an item is copied, reading ends where its COPY stands; so it can contain neither the COPY nor anything that is
//! still open around it.

use super::Reader;
use crate::cursor::Cursor;
use crate::error::{Reason, Role, Stop};
use crate::item::Text;
use crate::tag;

/// What a copied item counts for beside its bytes: it may be one byte, and take much more memory.
const BYTES_OF_ITEM: usize = 64;
/// Most bytes that COPY and OBJECTV may have read once more, for each of the document.
pub const COPIED_PER_BYTE: usize = 64;
/// And for a document of any length.
pub const COPIED_ANYWAY: usize = 1 << 20;

/// What goes on when the copied item is complete.
#[derive(Debug)]
pub(super) struct Copying {
    /// Where the copied item begins, and where reading continues behind it.
    start: usize,
    resume: usize,
    /// How many things were open around it, and what they owed.
    depth: usize,
    owed: u64,
}

impl Reader {
    /// Sends the cursor back to the item that the COPY at `at` names.
    pub(super) fn begin_copy<'a>(&mut self, cursor: &mut Cursor<'a>, at: usize) -> Result<(), Stop> {
        let source = self.source(cursor, tag::COPY, at)?;
        self.afford(cursor.left(), at)?;
        let (resume, depth) = (cursor.at, self.open.len());
        self.copying = Some(Copying { start: source.at, resume, depth, owed: self.owed });
        self.owed = 0;
        self.end = at;
        *cursor = source;
        Ok(())
    }

    /// Returns from a copied item if it is complete.
    pub(super) fn end_copy(&mut self) -> Result<(), Stop> {
        match self.copying {
            Some(Copying { start, resume, depth, owed }) if depth == self.open.len() => {
                self.copying = None;
                self.count_copied(self.at - start, self.end)?;
                (self.at, self.end, self.owed) = (resume, self.length, owed);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The next string, which may be a COPY of one.
    #[inline]
    pub(super) fn string(&mut self, cursor: &mut Cursor<'_>, role: Role) -> Result<Text, Stop> {
        let (tag, at) = cursor.tag()?;
        if tag::is_string(tag) {
            cursor.string(tag, at)
        } else if tag == tag::COPY {
            let mut source = self.source(cursor, tag::COPY, at)?;
            let start = source.at;
            let (tag, there) = source.tag()?;
            if !tag::is_string(tag) {
                return Err(Reason::NoString(role).at(there));
            }
            let text = source.string(tag, there)?;
            self.count_copied(source.at - start, at)?;
            Ok(text)
        } else {
            Err(Reason::NoString(role).at(at))
        }
    }

    /// The class name of an OBJECT, which follows.
    pub(super) fn class(&mut self, cursor: &mut Cursor<'_>) -> Result<Text, Stop> {
        let name = self.string(cursor, Role::Class)?;
        Some(name).filter(|name| name.length() > 0).ok_or_else(|| Reason::EmptyClass.at(cursor.at - 1))
    }

    /// The class name that the OBJECTV at `at` names.
    pub(super) fn class_again(&mut self, cursor: &mut Cursor<'_>, at: usize) -> Result<Text, Stop> {
        let mut source = self.source(cursor, tag::OBJECTV, at)?;
        let start = source.at;
        let name = self.class(&mut source)?;
        self.count_copied(source.at - start, at)?;
        Ok(name)
    }

    /// A cursor at the place whose offset follows, which ends before the tag at `at`.
    fn source<'a>(&self, cursor: &mut Cursor<'a>, tag: u8, at: usize) -> Result<Cursor<'a>, Stop> {
        if tag == tag::COPY && self.copying.is_some() {
            return Err(Reason::CopyInCopy.at(at));
        }
        let offset = cursor.varint()?;
        let place = self.place(offset, at).and_then(|place| cursor.before(at, place));
        place.ok_or_else(|| Reason::NotBefore { tag, offset }.at(at))
    }

    /// Counts an item that is read once more.
    pub(super) fn count_item(&mut self) -> Result<(), Stop> {
        self.count_copied(BYTES_OF_ITEM, self.end)
    }

    fn count_copied(&mut self, bytes: usize, at: usize) -> Result<(), Stop> {
        let most = COPIED_PER_BYTE as u64 * self.length as u64 + COPIED_ANYWAY as u64;
        self.copied += bytes as u64;
        if self.copied > most {
            return Err(Reason::CopiedMuch(most).at(at));
        }
        Ok(())
    }
}
