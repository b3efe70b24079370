//! Room in a map that is full, or nearly: a slot that is free is found, wherever others stand who give or look for one.

use models::map_world::World;
use models::search::{bounded, process, Search};

/// All slots of a map of two lines of owners and four stripes, of which DELETED has a buffer on the second line, and
/// all stripes last took one on the first.
const SLOTS: u64 = 63;
const DELETED: &str = "4a";

fn full(map: &World) {
    // The first key of the second stripe gets its spare buffer, one of the last.
    assert!(map.store(DELETED, "v"));
    let places = "0123456789:;<=>?".chars();
    let keys: Vec<String> = places.flat_map(|place| "abcd".chars().map(move |tag| format!("{place}{tag}"))).collect();
    for key in keys.iter().filter(|key| *key != DELETED).take(62) {
        assert!(map.store(key, "v"));
    }
    assert_eq!(map.figures().used, SLOTS);
}

/// Two new keys of other stripes, after a deletion and beside it: one gets the slot.
fn one_of_two(search: Search, prepare: fn(&World)) {
    search.of_map(
        SLOTS,
        prepare,
        [
            process(|map: &World| map.delete(DELETED) && map.store("0x", "1")),
            process(|map: &World| map.store("8x", "2")),
        ],
        |map, stored| {
            assert!(stored[0] != stored[1], "{stored:?}");
            assert_eq!(["0x", "8x"].map(|key| map.exists(key)), stored);
            let figures = map.figures();
            assert_eq!((figures.used, figures.tombstones), (SLOTS, 0));
        },
    );
}

#[test]
fn a_slot_is_found_on_a_line_that_is_being_closed() {
    one_of_two(bounded(1), full);
}

#[test]
#[ignore = "takes minutes, and is part of the long form"]
fn a_slot_is_found_on_a_line_that_is_being_opened() {
    one_of_two(bounded(1), |map| {
        full(map);
        assert!(!map.store("<x", "v"), "which closes both lines");
    });
}

/// A remover has the slot in hand for a moment after the key is gone.
#[test]
fn who_sees_that_a_key_is_gone_finds_its_slot() {
    bounded(1).or_long(bounded(2)).of_map(
        SLOTS,
        full,
        [
            process(|map: &World| map.delete(DELETED)),
            process(|map: &World| map.exists(DELETED) || map.store("8x", "2")),
        ],
        |map, [deleted, stored]| {
            assert!(deleted && stored);
            assert_eq!(map.figures().full, 0);
        },
    );
}

/// After whatever happened, a slot that is free is found.
#[test]
fn a_delete_against_a_store_that_is_refused() {
    bounded(2).or_long(bounded(3)).of_map(
        SLOTS,
        full,
        [process(|map: &World| map.delete(DELETED)), process(|map: &World| map.store("8x", "2"))],
        |map, [deleted, stored]| {
            assert!(deleted);
            map.verify();
            let figures = map.figures();
            assert_eq!((figures.used, figures.full), (SLOTS - u64::from(!stored), u64::from(!stored)));
            assert!(stored || map.store("8x", "2"));
        },
    );
}
