//! Stands in for the arena's `failpoint`: a point of death ends the check that reaches it, and its thread goes on.

use std::cell::RefCell;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

loom::thread_local! {
    static DIES_AT: RefCell<Option<&'static str>> = RefCell::new(None);
}

struct Death;

pub(crate) fn hit(name: &str) {
    if DIES_AT.with(|point| *point.borrow() == Some(name)) {
        // Without the hook: nothing went wrong.
        resume_unwind(Box::new(Death));
    }
}

/// Runs what a process does that dies at that point. None when it died.
pub(crate) fn until<T>(point: &'static str, work: impl FnOnce() -> T) -> Option<T> {
    DIES_AT.with(|dies_at| *dies_at.borrow_mut() = Some(point));
    let done = catch_unwind(AssertUnwindSafe(work));
    DIES_AT.with(|dies_at| *dies_at.borrow_mut() = None);
    done.map_err(|reason| reason.downcast::<Death>().map_err(resume_unwind)).ok()
}
