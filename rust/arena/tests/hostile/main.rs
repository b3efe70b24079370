//! Somebody writes over an arena that is in use, between calls and during them. Every call gives a value, a miss or an
//! error: none panics, touches anything outside of the mapping, which lies between pages without access, or takes
//! long. What is written, and what is called, follows from a number; where the keys lie follows from the seeds that the
//! arena drew, and what a second thread writes, and when, from nothing.

// A test has no `sync` of its own.
#![allow(clippy::disallowed_types)]
#![cfg(target_os = "linux")]

mod calls;
mod scribble;
mod subject;

use calls::Caller;
use scribble::{Random, Scribbler};
use shared_arena::{clock, patience, MapShape};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use subject::Subject;

/// The clock and the patience are the process's: one test at a time.
static TURN: Mutex<()> = Mutex::new(());

/// Calls of a round; rounds of a block, and of how many blocks one has a second thread that writes all the time.
const CALLS: u64 = 24;
const BLOCK: u64 = 250;
const IN_COMPANY: u64 = 4;

/// What one call may take of the processor's time, in seconds; code that is not optimised is given more.
const MOST_SECONDS: f64 = if cfg!(debug_assertions) { 20.0 } else { 1.0 };

/// How many rounds to run: SHARED_ARENA_CASES, or what takes a few seconds without optimisation.
fn cases() -> u64 {
    std::env::var("SHARED_ARENA_CASES").map_or(4_000, |cases| cases.parse().expect("a number"))
}

/// The round that runs now, for whoever reports a crash.
static ROUND: AtomicU64 = AtomicU64::new(0);

const CRASHES: [libc::c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];
/// What they did before.
static BEFORE: OnceLock<[libc::sigaction; 2]> = OnceLock::new();

/// Says which round it was, and lets the signal do what it did before: once the handler is gone, the instruction is
/// tried again.
extern "C" fn tell_round(_: libc::c_int) {
    let mut text = *b"\nhostile: a signal in round 00000000000000000000\n";
    let mut number = ROUND.load(Ordering::Relaxed);
    for digit in text[28..48].iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    // SAFETY: writes a local array.
    unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
    for (signal, before) in CRASHES.iter().zip(BEFORE.get().into_iter().flatten()) {
        // SAFETY: restores an action that was valid before.
        unsafe { libc::sigaction(*signal, before, std::ptr::null_mut()) };
    }
}

fn report_crashes() {
    BEFORE.get_or_init(|| {
        CRASHES.map(|signal| {
            // SAFETY: the handler only calls what a handler may, on the stack that Rust sets up for handlers; all zeros
            // are a valid value of the plain C structure.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                let mut before: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = tell_round as extern "C" fn(libc::c_int) as usize;
                action.sa_flags = libc::SA_ONSTACK;
                libc::sigaction(signal, &action, &mut before);
                before
            }
        })
    });
}

/// Processor time of this thread, in seconds.
fn worked() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills the structure it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// One call, which must end well and soon.
fn call(caller: &mut Caller, random: &mut Random, round: u64) -> &'static str {
    let started = worked();
    let name = catch_unwind(AssertUnwindSafe(|| caller.call(random)));
    let took = worked() - started;
    let Ok(name) = name else { panic!("a panic in round {round}") };
    assert!(took <= MOST_SECONDS, "{name} took {took:.1} s in round {round}");
    name
}

fn round(subject: &Subject, scribbler: &Scribbler, round: u64) {
    ROUND.store(round, Ordering::Relaxed);
    let mut random = Random(round);
    subject.restore();
    subject::at(subject::NOW + random.below(12_000));
    let mut caller = Caller::new(subject);
    for _ in 0..1 + random.below(6) {
        scribbler.scribble(&mut random);
    }
    for _ in 0..CALLS {
        call(&mut caller, &mut random, round);
        if random.below(5) < 2 {
            scribbler.scribble(&mut random);
        }
    }
}

#[test]
fn an_arena_that_is_overwritten_gives_values_misses_and_errors() {
    let _turn = TURN.lock();
    patience::set_patience(1);
    let shapes = [
        MapShape { slots: 12, slot_size: 80, serialised: false },
        MapShape { slots: 100, slot_size: 64, serialised: true },
    ];
    let subject = Subject::new(16_384, &shapes, 4);
    report_crashes();
    let scribbler = Scribbler::new(&subject);
    for first in (0..cases()).step_by(BLOCK as usize) {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            if first / BLOCK % IN_COMPANY == IN_COMPANY - 1 {
                scope.spawn(|| {
                    let mut random = Random(!first);
                    while !over.load(Ordering::Relaxed) {
                        scribbler.scribble(&mut random);
                    }
                });
            }
            let rounds = catch_unwind(AssertUnwindSafe(|| {
                (first..cases().min(first + BLOCK)).for_each(|number| round(&subject, &scribbler, number));
            }));
            over.store(true, Ordering::Relaxed);
            rounds.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        });
    }
    subject.restore();
    subject.maps.iter().for_each(|map| map.verify().unwrap());
    clock::freeze(None, None);
    patience::set_patience(patience::PATIENCE_MS);
}

#[test]
fn so_does_one_in_which_all_words_of_a_kind_are_overwritten() {
    let _turn = TURN.lock();
    patience::set_patience(1);
    let subject = Subject::new(150_000, &[MapShape { slots: 2_000, slot_size: 48, serialised: false }], 5);
    let scribbler = Scribbler::new(&subject);
    for way in 0..scribbler.wholesale_count() {
        let mut random = Random(way);
        subject.restore();
        scribbler.scribble_wholesale(way, &mut random);
        let mut caller = Caller::new(&subject);
        (0..CALLS).for_each(|_| _ = call(&mut caller, &mut random, way));
    }
    clock::freeze(None, None);
    patience::set_patience(patience::PATIENCE_MS);
}

/// A table is gone over a few times at most, and not again and again. (`t/60-hostile-searches.t` measures that in a large
/// one, as users build it.)
#[test]
fn a_search_in_a_large_map_ends_soon_whatever_it_meets() {
    let _turn = TURN.lock();
    patience::set_patience(1);
    let subject = Subject::new(20_000 * 48 + 8_192, &[MapShape { slots: 20_000, slot_size: 48, serialised: false }], 0);
    let scribbler = Scribbler::new(&subject);
    let calls_on = |key: Vec<u8>, random: &mut Random| {
        let mut caller = Caller::new(&subject);
        caller.only_key = Some(key);
        for name in ["fetch", "store", "incr", "delete", "exists"] {
            // Whatever is drawn on the way is called too.
            while call(&mut caller, random, 0) != name {}
        }
    };
    let mut random = Random(1);
    calls_on(scribbler.scribble_far_away(&mut random), &mut random);
    for locked in [false, true] {
        subject.restore();
        scribbler.scribble_everywhere_to_look(locked);
        calls_on(b"new".to_vec(), &mut random);
    }
    clock::freeze(None, None);
    patience::set_patience(patience::PATIENCE_MS);
}
