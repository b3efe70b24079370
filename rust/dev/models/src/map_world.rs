//! What scenarios of maps are written in: a map, or an arena to carve in, that some processes share.

use crate::arena::Arena;
use crate::error::Error;
use crate::failpoint;
pub use crate::map::Figures;
use crate::map::{Content, Counted, Map, NextKey, Read, Shape, Stored};
use crate::memory::Memory;
use crate::search::{Place, Process, Search};
use crate::{clock, registry};
use std::mem::MaybeUninit;
use std::sync::Arc;

/// Bytes of key and value together.
const PAIR: usize = 32;

/// A map of so many slots. Below 16 it has one stripe; of 16, two, and four groups.
///
/// Keys begin with a digit or one of `:;<=>?`: in which sixteenth of the table they lie. In maps of two stripes those
/// from `8` on are of the second. Keys whose second letter is the same have one tag.
pub struct World {
    arena: Arc<Arena>,
    map: Map,
}

impl Place for World {
    fn memory(&self) -> &Memory {
        self.arena.mapping().memory()
    }
}

/// A key or value, as whole words: so that they lie in words of their own.
fn padded(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(bytes.len().next_multiple_of(8), b'.');
    bytes
}

fn text(bytes: &[MaybeUninit<u8>]) -> String {
    // SAFETY: initialised where it was made, and copied over with initialised bytes.
    let bytes: Vec<u8> = bytes.iter().map(|byte| unsafe { byte.assume_init() }).collect();
    String::from_utf8(bytes).expect("text").trim_end_matches('.').to_string()
}

impl Search {
    /// Runs processes at once on a map of so many slots that was prepared like this.
    pub fn of_map<T: 'static, const N: usize>(
        self,
        slots: u64,
        prepare: impl Fn(&World),
        processes: [Process<World, T>; N],
        judge: impl Fn(&World, [T; N]) + Send + Sync + 'static,
    ) {
        clock::set_wall_ms(1_000);
        let arena = Arena::new(slots * (PAIR as u64 + 32) + 200, 2);
        let shape = Shape { slots, slot_size: PAIR as u64 + 32, serialised: false };
        let map = Map::bind(&arena, b"m", shape).unwrap();
        let world = World { arena, map };
        prepare(&world);
        world.verify();
        self.run(world, processes, move |world, results| {
            judge(world, results);
            world.verify();
        });
    }

    /// Runs processes at once on an arena of two kilobytes and so many regions, that was prepared like this.
    pub fn of_arena<T: 'static, const N: usize>(
        self,
        regions: u32,
        prepare: impl Fn(&Carvers),
        processes: [Process<Carvers, T>; N],
        judge: impl Fn(&Carvers, [T; N]) + Send + Sync + 'static,
    ) {
        let carvers = Carvers(Arena::new(2_048, regions));
        prepare(&carvers);
        self.run(carvers, processes, judge);
    }
}

impl World {
    /// The value of a key; of a counter, its number.
    pub fn fetch(&self, key: &str) -> Option<String> {
        let mut out = [MaybeUninit::new(0u8); PAIR];
        match self.map.fetch(&padded(key), &mut out) {
            Read::Bytes(length) => Some(text(&out[..length])),
            Read::Counter(number) => Some(number.to_string()),
            Read::Absent => None,
            other => panic!("{other:?}"),
        }
    }

    pub fn exists(&self, key: &str) -> bool {
        self.map.exists(&padded(key))
    }

    /// Whether there was room.
    pub fn store(&self, key: &str, value: &str) -> bool {
        self.store_for(key, value, 0)
    }

    /// The same, for so many milliseconds.
    pub fn store_for(&self, key: &str, value: &str, ttl_ms: u64) -> bool {
        match self.map.store(&padded(key), Content::Bytes(&padded(value)), ttl_ms) {
            Ok(Stored::Yes) => true,
            Ok(Stored::Full) => false,
            other => panic!("{other:?}"),
        }
    }

    /// Whether it was there.
    pub fn delete(&self, key: &str) -> bool {
        self.map.delete(&padded(key)).unwrap()
    }

    /// The sum.
    pub fn incr(&self, key: &str) -> i64 {
        match self.map.incr(&padded(key), 1, 0) {
            Ok(Counted::Now(sum)) => sum,
            other => panic!("{other:?}"),
        }
    }

    /// The same where it may meet what is no counter, or no room: then None.
    pub fn try_incr(&self, key: &str) -> Option<i64> {
        match self.map.incr(&padded(key), 1, 0) {
            Ok(Counted::Now(sum)) => Some(sum),
            Ok(Counted::NotCounter | Counted::Full) => None,
            other => panic!("{other:?}"),
        }
    }

    /// All keys that a walk meets, in order of their names.
    pub fn keys(&self) -> Vec<String> {
        let (mut cursor, mut keys) = (0, Vec::new());
        let mut out = [MaybeUninit::new(0u8); PAIR];
        while let NextKey::Key(length) = self.map.next_key(&mut cursor, &mut out) {
            keys.push(text(&out[..length]));
        }
        keys.sort();
        keys
    }

    /// What a process does that dies at that point. None when it died.
    pub fn until<T>(&self, point: &'static str, work: impl FnOnce(&World) -> T) -> Option<T> {
        failpoint::until(point, || work(self))
    }

    /// Lets the clock show that, for all at once. It begins at 1,000.
    pub fn set_clock(&self, milliseconds: u64) {
        clock::set_wall_ms(milliseconds);
    }

    /// Repairs what dead writers left, and proves that nothing was lost or is owned twice and that the figures are those
    /// of a recount.
    pub fn verify(&self) {
        self.map.verify().unwrap();
    }

    pub fn figures(&self) -> Figures {
        self.map.figures()
    }
}

/// An arena whose regions processes carve.
pub struct Carvers(Arc<Arena>);

impl Place for Carvers {
    fn memory(&self) -> &Memory {
        self.0.mapping().memory()
    }
}

impl Carvers {
    /// A region of so many bytes, carved or found: where it starts. None where there is no room.
    pub fn carve(&self, name: &str, size: u64) -> Option<u64> {
        match self.0.carve_region(name.as_bytes(), size) {
            Ok(registry::Region { offset, .. }) => Some(offset),
            Err(Error::Full { .. } | Error::NoEntry { .. }) => None,
            Err(error) => panic!("{error}"),
        }
    }

    /// The same for a map of one slot, which does not begin as zeros.
    pub fn carve_map(&self, name: &str) -> Option<u64> {
        let shape = Shape { slots: 1, slot_size: 64, serialised: false };
        Map::bind(&self.0, name.as_bytes(), shape).unwrap();
        self.find(name).map(|(start, _)| start)
    }

    /// Where the region starts, and how long it is.
    pub fn find(&self, name: &str) -> Option<(u64, u64)> {
        self.0.find_region(name.as_bytes()).map(|region| (region.offset, region.length))
    }

    pub fn write(&self, name: &str, byte: u8) {
        self.0.poke(name.as_bytes(), 0, &[byte; 8]).unwrap();
    }

    pub fn read(&self, name: &str) -> u8 {
        let mut out = [MaybeUninit::new(0); 8];
        self.0.peek(name.as_bytes(), 0, &mut out).unwrap();
        // SAFETY: initialised above.
        unsafe { out[0].assume_init() }
    }

    pub fn names(&self) -> Vec<String> {
        self.0.region_names().map(|name| String::from_utf8(name).unwrap()).collect()
    }

    /// Entries that point nowhere.
    pub fn refused(&self) -> u64 {
        self.0.refused()
    }

    /// What a process does that dies at that point. None when it died.
    pub fn until<T>(&self, point: &'static str, work: impl FnOnce(&Carvers) -> T) -> Option<T> {
        failpoint::until(point, || work(self))
    }
}
