//! The shared bytes: every structure in the mapping, with its offsets asserted, and the sizes of regions.
//!
//! A mapping is one [`ArenaHeader`], a table of [`RegistryEntry`], then the regions, each at a multiple of 64.
//! Changing anything here changes [`LAYOUT_VERSION`]. Format.pod draws the same bytes.

use crate::sync::{AtomicU32, AtomicU64, AtomicU8, Pair};
use core::mem::size_of;

/// The first bytes of every arena.
pub const MAGIC: [u8; 8] = *b"ShArena\n";
/// Raised with every change to the shared bytes.
pub const LAYOUT_VERSION: u32 = 5;
/// Written as a native integer, so that a machine of the other byte order reads something else.
pub const BYTE_ORDER_MARK: u32 = 0x0102_0304;

/// Bytes of a cache line; regions start on one.
pub const LINE: u64 = 64;

/// Largest `size` of an arena, in bytes.
pub const MAX_ARENA_SIZE: u64 = 1 << 46;
/// Most regions an arena can be created for.
pub const MAX_REGIONS: u32 = 65_536;
/// Longest name of a region, in bytes.
pub const MAX_REGION_NAME: usize = 31;
/// Longest name of an arena, in bytes.
pub const MAX_ARENA_NAME: usize = 200;
/// Most slots of a map or limiter.
pub const MAX_SLOTS: u64 = 1 << 31;
/// Homes in a block, of which a map remembers when the first entry lapses. A search for a lapsed entry reads a word for
/// each block, and one block.
pub(crate) const BLOCK_GROUPS: u64 = 64;
/// Smallest `slot_size` of a map: a header and one byte of key.
pub const MIN_SLOT_SIZE: u64 = BUFFER_HEADER + 1;
/// Largest `slot_size` of a map.
pub const MAX_SLOT_SIZE: u64 = 1 << 30;

/// The start of every mapping.
#[repr(C, align(64))]
pub(crate) struct ArenaHeader {
    pub magic: AtomicU64,
    pub layout_version: AtomicU32,
    pub byte_order: AtomicU32,
    pub word_bits: AtomicU32,
    /// Registry entries that follow the header.
    pub region_limit: AtomicU32,
    /// What `create` was asked for: the bytes regions may be charged.
    pub size: AtomicU64,
    /// Bytes of the whole mapping.
    pub mapped: AtomicU64,
    /// Where the first region starts.
    pub regions_start: AtomicU64,
    /// The hash of a constant under `seeds`.
    pub fingerprint: AtomicU64,
    /// Inode of the creator's pid namespace.
    pub pid_namespace: AtomicU64,
    pub seeds: [AtomicU64; 4],
    /// Wall clock at creation, nanoseconds since 1970.
    pub created_ns: AtomicU64,
    /// Which start of the machine this arena belongs to; 0 where it could not be told.
    pub boot: AtomicU64,
    /// Locks that were broken because nobody living held them.
    pub broken_locks: AtomicU64,
    /// Hands each process its own line of statistics.
    pub processes: AtomicU32,
    /// Not 0 once a process of another pid namespace has attached: thread ids no longer mean one thread.
    pub mixed_namespaces: AtomicU32,
    pub registry_lock: AtomicU32,
    /// Registry entries that are complete.
    pub region_count: AtomicU32,
    /// 0, or where the bytes end that carvers have begun to write: dirt if they died.
    pub carving_until: AtomicU64,
    pub reserved: [AtomicU64; 6],
}

/// One region's name and place. Written once, before `region_count` counts it.
#[repr(C, align(64))]
pub(crate) struct RegistryEntry {
    /// Length of the name in the first byte, then the name.
    pub name: [AtomicU64; 4],
    pub offset: AtomicU64,
    /// Bytes from `offset`.
    pub length: AtomicU64,
    /// Bytes taken from the arena's `size`.
    pub charged: AtomicU64,
    /// One of `kind::*`.
    pub kind: AtomicU32,
    pub reserved: AtomicU32,
}

/// What a region holds.
pub(crate) mod kind {
    pub const RAW: u32 = 1;
    pub const MAP: u32 = 2;
    pub const LIMITER: u32 = 3;
}

/// The start of a map's region. Stripes, groups, owners, vacancies, bounds and buffers
/// follow, in that order.
#[repr(C, align(64))]
pub(crate) struct MapHeader {
    pub slots: AtomicU64,
    pub slot_size: AtomicU64,
    /// Bit 0: values are serialised.
    pub flags: AtomicU64,
    pub reserved_a: [AtomicU64; 5],
    /// Reads that gave up, and writers that waited too long.
    pub busy: AtomicU64,
    /// New keys that were refused.
    pub full: AtomicU64,
    pub reserved_b: [AtomicU64; 6],
}

/// A stripe of writers: their lock, their spare buffer, a journal of the one change that may be under way, and their
/// share of the statistics. Everything but `lock` is written only while `lock` is held. Two lines, of which a store over
/// a key that is there touches the first alone.
#[repr(C, align(64))]
pub(crate) struct Stripe {
    pub lock: AtomicU32,
    /// The buffer the next store fills.
    pub spare: AtomicU32,
    pub journal: Journal,
    pub reserved: [AtomicU64; 2],
    pub counts: StripeCounts,
    /// What they are once the change under way is done; where it changes none, nothing in particular.
    pub counts_after: StripeCounts,
    /// Grows when a buffer is freed: a search for a free one that saw it grow looks again.
    pub freed: AtomicU64,
    /// Where the next search for a free buffer starts: a word of the owner table, in the line that is being closed.
    pub cursor: AtomicU64,
}

/// A redo note, see `map/journal.rs`.
#[repr(C)]
pub(crate) struct Journal {
    /// 0, or the change that is under way.
    pub step: AtomicU64,
    /// Which index word it changes.
    pub position: AtomicU64,
    /// The word before.
    pub before: AtomicU64,
    /// The word after, for an insert.
    pub after: AtomicU64,
    /// 0, or the buffer being claimed + 1, with bit 63 set when it was a tombstone.
    pub claim: AtomicU64,
}

/// A stripe's share of the map's statistics.
#[repr(C)]
pub(crate) struct StripeCounts {
    pub used: AtomicU64,
    /// Wraps below zero; the sum over stripes does not.
    pub tombstones: AtomicU64,
    pub expired: AtomicU64,
}

/// One line of a map's index.
#[repr(C, align(64))]
pub(crate) struct Group {
    /// How many groups, from this one on, a search for a key whose home this is must look at.
    pub reach: AtomicU64,
    /// See `map/word.rs`.
    pub words: [AtomicU64; LANES],
}

/// Index words in a group.
pub(crate) const LANES: usize = 7;

/// The start of a buffer; key and value bytes follow without a gap.
#[repr(C, align(16))]
pub(crate) struct BufferHeader {
    /// Sequence number (odd while the buffer is written) and, for a counter, its number.
    pub incarnation: Pair,
    /// Milliseconds since 1970 at which the entry lapses; 0 for never.
    pub deadline: AtomicU64,
    /// Kind, value length and key length; see `map/buffer.rs`.
    pub shape: AtomicU64,
}

/// Bytes of a [`BufferHeader`].
pub(crate) const BUFFER_HEADER: u64 = 32;

/// The start of a limiter's region. [`TALLIES`] lines of statistics and the slots follow.
#[repr(C, align(64))]
pub(crate) struct LimiterHeader {
    pub slots: AtomicU64,
    /// As asked for, `f64` bits.
    pub limit: AtomicU64,
    pub window: AtomicU64,
    /// How far the monotonic clock that it counts by is ahead of the machine's, in nanoseconds, with the sign bit
    /// turned over; 0 where it could not be told.
    pub clock_offset: AtomicU64,
    pub reserved: [AtomicU64; 12],
}

/// A line of a limiter's statistics.
#[repr(C, align(64))]
pub(crate) struct Tally {
    pub allowed: AtomicU64,
    pub denied: AtomicU64,
    pub evicted: AtomicU64,
    pub contended: AtomicU64,
    /// Claims of slots, which take their numbers from here.
    pub claims: AtomicU64,
    pub reserved: [AtomicU64; 3],
}

/// Statistics lines of a limiter; processes spread over them.
pub(crate) const TALLIES: u64 = 64;

/// Slots of a group: a key lies in one of them.
pub(crate) const GROUP_BUCKETS: usize = 64;
/// Slots in a cache line.
pub(crate) const LINE_BUCKETS: usize = 4;

/// A limiter's slots that some keys share.
#[repr(C, align(64))]
pub(crate) struct BucketGroup {
    pub slots: [Pair; GROUP_BUCKETS],
}

/// Fewest slots of a limiter: a group.
pub(crate) const MIN_LIMITER_SLOTS: u64 = GROUP_BUCKETS as u64;

/// What may be looked at in shared memory through a reference.
///
/// # Safety
/// The type is made of atomics alone, so that every bit pattern is a value and others may write it at any moment.
pub(crate) unsafe trait Shared {}

// SAFETY: atomics alone, as all the fields above show.
unsafe impl Shared for ArenaHeader {}
// SAFETY: as above.
unsafe impl Shared for RegistryEntry {}
// SAFETY: as above.
unsafe impl Shared for MapHeader {}
// SAFETY: as above.
unsafe impl Shared for Stripe {}
// SAFETY: as above.
unsafe impl Shared for Group {}
// SAFETY: as above.
unsafe impl Shared for LimiterHeader {}
// SAFETY: as above.
unsafe impl Shared for Tally {}
// SAFETY: as above.
unsafe impl Shared for BucketGroup {}
// SAFETY: two atomic words.
unsafe impl Shared for Pair {}
// SAFETY: an atomic word.
unsafe impl Shared for AtomicU64 {}
// SAFETY: an atomic byte.
unsafe impl Shared for AtomicU8 {}

/// Bytes aligned as any shared struct is.
#[allow(dead_code)] // in older compilers, which do not see what constants use
#[repr(align(64))]
struct Place<const BYTES: usize>([u8; BYTES]);

/// `core::mem::offset_of!` came with Rust 1.77, and constants that may point at an atomic with 1.83.
macro_rules! offset_of {
    ($of:ty, $field:ident) => {{
        let place = Place([0; size_of::<$of>()]);
        let start = place.0.as_ptr();
        // SAFETY: both pointers are into `place`, and neither is read through.
        unsafe { core::ptr::addr_of!((*start.cast::<$of>()).$field).cast::<u8>().offset_from(start) as usize }
    }};
}

const _: () = {
    assert!(size_of::<ArenaHeader>() == 192 && offset_of!(ArenaHeader, seeds) == 64);
    assert!(offset_of!(ArenaHeader, registry_lock) == 128 && offset_of!(ArenaHeader, region_count) == 132);
    assert!(offset_of!(ArenaHeader, size) == 24 && offset_of!(ArenaHeader, mapped) == 32);
    assert!(size_of::<RegistryEntry>() == 64 && offset_of!(RegistryEntry, offset) == 32);
    assert!(offset_of!(RegistryEntry, kind) == 56);
    assert!(size_of::<MapHeader>() == 128 && offset_of!(MapHeader, busy) == 64);
    assert!(size_of::<Stripe>() == 128 && offset_of!(Stripe, journal) == 8 && offset_of!(Stripe, counts) == 64);
    assert!(offset_of!(Stripe, counts_after) == 88 && offset_of!(Stripe, freed) == 112);
    assert!(size_of::<Group>() == 64 && offset_of!(Group, words) == 8);
    assert!(size_of::<BufferHeader>() == BUFFER_HEADER as usize && offset_of!(BufferHeader, shape) == 24);
    assert!(size_of::<LimiterHeader>() == 128);
    assert!(size_of::<Tally>() == 64);
    assert!(size_of::<BucketGroup>() == GROUP_BUCKETS * 16);
    assert!(size_of::<Pair>() == 16);
};

const fn round_up(value: u64, to: u64) -> u64 {
    value.div_ceil(to) * to
}

/// About the golden ratio of the groups, without a common divisor: multiples of it, modulo the groups, come to all of
/// them, and at any time lie evenly apart.
const fn step(groups: u64) -> u64 {
    let mut step = groups * 618_034 / 1_000_000;
    while greatest_common_divisor(step, groups) != 1 {
        step += 1;
    }
    step
}

const fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

/// Where the parts of a map's region lie, all offsets from the region's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MapLayout {
    pub slots: u64,
    pub stripes: u64,
    pub groups: u64,
    /// Of the leaps by which a search goes across the table: they come to each group once, and any number of them is
    /// spread over all.
    pub step: u64,
    /// Slots and a spare for each stripe.
    pub buffers: u64,
    /// Lines of owner bytes.
    pub owner_lines: u64,
    /// Blocks of homes that have a bound: as many in each stripe.
    pub bounds: u64,
    /// Bytes from one buffer to the next.
    pub stride: u64,
    pub stripes_at: u64,
    pub groups_at: u64,
    pub owners_at: u64,
    pub vacancies_at: u64,
    pub bounds_at: u64,
    pub buffers_at: u64,
    pub length: u64,
}

impl MapLayout {
    /// For slots and slot sizes within their documented ranges.
    pub(crate) const fn new(slots: u64, slot_size: u64) -> MapLayout {
        // A power of two about an eighth of the slots: each stripe costs a spare buffer.
        let stripes = match slots / 8 {
            0 | 1 => 1,
            64.. => 64,
            few => 1 << few.ilog2(),
        };
        // At most 5 of 7 words of the index are ever live, so searches stay short in a full map too. Stripes own
        // equal ranges of groups, so that writers of different stripes write different lines.
        let groups = round_up(slots.div_ceil(5), stripes);
        let buffers = slots + stripes;
        // Whole lines: counting on one key is not to slow counting on its neighbour.
        let stride = round_up(slot_size, LINE);
        let owner_lines = buffers.div_ceil(LINE);
        let bounds = stripes * (groups / stripes).div_ceil(BLOCK_GROUPS);
        let stripes_at = size_of::<MapHeader>() as u64;
        let groups_at = stripes_at + stripes * size_of::<Stripe>() as u64;
        let owners_at = groups_at + groups * size_of::<Group>() as u64;
        let vacancies_at = owners_at + owner_lines * LINE;
        let bounds_at = vacancies_at + round_up(owner_lines.div_ceil(8), LINE);
        let buffers_at = bounds_at + round_up(bounds * 8, LINE);
        let length = buffers_at + buffers * stride;
        MapLayout {
            slots,
            stripes,
            groups,
            step: step(groups),
            buffers,
            owner_lines,
            bounds,
            stride,
            stripes_at,
            groups_at,
            owners_at,
            vacancies_at,
            bounds_at,
            buffers_at,
            length,
        }
    }
}

/// What a map is charged: the documented `slots * slot_size` and a header, less than the documented one so that an
/// arena sized to the byte fits too.
pub(crate) const fn map_charge(slots: u64, slot_size: u64) -> u64 {
    round_up(slots * slot_size + 128, 16)
}

/// What a limiter is charged: the documented `slots * 16` and a header, likewise.
pub(crate) const fn limiter_charge(slots: u64) -> u64 {
    round_up(slots * 16 + 96, 16)
}

/// What a raw region is charged.
pub(crate) const fn raw_charge(size: u64) -> u64 {
    round_up(size, 16)
}

/// Bytes of a limiter's region.
pub(crate) const fn limiter_length(slots: u64) -> u64 {
    size_of::<LimiterHeader>() as u64 + TALLIES * size_of::<Tally>() as u64 + slots * 16
}

/// What a limiter's statistics, or a map's fixed parts, add to what `charge / 16 * 38` gives.
const SURPLUS: u64 = 4_800;

/// The room regions need when each may cost more than it is charged: enough for every mix of charges that sums
/// to `size` in at most `regions` regions.
///
/// A map costs at most 38/16 of its charge (the worst is the smallest slot size, whose buffers are 64 bytes for
/// 33, with 12.8 bytes of index and one of owner table) and what its stripes add: at most 24 bytes a slot, and no
/// more than 12,288 in all. A limiter adds its statistics, and every region up to one line of alignment and the map
/// header.
pub(crate) const fn room_for(size: u64, regions: u64) -> u64 {
    const PER_STRIPED_MAP: u64 = 12_288;
    // The cheapest region is a raw one of 16 bytes; the cheapest with a header of its own is a map of one slot.
    let small = min(regions, size / 16 + 1) * 128;
    let with_header = min(regions, size / 176 + 1) * SURPLUS;
    let striped = min(regions * PER_STRIPED_MAP, size / 33 * 24 + 24);
    round_up(size / 16 * 38 + 48 + small + with_header + striped, LINE)
}

const fn min(a: u64, b: u64) -> u64 {
    if a < b {
        a
    } else {
        b
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What one region takes beyond `38/16` of its charge.
    fn surplus(length: u64, charge: u64) -> u64 {
        (length + LINE).saturating_sub(charge / 16 * 38)
    }

    #[test]
    #[cfg_attr(miri, ignore = "a million shapes: hours")]
    fn every_map_shape_fits_what_create_adds_for_it() {
        let mut worst = 0;
        let slot_counts =
            (1..2000).chain((11..32).flat_map(|bits| [(1u64 << bits) - 1, 1 << bits, (1 << bits) / 5 * 3]));
        for slots in slot_counts {
            for slot_size in (33..700).chain([1000, 1024, 1025, 4096, 65_537, 1 << 20, MAX_SLOT_SIZE]) {
                let layout = MapLayout::new(slots, slot_size);
                let charge = map_charge(slots, slot_size);
                let surplus = surplus(layout.length, charge);
                worst = worst.max(surplus);
                assert!(
                    surplus <= SURPLUS + (slots * 24).min(12_288),
                    "{slots} slots of {slot_size}: {layout:?} charged {charge}, surplus {surplus}"
                );
                assert!(charge >= 176 && layout.groups % layout.stripes == 0);
                assert!(layout.groups * LANES as u64 > slots, "an empty word for every new key");
            }
        }
        assert!(worst > 0);
    }

    #[test]
    fn every_limiter_and_raw_region_fits_what_create_adds_for_it() {
        for slots in [64, 128, 1 << 12, 1 << 20, 1 << 31] {
            assert!(surplus(limiter_length(slots), limiter_charge(slots)) <= SURPLUS);
        }
        for size in 1..5000 {
            assert!(round_up(size, LINE) + LINE <= raw_charge(size) / 16 * 38 + 128);
        }
    }

    #[test]
    fn the_whole_range_stays_inside_64_bits() {
        let layout = MapLayout::new(MAX_SLOTS, MAX_SLOT_SIZE);
        assert!(layout.length > MAX_SLOTS * MAX_SLOT_SIZE && layout.length < 1 << 62);
        assert!(room_for(MAX_ARENA_SIZE, u64::from(MAX_REGIONS)) < 1 << 48);
    }
}
