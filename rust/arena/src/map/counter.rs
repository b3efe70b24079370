//! Counters. Counting on one that is there takes no lock: its number and its buffer's sequence change together or
//! not at all, so an addition can neither be lost nor land in another entry's bytes.
//!
//! A count that meets a delete or a store in the same moment comes before it: the word still named the buffer
//! after the count had begun, and the buffer begins its next life with another sequence.

use super::buffer::Kind;
use super::probe::Seek;
use super::reading::{Number, RawNumber};
use super::write::{Decision, Upsert};
use super::{Content, Map};
use crate::error::{Error, Result};
use crate::failpoint;

/// Each failed attempt is another process's success. After so many the key is looked for again, under the lock.
const MOST_ATTEMPTS: u32 = 1_000;
/// So often is that done; as many failures in a row are only had by writing over the memory.
const MOST_ROUNDS: u32 = 100_000;

/// How a count ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// The number is now this.
    Now(i64),
    /// The key is new, and every slot holds a live one.
    Full,
    /// The key is empty, or larger than `max_pair`.
    TooLarge,
    /// The key holds a value that is no counter; it is unchanged.
    NotCounter,
}

fn never_still() -> Error {
    Error::Corrupt("the map is damaged: a counter never keeps still".into())
}

impl Map {
    /// As [`Map::incr`], for what nearly every count meets: a counter that is there. None when `incr` has to decide, and
    /// then nothing has changed. Takes no lock.
    #[inline(always)] // so that the number comes back in a register
    #[must_use]
    pub fn count(&self, key: &[u8], by: i64) -> Option<i64> {
        if self.shape.serialised {
            return None;
        }
        self.seek_then(key, self.hash(key), RawNumber, |seek| match seek {
            Seek::Found(found) if found.facts.kind == Kind::Counter => {
                if found.deadline != 0 && self.has_lapsed(found.deadline) {
                    return None;
                }
                let mut number = found.value;
                for _ in 0..MOST_ATTEMPTS {
                    let sum = number.checked_add(by)?;
                    failpoint::hit("counter.before");
                    match found.buffer.count(found.sequence, number, sum) {
                        Ok(()) => {
                            failpoint::hit("counter.after");
                            return Some(sum);
                        }
                        Err((sequence, now)) if sequence == found.sequence => number = now,
                        // The buffer lives another life: the entry was replaced or removed.
                        Err(_) => break,
                    }
                }
                None
            }
            _ => None,
        })
    }

    /// Adds to a counter, making it when the key is absent or has lapsed; only then does the time to live count.
    /// Expected constant time, and without a lock on a counter that is there.
    ///
    /// # Errors
    /// `Overflow` when the sum leaves the signed 64-bit range; then nothing has changed. As [`Map::store`] when the
    /// counter is made. `Invalid` on a serialised map.
    pub fn incr(&self, key: &[u8], by: i64, ttl_ms: u64) -> Result<Counted> {
        if self.shape.serialised {
            return Err(Error::Invalid("incr on a serialised map".into()));
        }
        for _ in 0..MOST_ROUNDS {
            if let Some(number) = self.count(key, by) {
                return Ok(Counted::Now(number));
            }
            // What the decision below saw.
            enum Seen {
                Counter,
                Other,
                Sum(i64),
            }
            let mut seen = Seen::Other;
            let outcome = self.upsert(key, 0, |found| {
                let (put, deadline) = match found.map(|found| (found.value.kind, found.value.number, found.deadline)) {
                    None => (by, self.deadline_after(ttl_ms)),
                    Some((kind, Some(number), deadline)) => {
                        let sum = number.checked_add(by).ok_or(Error::Overflow { number, by })?;
                        if kind == Kind::Counter {
                            // Made by somebody else meanwhile, or others were always faster.
                            seen = Seen::Counter;
                            return Ok(Decision::Leave);
                        }
                        (sum, deadline)
                    }
                    Some(_) => {
                        seen = Seen::Other;
                        return Ok(Decision::Leave);
                    }
                };
                seen = Seen::Sum(put);
                Ok(Decision::Put(Content::Counter(put), deadline))
            })?;
            return Ok(match (outcome, seen) {
                (Upsert::Put, Seen::Sum(number)) => Counted::Now(number),
                (Upsert::Full, _) => Counted::Full,
                (Upsert::TooLarge, _) => Counted::TooLarge,
                (_, Seen::Counter) => continue,
                _ => Counted::NotCounter,
            });
        }
        Err(never_still())
    }

    #[inline]
    /// A counter's number; None when the key is absent or holds something else, and always on a serialised map.
    #[must_use]
    pub fn counter(&self, key: &[u8]) -> Option<i64> {
        if self.shape.serialised {
            return None;
        }
        self.live(key, Number).ok().flatten().and_then(|held| held.number)
    }
}
