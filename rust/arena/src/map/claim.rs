//! Who owns which buffer.
//!
//! There are `slots + stripes` buffers and one byte of owner table for each, eight to a word:
//!
//! | byte | meaning | who leaves it |
//! |---|---|---|
//! | 0 | free, and never used | any stripe's writer, by compare-and-swap to its own number |
//! | 1..=64 | stripe + 1: it is that stripe's spare, or holds an entry of that stripe | a writer of that stripe |
//! | 254 | no buffer: the table is longer than the buffers | nobody |
//! | 255 | free, and used before: a tombstone | as for 0 |
//!
//! Each stripe keeps one spare for ever, so `slots` buffers are left for entries: a map takes that many keys,
//! always, and finding no free buffer is what "full" means. A claim is noted in the stripe's journal before it is
//! made, so a writer that dies in between loses nothing: the byte itself says whether it got the buffer.
//! `vacancy` keeps a search for a free byte short.
//!
//! | edge | release | acquire | makes visible |
//! |---|---|---|---|
//! | owner | `Map::change_owner` | `Map::owner`, `Map::change_owner` | that the buffer's old life is over |
//! | freed | `Turn::free`, `Turn::reopen_line` | `Map::freed` | the free byte, its open line |
//! | cursor | `Turn::move_cursor` | `Map::cursor` | that a line which it named before is settled: open, or counted in `freed` |

use super::journal::Turn;
use super::{Map, WORDS_A_LINE};
use crate::failpoint;
use crate::layout::{Stripe, LINE};
use crate::sync::{AtomicU64, Ordering};

const NEVER_USED: u8 = 0;
const NO_BUFFER: u8 = 254;
pub(super) const TOMBSTONE: u8 = 255;

/// A free buffer that became ours, on the way to becoming a stripe's next spare.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Claim {
    pub buffer: u32,
    pub was_tombstone: bool,
}

impl Claim {
    const WAS_TOMBSTONE: u64 = 1 << 63;

    pub(super) fn pack(self) -> u64 {
        (u64::from(self.buffer) + 1) | if self.was_tombstone { Claim::WAS_TOMBSTONE } else { 0 }
    }

    pub(super) fn unpack(packed: u64) -> Option<Claim> {
        let buffer = (packed & !Claim::WAS_TOMBSTONE).checked_sub(1)?;
        let was_tombstone = packed & Claim::WAS_TOMBSTONE != 0;
        u32::try_from(buffer).ok().map(|buffer| Claim { buffer, was_tombstone })
    }

    fn free_byte(self) -> u8 {
        if self.was_tombstone {
            TOMBSTONE
        } else {
            NEVER_USED
        }
    }
}

/// A word with the high bit of each byte set that is 0 or 255 in `owners` (and of some others after the first).
pub(super) fn free_bytes(owners: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = ONES << 7;
    let zeros = owners.wrapping_sub(ONES) & !owners;
    let full = (!owners).wrapping_sub(ONES) & owners;
    (zeros | full) & HIGHS
}

impl Map {
    pub(super) fn lay_out_owners(&self) {
        for (word, cell) in self.owners.iter().enumerate() {
            let bytes = (0..8).map(|byte| match word as u64 * 8 + byte {
                buffer if buffer < self.layout.slots => NEVER_USED,
                buffer if buffer < self.layout.buffers => (buffer - self.layout.slots) as u8 + 1,
                _ => NO_BUFFER,
            });
            let packed = bytes.enumerate().fold(0, |word, (byte, owner)| word | u64::from(owner) << (byte * 8));
            cell.store(packed, Ordering::Relaxed);
        }
        for (index, stripe) in self.stripes.iter().enumerate() {
            stripe.spare.store((self.layout.slots + index as u64) as u32, Ordering::Relaxed);
            // Each stripe begins its search in its own share, on a line of its own where shares are that large, so
            // that neighbours in memory have one writer.
            let share = self.layout.slots * index as u64 / self.layout.stripes;
            let step = if self.layout.slots / self.layout.stripes < LINE { 8 } else { LINE };
            stripe.cursor.store(share.div_ceil(step) * step / 8, Ordering::Relaxed);
        }
    }

    /// The word and the line of owners that a stripe's cursor names.
    pub(super) fn cursor(&self, stripe: &Stripe) -> (u64, u64) {
        // SYNC(cursor): pairs with move_cursor().
        let word = stripe.cursor.load(Ordering::Acquire) % self.owners.len() as u64;
        (word, word / WORDS_A_LINE)
    }

    fn owner_cell(&self, buffer: u32) -> Option<(&AtomicU64, u32)> {
        self.owners.get(buffer as usize / 8).map(|cell| (cell, buffer % 8 * 8))
    }

    /// The owner byte of a buffer; None when there is no such buffer.
    pub(super) fn owner(&self, buffer: u32) -> Option<u8> {
        // SYNC(owner): pairs with change_owner().
        self.owner_cell(buffer).map(|(cell, shift)| (cell.load(Ordering::Acquire) >> shift) as u8)
    }

    /// Changes an owner byte if it is as expected.
    fn change_owner(&self, buffer: u32, from: u8, to: u8) -> bool {
        let Some((cell, shift)) = self.owner_cell(buffer) else { return false };
        let mut seen = cell.load(Ordering::Relaxed);
        while (seen >> shift) as u8 == from {
            let wanted = seen & !(0xff << shift) | u64::from(to) << shift;
            // SYNC(owner): claiming acquires what the giver released, so the buffer's old life is over for us.
            match cell.compare_exchange(seen, wanted, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// Grows with every buffer that is freed.
    pub(super) fn freed(&self) -> u64 {
        // SYNC(freed): pairs with the releases in free() and reopen_line().
        self.stripes.iter().fold(0, |sum, stripe| sum.wrapping_add(stripe.freed.load(Ordering::Acquire)))
    }
}

impl Turn<'_> {
    /// Makes a free buffer ours. If none is found: what `freed()` said before we looked. If it says so still, and
    /// nobody was about to free one when we began ([`Map::make_room`]), there was none: every slot holds an entry, or
    /// is about to.
    pub(super) fn claim(&self) -> Result<Claim, u64> {
        if let Some(claim) = self.claim_in(self.map.cursor(self.stripe)) {
            return Ok(claim);
        }
        let freed = self.map.freed();
        if let Some(claim) = self.claim_open().or_else(|| self.claim_closing()) {
            return Ok(claim);
        }
        self.write(&self.stripe.journal.claim, 0);
        Err(freed)
    }

    /// Looks through the lines that are open, and closes those that should not be.
    fn claim_open(&self) -> Option<Claim> {
        let (_, line) = self.map.cursor(self.stripe);
        for line in self.map.open_lines(line) {
            if let Some(claim) = self.claim_in((line * WORDS_A_LINE, line)) {
                return Some(claim);
            }
            self.move_cursor(line * WORDS_A_LINE);
            self.close_line(line);
        }
        None
    }

    /// Looks through the lines that others may be closing, or freeing a buffer in: a line counts as closed only when
    /// they have looked again, which one that stands still or died never did.
    fn claim_closing(&self) -> Option<Claim> {
        failpoint::hit("claim.vain");
        // SYNC(lock): of one that is free, all that its last holder did is seen.
        let held = self.map.stripes.iter().filter(|stripe| stripe.lock.load(Ordering::Acquire) != 0);
        held.map(|stripe| self.map.cursor(stripe).1).find_map(|line| self.claim_in((line * WORDS_A_LINE, line)))
    }

    /// Looks through one line, from a word of it around.
    fn claim_in(&self, (start, line): (u64, u64)) -> Option<Claim> {
        let first = line * WORDS_A_LINE;
        let (before, after) = self.map.owner_line(line).split_at((start - first) as usize);
        for (word, cell) in (start..).zip(after).chain((first..).zip(before)) {
            let mut free = free_bytes(cell.load(Ordering::Relaxed));
            while free != 0 {
                let byte = u64::from(free.trailing_zeros() / 8);
                if let Some(claim) = self.claim_buffer((word * 8 + byte) as u32) {
                    self.move_cursor(word);
                    return Some(claim);
                }
                free &= free - 1;
            }
        }
        None
    }

    fn move_cursor(&self, word: u64) {
        // SYNC(cursor): pairs with the acquire in cursor().
        self.write(&self.stripe.cursor, word);
    }

    fn claim_buffer(&self, buffer: u32) -> Option<Claim> {
        if u64::from(buffer) >= self.map.layout.buffers {
            // Only a table that was written over says that there is one.
            return None;
        }
        let was_tombstone = match self.map.owner(buffer)? {
            TOMBSTONE => true,
            NEVER_USED => false,
            _ => return None,
        };
        let claim = Claim { buffer, was_tombstone };
        self.write(&self.stripe.journal.claim, claim.pack());
        failpoint::hit("claim.noted");
        let ours = self.map.change_owner(buffer, claim.free_byte(), self.owner_byte());
        failpoint::hit("claim.taken");
        ours.then_some(claim)
    }

    /// Gives a claim up, or finds that it was never made, or that it has become the spare.
    pub(super) fn drop_claim(&self) {
        if let Some(claim) = Claim::unpack(self.stripe.journal.claim.load(Ordering::Relaxed)) {
            if claim.buffer != self.stripe.spare.load(Ordering::Relaxed) {
                // Only this stripe's writers ever write its number, and we are the one: the byte is the claim.
                self.free(claim.buffer, claim.free_byte());
            }
        }
        self.write(&self.stripe.journal.claim, 0);
    }

    /// A buffer whose entry is gone becomes a tombstone. Doing it twice does it once.
    pub(super) fn give_back(&self, buffer: u32) {
        self.free(buffer, TOMBSTONE);
    }

    fn free(&self, buffer: u32, byte: u8) {
        failpoint::hit("free.begun");
        let word = u64::from(buffer / 8);
        // First, so that a search finds the buffer wherever we may be stopped.
        self.move_cursor(word);
        self.map.change_owner(buffer, self.owner_byte(), byte);
        failpoint::hit("free.hidden");
        if word < self.map.owners.len() as u64 {
            self.map.open_line(word / WORDS_A_LINE);
        }
        // SYNC(freed): pairs with the acquires in freed(): a search that ran meanwhile looks again.
        self.stripe.freed.fetch_add(1, Ordering::AcqRel);
        failpoint::hit("free.done");
    }

    pub(super) fn owner_byte(&self) -> u8 {
        self.index as u8 + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_bytes_finds_the_first_free_byte_and_misses_none() {
        for byte in 0..8 {
            for free in [NEVER_USED, TOMBSTONE] {
                for other in [1u8, 64, NO_BUFFER] {
                    let mut owners = [other; 8];
                    assert_eq!(free_bytes(u64::from_le_bytes(owners)), 0);
                    owners[byte] = free;
                    let found = free_bytes(u64::from_le_bytes(owners));
                    assert_eq!(found.trailing_zeros() / 8, byte as u32, "{owners:?}");
                }
            }
        }
    }

    #[test]
    fn a_claim_comes_back_from_its_note() {
        for claim in [Claim { buffer: 0, was_tombstone: true }, Claim { buffer: u32::MAX, was_tombstone: false }] {
            assert_eq!(Claim::unpack(claim.pack()), Some(claim));
        }
        assert_eq!(Claim::unpack(0), None);
        assert_eq!(Claim::unpack(u64::MAX), None);
    }
}
