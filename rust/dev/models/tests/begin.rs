//! Several processes begin the same key at once: it gets one bucket, which has paid for each yes.

use models::world::Slot::{Bucket, Empty, Left};
use models::world::{bounded, count, process, Key, Search, Slot, World, EXHAUSTIVE, LIMIT};
use std::sync::Arc;

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

/// Two checks of the key by processes with such clocks.
fn two(search: Search, slots: [Slot; 2], clocks: [u64; 2]) {
    search.of(slots, move |world: Arc<World>| {
        let other = process(1, &world, move |world| world.spend(KEY, clocks[1]));
        let allowed = count([world.spend(KEY, clocks[0]), other.join().unwrap()]);
        assert_eq!(allowed, 2, "there was enough for both");
        is_exact_and_evicts_nobody(&world, allowed);
    });
}

/// Three checks, likewise.
fn three(search: Search, slots: [Slot; 2], clocks: [u64; 3], judge: fn(&World, u64)) {
    search.of(slots, move |world: Arc<World>| {
        let others = [1, 2].map(|number| process(number, &world, move |world| world.spend(KEY, clocks[number])));
        let first = world.spend(KEY, clocks[0]);
        let [second, third] = others.map(|other| other.join().unwrap());
        judge(&world, count([first, second, third]));
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
    two(EXHAUSTIVE, [Empty, Left(KEY)], [0, 0]);
    two(EXHAUSTIVE, [Bucket(OTHER, LATER - 1), Left(KEY)], [0, LATER]);
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

#[test]
fn three_in_an_empty_table() {
    three(bounded(1), [Empty; 2], [0, 0, 0], is_exact_and_evicts_nobody);
}

#[test]
fn three_that_claim_two_slots() {
    three(bounded(1), STAGGERED, [0, LATER, 0], is_exact_and_evicts_nobody);
}

/// The first looks through the group and finds no rival. The second, in an earlier slot, removes its claim and makes a
/// bucket. The third, who last looked before, claims the slot again, and the first takes that claim for its own.
#[test]
#[should_panic(expected = "2 buckets of one key")]
fn three_that_claim_two_slots_need_claims_that_differ() {
    three(bounded(2).without_unique_claims(), STAGGERED, [0, LATER, 0], is_exact);
}

#[test]
fn one_that_dies_leaves_the_other_a_bucket_that_is_exact() {
    for point in ["bucket.claimed", "bucket.settled", "bucket.spent"] {
        for clocks in [[0, LATER], [LATER, 0]] {
            bounded(2).of(STAGGERED, move |world: Arc<World>| {
                let mortal = process(1, &world, move |world| world.spend_until(point, KEY, clocks[1]));
                assert!(world.spend(KEY, clocks[0]));
                // Whoever dies there has paid, and nobody heard the answer.
                let unheard = point == "bucket.spent";
                is_exact(&world, 1 + count([mortal.join().unwrap().unwrap_or(unheard)]));
            });
        }
    }
}
