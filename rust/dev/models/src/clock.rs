//! Stands in for the arena's `clock`.

/// More than the clocks of processes that are at work at once differ by, and less than a request takes to come back.
pub(crate) const MARGIN_NS: u64 = 20;
