//! A check while others change what it works on: take its slot, evict, reset or forget its key. The key has one bucket
//! or none, and what was paid is lost only to an eviction, a reset or a forget.

use models::rate_world::Slot::{Bucket, Empty, Left};
use models::rate_world::{count, Key, Slot, World, LIMIT, WINDOW};
use models::search::{bounded, process, Process, Search};

const KEY: Key = 5;
const OTHER: Key = 6;

/// The clock of a process that is a moment ahead of one whose clock shows 0.
const LATER: u64 = 2;

/// A bucket that was emptied at 0 was full before.
const REFILLED: u64 = WINDOW + 1;

fn spends(key: Key, clock: u64) -> Process<World, bool> {
    process(move |world: &World| world.spend(key, clock))
}

/// Two or three processes on such a table.
fn beside<const N: usize>(
    search: Search,
    slots: [Slot; 2],
    processes: [Process<World, bool>; N],
    judge: fn(&World, [bool; N]),
) {
    search.of(slots, processes, judge);
}

#[test]
fn two_keys_that_begin_in_the_same_slot() {
    beside(bounded(3), [Empty; 2], [spends(KEY, 0), spends(OTHER, 0)], |world, answers| {
        assert_eq!(count(answers), 2);
        assert_eq!([KEY, OTHER].map(|key| world.paid(key)), [Some(1); 2]);
        assert_eq!(world.evicted(), 0);
    });
}

#[test]
fn a_spend_against_a_takeover_of_the_bucket() {
    let processes = [spends(KEY, 0), spends(OTHER, LATER)];
    beside(bounded(3), [Bucket(KEY, LATER - 1), Empty], processes, |world, answers| {
        assert_eq!(count(answers), 2);
        assert_eq!([KEY, OTHER].map(|key| world.paid(key)), [Some(1); 2]);
        assert_eq!(1 + world.spend_rest(KEY, LATER), LIMIT);
        assert_eq!(world.evicted(), 0);
    });
}

#[test]
fn two_spends_on_one_bucket() {
    let processes = [spends(KEY, 0), spends(KEY, 0)];
    beside(bounded(3), [Bucket(KEY, 0), Empty], processes, |world, answers| {
        assert_eq!((count(answers), world.paid(KEY)), (2, Some(2)));
    });
}

#[test]
fn two_spends_against_a_takeover_of_the_bucket() {
    let processes = [spends(KEY, 0), spends(OTHER, LATER), spends(KEY, LATER)];
    let search = bounded(1).or_long(bounded(2));
    beside(search, [Bucket(KEY, LATER - 1), Empty], processes, |world, [first, other, second]| {
        let allowed = count([first, second]);
        assert!(other);
        assert_eq!((world.paid(KEY), world.paid(OTHER), world.evicted()), (Some(allowed), Some(1), 0));
        assert_eq!(allowed + world.spend_rest(KEY, LATER), LIMIT);
    });
}

/// Likewise behind the first line, where the key is not seen at once.
#[test]
fn a_spend_against_a_takeover_of_the_bucket_further_on() {
    let processes = [spends(KEY, 8), spends(OTHER, 2)];
    beside(bounded(3), [Bucket(13, 5), Bucket(KEY, 0)], processes, |world, answers| {
        assert_eq!(count(answers), 2);
        assert_eq!([KEY, OTHER].map(|key| world.paid(key)), [Some(1); 2]);
    });
}

/// While a check is under way another spends the key's limit at that clock reading, its bucket refills and is taken over;
/// then `others_do` what they do. From 0 to REFILLED the limit comes back once.
fn slow_check(search: Search, slots: [Slot; 2], clock: u64, others_do: impl Fn(&World) -> u64 + Send + Sync + 'static) {
    let slow = process(|world: &World| count([world.spend_now(KEY)]));
    let others = process(move |world: &World| {
        let spent = if world.spend_all(KEY, clock) { LIMIT } else { 0 };
        world.set_time(REFILLED + clock);
        assert!(world.spend_now(OTHER));
        spent + others_do(world)
    });
    search.of(slots, [slow, others], move |world, allowed| {
        let in_all = allowed[0] + allowed[1] + world.spend_rest(KEY, REFILLED + clock);
        assert!(in_all <= 2 * LIMIT, "{in_all} allowed in all");
    });
}

#[test]
fn a_check_that_was_slow_does_not_begin_its_key_in_the_past() {
    slow_check(bounded(2), [Empty; 2], 0, |_| 0);
}

/// It claims another slot than the key had meanwhile, which is no longer there when it looks for a rival.
#[test]
fn a_check_that_was_slow_does_not_settle_its_own_claim_in_the_past() {
    slow_check(bounded(2), [Bucket(13, LATER - 1), Empty], LATER, |_| 0);
}

#[test]
fn a_check_that_was_slow_does_not_settle_a_claim_in_the_past() {
    slow_check(bounded(1).or_long(bounded(2)), [Empty; 2], 0, |world| {
        count([world.spend_until("bucket.claimed", KEY, REFILLED).unwrap_or(false)])
    });
}

#[test]
fn two_keys_that_evict_at_once_in_a_full_group() {
    let busy = [11, 12].map(|key| Bucket(key, WINDOW + key));
    let search = bounded(2).or_long(bounded(3));
    beside(search, busy, [spends(KEY, 0), spends(OTHER, 0)], |world, answers| {
        assert_eq!(count(answers), 2);
        let began = [KEY, OTHER].map(|key| world.paid(key));
        // The later may have evicted the earlier.
        assert!(began.iter().all(|paid| [None, Some(1)].contains(paid)) && began != [None, None], "{began:?}");
        assert!((1..=2).contains(&world.evicted()));
    });
}

#[test]
fn one_key_that_two_begin_in_a_full_group() {
    let busy = [11, 12].map(|key| Bucket(key, WINDOW + key));
    beside(bounded(3), busy, [spends(KEY, 0), spends(KEY, 0)], |world, answers| {
        assert_eq!(count(answers), 2);
        assert_eq!((world.paid(KEY), world.evicted()), (Some(2), 1));
        assert_eq!(2 + world.spend_rest(KEY, 0), LIMIT);
    });
}

/// The key has spent more than the second slot's by the time that a check which saw another key in the first goes on.
#[test]
fn a_key_that_is_begun_meanwhile_costs_no_other_its_bucket() {
    let busy = [Bucket(11, WINDOW / 6), Bucket(12, WINDOW / 3)];
    let processes = [process(|world: &World| world.spend_all(KEY, 0)), spends(KEY, 0)];
    beside(bounded(2), busy, processes, |world, answers| {
        assert_eq!((count(answers), world.evicted()), (1, 1), "{answers:?}");
        assert!(world.paid(12).is_some());
    });
}

#[test]
fn a_claim_that_others_take_in_a_full_group() {
    let busy = [Left(KEY), Bucket(13, WINDOW)];
    beside(bounded(3), busy, [spends(KEY, 0), spends(OTHER, 0)], |world, answers| {
        assert_eq!(count(answers), 2);
        assert!([KEY, OTHER].iter().all(|key| world.paid(*key).unwrap_or(1) == 1));
        assert!(world.evicted() <= 1);
    });
}

fn forgets() -> Process<World, bool> {
    process(|world: &World| world.forget(KEY))
}

fn resets() -> Process<World, bool> {
    process(|world: &World| world.reset(KEY))
}

#[test]
fn spends_against_a_forget() {
    let processes = [spends(KEY, 0), spends(KEY, 0), forgets()];
    beside(bounded(2), [Bucket(KEY, 0), Empty], processes, |world, answers| {
        assert_eq!(answers, [true; 3], "the key had a bucket all the time");
        let paid = world.paid(KEY).unwrap_or(0);
        assert!(paid <= 2);
        assert_eq!(paid + world.spend_rest(KEY, 0), LIMIT);
    });
}

#[test]
fn begins_against_a_forget() {
    let processes = [spends(KEY, 0), spends(KEY, LATER), forgets()];
    let search = bounded(1).or_long(bounded(2));
    beside(search, [Bucket(OTHER, LATER - 1), Empty], processes, |world, [first, second, forgotten]| {
        assert!(first && second);
        let paid = world.paid(KEY).unwrap_or(0);
        assert!(if forgotten { paid < 2 } else { paid == 2 }, "paid {paid}");
        assert_eq!(paid + world.spend_rest(KEY, LATER), LIMIT);
    });
}

#[test]
fn spends_against_a_reset() {
    let processes = [spends(KEY, 0), spends(KEY, 0), resets()];
    beside(bounded(2), [Bucket(KEY, 0), Empty], processes, |world, answers| {
        assert_eq!(answers, [true; 3]);
        let paid = world.paid(KEY).expect("a reset leaves the bucket");
        assert!(paid <= 2);
        assert_eq!(paid + world.spend_rest(KEY, 0), LIMIT);
    });
}

#[test]
fn a_spend_against_a_reset_of_what_was_spent() {
    let processes = [spends(KEY, 0), resets()];
    beside(bounded(3), [Bucket(KEY, WINDOW / LIMIT * 2), Empty], processes, |world, answers| {
        assert_eq!(answers, [true; 2]);
        assert!(world.paid(KEY).unwrap() <= 1, "two of which were paid before");
    });
}

#[test]
fn begins_against_a_reset() {
    let processes = [spends(KEY, 0), spends(KEY, LATER), resets()];
    let search = bounded(1).or_long(bounded(2));
    beside(search, [Bucket(OTHER, LATER - 1), Empty], processes, |world, [first, second, refilled]| {
        assert!(first && second);
        let paid = world.paid(KEY).expect("a reset leaves the bucket");
        assert!(if refilled { paid < 2 } else { paid == 2 }, "paid {paid}");
        assert_eq!(paid + world.spend_rest(KEY, LATER), LIMIT);
    });
}
