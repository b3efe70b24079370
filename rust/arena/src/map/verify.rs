//! The ownership walk: proves, on a map nobody is writing, that nothing was lost or is owned twice.

use super::claim::TOMBSTONE;
use super::probe::Position;
use super::word::Word;
use super::Map;
use crate::error::{Error, Result};
use crate::layout::{LANES, LINE};
use crate::sync::Ordering;
use std::mem::MaybeUninit;

impl Map {
    /// Checks every invariant of a map that no call is writing.
    ///
    /// # Errors
    /// `Corrupt` with the first thing that does not hold.
    pub fn verify(&self) -> Result<()> {
        self.repair_all();
        let mut owners = vec![None; self.layout.buffers as usize];
        self.verify_stripes(&mut owners)?;
        let used = self.verify_words(&mut owners)?;
        self.verify_owners(&owners)?;
        for (index, stripe) in self.stripes.iter().enumerate() {
            let counted = stripe.counts.used.load(Ordering::Relaxed);
            holds(counted == used[index], || format!("stripe {index} counts {counted} keys and has {}", used[index]))?;
        }
        Ok(())
    }

    fn verify_stripes(&self, owners: &mut [Option<usize>]) -> Result<()> {
        for (index, stripe) in self.stripes.iter().enumerate() {
            let lock = stripe.lock.load(Ordering::Relaxed);
            holds(lock == 0, || format!("the lock of stripe {index} is {lock:#x}"))?;
            let journal = &stripe.journal;
            let (step, claim) = (journal.step.load(Ordering::Relaxed), journal.claim.load(Ordering::Relaxed));
            holds(step == 0 && claim == 0, || format!("stripe {index} has an open journal: {step}, {claim:#x}"))?;
            let spare = stripe.spare.load(Ordering::Relaxed);
            self.take(owners, spare, index, || format!("the spare of stripe {index}"))?;
        }
        Ok(())
    }

    /// Each live word names a buffer of its own, with a key that belongs there. Returns the keys of each stripe.
    fn verify_words(&self, owners: &mut [Option<usize>]) -> Result<Vec<u64>> {
        let mut used = vec![0; self.stripes.len()];
        let mut furthest = vec![0; self.layout.groups as usize];
        for group in 0..self.layout.groups {
            for lane in 0..LANES {
                let position = Position { group, lane };
                let word = Word(self.cell(position).load(Ordering::Acquire));
                if !word.is_live() {
                    holds(word == Word::EMPTY, || format!("{position:?} is neither live nor empty: {word:?}"))?;
                    continue;
                }
                let stripe = self.stripe_at(position, word);
                self.take(owners, word.buffer(), stripe, || format!("{position:?}"))?;
                self.verify_key(position, word)?;
                let home = self.home_of(position, word) as usize;
                furthest[home] = furthest[home].max(word.distance() + 1);
                used[stripe] += 1;
            }
        }
        for (home, needed) in furthest.into_iter().enumerate() {
            let reach = self.reach(home as u64);
            holds(reach == needed, || format!("the reach of group {home} is {reach} and should be {needed}"))?;
        }
        Ok(used)
    }

    fn verify_key(&self, position: Position, word: Word) -> Result<()> {
        let buffer = self.buffers.get(word.buffer());
        let key = buffer.filter(|buffer| buffer.sequence(self.cell(position), word).is_some()).and_then(|buffer| {
            let mut key = vec![MaybeUninit::new(0); buffer.facts()?.key_length];
            buffer.copy_key(&mut key);
            // SAFETY: initialised above, and copied over with initialised bytes.
            Some((key.iter().map(|byte| unsafe { byte.assume_init() }).collect::<Vec<u8>>(), buffer))
        });
        let Some((key, buffer)) = key else {
            return Err(Error::Corrupt(format!("{position:?} names an incomplete buffer")));
        };
        let hash = self.hash(&key);
        let belongs = word.matches(Word::sought(hash, word.distance()))
            && self.home(hash) == self.home_of(position, word)
            && word.lapses() == (buffer.deadline() != 0);
        holds(belongs, || format!("{position:?} has a key or deadline that does not belong there"))?;
        let (bound, deadline) = (self.bound_of(position, word), buffer.deadline());
        let known = deadline == 0 || bound <= deadline;
        holds(known, || format!("{position:?} lapses at {deadline}, and its block not before {bound}"))?;
        let found = matches!(self.seek(&key, hash, super::reading::Nothing), super::probe::Seek::Found(found) if found.position == position);
        holds(found, || format!("the key at {position:?} is found elsewhere, or not at all"))
    }

    fn verify_owners(&self, owners: &[Option<usize>]) -> Result<()> {
        let mut tombstones = 0u64;
        for (buffer, owner) in owners.iter().enumerate() {
            let byte = self.owner(buffer as u32);
            match owner {
                Some(stripe) => holds(byte == Some(*stripe as u8 + 1), || {
                    format!("buffer {buffer} is in use by stripe {stripe} and its owner byte is {byte:?}")
                })?,
                None => {
                    tombstones += u64::from(byte == Some(TOMBSTONE));
                    let free = matches!(byte, Some(0 | TOMBSTONE));
                    holds(free, || format!("buffer {buffer} is lost: nobody uses it and its owner byte is {byte:?}"))?;
                    let open = self.is_open(buffer as u64 / LINE);
                    holds(open, || format!("buffer {buffer} is free and its line of owners is closed"))?;
                }
            }
        }
        let counts = self.stripes.iter().map(|stripe| stripe.counts.tombstones.load(Ordering::Relaxed));
        let counted = counts.fold(0, u64::wrapping_add);
        holds(counted == tombstones, || format!("{counted} tombstones are counted and there are {tombstones}"))
    }

    fn take(&self, owners: &mut [Option<usize>], buffer: u32, stripe: usize, user: impl Fn() -> String) -> Result<()> {
        let slot = owners
            .get_mut(buffer as usize)
            .ok_or_else(|| Error::Corrupt(format!("{} names buffer {buffer}, which does not exist", user())))?;
        holds(slot.is_none(), || format!("buffer {buffer} is used twice, once as {}", user()))?;
        *slot = Some(stripe);
        Ok(())
    }
}

fn holds(condition: bool, problem: impl FnOnce() -> String) -> Result<()> {
    if condition {
        Ok(())
    } else {
        Err(Error::Corrupt(problem()))
    }
}
