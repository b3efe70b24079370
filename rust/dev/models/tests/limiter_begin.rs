//! Several processes begin the same key at once: it gets one bucket, which has paid for each yes.

use models::rate_world::Slot::{Bucket, Empty, Left};
use models::rate_world::{count, Key, Slot, World, LIMIT};
use models::search::{bounded, process, Search, EXHAUSTIVE};

const KEY: Key = 5;
const OTHER: Key = 6;

/// A process whose clock shows this finds OTHER's bucket full in `STAGGERED`, one whose clock shows 0 does not: they
/// claim different slots.
const LATER: u64 = 2;
const STAGGERED: [Slot; 2] = [Bucket(OTHER, LATER - 1), Empty];

/// After checks of which so many were allowed: they are paid, and what is left passes, but nothing beyond.
fn is_exact(world: &World, allowed: u64) {
    assert_eq!(world.paid(KEY).unwrap_or(0), allowed, "paid, allowed");
    assert_eq!(allowed + world.spend_rest(KEY, LATER), LIMIT, "allowed in all");
}

/// Likewise, where there is room for the key all the time.
fn is_exact_and_evicts_nobody(world: &World, allowed: u64) {
    is_exact(world, allowed);
    assert_eq!(world.evicted(), 0, "evicted");
}

/// Checks of the key by processes with such clocks.
fn checks<const N: usize>(search: Search, slots: [Slot; 2], clocks: [u64; N], judge: fn(&World, u64)) {
    let checks = clocks.map(|clock| process(move |world: &World| world.spend(KEY, clock)));
    search.of(slots, checks, move |world, answers| judge(world, count(answers)));
}

/// Two, for whom there is enough.
fn two(search: Search, slots: [Slot; 2], clocks: [u64; 2]) {
    checks(search, slots, clocks, |world, allowed| {
        assert_eq!(allowed, 2, "there was enough for both");
        is_exact_and_evicts_nobody(world, allowed);
    });
}

#[test]
fn two_in_an_empty_table() {
    two(bounded(3), [Empty; 2], [0, 0]);
}

#[test]
fn two_that_claim_different_slots() {
    two(bounded(3), STAGGERED, [0, LATER]);
}

#[test]
#[should_panic(expected = "2 buckets of one key")]
fn two_that_claim_different_slots_need_the_fence() {
    two(bounded(3).without_fences(), STAGGERED, [0, LATER]);
}

#[test]
fn two_beside_a_left_claim() {
    let search = bounded(3).or_long(EXHAUSTIVE);
    two(search, [Empty, Left(KEY)], [0, 0]);
    two(search, [Bucket(OTHER, LATER - 1), Left(KEY)], [0, LATER]);
}

#[test]
fn two_beside_two_left_claims() {
    two(bounded(3), [Left(KEY), Left(KEY)], [0, 0]);
}

#[test]
fn two_with_a_bucket_beside_a_left_claim() {
    two(EXHAUSTIVE, [Left(KEY), Bucket(KEY, 0)], [0, 0]);
    two(EXHAUSTIVE, [Bucket(KEY, 0), Left(KEY)], [0, 0]);
}

fn three_at_once() -> Search {
    bounded(1).without_turning_loads().or_long(bounded(1))
}

#[test]
fn three_in_an_empty_table() {
    checks(three_at_once(), [Empty; 2], [0, 0, 0], is_exact_and_evicts_nobody);
}

#[test]
fn three_that_claim_two_slots() {
    checks(three_at_once(), STAGGERED, [0, LATER, 0], is_exact_and_evicts_nobody);
}

/// The first looks through the group and finds no rival. The second, in an earlier slot, removes its claim and makes a
/// bucket. The third, who last looked before, claims the slot again, and the first takes that claim for its own.
#[test]
#[should_panic(expected = "2 buckets of one key")]
#[ignore = "takes minutes, and is part of the long form"]
fn three_that_claim_two_slots_need_claims_that_differ() {
    checks(bounded(2).without_unique_claims(), STAGGERED, [0, LATER, 0], is_exact);
}

#[test]
fn one_that_dies_leaves_the_other_a_bucket_that_is_exact() {
    for point in ["bucket.claimed", "bucket.settled", "bucket.spent"] {
        for clocks in [[0, LATER], [LATER, 0]] {
            // Whoever dies there has paid, and nobody heard the answer.
            let unheard = point == "bucket.spent";
            let lives = process(move |world: &World| world.spend(KEY, clocks[0]));
            let dies = process(move |world: &World| world.spend_until(point, KEY, clocks[1]).unwrap_or(unheard));
            bounded(2).of(STAGGERED, [lives, dies], |world, [alive, dead]| {
                assert!(alive);
                is_exact(world, count([alive, dead]));
            });
        }
    }
}
