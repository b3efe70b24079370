//! Regions: names and places, carved once and never moved.
//!
//! Carving happens under the arena's lock. An entry is complete before `region_count` counts it, and the count is
//! all that makes it exist: a carver that dies leaves nothing but bytes that the next one zeroes. Finding takes
//! no lock.

use crate::arena::Arena;
use crate::error::{shown, Error, Result};
use crate::failpoint;
use crate::layout::{self, kind, RegistryEntry, LINE, MAX_ARENA_SIZE, MAX_REGION_NAME};
use crate::map::Shape as MapShape;
use crate::rate::Policy;
use crate::sync::{self, AtomicU64, AtomicU8, Ordering};

/// A carved region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// From the start of the mapping; a multiple of 64.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    pub(crate) kind: u32,
    pub(crate) charged: u64,
}

/// What a carver asks for.
pub(crate) struct Plan {
    pub kind: u32,
    pub length: u64,
    pub charge: u64,
}

impl Arena {
    fn entries(&self) -> &[RegistryEntry] {
        let limit = u64::from(self.header.region_limit);
        let table = std::mem::size_of::<layout::ArenaHeader>() as u64;
        self.mapping().view(table, limit).unwrap_or(&[])
    }

    /// The entries that are complete.
    fn published(&self) -> &[RegistryEntry] {
        let entries = self.entries();
        // SYNC(registry): pairs with the release in carve; the entry is there before it is counted.
        let count = self.mapping().header().region_count.load(Ordering::Acquire) as usize;
        &entries[..count.min(entries.len())]
    }

    /// One entry's place, if it lies inside the mapping and among the regions.
    fn validated(&self, entry: &RegistryEntry) -> Option<Region> {
        // Relaxed: SYNC(registry) made the entry visible.
        let region = Region {
            offset: entry.offset.load(Ordering::Relaxed),
            length: entry.length.load(Ordering::Relaxed),
            kind: entry.kind.load(Ordering::Relaxed),
            charged: entry.charged.load(Ordering::Relaxed),
        };
        let inside = region.offset >= self.header.regions_start
            && region.offset % LINE == 0
            && region.length > 0
            && region.offset.checked_add(region.length).is_some_and(|end| end <= self.mapping().length() as u64)
            && region.charged <= self.header.size
            && name_of(entry).is_some();
        inside.then_some(region)
    }

    /// Finds a region of any kind by its name. Looks at each entry once.
    #[must_use]
    pub fn find_region(&self, name: &[u8]) -> Option<Region> {
        let wanted = packed(name)?;
        self.published()
            .iter()
            .filter(|entry| entry.name.iter().zip(wanted).all(|(cell, word)| cell.load(Ordering::Relaxed) == word))
            .find_map(|entry| self.validated(entry))
    }

    /// The names of all regions, in the order they were carved.
    pub fn region_names(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        (0..self.region_count()).filter_map(|index| self.region_name(index))
    }

    /// How many regions have been carved.
    #[must_use]
    pub fn region_count(&self) -> u32 {
        self.published().len() as u32
    }

    /// The name of the region carved `index`-th, from 0; None past the end, and for a damaged entry.
    #[must_use]
    pub fn region_name(&self, index: u32) -> Option<Vec<u8>> {
        let entry = self.published().get(index as usize)?;
        self.validated(entry).and_then(|_| name_of(entry))
    }

    /// What a region holds, in words, for messages.
    pub(crate) fn describe(&self, region: &Region) -> String {
        let damaged = || "something damaged".to_owned();
        match region.kind {
            kind::RAW => format!("a region of {} bytes", region.length),
            kind::MAP => MapShape::of(self, region).map_or_else(damaged, |shape| shape.to_string()),
            kind::LIMITER => Policy::of(self, region).map_or_else(damaged, |policy| policy.to_string()),
            _ => damaged(),
        }
    }

    /// How many registry entries point outside the mapping: 0 unless memory was overwritten.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.published().iter().filter(|entry| self.validated(entry).is_none()).count() as u64
    }

    /// Carves a region of raw bytes, or finds the one of that name and size.
    ///
    /// # Errors
    /// `Invalid` for a name or size out of range, `Full` or `NoEntry` when there is no room, `Shape` when the name
    /// is carved as something else.
    pub fn carve_region(&self, name: &[u8], size: u64) -> Result<Region> {
        if size == 0 || size > MAX_ARENA_SIZE {
            return Err(Error::Invalid(format!("a region's size is 1 to {MAX_ARENA_SIZE} bytes, not {size}")));
        }
        let plan = Plan { kind: kind::RAW, length: size, charge: layout::raw_charge(size) };
        let region = self.carve(name, &plan, |_| Ok(()))?;
        if region.kind != kind::RAW || region.length != size {
            return Err(Error::Shape { asked: format!("a region of {size} bytes"), there: self.describe(&region) });
        }
        Ok(region)
    }

    /// The region of that name, carved now if nobody has; `shape` writes what it starts with, into zeroed bytes.
    /// Whether an older one is what the caller wants is the caller's to see.
    pub(crate) fn carve(&self, name: &[u8], plan: &Plan, shape: impl FnOnce(&Region) -> Result<()>) -> Result<Region> {
        let packed_name = packed(name).ok_or_else(|| {
            Error::Invalid(format!(
                "a region's name has 1 to {MAX_REGION_NAME} bytes, and {} has {}",
                shown(name),
                name.len()
            ))
        })?;
        if let Some(region) = self.find_region(name) {
            return Ok(region);
        }
        let header = self.mapping().header();
        let _guard = self.lock(&header.registry_lock)?;
        // Somebody may have been first while we waited.
        if let Some(region) = self.find_region(name) {
            return Ok(region);
        }
        let (start, charged) = self.carved()?;
        let free = self.header.size.saturating_sub(charged);
        if plan.charge > free {
            return Err(Error::Full { needed: plan.charge, free, size: self.header.size });
        }
        let entries = self.entries();
        let index = self.published().len();
        let entry = entries.get(index).ok_or(Error::NoEntry { limit: self.header.region_limit })?;
        let region = Region { offset: start, length: plan.length, kind: plan.kind, charged: plan.charge };
        let end = start.checked_add(plan.length).filter(|end| *end <= self.mapping().length() as u64);
        // `room_for` makes this impossible while the registry is whole.
        let end = end.ok_or(Error::Full { needed: plan.charge, free, size: self.header.size })?;

        // What a dead carver wrote beyond this region stays noted for the next one: no carving takes longer than its own
        // bytes do, whatever the note says.
        let dirty_until = header.carving_until.load(Ordering::Relaxed).min(self.mapping().length() as u64);
        self.wipe(start, dirty_until.min(end));
        header.carving_until.store(dirty_until.max(end), Ordering::Release);
        shape(&region)?;
        failpoint::hit("carve.shaped");
        for (cell, word) in entry.name.iter().zip(packed_name) {
            cell.store(word, Ordering::Relaxed);
        }
        entry.offset.store(region.offset, Ordering::Relaxed);
        entry.length.store(region.length, Ordering::Relaxed);
        entry.charged.store(region.charged, Ordering::Relaxed);
        entry.kind.store(region.kind, Ordering::Relaxed);
        failpoint::hit("carve.written");
        // SYNC(registry): pairs with the acquire in published().
        header.region_count.store(index as u32 + 1, Ordering::Release);
        failpoint::hit("carve.published");
        header.carving_until.store(if dirty_until > end { dirty_until } else { 0 }, Ordering::Release);
        Ok(region)
    }

    /// Where the next region starts, and what all regions are charged together.
    fn carved(&self) -> Result<(u64, u64)> {
        let mut next = self.header.regions_start;
        let mut charged = 0u64;
        for (index, entry) in self.published().iter().enumerate() {
            let region = self.validated(entry).ok_or_else(|| {
                Error::Corrupt(format!("the arena is damaged: registry entry {index} points outside of it"))
            })?;
            next = next.max((region.offset + region.length).div_ceil(LINE) * LINE);
            charged = charged.saturating_add(region.charged);
        }
        Ok((next, charged))
    }

    /// Zeroes what a carver that died had begun to write.
    fn wipe(&self, start: u64, end: u64) {
        let bytes = end.checked_sub(start);
        // The last word may be cut: what is left of it lies before the next region, which starts on a line.
        let words = bytes.and_then(|bytes| self.mapping().view::<AtomicU64>(start, bytes.div_ceil(8)));
        if let Some(words) = words {
            for word in words {
                word.store(0, Ordering::Relaxed);
            }
        }
    }

    /// Writes bytes into a region. Eight that lie at a multiple of eight are written at once: nobody sees half of a
    /// number, not even when the writer is killed.
    ///
    /// # Errors
    /// `Invalid` when there is no such region or the bytes do not lie inside it. Then nothing is written.
    pub fn poke(&self, name: &[u8], offset: u64, bytes: &[u8]) -> Result<()> {
        sync::write_raw(self.bytes_of(name, offset, bytes.len())?, bytes);
        Ok(())
    }

    /// Reads bytes out of a region into `out`, those that lie at a multiple of eight likewise.
    ///
    /// # Errors
    /// As [`Arena::poke`].
    pub fn peek(&self, name: &[u8], offset: u64, out: &mut [std::mem::MaybeUninit<u8>]) -> Result<()> {
        sync::read_raw(self.bytes_of(name, offset, out.len())?, out);
        Ok(())
    }

    fn bytes_of(&self, name: &[u8], offset: u64, count: usize) -> Result<&[AtomicU8]> {
        let shown = || shown(name);
        let region = self.find_region(name).ok_or_else(|| Error::Invalid(format!("there is no region {}", shown())))?;
        let inside = offset.checked_add(count as u64).is_some_and(|end| end <= region.length);
        if !inside {
            return Err(Error::Invalid(format!(
                "{count} bytes at {offset} do not lie inside region {} of {} bytes",
                shown(),
                region.length
            )));
        }
        self.mapping()
            .view(region.offset + offset, count as u64)
            .ok_or_else(|| Error::Corrupt(format!("region {} is damaged", shown())))
    }
}

/// A name as an entry keeps it: its length in the first byte. None for a name that can be none.
fn packed(name: &[u8]) -> Option<[u64; 4]> {
    if name.is_empty() || name.len() > MAX_REGION_NAME {
        return None;
    }
    let mut bytes = [0u8; 32];
    bytes[0] = name.len() as u8;
    bytes[1..=name.len()].copy_from_slice(name);
    Some(std::array::from_fn(|word| {
        let mut eight = [0; 8];
        eight.copy_from_slice(&bytes[word * 8..word * 8 + 8]);
        u64::from_ne_bytes(eight)
    }))
}

fn name_of(entry: &RegistryEntry) -> Option<Vec<u8>> {
    let bytes: Vec<u8> = entry.name.iter().flat_map(|cell| cell.load(Ordering::Relaxed).to_ne_bytes()).collect();
    let length = usize::from(bytes[0]);
    (1..=MAX_REGION_NAME).contains(&length).then(|| bytes[1..=length].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carving_finds_what_is_there_and_refuses_another_size() {
        let arena = Arena::on_heap(4096, 8).unwrap();
        let first = arena.carve_region(b"a", 100).unwrap();
        assert_eq!(arena.carve_region(b"a", 100).unwrap(), first);
        assert_eq!((first.length, first.offset % 64), (100, 0));
        assert!(matches!(arena.carve_region(b"a", 101), Err(Error::Shape { .. })));
        let second = arena.carve_region(b"b", 1).unwrap();
        assert!(second.offset >= first.offset + 100);
        assert_eq!(arena.region_names().collect::<Vec<_>>(), [b"a", b"b"]);
    }

    #[test]
    fn a_refused_carve_uses_up_nothing() {
        let arena = Arena::on_heap(1024, 2).unwrap();
        assert!(matches!(arena.carve_region(b"big", 1025), Err(Error::Full { needed: 1040, free: 1024, size: 1024 })));
        assert!(arena.carve_region(b"", 1).is_err() && arena.carve_region(&[b'x'; 32], 1).is_err());
        arena.carve_region(b"all", 1008).unwrap();
        arena.carve_region(b"rest", 16).unwrap();
        assert!(matches!(arena.carve_region(b"more", 1), Err(Error::Full { free: 0, .. })));
        assert_eq!(arena.region_count(), 2);
        let arena = Arena::on_heap(1024, 1).unwrap();
        arena.carve_region(&[b'x'; 31], 1).unwrap();
        assert!(matches!(arena.carve_region(b"more", 1), Err(Error::NoEntry { limit: 1 })));
    }

    #[test]
    fn a_damaged_entry_is_refused_and_counted() {
        let arena = Arena::on_heap(4096, 8).unwrap();
        arena.carve_region(b"good", 64).unwrap();
        arena.carve_region(b"bad", 64).unwrap();
        assert_eq!(arena.refused(), 0);
        for (offset, length) in [(u64::MAX - 63, 64), (0, 64), (1 << 40, 64), (64, u64::MAX), (65, 1)] {
            let entry = &arena.published()[1];
            entry.offset.store(offset, Ordering::Relaxed);
            entry.length.store(length, Ordering::Relaxed);
            assert_eq!((arena.refused(), arena.find_region(b"bad")), (1, None));
            assert!(arena.find_region(b"good").is_some());
            assert!(matches!(arena.carve_region(b"new", 64), Err(Error::Corrupt(_))));
        }
        arena.mapping().header().region_count.store(u32::MAX, Ordering::Relaxed);
        assert!(arena.find_region(b"good").is_some());
    }

    #[test]
    fn what_a_dead_carver_wrote_is_zeroed_before_the_next_region() {
        let arena = Arena::on_heap(4096, 8).unwrap();
        let (start, _) = arena.carved().unwrap();
        let dirty: &[AtomicU64] = arena.mapping().view(start, 16).unwrap();
        dirty.iter().for_each(|word| word.store(7, Ordering::Relaxed));
        arena.mapping().header().carving_until.store(start + 128, Ordering::Relaxed);
        arena.carve_region(b"a", 128).unwrap();
        assert!(dirty.iter().all(|word| word.load(Ordering::Relaxed) == 0));
    }

    #[test]
    fn what_lies_beyond_the_next_region_is_zeroed_for_the_one_after() {
        let arena = Arena::on_heap(4096, 8).unwrap();
        let (start, _) = arena.carved().unwrap();
        let dirty: &[AtomicU64] = arena.mapping().view(start, 32).unwrap();
        let zeros = || dirty.iter().position(|word| word.load(Ordering::Relaxed) != 0);
        dirty.iter().for_each(|word| word.store(7, Ordering::Relaxed));
        arena.mapping().header().carving_until.store(start + 256, Ordering::Relaxed);
        for (name, carved) in [(b"a", 8), (b"b", 16), (b"c", 24)] {
            arena.carve_region(name, 61).unwrap();
            assert_eq!(zeros(), Some(carved), "its own bytes");
        }
        arena.carve_region(b"d", 100).unwrap();
        assert_eq!((zeros(), arena.mapping().header().carving_until.load(Ordering::Relaxed)), (None, 0));
    }

    #[test]
    fn peek_and_poke_stay_inside_their_region() {
        let arena = Arena::on_heap(4096, 8).unwrap();
        arena.carve_region(b"a", 10).unwrap();
        arena.poke(b"a", 7, b"xyz").unwrap();
        let mut out = [std::mem::MaybeUninit::new(0); 4];
        arena.peek(b"a", 6, &mut out).unwrap();
        // SAFETY: initialised above.
        assert_eq!(out.map(|byte| unsafe { byte.assume_init() }), [0, b'x', b'y', b'z']);
        for (offset, count) in [(8, 3), (11, 0), (u64::MAX, 1)] {
            assert!(arena.poke(b"a", offset, &[1; 3][..count]).is_err());
        }
        assert!(arena.poke(b"b", 0, b"x").is_err());
    }
}
