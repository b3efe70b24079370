//! Stands in for the arena's `clock`: it stands still, but where a scenario moves it on, for all processes at once.

use std::cell::Cell;

/// More than the clocks of processes that are at work at once differ by, and less than a request takes to come back.
pub(crate) const MARGIN_NS: u64 = 20;

thread_local! {
    static WALL_NS: Cell<u64> = const { Cell::new(0) };
}

pub(crate) fn set_wall_ms(milliseconds: u64) {
    WALL_NS.set(milliseconds * 1_000_000);
}

pub(crate) fn wall_ns() -> u64 {
    WALL_NS.get()
}

pub(crate) fn wall_has_reached(deadline_ns: u64) -> bool {
    WALL_NS.get() >= deadline_ns
}
