//! Entries that have lapsed are collected once, whoever meets them, and never with them what came in their place.

use models::map_world::World;
use models::search::{bounded, process};

const KEY: &str = "0a";
const OTHER: &str = "0b";

/// An entry whose time has passed.
fn lapsed(map: &World) {
    map.set_clock(1_000);
    assert!(map.store_for(KEY, "old", 10));
    map.set_clock(2_000);
}

#[test]
fn a_reader_who_collects_against_a_store() {
    bounded(2).or_long(bounded(3)).of_map(
        1,
        lapsed,
        [
            process(|map: &World| {
                assert!(map.store(KEY, "new"));
                None
            }),
            process(|map: &World| map.fetch(KEY)),
        ],
        |map, [_, seen]| {
            assert!([None, Some("new")].contains(&seen.as_deref()), "{seen:?}");
            assert_eq!(map.fetch(KEY).as_deref(), Some("new"));
            let figures = map.figures();
            assert_eq!((figures.used, figures.expired), (1, 1));
        },
    );
}

/// The same word, for the entry is in the same buffer again, and has a deadline as before.
#[test]
fn a_reader_who_collects_against_two_stores() {
    bounded(2).without_turning_loads().or_long(bounded(2)).of_map(
        1,
        lapsed,
        [
            process(|map: &World| {
                assert!(map.store_for(KEY, "new", 10_000) && map.store_for(KEY, "newer", 10_000));
                None
            }),
            process(|map: &World| map.fetch(KEY)),
        ],
        |map, [_, seen]| {
            assert!([None, Some("new"), Some("newer")].contains(&seen.as_deref()), "{seen:?}");
            assert_eq!(map.fetch(KEY).as_deref(), Some("newer"));
            assert_eq!(map.figures().expired, 1);
        },
    );
}

#[test]
fn two_readers_who_collect() {
    bounded(2).or_long(bounded(3)).of_map(
        1,
        lapsed,
        [process(|map: &World| map.fetch(KEY)), process(|map: &World| map.fetch(KEY))],
        |map, seen| {
            assert_eq!(seen, [None, None]);
            // Both may have found the stripe taken, for all they could see.
            let figures = map.figures();
            assert_eq!(figures.used + figures.expired, 1);
        },
    );
}

/// The only slot holds what has lapsed: one store takes its place, and the other is refused.
#[test]
fn a_store_that_makes_room_against_a_store_over_what_has_lapsed() {
    bounded(2).of_map(
        1,
        lapsed,
        [process(|map: &World| map.store(OTHER, "1")), process(|map: &World| map.store(KEY, "2"))],
        |map, stored| {
            assert!(stored[0] != stored[1], "{stored:?}");
            assert_eq!([OTHER, KEY].map(|key| map.exists(key)), stored);
            let figures = map.figures();
            assert_eq!((figures.used, figures.expired, figures.full), (1, 1, 1));
        },
    );
}
