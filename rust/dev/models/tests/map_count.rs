//! Counting beside everything else: no addition is lost, and none lands in other bytes.

use models::map_world::World;
use models::search::{bounded, process};

const KEY: &str = "0a";
const OTHER: &str = "0a other";

#[test]
fn two_counts_on_one_counter() {
    bounded(3).of_map(
        1,
        |map| assert_eq!(map.incr(KEY), 1),
        [process(|map: &World| vec![map.incr(KEY), map.incr(KEY)]), process(|map: &World| vec![map.incr(KEY)])],
        |map, sums| {
            let mut sums = sums.concat();
            sums.sort_unstable();
            assert_eq!((sums, map.fetch(KEY).as_deref()), (vec![2, 3, 4], Some("4")));
        },
    );
}

#[test]
fn two_that_begin_a_counter() {
    bounded(2).or_long(bounded(3)).of_map(
        2,
        |_| (),
        [process(|map: &World| map.incr(KEY)), process(|map: &World| map.incr(KEY))],
        |map, mut sums| {
            sums.sort_unstable();
            assert_eq!((sums, map.fetch(KEY).as_deref(), map.figures().used), ([1, 2], Some("2"), 1));
        },
    );
}

#[test]
fn a_count_against_a_delete() {
    bounded(2).or_long(bounded(3)).of_map(
        1,
        |map| assert_eq!(map.incr(KEY), 1),
        [
            process(|map: &World| {
                assert!(map.delete(KEY));
                0
            }),
            process(|map: &World| map.incr(KEY)),
        ],
        |map, [_, sum]| {
            // Before the delete, or the first of a new counter.
            let left = if sum == 2 { None } else { Some("1") };
            assert!(sum == 2 || sum == 1, "{sum}");
            assert_eq!((map.fetch(KEY).as_deref(), map.figures().used), (left, left.is_some().into()));
        },
    );
}

#[test]
fn a_count_against_a_store_over_the_counter() {
    bounded(2).or_long(bounded(3)).of_map(
        2,
        |map| assert_eq!(map.incr(KEY), 1),
        [
            process(|map: &World| {
                map.store(KEY, "a value of text");
                // A counter in the buffer that the first one had.
                assert_eq!(map.incr(OTHER), 1);
                None
            }),
            process(|map: &World| map.try_incr(KEY)),
        ],
        |map, [_, sum]| {
            assert!([None, Some(2)].contains(&sum), "{sum:?}");
            assert_eq!(map.fetch(KEY).as_deref(), Some("a value of text"));
            assert_eq!(map.fetch(OTHER).as_deref(), Some("1"), "nothing was added to another counter");
        },
    );
}

/// A counter that is deleted and begun again counts anew, whoever still looks at its first life.
#[test]
fn a_count_against_a_counter_s_second_life() {
    bounded(1).or_long(bounded(2)).of_map(
        1,
        |map| assert_eq!(map.incr(KEY), 1),
        [
            process(|map: &World| {
                // Twice, so that the buffer is the same again.
                for _ in 0..2 {
                    assert!(map.delete(KEY));
                    map.incr(KEY);
                }
                0
            }),
            process(|map: &World| map.incr(KEY)),
        ],
        |map, [_, sum]| {
            let last: i64 = map.fetch(KEY).unwrap().parse().unwrap();
            assert!(sum == 1 || sum == 2, "{sum}");
            assert!(last == 1 || last == 2, "{last}");
        },
    );
}
