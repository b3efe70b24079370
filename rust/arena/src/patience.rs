//! How long a call waits for a lock, and how it waits when its caller has signals to handle meanwhile.
//!
//! Patience is with a holder: as long as the lock changes hands a call may go on waiting, up to a multiple of it in
//! all, since a long queue on a busy machine is nobody's fault.

use crate::sync::{AtomicBool, AtomicU64, Ordering};
use std::cell::Cell;

/// How long a writer waits while one living thread holds the lock, in milliseconds, unless a test sets another bound.
pub const PATIENCE_MS: u64 = 5_000;
/// How many times as long it waits in all.
pub const MOST_TIMES: u64 = 6;

static PATIENCE: AtomicU64 = AtomicU64::new(PATIENCE_MS);

/// For tests: how long this process waits for one holder of a lock.
pub fn set_patience(milliseconds: u64) {
    // Relaxed: a setting of this process.
    PATIENCE.store(milliseconds, Ordering::Relaxed);
}

/// Whether calls that must wait come back after each turn.
static IN_TURNS: AtomicBool = AtomicBool::new(false);

/// Lets every call of this process that must wait for a lock return [`Error::Waiting`](crate::Error::Waiting) after a
/// turn of a few milliseconds, so that a caller with signals to handle can handle them while nothing is held, and call
/// again.
pub fn wait_in_turns(on: bool) {
    // Relaxed: as above.
    IN_TURNS.store(on, Ordering::Relaxed);
}

/// Whether it is so.
#[must_use]
pub fn waits_in_turns() -> bool {
    IN_TURNS.load(Ordering::Relaxed)
}

/// What a call has waited so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wait {
    /// In all, in nanoseconds.
    pub waited_ns: u64,
    /// For the present holder, in nanoseconds.
    pub held_ns: u64,
    /// The present holder: the kernel's id of a thread, or 0.
    pub holder: u32,
    /// Which lock it holds: its address in this process, or 0.
    pub lock: usize,
}

thread_local! {
    /// What this thread's call has waited in earlier turns.
    static EARLIER: Cell<Wait> = const { Cell::new(Wait { waited_ns: 0, held_ns: 0, holder: 0, lock: 0 }) };
}

/// Says what this thread's next call has waited already; nothing to begin with, and afterwards.
pub fn resume_wait(earlier: Wait) {
    EARLIER.set(earlier);
}

impl Wait {
    /// For this lock; a call may have waited for another one before.
    pub(crate) fn resumed(lock: usize) -> Wait {
        match EARLIER.get() {
            earlier if earlier.lock == lock => earlier,
            Wait { waited_ns, .. } => Wait { waited_ns, lock, ..Wait::default() },
        }
    }

    /// The lock was seen free: whoever holds it next has only begun.
    pub(crate) fn changed_hands(&mut self) {
        self.holder = 0;
    }

    /// `passed` nanoseconds on, `holder` has the lock.
    pub(crate) fn goes_on(&mut self, holder: u32, passed: u64) {
        self.waited_ns += passed;
        if self.holder == holder {
            self.held_ns += passed;
        } else {
            self.holder = holder;
            self.held_ns = 0;
        }
    }

    /// What may still be waited for this holder, in nanoseconds.
    pub(crate) fn left_ns(&self) -> u64 {
        self.left_of(PATIENCE.load(Ordering::Relaxed).saturating_mul(1_000_000))
    }

    fn left_of(&self, patience_ns: u64) -> u64 {
        let in_all = patience_ns.saturating_mul(MOST_TIMES);
        patience_ns.saturating_sub(self.held_ns).min(in_all.saturating_sub(self.waited_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE_NS: u64 = 1_000;

    #[test]
    fn what_was_waited_for_one_lock_is_not_held_against_the_holder_of_another() {
        let earlier = Wait { waited_ns: 800, held_ns: 700, holder: 7, lock: 64 };
        resume_wait(earlier);
        assert_eq!(Wait::resumed(64), earlier);
        assert_eq!(Wait::resumed(128), Wait { waited_ns: 800, held_ns: 0, holder: 0, lock: 128 });
        resume_wait(Wait::default());
    }

    #[test]
    fn patience_is_with_one_holder_and_bounded_in_all() {
        let mut wait = Wait::default();
        wait.goes_on(7, 0);
        wait.goes_on(7, PATIENCE_NS - 1);
        assert_eq!(wait.left_of(PATIENCE_NS), 1);
        wait.goes_on(8, 10);
        assert_eq!(wait.left_of(PATIENCE_NS), PATIENCE_NS, "another holder: patience begins anew");
        wait.goes_on(8, PATIENCE_NS);
        assert_eq!(wait.left_of(PATIENCE_NS), 0);
        wait.changed_hands();
        wait.goes_on(8, 0);
        assert_eq!(wait.left_of(PATIENCE_NS), PATIENCE_NS, "let go and taken again by the same");
        for holder in 9..20 {
            wait.goes_on(holder, PATIENCE_NS / 2);
        }
        assert_eq!(wait.left_of(PATIENCE_NS), 0, "in all it is bounded");
    }
}
