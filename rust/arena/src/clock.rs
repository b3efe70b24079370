//! The two clocks: wall time for deadlines (every process and every boot agrees on it) and monotonic time for
//! limiters (nobody can set it). A test may freeze either one, for its own process alone.
//!
//! Either can also be read roughly, for a quarter of the price: as it stood when the system last looked, which is at
//! or before now, and, as long as its ticks come, less than [`MARGIN_NS`] before. Whoever reads it so must get the same
//! answer at both ends of that span, or else read the exact time. Ticks come every 1 to 10 ms; only a virtual machine
//! whose timekeeping processor is held up can miss so many, and an answer is then what it was that much earlier.

use crate::sync::{AtomicBool, AtomicU64, AtomicU8, Ordering};

/// How far a rough reading lies behind the truth, at most.
pub(crate) const MARGIN_NS: u64 = 100_000_000;

/// One source of time that can be frozen.
struct Clock {
    id: libc::clockid_t,
    rough_id: libc::clockid_t,
    /// How it is read: one of those below.
    mode: AtomicU8,
    frozen: AtomicBool,
    nanoseconds: AtomicU64,
    /// How far it lags, frozen, where it is read roughly.
    lag: AtomicU64,
}

/// Nobody has asked yet whether the rough clock is good.
const FRESH: u8 = 0;
/// It is.
const ROUGH: u8 = 1;
/// It is not: the exact one stands in.
const EXACT: u8 = 2;
/// Through `observed`: reads are counted, since a test has frozen a clock or once did.
const OBSERVED: u8 = 3;

static WALL: Clock = Clock::new(libc::CLOCK_REALTIME, libc::CLOCK_REALTIME_COARSE);
static MONOTONIC: Clock = Clock::new(libc::CLOCK_MONOTONIC, libc::CLOCK_MONOTONIC_COARSE);
static READS: AtomicU64 = AtomicU64::new(0);
/// A reading of the monotonic clock, among the latest that this process has made: time has come so far.
static REACHED: AtomicU64 = AtomicU64::new(0);

impl Clock {
    const fn new(id: libc::clockid_t, rough_id: libc::clockid_t) -> Clock {
        let (mode, frozen) = (AtomicU8::new(FRESH), AtomicBool::new(false));
        Clock { id, rough_id, mode, frozen, nanoseconds: AtomicU64::new(0), lag: AtomicU64::new(0) }
    }

    #[inline]
    fn now(&self) -> u64 {
        // Relaxed, here and below: the switches belong to a test that sets them before it calls.
        if self.mode.load(Ordering::Relaxed) == OBSERVED {
            return self.observed(0);
        }
        read(self.id)
    }

    /// At or before now, by less than [`MARGIN_NS`].
    #[inline]
    fn roughly_now(&self) -> u64 {
        if self.mode.load(Ordering::Relaxed) == ROUGH {
            return read(self.rough_id);
        }
        self.otherwise()
    }

    /// A rough reading where it is not known to be as simple as that.
    #[cold]
    #[inline(never)]
    fn otherwise(&self) -> u64 {
        match self.mode.load(Ordering::Relaxed) {
            OBSERVED => return self.observed(self.lag.load(Ordering::Relaxed)),
            FRESH => {
                let mode = if is_near(self.rough_id, self.id) { ROUGH } else { EXACT };
                // Unless a test came first.
                let _ = self.mode.compare_exchange(FRESH, mode, Ordering::Relaxed, Ordering::Relaxed);
            }
            _ => {}
        }
        read(self.id)
    }

    /// Whether it shows that time or a later one.
    #[inline]
    fn has_reached(&self, nanoseconds: u64) -> bool {
        let rough = self.roughly_now();
        rough >= nanoseconds || nanoseconds - rough < MARGIN_NS && self.now() >= nanoseconds
    }

    #[cold]
    #[inline(never)]
    fn observed(&self, lag: u64) -> u64 {
        READS.fetch_add(1, Ordering::Relaxed);
        if self.frozen.load(Ordering::Relaxed) {
            self.nanoseconds.load(Ordering::Relaxed).saturating_sub(lag)
        } else {
            read(self.id)
        }
    }

    fn set(&self, nanoseconds: Option<u64>) {
        self.nanoseconds.store(nanoseconds.unwrap_or(0), Ordering::Relaxed);
        self.frozen.store(nanoseconds.is_some(), Ordering::Relaxed);
        self.mode.store(OBSERVED, Ordering::Relaxed);
    }
}

#[inline]
fn read(id: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: clock_gettime fills the timespec it is given; the clocks exist on every Linux, and where `is_near` has
    // found that a rough one does not, nobody reads it: so it cannot fail.
    unsafe { libc::clock_gettime(id, &mut time) };
    time.tv_sec.max(0) as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Whether a rough clock is there, and agrees with the exact one.
fn is_near(rough_id: libc::clockid_t, id: libc::clockid_t) -> bool {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: as above; for a clock that does not exist, it says so.
    let is_there = unsafe { libc::clock_gettime(rough_id, &mut time) == 0 };
    let earliest = read(id).saturating_sub(MARGIN_NS);
    let rough = read(rough_id);
    is_there && (earliest + 1..=read(id)).contains(&rough)
}

/// Nanoseconds since 1970.
#[inline]
#[must_use]
pub fn wall_ns() -> u64 {
    WALL.now()
}

/// Whether the wall clock shows that time or a later one.
#[inline]
pub(crate) fn wall_has_reached(deadline_ns: u64) -> bool {
    WALL.has_reached(deadline_ns)
}

/// Nanoseconds since the machine started; never steps back.
#[inline]
#[must_use]
pub fn monotonic_ns() -> u64 {
    let now = MONOTONIC.now();
    REACHED.store(now, Ordering::Relaxed);
    now
}

/// The same roughly: at or before now, by less than [`MARGIN_NS`], and at or after what this process knew before.
#[inline]
pub(crate) fn rough_monotonic_ns() -> u64 {
    let (rough, reached) = (MONOTONIC.roughly_now(), reached_monotonic_ns());
    if rough <= reached {
        return reached;
    }
    REACHED.store(rough, Ordering::Relaxed);
    rough
}

/// A reading that this process has made before, for what does not change any more once it is so. It costs nothing.
#[inline]
pub(crate) fn reached_monotonic_ns() -> u64 {
    // Relaxed: of threads that store at once, any one's reading serves.
    REACHED.load(Ordering::Relaxed)
}

/// How far this process's monotonic clock is ahead of the machine's, in nanoseconds: not at all, except in a time
/// namespace. None where that cannot be told.
pub(crate) fn monotonic_offset_ns() -> Option<i64> {
    // The file speaks of children; of the process itself only if it is where they will be.
    let namespace = |name: &str| std::fs::read_link(format!("/proc/self/ns/{name}")).ok();
    if namespace("time")? != namespace("time_for_children")? {
        return None;
    }
    offset_of(&std::fs::read_to_string("/proc/self/timens_offsets").ok()?)
}

fn offset_of(text: &str) -> Option<i64> {
    let mut figures = text.lines().find_map(|line| line.strip_prefix("monotonic"))?.split_whitespace();
    let (seconds, nanoseconds) = (figures.next()?.parse::<i64>().ok()?, figures.next()?.parse::<i64>().ok()?);
    seconds.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
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
    REACHED.store(0, Ordering::Relaxed);
}

/// For tests: lets frozen clocks lag by so many nanoseconds, fewer than 100 million, where they are read roughly.
pub fn lag(nanoseconds: u64) {
    assert!(nanoseconds < MARGIN_NS, "more than is promised");
    WALL.lag.store(nanoseconds, Ordering::Relaxed);
    MONOTONIC.lag.store(nanoseconds, Ordering::Relaxed);
    REACHED.store(0, Ordering::Relaxed);
}

/// For tests: how often this process has read a clock since it first called [`freeze`].
#[must_use]
pub fn reads() -> u64 {
    READS.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rough_readings_come_from_the_rough_clock_and_are_never_ahead() {
        for (id, rough_id) in
            [(libc::CLOCK_REALTIME, libc::CLOCK_REALTIME_COARSE), (libc::CLOCK_MONOTONIC, libc::CLOCK_MONOTONIC_COARSE)]
        {
            let clock = Clock::new(id, rough_id);
            assert!(clock.roughly_now() <= clock.now(), "the first, at which it is tried");
            let mut last = 0;
            for _ in 0..1000 {
                let rough = clock.roughly_now();
                assert!(last <= rough && rough <= clock.now());
                last = rough;
            }
            assert_ne!(clock.mode.load(Ordering::Relaxed), FRESH);
        }
    }

    #[test]
    fn the_exact_clock_stands_in_for_a_rough_one_that_is_not_there_or_counts_from_elsewhere() {
        // Processor time of the process is far from any time of day.
        for rough_id in [libc::CLOCK_PROCESS_CPUTIME_ID].into_iter().chain((!cfg!(miri)).then_some(9999)) {
            let clock = Clock::new(libc::CLOCK_REALTIME, rough_id);
            let before = clock.now();
            assert!((before..=clock.now() + MARGIN_NS).contains(&clock.roughly_now()));
            assert_eq!(clock.mode.load(Ordering::Relaxed), EXACT);
            assert!(clock.roughly_now() >= before);
        }
    }

    #[test]
    fn a_time_is_reached_just_when_the_exact_clock_says_so_however_far_the_rough_one_lags() {
        let clock = Clock::new(libc::CLOCK_REALTIME, libc::CLOCK_REALTIME_COARSE);
        for now in [0, 1, MARGIN_NS, 1_700_000_000_000_000_000, u64::MAX - 1] {
            clock.set(Some(now));
            for lag in [0, 1, 3_000_000, 99_000_000, MARGIN_NS - 1] {
                clock.lag.store(lag, Ordering::Relaxed);
                for off in [0, 1, 2, lag, lag + 1, MARGIN_NS - 1, MARGIN_NS, MARGIN_NS + 1, now, u64::MAX] {
                    for time in [now.saturating_sub(off), now.saturating_add(off)] {
                        assert_eq!(clock.has_reached(time), now >= time, "{time} at {now}, {lag} behind");
                    }
                }
            }
        }
    }

    #[test]
    fn the_offset_of_a_time_namespace_is_read_as_the_kernel_writes_it() {
        let text = "monotonic        -100 250000000\nboottime           5         0\n";
        assert_eq!(offset_of(text), Some(-99_750_000_000));
        assert_eq!(offset_of("monotonic 0 0\n"), Some(0));
        for odd in ["", "boottime 1 0\n", "monotonic\n", "monotonic x 0\n", "monotonic 9223372036854775807 0\n"] {
            assert_eq!(offset_of(odd), None, "{odd}");
        }
    }

    #[test]
    fn rough_monotonic_time_never_steps_back_behind_an_exact_reading() {
        for _ in 0..1000 {
            let exact = MONOTONIC.now();
            REACHED.store(exact, Ordering::Relaxed);
            let rough = rough_monotonic_ns();
            assert!(exact <= rough);
        }
    }
}
