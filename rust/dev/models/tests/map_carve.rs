//! Carving: one region for a name, whoever asks, none on top of another, and nobody sees a half of one.

use models::map_world::Carvers;
use models::search::{bounded, process};

#[test]
fn two_carve_one_name() {
    bounded(3).of_arena(
        4,
        |_| (),
        [process(|arena: &Carvers| arena.carve("a", 64)), process(|arena: &Carvers| arena.carve("a", 64))],
        |arena, [first, second]| {
            assert!(first.is_some() && first == second);
            assert_eq!((arena.names(), arena.refused()), (vec!["a".to_string()], 0));
        },
    );
}

#[test]
fn two_carve_two_names() {
    bounded(3).of_arena(
        4,
        |_| (),
        [process(|arena: &Carvers| arena.carve("a", 64)), process(|arena: &Carvers| arena.carve("b", 64))],
        |arena, places| {
            let [first, second] = places.map(Option::unwrap);
            assert_eq!(first.abs_diff(second), 64);
            assert_eq!([arena.find("a"), arena.find("b")], [Some((first, 64)), Some((second, 64))]);
        },
    );
}

#[test]
fn two_carve_where_there_is_one_entry() {
    bounded(3).of_arena(
        1,
        |_| (),
        [process(|arena: &Carvers| arena.carve("a", 64)), process(|arena: &Carvers| arena.carve("b", 64))],
        |arena, [first, second]| {
            assert!(first.is_some() != second.is_some());
            assert_eq!(arena.names().len(), 1);
        },
    );
}

#[test]
fn who_finds_a_region_finds_all_of_it() {
    bounded(3).of_arena(
        2,
        |_| (),
        [
            process(|arena: &Carvers| arena.carve("a", 64).map(|start| (start, 64))),
            process(|arena: &Carvers| {
                assert_eq!(arena.refused(), 0, "an entry is counted when it is whole");
                arena.find("a")
            }),
        ],
        |_, [carved, found]| assert!(found.is_none() || found == carved, "{found:?}"),
    );
}

/// What the dead began to write is zeros for the next, and what they published is there.
#[test]
fn a_carver_who_dies() {
    for (point, is_there) in [("carve.shaped", false), ("carve.written", false), ("carve.published", true)] {
        bounded(2).or_long(bounded(3)).of_arena(
            4,
            |_| (),
            [
                process(move |arena: &Carvers| arena.until(point, |arena| arena.carve_map("a")).flatten()),
                process(|arena: &Carvers| {
                    let place = arena.carve("b", 64);
                    assert!(arena.find("a").is_none() || arena.find("a").unwrap().0 != place.unwrap());
                    place
                }),
            ],
            move |arena, [dead, alive]| {
                assert!(dead.is_none() && alive.is_some());
                assert_eq!((arena.find("a").is_some(), arena.refused()), (is_there, 0));
                assert_eq!((arena.find("b").unwrap().0, arena.read("b")), (alive.unwrap(), 0));
            },
        );
    }
}
