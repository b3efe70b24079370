//! A line of words compared at once, for `map/lanes.rs`.

use super::Ordering;
use crate::layout::Group;

/// Which words of a group are `sought` in the bits of `compared`, a bit for each. Both lie in the low half.
#[inline(always)]
pub(crate) fn matching(group: &Group, compared: u64, sought: u64) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if !super::WATCHED {
        return matching_at_once(group, compared, sought);
    }
    matching_in_turn(group, compared, sought)
}

/// Four loads and a dozen operations on them. Like the 16-byte compare-and-swap, this is the machine's business alone:
/// the compiler sees no access that is not atomic, and each word of eight bytes is read at once. Loads acquire here.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn matching_at_once(group: &Group, compared: u64, sought: u64) -> u32 {
    let bits: u32;
    // SAFETY: reads the 64 bytes of the group, which is aligned to them, and changes nothing but the registers named. That it does not
    // write is not told, so that no later load is moved before it.
    // SYNC(publish): pairs with the releases in journal.rs.
    unsafe {
        std::arch::asm!(
            // The low halves of four words at a time; in the place of the first, those of the reach.
            "movdqa {low}, [{group}]",
            "movdqa {high}, [{group} + 32]",
            "shufps {low}, [{group} + 16], 0x88",
            "shufps {high}, [{group} + 48], 0x88",
            "movd {each}, {compared:e}",
            "pshufd {each}, {each}, 0",
            "pand {low}, {each}",
            "pand {high}, {each}",
            "movd {each}, {sought:e}",
            "pshufd {each}, {each}, 0",
            "pcmpeqd {low}, {each}",
            "pcmpeqd {high}, {each}",
            "packssdw {low}, {high}",
            "packsswb {low}, {low}",
            "pmovmskb {bits:e}, {low}",
            group = in(reg) group,
            compared = in(reg) compared,
            sought = in(reg) sought,
            low = out(xmm_reg) _,
            high = out(xmm_reg) _,
            each = out(xmm_reg) _,
            bits = lateout(reg) bits,
            options(nostack, preserves_flags),
        );
    }
    bits >> 1 & ((1 << crate::layout::LANES) - 1)
}

#[inline(always)]
fn matching_in_turn(group: &Group, compared: u64, sought: u64) -> u32 {
    let mut lanes = 0;
    for (lane, cell) in group.words.iter().enumerate() {
        // SYNC(publish): pairs with the releases in journal.rs.
        lanes |= u32::from(cell.load(Ordering::Acquire) & compared == sought) << lane;
    }
    lanes
}
