//! Threads that call at once: small enough for miri, which lets a load return any value that the memory model allows, and
//! for ThreadSanitizer. Both report it when plain memory, handed over by nothing but calls of a map or a limiter, is read
//! without being ordered after its writing. (`linear` compares whole histories.)

use shared_arena::{Arena, Content, Counted, Limiter, Map, MapShape, Policy, Read, Stored, MAX_WINDOW};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

const ROUNDS: u64 = if cfg!(miri) { 12 } else { 5_000 };

/// Memory that no atomic guards, an element for each round: who learns of a round may read what was written before it.
struct Plain(Vec<UnsafeCell<u64>>);

// SAFETY: one thread writes an element before it says so, the other one reads it afterwards. That this is an order is what
// is tested.
unsafe impl Sync for Plain {}

fn map(slots: u64) -> Map {
    let arena = Arena::on_heap(slots * 96 + 4096, 1).unwrap();
    Map::bind(&arena, b"m", MapShape { slots, slot_size: 96, serialised: false }).unwrap()
}

/// One that gives nothing back within a test.
fn limiter(limit: u64) -> Limiter {
    let arena = Arena::on_heap(1 << 12, 1).unwrap();
    Limiter::bind(&arena, b"l", Policy { limit: limit as f64, window: MAX_WINDOW, slots: 64 }).unwrap()
}

fn fetch(map: &Map, key: &[u8]) -> Option<Vec<u8>> {
    let mut out = [MaybeUninit::new(0u8); 64];
    match map.fetch(key, &mut out) {
        // SAFETY: initialised above, and written over with initialised bytes.
        Read::Bytes(length) => Some(out[..length].iter().map(|byte| unsafe { byte.assume_init() }).collect()),
        Read::Absent => None,
        other => panic!("{other:?}"),
    }
}

fn store(map: &Map, key: &[u8], value: &[u8]) {
    assert_eq!(map.store(key, Content::Bytes(value), 0).unwrap(), Stored::Yes);
}

/// One thread writes plain memory and then tells that round; the other looks which round it is, until the last, and reads
/// what was written up to there.
fn hand_over(tell: impl Fn(u64) + Send, look: impl Fn(u64) -> u64) {
    let plain = Plain((0..=ROUNDS).map(|_| UnsafeCell::new(0)).collect());
    let plain = &plain;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for round in 1..=ROUNDS {
                // SAFETY: as said where Plain is.
                unsafe { *plain.0[round as usize].get() = round };
                tell(round);
            }
        });
        let mut seen = 0;
        while seen < ROUNDS {
            let told = look(seen);
            assert!((seen..=ROUNDS).contains(&told), "{told} after {seen}");
            for round in seen + 1..=told {
                // SAFETY: as above.
                assert_eq!(unsafe { *plain.0[round as usize].get() }, round);
            }
            seen = told;
            std::thread::yield_now();
        }
    });
}

#[test]
fn who_fetches_what_was_stored_over_it_sees_what_came_before_the_store() {
    let map = map(2);
    let number = |bytes: Vec<u8>| bytes[..8].try_into().map_or(0, u64::from_ne_bytes);
    hand_over(
        |round| store(&map, b"key", &[round.to_ne_bytes(), [7; 8]].concat()),
        |_| fetch(&map, b"key").map_or(0, number),
    );
}

#[test]
fn who_finds_a_new_key_sees_what_came_before_it() {
    let map = map(ROUNDS);
    hand_over(
        |round| store(&map, &round.to_ne_bytes(), b"v"),
        |seen| seen + u64::from(map.exists(&(seen + 1).to_ne_bytes())),
    );
    map.verify().unwrap();
}

#[test]
fn who_misses_a_deleted_key_sees_what_came_before_that() {
    let map = map(ROUNDS);
    (1..=ROUNDS).for_each(|round| store(&map, &round.to_ne_bytes(), b"v"));
    hand_over(
        |round| assert!(map.delete(&round.to_ne_bytes()).unwrap()),
        |seen| seen + u64::from(!map.exists(&(seen + 1).to_ne_bytes())),
    );
    map.verify().unwrap();
}

#[test]
fn who_reads_a_counter_sees_what_came_before_the_count() {
    let map = map(2);
    hand_over(
        |round| assert_eq!(map.incr(b"n", 1, 0).unwrap(), Counted::Now(round as i64)),
        |_| map.counter(b"n").unwrap_or(0) as u64,
    );
}

#[test]
fn who_asks_a_limiter_sees_what_came_before_the_requests() {
    let limiter = limiter(ROUNDS);
    hand_over(
        |_| assert!(limiter.allow(b"key", 1.0)),
        |seen| {
            let spent = ROUNDS as f64 - limiter.remaining(b"key", 1.0);
            // What has come back meanwhile is less than a request.
            (spent.ceil() as u64).max(seen)
        },
    );
}

#[test]
fn values_are_whole_and_counts_complete_whoever_stores_and_deletes_beside() {
    const COUNTERS: u64 = 2;
    let map = map(4);
    let values = [[b'x'; 40], [b'y'; 40]];
    let map = &map;
    std::thread::scope(|scope| {
        for thread in 0..COUNTERS {
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    map.incr(b"n", 1, 0).unwrap();
                    if round % 3 == 2 {
                        map.delete(b"k").unwrap();
                    } else {
                        store(map, b"k", &values[thread as usize][..20 + round as usize % 20]);
                    }
                }
            });
        }
        for _ in 0..ROUNDS {
            if let Some(value) = fetch(map, b"k") {
                assert!(value.len() >= 20 && values.iter().any(|whole| whole.starts_with(&value)), "{value:?}");
            }
        }
    });
    assert_eq!(map.counter(b"n"), Some((COUNTERS * ROUNDS) as i64));
    map.verify().unwrap();
}

#[test]
fn new_keys_of_all_threads_find_room_and_exactly_one_of_them_makes_a_key() {
    const SLOTS: u64 = if cfg!(miri) { 9 } else { 500 };
    for _ in 0..if cfg!(miri) { 1 } else { 20 } {
        let map = map(SLOTS);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| (0..SLOTS).for_each(|key| _ = map.incr(&key.to_ne_bytes(), 1, 0).unwrap()));
            }
        });
        assert!((0..SLOTS).all(|key| map.counter(&key.to_ne_bytes()) == Some(3)));
        map.verify().unwrap();
    }
}

#[test]
fn threads_that_begin_a_bucket_at_once_get_one_limit_together() {
    const THREADS: u64 = 3;
    let limit = ROUNDS;
    let limiter = limiter(limit);
    let allowed: u64 = std::thread::scope(|scope| {
        let ask = || (0..limit).map(|_| u64::from(limiter.allow(b"key", 1.0))).sum::<u64>();
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let figures = limiter.figures();
    assert_eq!((allowed, figures.allowed, figures.denied), (limit, limit, (THREADS - 1) * limit));
    assert_eq!((figures.evicted, figures.contended), (0, 0));
}
