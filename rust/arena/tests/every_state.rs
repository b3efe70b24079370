//! Kills a process after every single change of the shared bytes that an operation makes, be it one store instruction,
//! and asks the survivors. (`death` does so at the failpoints; here nothing but the machine says where.)

#![cfg(target_os = "linux")]

use shared_arena::{clock, patience, Arena, Content, Counted, Map, MapShape, Read, Stored};
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::Arc;

const SLOTS: u64 = 8;
const SHAPE: MapShape = MapShape { slots: SLOTS, slot_size: 64, serialised: false };
const KEY: &[u8] = b"key";
/// The clock's milliseconds before and while the operation runs.
const EARLIER: u64 = 1_700_000_000_000;
const NOW: u64 = EARLIER + 1_000;

fn at(milliseconds: u64) {
    clock::freeze(Some(milliseconds * 1_000_000), None);
}

fn put(map: &Map, key: &[u8], value: &[u8], ttl: u64) {
    assert_eq!(map.store(key, Content::Bytes(value), ttl).unwrap(), Stored::Yes);
}

fn fetch(map: &Map, key: &[u8]) -> Option<Vec<u8>> {
    let mut out = [MaybeUninit::new(0u8); 64];
    match map.fetch(key, &mut out) {
        // SAFETY: initialised above, and copied over with initialised bytes.
        Read::Bytes(length) => Some(out[..length].iter().map(|byte| unsafe { byte.assume_init() }).collect()),
        Read::Counter(number) => Some(number.to_string().into_bytes()),
        Read::Absent => None,
        other => panic!("{other:?}"),
    }
}

/// What the operation may leave: the value, and the entries that have lapsed and were collected.
type Outcome = (Option<&'static [u8]>, u64);

struct Operation {
    name: &'static str,
    before: fn(&Map),
    run: fn(&Map),
    outcomes: [Outcome; 2],
}

const OLD: &[u8] = b"the old value";
const NEW: &[u8] = b"the new one, which is longer";

const OPERATIONS: &[Operation] = &[
    Operation {
        name: "overwrite",
        before: |map| put(map, KEY, OLD, 0),
        run: |map| put(map, KEY, NEW, 0),
        outcomes: [(Some(OLD), 0), (Some(NEW), 0)],
    },
    Operation {
        name: "overwrite with a deadline",
        before: |map| put(map, KEY, OLD, 50_000),
        run: |map| put(map, KEY, NEW, 20_000),
        outcomes: [(Some(OLD), 0), (Some(NEW), 0)],
    },
    Operation {
        name: "overwrite of what has lapsed",
        before: |map| put(map, KEY, OLD, 10),
        run: |map| put(map, KEY, NEW, 0),
        // Lapsed until it is overwritten; the survivor's fetch collects it.
        outcomes: [(None, 1), (Some(NEW), 1)],
    },
    Operation {
        name: "insert",
        before: |_| (),
        run: |map| put(map, KEY, NEW, 0),
        outcomes: [(None, 0), (Some(NEW), 0)],
    },
    Operation {
        name: "delete",
        before: |map| put(map, KEY, OLD, 0),
        run: |map| assert!(map.delete(KEY).unwrap()),
        outcomes: [(Some(OLD), 0), (None, 0)],
    },
    Operation {
        name: "count",
        before: |map| assert_eq!(map.incr(KEY, 7, 0).unwrap(), Counted::Now(7)),
        run: |map| assert_eq!(map.incr(KEY, 7, 0).unwrap(), Counted::Now(14)),
        outcomes: [(Some(b"7"), 0), (Some(b"14"), 0)],
    },
];

/// The bytes of an arena, as long as nobody writes them.
fn bytes(arena: &Arena) -> &[u8] {
    const MAPPED: usize = 4;
    let base = arena.base() as *const u64;
    // SAFETY: the mapping begins with a header, whose fifth word says how long it is. Whoever writes it is a child of
    // ours, which stands still while we look.
    unsafe { std::slice::from_raw_parts(base.cast(), base.add(MAPPED).read_volatile() as usize) }
}

fn wait_for(pid: libc::pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: waits for our own child.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    status
}

/// Runs `body` in a child, one instruction after the other, and kills it when it has changed the shared bytes for the
/// `changes`th time. False when it came to its end before.
fn dies_after(changes: usize, arena: &Arc<Arena>, ready: impl FnOnce(), body: impl FnOnce()) -> bool {
    // SAFETY: the child runs our own code, which takes no lock of another thread's but the allocator's, and glibc
    // keeps that usable after a fork; it leaves by _exit.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        ready();
        // SAFETY: stops, for the parent to take it from there.
        unsafe {
            libc::ptrace(libc::PTRACE_TRACEME, 0, null_mut::<u8>(), null_mut::<u8>());
            libc::raise(libc::SIGSTOP);
        }
        body();
        // SAFETY: ends the child and runs nothing of the parent's.
        unsafe { libc::_exit(0) };
    }
    let status = wait_for(pid);
    assert!(libc::WIFSTOPPED(status), "the child did not stop: {status:#x}");
    let mut last = bytes(arena).to_vec();
    let mut seen = 0;
    while seen < changes {
        // SAFETY: our own child, which stands still.
        assert_eq!(unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, pid, null_mut::<u8>(), null_mut::<u8>()) }, 0);
        let status = wait_for(pid);
        if libc::WIFEXITED(status) {
            assert_eq!(libc::WEXITSTATUS(status), 0);
            return false;
        }
        if bytes(arena) != last {
            seen += 1;
            last.copy_from_slice(bytes(arena));
        }
    }
    // SAFETY: our own child.
    unsafe { libc::kill(pid, libc::SIGKILL) };
    wait_for(pid);
    true
}

#[test]
fn a_death_after_any_change_of_the_shared_bytes_harms_nobody() {
    patience::set_patience(1_000);
    for operation in OPERATIONS {
        let mut outcomes = [false; 2];
        for changes in 0.. {
            let what = format!("{} killed after change {changes}", operation.name);
            at(EARLIER);
            let arena = Arena::create(None, SLOTS * 64 + 8192, 4).unwrap();
            let map = Map::bind(&arena, b"m", SHAPE).unwrap();
            put(&map, b"neighbour", b"untouched", 0);
            // Earlier changes have left a journal of every kind.
            put(&map, b"gone", b"v", 1);
            (operation.before)(&map);
            at(EARLIER + 1);
            put(&map, b"gone", b"v", 0);
            assert!(map.delete(b"gone").unwrap());
            at(NOW);
            let before = map.figures();
            // A child's first lock is not had at once.
            let dies = dies_after(changes, &arena, || _ = map.delete(b"nobody"), || (operation.run)(&map));
            if !dies {
                assert_eq!(outcomes, [true; 2], "{}: {changes} changes", operation.name);
                break;
            }
            let collected = map.figures().expired - before.expired;
            let value = fetch(&map, KEY);
            let figures = map.figures();
            let outcome = (value.as_deref(), figures.expired - before.expired);
            let place = operation.outcomes.iter().position(|expected| *expected == outcome);
            outcomes[place.unwrap_or_else(|| panic!("{what}: {outcome:?}"))] = true;
            assert!(collected == 0 || value.is_some(), "{what}: counted before it is collected");
            assert_eq!(figures.used, 1 + u64::from(value.is_some()), "{what}");
            assert_eq!(fetch(&map, b"neighbour").as_deref(), Some(&b"untouched"[..]), "{what}");
            map.verify().unwrap_or_else(|problem| panic!("{what}: {problem}"));
            // Usable to the last slot, and not one more.
            let extra = (0..=SLOTS)
                .take_while(|extra| map.store(&extra.to_ne_bytes(), Content::Bytes(b"x"), 0).unwrap() == Stored::Yes);
            assert_eq!(extra.count() as u64 + figures.used, SLOTS, "{what}");
            map.verify().unwrap_or_else(|problem| panic!("{what}, filled: {problem}"));
        }
    }
    clock::freeze(None, None);
}
