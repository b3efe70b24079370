//! Deadlines: when an entry has lapsed, and making room of lapsed ones in a full map.
//!
//! A deadline is wall time in milliseconds, so all processes agree on it. Nothing sweeps in the background: a
//! lapsed entry is collected by the call that lands on it, or by a store that finds the map full.
//!
//! `next_lapse` in the map's header spares a full map from being searched in vain:
//!
//! | value | meaning | who changes it |
//! |---|---|---|
//! | bit 63 clear | no deadline in the map is earlier than this | a store with an earlier one; a search that begins |
//! | bit 63 set | not known; the low bits name the search under way | that search, when it saw everything and nothing was stored meanwhile; a store with a deadline, to spoil that |
//!
//! A store notes its deadline twice, before and after it publishes the entry, and for the whole of that time it
//! stands in the stripe's `noting`, which a search counts among the deadlines it saw. So wherever a writer stops, its
//! lapsed entry is looked for; and where it dies, whoever repairs the stripe forgets what was known.
//!
//! | edge | release | acquire | makes visible |
//! |---|---|---|---|
//! | lapse | `Map::note_deadline` and `Map::make_room`, the fence between what each writes and what it reads | the same | `noting` and the entry to the search, or the search's mark to the store |
//! | noting | `Turn::noting`, the 0 | `Map::make_room` | the second note, which spoiled the search |

use super::journal::{Step, Turn};
use super::probe::Position;
use super::word::Word;
use super::Map;
use crate::clock;
use crate::error::Result;
use crate::failpoint;
use crate::layout::{Stripe, LANES};
use crate::sync::{fence, Ordering};

const UNKNOWN: u64 = 1 << 63;
/// A deadline that never comes, and `next_lapse` of a map without deadlines.
pub(super) const NEVER: u64 = UNKNOWN - 1;

const NANOSECONDS: u64 = 1_000_000;

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
        deadline != 0 && clock::wall_ns() / NANOSECONDS >= deadline
    }

    /// Before and after an entry with a deadline is published: keeps `next_lapse` true.
    fn note_deadline(&self, deadline: u64) {
        let cell = &self.header().next_lapse;
        // SYNC(lapse): pairs with the fence in make_room(). Either that search sees what we wrote, or we see its mark.
        fence(Ordering::SeqCst);
        let mut seen = cell.load(Ordering::Relaxed);
        loop {
            let wanted = match seen {
                known if known & UNKNOWN == 0 && known <= deadline => return,
                known if known & UNKNOWN == 0 => deadline,
                UNKNOWN => return,
                _ => UNKNOWN,
            };
            match cell.compare_exchange(seen, wanted, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }

    /// Nothing is known of deadlines any more: a writer died before it could note one.
    pub(super) fn forget_next_lapse(&self) {
        self.header().next_lapse.store(UNKNOWN, Ordering::Release);
    }

    /// Makes room in a map that seemed full: repairs what the dead left, or collects one lapsed entry. False when
    /// there is nothing to be had.
    pub(super) fn make_room(&self) -> Result<bool> {
        if self.repair_all()? {
            return Ok(true);
        }
        let header = self.header();
        let known = header.next_lapse.load(Ordering::Acquire);
        if known == NEVER || (known & UNKNOWN == 0 && !self.has_lapsed(known)) {
            return self.await_remover();
        }
        let now = clock::wall_ns() / NANOSECONDS;
        let search = UNKNOWN | (header.searches.fetch_add(1, Ordering::Relaxed) + 1) & NEVER;
        header.next_lapse.store(search, Ordering::Release);
        // SYNC(lapse): pairs with the fence in note_deadline().
        fence(Ordering::SeqCst);

        let words = self.layout.groups * LANES as u64;
        let start = header.sweep.load(Ordering::Relaxed) % words;
        let mut earliest = NEVER;
        let mut held_up = None;
        for step in 0..words {
            let at = (start + step) % words;
            let position = Position { group: at / LANES as u64, lane: (at % LANES as u64) as usize };
            // SYNC(publish): pairs with the releases in write.rs.
            let word = Word(self.cell(position).load(Ordering::Acquire));
            if !(word.is_live() && word.lapses()) {
                continue;
            }
            // Racy, and looked at again under the lock.
            let Some(deadline) = self.buffers.get(word.buffer()).map(|buffer| buffer.deadline()) else { continue };
            if deadline > now {
                earliest = earliest.min(deadline);
                continue;
            }
            // A writer of another stripe is not waited for while there is a choice.
            let Some(turn) = self.try_turn(self.stripe_at(position, word)) else {
                held_up = held_up.or(Some((position, word)));
                continue;
            };
            if turn.collect(position, word)? {
                header.sweep.store(at, Ordering::Relaxed);
                return Ok(true);
            }
        }
        if let Some((position, word)) = held_up {
            // Collected by us or by the one we waited for: either way there is reason to look again.
            self.turn(self.stripe_at(position, word))?.collect(position, word)?;
            return Ok(true);
        }
        for stripe in self.stripes.iter() {
            // SYNC(noting): pairs with the release in noting().
            match stripe.noting.load(Ordering::Acquire) {
                0 => {}
                deadline => earliest = earliest.min(deadline & NEVER),
            }
        }
        // Fails if a store noted a deadline since the search began.
        let _ = header.next_lapse.compare_exchange(search, earliest, Ordering::AcqRel, Ordering::Relaxed);
        self.await_remover()
    }

    /// A remover between emptying its word and giving the buffer back has a slot that nobody else can see: waits for
    /// it. False when there is none.
    fn await_remover(&self) -> Result<bool> {
        let removes = |stripe: &Stripe| {
            stripe.lock.load(Ordering::Relaxed) != 0
                && stripe.journal.step.load(Ordering::Acquire) == Step::Remove as u64
        };
        match self.stripes.iter().position(removes) {
            Some(index) => self.turn(index).map(|_| true),
            None => Ok(false),
        }
    }
}

impl Turn<'_> {
    /// Publishes an entry so that its deadline, if it has one, is known wherever this writer may be stopped.
    pub(super) fn noting(&self, deadline: u64, publish: impl FnOnce() -> bool) -> bool {
        if deadline == 0 {
            return publish();
        }
        self.write(&self.stripe.noting, deadline);
        self.map.note_deadline(deadline);
        failpoint::hit("deadline.noted");
        let published = publish();
        self.map.note_deadline(deadline);
        failpoint::hit("deadline.noting");
        // SYNC(noting): pairs with the acquire in make_room(): who reads 0 meets a note.
        self.write(&self.stripe.noting, 0);
        published
    }
}
