//! Reading: `fetch`, `exists`, and the walk over all keys. No lock is waited for.

use super::probe::{Position, Seek};
use super::reading::{Nothing, Reading, Value};
use super::word::Word;
use super::Map;
use crate::layout::LANES;
use crate::sync::{spin_loop, Ordering};
use std::mem::MaybeUninit;

/// What a fetch found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// The value: so many bytes of the caller's buffer were written.
    Bytes(usize),
    /// A value that is there and undefined.
    Undefined,
    /// A counter's number.
    Counter(i64),
    /// No such key.
    Absent,
    /// The value has so many bytes, and the caller's buffer fewer. Nothing was written.
    TooShort(usize),
    /// The entry changed under every attempt to read it; counted in `busy`.
    Busy,
}

/// What a step of the walk over all keys found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextKey {
    /// A live key: so many bytes of the caller's buffer were written.
    Key(usize),
    /// There are no more.
    End,
}

impl Map {
    /// The value of a key, copied into `out`. Expected constant time, plus the copy.
    #[inline]
    pub fn fetch(&self, key: &[u8], out: &mut [MaybeUninit<u8>]) -> Read {
        let found = self.live(key, Value(out));
        match found {
            Ok(Some(read)) => read,
            Ok(None) => Read::Absent,
            Err(()) => Read::Busy,
        }
    }

    /// Whether a key is there. Expected constant time.
    #[inline]
    pub fn exists(&self, key: &[u8]) -> bool {
        matches!(self.live(key, Nothing), Ok(Some(())))
    }

    /// Seeks an entry that has not lapsed; a lapsed one is collected and reads as absent. Giving up is counted.
    #[inline(always)] // as seek_then()
    pub(super) fn live<T: Reading>(&self, key: &[u8], read: T) -> Result<Option<T::Result>, ()> {
        self.seek_then(key, self.hash(key), read, |seek| match seek {
            Seek::Found(found) if found.deadline != 0 && self.has_lapsed(found.deadline) => {
                self.collect_if_free(found.position, found.word);
                Ok(None)
            }
            Seek::Found(found) => Ok(Some(found.value)),
            Seek::Absent => Ok(None),
            Seek::GaveUp => {
                self.count_busy();
                Err(())
            }
        })
    }

    /// Collects a lapsed entry a reader landed on, unless a writer has its stripe: readers never wait.
    #[cold]
    fn collect_if_free(&self, position: Position, word: Word) {
        if let Some(turn) = self.try_turn(self.stripe_at(position, word)) {
            // A damaged owner is for a writer to report; the entry reads as absent either way.
            let _ = turn.collect(position, word);
        }
    }

    #[cold]
    pub(super) fn count_busy(&self) {
        // Relaxed: a statistic.
        self.header().busy.fetch_add(1, Ordering::Relaxed);
    }

    /// The next live key at or after `cursor` (0 to begin with), which moves past it. A walk is a snapshot of
    /// nothing: it meets every key that is there from its beginning to its end, and perhaps some others. It takes
    /// no lock. `out` holds `max_pair` bytes.
    pub fn next_key(&self, cursor: &mut u64, out: &mut [MaybeUninit<u8>]) -> NextKey {
        let end = self.layout.groups * LANES as u64;
        while *cursor < end {
            let at = *cursor;
            *cursor += 1;
            // The first lane of all groups, then the second: who deletes the first keys listed, again and again, must not
            // empty one part of the table and leave another full.
            let cell = &self.groups[(at % self.layout.groups) as usize].words[(at / self.layout.groups) as usize];
            // A key is short: that it changes under this many looks is no writer's doing, but damage. So is, much sooner, a
            // word that stays and names a buffer which is being filled: it would be gone before that begins.
            let (mut last, mut same) = (Word::EMPTY, 0);
            for _ in 0..200 {
                // SYNC(publish): pairs with the releases in journal.rs.
                let word = Word(cell.load(Ordering::Acquire));
                let Some(buffer) = self.buffers.get(word.buffer()).filter(|_| word.is_live()) else { break };
                let Some(sequence) = buffer.sequence(cell, word) else {
                    same = if word == last { same + 1 } else { 0 };
                    if same == 8 {
                        break;
                    }
                    last = word;
                    spin_loop();
                    continue;
                };
                let key = buffer.facts().and_then(|facts| out.get_mut(..facts.key_length));
                let length = key.map(|key| {
                    buffer.copy_key(key);
                    key.len()
                });
                let deadline = buffer.deadline();
                if !buffer.unchanged(sequence) {
                    spin_loop();
                    continue;
                }
                match length {
                    Some(length) if deadline == 0 || !self.has_lapsed(deadline) => return NextKey::Key(length),
                    _ => break,
                }
            }
        }
        NextKey::End
    }
}
