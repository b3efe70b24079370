//! One item: its key, what stands before its tag, the tag itself, and what it refers to where that belongs to it.

use super::track::Place;
use super::{Open, Reader, MAX_DEPTH};
use crate::cursor::Cursor;
use crate::error::{Reason, Role, Stop};
use crate::item::{flag, Item, Sort, UNTRACKED};
use crate::tag::{self, TRACKED};

impl Reader {
    /// Reads scalars, arrays and hashes that nothing is said of, of which most documents consist, as far as they come one
    /// after the other inside something open; how many. An item that is not so simple, or wrong, is left where it is.
    pub(super) fn run(&mut self, document: &[u8], items: &mut [Item]) -> usize {
        if self.copying.is_some() || document.len() != self.length {
            return 0;
        }
        let mut cursor = Cursor::new(document, self.at);
        let mut read = 0;
        while let Some(item) = items.get_mut(read) {
            let depth = self.open.len() as u32;
            let Some(open) = self.open.last_mut() else { break };
            if open.left == 0 {
                self.open.pop();
                continue;
            }
            (item.depth, item.track, item.referent_track) = (depth, UNTRACKED, UNTRACKED);
            let Some(parts) = cursor.plain(open.hash, item) else { break };
            let hash = item.sort == Sort::Hash;
            let owed = self.owed.saturating_sub(1 + u64::from(open.hash));
            let owed = owed.saturating_add(parts.saturating_mul(1 + u64::from(hash)));
            if owed > cursor.left() as u64 || parts > 0 && depth >= MAX_DEPTH {
                break;
            }
            open.left -= 1;
            if parts > 0 {
                self.open.push(Open { left: parts as u32, hash });
            }
            (self.owed, self.at) = (owed, cursor.at);
            read += 1;
        }
        read
    }

    /// Reads the item at the present position, with its key if it is in a hash.
    #[inline]
    pub(super) fn item(&mut self, document: &[u8], in_hash: bool, item: &mut Item) -> Result<(), Stop> {
        let mut cursor = Cursor::new(document.get(..self.end).unwrap_or_default(), self.at);
        let read = self.item_at(&mut cursor, in_hash, item);
        self.at = cursor.at;
        // What is left of a copied item is what is left before its COPY.
        read.map_err(|error| match error.reason {
            Reason::Ended | Reason::LongString { .. } | Reason::Promised { .. } if self.copying.is_some() => {
                Reason::CopyOpen.at(self.end)
            }
            _ => error,
        })
    }

    // What is read is written where the caller wants it: passed on from function to function, it would cost more than
    // reading it.
    #[inline]
    fn item_at(&mut self, cursor: &mut Cursor<'_>, in_hash: bool, item: &mut Item) -> Result<(), Stop> {
        let depth = self.open.len() as u32;
        (item.depth, item.flags, item.track, item.referent_track) = (depth, 0, UNTRACKED, UNTRACKED);
        if in_hash {
            item.set_key(self.string(cursor, Role::Key)?);
        }
        let (tag, at) = loop {
            let at = cursor.at;
            let byte = cursor.byte()?;
            let tag = byte & !TRACKED;
            if byte >= TRACKED && tag != tag::ALIAS {
                self.note(at, &mut item.track, true);
            }
            if !cursor.scalar(tag, at, item)? {
                match tag {
                    tag::ARRAYREF..=0x4f => self.open(Sort::Array, u64::from(tag & 15), at, item)?,
                    tag::HASHREF..=0x5f => self.open(Sort::Hash, u64::from(tag & 15), at, item)?,
                    tag::REFN => self.reference(cursor, at, item)?,
                    tag::REFP => (item.sort, item.target) = (Sort::Same, self.tracked(cursor, tag, at)?.number),
                    tag::ALIAS => self.alias(cursor, at, byte >= TRACKED, item)?,
                    _ => {
                        self.prefix(cursor, item, tag, at)?;
                        continue;
                    }
                }
            }
            break (tag, at);
        };
        item.at = at as u32;
        if self.copying.is_some() {
            self.count_item()?;
        }
        if item.is(flag::WEAK | flag::CLASS) && !tag::is_reference(tag) {
            let before = if item.is(flag::CLASS) { tag::OBJECT } else { tag::WEAKEN };
            return Err(Reason::NoReference(before).at(at));
        }
        self.afford(cursor.left(), at)
    }

    /// A tag that says something of the item that follows.
    fn prefix(&mut self, cursor: &mut Cursor<'_>, item: &mut Item, tag: u8, at: usize) -> Result<(), Stop> {
        match tag {
            tag::PAD => {}
            tag::WEAKEN => item.flags |= flag::WEAK,
            tag::OBJECT | tag::OBJECTV if item.is(flag::CLASS) => return Err(Reason::TwoClasses.at(at)),
            tag::OBJECT => item.set_class(self.class(cursor)?),
            tag::OBJECTV => item.set_class(self.class_again(cursor, at)?),
            tag::COPY => self.begin_copy(cursor, at)?,
            tag::ARRAY | tag::HASH | tag::REGEXP => return Err(Reason::NoRefn(tag).at(at)),
            tag::OBJECT_FREEZE | tag::OBJECTV_FREEZE => return Err(Reason::Frozen.at(at)),
            tag::LONG_DOUBLE | tag::FLOAT_128 | tag::MANY | tag::PACKET_START | tag::EXTEND => {
                return Err(Reason::Unsupported(tag).at(at));
            }
            _ => return Err(Reason::Reserved(tag).at(at)),
        }
        Ok(())
    }

    /// A REFN at `at`. What it refers to is merged into it, but a scalar, which is an item of its own.
    fn reference(&mut self, cursor: &mut Cursor<'_>, at: usize, item: &mut Item) -> Result<(), Stop> {
        let start = cursor.at;
        let (tag, there) = cursor.tag()?;
        if !matches!(tag, tag::ARRAY | tag::HASH | tag::REGEXP) {
            cursor.at = start;
            return self.open(Sort::Reference, 1, at, item);
        }
        // Once more, now that it is known whose track bits these are.
        cursor.at = start;
        while cursor.at <= there {
            let at = cursor.at;
            if cursor.byte()? >= TRACKED {
                self.note(at, &mut item.referent_track, false);
            }
        }
        if tag == tag::REGEXP {
            item.set_text(self.string(cursor, Role::Pattern)?);
            item.sort = Sort::Regexp;
            item.modifiers = self.string(cursor, Role::Modifiers)?.span();
            return Ok(());
        }
        let count = cursor.varint()?;
        self.open(if tag == tag::HASH { Sort::Hash } else { Sort::Array }, count, there, item)
    }

    /// An ALIAS at `at`.
    fn alias(&mut self, cursor: &mut Cursor<'_>, at: usize, tracked: bool, item: &mut Item) -> Result<(), Stop> {
        if item.depth == 0 {
            return Err(Reason::AliasAlone.at(at));
        }
        if item.track != UNTRACKED {
            return Err(Reason::AliasTracked.at(at));
        }
        let place = self.tracked(cursor, tag::ALIAS, at)?;
        if !place.scalar {
            return Err(Reason::AliasOfNoScalar.at(at));
        }
        if tracked {
            // A second place of the same scalar.
            self.note(at, &mut { place.number }, true);
        }
        (item.sort, item.target) = (Sort::Alias, place.number);
        Ok(())
    }

    /// What the REFP or ALIAS at `at` refers to.
    fn tracked(&self, cursor: &mut Cursor<'_>, tag: u8, at: usize) -> Result<Place, Stop> {
        let offset = cursor.varint()?;
        self.tracks.find(offset).ok_or_else(|| Reason::NotTracked { tag, offset }.at(at))
    }

    /// Notes a track bit. In a copied item it means the original, and is noted already.
    #[inline]
    fn note(&mut self, at: usize, number: &mut u32, scalar: bool) {
        if self.copying.is_none() {
            self.tracks.note(self.offset(at), number, scalar);
        }
    }
}
