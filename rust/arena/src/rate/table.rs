//! The buckets: a table of 16-byte slots, each a key's hash and its arrival, changed together or not at all.
//!
//! A key lives in one of the 16 slots of its home group, four cache lines. It is there at most once, although
//! nobody takes a lock:
//!
//! | slot | meaning | who changes it |
//! |---|---|---|
//! | 0, any | empty | anybody, to a claim |
//! | hash, arrival | the key's bucket | a check of that key; `reset`, `forget`; a claim, when refilled or evicted |
//! | hash, arrival with bit 63 | a claim: somebody is about to begin a bucket for that key | who settles it; other claims |
//!
//! A claim becomes a bucket only by `settle`: look through the whole group after the claim was made, and yield to
//! a bucket of the same key, or to its claim in an earlier slot; remove its claim in a later one. Two processes
//! that begin the same key at once each made their claim before they looked, so the later look sees the other:
//! both cannot settle. A claim whose maker died is settled by the next check of the key, or taken as free.

use super::gcra::{Decision, Gcra, Moment};
use crate::failpoint;
use crate::layout::Tally;
use crate::sync::{fence, Ordering, Pair};

/// Slots in a home group.
pub(super) const GROUP: usize = 16;
const CLAIM: u64 = 1 << 63;
const EMPTY: (u64, u64) = (0, 0);

/// How often a check starts over when others change the slots it works on. Each failure is another check's
/// success, so this many in a row do not happen; past it the request is allowed and counted in `contended`.
const TRIES: u32 = 100_000;

/// How a check ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    Allowed,
    Denied,
    Contended,
}

/// The home group of one key.
#[derive(Clone, Copy)]
pub(super) struct Home<'a> {
    slots: &'a [Pair],
    /// Never 0.
    hash: u64,
}

enum Lookup {
    /// The key's bucket: slot and arrival.
    Bucket(usize, u64),
    /// No bucket, but a claim.
    Claim(usize),
    Absent,
}

impl<'a> Home<'a> {
    pub(super) fn new(all: &'a [Pair], hash: u64) -> Home<'a> {
        // 0 marks an empty slot.
        let hash = hash.max(1);
        let groups = all.len() / GROUP;
        let start = (hash as usize & (groups - 1)) * GROUP;
        Home { slots: &all[start..start + GROUP], hash }
    }

    /// Spends `cost` from the key's bucket if it can pay.
    pub(super) fn spend(&self, gcra: &Gcra, clock: impl Fn() -> u64, cost: u64, tally: &Tally) -> Outcome {
        for _ in 0..TRIES {
            let now = gcra.moment(clock());
            match self.look_up() {
                Lookup::Bucket(slot, arrival) => match gcra.decide(arrival, now, cost) {
                    Decision::Deny => return Outcome::Denied,
                    Decision::Allow(later) => {
                        if self.change(slot, (self.hash, arrival), (self.hash, later)) {
                            failpoint::hit("bucket.spent");
                            return Outcome::Allowed;
                        }
                    }
                },
                Lookup::Claim(slot) => {
                    if self.settle(slot, now, cost) {
                        return Outcome::Allowed;
                    }
                }
                Lookup::Absent => {
                    if let Some(slot) = self.claim(now, tally) {
                        failpoint::hit("bucket.claimed");
                        if self.settle(slot, now, cost) {
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
    pub(super) fn arrival(&self) -> u64 {
        match self.look_up() {
            Lookup::Bucket(_, arrival) => arrival,
            Lookup::Claim(_) | Lookup::Absent => 0,
        }
    }

    /// Replaces the key's bucket, whatever its arrival. False when it has none.
    fn replace(&self, new: (u64, u64)) -> bool {
        for _ in 0..TRIES {
            let Lookup::Bucket(slot, arrival) = self.look_up() else { return false };
            if self.change(slot, (self.hash, arrival), new) {
                return true;
            }
        }
        false
    }

    /// Fills the key's bucket.
    pub(super) fn refill(&self) -> bool {
        self.replace((self.hash, 0))
    }

    /// Gives the key's slot back.
    pub(super) fn forget(&self) -> bool {
        self.replace(EMPTY)
    }

    /// Looks through the whole group. Both halves of a slot that matters come from one 16-byte load.
    #[inline]
    fn look_up(&self) -> Lookup {
        let mut claim = None;
        for (slot, pair) in self.slots.iter().enumerate() {
            if pair.first(Ordering::Relaxed) != self.hash {
                continue;
            }
            // SYNC(bucket): pairs with the release half of change().
            match pair.load(Ordering::Acquire) {
                (hash, arrival) if hash == self.hash && arrival & CLAIM == 0 => return Lookup::Bucket(slot, arrival),
                (hash, _) if hash == self.hash => claim = claim.or(Some(slot)),
                _ => {}
            }
        }
        claim.map_or(Lookup::Absent, Lookup::Claim)
    }

    /// Makes a claim for a key that is not there: in an empty slot, else in one whose bucket has refilled or whose
    /// claim was left, else in place of the bucket that is nearest to full. None when somebody changed it first.
    fn claim(&self, now: Moment, tally: &Tally) -> Option<usize> {
        let mut best: Option<(usize, (u64, u64))> = None;
        for (slot, pair) in self.slots.iter().enumerate() {
            let seen = pair.load(Ordering::Acquire);
            if seen.0 == 0 {
                best = Some((slot, seen));
                break;
            }
            // A claim has no arrival to lose, but its maker is probably at work: the last of the free ones.
            let worth = |pair: (u64, u64)| match pair.1 & !CLAIM {
                arrival if arrival <= now.floor => u64::from(pair.1 & CLAIM != 0),
                arrival => arrival,
            };
            if best.map_or(true, |(_, other)| worth(seen) < worth(other)) {
                best = Some((slot, seen));
            }
        }
        let (slot, seen) = best?;
        // SYNC(settle): the claim, before the fence in settle().
        if !self.change(slot, seen, (self.hash, now.floor | CLAIM)) {
            return None;
        }
        if seen.0 != 0 && seen.1 & CLAIM == 0 && seen.1 > now.floor {
            // Relaxed: a statistic.
            tally.evicted.fetch_add(1, Ordering::Relaxed);
        }
        Some(slot)
    }

    /// Turns a claim into a bucket that has paid `cost`, if the key has no other. False: look again.
    fn settle(&self, mine: usize, now: Moment, cost: u64) -> bool {
        // SYNC(settle): pairs with itself in every other process. Each claims, passes this fence, and only then
        // looks: of two, at least one sees the other's claim.
        fence(Ordering::SeqCst);
        let (hash, claimed) = self.slots[mine].load(Ordering::Acquire);
        if hash != self.hash || claimed & CLAIM == 0 {
            return false;
        }
        for (slot, pair) in self.slots.iter().enumerate() {
            if slot == mine || pair.first(Ordering::Acquire) != self.hash {
                continue;
            }
            let other = pair.load(Ordering::Acquire);
            if other.0 != self.hash {
                continue;
            }
            if other.1 & CLAIM == 0 || slot < mine {
                self.change(mine, (hash, claimed), EMPTY);
                return false;
            }
            if !self.change(slot, other, EMPTY) {
                return false;
            }
        }
        failpoint::hit("bucket.settled");
        // A new bucket is full, and pays any cost there is.
        self.change(mine, (hash, claimed), (hash, now.ceiling + cost))
    }

    #[inline]
    fn change(&self, slot: usize, old: (u64, u64), new: (u64, u64)) -> bool {
        // SYNC(bucket): acquires and releases.
        self.slots[slot].compare_exchange(old, new).is_ok()
    }
}

/// Buckets that are not full: what `keys` counts.
pub(super) fn count_in_use(all: &[Pair], now: Moment) -> u64 {
    let in_use = |pair: &&Pair| {
        let (hash, arrival) = pair.load(Ordering::Relaxed);
        hash != 0 && arrival & CLAIM == 0 && arrival > now.floor
    };
    all.iter().filter(in_use).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots() -> Vec<Pair> {
        // SAFETY: a Pair is two atomic words, for which zeros are a value.
        (0..GROUP).map(|_| unsafe { std::mem::zeroed() }).collect()
    }

    fn tally() -> Tally {
        // SAFETY: as above.
        unsafe { std::mem::zeroed() }
    }

    fn copies(all: &[Pair], hash: u64) -> usize {
        all.iter().filter(|pair| pair.load(Ordering::Relaxed).0 == hash).count()
    }

    #[test]
    fn a_key_with_a_bucket_further_along_never_gets_a_second_one() {
        let (all, tally, gcra) = (slots(), tally(), Gcra::new(2.0, 1.0));
        let one = gcra.cost(1.0).unwrap();
        for hash in 1..=16 {
            assert_eq!(Home { slots: &all, hash }.spend(&gcra, || 0, one, &tally), Outcome::Allowed);
        }
        // The first fifteen have refilled; the sixteenth asks again and must find its own.
        let home = Home { slots: &all, hash: 16 };
        home.spend(&gcra, || 0, one, &tally);
        let later = 999_999_999;
        assert_eq!(home.spend(&gcra, || later, one, &tally), Outcome::Allowed);
        assert_eq!(home.spend(&gcra, || later, one, &tally), Outcome::Denied);
        assert_eq!(copies(&all, 16), 1);
        assert_eq!(tally.evicted.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_refilled_bucket_is_reused_before_a_live_one_is_evicted_and_then_the_fullest() {
        let (all, tally, gcra) = (slots(), tally(), Gcra::new(4.0, 4e-6));
        let one = gcra.cost(1.0).unwrap();
        for hash in 1..=16u64 {
            let cost = if hash == 7 { one } else { 3 * one };
            Home { slots: &all, hash }.spend(&gcra, || 0, cost, &tally);
        }
        // After 1,000 ns only the seventh is full.
        Home { slots: &all, hash: 100 }.spend(&gcra, || 1_000, 4 * one, &tally);
        assert_eq!((copies(&all, 7), copies(&all, 100), tally.evicted.load(Ordering::Relaxed)), (0, 1, 0));
        // Now nobody is full; the fresh spender is the emptiest, so somebody else goes.
        Home { slots: &all, hash: 101 }.spend(&gcra, || 1_000, one, &tally);
        assert_eq!((copies(&all, 100), copies(&all, 101), tally.evicted.load(Ordering::Relaxed)), (1, 1, 1));
    }

    #[test]
    fn claims_left_by_the_dead_are_settled_and_yield_to_buckets() {
        let (tally, gcra) = (tally(), Gcra::new(1.0, 1e-6));
        let one = gcra.cost(1.0).unwrap();
        // A claim alone becomes the bucket.
        let all = slots();
        let home = Home { slots: &all, hash: 5 };
        assert!(home.change(9, EMPTY, (5, CLAIM | 3)));
        assert_eq!(home.arrival(), 0);
        assert_eq!(home.spend(&gcra, || 10, one, &tally), Outcome::Allowed);
        assert_eq!((copies(&all, 5), all[9].load(Ordering::Relaxed).1 & CLAIM), (1, 0));
        // A claim beside a bucket never counts, on whichever side it lies.
        for slot in [3, 12] {
            assert!(home.change(slot, EMPTY, (5, CLAIM | 3)));
            assert!(!home.settle(slot, gcra.moment(10), one));
            assert_eq!(copies(&all, 5), 1);
        }
        // Of two claims the earlier slot wins.
        let all = slots();
        let home = Home { slots: &all, hash: 5 };
        assert!(home.change(4, EMPTY, (5, CLAIM)) && home.change(11, EMPTY, (5, CLAIM)));
        assert!(!home.settle(11, gcra.moment(10), one));
        assert!(home.settle(4, gcra.moment(10), one));
        assert_eq!(copies(&all, 5), 1);
    }

    #[test]
    fn refill_and_forget_touch_only_their_own_key() {
        let (all, tally, gcra) = (slots(), tally(), Gcra::new(1.0, 1e-6));
        let one = gcra.cost(1.0).unwrap();
        let (a, b) = (Home { slots: &all, hash: 1 }, Home { slots: &all, hash: 2 });
        for home in [&a, &b] {
            home.spend(&gcra, || 0, one, &tally);
        }
        assert!(a.refill() && a.spend(&gcra, || 0, one, &tally) == Outcome::Allowed);
        assert!(a.forget() && !a.forget() && !a.refill());
        assert_eq!(b.spend(&gcra, || 0, one, &tally), Outcome::Denied);
        assert_eq!(count_in_use(&all, gcra.moment(0)), 1);
    }
}
