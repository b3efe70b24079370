//! Room for a new key: found wherever others stopped or died while they were giving it, or looking for it; and no more of
//! it than there is.

use super::*;

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
    assert_eq!(map.figures().used, 255, "asking for the figures repairs");
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
        let (claim, spare) = (turn.claim().unwrap(), turn.stripe.spare.load(Ordering::Relaxed));
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

        assert_eq!(map.figures().used, 1, "{point}");
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
    assert_eq!(map.figures().expired, 1);
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
            map.make_room(0, &mut 0)?;
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
#[cfg_attr(miri, ignore = "a large table: minutes")]
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

/// Somebody who writes over the bounds all the time, and over `freed`, has a store search again and again: it once did so a
/// thousand times over the whole table.
#[test]
fn what_a_store_looks_at_in_search_of_room_is_bounded_over_all_its_searches() {
    let _turn = CLOCK.lock();
    clock::freeze(Some(1_000_000_000_000), None);
    let map = map(if cfg!(miri) { 30 } else { 3_000 }, 64);
    for n in 0..map.capacity() {
        store(&map, &n.to_ne_bytes(), b"v");
    }
    map.groups.iter().for_each(|group| group.reach.store(u64::MAX, Ordering::Relaxed));
    let (mut looked, mut before) = (0, 0);
    let searches = (0..100_000).take_while(|_| {
        map.bounds.iter().for_each(|bound| bound.store(1, Ordering::Relaxed));
        before = looked;
        matches!(map.make_room(0, &mut looked), Ok(false))
    });
    let searches = searches.count() as u64;
    assert!((1..100_000).contains(&searches), "{searches}");
    assert!(before <= 250_000 + 16 * map.layout.groups && looked > before, "{before}, {looked}");
    clock::freeze(None, None);
}

#[test]
fn a_full_map_takes_a_new_key_for_every_entry_that_lapses_and_no_more() {
    let _turn = CLOCK.lock();
    let at = |ms: u64| clock::freeze(Some((1_000_000 + ms) * 1_000_000), None);
    at(0);
    let slots = if cfg!(miri) { 30 } else { 3_000 };
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
    let figures = map.figures();
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

/// Keys that went far out stay there, so after many rounds of the right deletions searches may be long.
#[test]
#[cfg_attr(miri, ignore = "a large table: minutes")]
fn a_lapsed_entry_is_found_however_long_searches_have_become() {
    let _turn = CLOCK.lock();
    clock::freeze(Some(1_000_000_000), None);
    let map = map(1_000, 64);
    for key in 0..1_000u32 {
        map.store(&key.to_ne_bytes(), Content::Bytes(b"v"), u64::from(key % 10 == 0)).unwrap();
    }
    for reach in [50, 1_000, u64::MAX] {
        for group in map.groups.iter() {
            group.reach.store(reach, Ordering::Relaxed);
        }
        clock::freeze(Some(2_000_000_000), None);
        for key in 0..20 {
            assert_eq!(store(&map, format!("{reach} {key}").as_bytes(), b"v"), Stored::Yes);
        }
    }
    assert_eq!(map.figures().expired, 60);
    clock::freeze(None, None);
}
