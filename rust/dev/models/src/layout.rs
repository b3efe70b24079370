//! The arena's `layout`, but for a limiter's groups.

#[rustfmt::skip]
#[allow(dead_code)]
#[path = "../../../arena/src/layout.rs"]
mod real;

use crate::sync::Pair;
pub(crate) use real::*;

/// As few as rivals need to miss each other: every slot more is a few steps more in every search.
pub(crate) const GROUP_BUCKETS: usize = 2;
pub(crate) const LINE_BUCKETS: usize = 1;

#[repr(C, align(64))]
pub(crate) struct BucketGroup {
    pub slots: [Pair; GROUP_BUCKETS],
}

// SAFETY: atomics alone.
unsafe impl Shared for BucketGroup {}
