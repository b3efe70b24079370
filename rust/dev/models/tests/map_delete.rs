//! Deleting beside readers and other writers: what is deleted is whole until it is gone, and what it leaves is used again.

use models::map_world::World;
use models::search::{bounded, process};

const KEY: &str = "0a";
/// In the same group, and with the same tag.
const OTHER: &str = "0a other";

#[test]
fn an_insert_a_delete_and_a_reader() {
    bounded(1).or_long(bounded(2)).of_map(
        2,
        |map| assert!(map.store(KEY, "old")),
        [
            process(|map: &World| {
                assert!(map.store(OTHER, "new"));
                None
            }),
            process(|map: &World| {
                assert!(map.delete(KEY));
                None
            }),
            process(|map: &World| Some([map.fetch(KEY), map.fetch(OTHER)])),
        ],
        |map, [_, _, seen]| {
            let [first, second] = seen.unwrap();
            assert!([None, Some("old")].contains(&first.as_deref()));
            assert!([None, Some("new")].contains(&second.as_deref()));
            assert_eq!((map.fetch(KEY), map.fetch(OTHER).as_deref()), (None, Some("new")));
            let figures = map.figures();
            assert_eq!((figures.used, figures.full), (1, 0));
        },
    );
}

#[test]
fn a_key_that_is_deleted_and_stored_again() {
    bounded(2).or_long(bounded(3)).of_map(
        1,
        |map| assert!(map.store(KEY, "1")),
        [
            process(|map: &World| {
                assert!(map.delete(KEY) && map.store(KEY, "2"));
                [None, None]
            }),
            process(|map: &World| [map.fetch(KEY), map.fetch(KEY)]),
        ],
        |map, [_, seen]| {
            let order = [Some("1"), None, Some("2")];
            let [first, second] = seen.map(|seen| order.iter().position(|known| *known == seen.as_deref()));
            assert!(first.is_some() && first <= second, "{first:?}, then {second:?}");
            assert_eq!((map.fetch(KEY).as_deref(), map.figures().used), (Some("2"), 1));
        },
    );
}

/// The other stripe fills the word, and then the buffer, that the deletion left. Who walks past meanwhile meets nothing
/// twice, and everything that is there all the time.
#[test]
fn a_word_and_a_buffer_that_another_stripe_gets() {
    const LAST: [&str; 7] = ["<a", "<b", "<c", "<d", "<e", "<f", "<g"];
    bounded(1).of_map(
        16,
        |map| {
            assert!(LAST.iter().all(|key| map.store(key, "v")));
            // All 16, of which seven are in the first group.
            let first = ["0b", "0c", "0d", "0e", "0f", "0g"];
            assert!(map.store(KEY, "old") && first.iter().all(|key| map.store(key, "v")));
            assert!(["4a", "8a"].iter().all(|key| map.store(key, "v")));
            assert_eq!(map.figures().used, 16);
        },
        [
            process(|map: &World| {
                assert!(map.delete(KEY));
                Vec::new()
            }),
            process(|map: &World| {
                // The first store may be refused. After it the buffer is its stripe's spare.
                if map.store("<h", "1") {
                    map.store("<h", "2");
                }
                Vec::new()
            }),
            process(|map: &World| map.keys()),
        ],
        |map, [_, _, seen]| {
            for key in LAST.iter().chain(&["0b", "0c", "0d", "0e", "0f", "0g", "4a", "8a"]) {
                assert_eq!(seen.iter().filter(|seen| seen == key).count(), 1, "{key} of {seen:?}");
            }
            assert!(seen.iter().filter(|seen| *seen == "<h").count() <= 1, "{seen:?}");
            let figures = map.figures();
            assert_eq!(figures.used, 15 + u64::from(map.exists("<h")));
        },
    );
}
