//! One item: its key, what stands before its tag, the tag itself, and what it refers to where that belongs to it.

use super::Reader;
use crate::cursor::Cursor;
use crate::error::{Error, Reason, Role};
use crate::item::{Item, Kind};
use crate::tag::{self, TRACKED};
use crate::varint;

impl Reader {
    /// Reads the item at the present position, with its key if it is in a hash.
    #[inline]
    pub(super) fn item(&mut self, document: &[u8], in_hash: bool) -> Result<Item, Error> {
        let mut cursor = Cursor::new(document.get(..self.end).unwrap_or_default(), self.at);
        let item = self.item_at(&mut cursor, in_hash);
        self.at = cursor.at;
        // A copied item ends before its COPY, which is not where the document ends.
        item.map_err(|error| match (error.reason, &self.copying) {
            (Reason::Ended, Some(_)) => Reason::CopyOpen.at(self.end),
            _ => error,
        })
    }

    #[inline]
    fn item_at(&mut self, cursor: &mut Cursor<'_>, in_hash: bool) -> Result<Item, Error> {
        let depth = self.open.len() as u32;
        let key = if in_hash { Some(self.string(cursor, Role::Key)?) } else { None };
        let (mut weak, mut class, mut track) = (false, None, None);
        let (tag, at) = loop {
            let at = cursor.at;
            let byte = cursor.byte()?;
            if byte >= TRACKED {
                self.note(at, &mut track, true);
            }
            match byte & !TRACKED {
                tag::PAD => {}
                tag::WEAKEN => weak = true,
                tag::OBJECT | tag::OBJECTV if class.is_some() => return Err(Reason::TwoClasses.at(at)),
                tag::OBJECT => class = Some(self.class(cursor)?),
                tag::OBJECTV => class = Some(self.class_again(cursor, at)?),
                tag::COPY => self.begin_copy(cursor, at)?,
                tag => break (tag, at),
            }
        };
        if (weak || class.is_some()) && !tag::is_reference(tag) {
            let before = if class.is_some() { tag::OBJECT } else { tag::WEAKEN };
            return Err(Reason::NoReference(before).at(at));
        }
        let kind = self.kind(cursor, tag, at, track.is_some())?;
        Ok(Item { at: at as u32, depth, track, weak, key, class, kind })
    }

    /// What the tag at `at`, read just now, stands for.
    #[inline]
    fn kind(&mut self, cursor: &mut Cursor<'_>, tag: u8, at: usize, tracked: bool) -> Result<Kind, Error> {
        Ok(match tag {
            tag::POS..=0x0f => Kind::Signed(i64::from(tag)),
            tag::NEG..=0x1f => Kind::Signed(i64::from(tag) - 32),
            tag::VARINT => {
                let number = cursor.varint()?;
                i64::try_from(number).map_or(Kind::Unsigned(number), Kind::Signed)
            }
            tag::ZIGZAG => Kind::Signed(varint::unzigzag(cursor.varint()?)),
            tag::FLOAT => Kind::Real(f32::from_le_bytes(cursor.array()?).into()),
            tag::DOUBLE => Kind::Real(f64::from_le_bytes(cursor.array()?)),
            tag::UNDEF => Kind::Undefined,
            tag::CANONICAL_UNDEF => Kind::Hole,
            tag::NO | tag::FALSE => Kind::Boolean(false),
            tag::YES | tag::TRUE => Kind::Boolean(true),
            tag::BINARY | tag::STR_UTF8 | tag::SHORT_BINARY.. => Kind::Text(cursor.string(tag, at)?),
            tag::ARRAYREF..=0x4f => self.array(cursor, u64::from(tag & 15), None, at)?,
            tag::HASHREF..=0x5f => self.hash(cursor, u64::from(tag & 15), None, at)?,
            tag::REFN => self.reference(cursor, at)?,
            tag::REFP => {
                let offset = cursor.varint()?;
                let place = self.tracks.find(offset).ok_or(Reason::NotTracked { tag, offset }.at(at))?;
                Kind::Same(place.number)
            }
            tag::ALIAS if tracked => return Err(Reason::AliasTracked.at(at)),
            tag::ALIAS if self.open.is_empty() => return Err(Reason::AliasAlone.at(at)),
            tag::ALIAS => {
                let offset = cursor.varint()?;
                let place = self.tracks.find(offset).ok_or(Reason::NotTracked { tag, offset }.at(at))?;
                if !place.scalar {
                    return Err(Reason::AliasOfNoScalar(offset).at(at));
                }
                Kind::Alias(place.number)
            }
            _ => return Err(refusal(tag).at(at)),
        })
    }

    /// A REFN at `at`. What it refers to is merged into it, but a scalar, which is an item of its own.
    fn reference(&mut self, cursor: &mut Cursor<'_>, at: usize) -> Result<Kind, Error> {
        let start = cursor.at;
        let (tag, there) = cursor.tag()?;
        if !matches!(tag, tag::ARRAY | tag::HASH | tag::REGEXP) {
            cursor.at = start;
            self.open(1, false, cursor.left(), at)?;
            return Ok(Kind::Reference);
        }
        // Once more, now that it is known whose track bits these are.
        cursor.at = start;
        let mut track = None;
        while cursor.at <= there {
            let at = cursor.at;
            if cursor.byte()? >= TRACKED {
                self.note(at, &mut track, false);
            }
        }
        match tag {
            tag::ARRAY => {
                let length = cursor.varint()?;
                self.array(cursor, length, track, there)
            }
            tag::HASH => {
                let length = cursor.varint()?;
                self.hash(cursor, length, track, there)
            }
            _ => {
                let pattern = self.string(cursor, Role::Pattern)?;
                let modifiers = self.string(cursor, Role::Modifiers)?;
                Ok(Kind::Regexp { pattern, modifiers, track })
            }
        }
    }

    #[inline]
    fn array(&mut self, cursor: &Cursor<'_>, length: u64, track: Option<u32>, at: usize) -> Result<Kind, Error> {
        Ok(Kind::Array { length: self.open(length, false, cursor.left(), at)?, track })
    }

    #[inline]
    fn hash(&mut self, cursor: &Cursor<'_>, length: u64, track: Option<u32>, at: usize) -> Result<Kind, Error> {
        Ok(Kind::Hash { length: self.open(length, true, cursor.left(), at)?, track })
    }

    /// Notes a track bit. In a copied item it means the original, and is noted already.
    #[inline]
    fn note(&mut self, at: usize, number: &mut Option<u32>, scalar: bool) {
        if self.copying.is_none() {
            self.tracks.note(self.offset(at), number, scalar);
        }
    }
}

/// Why a tag cannot begin an item.
#[cold]
fn refusal(tag: u8) -> Reason {
    match tag {
        tag::ARRAY | tag::HASH | tag::REGEXP => Reason::NoRefn(tag),
        tag::OBJECT_FREEZE | tag::OBJECTV_FREEZE => Reason::Frozen,
        tag::LONG_DOUBLE | tag::FLOAT_128 | tag::MANY | tag::PACKET_START | tag::EXTEND => Reason::Unsupported(tag),
        _ => Reason::Reserved(tag),
    }
}
