//! What searches and writes touch: as few groups after any history as in a fresh table, lines of their own, and offsets of
//! any size.

use super::*;
use crate::layout::LANES;
use crate::sync::AtomicBool;
use std::collections::HashMap;

/// How many groups a miss looks at, and a hit, on average.
fn lengths_of_searches(map: &Map) -> (f64, f64) {
    let homes = 0..map.layout.groups;
    let miss = homes.clone().map(|home| map.reach(home)).sum::<u64>() as f64 / map.layout.groups as f64;
    let words = map.groups.iter().flat_map(|group| group.words.iter().map(|cell| cell.load(Ordering::Relaxed)));
    let live: Vec<u64> = words.map(word::Word).filter(|word| word.is_live()).map(|word| word.distance() + 1).collect();
    (miss, live.iter().sum::<u64>() as f64 / live.len() as f64)
}

#[test]
#[cfg_attr(miri, ignore = "a large table: minutes")]
fn after_any_churn_searches_are_as_short_as_in_a_fresh_table() {
    let (slots, live, churn) = (10_000u32, 7_500u32, 500_000u32);
    let (fresh, churned) = (map(u64::from(slots), 64), map(u64::from(slots), 64));
    for key in 0..churn {
        assert_eq!(store(&churned, &key.to_ne_bytes(), b"v"), Stored::Yes);
        if let Some(old) = key.checked_sub(live) {
            assert!(churned.delete(&old.to_ne_bytes()).unwrap());
        }
    }
    for key in churn - live..churn {
        store(&fresh, &key.to_ne_bytes(), b"v");
    }
    let (miss, hit) = lengths_of_searches(&fresh);
    let (churned_miss, churned_hit) = lengths_of_searches(&churned);
    assert!(miss < 2.0 && churned_miss < miss * 1.2, "a miss looks at {churned_miss} groups, in a fresh one {miss}");
    assert!(hit < 1.5 && churned_hit < hit * 1.2, "a hit looks at {churned_hit} groups, in a fresh one {hit}");
    churned.verify().unwrap();
}

/// Locks, journals, index groups, owner bytes and buffers: all that a store, a delete or a count writes.
#[test]
#[cfg_attr(miri, ignore = "a large table: minutes")]
fn writers_of_different_stripes_write_different_lines() {
    let map = map(8_192, 80);
    let line = |address: usize| address as u64 / layout::LINE;
    let mut writers = HashMap::new();
    let mut writes = |stripe: usize, address: usize| {
        let other = *writers.entry(line(address)).or_insert(stripe);
        assert_eq!(other, stripe, "the line of {address:#x} has two writers");
    };
    for key in 0..2_000u32 {
        let hash = map.hash(&key.to_ne_bytes());
        let index = map.stripe_of(hash);
        let turn = map.turn(index).unwrap();
        let claim = turn.claim().unwrap();
        writes(index, turn.stripe as *const _ as usize);
        writes(index, &turn.stripe.journal as *const _ as usize);
        writes(index, &map.groups[map.home(hash) as usize] as *const _ as usize);
        writes(index, &map.owners[claim.buffer as usize / 8] as *const _ as usize);
        for end in map.buffers.get(claim.buffer).unwrap().span() {
            writes(index, end);
        }
        turn.drop_claim();
        drop(turn);
        store(&map, &key.to_ne_bytes(), b"v");
    }
}

/// Keys were once listed from one end of the index to the other: who deleted the first ones left one part empty, and what
/// came next overflowed the other into one long run of full groups. Neither the order of `next_key` nor knowing better
/// makes such a run now.
#[test]
#[cfg_attr(miri, ignore = "a large table: minutes")]
fn deleting_keys_in_any_order_keeps_searches_short() {
    let slots = 100_000u32;
    for by_place in [false, true] {
        let map = map(u64::from(slots), 64);
        (0..slots).for_each(|key| assert_eq!(store(&map, &key.to_ne_bytes(), b"v"), Stored::Yes));
        let (miss, hit) = lengths_of_searches(&map);
        let mut fresh = slots;
        for _ in 0..3 {
            let mut listed = keys_as_listed(&map);
            if by_place {
                listed.sort_by_key(|key| map.home(map.hash(key)));
            }
            listed.truncate(slots as usize * 6 / 10);
            for key in &listed {
                assert!(map.delete(key).unwrap());
            }
            for _ in &listed {
                assert_eq!(store(&map, &fresh.to_ne_bytes(), b"v"), Stored::Yes);
                fresh += 1;
            }
            let (miss_now, hit_now) = lengths_of_searches(&map);
            let most = if by_place { 8.0 } else { 1.5 };
            assert!(miss_now < miss * most && hit_now < hit * most, "{miss_now} for {miss}, {hit_now} for {hit}");
        }
        map.verify().unwrap();
    }
}

/// New keys take the places of lapsed ones near their own home. Taken in the order of the table, they would leave one
/// part of the index empty and fill another to overflowing.
#[test]
#[cfg_attr(miri, ignore = "a large table: minutes")]
fn replacing_a_full_table_of_lapsed_entries_keeps_searches_short() {
    let _turn = CLOCK.lock();
    clock::freeze(Some(1_000_000_000), None);
    let slots = 50_000u32;
    let map = map(u64::from(slots), 64);
    for key in 0..slots {
        map.store(&key.to_ne_bytes(), Content::Bytes(b"v"), 1).unwrap();
    }
    let (miss, hit) = lengths_of_searches(&map);
    clock::freeze(Some(2_000_000_000), None);
    for key in slots..slots * 2 {
        assert_eq!(store(&map, &key.to_ne_bytes(), b"v"), Stored::Yes);
        if key % (slots / 4) == 0 {
            let (miss_now, hit_now) = lengths_of_searches(&map);
            assert!(miss_now < miss * 1.3 && hit_now < hit * 1.3, "{miss_now} for {miss}, {hit_now} for {hit}");
        }
    }
    assert_eq!(store(&map, b"one more", b"v"), Stored::Full);
    map.verify().unwrap();
    clock::freeze(None, None);
}

#[test]
#[cfg(not(miri))]
fn offsets_past_four_gigabytes_are_like_all_others() {
    const FAR: u64 = 1 << 32;
    let shape = Shape { slots: 1 << 17, slot_size: 40_000, serialised: false };
    let Some(arena) = Arena::sparse(FAR + 64 + layout::map_charge(shape.slots, shape.slot_size), 4) else { return };
    let low = arena.carve_region(b"low", FAR + 64).unwrap();
    let map = Map::bind(&arena, b"high", shape).unwrap();
    assert!(low.length == FAR + 64 && arena.find_region(b"high").unwrap().offset > FAR);
    assert!(map.layout.length > FAR && arena.carve_region(b"more", 4096).is_err());

    let value = |key: u32| key.to_ne_bytes().repeat(1 + key as usize % 7_000);
    for key in 0..1_000u32 {
        assert_eq!(store(&map, &key.to_ne_bytes(), b"old"), Stored::Yes);
        assert_eq!(store(&map, &key.to_ne_bytes(), &value(key)), Stored::Yes);
    }
    let live = map.groups.iter().flat_map(|group| group.words.iter().map(|cell| cell.load(Ordering::Relaxed)));
    let highest = live.map(|word| word::Word(word).buffer()).max().unwrap();
    assert!(u64::from(highest) * map.layout.stride > FAR, "buffers past four gigabytes are in use");
    let start_of = |buffer: u32| map.buffers.get(buffer).unwrap().span()[0] as u64;
    assert_eq!(start_of(highest) - start_of(0), u64::from(highest) * map.layout.stride);
    for key in 0..1_000u32 {
        assert_eq!(fetch(&map, &key.to_ne_bytes()), Some(value(key)));
        assert!(map.delete(&key.to_ne_bytes()).unwrap());
        assert_eq!(map.incr(&key.to_ne_bytes(), i64::from(key), 0).unwrap(), Counted::Now(i64::from(key)));
    }
    map.verify().unwrap();
}

/// A search that meets another key in the buffer where its own was, as that has been stored anew meanwhile, looks again:
/// a key that is there all along is never absent. Long keys that differ in the end, so that there is time to store another,
/// and in the second group of a search: what is seen in the first one is looked at twice.
#[test]
fn a_key_that_is_stored_over_and_over_is_there_all_along() {
    let map = map(15, 4096);
    let long_key = |number: u32| [&[b'k'; 4000][..], &number.to_ne_bytes()].concat();
    let mut homeless = (0..).map(long_key).filter(|key| map.home(map.hash(key)) == 0);
    homeless.by_ref().take(LANES).for_each(|key| assert_eq!(store(&map, &key, b"v"), Stored::Yes));
    let [key, other] = [homeless.next().unwrap(), homeless.next().unwrap()];
    store(&map, &key, b"v");
    store(&map, &other, b"v");
    let (started, length) = (clock::unfrozen_monotonic_ns(), if cfg!(miri) { 0 } else { 1_000_000_000 });
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while clock::unfrozen_monotonic_ns() - started < length {
                store(&map, &key, b"v");
                store(&map, &other, b"v");
            }
            done.store(true, Ordering::Relaxed);
        });
        while !done.load(Ordering::Relaxed) {
            let read = map.fetch(&key, &mut []);
            assert!(matches!(read, Read::TooShort(1) | Read::Busy), "{read:?}");
        }
    });
}
