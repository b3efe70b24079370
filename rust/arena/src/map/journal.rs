//! A writer's turn: the stripe's lock, and a journal that lets anybody finish what a dead writer began.
//!
//! Every change is one index word. Before it is published, the journal says which word, what it was and will be,
//! and what the stripe's statistics are afterwards; then the word changes; then `finish` does the rest. Whoever
//! next takes the lock of a dead writer looks at the word: if it changed, they call the same `finish`; if not,
//! nothing had happened. All that `finish` does can be done twice.
//!
//! Has the word changed? An insert's word was empty, which any stripe may fill, so: is it what we meant to write?
//! Nobody else may change it then, being live and ours. A replacement's or removal's word was live and ours, so:
//! is it still what it was? (Afterwards it may be empty, and then anybody's.)
//!
//! A killed process leaves memory as its program order left it, so every write here is a release: none moves
//! before an earlier one. The survivor acquires the lock, which the kernel released.

use super::claim::Claim;
use super::probe::Position;
use super::word::Word;
use super::Map;
use crate::error::{Error, Result};
use crate::failpoint;
use crate::layout::Stripe;
use crate::lock::Guard;
use crate::sync::{AtomicU64, Ordering};

/// What a change does to an index word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub(super) enum Step {
    /// Empty to live. The claimed buffer becomes the spare.
    Insert = 1,
    /// Live to live in another buffer. The old buffer becomes the spare.
    Replace = 2,
    /// Live to empty. The buffer becomes a tombstone.
    Remove = 3,
}

/// One change of one word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub step: Step,
    pub position: Position,
    pub before: Word,
    pub after: Word,
    /// The entry before had lapsed: the change collects it.
    pub collects: bool,
    /// For an insert.
    pub claim: Option<Claim>,
}

/// The stripe's statistics.
#[derive(Clone, Copy)]
struct Counts {
    used: u64,
    tombstones: u64,
    expired: u64,
}

/// The right to change a stripe's entries, until dropped.
pub(super) struct Turn<'a> {
    pub map: &'a Map,
    pub index: usize,
    pub stripe: &'a Stripe,
    guard: Guard<'a>,
}

impl Map {
    /// Takes a stripe's lock, and repairs what a dead holder left.
    #[inline(always)] // its result is large, and would be written and waited for on the way
    pub(super) fn turn(&self, index: usize) -> Result<Turn<'_>> {
        let stripe = &self.stripes[index];
        match self.arena.lock(&stripe.lock) {
            Ok(guard) => Ok(self.begin(index, guard)),
            Err(error) => {
                if !matches!(error, Error::Waiting(_)) {
                    self.count_busy();
                }
                Err(error)
            }
        }
    }

    /// As `turn`, but only if nobody has the lock.
    pub(super) fn try_turn(&self, index: usize) -> Option<Turn<'_>> {
        self.arena.try_lock(&self.stripes[index].lock).map(|guard| self.begin(index, guard))
    }

    #[inline]
    fn begin<'a>(&'a self, index: usize, guard: Guard<'a>) -> Turn<'a> {
        let died = guard.owner_died;
        let turn = Turn { map: self, index, stripe: &self.stripes[index], guard };
        if died {
            turn.recover();
            turn.guard.repaired();
        }
        turn
    }

    /// Repairs every stripe whose holder died, but those that others are quicker to take; whether there was one.
    pub(super) fn repair_all(&self) -> bool {
        let mut repaired = false;
        for (index, stripe) in self.stripes.iter().enumerate() {
            repaired |= crate::lock::awaits_repair(&stripe.lock) && self.try_turn(index).is_some();
        }
        repaired
    }
}

impl Turn<'_> {
    /// A write that stays behind all earlier ones.
    #[inline]
    pub(super) fn write(&self, cell: &AtomicU64, value: u64) {
        // SYNC(journal): pairs with the acquire of the lock by whoever repairs after us.
        cell.store(value, Ordering::Release);
    }

    /// The number of the spare buffer.
    pub(super) fn spare(&self) -> Result<u32> {
        let spare = self.stripe.spare.load(Ordering::Relaxed);
        if u64::from(spare) < self.map.layout.buffers {
            return Ok(spare);
        }
        Err(Error::Corrupt("the map is damaged: a stripe's spare buffer does not exist".into()))
    }

    /// Carries a change out. False when somebody else filled the empty word first; then nothing has happened.
    pub(super) fn publish(&self, change: &Change) -> bool {
        let counts = self.counts_after(change);
        let journal = &self.stripe.journal;
        self.write(&journal.position, change.position.pack());
        self.write(&journal.before, change.before.0);
        self.write(&journal.after, change.after.0);
        self.write(&journal.used, counts.used);
        self.write(&journal.tombstones, counts.tombstones);
        self.write(&journal.expired, counts.expired);
        self.write(&journal.step, change.step as u64);
        failpoint::hit("journal.written");
        let cell = self.map.cell(change.position);
        if change.step == Step::Insert {
            self.raise_reach(change);
            failpoint::hit("reach.raised");
            // SYNC(publish): pairs with the acquires in probe.rs and read.rs.
            let taken = cell.compare_exchange(Word::EMPTY.0, change.after.0, Ordering::AcqRel, Ordering::Relaxed);
            if taken.is_err() {
                self.settle_reach(change);
                self.write(&journal.step, 0);
                return false;
            }
        } else {
            // SYNC(publish): as above. Nobody else may change a live word of our stripe.
            cell.store(change.after.0, Ordering::Release);
        }
        failpoint::hit("word.published");
        self.finish(change, counts);
        true
    }

    fn counts_after(&self, change: &Change) -> Counts {
        let now = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        let (used, tombstones) = (now(&self.stripe.used), now(&self.stripe.tombstones));
        let (used, tombstones) = match change.step {
            Step::Insert => {
                let reused = change.claim.is_some_and(|claim| claim.was_tombstone);
                (used.wrapping_add(1), tombstones.wrapping_sub(u64::from(reused)))
            }
            Step::Replace => (used, tombstones),
            Step::Remove => (used.wrapping_sub(1), tombstones.wrapping_add(1)),
        };
        Counts { used, tombstones, expired: now(&self.stripe.expired).wrapping_add(u64::from(change.collects)) }
    }

    /// All that follows from a published word. Doing it twice does it once.
    fn finish(&self, change: &Change, counts: Counts) {
        match (change.step, change.claim) {
            // SYNC(journal): as write().
            (Step::Insert, Some(claim)) => self.stripe.spare.store(claim.buffer, Ordering::Release),
            (Step::Insert, None) => {}
            (Step::Replace, _) => self.stripe.spare.store(change.before.buffer(), Ordering::Release),
            (Step::Remove, _) => {
                self.settle_reach(change);
                self.give_back(change.before.buffer());
            }
        }
        self.write(&self.stripe.used, counts.used);
        self.write(&self.stripe.tombstones, counts.tombstones);
        self.write(&self.stripe.expired, counts.expired);
        failpoint::hit("journal.applied");
        self.write(&self.stripe.journal.step, 0);
        failpoint::hit("journal.closed");
        if change.step == Step::Insert {
            // After the step is closed a claim that is left is either the spare, or was never used.
            self.write(&self.stripe.journal.claim, 0);
        }
    }

    /// Finishes, or forgets, what a dead writer of this stripe began.
    #[cold]
    fn recover(&self) {
        failpoint::hit("recover.begun");
        // Before anything moves the cursor: it may name a line that was closed and not looked through again.
        self.reopen_line(self.map.cursor(self.stripe).1);
        // SYNC(journal): pairs with write(); taking the lock acquired all that the dead writer released.
        let journal = &self.stripe.journal;
        let read = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        if let Some(change) = self.noted_change() {
            // SYNC(publish): the dead writer's, or that of another stripe which took the empty word.
            let word = Word(self.map.cell(change.position).load(Ordering::Acquire));
            let published = if change.step == Step::Insert { word == change.after } else { word != change.before };
            if published {
                let counts = Counts {
                    used: read(&journal.used),
                    tombstones: read(&journal.tombstones),
                    expired: read(&journal.expired),
                };
                self.finish(&change, counts);
            } else {
                self.settle_reach(&change);
            }
        }
        failpoint::hit("recover.applied");
        self.write(&journal.step, 0);
        self.drop_claim();
    }

    /// What the journal says; None when nothing was under way, or when it says what no writer writes.
    fn noted_change(&self) -> Option<Change> {
        let journal = &self.stripe.journal;
        let read = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        let step = match read(&journal.step) {
            1 => Step::Insert,
            2 => Step::Replace,
            3 => Step::Remove,
            _ => return None,
        };
        Some(Change {
            step,
            position: Position::unpack(read(&journal.position), self.map.layout.groups)?,
            before: Word(read(&journal.before)),
            after: Word(read(&journal.after)),
            collects: false,
            claim: Claim::unpack(read(&journal.claim)),
        })
    }

    /// Before an insert is published: searches of its home must come as far as its group.
    fn raise_reach(&self, change: &Change) {
        let home = self.map.home_of(change.position, change.after);
        let needed = change.after.distance() + 1;
        if self.map.reach(home) < needed {
            // SYNC(reach): pairs with the acquire in Map::reach.
            self.write(&self.map.groups[home as usize].reach, needed);
        }
    }

    /// Makes the reach of a changed entry's home exact again: as far as its furthest live key.
    fn settle_reach(&self, change: &Change) {
        let word = if change.step == Step::Insert { change.after } else { change.before };
        let home = self.map.home_of(change.position, word);
        let reach = self.map.reach(home);
        if word.distance() + 1 < reach {
            return;
        }
        let has_key = |distance: &u64| {
            let group = self.map.group_after(home, *distance);
            self.map.groups[group as usize].words.iter().any(|cell| {
                // SYNC(publish): other stripes' words, in passing.
                let word = Word(cell.load(Ordering::Acquire));
                word.is_live() && word.distance() == *distance
            })
        };
        let settled = (0..reach).rev().find(has_key).map_or(0, |furthest| furthest + 1);
        // SYNC(reach): as above. A search that still uses the longer reach finds nothing there.
        self.write(&self.map.groups[home as usize].reach, settled);
    }

    /// Removes an entry if it is still the one seen and has lapsed; whether it was.
    pub(super) fn collect(&self, position: Position, word: Word) -> Result<bool> {
        // SYNC(publish): only we may change it now.
        let same = self.map.cell(position).load(Ordering::Acquire) == word.0;
        let lapsed = |buffer: super::buffer::Buffer<'_>| self.map.has_lapsed(buffer.deadline());
        if !same || !self.map.buffers.get(word.buffer()).is_some_and(lapsed) {
            return Ok(false);
        }
        // Seen before it is given back, which anybody may take up at once.
        let ours = self.map.owner(word.buffer()) == Some(self.owner_byte());
        let change =
            Change { step: Step::Remove, position, before: word, after: Word::EMPTY, collects: true, claim: None };
        self.publish(&change);
        if ours {
            return Ok(true);
        }
        Err(Error::Corrupt("the map is damaged: an entry's buffer belongs to somebody else".into()))
    }
}
