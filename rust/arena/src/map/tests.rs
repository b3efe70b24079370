//! What the map promises, one promise after another. (All of it together, against a plain hash: `model`.)

use super::*;
use crate::clock;
use crate::sync::Ordering;
use std::collections::HashMap;
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
            let figures = map.figures().unwrap();
            assert_eq!((figures.used, figures.full, figures.tombstones), (slots, 1, 0));
        }
    }
}

#[test]
fn what_was_deleted_costs_no_search_and_no_slot() {
    let map = map(100, 64);
    for key in 0..20_000u32 {
        assert_eq!(store(&map, &key.to_ne_bytes(), b"v"), Stored::Yes);
        assert!(map.delete(&key.to_ne_bytes()).unwrap());
    }
    assert!(map.groups.iter().all(|group| group.reach.load(Ordering::Relaxed) == 0));
    let figures = map.figures().unwrap();
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
    assert!(keys(&map).is_empty() && map.figures().unwrap().used == 8);
    assert!(!map.exists(&[0]) && fetch(&map, &[1]).is_none() && map.counter(&[2]).is_none());
    assert!(!map.delete(&[3]).unwrap());
    assert_eq!(map.incr(&[4], 7, 0).unwrap(), Counted::Now(7));
    assert_eq!(map.figures().unwrap().expired, 5);
    map.verify().unwrap();
    for key in 20..27u8 {
        assert_eq!(map.store(&[key], Content::Bytes(b"v"), 0).unwrap(), Stored::Yes);
    }
    assert_eq!(map.store(b"new", Content::Bytes(b"v"), 0).unwrap(), Stored::Full);
    let figures = map.figures().unwrap();
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
        after: word::Word::live(hash, 2, turn.spare().unwrap(), false),
        collects: false,
        claim: Some(claim),
    };
    assert!(!turn.publish(&change));
    assert_eq!(map.reach(map.home(hash)), 0);
    assert_eq!(turn.stripe.journal.step.load(Ordering::Relaxed), 0, "nor an open journal");
}

/// The thread id of a holder that lives, and is not us.
const SOMEBODY: u32 = 1;

/// A line of owners that was closed, and in which a buffer was freed before its closer looked again.
fn map_with_a_line_closed_too_soon() -> Map {
    let map = map(256, 64);
    for key in 0..256u32 {
        assert_eq!(store(&map, &key.to_ne_bytes(), b"v"), Stored::Yes);
    }
    assert_eq!(store(&map, b"one more", b"v"), Stored::Full);
    assert!((0..map.layout.owner_lines).all(|line| !map.is_open(line)), "a refusal closes what it looked through");
    assert!(map.delete(&7u32.to_ne_bytes()).unwrap());
    let open: Vec<u64> = map.open_lines(0).collect();
    assert_eq!(open.len(), 1, "a deletion opens its line again");
    map.vacancies[0].store(0, Ordering::Relaxed);
    for stripe in map.stripes.iter() {
        stripe.cursor.store((open[0] + 1) % map.layout.owner_lines * WORDS_A_LINE, Ordering::Relaxed);
    }
    map.stripes[3].cursor.store(open[0] * WORDS_A_LINE, Ordering::Relaxed);
    map
}

/// A key of another stripe than the closer's.
fn key_elsewhere(map: &Map) -> Vec<u8> {
    (0u32..).map(|key| format!("new {key}").into_bytes()).find(|key| map.stripe_of(map.hash(key)) != 3).unwrap()
}

#[test]
fn a_buffer_is_found_behind_a_closer_that_stands_still() {
    let map = map_with_a_line_closed_too_soon();
    map.stripes[3].lock.store(SOMEBODY, Ordering::Relaxed);
    assert_eq!(store(&map, &key_elsewhere(&map), b"v"), Stored::Yes);
    map.stripes[3].lock.store(0, Ordering::Relaxed);
    map.verify().unwrap();
}

#[test]
fn a_buffer_is_found_behind_a_closer_that_died() {
    let map = map_with_a_line_closed_too_soon();
    const OWNER_DIED: u32 = 1 << 30;
    map.stripes[3].lock.store(OWNER_DIED, Ordering::Relaxed);
    assert_eq!(store(&map, &key_elsewhere(&map), b"v"), Stored::Yes);
    map.verify().unwrap();

    let map = map_with_a_line_closed_too_soon();
    map.stripes[3].lock.store(OWNER_DIED, Ordering::Relaxed);
    assert_eq!(map.figures().unwrap().used, 255, "asking for the figures repairs");
    assert_eq!(map.open_lines(0).count(), 1);
    map.verify().unwrap();
}

#[test]
fn who_opens_a_line_again_makes_all_look_again_who_took_it_for_closed() {
    let map = map(256, 64);
    let before = map.freed();
    map.turn(3).unwrap().reopen_line(0);
    assert_ne!(map.freed(), before);
}

#[cfg(all(feature = "failpoints", not(miri)))]
fn dies_at(point: &str, body: impl FnOnce()) {
    // SAFETY: the child runs our own code, which takes no lock of another thread's but the allocator's, and glibc keeps
    // that usable after a fork; it leaves by _exit.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let _ = crate::failpoint::arm(point, crate::failpoint::Action::Kill);
        body();
        // SAFETY: ends the child and runs nothing of the parent's.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: waits for our own child.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert!(libc::WIFSIGNALED(status), "it died at {point}");
}

/// A map that processes share.
#[cfg(all(feature = "failpoints", not(miri)))]
fn shared_map(slots: u64) -> Map {
    let arena = Arena::create(None, slots * 64 + 4096, 4).unwrap();
    Map::bind(&arena, b"m", Shape { slots, slot_size: 64, serialised: false }).unwrap()
}

/// Where the line is closed, it must be written down already which one it is.
#[test]
#[cfg(all(feature = "failpoints", not(miri)))]
fn a_closer_that_dies_has_said_which_line_it_was_closing() {
    let map = shared_map(256);
    for key in 0..256u32 {
        assert_eq!(store(&map, &key.to_ne_bytes(), b"v"), Stored::Yes);
    }
    assert_eq!(store(&map, b"one more", b"v"), Stored::Full);
    // Open, and as full as the others.
    map.open_line(1);
    let stripe = map.stripe_of(map.hash(b"new"));
    map.stripes[stripe].cursor.store(3 * WORDS_A_LINE, Ordering::Relaxed);
    dies_at("line.closed", || drop(map.store(b"new", Content::Bytes(b"v"), 0)));
    assert!(!map.is_open(1), "it died with the line closed");
    assert_eq!(map.cursor(&map.stripes[stripe]).1, 1);
}

/// The word that a dead writer was changing was empty for a while, and now is another stripe's.
#[test]
#[cfg(all(feature = "failpoints", not(miri)))]
fn what_the_dead_did_is_told_from_what_others_did_to_the_same_word() {
    let key_of = |map: &Map, stripe: usize| {
        (0u32..).map(u32::to_ne_bytes).find(|key| map.stripe_of(map.hash(key)) == stripe).unwrap()
    };
    for point in ["reach.raised", "word.published"] {
        let map = shared_map(16);
        let key = key_of(&map, 0);
        if point == "word.published" {
            store(&map, &key, b"v");
            dies_at(point, || drop(map.delete(&key)));
        } else {
            dies_at(point, || drop(map.store(&key, Content::Bytes(b"v"), 0)));
        }
        let position = map.stripes[0].journal.position.load(Ordering::Relaxed);
        let position = probe::Position::unpack(position, map.layout.groups).unwrap();

        let other = key_of(&map, 1);
        let (hash, turn) = (map.hash(&other), map.turn(1).unwrap());
        let (claim, spare) = (turn.claim().unwrap(), turn.spare().unwrap());
        map.buffers.get(spare).unwrap().fill(&other, Content::Bytes(b"v"), 0);
        let distance = (position.group + map.layout.groups - map.home(hash)) % map.layout.groups;
        assert!(turn.publish(&journal::Change {
            step: journal::Step::Insert,
            position,
            before: word::Word::EMPTY,
            after: word::Word::live(hash, distance, spare, false),
            collects: false,
            claim: Some(claim),
        }));
        drop(turn);

        assert_eq!(map.figures().unwrap().used, 1, "{point}");
        map.verify().unwrap_or_else(|problem| panic!("{point}: {problem}"));
        assert_eq!((map.exists(&key), fetch(&map, &other)), (false, Some(b"v".to_vec())), "{point}");
    }
}

#[test]
fn a_search_in_vain_leaves_no_note_of_a_buffer_that_others_were_quicker_to_claim() {
    let map = map(4, 64);
    for key in 0..4u8 {
        assert_eq!(store(&map, &[key], b"v"), Stored::Yes);
    }
    let turn = map.turn(0).unwrap();
    turn.write(&turn.stripe.journal.claim, 1);
    assert!(turn.claim().is_err());
    drop(turn);
    map.verify().unwrap();
}

#[test]
fn only_what_has_lapsed_is_collected() {
    let _turn = CLOCK.lock();
    clock::freeze(Some(1_000_000_000), None);
    let map = map(4, 64);
    map.store(b"key", Content::Bytes(b"v"), 10).unwrap();
    let turn = map.turn(0).unwrap();
    let found = turn.locate(b"key", map.hash(b"key")).unwrap().unwrap();
    // As for a reader who saw an earlier entry of the key, in the same buffer.
    assert!(!turn.collect(found.position, found.word).unwrap());
    clock::freeze(Some(1_010_000_000), None);
    assert!(turn.collect(found.position, found.word).unwrap());
    assert!(!turn.collect(found.position, found.word).unwrap());
    clock::freeze(None, None);
}

#[test]
fn an_insert_that_finds_its_stripe_damaged_gives_its_claim_back() {
    let map = map(4, 64);
    let spare = map.stripes[0].spare.load(Ordering::Relaxed);
    map.stripes[0].spare.store(u32::MAX, Ordering::Relaxed);
    assert!(matches!(map.store(b"key", Content::Bytes(b"v"), 0), Err(Error::Corrupt(_))));
    map.stripes[0].spare.store(spare, Ordering::Relaxed);
    map.verify().unwrap();
}

/// A search that waited for one stripe's lock in vain has others to look at.
#[test]
#[cfg(not(miri))]
fn a_lapsed_entry_that_was_waited_for_and_is_lost_is_not_the_last_hope() {
    let _turn = CLOCK.lock();
    let at = |ms: u64| clock::freeze(Some((1_000_000 + ms) * 1_000_000), None);
    at(0);
    let map = map(64, 64);
    let key_of =
        |stripe: usize| (0u32..).map(u32::to_ne_bytes).find(|key| map.stripe_of(map.hash(key)) == stripe).unwrap();
    for stripe in [0, 1] {
        map.store(&key_of(stripe), Content::Bytes(b"lapses"), 1).unwrap();
    }
    for key in 0..62u64 {
        assert_eq!(store(&map, &key.to_ne_bytes(), b"stays"), Stored::Yes);
    }
    at(1);
    std::thread::scope(|scope| {
        // Of the last stripe: its search comes to the first two afterwards, and both are held.
        let (first, second) = (map.turn(0).unwrap(), map.turn(1).unwrap());
        let stored = scope.spawn(|| store(&map, &key_of(7), b"new"));
        let until_waited_for = |stripe: usize| {
            while map.stripes[stripe].lock.load(Ordering::SeqCst) >> 31 == 0 && !stored.is_finished() {
                std::thread::yield_now();
            }
        };
        until_waited_for(0);
        // What it waits for is meanwhile overwritten, without a deadline.
        let found = first.locate(&key_of(0), map.hash(&key_of(0))).unwrap().unwrap();
        let word = found.word.moved_to(found.word.buffer(), false);
        map.cell(found.position).store(word.0, Ordering::Release);
        drop(first);
        until_waited_for(1);
        drop(second);
        assert_eq!(stored.join().unwrap(), Stored::Yes);
    });
    assert_eq!(map.figures().unwrap().expired, 1);
    clock::freeze(None, None);
}

#[test]
#[cfg(not(miri))]
fn a_clock_that_is_set_back_during_a_search_leaves_no_bound_that_is_too_late() {
    let turn = CLOCK.lock();
    let at = |ms: u64| clock::freeze(Some((1_000_000 + ms) * 1_000_000), None);
    at(0);
    let map = map(1, 64);
    let done = crate::sync::AtomicBool::new(false);
    let kept = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                at(10);
                at(0);
            }
        });
        let kept = (0..20_000).try_for_each(|_| {
            map.store(b"key", Content::Bytes(b"v"), 5)?;
            map.make_room(0)?;
            map.verify()
        });
        done.store(true, Ordering::Relaxed);
        kept
    });
    clock::freeze(None, None);
    drop(turn);
    kept.unwrap();
}

#[test]
fn a_search_in_vain_makes_the_next_one_short() {
    let _turn = CLOCK.lock();
    let at = |ms: u64| clock::freeze(Some((1_000_000 + ms) * 1_000_000), None);
    at(0);
    let map = map(4_096, 64);
    let key = |n: u32| n.to_ne_bytes();
    for n in 0..4_096 {
        map.store(&key(n), Content::Bytes(b"v"), if n % 8 == 0 { 100 + u64::from(n) } else { 0 }).unwrap();
    }
    let due = || {
        let now = clock::wall_ns() / 1_000_000;
        map.bounds.iter().filter(|bound| bound.load(Ordering::Relaxed) <= now).count()
    };
    assert_eq!((store(&map, b"new", b"v"), due()), (Stored::Full, 0));
    // Overwritten without deadlines: the bounds do not know, until a search has found out.
    for n in 0..4_096 {
        store(&map, &key(n), b"v");
    }
    at(100_000);
    assert!(due() > 0);
    assert_eq!((store(&map, b"new", b"v"), due()), (Stored::Full, 0));
    // A stripe that is held cannot be corrected; it is looked at, nothing is waited for.
    map.store(&key(7), Content::Bytes(b"v"), 1).unwrap();
    let stripe = map.stripe_of(map.hash(&key(7)));
    store(&map, &key(7), b"v");
    at(200_000);
    map.stripes[stripe].lock.store(SOMEBODY, Ordering::Relaxed);
    let elsewhere = (0u32..).map(|n| [b'n', n as u8]).find(|key| map.stripe_of(map.hash(key)) != stripe).unwrap();
    assert_eq!((store(&map, &elsewhere, b"v"), due()), (Stored::Full, 1));
    map.stripes[stripe].lock.store(0, Ordering::Relaxed);
    map.verify().unwrap();
    clock::freeze(None, None);
}

#[test]
fn a_full_map_takes_a_new_key_for_every_entry_that_lapses_and_no_more() {
    let _turn = CLOCK.lock();
    let at = |ms: u64| clock::freeze(Some((1_000_000 + ms) * 1_000_000), None);
    at(0);
    let slots = if cfg!(miri) { 100 } else { 3_000 };
    let map = map(slots, 64);
    for n in 0..slots as u32 {
        map.store(&n.to_ne_bytes(), Content::Bytes(b"v"), u64::from(n) + 1).unwrap();
    }
    for ms in 0..slots {
        at(ms + 1);
        let new = |which: u8| [b"new".as_slice(), &ms.to_ne_bytes(), &[which]].concat();
        assert_eq!(store(&map, &new(0), b"v"), Stored::Yes, "one has lapsed at {ms}");
        assert_eq!(store(&map, &new(1), b"v"), Stored::Full, "and one alone");
    }
    let figures = map.figures().unwrap();
    assert_eq!((figures.used, figures.expired, figures.full), (slots, slots, slots));
    map.verify().unwrap();
    clock::freeze(None, None);
}

#[test]
fn open_lines_are_visited_once_each_from_anywhere() {
    let map = map(64 * 200, 64);
    let lines = map.layout.owner_lines;
    for start in [0, 1, 63, 64, 65, lines - 1] {
        let mut seen: Vec<u64> = map.open_lines(start).collect();
        assert_eq!(seen[0], start);
        seen.sort_unstable();
        assert_eq!(seen, (0..lines).collect::<Vec<_>>());
    }
    for word in map.vacancies.iter() {
        word.store(u64::MAX, Ordering::Relaxed);
    }
    assert!(map.open_lines(5).all(|line| line < lines), "scribbled bits name no line that does not exist");
}

/// How many groups a miss looks at, and a hit, on average.
fn lengths_of_searches(map: &Map) -> (f64, f64) {
    let homes = 0..map.layout.groups;
    let miss = homes.clone().map(|home| map.reach(home)).sum::<u64>() as f64 / map.layout.groups as f64;
    let words = map.groups.iter().flat_map(|group| group.words.iter().map(|cell| cell.load(Ordering::Relaxed)));
    let live: Vec<u64> = words.map(word::Word).filter(|word| word.is_live()).map(|word| word.distance() + 1).collect();
    (miss, live.iter().sum::<u64>() as f64 / live.len() as f64)
}

#[test]
fn after_any_churn_searches_are_as_short_as_in_a_fresh_table() {
    let (slots, live, churn) = if cfg!(miri) { (100u32, 75u32, 500u32) } else { (10_000, 7_500, 500_000) };
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
fn deleting_keys_in_any_order_keeps_searches_short() {
    let slots = if cfg!(miri) { 200u32 } else { 100_000 };
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
fn replacing_a_full_table_of_lapsed_entries_keeps_searches_short() {
    let _turn = CLOCK.lock();
    clock::freeze(Some(1_000_000_000), None);
    let slots = if cfg!(miri) { 200u32 } else { 50_000 };
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

/// Random bytes over every part of a live map: any answer will do, but it comes, and nothing outside is touched.
#[test]
fn scribbled_reaches_and_bounds_do_not_make_a_search_endless() {
    let map = map(20_000, 64);
    (0..20_000u32).for_each(|key| assert_eq!(store(&map, &key.to_ne_bytes(), b"v"), Stored::Yes));
    for group in map.groups.iter() {
        group.reach.store(u64::MAX, Ordering::Relaxed);
    }
    for bound in map.bounds.iter() {
        bound.store(0, Ordering::Relaxed);
    }
    assert!(matches!(map.store(b"new", Content::Bytes(b"v"), 0), Err(Error::Corrupt(_))));
}

#[test]
fn no_bytes_in_the_region_can_crash_a_process() {
    let _turn = CLOCK.lock();
    crate::patience::set_patience(1);
    let rounds = if cfg!(miri) { 3 } else { 3_000 };
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
