//! Stands in for the arena's `layout`: what the table uses of it, with a small group.

use crate::sync::{AtomicU64, Pair};

/// As few as rivals need to miss each other: every slot more is a few steps more in every search.
pub(crate) const GROUP_BUCKETS: usize = 2;

pub(crate) const LINE_BUCKETS: usize = 1;

pub(crate) struct BucketGroup {
    pub slots: [Pair; GROUP_BUCKETS],
}

pub(crate) struct Tally {
    pub allowed: AtomicU64,
    pub denied: AtomicU64,
    pub evicted: AtomicU64,
    pub contended: AtomicU64,
    pub claims: AtomicU64,
}

impl Tally {
    pub(crate) fn new() -> Tally {
        let zero = || AtomicU64::new(0);
        Tally { allowed: zero(), denied: zero(), evicted: zero(), contended: zero(), claims: zero() }
    }
}
