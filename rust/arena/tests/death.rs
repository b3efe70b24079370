//! Kills a process at every failpoint of every operation, and asks the survivors: every key old or new and whole,
//! every other key untouched, statistics equal to a recount, every buffer owned once, every slot still usable, and
//! nobody waits.

use shared_arena::{
    failpoint, patience, Arena, Content, Counted, Limiter, Map, MapShape, NextKey, Policy, Read, Stored,
};
use std::collections::BTreeSet;
use std::mem::MaybeUninit;
use std::sync::{Arc, Mutex};

/// A fork copies every thread's locks: one test forks at a time.
static FORKING: Mutex<()> = Mutex::new(());

const SLOTS: u64 = 16;
const SHAPE: MapShape = MapShape { slots: SLOTS, slot_size: 4096, serialised: false };

fn long(byte: u8) -> Vec<u8> {
    vec![byte; 4000]
}

fn fetch(map: &Map, key: &[u8]) -> Option<Vec<u8>> {
    let mut out = vec![MaybeUninit::new(0u8); 4096];
    match map.fetch(key, &mut out) {
        // SAFETY: initialised above, and copied over with initialised bytes.
        Read::Bytes(length) => Some(out[..length].iter().map(|byte| unsafe { byte.assume_init() }).collect()),
        Read::Counter(number) => Some(number.to_string().into_bytes()),
        Read::Absent => None,
        other => panic!("{other:?}"),
    }
}

/// Runs `body` in a child that dies at `point`; true if it got there.
fn dies_at(point: &str, body: impl FnOnce()) -> bool {
    // SAFETY: the child runs our own code, which takes no lock of another thread's but the allocator's, and glibc
    // keeps that usable after a fork; it leaves by _exit.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // A child's first lock is not had at once, as nearly all are.
        Arena::on_heap(4096, 1).unwrap().carve_region(b"r", 16).unwrap();
        assert!(failpoint::arm(point, failpoint::Action::Kill));
        body();
        // SAFETY: ends the child and runs nothing of the parent's.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: waits for our own child.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    assert!(libc::WIFSIGNALED(status) || libc::WEXITSTATUS(status) == 0, "the child failed at {point}: {status}");
    libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL
}

fn live_keys(map: &Map) -> u64 {
    let mut out = vec![MaybeUninit::new(0u8); 4096];
    let mut cursor = 0;
    std::iter::from_fn(|| Some(map.next_key(&mut cursor, &mut out))).take_while(|next| *next != NextKey::End).count()
        as u64
}

struct Operation {
    name: &'static str,
    /// What is there before.
    before: fn(&Map),
    run: fn(&Map),
    /// What `key` may read as afterwards; None is absent.
    outcomes: fn() -> Vec<Option<Vec<u8>>>,
}

const KEY: &[u8] = b"the key";

fn put(map: &Map, key: &[u8], value: &[u8]) {
    assert_eq!(map.store(key, Content::Bytes(value), 0).unwrap(), Stored::Yes);
}

const OPERATIONS: &[Operation] = &[
    Operation {
        name: "insert",
        before: |_| (),
        run: |map| put(map, KEY, &long(b'A')),
        outcomes: || vec![None, Some(long(b'A'))],
    },
    Operation {
        name: "insert over a tombstone",
        before: |map| {
            for key in 0..SLOTS as u8 - 3 {
                put(map, &[key], b"gone");
            }
            for key in 0..SLOTS as u8 - 3 {
                assert!(map.delete(&[key]).unwrap());
            }
        },
        run: |map| put(map, KEY, &long(b'A')),
        outcomes: || vec![None, Some(long(b'A'))],
    },
    Operation {
        name: "refused insert",
        before: |map| (0..SLOTS as u8 - 2).for_each(|key| put(map, &[key], b"there")),
        run: |map| assert_eq!(map.store(KEY, Content::Bytes(b"new"), 0).unwrap(), Stored::Full),
        outcomes: || vec![None],
    },
    Operation {
        name: "insert in the place of a lapsed entry",
        before: |map| {
            (0..SLOTS as u8 - 3).for_each(|key| put(map, &[key], b"there"));
            map.store(b"old", Content::Bytes(b"lapsed"), 1).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(3));
        },
        run: |map| put(map, KEY, &long(b'A')),
        outcomes: || vec![None, Some(long(b'A'))],
    },
    Operation {
        name: "overwrite",
        before: |map| put(map, KEY, &long(b'A')),
        run: |map| put(map, KEY, &long(b'B')),
        outcomes: || vec![Some(long(b'A')), Some(long(b'B'))],
    },
    Operation {
        name: "shrink",
        before: |map| put(map, KEY, &long(b'A')),
        run: |map| put(map, KEY, b""),
        outcomes: || vec![Some(long(b'A')), Some(vec![])],
    },
    Operation {
        name: "overwrite with a deadline",
        before: |map| put(map, KEY, b"old"),
        run: |map| {
            map.store(KEY, Content::Bytes(b"new"), 3_600_000).unwrap();
        },
        outcomes: || vec![Some(b"old".to_vec()), Some(b"new".to_vec())],
    },
    Operation {
        name: "overwrite of what has lapsed",
        before: |map| {
            map.store(KEY, Content::Bytes(b"old"), 1).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(3));
        },
        run: |map| put(map, KEY, b"new"),
        outcomes: || vec![None, Some(b"new".to_vec())],
    },
    Operation {
        name: "delete",
        before: |map| put(map, KEY, &long(b'A')),
        run: |map| assert!(map.delete(KEY).unwrap()),
        outcomes: || vec![Some(long(b'A')), None],
    },
    Operation {
        name: "first count",
        before: |_| (),
        run: |map| assert_eq!(map.incr(KEY, 7, 0).unwrap(), Counted::Now(7)),
        outcomes: || vec![None, Some(b"7".to_vec())],
    },
    Operation {
        name: "later count",
        before: |map| {
            map.incr(KEY, 7, 0).unwrap();
        },
        run: |map| assert_eq!(map.incr(KEY, 7, 0).unwrap(), Counted::Now(14)),
        outcomes: || vec![Some(b"7".to_vec()), Some(b"14".to_vec())],
    },
    Operation {
        name: "collecting a lapsed entry",
        before: |map| {
            map.store(KEY, Content::Bytes(b"old"), 1).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(3));
        },
        run: |map| assert!(!map.exists(KEY)),
        outcomes: || vec![None],
    },
];

fn check_survivors(map: &Map, operation: &Operation, what: &str) {
    let value = fetch(map, KEY);
    assert!((operation.outcomes)().contains(&value), "{what}: {:?} bytes", value.map(|value| value.len()));
    assert_eq!(fetch(map, b"neighbour").as_deref(), Some(&b"untouched"[..]), "{what}");
    assert_eq!(map.counter(b"neighbour counter"), Some(1), "{what}");
    map.verify().unwrap_or_else(|problem| panic!("{what}: {problem}"));
    // Usable to the last slot, and not one more.
    let _ = map.delete(&[0]);
    put(map, KEY, b"again");
    let mut extra = 0;
    let there = live_keys(map);
    while map.store(&[200, extra], Content::Bytes(b"x"), 0).unwrap() == Stored::Yes {
        extra += 1;
    }
    assert_eq!((u64::from(extra) + there, map.figures().used), (SLOTS, SLOTS), "{what}");
    map.verify().unwrap_or_else(|problem| panic!("{what}, filled: {problem}"));
}

#[test]
fn a_death_at_any_failpoint_of_any_operation_harms_nobody() {
    let _turn = FORKING.lock().unwrap();
    patience::set_patience(1_000);
    let mut reached = BTreeSet::new();
    for operation in OPERATIONS {
        for point in failpoint::NAMES {
            let arena = Arena::create(None, SLOTS * 4096 + 8192, 4).unwrap();
            let map = Map::bind(&arena, b"m", SHAPE).unwrap();
            put(&map, b"neighbour", b"untouched");
            map.incr(b"neighbour counter", 1, 0).unwrap();
            (operation.before)(&map);
            if dies_at(point, || (operation.run)(&map)) {
                reached.insert(*point);
                check_survivors(&map, operation, &format!("{} killed at {point}", operation.name));
            }
        }
    }
    let expected: BTreeSet<_> = failpoint::NAMES
        .iter()
        .copied()
        .filter(|name| !["recover.", "carve.", "bucket."].iter().any(|other| name.starts_with(other)))
        .collect();
    assert_eq!(reached, expected, "every failpoint of a map was met");
}

#[test]
fn a_death_during_the_repair_of_a_death_harms_nobody() {
    let _turn = FORKING.lock().unwrap();
    for operation in OPERATIONS {
        for first in ["claim.taken", "fill.half", "journal.written", "word.published", "free.begun", "journal.applied"]
        {
            for second in failpoint::NAMES {
                let arena = Arena::create(None, SLOTS * 4096 + 8192, 4).unwrap();
                let map = Map::bind(&arena, b"m", SHAPE).unwrap();
                put(&map, b"neighbour", b"untouched");
                map.incr(b"neighbour counter", 1, 0).unwrap();
                (operation.before)(&map);
                if dies_at(first, || (operation.run)(&map)) && dies_at(second, || _ = map.figures()) {
                    let what = format!("{} killed at {first}, its repair at {second}", operation.name);
                    check_survivors(&map, operation, &what);
                }
            }
        }
    }
}

/// A store over a key that is there changes no figure and notes none, so what an earlier change noted must not count;
/// one over a lapsed entry counts that, once.
#[test]
fn the_figures_after_a_dead_overwrite_are_those_before_it_or_after_it() {
    let _turn = FORKING.lock().unwrap();
    for ttl in [0, 1] {
        for point in failpoint::NAMES {
            let arena = Arena::create(None, 4 * 128 + 4096, 4).unwrap();
            let map = Map::bind(&arena, b"m", MapShape { slots: 4, slot_size: 128, serialised: false }).unwrap();
            map.store(KEY, Content::Bytes(b"old"), ttl).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(3 * ttl));
            // Of a key that never was, one more is noted.
            assert!(dies_at("reach.raised", || put(&map, b"never there", b"v")));
            let before = map.figures();
            assert_eq!((before.used, before.tombstones, before.expired), (1, 0, 0));
            dies_at(point, || put(&map, KEY, b"new"));
            let after = map.figures();
            let stored = fetch(&map, KEY).as_deref() == Some(b"new");
            let used = u64::from(stored || ttl == 0 || after.expired == 0);
            let tombstones = 1 - used;
            let expired = u64::from(ttl != 0 && (stored || used == 0));
            assert_eq!((after.used, after.tombstones, after.expired), (used, tombstones, expired), "{point}, {ttl}");
            map.verify().unwrap_or_else(|problem| panic!("{point}: {problem}"));
        }
    }
}

/// A dead writer's lapsed entry, and the buffer it had claimed or was giving back, are room for a new key, at the
/// first attempt and whatever its stripe.
#[test]
fn what_the_dead_leave_is_room_for_the_next_new_key() {
    let _turn = FORKING.lock().unwrap();
    for point in failpoint::NAMES {
        for attempt in 0..8u8 {
            let arena = Arena::create(None, SLOTS * 128 + 8192, 4).unwrap();
            let map = Map::bind(&arena, b"m", MapShape { slots: SLOTS, slot_size: 128, serialised: false }).unwrap();
            let full = |but: u8| (0..SLOTS as u8 - but).for_each(|key| put(&map, &[b'k', attempt, key], b"v"));

            // The last slot's entry is published or not, and lapses.
            full(1);
            dies_at(point, || drop(map.store(KEY, Content::Bytes(b"v"), 1)));
            std::thread::sleep(std::time::Duration::from_millis(3));
            let new = [b'n', attempt];
            assert_eq!(map.store(&new, Content::Bytes(b"v"), 0).unwrap(), Stored::Yes, "a ttl store killed at {point}");

            // A delete has begun or is done; the key itself may be there.
            let deleted = [b'k', attempt, 0];
            dies_at(point, || drop(map.delete(&deleted)));
            let stored = map.store(b"another", Content::Bytes(b"v"), 0).unwrap();
            let there = map.exists(&deleted);
            assert_eq!(stored == Stored::Full, there, "a delete killed at {point}");
            assert_eq!(map.figures().used, SLOTS);
            map.verify().unwrap_or_else(|problem| panic!("{point}: {problem}"));
        }
    }
}

/// A reader takes the lock of a lapsed entry's stripe if it is free, and a dead holder's is free.
#[test]
fn a_reader_that_collects_repairs_first() {
    let _turn = FORKING.lock().unwrap();
    for point in ["claim.taken", "word.published", "free.hidden", "journal.applied"] {
        let arena = Arena::create(None, 4 * 128 + 4096, 4).unwrap();
        let map = Map::bind(&arena, b"m", MapShape { slots: 4, slot_size: 128, serialised: false }).unwrap();
        map.store(b"old", Content::Bytes(b"lapsed"), 1).unwrap();
        put(&map, b"deleted", b"v");
        std::thread::sleep(std::time::Duration::from_millis(3));
        assert!(dies_at(point, || {
            let _ = map.delete(b"deleted");
            put(&map, KEY, b"v");
        }));
        assert!(!map.exists(b"old"));
        map.verify().unwrap_or_else(|problem| panic!("{point}: {problem}"));
        assert_eq!(map.figures().expired, 1, "{point}");
    }
}

#[test]
fn a_death_while_carving_uses_up_nothing_and_leaves_no_half_region() {
    let _turn = FORKING.lock().unwrap();
    for point in failpoint::NAMES.iter().filter(|name| name.starts_with("carve.") || name.starts_with("lock.")) {
        let size = SLOTS * 4096 + 208;
        let arena = Arena::create(None, size, 4).unwrap();
        let bind = |arena: &Arc<Arena>| Map::bind(arena, b"m", SHAPE);
        assert!(dies_at(point, || drop(bind(&arena).map(|map| put(&map, KEY, b"v")))), "{point}");
        let map = bind(&arena).unwrap();
        map.verify().unwrap();
        assert_eq!(arena.region_count(), 1);
        for key in 0..SLOTS as u8 {
            put(&map, &[key], b"v");
        }
        map.verify().unwrap();
    }
}

#[test]
fn a_death_in_a_check_has_spent_or_has_not() {
    let _turn = FORKING.lock().unwrap();
    for known in [false, true] {
        for point in failpoint::NAMES.iter().filter(|name| name.starts_with("bucket.")) {
            let arena = Arena::create(None, 1 << 16, 4).unwrap();
            let limiter = Limiter::bind(&arena, b"r", Policy { limit: 10.0, window: 1e6, slots: 64 }).unwrap();
            if known {
                assert!(limiter.allow(b"key", 1.0));
            }
            let dead = dies_at(point, || assert!(limiter.allow(b"key", 1.0)));
            let left = (0..20).filter(|_| limiter.allow(b"key", 1.0)).count();
            let before = 10 - usize::from(known);
            assert!(left == before || left == before - 1, "{point}: {left} left of {before}");
            assert!(dead || left == before - 1);
            assert_eq!(limiter.figures().keys, 1);
        }
    }
}
