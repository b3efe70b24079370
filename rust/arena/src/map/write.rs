//! Writing: `store` and `delete`, and the one body behind everything that puts an entry into the map.

use super::claim::Claim;
use super::journal::{Change, Step, Turn};
use super::probe::{Found, Position, Seek};
use super::reading::{Held, Nothing, Number};
use super::word::Word;
use super::{Content, Map};
use crate::error::{Error, Result};
use crate::sync::Ordering;

/// Making room and then losing it to others is bad luck a few times over; no luck is this bad.
const MOST_ROUNDS: u32 = 2_000;
/// So often may others free a slot and fill it again before we find it; then the map is as good as full.
const MOST_LOST: u32 = 1_000;

/// How a store ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// It is there.
    Yes,
    /// The key is new, and every slot holds a live one.
    Full,
    /// The key is empty, or the pair larger than `max_pair`. An older value stands.
    TooLarge,
}

/// What is to become of the entry that was found, or not found.
pub(super) enum Decision<'v> {
    /// Put this there, to lapse at this deadline (0: never).
    Put(Content<'v>, u64),
    /// Leave all as it is.
    Leave,
}

/// How [`Map::upsert`] ended.
pub(super) enum Upsert {
    Put,
    Left,
    Full,
    TooLarge,
}

impl Map {
    /// Stores a value, with a time to live in milliseconds or 0 for none. Expected constant time, plus the copy.
    ///
    /// # Errors
    /// `Busy` when a living process holds the key's stripe for too long, `Corrupt` when memory was written over.
    #[inline(always)] // into the C ABI: a result that is passed on lies in memory
    pub fn store(&self, key: &[u8], content: Content<'_>, ttl_ms: u64) -> Result<Stored> {
        if !self.takes(key, content.length()) {
            return Ok(Stored::TooLarge);
        }
        let hash = self.hash(key);
        if matches!(content, Content::Bytes(_)) && self.overwrite(key, hash, content, ttl_ms) {
            return Ok(Stored::Yes);
        }
        self.store_anyhow(key, hash, content, ttl_ms)
    }

    /// What most stores are: over a key that is there, under a lock that is free. False when it is none of these; then
    /// nothing has happened, and the store begins anew elsewhere: were the turn handed on, or anything that can fail
    /// awaited, it would lie in memory for every store.
    #[inline(always)]
    fn overwrite(&self, key: &[u8], hash: u64, content: Content<'_>, ttl_ms: u64) -> bool {
        let Some(turn) = self.turn_at_once(self.stripe_of(hash)) else { return false };
        let Seek::Found(found) = self.seek(key, hash, Nothing) else { return false };
        if found.deadline == 0 && ttl_ms == 0 {
            return turn.replace(&found, false, key, hash, content, 0);
        }
        let lapsed = self.has_lapsed(found.deadline);
        turn.replace(&found, lapsed, key, hash, content, self.deadline_after(ttl_ms))
    }

    /// Any store, however it must be done.
    #[inline(never)]
    fn store_anyhow(&self, key: &[u8], hash: u64, content: Content<'_>, ttl_ms: u64) -> Result<Stored> {
        let mut deadline = None;
        let outcome = self.upsert_hashed(key, hash, |_| {
            let deadline = *deadline.get_or_insert_with(|| self.deadline_after(ttl_ms));
            Ok(Decision::Put(content, deadline))
        })?;
        Ok(match outcome {
            Upsert::Put | Upsert::Left => Stored::Yes,
            Upsert::Full => Stored::Full,
            Upsert::TooLarge => Stored::TooLarge,
        })
    }

    /// Whether a key is one, and fits with a value of that length.
    #[inline]
    fn takes(&self, key: &[u8], value_length: usize) -> bool {
        // No two slices are so long that the sum could overflow.
        !key.is_empty() && (key.len() + value_length) as u64 <= self.max_pair()
    }

    /// Removes a key; true when it was there. Expected constant time.
    ///
    /// # Errors
    /// As [`Map::store`].
    pub fn delete(&self, key: &[u8]) -> Result<bool> {
        if key.is_empty() {
            return Ok(false);
        }
        let hash = self.hash(key);
        let turn = self.turn(self.stripe_of(hash))?;
        let Some(found) = turn.locate(key, hash)? else { return Ok(false) };
        let lapsed = self.has_lapsed(found.deadline);
        turn.publish(&Change {
            step: Step::Remove,
            position: found.position,
            before: found.word,
            after: Word::EMPTY,
            collects: lapsed,
            claim: None,
        });
        Ok(!lapsed)
    }

    /// Looks a key up under its stripe's lock and puts there what `decide` says. `decide` sees no lapsed entry.
    pub(super) fn upsert<'v>(
        &self,
        key: &[u8],
        value_length: usize,
        decide: impl FnMut(Option<&Found<'_, Held>>) -> Result<Decision<'v>>,
    ) -> Result<Upsert> {
        if !self.takes(key, value_length) {
            return Ok(Upsert::TooLarge);
        }
        let hash = self.hash(key);
        self.upsert_hashed(key, hash, decide)
    }

    fn upsert_hashed<'v>(
        &self,
        key: &[u8],
        hash: u64,
        mut decide: impl FnMut(Option<&Found<'_, Held>>) -> Result<Decision<'v>>,
    ) -> Result<Upsert> {
        // What `freed()` said before we saw that there is no room to be made.
        let mut no_room = None;
        let mut lost = 0;
        let mut looked = 0;
        for _ in 0..MOST_ROUNDS {
            let turn = self.turn(self.stripe_of(hash))?;
            let found = turn.locate(key, hash)?;
            let lapsed = found.as_ref().is_some_and(|found| self.has_lapsed(found.deadline));
            let Decision::Put(content, deadline) = decide(found.as_ref().filter(|_| !lapsed))? else {
                return Ok(Upsert::Left);
            };
            let freed = match found {
                Some(found) => {
                    return match turn.replace(&found, lapsed, key, hash, content, deadline) {
                        true => Ok(Upsert::Put),
                        false => Err(no_spare()),
                    };
                }
                None => match turn.claim() {
                    Ok(claim) => {
                        turn.insert(hash, claim, key, content, deadline)?;
                        return Ok(Upsert::Put);
                    }
                    Err(freed) => freed,
                },
            };
            drop(turn);
            // Lapsed entries never cause a refusal, nor do slots that are being given back: we refuse when, after we saw
            // that nobody had any, we searched in vain and nothing was freed meanwhile.
            let now = self.freed();
            if (no_room == Some(freed) && freed == now) || lost == MOST_LOST {
                // Relaxed: a statistic.
                self.header().full.fetch_add(1, Ordering::Relaxed);
                return Ok(Upsert::Full);
            }
            no_room = if self.make_room(self.home(hash), &mut looked)? { None } else { Some(now) };
            lost += u32::from(no_room.is_some());
        }
        Err(Error::Corrupt("the map is damaged: what it frees is never free".into()))
    }
}

impl<'a> Turn<'a> {
    /// The key's entry, lapsed or not, while nobody can change it but counts on it.
    pub(super) fn locate(&self, key: &[u8], hash: u64) -> Result<Option<Found<'a, Held>>> {
        let map = self.map;
        match map.seek(key, hash, Number) {
            Seek::Found(found) => Ok(Some(found)),
            Seek::Absent => Ok(None),
            // Under the lock, only memory that was written over is never whole.
            Seek::GaveUp => Err(Error::Corrupt("the map is damaged: an entry is never complete".into())),
        }
    }

    /// False when there is no spare buffer, and nothing has happened.
    #[inline(always)] // as Map::turn_at_once
    fn replace<T>(
        &self,
        found: &Found<'_, T>,
        lapsed: bool,
        key: &[u8],
        hash: u64,
        content: Content<'_>,
        deadline: u64,
    ) -> bool {
        let Some(spare) = self.fill_spare(key, content, deadline) else { return false };
        self.note_deadline(self.map.home(hash), deadline);
        self.publish(&Change {
            step: if lapsed { Step::ReplaceLapsed } else { Step::Replace },
            position: found.position,
            before: found.word,
            after: found.word.moved_to(spare, deadline != 0),
            collects: lapsed,
            claim: None,
        })
    }

    fn insert(&self, hash: u64, claim: Claim, key: &[u8], content: Content<'_>, deadline: u64) -> Result<()> {
        let Some(spare) = self.fill_spare(key, content, deadline) else {
            self.drop_claim();
            return Err(no_spare());
        };
        let home = self.map.home(hash);
        self.note_deadline(home, deadline);
        let distances = self.map.distances();
        // There are 7 words for 5 slots, and we hold a slot; but words may be emptied behind a pass and filled
        // before it.
        for distance in (0..distances).cycle().take(distances as usize * 3) {
            let group = self.map.group_after(home, distance);
            for (lane, cell) in self.map.groups[group as usize].words.iter().enumerate() {
                if cell.load(Ordering::Relaxed) != Word::EMPTY.0 {
                    continue;
                }
                let published = self.publish(&Change {
                    step: Step::Insert,
                    position: Position { group, lane },
                    before: Word::EMPTY,
                    after: Word::live(hash, distance, spare, deadline != 0),
                    collects: false,
                    claim: Some(claim),
                });
                if published {
                    return Ok(());
                }
            }
        }
        self.drop_claim();
        Err(Error::Corrupt("the map is damaged: its index has no empty word".into()))
    }

    /// Writes an entry into the spare buffer, and says which that is; None when there is no such buffer.
    #[inline(always)] // as Map::turn_at_once
    fn fill_spare(&self, key: &[u8], content: Content<'_>, deadline: u64) -> Option<u32> {
        let spare = self.stripe.spare.load(Ordering::Relaxed);
        self.map.buffers.get(spare)?.fill(key, content, deadline);
        Some(spare)
    }
}

#[cold]
fn no_spare() -> Error {
    Error::Corrupt("the map is damaged: a stripe's spare buffer does not exist".into())
}
