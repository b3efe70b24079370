//! Counters. Counting on one that is there takes no lock: its number and its buffer's sequence change together or
//! not at all, so an addition can neither be lost nor land in another entry's bytes.
//!
//! A count that meets a delete or a store in the same moment comes before it: the word still named the buffer
//! after the count had begun, and the buffer begins its next life with another sequence.

use super::buffer::Kind;
use super::probe::Seek;
use super::write::{Decision, Upsert};
use super::{Content, Map};
use crate::error::{Error, Result};
use crate::failpoint;

/// Each failed attempt is another process's success; so many in a row are only had by writing over the memory.
const MOST_ATTEMPTS: u32 = 100_000_000;
/// The same for meeting, under the lock, a counter that was not there just before.
const MOST_ROUNDS: u32 = 1_000_000;

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

/// How the way without a lock ended.
enum Quick {
    Now(i64),
    /// There is no live counter to count on: the slow way decides.
    Otherwise,
}

impl Map {
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
            if let Quick::Now(number) = self.count_quickly(key, by)? {
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
                    Some((Kind::Counter, ..)) => {
                        // Made by somebody else meanwhile.
                        seen = Seen::Counter;
                        return Ok(Decision::Leave);
                    }
                    Some((_, Some(planted), deadline)) => {
                        (planted.checked_add(by).ok_or(Error::Overflow { number: planted, by })?, deadline)
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
    fn count_quickly(&self, key: &[u8], by: i64) -> Result<Quick> {
        let hash = self.hash(key);
        let mut attempts = 0..MOST_ATTEMPTS;
        while attempts.next().is_some() {
            let found = match self.seek(key, hash, |buffer, _| buffer.number()) {
                Seek::Found(found) if found.facts.kind == Kind::Counter => found,
                _ => return Ok(Quick::Otherwise),
            };
            if found.deadline != 0 && self.has_lapsed(found.deadline) {
                return Ok(Quick::Otherwise);
            }
            let mut number = found.value;
            while attempts.next().is_some() {
                let sum = number.checked_add(by).ok_or(Error::Overflow { number, by })?;
                failpoint::hit("counter.before");
                match found.buffer.count(found.sequence, number, sum) {
                    Ok(()) => {
                        failpoint::hit("counter.after");
                        return Ok(Quick::Now(sum));
                    }
                    Err((sequence, now)) if sequence == found.sequence => number = now,
                    // The buffer lives another life: the entry was replaced or removed.
                    Err(_) => break,
                }
            }
        }
        Err(never_still())
    }

    /// A counter's number; None when the key is absent or holds something else, and always on a serialised map.
    #[must_use]
    pub fn counter(&self, key: &[u8]) -> Option<i64> {
        if self.shape.serialised {
            return None;
        }
        let number = self.live(key, |buffer, facts| match facts.kind {
            Kind::Counter => Some(buffer.number()),
            _ => buffer.planted(facts),
        });
        number.ok().flatten().flatten()
    }
}
