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

/// Likewise, and it is known.
fn full_and_closed(map: &World) {
    full(map);
    assert!(!map.store("<x", "v"), "which closes both lines");
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
#[ignore = "takes long, and is part of the long form"]
fn a_slot_is_found_on_a_line_that_is_being_closed() {
    one_of_two(bounded(1), full);
}

/// Full; the first line of owners is open and the second closed, where the stripes of `0` and `8` last took a buffer.
fn full_and_half_closed(map: &World) {
    full(map);
    assert!(map.delete(DELETED) && map.store("0x", "v"));
    assert!(map.delete("<a") && map.store("8x", "v"));
    assert!(!map.store("<x", "v"), "which closes both lines");
    assert!(map.delete("4b") && map.store("4b", "v"), "which opens one");
}

/// Who closes a line dies before it has looked again. What was freed there meanwhile is found, before and after the death.
#[test]
fn a_slot_is_found_behind_a_closer_who_dies() {
    bounded(2).of_map(
        SLOTS,
        full_and_half_closed,
        [
            process(|map: &World| map.delete("4b") && map.store("0y", "1")),
            process(|map: &World| map.until("line.closed", |map| map.store("8y", "2")).unwrap_or(false)),
        ],
        |map, stored| {
            assert!(stored[0] != stored[1], "{stored:?}");
            assert_eq!(["0y", "8y"].map(|key| map.exists(key)), stored);
        },
    );
}

/// The line is opened again by who repairs.
#[test]
fn a_delete_beside_a_closer_who_dies() {
    bounded(2).of_map(
        SLOTS,
        full_and_half_closed,
        [
            process(|map: &World| map.delete("4b")),
            process(|map: &World| map.until("line.closed", |map| map.store("8y", "2")).unwrap_or(false)),
        ],
        |map, [deleted, stored]| {
            assert!(deleted);
            map.verify();
            assert_eq!(map.figures().used, SLOTS - u64::from(!stored));
            assert!(stored || map.store("0y", "1"));
        },
    );
}

/// A remover has the slot in hand for a moment after the key is gone.
fn gone(search: Search, prepare: fn(&World)) {
    search.of_map(
        SLOTS,
        prepare,
        [
            process(|map: &World| map.delete(DELETED)),
            process(|map: &World| map.exists(DELETED) || map.store("8x", "2")),
        ],
        |_, answers| assert_eq!(answers, [true; 2]),
    );
}

#[test]
fn who_sees_that_a_key_is_gone_finds_its_slot() {
    gone(bounded(1).or_long(bounded(2)), full);
}

#[test]
fn who_sees_that_a_key_is_gone_finds_its_slot_on_a_line_that_was_closed() {
    gone(bounded(1).or_long(bounded(2)), full_and_closed);
}

/// Whoever is quicker: a store that is refused came before the deletion, and afterwards the slot is found.
fn beside_a_delete(search: Search, prepare: fn(&World), deleted: &'static str) {
    search.of_map(
        SLOTS,
        prepare,
        [process(move |map: &World| map.delete(deleted)), process(|map: &World| map.store("8x", "2"))],
        |map, [deleted, stored]| {
            assert!(deleted);
            map.verify();
            assert_eq!(map.figures().used, SLOTS - u64::from(!stored));
            assert!(stored || map.store("8x", "2"));
        },
    );
}

#[test]
fn a_delete_on_the_line_that_is_closed_first() {
    beside_a_delete(bounded(2), full, "4b");
}

#[test]
fn a_delete_on_the_line_that_is_closed_last() {
    beside_a_delete(bounded(1).or_long(bounded(2)), full, DELETED);
}

#[test]
fn a_delete_where_all_lines_are_closed() {
    beside_a_delete(bounded(1).or_long(bounded(2)), full_and_closed, DELETED);
}
