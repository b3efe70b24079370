//! What the map promises, one promise after another, and what memory that was written over must not do. (All of it
//! together, against a plain hash: `model`.)

mod room;
mod searches;

use super::*;
use crate::clock;
use crate::sync::Ordering;
use std::mem::MaybeUninit;
use std::sync::Mutex;

/// The clock is the process's: tests that freeze it, or that would see it frozen, take turns.
pub(super) static CLOCK: Mutex<()> = Mutex::new(());

pub(super) fn map(slots: u64, slot_size: u64) -> Map {
    let arena = Arena::on_heap(slots * slot_size + 4096, 4).unwrap();
    Map::bind(&arena, b"m", Shape { slots, slot_size, serialised: false }).unwrap()
}

fn fetch(map: &Map, key: &[u8]) -> Option<Vec<u8>> {
    let mut out = vec![MaybeUninit::new(0u8); map.max_pair() as usize];
    match map.fetch(key, &mut out) {
        // SAFETY: initialised above, and copied over with initialised bytes.
        Read::Bytes(length) => Some(out[..length].iter().map(|byte| unsafe { byte.assume_init() }).collect()),
        Read::Counter(number) => Some(number.to_string().into_bytes()),
        Read::Undefined => Some(b"undef".to_vec()),
        Read::Absent => None,
        other => panic!("{other:?}"),
    }
}

fn keys_as_listed(map: &Map) -> Vec<Vec<u8>> {
    let mut out = vec![MaybeUninit::new(0u8); map.max_pair() as usize];
    let mut cursor = 0;
    let mut keys = Vec::new();
    while let NextKey::Key(length) = map.next_key(&mut cursor, &mut out) {
        // SAFETY: as in fetch.
        keys.push(out[..length].iter().map(|byte| unsafe { byte.assume_init() }).collect());
    }
    keys
}

pub(super) fn keys(map: &Map) -> Vec<Vec<u8>> {
    let mut keys = keys_as_listed(map);
    keys.sort();
    keys
}

fn store(map: &Map, key: &[u8], value: &[u8]) -> Stored {
    map.store(key, Content::Bytes(value), 0).unwrap()
}

#[test]
#[cfg_attr(miri, ignore = "a large table: minutes")]
fn a_table_of_n_slots_takes_n_keys_whatever_they_are() {
    for slots in [1, 2, 4, 7, 8, 9, 100, 1000] {
        for seed in 0..20u64 {
            let map = map(slots, 64);
            for key in 0..slots {
                assert_eq!(store(&map, format!("{seed}-{key}").as_bytes(), b"v"), Stored::Yes, "{key} of {slots}");
            }
            assert_eq!(store(&map, b"one more", b"v"), Stored::Full);
            assert_eq!(store(&map, format!("{seed}-0").as_bytes(), b"new"), Stored::Yes);
            map.verify().unwrap();
            let figures = map.figures();
            assert_eq!((figures.used, figures.full, figures.tombstones), (slots, 1, 0));
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "a large table: minutes")]
fn what_was_deleted_costs_no_search_and_no_slot() {
    let map = map(100, 64);
    for key in 0..20_000u32 {
        assert_eq!(store(&map, &key.to_ne_bytes(), b"v"), Stored::Yes);
        assert!(map.delete(&key.to_ne_bytes()).unwrap());
    }
    assert!(map.groups.iter().all(|group| group.reach.load(Ordering::Relaxed) == 0));
    let figures = map.figures();
    assert!(figures.used == 0 && figures.tombstones <= 100 && figures.tombstones > 0);
    for key in 0..100u32 {
        assert_eq!(store(&map, &key.to_ne_bytes(), b"v"), Stored::Yes);
    }
    map.verify().unwrap();
}

#[test]
fn values_of_every_length_come_back_and_larger_ones_are_refused_whole() {
    let map = map(4, 100);
    for length in 0..=map.max_pair() as usize - 3 {
        let value: Vec<u8> = (0..length).map(|byte| byte as u8).collect();
        assert_eq!(store(&map, b"key", &value), Stored::Yes);
        assert_eq!(fetch(&map, b"key"), Some(value));
    }
    let old = fetch(&map, b"key");
    assert_eq!(store(&map, b"key", &[1; 66]), Stored::TooLarge);
    assert_eq!(store(&map, b"", b"x"), Stored::TooLarge);
    assert_eq!(store(&map, &[b'k'; 69], b""), Stored::TooLarge);
    assert_eq!(fetch(&map, b"key"), old);
    let mut short = [MaybeUninit::new(9u8); 3];
    assert_eq!(map.fetch(b"key", &mut short), Read::TooShort(65));
}

#[test]
fn counters_count_refuse_and_overflow() {
    let map = map(4, 64);
    assert_eq!(map.incr(b"c", 5, 0).unwrap(), Counted::Now(5));
    assert_eq!(map.incr(b"c", -7, 0).unwrap(), Counted::Now(-2));
    assert_eq!(map.counter(b"c"), Some(-2));
    store(&map, b"text", b"abc");
    assert_eq!(map.incr(b"text", 1, 0).unwrap(), Counted::NotCounter);
    assert_eq!(fetch(&map, b"text").unwrap(), b"abc");
    store(&map, b"max", &0i64.to_ne_bytes());
    assert_eq!(map.counter(b"max"), Some(0), "eight bytes of a small integer read as a counter");
    assert_eq!(fetch(&map, b"max").unwrap(), [0; 8], "and come back as they are");
    assert_eq!(map.incr(b"max", i64::MAX, 0).unwrap(), Counted::Now(i64::MAX));
    assert!(matches!(map.incr(b"max", 1, 0), Err(Error::Overflow { .. })));
    assert_eq!(map.counter(b"max"), Some(i64::MAX));
    store(&map, b"wide", &(1i64 << 53).to_ne_bytes());
    assert_eq!((map.counter(b"wide"), map.incr(b"wide", 1, 0).unwrap()), (None, Counted::NotCounter));
    assert_eq!(map.incr(b"fifth", 1, 0).unwrap(), Counted::Full);
    map.verify().unwrap();
}

#[test]
fn lapsed_entries_are_absent_everywhere_and_never_refuse_a_key() {
    let _turn = CLOCK.lock();
    let at = |ms: u64| clock::freeze(Some(1_700_000_000_000_000_000 + ms * 1_000_000), None);
    at(0);
    let map = map(8, 64);
    for key in 0..8u8 {
        map.store(&[key], Content::Bytes(b"v"), 100).unwrap();
    }
    assert_eq!(map.store(b"new", Content::Bytes(b"v"), 0).unwrap(), Stored::Full);
    at(99);
    assert!(map.exists(&[0]) && keys(&map).len() == 8);
    assert_eq!(map.store(b"new", Content::Bytes(b"v"), 0).unwrap(), Stored::Full);
    at(100);
    assert!(keys(&map).is_empty() && map.figures().used == 8);
    assert!(!map.exists(&[0]) && fetch(&map, &[1]).is_none() && map.counter(&[2]).is_none());
    assert!(!map.delete(&[3]).unwrap());
    assert_eq!(map.incr(&[4], 7, 0).unwrap(), Counted::Now(7));
    assert_eq!(map.figures().expired, 5);
    map.verify().unwrap();
    for key in 20..27u8 {
        assert_eq!(map.store(&[key], Content::Bytes(b"v"), 0).unwrap(), Stored::Yes);
    }
    assert_eq!(map.store(b"new", Content::Bytes(b"v"), 0).unwrap(), Stored::Full);
    let figures = map.figures();
    assert_eq!((figures.used, figures.expired, figures.tombstones), (8, 8, 0));
    map.verify().unwrap();
    clock::freeze(None, None);
}

#[test]
fn a_window_is_not_moved_by_later_counts_and_the_clock_is_read_for_deadlines_alone() {
    let _turn = CLOCK.lock();
    clock::freeze(Some(1_000_000_000), None);
    let map = map(8, 64);
    assert_eq!(map.incr(b"w", 1, 1000).unwrap(), Counted::Now(1));
    clock::freeze(Some(1_900_000_000), None);
    assert_eq!(map.incr(b"w", 1, 1000).unwrap(), Counted::Now(2));
    clock::freeze(Some(2_000_000_000), None);
    assert_eq!(map.incr(b"w", 1, 1000).unwrap(), Counted::Now(1));
    let before = clock::reads();
    store(&map, b"plain", b"v");
    map.incr(b"n", 1, 0).unwrap();
    assert!(map.exists(b"plain") && map.counter(b"n") == Some(1) && map.delete(b"n").unwrap());
    assert_eq!(clock::reads(), before);
    clock::freeze(None, None);
}

#[test]
fn the_same_name_with_another_shape_is_refused_with_both_shapes() {
    let arena = Arena::on_heap(1 << 16, 4).unwrap();
    let shape = Shape { slots: 8, slot_size: 64, serialised: false };
    let first = Map::bind(&arena, b"m", shape).unwrap();
    store(&first, b"k", b"v");
    let second = Map::bind(&arena, b"m", shape).unwrap();
    assert_eq!(fetch(&second, b"k").unwrap(), b"v");
    for other in [
        Shape { slots: 9, ..shape },
        Shape { slot_size: 65, ..shape },
        Shape { serialised: true, ..shape },
        Shape { slots: 1 << 40, ..shape },
    ] {
        let Err(error) = Map::bind(&arena, b"m", other) else { panic!("{other:?} was accepted") };
        let text = error.to_string();
        assert!(matches!(error, Error::Invalid(_)) || text.contains("8 slots of 64"), "{text}");
    }
    assert!(matches!(arena.carve_region(b"m", 64), Err(Error::Shape { .. })));
}

#[test]
#[cfg_attr(miri, ignore = "a large table: minutes")]
fn a_map_whose_owners_are_damaged_says_so_instead_of_making_room_for_ever() {
    let _turn = CLOCK.lock();
    clock::freeze(Some(1_000_000_000), None);
    let map = map(2_000, 64);
    for key in 0..2_000u32 {
        map.store(&key.to_ne_bytes(), Content::Bytes(b"v"), 10).unwrap();
    }
    for word in map.owners.iter() {
        word.store(0xc8c8_c8c8_c8c8_c8c8, Ordering::Relaxed);
    }
    clock::freeze(Some(2_000_000_000), None);
    assert!(matches!(map.store(b"new", Content::Bytes(b"v"), 0), Err(Error::Corrupt(_))));
    clock::freeze(None, None);
}

#[test]
fn an_insert_that_loses_its_word_leaves_no_longer_reach() {
    let map = map(16, 64);
    let hash = map.hash(b"key");
    let turn = map.turn(map.stripe_of(hash)).unwrap();
    let claim = turn.claim().unwrap();
    let position = probe::Position { group: map.group_after(map.home(hash), 2), lane: 0 };
    // Somebody else's entry, where ours was to go.
    map.cell(position).store(word::Word::live(1, 0, 9, false).0, Ordering::Relaxed);
    let change = journal::Change {
        step: journal::Step::Insert,
        position,
        before: word::Word::EMPTY,
        after: word::Word::live(hash, 2, turn.stripe.spare.load(Ordering::Relaxed), false),
        collects: false,
        claim: Some(claim),
    };
    assert!(!turn.publish(&change));
    assert_eq!(map.reach(map.home(hash)), 0);
    assert_eq!(turn.stripe.journal.step.load(Ordering::Relaxed), 0, "nor an open journal");
}

#[test]
#[cfg_attr(miri, ignore = "a large table: minutes")]
fn scribbled_reaches_and_bounds_do_not_make_a_search_endless() {
    let map = map(20_000, 64);
    (0..20_000u32).for_each(|key| assert_eq!(store(&map, &key.to_ne_bytes(), b"v"), Stored::Yes));
    for group in map.groups.iter() {
        group.reach.store(u64::MAX, Ordering::Relaxed);
    }
    for bound in map.bounds.iter() {
        bound.store(0, Ordering::Relaxed);
    }
    // One call looks at so much and no more; but each leaves less to the next.
    let mut calls = 0..map.bounds.len() / 8;
    let answer = calls.find_map(|_| match map.store(b"new", Content::Bytes(b"v"), 0) {
        Err(Error::Corrupt(_)) => None,
        answer => Some(answer.unwrap()),
    });
    assert_eq!(answer, Some(Stored::Full));
    assert!(
        map.bounds.iter().all(|bound| bound.load(Ordering::Relaxed) == lapse::NEVER),
        "the next one need not search"
    );
}

/// Random bytes over every part of a live map: any answer will do, but it comes, and nothing outside is touched.
#[test]
fn no_bytes_in_the_region_can_crash_a_process() {
    let _turn = CLOCK.lock();
    crate::patience::set_patience(1);
    let rounds = if cfg!(miri) { 1 } else { 3_000 };
    for seed in 0..rounds {
        let map = map(16, 64);
        for key in 0..12u8 {
            map.store(&[b'k', key], Content::Bytes(&[key; 20]), u64::from(key % 2) * 1000).unwrap();
        }
        map.incr(b"c", 1, 0).unwrap();
        let mut random = (seed as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
        let mut next = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        };
        let region = map.arena.find_region(b"m").unwrap();
        let words: &[AtomicU64] = map.arena.mapping().view(region.offset, region.length / 8).unwrap();
        for _ in 0..next() % 8 + 1 {
            let value = if next() % 2 == 0 { next() } else { u64::MAX << (next() % 64) };
            words[next() as usize % words.len()].store(value, Ordering::Relaxed);
        }
        let mut out = [MaybeUninit::new(0u8); 64];
        for key in 0..14u8 {
            let key = [b'k', key];
            map.fetch(&key, &mut out);
            map.exists(&key);
            let _ = (map.store(&key, Content::Bytes(b"new"), 5), map.incr(&key, 1, 0), map.delete(&key));
        }
        let mut cursor = 0;
        while map.next_key(&mut cursor, &mut out) != NextKey::End {}
        let _ = (map.figures(), map.verify(), Map::bind(&map.arena, b"m", map.shape));
    }
    crate::patience::set_patience(crate::patience::PATIENCE_MS);
}
