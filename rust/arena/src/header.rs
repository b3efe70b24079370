//! The header of an arena: written once by the creator, validated by everybody who opens one.

use crate::error::{Error, Result};
use crate::hash::{draw_seeds, KeyHash};
use crate::layout::{
    self, ArenaHeader, RegistryEntry, BYTE_ORDER_MARK, LAYOUT_VERSION, LINE, MAGIC, MAX_ARENA_SIZE, MAX_REGIONS,
};
use crate::mapping::Mapping;
use crate::process;
use crate::sync::Ordering::Relaxed;
use std::mem::size_of;

/// Fewer bytes than this are no arena.
pub(crate) const SMALLEST: u64 = (size_of::<ArenaHeader>() + size_of::<RegistryEntry>()) as u64;
/// And more are none.
pub(crate) const LARGEST: u64 = extent(MAX_ARENA_SIZE, MAX_REGIONS).1;

const WORD_BITS: u32 = usize::BITS;

/// What the header says, checked once and kept in this process: nothing reads these fields from shared memory
/// again.
pub(crate) struct Header {
    pub size: u64,
    pub region_limit: u32,
    pub regions_start: u64,
    pub pid_namespace: u64,
    pub hash: KeyHash,
}

/// How large a mapping must be, and where its regions start.
pub(crate) const fn extent(size: u64, region_limit: u32) -> (u64, u64) {
    let table = size_of::<RegistryEntry>() as u64 * region_limit as u64;
    let start = size_of::<ArenaHeader>() as u64 + table;
    (start, start + layout::room_for(size, region_limit as u64))
}

/// Writes the header of a fresh, zeroed mapping that nobody else sees yet.
pub(crate) fn write(mapping: &Mapping, size: u64, region_limit: u32, seeds: [u64; 4]) {
    let raw = mapping.header();
    let (regions_start, _) = extent(size, region_limit);
    // Relaxed throughout: giving the arena its name, or forking, is what shows these to others.
    raw.layout_version.store(LAYOUT_VERSION, Relaxed);
    raw.byte_order.store(BYTE_ORDER_MARK, Relaxed);
    raw.word_bits.store(WORD_BITS, Relaxed);
    raw.region_limit.store(region_limit, Relaxed);
    raw.size.store(size, Relaxed);
    raw.mapped.store(mapping.length() as u64, Relaxed);
    raw.regions_start.store(regions_start, Relaxed);
    raw.pid_namespace.store(process::pid_namespace(), Relaxed);
    raw.boot.store(process::boot(), Relaxed);
    raw.created_ns.store(crate::clock::wall_ns(), Relaxed);
    for (cell, seed) in raw.seeds.iter().zip(seeds) {
        cell.store(seed, Relaxed);
    }
    raw.fingerprint.store(KeyHash::new(seeds).fingerprint(), Relaxed);
    raw.magic.store(u64::from_ne_bytes(MAGIC), Relaxed);
}

/// Seeds for [`write`].
pub(crate) fn seeds() -> Result<[u64; 4]> {
    draw_seeds()
}

/// Reads and checks the header. `what` names the arena in messages.
pub(crate) fn read(mapping: &Mapping, what: &str) -> Result<Header> {
    let corrupt = |text: String| Err(Error::Corrupt(format!("{what} {text}")));
    let raw = mapping.header();
    let found = raw.magic.load(Relaxed).to_ne_bytes();
    if found != MAGIC {
        return corrupt("is not an arena: it does not begin as one".into());
    }
    let byte_order = raw.byte_order.load(Relaxed);
    if byte_order == BYTE_ORDER_MARK.swap_bytes() {
        return corrupt("was made on a machine of the other byte order".into());
    }
    let version = raw.layout_version.load(Relaxed);
    if version != LAYOUT_VERSION {
        return corrupt(format!(
            "has layout version {version} and this build reads version {LAYOUT_VERSION}; let the processes that use \
             it end, then remove it with Shared::Arena->destroy"
        ));
    }
    if byte_order != BYTE_ORDER_MARK {
        return corrupt("is damaged: its byte order mark is none".into());
    }
    let bits = raw.word_bits.load(Relaxed);
    if bits != WORD_BITS {
        return corrupt(format!("was made by a {bits}-bit program, and this one has {WORD_BITS} bits"));
    }
    let (made_in, now_in) = (raw.boot.load(Relaxed), process::boot());
    if made_in != now_in && made_in != 0 && now_in != 0 {
        return corrupt("was made before this machine was last started; remove it with Shared::Arena->destroy".into());
    }
    let (size, region_limit) = (raw.size.load(Relaxed), raw.region_limit.load(Relaxed));
    let mapped = raw.mapped.load(Relaxed);
    let length = mapping.length() as u64;
    if mapped != length {
        let how = if length < mapped { "was cut short: it " } else { "" };
        return corrupt(format!("{how}is {length} bytes long where its header says {mapped}"));
    }
    if size == 0 || size > MAX_ARENA_SIZE {
        return corrupt(format!(
            "is damaged: its header says that it has room for {size} bytes, and an arena has 1 to {MAX_ARENA_SIZE}"
        ));
    }
    if region_limit == 0 || region_limit > MAX_REGIONS {
        return corrupt(format!(
            "is damaged: its header says that it has {region_limit} regions, and an arena has 1 to {MAX_REGIONS}"
        ));
    }
    if extent(size, region_limit) != (raw.regions_start.load(Relaxed), mapped) {
        return corrupt("is damaged: the sizes in its header do not agree".into());
    }
    let hash = KeyHash::new(std::array::from_fn(|index| raw.seeds[index].load(Relaxed)));
    if hash.fingerprint() != raw.fingerprint.load(Relaxed) {
        return corrupt("was made by a build that hashes differently (or its seeds are damaged)".into());
    }
    let pid_namespace = raw.pid_namespace.load(Relaxed);
    Ok(Header { size, region_limit, regions_start: extent(size, region_limit).0, pid_namespace, hash })
}

const _: () = assert!(SMALLEST % LINE == 0);
