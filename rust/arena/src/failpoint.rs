//! Named places where a test kills or stops the process, or makes its threads dawdle.
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

/// Every failpoint, those of a store in the order it meets them. A test walks this list.
pub const NAMES: &[&str] = &[
    "lock.pending",
    "lock.held",
    "claim.noted",
    "claim.taken",
    "line.closing",
    "line.closed",
    "claim.vain",
    "fill.begun",
    "fill.half",
    "fill.done",
    "deadline.noted",
    "reach.raised",
    "journal.written",
    "word.published",
    "free.begun",
    "free.hidden",
    "free.done",
    "journal.applied",
    "journal.closed",
    "unlock.before",
    "unlock.open",
    "deadline.bounded",
    "recover.begun",
    "recover.applied",
    "read.word",
    "read.sequence",
    "read.matched",
    "read.copied",
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
    use crate::sync::{AtomicU32, AtomicU64, Ordering};
    use std::cell::Cell;

    thread_local! {
        // The state of a xorshift generator; 0 for a thread that does not dawdle.
        static RANDOM: Cell<u64> = const { Cell::new(0) };
    }

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

    pub fn dawdle(seed: u64) {
        RANDOM.set(seed);
    }

    /// Now and then lets others run; more rarely, waits until they have passed a number of failpoints, or for so many
    /// turns, since they may be waiting for us. A pause where no lock is held shows most.
    fn pause(name: &str) {
        static PASSED: AtomicU64 = AtomicU64::new(0);
        let now = PASSED.fetch_add(1, Ordering::Relaxed);
        let mut random = RANDOM.get();
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        RANDOM.set(random);
        let one_in = match name.split('.').next() {
            Some("counter" | "line") => 8,
            Some("read" | "claim") => 32,
            _ => 128,
        };
        let choice = random >> 32;
        if choice % one_in == 0 {
            let until = now + (random >> 48 & 255);
            let mut turns = 0;
            while PASSED.load(Ordering::Relaxed) < until && turns < 60 {
                turns += 1;
                std::thread::yield_now();
            }
        } else if choice % 16 == 1 {
            std::thread::yield_now();
        }
    }

    pub fn hit(name: &str) {
        if RANDOM.get() != 0 {
            pause(name);
        }
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

/// From now on the calling thread pauses at failpoints, now and then and of random length, so that threads meet where
/// they hardly ever would. 0 ends it.
#[cfg(feature = "failpoints")]
pub fn dawdle(seed: u64) {
    armed::dawdle(seed);
}

#[inline(always)]
pub(crate) fn hit(name: &'static str) {
    #[cfg(feature = "failpoints")]
    armed::hit(name);
    #[cfg(not(feature = "failpoints"))]
    let _ = name;
}
