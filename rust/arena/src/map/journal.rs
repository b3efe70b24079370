//! A writer's turn: the stripe's lock, and a journal that lets anybody finish what a dead writer began.
//!
//! Every change is one index word. Before it is published, the journal says which word, what it was and (for an
//! insert) will be, and what the stripe's statistics are afterwards, if they change; then the word changes; then
//! `finish` does the rest. Whoever next takes the lock of a dead writer looks at the word: if it changed, they call the
//! same `finish`; if not, nothing had happened. All that `finish` does can be done twice.
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
use crate::layout::{Stripe, StripeCounts};
use crate::lock::Guard;
use crate::sync::{AtomicU64, Ordering};

/// What a change does to an index word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub(super) enum Step {
    /// Empty to live. The claimed buffer becomes the spare.
    Insert = 1,
    /// Live to live in another buffer. The old buffer becomes the spare. No figure changes, and none is noted.
    Replace = 2,
    /// Live to empty. The buffer becomes a tombstone.
    Remove = 3,
    /// As `Replace`, but the entry before had lapsed, which is counted.
    ReplaceLapsed = 4,
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

/// A stripe's statistics.
#[derive(Clone, Copy)]
struct Counts {
    used: u64,
    tombstones: u64,
    expired: u64,
}

impl Counts {
    fn read(cells: &StripeCounts) -> Counts {
        let [used, tombstones, expired] =
            [&cells.used, &cells.tombstones, &cells.expired].map(|cell| cell.load(Ordering::Relaxed));
        Counts { used, tombstones, expired }
    }
}

/// The right to change a stripe's entries, until dropped.
pub(super) struct Turn<'a> {
    pub map: &'a Map,
    pub index: usize,
    pub stripe: &'a Stripe,
    guard: Guard<'a>,
}

impl Map {
    /// As `turn`, if nobody has the lock or died holding it, and no more is to be done first. None says nothing of it.
    #[inline(always)] // a turn in memory would be written and waited for on the way
    pub(super) fn turn_at_once(&self, index: usize) -> Option<Turn<'_>> {
        let stripe = self.stripes.get(index)?;
        let guard = self.arena.lock_at_once(&stripe.lock)?;
        Some(Turn { map: self, index, stripe, guard })
    }

    /// Takes a stripe's lock, and repairs what a dead holder left.
    pub(super) fn turn(&self, index: usize) -> Result<Turn<'_>> {
        let stripe = &self.stripes[index];
        match self.arena.lock(&stripe.lock) {
            Ok(guard) => Ok(Turn { map: self, index, stripe, guard }.begin()),
            Err(error) => Err(self.no_turn(error)),
        }
    }

    #[cold]
    fn no_turn(&self, error: Error) -> Error {
        if !matches!(error, Error::Waiting(_)) {
            self.count_busy();
        }
        error
    }

    /// As `turn`, but only if nobody has the lock.
    pub(super) fn try_turn(&self, index: usize) -> Option<Turn<'_>> {
        let stripe = &self.stripes[index];
        self.arena.try_lock(&stripe.lock).map(|guard| Turn { map: self, index, stripe, guard }.begin())
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
    /// Repairs what a dead holder left.
    fn begin(self) -> Self {
        if self.guard.owner_died {
            self.recover();
            self.guard.repaired();
        }
        self
    }

    /// A write that stays behind all earlier ones.
    #[inline]
    pub(super) fn write(&self, cell: &AtomicU64, value: u64) {
        // SYNC(journal): pairs with the acquire of the lock by whoever repairs after us.
        cell.store(value, Ordering::Release);
    }

    /// Carries a change out. False when somebody else filled the empty word first; then nothing has happened.
    #[inline(always)] // where the step is known, little is left of it
    pub(super) fn publish(&self, change: &Change) -> bool {
        let counts = self.counts_after(change);
        let journal = &self.stripe.journal;
        self.write(&journal.position, change.position.pack());
        self.write(&journal.before, change.before.0);
        if change.step == Step::Insert {
            self.write(&journal.after, change.after.0);
        }
        if let Some(counts) = counts {
            self.write_counts(&self.stripe.counts_after, counts);
        }
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

    /// The stripe's statistics once the change is done; None where none of them changes.
    #[inline(always)]
    fn counts_after(&self, change: &Change) -> Option<Counts> {
        if change.step == Step::Replace {
            return None;
        }
        let Counts { used, tombstones, expired } = Counts::read(&self.stripe.counts);
        let (used, tombstones) = match change.step {
            Step::Insert => {
                let reused = change.claim.is_some_and(|claim| claim.was_tombstone);
                (used.wrapping_add(1), tombstones.wrapping_sub(u64::from(reused)))
            }
            Step::Replace | Step::ReplaceLapsed => (used, tombstones),
            Step::Remove => (used.wrapping_sub(1), tombstones.wrapping_add(1)),
        };
        Some(Counts { used, tombstones, expired: expired.wrapping_add(u64::from(change.collects)) })
    }

    fn write_counts(&self, cells: &StripeCounts, counts: Counts) {
        self.write(&cells.used, counts.used);
        self.write(&cells.tombstones, counts.tombstones);
        self.write(&cells.expired, counts.expired);
    }

    /// All that follows from a published word. Doing it twice does it once.
    #[inline(always)]
    fn finish(&self, change: &Change, counts: Option<Counts>) {
        match (change.step, change.claim) {
            // SYNC(journal): as write().
            (Step::Insert, Some(claim)) => self.stripe.spare.store(claim.buffer, Ordering::Release),
            (Step::Insert, None) => {}
            (Step::Replace | Step::ReplaceLapsed, _) => {
                self.stripe.spare.store(change.before.buffer(), Ordering::Release)
            }
            (Step::Remove, _) => {
                self.settle_reach(change);
                self.give_back(change.before.buffer());
            }
        }
        if let Some(counts) = counts {
            self.write_counts(&self.stripe.counts, counts);
        }
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
        if let Some(change) = self.noted_change() {
            // SYNC(publish): the dead writer's, or that of another stripe which took the empty word.
            let word = Word(self.map.cell(change.position).load(Ordering::Acquire));
            let published = if change.step == Step::Insert { word == change.after } else { word != change.before };
            if published {
                let counts = (change.step != Step::Replace).then(|| Counts::read(&self.stripe.counts_after));
                self.finish(&change, counts);
            } else {
                self.settle_reach(&change);
            }
        }
        failpoint::hit("recover.applied");
        self.write(&self.stripe.journal.step, 0);
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
            4 => Step::ReplaceLapsed,
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
