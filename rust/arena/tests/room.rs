//! A new key is never refused while there is room: not to threads that together never need more slots than there are,
//! and dawdle at the failpoints, whoever is giving a slot back, collecting, or looking through the same lines of owners
//! just then; and not while a repair of what the dead left stands still.

// A test has no `sync` of its own.
#![allow(clippy::disallowed_types)]

use shared_arena::{clock, failpoint, patience, Arena, Content, Error, Map, MapShape, Stored};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};

/// The clock is the process's, and a fork copies every thread's locks: one test at a time.
static TURN: Mutex<()> = Mutex::new(());

const CALLERS: u64 = 4;
const MILLISECOND: u64 = 1_000_000;

/// The milliseconds it shows.
type Clock = Mutex<u64>;

fn pass_a_millisecond(clock: &Clock) {
    let mut now = clock.lock().unwrap();
    *now += 1;
    clock::freeze(Some(*now * MILLISECOND), None);
}

/// A map in which only so many slots are free.
fn nearly_full(slots: u64, free: u64) -> Map {
    let arena = Arena::create(None, slots * 64 + 4096, 4).unwrap();
    let map = Map::bind(&arena, b"m", MapShape { slots, slot_size: 64, serialised: false }).unwrap();
    for key in 0..slots - free {
        assert_eq!(map.store(&key.to_ne_bytes(), Content::Bytes(b"stays"), 0).unwrap(), Stored::Yes);
    }
    map
}

fn put(map: &Map, key: &[u8], ttl_ms: u64) {
    let stored = map.store(key, Content::Bytes(b"v"), ttl_ms).unwrap();
    assert_eq!(stored, Stored::Yes, "there is a slot in {} for {}", map.capacity(), String::from_utf8_lossy(key));
}

/// Lets the callers loose on one map, each with its number.
fn call_together(map: &Map, seed: u64, calls: impl Fn(u64, &Clock) + Sync) {
    let start = Barrier::new(CALLERS as usize);
    let clock = Clock::new(1_000);
    pass_a_millisecond(&clock);
    std::thread::scope(|scope| {
        for caller in 0..CALLERS {
            let (calls, start, clock) = (&calls, &start, &clock);
            scope.spawn(move || {
                failpoint::dawdle((seed * CALLERS + caller + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
                start.wait();
                calls(caller, clock);
            });
        }
    });
    clock::freeze(None, None);
    map.verify().unwrap_or_else(|problem| panic!("seed {seed}, {} slots: {problem}", map.capacity()));
    assert_eq!(map.figures().full, 0);
}

/// One slot for each caller and no other: one stripe, a few, and several lines of owners.
const SLOTS: [u64; 5] = [CALLERS, 9, 16, 64, 250];

#[test]
fn nobody_is_refused_while_others_give_their_slots_back() {
    let _turn = TURN.lock();
    for slots in SLOTS {
        for seed in 0..60 {
            let map = nearly_full(slots, CALLERS);
            call_together(&map, seed, |caller, _| {
                for number in 0..60 {
                    // A new key each time, and so of every stripe.
                    let key = format!("{seed} {caller} {number}").into_bytes();
                    put(&map, &key, 0);
                    assert!(map.delete(&key).unwrap());
                }
            });
        }
    }
}

#[test]
fn nobody_is_refused_while_others_collect_what_has_lapsed() {
    let _turn = TURN.lock();
    for slots in SLOTS {
        for seed in 0..60 {
            let map = nearly_full(slots, CALLERS);
            call_together(&map, seed, |caller, clock| {
                for number in 0..60 {
                    put(&map, format!("{seed} {caller} {number}").as_bytes(), 1);
                    pass_a_millisecond(clock);
                }
            });
        }
    }
}

/// Two callers share a slot. While one is deleting its key, the other has seen that it is gone, and stores its own.
#[test]
fn who_sees_a_key_gone_has_its_slot() {
    let _turn = TURN.lock();
    for slots in SLOTS {
        for seed in 0..60 {
            let map = nearly_full(slots, CALLERS / 2);
            let stored = [0; CALLERS as usize / 2].map(AtomicU64::new);
            call_together(&map, seed, |caller, _| {
                let (pair, stored) = (caller / 2, &stored[caller as usize / 2]);
                let key = |number: u64| format!("{seed} {pair} {number}").into_bytes();
                for number in (1..60).filter(|number| number % 2 == caller % 2) {
                    while stored.load(Ordering::SeqCst) < number - 1 || map.exists(&key(number - 1)) {
                        std::thread::yield_now();
                    }
                    let answer = map.store(&key(number), Content::Bytes(b"v"), 0).unwrap();
                    // The other is not to wait for ever for one that failed.
                    stored.fetch_max(if answer == Stored::Yes { number } else { u64::MAX }, Ordering::SeqCst);
                    assert_eq!(answer, Stored::Yes, "there is a slot in {slots} for number {number}");
                    assert!(map.delete(&key(number)).unwrap());
                }
            });
        }
    }
}

/// Runs `body` in a child that is stopped at `point`, or dies there.
fn child(point: &str, action: failpoint::Action, body: impl FnOnce()) -> libc::pid_t {
    // SAFETY: the child runs our own code, which takes no lock of another thread's but the allocator's, and glibc
    // keeps that usable after a fork; it leaves by _exit.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        assert!(failpoint::arm(point, action));
        body();
        // SAFETY: ends the child and runs nothing of the parent's.
        unsafe { libc::_exit(0) };
    }
    assert!(pid > 0);
    pid
}

fn status_of(pid: libc::pid_t, flags: libc::c_int) -> libc::c_int {
    let mut status = 0;
    // SAFETY: waits for our own child.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, flags) }, pid);
    status
}

/// A writer died with the last slot claimed. Whoever repairs that stands still before it has given the slot back: then
/// there is room that a new key must wait for, and no reason to refuse it.
#[test]
fn a_slot_that_a_repair_is_about_to_give_back_is_not_missed() {
    let _turn = TURN.lock();
    patience::set_patience(100);
    for point in ["lock.held", "recover.begun", "recover.applied", "free.begun", "free.hidden"] {
        for attempt in 0..4 {
            let map = nearly_full(16, 1);
            let dead =
                child("claim.taken", failpoint::Action::Kill, || drop(map.store(b"the dead's", Content::Undefined, 0)));
            assert!(libc::WIFSIGNALED(status_of(dead, 0)));
            let repairs = child(point, failpoint::Action::Stop, || _ = map.figures());
            assert!(libc::WIFSTOPPED(status_of(repairs, libc::WUNTRACED)), "{point}");
            let stored = map.store(format!("new {attempt}").as_bytes(), Content::Undefined, 0);
            // SAFETY: ends our own child, which waits for nothing else.
            unsafe { libc::kill(repairs, libc::SIGKILL) };
            status_of(repairs, 0);
            assert!(matches!(stored, Ok(Stored::Yes) | Err(Error::Busy(_))), "repair stopped at {point}: {stored:?}");
            map.verify().unwrap();
        }
    }
    patience::set_patience(patience::PATIENCE_MS);
}
