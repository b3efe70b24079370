//! Deadlines: when an entry has lapsed, and making room of lapsed ones in a full map.
//!
//! A deadline is wall time in milliseconds, so all processes agree on it. Nothing sweeps in the background: a
//! lapsed entry is collected by the call that lands on it, or by a store that finds the map full.
//!
//! So that such a store finds one soon, or soon knows that there is none, the homes of each stripe are divided into
//! blocks, and each block has a bound: no entry whose home is in the block lapses before it. A bound changes under the
//! stripe's lock alone. A store with an earlier deadline lowers it before it publishes the entry; so a writer may
//! stop or die anywhere, and its lapsed entry is looked for. A search of the whole block makes the bound exact again.

use super::journal::{Step, Turn};
use super::probe::Position;
use super::word::Word;
use super::Map;
use crate::clock;
use crate::error::{Error, Result};
use crate::failpoint;
use crate::layout::{Stripe, BLOCK_GROUPS};
use crate::lock::is_under_repair;
use crate::sync::Ordering;

/// A deadline that never comes, and the bound of a block without deadlines.
pub(super) const NEVER: u64 = u64::MAX;
/// The bound of a block that was not searched to its end.
const UNKNOWN: u64 = 0;

/// All that a call looks at in search of room is so many groups at most, and so many more for each one of the table. Homes
/// do not reach over so many together, but for reaches that were written over; then each call goes on where the one before
/// gave up. Nor are they looked at again and again, but where somebody writes over the bounds all the time.
const MOST_LOOKS: u64 = 250_000;
const MOST_LOOKS_A_GROUP: u64 = 16;
const NANOSECONDS: u64 = 1_000_000;

fn now_ms() -> u64 {
    clock::wall_ns() / NANOSECONDS
}

/// A range of homes with a bound of its own.
#[derive(Clone, Copy)]
struct Block {
    /// Its place among all bounds.
    index: usize,
    stripe: usize,
}

/// By itself, so that reading the clock takes no room in searches that do not.
#[inline(never)]
fn is_past(deadline: u64) -> bool {
    clock::wall_has_reached(deadline.saturating_mul(NANOSECONDS))
}

impl Map {
    /// The deadline of an entry stored now: 0 for none. The clock is read only when there is one.
    #[inline]
    pub(super) fn deadline_after(&self, ttl_ms: u64) -> u64 {
        if ttl_ms == 0 {
            return 0;
        }
        // Rounded up, so that an entry never lives shorter than asked.
        match clock::wall_ns().div_ceil(NANOSECONDS).checked_add(ttl_ms) {
            Some(deadline) if deadline < NEVER => deadline,
            _ => 0,
        }
    }

    /// The one test of expiry. Callers skip it, and with it the clock, for a deadline of 0.
    #[inline]
    pub(super) fn has_lapsed(&self, deadline: u64) -> bool {
        deadline != 0 && is_past(deadline)
    }

    pub(super) fn lay_out_bounds(&self) {
        for bound in self.bounds.iter() {
            bound.store(NEVER, Ordering::Relaxed);
        }
    }

    /// Homes of one stripe, and how many blocks they make.
    fn stripe_groups(&self) -> (u64, u64) {
        let groups = self.layout.groups / self.layout.stripes;
        (groups, self.layout.bounds / self.layout.stripes)
    }

    /// The block of a home of this stripe.
    fn block_of(&self, stripe: usize, home: u64) -> Block {
        let (groups, blocks) = self.stripe_groups();
        let within = home.saturating_sub(stripe as u64 * groups) / BLOCK_GROUPS;
        Block { index: (stripe as u64 * blocks + within.min(blocks - 1)) as usize, stripe }
    }

    /// The block of an entry.
    fn block_at(&self, position: Position, word: Word) -> Block {
        self.block_of(self.stripe_at(position, word), self.home_of(position, word))
    }

    /// The bound of an entry's block.
    pub(super) fn bound_of(&self, position: Position, word: Word) -> u64 {
        self.bounds[self.block_at(position, word).index].load(Ordering::Relaxed)
    }

    /// Before an entry of the block is published, in a turn on its stripe.
    fn lower_bound(&self, block: Block, deadline: u64) {
        let bound = &self.bounds[block.index];
        if deadline < bound.load(Ordering::Relaxed) {
            // SYNC(bound): pairs with the acquire in make_room(). Release: as Turn::write().
            bound.store(deadline, Ordering::Release);
            failpoint::hit("deadline.noted");
        }
    }

    /// Every block once, from this one around.
    fn blocks_from(&self, block: Block) -> impl Iterator<Item = Block> {
        let blocks = self.stripe_groups().1 as usize;
        let others = (block.index + 1..self.bounds.len()).chain(0..block.index);
        std::iter::once(block).chain(others.map(move |index| Block { index, stripe: index / blocks }))
    }

    /// The homes of a block, from this one around if it is one of them.
    fn homes(&self, block: Block, from: u64) -> impl Iterator<Item = u64> {
        let (groups, blocks) = self.stripe_groups();
        let start = block.stripe as u64 * groups;
        let first = start + (block.index as u64 - block.stripe as u64 * blocks) * BLOCK_GROUPS;
        let end = (first + BLOCK_GROUPS).min(start + groups);
        let from = if (first..end).contains(&from) { from } else { first };
        (from..end).chain(first..from)
    }

    /// Groups that the homes of a block reach over.
    fn reached(&self, block: Block) -> u64 {
        self.homes(block, 0).map(|home| self.reach(home)).sum()
    }

    /// The entries of a block that have a deadline, with it, as they are seen in passing: home after home, from this one
    /// around, or over the whole table where that is shorter.
    fn lapsing(&self, block: Block, from: u64) -> impl Iterator<Item = (Position, Word, u64)> + '_ {
        let everywhere = self.reached(block) > self.layout.groups;
        let near = self.homes(block, from).filter(move |_| !everywhere);
        let near = near.flat_map(move |home| (0..self.reach(home)).map(move |distance| (home, Some(distance))));
        let far = (0..if everywhere { self.layout.groups } else { 0 }).map(|group| (group, None));
        near.chain(far).flat_map(move |(start, distance)| {
            let group = distance.map_or(start, |distance| self.group_after(start, distance));
            let words = self.groups[group as usize].words.iter().enumerate();
            words.filter_map(move |(lane, cell)| {
                // SYNC(publish): pairs with the releases in journal.rs.
                let (position, word) = (Position { group, lane }, Word(cell.load(Ordering::Acquire)));
                let ours = match distance {
                    Some(distance) => word.distance() == distance,
                    None => self.block_at(position, word).index == block.index,
                };
                if !(word.is_live() && word.lapses() && ours) {
                    return None;
                }
                let deadline = self.buffers.get(word.buffer())?.deadline();
                (deadline != 0).then_some((position, word, deadline))
            })
        })
    }

    /// Makes room in a map that seemed full to the writer of a key of this home: repairs what the dead left, or
    /// collects one lapsed entry, as near as can be, so that no part of the index fills up while another empties.
    /// False when there is nothing to be had. `looked` grows by the groups that this took.
    pub(super) fn make_room(&self, home: u64, looked: &mut u64) -> Result<bool> {
        if self.repair_all() {
            return Ok(true);
        }
        let mut now = None;
        let mut held_up = None;
        let most = MOST_LOOKS + self.layout.groups * MOST_LOOKS_A_GROUP;
        let stripe = (home / self.stripe_groups().0) as usize;
        for block in self.blocks_from(self.block_of(stripe, home)) {
            // SYNC(bound): pairs with the releases in note_deadline() and collect_from().
            let bound = self.bounds[block.index].load(Ordering::Acquire);
            if bound == NEVER || bound > *now.get_or_insert_with(now_ms) {
                continue;
            }
            *looked += self.reached(block).min(self.layout.groups);
            if *looked > most {
                return Err(Error::Corrupt("the map is damaged: its keys seem to lie everywhere".into()));
            }
            match self.try_turn(block.stripe) {
                Some(turn) => {
                    if turn.collect_from(block, home)? {
                        return Ok(true);
                    }
                }
                // A writer of another stripe is not waited for while there is a choice.
                None => {
                    let lapsed = |(_, _, deadline)| self.has_lapsed(deadline);
                    if held_up.is_none() && self.lapsing(block, home).any(lapsed) {
                        held_up = Some(block);
                    }
                }
            }
        }
        if let Some(block) = held_up {
            // Collected by us or by the one we waited for: either way there is reason to look again.
            self.turn(block.stripe)?.collect_from(block, home)?;
            return Ok(true);
        }
        self.await_giver()
    }

    /// A remover between emptying its word and giving the buffer back has a slot that nobody else can see, and so may
    /// have who repairs what a dead writer left: waits for it. False when there is none.
    fn await_giver(&self) -> Result<bool> {
        match (0..self.stripes.len()).find(|index| self.may_give(*index)) {
            Some(index) => self.turn(index).map(|_| true),
            None => Ok(false),
        }
    }

    fn may_give(&self, index: usize) -> bool {
        let Stripe { lock, journal, .. } = &self.stripes[index];
        // SYNC(lock): of one that is free, what its last holder freed has been counted.
        if lock.load(Ordering::Acquire) == 0 {
            return false;
        }
        // Read in passing, SYNC(journal) and SYNC(publish): should it change meanwhile, `freed` changes too.
        let before = Word(journal.before.load(Ordering::Relaxed));
        let position = Position::unpack(journal.position.load(Ordering::Relaxed), self.layout.groups);
        let removes = journal.step.load(Ordering::Acquire) == Step::Remove as u64
            && position.is_some_and(|position| self.cell(position).load(Ordering::Acquire) != before.0)
            && self.owner(before.buffer()) == Some(index as u8 + 1);
        removes || is_under_repair(lock)
    }
}

impl Turn<'_> {
    /// Before an entry with this deadline, or with none, is published.
    #[inline(always)]
    pub(super) fn note_deadline(&self, home: u64, deadline: u64) {
        if deadline != 0 {
            self.map.lower_bound(self.map.block_of(self.index, home), deadline);
        }
    }

    /// Collects one lapsed entry of a block of this stripe, the next after `home`; false when there is none. Afterwards
    /// the bound is exact, unless another lapsed entry was seen.
    fn collect_from(&self, block: Block, home: u64) -> Result<bool> {
        let now = now_ms();
        let mut bound = NEVER;
        let mut collected = false;
        for (position, word, deadline) in self.map.lapsing(block, home) {
            if deadline <= now && collected {
                bound = UNKNOWN;
                break;
            }
            // The clock may have been set back since we read it.
            if deadline <= now && self.collect(position, word)? {
                collected = true;
            } else {
                bound = bound.min(deadline);
            }
        }
        // SYNC(bound): as above.
        self.write(&self.map.bounds[block.index], bound);
        failpoint::hit("deadline.bounded");
        Ok(collected)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::map;

    #[test]
    fn every_home_is_in_one_block_and_knows_which() {
        // One stripe, a few; one block in a stripe, and several of which the last has fewer homes.
        for slots in [1, 7, 100, 5_000, 50_000] {
            if cfg!(miri) && slots > 100 {
                continue;
            }
            let map = map(slots, 33);
            let mut homes = Vec::new();
            for block in map.blocks_from(map.block_of(0, 0)) {
                for home in map.homes(block, 0) {
                    assert_eq!(map.block_of(block.stripe, home).index, block.index, "home {home} of {slots} slots");
                    homes.push(home);
                }
            }
            homes.sort_unstable();
            assert_eq!(homes, (0..map.layout.groups).collect::<Vec<_>>());
        }
    }
}
