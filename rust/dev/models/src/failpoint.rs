//! Stands in for the arena's `failpoint`: a point of death ends the call that reaches it, as a killed process ends: no more
//! of it is carried out, and its locks are marked by the kernel.

use crate::lock;
use crate::memory::{process, PROCESSES};
use std::cell::Cell;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

thread_local! {
    static DIES_AT: Cell<[Option<&'static str>; PROCESSES]> = const { Cell::new([None; PROCESSES]) };
}

struct Death;

fn set_point(point: Option<&'static str>) {
    let mut points = DIES_AT.get();
    points[process()] = point;
    DIES_AT.set(points);
}

/// An execution begins: everybody lives.
pub(crate) fn begin() {
    DIES_AT.set([None; PROCESSES]);
}

pub(crate) fn hit(name: &str) {
    if DIES_AT.get()[process()] == Some(name) {
        // Without the hook: nothing went wrong.
        resume_unwind(Box::new(Death));
    }
}

/// Runs what a process does that dies at that point. None when it died.
pub(crate) fn until<T>(point: &'static str, work: impl FnOnce() -> T) -> Option<T> {
    set_point(Some(point));
    let done = catch_unwind(AssertUnwindSafe(work));
    set_point(None);
    match done {
        Ok(value) => Some(value),
        Err(reason) if reason.is::<Death>() => {
            lock::holder_died();
            None
        }
        Err(reason) => resume_unwind(reason),
    }
}
