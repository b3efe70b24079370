//! An arena with a bit of everything in it, between pages without access.

use shared_arena::{clock, Arena, Content, Limiter, Map, MapShape, Policy, Stored};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

const PAGE: usize = 4096;
const REGIONS: u32 = 9;
const MILLISECOND: u64 = 1_000_000;
/// Milliseconds since 1970, when the arena is made. Its entries that lapse do so ten seconds later.
pub const NOW: u64 = 1_700_000_000_000;

pub const POLICIES: [Policy; 2] =
    [Policy { limit: 5.0, window: 1000.0, slots: 64 }, Policy { limit: 1000.0, window: 60.0, slots: 128 }];

/// Arenas that are never unmapped.
static KEPT: Mutex<Vec<Arc<Arena>>> = Mutex::new(Vec::new());

pub struct Subject {
    pub arena: Arc<Arena>,
    pub shapes: Vec<MapShape>,
    pub maps: Vec<Map>,
    pub limiters: Vec<Limiter>,
    /// All bytes, which nobody reads or writes but through atomics.
    pub words: &'static [AtomicU64],
    /// What they were.
    pub image: Vec<u64>,
}

pub fn key(number: u64) -> Vec<u8> {
    format!("key {number}").into_bytes()
}

pub fn map_name(number: usize) -> Vec<u8> {
    format!("map {number}").into_bytes()
}

pub fn limiter_name(number: usize) -> Vec<u8> {
    format!("rate {number}").into_bytes()
}

/// Sets both clocks.
pub fn at(milliseconds: u64) {
    clock::freeze(Some(milliseconds * MILLISECOND), Some((milliseconds - NOW + 1_000_000) * MILLISECOND));
}

/// Bytes of an arena that nobody has damaged yet.
fn length_of(arena: &Arena) -> usize {
    const MAPPED: usize = 4;
    // SAFETY: the mapping begins with a header, whose fifth word this is.
    unsafe { (*(arena.base() as *const AtomicU64).add(MAPPED)).load(Ordering::Relaxed) as usize }
}

/// Takes a page without access, there and nowhere else; or has it already. False when it is in use.
fn take_page(at: usize, taken: &mut Vec<usize>) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: a new mapping without access, which replaces none.
    let page = unsafe { libc::mmap(at as *mut libc::c_void, PAGE, libc::PROT_NONE, flags, -1, 0) };
    taken.extend((page as usize == at).then_some(at));
    taken.contains(&at)
}

/// An arena between pages without access, and all its words. Of whole pages itself, so that the first byte behind it is
/// a guard's. The system lays a mapping below the one before: the next lies below a guard.
fn guarded_arena(size: u64) -> (Arc<Arena>, &'static [AtomicU64]) {
    let is_whole = |size: &u64| length_of(&Arena::create(None, *size, REGIONS).unwrap()) % PAGE == 0;
    let size = (size..).step_by(16).find(is_whole).unwrap();
    let mut taken = Vec::new();
    // Those that are no good keep their places.
    let mut others = Vec::new();
    for _ in 0..30 {
        let arena = Arena::create(None, size, REGIONS).unwrap();
        let (base, length) = (arena.base(), length_of(&arena));
        let (before, after) = (take_page(base - PAGE, &mut taken), take_page(base + length, &mut taken));
        if before && after {
            KEPT.lock().unwrap().push(Arc::clone(&arena));
            // SAFETY: so many words are mapped, and stay.
            return (arena, unsafe { std::slice::from_raw_parts(base as *const AtomicU64, length / 8) });
        }
        others.push(arena);
    }
    panic!("no mapping could be put between guards")
}

impl Subject {
    /// In an arena of at least that size, with maps of those shapes, in which so many slots are free.
    pub fn new(size: u64, shapes: &[MapShape], free: u64) -> Subject {
        let (arena, words) = guarded_arena(size);
        at(NOW);
        let bind = |(number, shape): (usize, &MapShape)| Map::bind(&arena, &map_name(number), *shape).unwrap();
        let maps: Vec<Map> = shapes.iter().enumerate().map(bind).collect();
        let bind = |(number, policy): (usize, &Policy)| Limiter::bind(&arena, &limiter_name(number), *policy).unwrap();
        let limiters: Vec<Limiter> = POLICIES.iter().enumerate().map(bind).collect();
        arena.carve_region(b"raw", 100).unwrap();
        for map in &maps {
            for number in 0..map.capacity() - free - 2 {
                let ttl = if number % 5 == 0 { 10_000 } else { 0 };
                let room = map.max_pair() as usize - key(number).len();
                let value = vec![b'v'; room.min(number as usize % 30)];
                map.store(&key(number), Content::Bytes(&value), ttl).unwrap();
            }
            map.delete(&key(3)).unwrap();
            for (name, content) in
                [(b"none", Content::Undefined), (b"sum ", Content::Counter(7)), (b"last", Content::Bytes(b"v"))]
            {
                assert_eq!(map.store(name, content, 0).unwrap(), Stored::Yes);
            }
            assert_eq!(map.figures().used, map.capacity() - free);
        }
        for number in 0..20 {
            limiters.iter().for_each(|limiter| _ = limiter.allow(&key(number), 2.0));
        }
        let image = words.iter().map(|word| word.load(Ordering::Relaxed)).collect();
        Subject { arena, shapes: shapes.to_vec(), maps, limiters, words, image }
    }

    /// All bytes as they were.
    pub fn restore(&self) {
        for (word, was) in self.words.iter().zip(&self.image) {
            word.store(*was, Ordering::Relaxed);
        }
    }
}
