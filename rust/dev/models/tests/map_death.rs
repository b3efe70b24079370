//! A writer who dies somewhere, beside readers who take no notice and a writer who repairs what it left.

use models::map_world::World;
use models::search::{bounded, process};

const KEY: &str = "0a";
const OTHER: &str = "0b";
const OLD: &str = "old.....old";
const NEW: &str = "new.....new";

/// One who dies at that point of its work, one who reads KEY, and one who stores OTHER under the same lock. What KEY has
/// at any time, and in the end, is one of these.
fn dies(point: &'static str, work: fn(&World), allowed: &'static [Option<&'static str>]) {
    bounded(1).or_long(bounded(2)).of_map(
        4,
        |map| assert!(map.store(KEY, OLD)),
        [
            process(move |map: &World| {
                assert!(map.until(point, work).is_none(), "it comes to {point}");
                None
            }),
            process(|map: &World| {
                assert!(map.store(OTHER, "beside"));
                None
            }),
            process(|map: &World| map.fetch(KEY)),
        ],
        move |map, [_, _, seen]| {
            assert!(allowed.contains(&seen.as_deref()), "{point}: {seen:?}");
            map.verify();
            let left = map.fetch(KEY);
            assert!(allowed.contains(&left.as_deref()), "{point}: {left:?} is left");
            assert_eq!(map.fetch(OTHER).as_deref(), Some("beside"));
            assert_eq!(map.figures().used, 1 + u64::from(left.is_some()));
            // Whatever was lost, all slots are there.
            let free = 3 - u64::from(left.is_some());
            assert!((1..=free).all(|key| map.store(&format!("0{key}"), "v")));
            assert!(!map.store("0z", "v"));
        },
    );
}

#[test]
fn in_an_overwrite() {
    for point in ["fill.begun", "fill.half", "fill.done", "journal.written"] {
        dies(point, |map| _ = map.store(KEY, NEW), &[Some(OLD)]);
    }
    for point in ["word.published", "journal.applied", "journal.closed"] {
        dies(point, |map| _ = map.store(KEY, NEW), &[Some(OLD), Some(NEW)]);
    }
}

#[test]
fn in_an_insert() {
    for point in ["claim.noted", "claim.taken", "fill.done", "journal.written", "reach.raised"] {
        dies(point, |map| _ = map.store("0c", NEW), &[Some(OLD)]);
    }
}

#[test]
fn in_a_delete() {
    for point in ["word.published", "free.begun", "free.hidden", "free.done", "journal.applied"] {
        dies(point, |map| _ = map.delete(KEY), &[Some(OLD), None]);
    }
}
