//! The two clocks: wall time for deadlines (every process and every boot agrees on it) and monotonic time for
//! limiters (nobody can set it). A test may freeze either one, for its own process alone.

use crate::sync::{AtomicBool, AtomicU64, Ordering};

/// One source of time that can be frozen.
struct Clock {
    id: libc::clockid_t,
    frozen: AtomicBool,
    nanoseconds: AtomicU64,
}

static WALL: Clock = Clock::new(libc::CLOCK_REALTIME);
static MONOTONIC: Clock = Clock::new(libc::CLOCK_MONOTONIC);
/// Counted only while a clock is frozen or counting was asked for, so that production reads write nothing.
static COUNTING: AtomicBool = AtomicBool::new(false);
static READS: AtomicU64 = AtomicU64::new(0);

impl Clock {
    const fn new(id: libc::clockid_t) -> Clock {
        Clock { id, frozen: AtomicBool::new(false), nanoseconds: AtomicU64::new(0) }
    }

    #[inline]
    fn now(&self) -> u64 {
        // Relaxed: the switches below belong to a test that sets them before it calls.
        if COUNTING.load(Ordering::Relaxed) {
            return self.observed();
        }
        read(self.id)
    }

    #[cold]
    fn observed(&self) -> u64 {
        READS.fetch_add(1, Ordering::Relaxed);
        if self.frozen.load(Ordering::Relaxed) {
            self.nanoseconds.load(Ordering::Relaxed)
        } else {
            read(self.id)
        }
    }

    fn set(&self, nanoseconds: Option<u64>) {
        self.nanoseconds.store(nanoseconds.unwrap_or(0), Ordering::Relaxed);
        self.frozen.store(nanoseconds.is_some(), Ordering::Relaxed);
    }
}

#[inline]
fn read(id: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: clock_gettime fills the timespec it is given; both clocks exist on every Linux, so it cannot fail.
    unsafe { libc::clock_gettime(id, &mut time) };
    time.tv_sec.max(0) as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Nanoseconds since 1970.
#[inline]
#[must_use]
pub fn wall_ns() -> u64 {
    WALL.now()
}

/// Nanoseconds since the machine started; never steps back.
#[inline]
#[must_use]
pub fn monotonic_ns() -> u64 {
    MONOTONIC.now()
}

/// Monotonic time whatever a test has frozen: waiting must end.
pub(crate) fn unfrozen_monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// For tests: freezes the clocks of this process at the given nanoseconds, or sets them free with `None`.
/// From the first call on, reads are counted.
pub fn freeze(wall: Option<u64>, monotonic: Option<u64>) {
    WALL.set(wall);
    MONOTONIC.set(monotonic);
    COUNTING.store(true, Ordering::Relaxed);
}

/// For tests: how often this process has read a clock since it first called [`freeze`].
#[must_use]
pub fn reads() -> u64 {
    READS.load(Ordering::Relaxed)
}
