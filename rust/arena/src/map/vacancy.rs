//! Where free buffers may be: one bit for each line of the owner table, so that an insert into a full or nearly full
//! map need not read the whole table.
//!
//! | bit | meaning | who changes it |
//! |---|---|---|
//! | 1 | open: the line may have a free buffer | who looked the line through and found none, closing it |
//! | 0 | closed: the line has no free buffer | who frees a buffer in it, opening it |
//!
//! A closer may meet a giver. It closes first and then looks once more; a giver frees first and then looks at the
//! bit; so one of them opens the line again. What is still unsettled while one of them stands still, or is dead, is
//! written down where a search that finds nothing looks: the stripe of either has the line as its `cursor`. The bit
//! itself is never wrong for good: repair opens the line of the dead.
//!
//! | edge | release | acquire | makes visible |
//! |---|---|---|---|
//! | closed | `close_line`: the bit | `open_lines` | the closer's cursor in the line |
//! | vacancy | `open_line` and `close_line`: the fence between the write and the look | the same | either's write to the other |

use super::claim::free_bytes;
use super::journal::Turn;
use super::{Map, WORDS_A_LINE};
use crate::failpoint;
use crate::sync::{fence, AtomicU64, Ordering};

impl Map {
    pub(super) fn lay_out_vacancies(&self) {
        for line in 0..self.layout.owner_lines {
            self.vacancies[line as usize / 64].fetch_or(bit_of(line), Ordering::Relaxed);
        }
    }

    /// The owner bytes of a line.
    pub(super) fn owner_line(&self, line: u64) -> &[AtomicU64] {
        let start = line * WORDS_A_LINE;
        &self.owners[start as usize..(start + WORDS_A_LINE) as usize]
    }

    pub(super) fn is_open(&self, line: u64) -> bool {
        self.vacancies[line as usize / 64].load(Ordering::Relaxed) & bit_of(line) != 0
    }

    /// The open lines, once each, from `start` around.
    pub(super) fn open_lines(&self, start: u64) -> impl Iterator<Item = u64> + '_ {
        let words = self.vacancies.len() as u64;
        let first = start / 64;
        // The first word is visited twice: its bits from `start` on, and in the end those before.
        (0..=words).flat_map(move |step| {
            let word = (first + step) % words;
            let wanted = match step {
                0 => u64::MAX << (start % 64),
                _ if step == words => !(u64::MAX << (start % 64)),
                _ => u64::MAX,
            };
            // SYNC(closed): pairs with the release in close_line(): who sees a line closed sees the closer's cursor in it.
            let mut open = self.vacancies[word as usize].load(Ordering::Acquire) & wanted;
            std::iter::from_fn(move || {
                let bit = u64::from(open.trailing_zeros());
                open &= open.wrapping_sub(1);
                (bit < 64).then_some(word * 64 + bit)
            })
            // Scribbled bits may stand for lines that do not exist.
            .take_while(|line| *line < self.layout.owner_lines)
        })
    }

    /// After a buffer of the line was freed.
    pub(super) fn open_line(&self, line: u64) {
        // SYNC(vacancy): the closer sees our free byte, or we see that it has closed the line.
        fence(Ordering::SeqCst);
        if !self.is_open(line) {
            self.vacancies[line as usize / 64].fetch_or(bit_of(line), Ordering::Relaxed);
        }
    }
}

impl Turn<'_> {
    /// After a line was looked through in vain. The stripe's cursor is in the line.
    pub(super) fn close_line(&self, line: u64) {
        let map = self.map;
        failpoint::hit("line.closing");
        // SYNC(closed): pairs with the acquire in open_lines().
        map.vacancies[line as usize / 64].fetch_and(!bit_of(line), Ordering::AcqRel);
        failpoint::hit("line.closed");
        // SYNC(vacancy): we see a giver's free byte, or it sees that we closed the line.
        fence(Ordering::SeqCst);
        if map.owner_line(line).iter().any(|owners| free_bytes(owners.load(Ordering::Relaxed)) != 0) {
            self.reopen_line(line);
        }
    }

    /// Opens a line that should not be closed, and makes those look again who took it for closed.
    pub(super) fn reopen_line(&self, line: u64) {
        self.map.open_line(line);
        // SYNC(freed): pairs with the acquires in freed().
        self.stripe.freed.fetch_add(1, Ordering::AcqRel);
    }
}

fn bit_of(line: u64) -> u64 {
    1 << (line % 64)
}
