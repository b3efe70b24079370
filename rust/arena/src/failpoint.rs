//! Named places where a test kills or stops the process.
//!
//! Compiled only with the `failpoints` feature; without it `hit` is empty and nothing can be armed.

/// What happens to a process that reaches an armed failpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    Off,
    /// SIGKILL: the process ends at this instruction.
    Kill,
    /// SIGSTOP: the process stays here until somebody continues it.
    Stop,
}

/// Every failpoint, in the order a store meets them. A test walks this list.
pub const NAMES: &[&str] = &[
    "lock.pending",
    "lock.held",
    "claim.noted",
    "claim.taken",
    "line.closed",
    "fill.begun",
    "fill.half",
    "fill.done",
    "deadline.noted",
    "reach.raised",
    "journal.written",
    "word.published",
    "free.counted",
    "free.hidden",
    "free.done",
    "journal.applied",
    "journal.closed",
    "unlock.before",
    "unlock.open",
    "deadline.bounded",
    "recover.begun",
    "recover.applied",
    "counter.before",
    "counter.after",
    "carve.shaped",
    "carve.written",
    "carve.published",
    "bucket.claimed",
    "bucket.settled",
    "bucket.spent",
];

/// Whether this build has failpoints.
pub const COMPILED: bool = cfg!(feature = "failpoints");

#[cfg(feature = "failpoints")]
mod armed {
    use super::{Action, NAMES};
    use crate::sync::{AtomicU32, Ordering};

    // One armed point at a time: index + 1 in the high half, the action in the low one.
    static ARMED: AtomicU32 = AtomicU32::new(0);

    pub fn arm(name: &str, action: Action) -> bool {
        let Some(index) = NAMES.iter().position(|known| *known == name) else { return false };
        let code = match action {
            Action::Off => 0,
            Action::Kill => (index as u32 + 1) << 8 | 1,
            Action::Stop => (index as u32 + 1) << 8 | 2,
        };
        ARMED.store(code, Ordering::SeqCst);
        true
    }

    pub fn hit(name: &str) {
        let code = ARMED.load(Ordering::SeqCst);
        if code == 0 || NAMES[(code >> 8) as usize - 1] != name {
            return;
        }
        // A continued process goes on: the point fires once.
        ARMED.store(0, Ordering::SeqCst);
        let signal = if code & 255 == 1 { libc::SIGKILL } else { libc::SIGSTOP };
        // SAFETY: raising a signal at ourselves touches no memory.
        unsafe { libc::kill(libc::getpid(), signal) };
    }
}

/// Arms one failpoint; false when there is none of that name, or none at all in this build.
#[must_use]
pub fn arm(name: &str, action: Action) -> bool {
    #[cfg(feature = "failpoints")]
    return armed::arm(name, action);
    #[cfg(not(feature = "failpoints"))]
    {
        let _ = (name, action);
        false
    }
}

#[inline(always)]
pub(crate) fn hit(name: &'static str) {
    #[cfg(feature = "failpoints")]
    armed::hit(name);
    #[cfg(not(feature = "failpoints"))]
    let _ = name;
}
