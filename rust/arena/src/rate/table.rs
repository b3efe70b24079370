//! The buckets: a table of 16-byte slots, each a key's hash and its arrival, changed together or not at all.
//!
//! A key lives in one of the 64 slots of its group. It is looked for from a line of its own on, round the group, and
//! begins in the first free slot on that way: an empty one, or one whose bucket has refilled. It is there at most
//! once, although nobody takes a lock:
//!
//! | a slot that is | is changed by |
//! |---|---|
//! | empty | anybody, to a claim |
//! | a key's bucket | a check of that key; `reset`, `forget`; a claim, when refilled or evicted |
//! | a claim | who settles it; other claims |
//!
//! A claim becomes a bucket only by `settle`: look through the whole group after the claim was made, and yield to
//! a bucket of the same key, or to its claim in an earlier slot; remove its claim in a later one. Two processes
//! that begin the same key at once each made their claim before they looked, so the later look sees the other:
//! both cannot settle. As no two claims are equal, one that is still there has been there all along. A claim whose
//! maker died is settled by the next check of the key, or taken as free.

use super::gcra::{Decision, Gcra, Moment};
use super::slot::{Content, Format, EMPTY};
use crate::failpoint;
use crate::layout::{BucketGroup, Tally, GROUP_BUCKETS, LINE_BUCKETS};
use crate::sync::{fence, Ordering, Pair};

/// Lines of a group.
const LINES: usize = GROUP_BUCKETS / LINE_BUCKETS;

/// How often a check starts over when others change the slots it works on. Mostly, each failure is another check's
/// progress; but in a full group, keys that begin at once may take each other's claims. Past so many in a row the
/// request is allowed and counted in `contended`.
const TRIES: u32 = if cfg!(miri) { 100 } else { 100_000 };

/// How a check ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    Allowed,
    Denied,
    Contended,
}

/// A process's line of statistics, and which one it is.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub number: u64,
    pub tally: &'a Tally,
}

impl Line<'_> {
    /// Counts a check, and says whether its request may pass.
    #[inline]
    pub(super) fn count(self, outcome: Outcome) -> bool {
        // Relaxed: statistics.
        if outcome == Outcome::Denied {
            self.tally.denied.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        if outcome == Outcome::Contended {
            self.tally.contended.fetch_add(1, Ordering::Relaxed);
        }
        self.tally.allowed.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// Adds so many, or takes them back when negated.
    fn count_evicted(self, buckets: u64) {
        if buckets != 0 {
            // Relaxed: a statistic.
            self.tally.evicted.fetch_add(buckets, Ordering::Relaxed);
        }
    }

    /// A number that no other claim in the table has: lines count for themselves.
    fn serial(&self) -> u64 {
        const COUNT_BITS: u32 = 50;
        // Relaxed: only that nobody draws it twice matters.
        let count = self.tally.claims.fetch_add(1, Ordering::Relaxed);
        self.number << COUNT_BITS | count & ((1 << COUNT_BITS) - 1)
    }
}

/// The group of one key.
#[derive(Clone, Copy)]
pub(super) struct Home<'a> {
    group: &'a [Pair; GROUP_BUCKETS],
    format: Format,
    hash: u64,
}

/// The clock of whoever asks: rough readings, and exact ones.
pub(super) trait Time {
    /// At or before now, by less than [`MARGIN_NS`](crate::clock::MARGIN_NS).
    fn rough_ns(&self) -> u64;
    fn exact_ns(&self) -> u64;
}

/// The key's bucket as it was seen.
#[derive(Clone, Copy)]
pub(super) struct Bucket {
    slot: usize,
    /// Both words.
    seen: (u64, u64),
    pub arrival: u128,
}

enum Lookup {
    Bucket(Bucket),
    /// No bucket, but a claim.
    Claim(usize),
    Absent,
}

impl<'a> Home<'a> {
    /// In a table of the format's size.
    #[inline(always)]
    pub(super) fn new(table: &'a [BucketGroup], format: Format, hash: u64) -> Home<'a> {
        Home { group: &table[format.group_of(hash)].slots, format, hash }
    }

    /// The first slot of each line of the group, in the order in which this key looks at them.
    #[inline]
    fn lines(&self) -> impl Iterator<Item = usize> {
        // From the other end of the hash than the group.
        let start = (self.hash >> 60) as usize;
        (0..LINES).map(move |step| (start + step) % LINES * LINE_BUCKETS)
    }

    /// Which slots of a line hold something of this key, a bit for each. They are looked at all at once: which one it
    /// is differs from key to key, and a processor that has to guess guesses wrong.
    #[inline]
    fn own_in(&self, line: usize, order: Ordering) -> u32 {
        let slots = &self.group[line..line + LINE_BUCKETS];
        let is_own = |slot: &Pair| u32::from(self.format.is_of(slot.first(order), self.hash));
        slots.iter().enumerate().fold(0, |own, (index, slot)| own | is_own(slot) << index)
    }

    /// Goes through the slots that hold something of this key, in that order, until one of them gives a result.
    #[inline]
    fn find_own<R>(&self, order: Ordering, mut look: impl FnMut(usize) -> Option<R>) -> Option<R> {
        for line in self.lines() {
            let mut own = self.own_in(line, order);
            while own != 0 {
                let result = look(line + own.trailing_zeros() as usize);
                if result.is_some() {
                    return result;
                }
                own &= own - 1;
            }
        }
        None
    }

    /// The key's bucket if it is where it mostly is: in the first line, and alone there.
    #[inline]
    pub(super) fn glance(&self) -> Option<Bucket> {
        let line = self.lines().next()?;
        let own = self.own_in(line, Ordering::Relaxed);
        if own == 0 {
            return None;
        }
        let slot = line + own.trailing_zeros() as usize;
        // SYNC(bucket): pairs with the release half of change().
        let seen = self.group[slot].load(Ordering::Acquire);
        match self.format.content(seen) {
            Content::Bucket(arrival) if self.format.is_of(seen.0, self.hash) => Some(Bucket { slot, seen, arrival }),
            _ => None,
        }
    }

    /// Spends `cost` from the key's bucket if it can pay.
    #[inline(always)]
    pub(super) fn spend(&self, gcra: &Gcra, time: &impl Time, cost: u128, line: Line<'_>) -> Outcome {
        if let Some(bucket) = self.glance() {
            if let Some(outcome) = self.spend_from(bucket, gcra, time, cost) {
                return outcome;
            }
        }
        self.spend_with_care(gcra, time, cost, line)
    }

    /// Spends from a bucket that was just seen. None when somebody else has changed it.
    #[inline(always)]
    fn spend_from(&self, bucket: Bucket, gcra: &Gcra, time: &impl Time, cost: u128) -> Option<Outcome> {
        // The clock after the look-up: so no reading is older than the one with which the bucket was last spent from, and
        // what is left there is not withheld from a process that was held up in between.
        match gcra.decide_roughly(bucket.arrival, time.rough_ns(), cost) {
            Some(decision) => self.carry_out(decision, bucket),
            None => self.spend_exactly(bucket, gcra, time.exact_ns(), cost),
        }
    }

    /// The same by an exact reading of the clock.
    #[cold]
    #[inline(never)]
    fn spend_exactly(self, bucket: Bucket, gcra: &Gcra, clock_ns: u64, cost: u128) -> Option<Outcome> {
        self.carry_out(gcra.decide(bucket.arrival, gcra.moment(clock_ns), cost), bucket)
    }

    #[inline(always)]
    fn carry_out(&self, decision: Decision, bucket: Bucket) -> Option<Outcome> {
        let Decision::Allow(later) = decision else { return Some(Outcome::Denied) };
        if !self.change(bucket.slot, bucket.seen, self.format.bucket(self.hash, later)) {
            return None;
        }
        failpoint::hit("bucket.spent");
        Some(Outcome::Allowed)
    }

    /// The same, wherever the bucket is, whoever changes it, and whether there is one or not.
    #[cold]
    #[inline(never)]
    fn spend_with_care(self, gcra: &Gcra, time: &impl Time, cost: u128, line: Line<'_>) -> Outcome {
        let moment = || gcra.moment(time.exact_ns());
        for _ in 0..TRIES {
            match self.look_up() {
                Lookup::Bucket(bucket) => {
                    if let Some(outcome) = self.spend_from(bucket, gcra, time, cost) {
                        return outcome;
                    }
                }
                Lookup::Claim(slot) => {
                    if self.settle(slot, moment, cost) {
                        return Outcome::Allowed;
                    }
                }
                Lookup::Absent => {
                    if let Some(slot) = self.claim(moment(), line) {
                        if self.settle(slot, moment, cost) {
                            return Outcome::Allowed;
                        }
                    }
                }
            }
            std::hint::spin_loop();
        }
        Outcome::Contended
    }

    /// The arrival of the key's bucket; 0, which is a full bucket, when it has none. Writes nothing.
    #[inline]
    pub(super) fn arrival(&self) -> u128 {
        self.glance().map_or_else(|| self.arrival_anywhere(), |bucket| bucket.arrival)
    }

    #[cold]
    #[inline(never)]
    fn arrival_anywhere(self) -> u128 {
        match self.look_up() {
            Lookup::Bucket(bucket) => bucket.arrival,
            Lookup::Claim(_) | Lookup::Absent => 0,
        }
    }

    /// Replaces the key's bucket, whatever its arrival. False when it has none.
    fn replace(&self, new: (u64, u64)) -> bool {
        for _ in 0..TRIES {
            let Lookup::Bucket(Bucket { slot, seen, .. }) = self.look_up() else { return false };
            if self.change(slot, seen, new) {
                return true;
            }
        }
        false
    }

    /// Fills the key's bucket.
    pub(super) fn refill(&self) -> bool {
        self.replace(self.format.bucket(self.hash, 0))
    }

    /// Gives the key's slot back.
    pub(super) fn forget(&self) -> bool {
        self.replace(EMPTY)
    }

    /// Looks through the whole group. Both words of a slot that matters come from one 16-byte load.
    #[inline]
    fn look_up(&self) -> Lookup {
        let mut claim = None;
        let bucket = self.find_own(Ordering::Relaxed, |slot| {
            // SYNC(bucket): pairs with the release half of change().
            let seen = self.group[slot].load(Ordering::Acquire);
            match self.format.content(seen) {
                _ if !self.format.is_of(seen.0, self.hash) => None,
                Content::Bucket(arrival) => Some(Lookup::Bucket(Bucket { slot, seen, arrival })),
                Content::Claim => {
                    claim = claim.or(Some(slot));
                    None
                }
                Content::Empty => None,
            }
        });
        bucket.unwrap_or_else(|| claim.map_or(Lookup::Absent, Lookup::Claim))
    }

    /// Makes a claim for a key that is not there: in the first slot that is empty or whose bucket has refilled, else
    /// in one whose claim was left, else in place of the bucket that is nearest to full. None when somebody else began
    /// the key or changed the slot first.
    fn claim(&self, now: Moment, line: Line<'_>) -> Option<usize> {
        let (slot, seen) = self.cheapest(now)?;
        // Counted beforehand: who dies in between has told of an eviction too many, rather than of one too few.
        let evicts = matches!(self.format.content(seen), Content::Bucket(arrival) if arrival > now.floor);
        line.count_evicted(u64::from(evicts));
        // SYNC(settle): the claim, before the fence in settle().
        if self.change(slot, seen, Format::claim(self.hash, line.serial())) {
            failpoint::hit("bucket.claimed");
            return Some(slot);
        }
        line.count_evicted(u64::from(evicts).wrapping_neg());
        None
    }

    /// The slot that is given up with the least loss, and what it holds; None when the key is there after all.
    fn cheapest(&self, now: Moment) -> Option<(usize, (u64, u64))> {
        let (mut best, mut least) = (None, (u64::MAX, 0));
        for line in self.lines() {
            for slot in line..line + LINE_BUCKETS {
                // The words may belong to different moments: then the claim fails. SYNC(bucket): the second before the
                // first, so that the key's own slot is never taken for the one that another key had there before.
                let second = self.group[slot].second(Ordering::Acquire);
                let first = self.group[slot].first(Ordering::Relaxed);
                let loss = self.format.loss(second, now.floor);
                if loss > 0 && self.format.is_of(first, self.hash) {
                    return None;
                }
                if (loss, self.format.low_bits(first)) < least {
                    best = Some((slot, (first, second)));
                    least = (loss, self.format.low_bits(first));
                }
                if loss == 0 {
                    return best;
                }
            }
        }
        best
    }

    /// Turns a claim into a bucket that has paid `cost`, if the key has no other. False: look again.
    fn settle(&self, mine: usize, moment: impl Fn() -> Moment, cost: u128) -> bool {
        // SYNC(bucket): whoever made the claim did so before the fence below.
        let claim = self.group[mine].load(Ordering::Acquire);
        if !self.is_claim(claim) {
            return false;
        }
        // SYNC(settle): pairs with itself in every other process. Each finds its claim there, passes this fence, and
        // only then looks: of two, at least one sees the other's claim.
        fence(Ordering::SeqCst);
        let rival = self.find_own(Ordering::Acquire, |slot| {
            // SYNC(bucket): pairs with the release half of change().
            let other = self.group[slot].load(Ordering::Acquire);
            if slot == mine || !self.format.is_of(other.0, self.hash) || other.1 == EMPTY.1 {
                return None;
            }
            if !self.is_claim(other) || slot < mine {
                self.change(mine, claim, EMPTY);
                return Some(slot);
            }
            (!self.change(slot, other, EMPTY)).then_some(slot)
        });
        if rival.is_some() {
            return false;
        }
        failpoint::hit("bucket.settled");
        // A new bucket is full, and pays any cost there is. It is full from now, read after the look: a bucket that the
        // key had before, and may have emptied, was refilled when its slot was taken, and not at any earlier reading.
        self.change(mine, claim, self.format.bucket(self.hash, moment().ceiling + cost))
    }

    fn is_claim(&self, seen: (u64, u64)) -> bool {
        self.format.is_of(seen.0, self.hash) && self.format.content(seen) == Content::Claim
    }

    #[inline]
    fn change(&self, slot: usize, old: (u64, u64), new: (u64, u64)) -> bool {
        // SYNC(bucket): acquires and releases.
        self.group[slot].compare_exchange(old, new).is_ok()
    }
}

/// Buckets that are not full: what `keys` counts.
pub(super) fn count_in_use(table: &[BucketGroup], format: Format, now: Moment) -> u64 {
    // Relaxed: a figure; each slot is seen whole.
    let in_use = |pair: &&Pair| match format.content(pair.load(Ordering::Relaxed)) {
        Content::Bucket(arrival) => arrival > now.floor,
        Content::Empty | Content::Claim => false,
    };
    table.iter().flat_map(|group| &group.slots).filter(in_use).count() as u64
}

#[cfg(test)]
mod tests;
