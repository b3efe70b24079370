//! Every public operation, with arguments of all sorts.

use crate::scribble::Random;
use crate::subject::{key, limiter_name, map_name, Subject, POLICIES};
use shared_arena::{Content, Limiter, Map, MapShape, NextKey, Policy};
use std::mem::MaybeUninit;

/// Calls on what was bound before anything was damaged, or on what has been bound since.
pub struct Caller<'a> {
    subject: &'a Subject,
    maps: Vec<Option<Map>>,
    limiters: Vec<Option<Limiter>>,
    /// The key of all calls on maps, if they have but one.
    pub only_key: Option<Vec<u8>>,
}

impl<'a> Caller<'a> {
    pub fn new(subject: &'a Subject) -> Caller<'a> {
        let maps = subject.maps.iter().map(|_| None).collect();
        let limiters = subject.limiters.iter().map(|_| None).collect();
        Caller { subject, maps, limiters, only_key: None }
    }

    /// Makes one, and says which.
    pub fn call(&mut self, random: &mut Random) -> &'static str {
        match random.below(10) {
            0..=5 => self.call_map(random),
            6 | 7 => self.call_limiter(random),
            _ => self.call_arena(random),
        }
    }

    fn call_map(&mut self, random: &mut Random) -> &'static str {
        let number = random.below(self.maps.len() as u64) as usize;
        let shape = self.subject.shapes[number];
        if random.below(20) == 0 {
            self.maps[number] = Map::bind(&self.subject.arena, &map_name(number), shape).ok();
            return "Map::bind";
        }
        let map = self.maps[number].as_ref().unwrap_or(&self.subject.maps[number]);
        let key = self.only_key.clone().unwrap_or_else(|| some_key(random, shape.slots));
        let ttl = random.of(&[0, 0, 1, 5_000, u64::MAX]);
        let mut room = vec![MaybeUninit::uninit(); random.of(&[0, 1, 8, 64, shape.slot_size as usize])];
        match random.below(14) {
            0..=2 => {
                map.fetch(&key, &mut room);
                "fetch"
            }
            3 => {
                map.exists(&key);
                "exists"
            }
            4 => {
                _ = map.counter(&key);
                "counter"
            }
            5..=7 => {
                let bytes = vec![7; random.of(&[0, 1, 8, 20, 40, 1000])];
                let content = random.of(&[Content::Bytes(&bytes), Content::Undefined, Content::Counter(-5)]);
                _ = map.store(&key, content, ttl);
                "store"
            }
            8 => {
                _ = map.delete(&key);
                "delete"
            }
            9 => {
                _ = map.incr(&key, random.of(&[1, -1, i64::MAX, i64::MIN]), ttl);
                "incr"
            }
            10 => {
                _ = map.count(&key, 1);
                "count"
            }
            11 => {
                let mut cursor = random.of(&[0, 0, 5, u64::MAX]);
                while let NextKey::Key(length) = map.next_key(&mut cursor, &mut room) {
                    assert!(length <= room.len());
                }
                "next_key"
            }
            12 => {
                _ = (map.figures(), map.max_pair(), map.capacity(), map.serialised());
                "figures"
            }
            _ => {
                _ = map.verify();
                "verify"
            }
        }
    }

    fn call_limiter(&mut self, random: &mut Random) -> &'static str {
        let number = random.below(self.limiters.len() as u64) as usize;
        if random.below(20) == 0 {
            self.limiters[number] = Limiter::bind(&self.subject.arena, &limiter_name(number), POLICIES[number]).ok();
            return "Limiter::bind";
        }
        let limiter = self.limiters[number].as_ref().unwrap_or(&self.subject.limiters[number]);
        let key = some_key(random, 20);
        let cost = random.of(&[0.0, 0.3, 1.0, 1.0, 2.5, 5.0, 1e9]);
        match random.below(8) {
            0 | 1 => {
                limiter.allow(&key, cost);
                "allow"
            }
            2 => {
                assert!(limiter.remaining(&key, cost) >= 0.0);
                "remaining"
            }
            3 => {
                assert!(limiter.retry_after(&key, cost) >= 0.0);
                "retry_after"
            }
            4 => {
                _ = limiter.outlook(&key, cost);
                "outlook"
            }
            5 => {
                limiter.reset(&key);
                "reset"
            }
            6 => {
                limiter.forget(&key);
                "forget"
            }
            _ => {
                _ = (limiter.figures(), limiter.slots());
                "figures of a limiter"
            }
        }
    }

    fn call_arena(&mut self, random: &mut Random) -> &'static str {
        let arena = &self.subject.arena;
        let name = random.of(&[&b"raw"[..], b"map 0", b"rate 1", b"none", b""]);
        let offset = random.of(&[0, 3, 64, 99, 100, 5_000, u64::MAX]);
        match random.below(8) {
            0 => {
                _ = (arena.find_region(name), arena.region_names().count(), arena.region_name(offset as u32));
                "regions"
            }
            1 => {
                _ = (arena.refused(), arena.region_count(), arena.size(), arena.created(), arena.broken_locks());
                "refused"
            }
            2 => {
                let mut room = vec![MaybeUninit::uninit(); random.of(&[0, 1, 8, 37, 100, 2_000])];
                _ = arena.peek(name, offset, &mut room);
                "peek"
            }
            3 => {
                _ = arena.poke(name, offset, &[1; 37]);
                "poke"
            }
            4 => {
                _ = arena.carve_region(random.of(&[&b"new"[..], b"newer", b"raw"]), random.of(&[1, 100, 1_000]));
                "carve_region"
            }
            5 => {
                let shape = MapShape { slots: 3, slot_size: 40, serialised: false };
                if let Ok(map) = Map::bind(arena, random.of(&[&b"fresh"[..], b"raw", b"map 0"]), shape) {
                    _ = (map.store(b"key", Content::Bytes(b"value"), 0), map.verify());
                }
                "another map"
            }
            6 => {
                let policy = Policy { limit: 2.0, window: 1.0, slots: 64 };
                if let Ok(limiter) = Limiter::bind(arena, random.of(&[&b"fresh"[..], b"raw", b"rate 0"]), policy) {
                    limiter.allow(b"key", 1.0);
                }
                "another limiter"
            }
            _ => {
                _ = (arena.base(), arena.name());
                "base"
            }
        }
    }
}

/// One that may be there, and sometimes what is none.
fn some_key(random: &mut Random, there: u64) -> Vec<u8> {
    match random.below(12) {
        0 => b"sum ".to_vec(),
        1 => b"none".to_vec(),
        2 => Vec::new(),
        3 => vec![b'x'; 300],
        _ => key(random.below(there.max(20) + 5)),
    }
}
