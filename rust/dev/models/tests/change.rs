//! A check while others change what it works on: take its slot, evict, reset or forget its key. The key has one bucket
//! or none, and what was paid is lost only to an eviction, a reset or a forget.

use models::world::Slot::{Bucket, Empty, Left};
use models::world::{bounded, count, process, Key, World, LIMIT, WINDOW};
use std::sync::Arc;

const KEY: Key = 5;
const OTHER: Key = 6;

/// The clock of a process that is a moment ahead of one whose clock shows 0.
const LATER: u64 = 2;

/// A bucket that was emptied at 0 was full before.
const REFILLED: u64 = WINDOW + 1;

#[test]
fn two_keys_that_begin_in_the_same_slot() {
    bounded(3).of([Empty; 2], |world: Arc<World>| {
        let other = process(1, &world, |world| world.spend(OTHER, 0));
        assert!(world.spend(KEY, 0) && other.join().unwrap());
        assert_eq!([KEY, OTHER].map(|key| world.paid(key)), [Some(1); 2]);
        assert_eq!(world.evicted(), 0);
    });
}

#[test]
fn a_spend_against_a_takeover_of_the_bucket() {
    bounded(3).of([Bucket(KEY, LATER - 1), Empty], |world: Arc<World>| {
        let other = process(1, &world, |world| world.spend(OTHER, LATER));
        assert!(world.spend(KEY, 0) && other.join().unwrap());
        assert_eq!([KEY, OTHER].map(|key| world.paid(key)), [Some(1); 2]);
        assert_eq!(1 + world.spend_rest(KEY, LATER), LIMIT);
        assert_eq!(world.evicted(), 0);
    });
}

#[test]
fn two_spends_against_a_takeover_of_the_bucket() {
    bounded(2).of([Bucket(KEY, LATER - 1), Empty], |world: Arc<World>| {
        let other = process(1, &world, |world| world.spend(OTHER, LATER));
        let same = process(2, &world, |world| world.spend(KEY, LATER));
        let allowed = count([world.spend(KEY, 0), same.join().unwrap()]);
        assert!(other.join().unwrap());
        assert_eq!((world.paid(KEY), world.paid(OTHER), world.evicted()), (Some(allowed), Some(1), 0));
        assert_eq!(allowed + world.spend_rest(KEY, LATER), LIMIT);
    });
}

/// While a check is under way another spends the key's limit at time 0, its bucket refills and is taken over; then
/// `others_do` what they do. From 0 to REFILLED the limit comes back once.
fn slow_check(others_do: impl Fn(&World) -> u64 + Copy + Send + Sync + 'static) {
    bounded(2).of([Empty; 2], move |world: Arc<World>| {
        let others = process(1, &world, move |world| {
            let spent = if world.spend_all(KEY, 0) { LIMIT } else { 0 };
            world.set_time(REFILLED);
            assert!(world.spend_now(OTHER));
            spent + others_do(world)
        });
        let allowed = count([world.spend_now(KEY)]) + others.join().unwrap();
        let in_all = allowed + world.spend_rest(KEY, REFILLED);
        assert!(in_all <= 2 * LIMIT, "{in_all} allowed in all");
    });
}

#[test]
fn a_check_that_was_slow_does_not_begin_its_key_in_the_past() {
    slow_check(|_| 0);
}

#[test]
fn a_check_that_was_slow_does_not_settle_a_claim_in_the_past() {
    slow_check(|world| count([world.spend_until("bucket.claimed", KEY, REFILLED).unwrap_or(false)]));
}

#[test]
fn two_keys_that_evict_at_once_in_a_full_group() {
    let busy = [11, 12].map(|key| Bucket(key, WINDOW + key));
    bounded(3).of(busy, |world: Arc<World>| {
        let other = process(1, &world, |world| world.spend(OTHER, 0));
        assert!(world.spend(KEY, 0) && other.join().unwrap());
        let began = [KEY, OTHER].map(|key| world.paid(key));
        // The later may have evicted the earlier.
        assert!(began.iter().all(|paid| [None, Some(1)].contains(paid)) && began != [None, None], "{began:?}");
        assert!((1..=2).contains(&world.evicted()));
    });
}

#[test]
fn one_key_that_two_begin_in_a_full_group() {
    let busy = [11, 12].map(|key| Bucket(key, WINDOW + key));
    bounded(3).of(busy, |world: Arc<World>| {
        let other = process(1, &world, |world| world.spend(KEY, 0));
        assert!(world.spend(KEY, 0) && other.join().unwrap());
        assert_eq!((world.paid(KEY), world.evicted()), (Some(2), 1));
        assert_eq!(2 + world.spend_rest(KEY, 0), LIMIT);
    });
}

#[test]
fn a_claim_that_others_take_in_a_full_group() {
    let busy = [Left(KEY), Bucket(13, WINDOW)];
    bounded(3).of(busy, |world: Arc<World>| {
        let other = process(1, &world, |world| world.spend(OTHER, 0));
        assert!(world.spend(KEY, 0) && other.join().unwrap());
        assert!([KEY, OTHER].iter().all(|key| world.paid(*key).unwrap_or(1) == 1));
        assert!(world.evicted() <= 1);
    });
}

#[test]
fn spends_against_a_forget() {
    bounded(2).of([Bucket(KEY, 0), Empty], |world: Arc<World>| {
        let other = process(1, &world, |world| world.spend(KEY, 0));
        let forgetful = process(2, &world, |world| world.forget(KEY));
        assert!(world.spend(KEY, 0) && other.join().unwrap());
        assert!(forgetful.join().unwrap(), "the key had a bucket all the time");
        let paid = world.paid(KEY).unwrap_or(0);
        assert!(paid <= 2);
        assert_eq!(paid + world.spend_rest(KEY, 0), LIMIT);
    });
}

#[test]
fn begins_against_a_forget() {
    bounded(2).of([Bucket(OTHER, LATER - 1), Empty], |world: Arc<World>| {
        let other = process(1, &world, |world| world.spend(KEY, LATER));
        let forgetful = process(2, &world, |world| world.forget(KEY));
        assert!(world.spend(KEY, 0) && other.join().unwrap());
        let forgotten = forgetful.join().unwrap();
        let paid = world.paid(KEY).unwrap_or(0);
        assert!(if forgotten { paid < 2 } else { paid == 2 }, "paid {paid}");
        assert_eq!(paid + world.spend_rest(KEY, LATER), LIMIT);
    });
}

#[test]
fn spends_against_a_reset() {
    bounded(2).of([Bucket(KEY, 0), Empty], |world: Arc<World>| {
        let other = process(1, &world, |world| world.spend(KEY, 0));
        let resetting = process(2, &world, |world| world.reset(KEY));
        assert!(world.spend(KEY, 0) && other.join().unwrap() && resetting.join().unwrap());
        let paid = world.paid(KEY).expect("a reset leaves the bucket");
        assert!(paid <= 2);
        assert_eq!(paid + world.spend_rest(KEY, 0), LIMIT);
    });
}

#[test]
fn begins_against_a_reset() {
    bounded(2).of([Bucket(OTHER, LATER - 1), Empty], |world: Arc<World>| {
        let other = process(1, &world, |world| world.spend(KEY, LATER));
        let resetting = process(2, &world, |world| world.reset(KEY));
        assert!(world.spend(KEY, 0) && other.join().unwrap());
        let refilled = resetting.join().unwrap();
        let paid = world.paid(KEY).expect("a reset leaves the bucket");
        assert!(if refilled { paid < 2 } else { paid == 2 }, "paid {paid}");
        assert_eq!(paid + world.spend_rest(KEY, LATER), LIMIT);
    });
}
