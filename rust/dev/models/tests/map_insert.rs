//! Writers who put new keys in at once: each has its place, as far as there are slots, and readers find what is there.

use models::map_world::World;
use models::search::{bounded, process};

/// Of the second stripe, in the last group, which is full: the next goes to the first group, which is the other stripe's.
const LAST: [&str; 7] = ["<a", "<b", "<c", "<d", "<e", "<f", "<g"];
const OVERFLOWS: &str = "<h";
const FIRST: &str = "0a";

fn last_group_full(map: &World) {
    assert!(LAST.iter().all(|key| map.store(key, "v")));
}

/// With one slot left of 16.
fn all_but_one(map: &World) {
    last_group_full(map);
    assert!(["4a", "4b", "4c", "4d", "8a", "8b", "8c", "8d"].iter().all(|key| map.store(key, "v")));
    assert_eq!(map.figures().used, 15);
}

#[test]
fn two_stripes_that_fill_the_same_empty_word() {
    bounded(2).or_long(bounded(3)).of_map(
        16,
        last_group_full,
        [process(|map: &World| map.store(OVERFLOWS, "1")), process(|map: &World| map.store(FIRST, "2"))],
        |map, stored| {
            assert_eq!(stored, [true; 2]);
            assert_eq!([OVERFLOWS, FIRST].map(|key| map.fetch(key).unwrap()), ["1", "2"]);
            let figures = map.figures();
            assert_eq!((figures.used, figures.full, figures.busy), (9, 0, 0));
        },
    );
}

#[test]
fn two_stripes_and_one_slot() {
    bounded(1).or_long(bounded(2)).of_map(
        16,
        all_but_one,
        [process(|map: &World| map.store(OVERFLOWS, "1")), process(|map: &World| map.store(FIRST, "2"))],
        |map, stored| {
            assert!(stored[0] != stored[1], "{stored:?}");
            assert_eq!([OVERFLOWS, FIRST].map(|key| map.exists(key)), stored);
            let figures = map.figures();
            assert_eq!((figures.used, figures.full), (16, 1));
        },
    );
}

#[test]
fn two_stores_of_one_new_key() {
    bounded(2).or_long(bounded(3)).of_map(
        2,
        |_| (),
        [process(|map: &World| map.store(FIRST, "1")), process(|map: &World| map.store(FIRST, "2"))],
        |map, stored| {
            assert_eq!(stored, [true; 2]);
            assert!(["1", "2"].contains(&&*map.fetch(FIRST).unwrap()));
            assert_eq!(map.figures().used, 1);
        },
    );
}

/// Who has seen what was stored later sees what was stored before, though it lies further out.
#[test]
fn a_key_that_lies_further_out_is_found() {
    bounded(2).or_long(bounded(3)).of_map(
        16,
        last_group_full,
        [
            process(|map: &World| {
                map.store(OVERFLOWS, "1");
                map.store(FIRST, "2");
                [None, None]
            }),
            process(|map: &World| [map.fetch(FIRST), map.fetch(OVERFLOWS)]),
        ],
        |_, [_, [later, earlier]]| {
            assert!([None, Some("2")].contains(&later.as_deref()));
            assert!([None, Some("1")].contains(&earlier.as_deref()));
            assert!(later.is_none() || earlier.is_some(), "{later:?} without what was stored before");
        },
    );
}

#[test]
fn a_key_that_a_walk_has_met_is_found() {
    bounded(2).or_long(bounded(3)).of_map(
        16,
        last_group_full,
        [
            process(|map: &World| map.store(OVERFLOWS, "1")),
            process(|map: &World| !map.keys().iter().any(|key| key == OVERFLOWS) || map.exists(OVERFLOWS)),
        ],
        |_, [_, found]| assert!(found),
    );
}
