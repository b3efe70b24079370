use super::*;
use crate::layout::GROUP_BUCKETS;

/// A table of a single group, and a line of statistics.
struct Fixture {
    table: [BucketGroup; 1],
    tally: Tally,
}

const SLOTS: u64 = GROUP_BUCKETS as u64;

/// A clock whose rough readings are exact.
impl<F: Fn() -> u64> Time for F {
    fn rough_ns(&self) -> u64 {
        self()
    }

    fn exact_ns(&self) -> u64 {
        self()
    }
}

impl Fixture {
    fn new() -> Fixture {
        // SAFETY: both are atomic words, for which zeros are a value.
        unsafe { std::mem::zeroed() }
    }

    fn home(&self, hash: u64) -> Home<'_> {
        Home::new(&self.table, Format::of_table(SLOTS), hash)
    }

    fn line(&self) -> Line<'_> {
        Line { number: 3, tally: &self.tally }
    }

    fn spend(&self, gcra: &Gcra, hash: u64, clock: u64, requests: f64) -> Outcome {
        self.home(hash).spend(gcra, &|| clock, gcra.cost(requests).unwrap(), self.line())
    }

    fn slots(&self) -> Vec<(u64, u64)> {
        self.table[0].slots.iter().map(|pair| pair.load(Ordering::Relaxed)).collect()
    }

    /// How often a key is there, as a bucket or a claim.
    fn copies(&self, hash: u64) -> usize {
        self.slots().iter().filter(|slot| slot.0 == hash && slot.1 != 0).count()
    }

    fn evicted(&self) -> u64 {
        self.tally.evicted.load(Ordering::Relaxed)
    }
}

#[test]
fn a_key_with_a_bucket_further_along_never_gets_a_second_one() {
    let (fixture, gcra) = (Fixture::new(), Gcra::new(2.0, 1.0, 0));
    // All begin to look in the first line, so the last one lies as far from it as can be.
    for hash in 1..=SLOTS {
        assert_eq!(fixture.spend(&gcra, hash, 0, 1.0), Outcome::Allowed);
    }
    // All but the last have refilled; it asks again and must find its own.
    fixture.spend(&gcra, SLOTS, 0, 1.0);
    let later = 999_999_999;
    assert_eq!(fixture.spend(&gcra, SLOTS, later, 1.0), Outcome::Allowed);
    assert_eq!(fixture.spend(&gcra, SLOTS, later, 1.0), Outcome::Denied);
    assert_eq!((fixture.copies(SLOTS), fixture.evicted()), (1, 0));
}

#[test]
fn a_refilled_bucket_is_reused_before_a_live_one_is_evicted_and_then_the_fullest() {
    let (fixture, gcra) = (Fixture::new(), Gcra::new(4.0, 4e-6, 0));
    for hash in 1..=SLOTS {
        fixture.spend(&gcra, hash, 0, if hash == 50 { 1.0 } else { 3.0 });
    }
    // After 1,000 ns only the fiftieth is full.
    fixture.spend(&gcra, 100, 1_000, 4.0);
    assert_eq!((fixture.copies(50), fixture.copies(100), fixture.evicted()), (0, 1, 0));
    // Now nobody is full; the fresh spender is the emptiest, so somebody else goes.
    fixture.spend(&gcra, 101, 1_000, 1.0);
    assert_eq!((fixture.copies(100), fixture.copies(101), fixture.evicted()), (1, 1, 1));
}

#[test]
fn of_buckets_that_only_low_bits_tell_apart_the_least_spent_gives_way() {
    let (fixture, format) = (Fixture::new(), Format::of_table(2 * SLOTS));
    let home = |number: u64| Home { group: &fixture.table[0].slots, format, hash: number << 1 };
    for number in 1..=SLOTS {
        let bucket = format.bucket(number << 1, if number == 50 { 2000 } else { 2001 });
        assert!(home(number).change(number as usize - 1, EMPTY, bucket));
    }
    let (slot, _) = home(100).cheapest(Moment { floor: 0, ceiling: 0 }).unwrap();
    assert_eq!(slot, 49);
}

#[test]
fn a_bucket_begins_no_part_of_a_unit_early() {
    let (fixture, gcra) = (Fixture::new(), Gcra::new(999_983.0, 60.0, 0));
    let clock = 1_000_000_001;
    let now = gcra.moment(clock);
    assert_ne!(now.floor, now.ceiling, "a policy that is rounded");
    fixture.spend(&gcra, 5, clock, 1.0);
    assert_eq!(fixture.home(5).arrival(), now.ceiling + gcra.cost(1.0).unwrap());
}

#[test]
fn a_table_of_one_group_holds_as_many_keys_as_slots() {
    let (fixture, gcra) = (Fixture::new(), Gcra::new(1.0, 1.0, 0));
    let keys: Vec<u64> = (0..SLOTS).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    for round in [Outcome::Allowed, Outcome::Denied] {
        assert!(keys.iter().all(|hash| fixture.spend(&gcra, *hash, 0, 1.0) == round));
    }
    let used = count_in_use(&fixture.table, Format::of_table(SLOTS), gcra.moment(0));
    assert_eq!((used, fixture.evicted()), (SLOTS, 0));
}

#[test]
fn claims_left_by_the_dead_are_settled_and_yield_to_buckets() {
    let gcra = Gcra::new(1.0, 1e-6, 0);
    let one = gcra.cost(1.0).unwrap();
    // A claim alone becomes the bucket.
    let fixture = Fixture::new();
    let home = fixture.home(5);
    assert!(home.change(9, EMPTY, Format::claim(5, 1)));
    assert_eq!(home.arrival(), 0);
    assert_eq!(fixture.spend(&gcra, 5, 10, 1.0), Outcome::Allowed);
    assert_eq!((fixture.copies(5), home.arrival()), (1, gcra.moment(10).ceiling + one));
    // A claim beside a bucket never counts, on whichever side it lies.
    for slot in [3, 12] {
        assert!(home.change(slot, EMPTY, Format::claim(5, 2)));
        assert!(!home.settle(slot, || gcra.moment(10), one));
        assert_eq!(fixture.copies(5), 1);
    }
    // Of two claims the earlier slot wins.
    let fixture = Fixture::new();
    let home = fixture.home(5);
    assert!(home.change(4, EMPTY, Format::claim(5, 3)) && home.change(11, EMPTY, Format::claim(5, 4)));
    assert!(!home.settle(11, || gcra.moment(10), one));
    assert!(home.settle(4, || gcra.moment(10), one));
    assert_eq!(fixture.copies(5), 1);
}

#[test]
fn a_check_that_was_slow_does_not_begin_its_key_in_the_past() {
    const WINDOW: u64 = 1_000;
    let (fixture, gcra) = (Fixture::new(), Gcra::new(2.0, 1e-6, 0));
    let allowed = |clock| (0..3).take_while(|_| fixture.spend(&gcra, 1, clock, 1.0) == Outcome::Allowed).count();
    // The check has found nothing and has read 0. Before it goes on, its key gets its whole limit from others, the
    // bucket refills, and another key takes the slot.
    let reads = std::cell::Cell::new(0);
    let clock = || {
        reads.set(reads.get() + 1);
        if reads.get() > 1 {
            return WINDOW + 1;
        }
        assert_eq!(allowed(0), 2);
        fixture.spend(&gcra, 2, WINDOW + 1, 1.0);
        assert_eq!(fixture.copies(1), 0);
        0
    };
    let outcome = fixture.home(1).spend(&gcra, &clock, gcra.cost(1.0).unwrap(), fixture.line());
    assert_eq!((outcome, fixture.evicted()), (Outcome::Allowed, 0));
    assert_eq!(1 + allowed(WINDOW + 1), 2, "at the later time");
}

#[test]
fn no_two_claims_are_equal() {
    let fixture = Fixture::new();
    let mut serials: Vec<u64> = (0..100).map(|_| fixture.line().serial()).collect();
    let other = Line { number: 4, tally: &Fixture::new().tally };
    serials.extend((0..100).map(|_| other.serial()));
    serials.sort_unstable();
    serials.dedup();
    assert_eq!(serials.len(), 200);
}

#[test]
fn refill_and_forget_touch_only_their_own_key() {
    let (fixture, gcra) = (Fixture::new(), Gcra::new(1.0, 1e-6, 0));
    for hash in [1, 2] {
        fixture.spend(&gcra, hash, 0, 1.0);
    }
    let home = fixture.home(1);
    assert!(home.refill() && fixture.spend(&gcra, 1, 0, 1.0) == Outcome::Allowed);
    assert!(home.refill() && home.forget() && !home.forget() && !home.refill());
    assert_eq!(fixture.spend(&gcra, 2, 0, 1.0), Outcome::Denied);
    assert_eq!(count_in_use(&fixture.table, Format::of_table(SLOTS), gcra.moment(0)), 1);
}

#[test]
fn a_check_that_others_always_beat_gives_up_and_is_allowed_and_counted() {
    let (fixture, gcra) = (Fixture::new(), Gcra::new(1.0, 1.0, 0));
    let tries = std::cell::Cell::new(0);
    // Somebody's claim for this key, which is in another slot each time it has been looked up.
    let hash = 5 | 1 << 60;
    let home_of_hash = fixture.home(hash);
    assert!(home_of_hash.change(0, EMPTY, Format::claim(hash, 0)));
    let clock = || {
        let number = tries.get();
        let (from, to) = if number % 2 == 0 { (0, 4) } else { (4, 0) };
        assert!(home_of_hash.change(from, Format::claim(hash, number), EMPTY));
        assert!(home_of_hash.change(to, EMPTY, Format::claim(hash, number + 1)));
        tries.set(number + 1);
        0
    };
    let outcome = home_of_hash.spend(&gcra, &clock, gcra.cost(1.0).unwrap(), fixture.line());
    assert_eq!((outcome, tries.get()), (Outcome::Contended, u64::from(TRIES)));
    assert!(fixture.line().count(outcome));
    let told = |cell: &crate::sync::AtomicU64| cell.load(Ordering::Relaxed);
    let tally = &fixture.tally;
    assert_eq!((told(&tally.allowed), told(&tally.denied), told(&tally.contended)), (1, 0, 1));
}

#[test]
fn a_check_that_was_held_up_while_another_spent_is_given_what_is_left() {
    let (fixture, gcra) = (Fixture::new(), Gcra::new(2.0, 60.0, 0));
    // Another process, with a newer reading, spends while this one reads the clock for the first time.
    let readings = std::cell::Cell::new(0);
    let clock = || {
        readings.set(readings.get() + 1);
        if readings.get() == 1 {
            assert_eq!(fixture.spend(&gcra, 7, 1_001, 1.0), Outcome::Allowed);
            return 1_000;
        }
        1_002
    };
    let outcome = fixture.home(7).spend(&gcra, &clock, gcra.cost(1.0).unwrap(), fixture.line());
    assert_eq!(outcome, Outcome::Allowed, "the second of two");
}
