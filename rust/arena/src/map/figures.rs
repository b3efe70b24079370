//! Statistics: exact whenever no call is in flight.

use super::Map;
use crate::layout::StripeCounts;
use crate::sync::{AtomicU64, Ordering};

/// What `stats` tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Entries, lapsed ones that nobody has collected among them.
    pub used: u64,
    /// Entries the map takes.
    pub capacity: u64,
    /// Slots that were used and are free again.
    pub tombstones: u64,
    /// Reads that gave up on an entry that kept changing, and writes that waited too long for a lock.
    pub busy: u64,
    /// New keys refused because every slot was taken.
    pub full: u64,
    /// Lapsed entries collected.
    pub expired: u64,
}

impl Map {
    /// The statistics, summed over the stripes. What a dead writer left is finished first, unless somebody is at it.
    #[must_use]
    pub fn figures(&self) -> Figures {
        self.repair_all();
        let sum = |cell: fn(&StripeCounts) -> &AtomicU64| {
            self.stripes.iter().fold(0u64, |sum, stripe| sum.wrapping_add(cell(&stripe.counts).load(Ordering::Relaxed)))
        };
        let header = self.header();
        Figures {
            used: sum(|counts| &counts.used),
            capacity: self.capacity(),
            tombstones: sum(|counts| &counts.tombstones),
            busy: header.busy.load(Ordering::Relaxed),
            full: header.full.load(Ordering::Relaxed),
            expired: sum(|counts| &counts.expired),
        }
    }
}
