//! Records what threads and processes that call at the same time are answered, and has every history checked.
//!
//! Many small histories, each with its own seed: one or two keys in few slots and mostly one stripe, so that a buffer is
//! filled again at once, by the other key too; and callers that dawdle at the failpoints, or die there. A seed says what
//! is called, not how the calls interleave: a failure may take several runs to come back.

// A test has no `sync` of its own.
#![allow(clippy::disallowed_types)]

mod checker;

use checker::{is_linearizable, Answer, Call, Event, Value};
use shared_arena::{clock, failpoint, Arena, Content, Counted, Map, MapShape, Read, Stored};
use std::cell::UnsafeCell;
use std::mem::{size_of, MaybeUninit};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};

/// The clock is the process's, and a fork copies every thread's locks: one test at a time.
static TURN: Mutex<()> = Mutex::new(());

const KEYS: [&[u8]; 2] = [b"a", b"the other"];
const SLOT_SIZE: u64 = 72;
const LONGEST: usize = 31;

/// A xorshift generator.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        (0..4).for_each(|_| _ = random.next());
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 32) % bound
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Fetch,
    Exists,
    Counter,
    Store,
    Plant,
    Incr,
    Delete,
}

/// All together, and those that must meet.
const MIXES: [&[Kind]; 5] = {
    use Kind::*;
    [
        &[Fetch, Exists, Counter, Store, Store, Plant, Incr, Incr, Delete, Delete],
        &[Fetch, Store],
        &[Fetch, Exists, Store, Store, Delete],
        &[Incr, Incr, Counter, Store, Delete],
        &[Incr, Incr, Plant],
    ]
};

/// What a caller does: a call on a key, or a step of the clock in milliseconds.
#[derive(Clone, Copy)]
enum Deed {
    Call(usize, Call),
    Tick(u64),
}

/// One seed's table and callers.
struct Scene {
    slots: u64,
    keys: usize,
    callers: Vec<Vec<Deed>>,
}

impl Scene {
    /// `ticks`: the first caller moves the clock too.
    fn new(random: &mut Random, callers: u64, ticks: bool) -> Scene {
        let kinds = random.one_of(&MIXES);
        let amounts: &[i64] = random.one_of(&[&[1][..], &[0, 1], &[0, 1, -1], &[1, 10, 100, 1000]]);
        let keys = if random.below(4) == 0 { 1 } else { 2 };
        // One slot for two keys: then some are refused. In 16 slots they may have a stripe each.
        let slots = random.one_of(&[1, 2, 2, 3, 4, 16]);
        let mut stored = 0;
        let mut deed = |random: &mut Random| {
            let ttl = if ticks && random.below(2) == 0 { 1 + random.below(3) } else { 0 };
            let call = match random.one_of(kinds) {
                Kind::Fetch => Call::Fetch,
                Kind::Exists => Call::Exists,
                Kind::Counter => Call::Counter,
                Kind::Store => {
                    stored += 1;
                    Call::Store(Value::Bytes(stored), ttl)
                }
                Kind::Plant => Call::Store(Value::Planted(random.below(2) as i64), ttl),
                Kind::Incr => Call::Incr(random.one_of(amounts), ttl),
                Kind::Delete => Call::Delete,
            };
            Deed::Call(random.below(keys as u64) as usize, call)
        };
        let callers = (0..callers).map(|number| {
            let deeds = (0..4 + random.below(5)).map(|_| match number {
                0 if ticks && random.below(3) == 0 => Deed::Tick(1 + random.below(3)),
                _ => deed(random),
            });
            deeds.collect()
        });
        let callers = callers.collect();
        Scene { slots, keys, callers }
    }

    fn map(&self) -> Map {
        let arena = Arena::create(None, self.slots * SLOT_SIZE + 4096, 4).unwrap();
        Map::bind(&arena, b"m", MapShape { slots: self.slots, slot_size: SLOT_SIZE, serialised: false }).unwrap()
    }

    /// The history of each key can have happened one call after another.
    fn check(&self, seed: u64, events: &[(usize, Event)]) {
        for key in 0..self.keys {
            let mut history: Vec<_> =
                events.iter().filter(|(of, _)| *of == key).map(|(_, event)| event.clone()).collect();
            if !is_linearizable(&history, self.slots < self.keys as u64) {
                history.sort_by_key(|event| event.start);
                let lines: Vec<_> = history.iter().map(|event| format!("{event:?}\n")).collect();
                panic!(
                    "seed {seed}, key {key} of {}, {} slots: no order explains\n{}",
                    self.keys,
                    self.slots,
                    lines.concat()
                );
            }
        }
    }
}

/// The bytes of a value; their number and all of them tell which.
fn bytes_of(value: Value) -> Vec<u8> {
    match value {
        Value::Bytes(number) => vec![number; 9 + number as usize * 7 % (LONGEST - 8)],
        Value::Planted(number) | Value::Number(number) => number.to_ne_bytes().to_vec(),
    }
}

fn value_of(bytes: &[u8]) -> Option<Value> {
    let value = match bytes.try_into() {
        Ok(eight) => Value::Planted(i64::from_ne_bytes(eight)),
        Err(_) => Value::Bytes(*bytes.first()?),
    };
    (bytes_of(value) == bytes).then_some(value)
}

fn make(map: &Map, key: usize, call: Call) -> Answer {
    let key = KEYS[key];
    match call {
        Call::Fetch => {
            let mut out = [MaybeUninit::new(0u8); SLOT_SIZE as usize];
            match map.fetch(key, &mut out) {
                Read::Bytes(length) => {
                    // SAFETY: initialised above, and copied over with initialised bytes.
                    let bytes: Vec<u8> = out[..length].iter().map(|byte| unsafe { byte.assume_init() }).collect();
                    value_of(&bytes).map_or(Answer::Wrong, |value| Answer::Value(Some(value)))
                }
                Read::Counter(number) => Answer::Value(Some(Value::Number(number))),
                Read::Absent => Answer::Value(None),
                _ => Answer::Wrong,
            }
        }
        Call::Exists => Answer::Yes(map.exists(key)),
        Call::Counter => Answer::Number(map.counter(key)),
        Call::Store(value, ttl) => match map.store(key, Content::Bytes(&bytes_of(value)), ttl) {
            Ok(Stored::Yes) => Answer::Stored,
            Ok(Stored::Full) => Answer::Full,
            _ => Answer::Wrong,
        },
        Call::Incr(by, ttl) => match map.incr(key, by, ttl) {
            Ok(Counted::Now(number)) => Answer::Number(Some(number)),
            Ok(Counted::NotCounter) => Answer::NotCounter,
            Ok(Counted::Full) => Answer::Full,
            _ => Answer::Wrong,
        },
        Call::Delete => map.delete(key).map_or(Answer::Wrong, Answer::Yes),
    }
}

/// Gives every beginning and end a place in one order.
fn stamp(stamps: &AtomicU64) -> u64 {
    stamps.fetch_add(1, Ordering::SeqCst)
}

/// A step of the clock, made between two stamps.
struct Tick {
    start: u64,
    end: u64,
    milliseconds: u64,
}

fn freeze(milliseconds: u64) {
    clock::freeze(Some(milliseconds * 1_000_000), None);
}

/// What the clock may have shown a call: what it was set to last before, and all it was set to meanwhile.
fn shown(ticks: &[Tick], start: u64, end: u64) -> Vec<u64> {
    let last_before = ticks.iter().rposition(|tick| tick.end < start).unwrap_or(0);
    ticks[last_before..].iter().filter(|tick| tick.start < end).map(|tick| tick.milliseconds).collect()
}

/// One thread's part.
fn call_all(map: &Map, deeds: &[Deed], seed: u64, stamps: &AtomicU64) -> (Vec<(usize, Event)>, Vec<Tick>) {
    let mut events = Vec::new();
    let mut ticks = vec![Tick { start: 0, end: 0, milliseconds: 1_000 }];
    failpoint::dawdle(seed);
    for deed in deeds {
        let start = stamp(stamps);
        match *deed {
            Deed::Call(key, call) => {
                let answer = Some(make(map, key, call));
                events.push((key, Event { start, end: stamp(stamps), call, answer, clock: vec![] }));
            }
            Deed::Tick(milliseconds) => {
                let milliseconds = ticks[ticks.len() - 1].milliseconds + milliseconds;
                freeze(milliseconds);
                ticks.push(Tick { start, end: stamp(stamps), milliseconds });
            }
        }
    }
    failpoint::dawdle(0);
    (events, ticks)
}

fn seeds(count: u64) -> std::ops::Range<u64> {
    let first = std::env::var("ARENA_TEST_SEED").map_or(0, |seed| seed.parse().unwrap());
    first..first + count
}

#[test]
fn what_threads_are_answered_could_have_happened_one_call_after_another() {
    let _turn = TURN.lock().unwrap();
    for seed in seeds(12_000) {
        let mut random = Random::new(seed);
        let callers = 3 + random.below(2);
        let scene = Scene::new(&mut random, callers, seed % 2 == 0);
        let map = scene.map();
        let stamps = AtomicU64::new(1);
        let start = Barrier::new(scene.callers.len());
        freeze(1_000);
        let parts: Vec<_> = std::thread::scope(|scope| {
            let threads = scene.callers.iter().map(|deeds| {
                let (map, stamps, start, seed) = (&map, &stamps, &start, random.next());
                scope.spawn(move || {
                    start.wait();
                    call_all(map, deeds, seed, stamps)
                })
            });
            let threads: Vec<_> = threads.collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        clock::freeze(None, None);
        // The first caller moved the clock.
        let ticks = &parts[0].1;
        let mut events = Vec::new();
        for (key, event) in parts.iter().flat_map(|part| &part.0) {
            events.push((*key, Event { clock: shown(ticks, event.start, event.end), ..event.clone() }));
        }
        scene.check(seed, &events);
        map.verify().unwrap_or_else(|problem| panic!("seed {seed}: {problem}"));
    }
}

/// A call of a process that may die in it, in memory it shares with the one that asks afterwards.
struct Record {
    start: AtomicU64,
    /// 0 until the answer is there.
    end: AtomicU64,
    answer: UnsafeCell<MaybeUninit<Answer>>,
}

/// Zeroed, and never unmapped.
fn shared_records(count: usize) -> &'static [Record] {
    // SAFETY: a new mapping at an address the kernel picks, so aligned to a page, and large enough; zeroes are
    // records.
    unsafe {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        let start = libc::mmap(std::ptr::null_mut(), count * size_of::<Record>(), access, kind, -1, 0);
        assert!(start != libc::MAP_FAILED);
        std::slice::from_raw_parts(start.cast(), count)
    }
}

/// One process's part, and its end.
fn call_until_death(map: &Map, deeds: &[Deed], records: &[Record], stamps: &AtomicU64, random: &mut Random) -> ! {
    let points: Vec<_> = failpoint::NAMES.iter().copied().filter(|name| !name.starts_with("carve.")).collect();
    let doomed = random.below(deeds.len() as u64) as usize;
    failpoint::dawdle(random.next());
    for (index, (deed, record)) in deeds.iter().zip(records).enumerate() {
        if index == doomed {
            assert!(failpoint::arm(random.one_of(&points), failpoint::Action::Kill));
        }
        if let Deed::Call(key, call) = *deed {
            record.start.store(stamp(stamps), Ordering::SeqCst);
            let answer = make(map, key, call);
            // SAFETY: nobody else touches the record until we have ended.
            unsafe { (*record.answer.get()).write(answer) };
            record.end.store(stamp(stamps), Ordering::SeqCst);
        }
    }
    // SAFETY: ends the child and runs nothing of the parent's.
    unsafe { libc::_exit(0) }
}

#[test]
fn what_processes_are_answered_while_some_are_killed_could_have_happened_one_call_after_another() {
    const CALLERS: usize = 3;
    const CALLS: usize = 8;
    let _turn = TURN.lock().unwrap();
    let records = shared_records(1 + CALLERS * CALLS);
    // The first record has the counters: of the stamps, and of the callers that are ready.
    let (stamps, ready) = (&records[0].start, &records[0].end);
    let mut deaths = 0;
    for seed in seeds(600) {
        let mut random = Random::new(seed);
        let scene = Scene::new(&mut random, CALLERS as u64, false);
        let map = scene.map();
        records.iter().for_each(|record| {
            record.start.store(0, Ordering::SeqCst);
            record.end.store(0, Ordering::SeqCst);
        });
        stamp(stamps);
        let parts = || scene.callers.iter().zip(records[1..].chunks(CALLS));
        let children: Vec<_> = parts()
            .map(|(deeds, records)| {
                let mut random = Random::new(random.next());
                // SAFETY: the child runs our own code, which takes no lock of another thread's but the allocator's,
                // and glibc keeps that usable after a fork; it leaves by _exit.
                let pid = unsafe { libc::fork() };
                if pid == 0 {
                    ready.fetch_add(1, Ordering::SeqCst);
                    while ready.load(Ordering::SeqCst) < CALLERS as u64 {
                        std::thread::yield_now();
                    }
                    call_until_death(&map, deeds, records, stamps, &mut random);
                }
                assert!(pid > 0);
                pid
            })
            .collect();
        for pid in children {
            let mut status = 0;
            // SAFETY: waits for our own child.
            assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
            let killed = libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL;
            assert!(killed || status == 0, "seed {seed}: a child ended with status {status:#x}");
            deaths += u32::from(killed);
        }
        let mut events = Vec::new();
        for (deed, record) in parts().flat_map(|(deeds, records)| deeds.iter().zip(records)) {
            let (start, end) = (record.start.load(Ordering::SeqCst), record.end.load(Ordering::SeqCst));
            // SAFETY: its writer has ended, and wrote the answer before the end.
            let answer = (end != 0).then(|| unsafe { (*record.answer.get()).assume_init() });
            match *deed {
                Deed::Call(key, call) if start != 0 => {
                    let end = answer.map_or(u64::MAX, |_| end);
                    events.push((key, Event { start, end, call, answer, clock: vec![0] }));
                }
                _ => {}
            }
        }
        // What they left.
        for call in [Call::Fetch, Call::Counter, Call::Exists] {
            for key in 0..scene.keys {
                let (start, answer) = (stamp(stamps), Some(make(&map, key, call)));
                events.push((key, Event { start, end: stamp(stamps), call, answer, clock: vec![0] }));
            }
        }
        scene.check(seed, &events);
        map.verify().unwrap_or_else(|problem| panic!("seed {seed}: {problem}"));
    }
    assert!(deaths > 300, "{deaths} deaths");
}
