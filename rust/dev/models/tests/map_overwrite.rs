//! Readers beside a writer who overwrites what they read: they see it whole, old or new, and never miss it.

use models::map_world::World;
use models::search::{bounded, process};

const KEY: &str = "0a";
/// In the same group, and with the same tag.
const OTHER: &str = "0a other";

const OLD: &str = "old.....old";
const NEW: &str = "new.....new";
const NEWEST: &str = "newest..newest";

/// The second store fills the buffer that the reader may be reading.
#[test]
fn a_value_is_whole_and_never_absent() {
    bounded(2).or_long(bounded(3)).of_map(
        1,
        |map| assert!(map.store(KEY, OLD)),
        [
            process(|map: &World| {
                map.store(KEY, NEW);
                map.store(KEY, NEWEST);
                None
            }),
            process(|map: &World| map.fetch(KEY)),
        ],
        |map, [_, seen]| {
            let seen = seen.expect("it is there all the time");
            assert!([OLD, NEW, NEWEST].contains(&&*seen), "{seen}");
            assert_eq!(map.fetch(KEY).unwrap(), NEWEST);
        },
    );
}

#[test]
fn a_buffer_that_another_key_gets_is_not_read_for_the_first() {
    bounded(2).or_long(bounded(3)).of_map(
        2,
        |map| assert!(map.store(KEY, OLD)),
        [
            process(|map: &World| {
                map.store(KEY, NEW);
                // Into the buffer that KEY had.
                map.store(OTHER, NEWEST);
                None
            }),
            process(|map: &World| map.fetch(KEY)),
        ],
        |map, [_, seen]| {
            let seen = seen.expect("it is there all the time");
            assert!([OLD, NEW].contains(&&*seen), "{seen}");
            assert_eq!((map.fetch(KEY).unwrap(), map.fetch(OTHER).unwrap()), (NEW.into(), NEWEST.into()));
            assert_eq!(map.figures().used, 2);
        },
    );
}

/// What was seen once is not gone, and nothing older is seen after it.
#[test]
fn a_second_look_sees_nothing_older() {
    bounded(2).of_map(
        1,
        |map| assert!(map.store(KEY, "1")),
        [
            process(|map: &World| {
                map.store(KEY, "2");
                [None, None]
            }),
            process(|map: &World| [map.fetch(KEY), map.fetch(KEY)]),
        ],
        |_, [_, [first, second]]| assert!(first.is_some() && first <= second, "{first:?}, then {second:?}"),
    );
}

#[test]
fn a_walk_meets_a_key_that_is_overwritten_and_no_key_twice() {
    bounded(2).or_long(bounded(3)).of_map(
        2,
        |map| assert!(map.store(KEY, "1")),
        [
            process(|map: &World| {
                map.store(KEY, "2");
                map.store(OTHER, "3");
                Vec::new()
            }),
            process(|map: &World| map.keys()),
        ],
        |_, [_, seen]| assert!([vec![KEY], vec![KEY, OTHER]].iter().any(|keys| *keys == seen), "{seen:?}"),
    );
}
