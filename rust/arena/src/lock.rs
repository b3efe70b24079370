//! A lock between processes that the kernel itself takes from a holder who died.
//!
//! One futex word. While a thread holds or takes it, the `pending` field of the thread's robust list names the
//! word, so that the kernel, at the thread's death, clears the owner, leaves a mark and wakes a waiter. Nothing
//! but integers lies in shared memory, and nobody ever guesses from a process id whether a holder lives. (The
//! kernel's robust futexes were made for pthread mutexes; see `Documentation/locking/robust-futexes.rst`.)
//!
//! | bits of the word | meaning | who changes it |
//! |---|---|---|
//! | 0..30 = 0, bit 30 = 0 | free | a taker, by compare-and-swap |
//! | 0..30 | thread id of the holder | the holder, when it lets go; the kernel, when it died |
//! | 30 | a holder died inside, and what it left is not repaired | the kernel sets it; the next taker, once it has repaired |
//! | 31 | somebody sleeps on the word | a waiter sets it; letting go clears it and wakes one |
//!
//! A thread has one `pending` field: a lock taken while another is held (a signal handler) puts the outer one
//! back when it is let go. The same lock taken twice by one thread is an error.
//!
//! Thread ids name one thread within a pid namespace only. The kernel compares the word with the dying thread's id
//! in its own namespace, which is right for a holder from anywhere; but a waiter must not be taken for a holder of
//! the same number in another namespace. So `pending` names the word only around a compare-and-swap on a word that
//! was seen free, and while the lock is held.
//!
//! Letting go and waking are two steps, and whoever dies or is stopped between them, or dies of the very signal that
//! should have woken it, takes a wake-up along. So sleepers look again after a short turn: the wake-up makes a lock
//! change hands at once, the turn bounds what its loss costs.

use crate::clock;
use crate::error::{Error, Result};
use crate::failpoint;
use crate::patience::{self, Wait};
use crate::process::{self, Thread};
use crate::sync::{AtomicU32, AtomicU64, Ordering};

const OWNER: u32 = 0x3fff_ffff;
const OWNER_DIED: u32 = 0x4000_0000;
const WAITERS: u32 = 0x8000_0000;

/// What the arena says about its locks.
#[derive(Clone, Copy)]
pub(crate) struct Court<'a> {
    /// Counts the locks broken because nobody living held them.
    pub broken: &'a AtomicU64,
    /// Not 0 when thread ids of more than one pid namespace may stand in lock words.
    pub mixed_namespaces: &'a AtomicU32,
    /// The pid namespace the arena was made in.
    pub pid_namespace: u64,
    /// The life of this process whose namespace has been compared with that.
    pub checked_life: &'a AtomicU64,
}

impl Court<'_> {
    /// Once in the life of a process: says so in the arena if its thread ids mean something else there.
    #[inline]
    fn admit(&self, thread: &Thread) {
        if self.checked_life.load(Ordering::Relaxed) != thread.life {
            self.compare_namespaces(thread.life);
        }
    }

    #[cold]
    fn compare_namespaces(&self, life: u64) {
        if process::pid_namespace() != self.pid_namespace {
            // Relaxed: read by others only after seconds of waiting.
            self.mixed_namespaces.store(1, Ordering::Relaxed);
        }
        self.checked_life.store(life, Ordering::Relaxed);
    }
}

/// A held lock; dropping it lets go.
pub(crate) struct Guard<'a> {
    word: &'a AtomicU32,
    thread: Thread,
    outer_pending: usize,
    /// The holder before us died inside: what the lock protects must be repaired first.
    pub owner_died: bool,
}

/// Takes the lock, waiting a bounded time.
#[inline(always)] // its guard would be written and waited for on the way
pub(crate) fn acquire<'a>(word: &'a AtomicU32, court: Court<'_>) -> Result<Guard<'a>> {
    let thread = process::thread();
    court.admit(&thread);
    let outer_pending = pending(&thread);
    if outer_pending != 0 && outer_pending == entry(word, &thread) {
        return Err(Error::Reentered);
    }
    let mut guard = Guard { word, thread, outer_pending, owner_died: false };
    if !guard.try_take(0, 0) {
        match wait(&mut guard, court) {
            Ok(owner_died) => guard.owner_died = owner_died,
            Err(error) => {
                retract(&guard.thread, outer_pending);
                std::mem::forget(guard);
                return Err(error);
            }
        }
    }
    failpoint::hit("lock.held");
    Ok(guard)
}

/// Takes the lock if that needs no waiting.
#[inline]
pub(crate) fn try_acquire<'a>(word: &'a AtomicU32, court: Court<'_>) -> Option<Guard<'a>> {
    let thread = process::thread();
    court.admit(&thread);
    let seen = word.load(Ordering::Relaxed);
    let mut guard = Guard { word, thread, outer_pending: pending(&thread), owner_died: seen & OWNER_DIED != 0 };
    // A dead holder's word is taken with its mark, for the caller to repair.
    if seen & OWNER == 0 && guard.try_take(seen, 0) {
        failpoint::hit("lock.held");
        return Some(guard);
    }
    guard.owner_died = false;
    std::mem::forget(guard);
    None
}

impl Guard<'_> {
    /// What the dead holder left is in order: takes the mark off.
    pub(crate) fn repaired(&self) {
        // Relaxed: letting go releases what was repaired.
        self.word.fetch_and(!OWNER_DIED, Ordering::Relaxed);
    }

    /// One attempt on a word that is free, with or without marks; `waiters` is a mark to add. On failure the kernel
    /// is left with what it was told before.
    #[inline]
    fn try_take(&mut self, free: u32, waiters: u32) -> bool {
        if self.word.load(Ordering::Relaxed) != free {
            return false;
        }
        announce(self.word, &self.thread);
        failpoint::hit("lock.pending");
        let taken = self.thread.id | (free & (WAITERS | OWNER_DIED)) | waiters;
        // SYNC(lock): pairs with the release in drop(); shows us all that the last holder wrote.
        if self.word.compare_exchange(free, taken, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            return true;
        }
        retract(&self.thread, self.outer_pending);
        false
    }
}

/// Whether the last holder died inside, and nobody has begun to repair what it left.
pub(crate) fn awaits_repair(word: &AtomicU32) -> bool {
    word.load(Ordering::Relaxed) & (OWNER_DIED | OWNER) == OWNER_DIED
}

/// Whether somebody is repairing what a dead holder left.
pub(crate) fn is_under_repair(word: &AtomicU32) -> bool {
    let seen = word.load(Ordering::Relaxed);
    seen & OWNER_DIED != 0 && seen & OWNER != 0
}

/// What the thread's robust list names now: 0, or a lock it holds.
#[inline]
fn pending(thread: &Thread) -> usize {
    thread.robust_list().map_or(0, |(head, _)| head.pending.load(Ordering::Relaxed))
}

/// A word as the robust list names it.
#[inline]
fn entry(word: &AtomicU32, thread: &Thread) -> usize {
    let offset = thread.robust_list().map_or(0, |(_, offset)| offset);
    (word as *const AtomicU32 as usize).wrapping_sub(offset as usize)
}

/// Tells the kernel which word it must look at if this thread dies.
#[inline]
fn announce(word: &AtomicU32, thread: &Thread) {
    if let Some((head, _)) = thread.robust_list() {
        // SYNC(pending): read by the kernel at this thread's death; Release keeps it in program order before the
        // compare-and-swap that follows, whose own ordering keeps it from moving up.
        head.pending.store(entry(word, thread), Ordering::Release);
    }
}

#[inline]
fn retract(thread: &Thread, outer: usize) {
    if let Some((head, _)) = thread.robust_list() {
        // SYNC(pending): after the word was let go, in program order.
        head.pending.store(outer, Ordering::Release);
    }
}

/// The slow path: true when the last holder died inside.
#[cold]
fn wait(guard: &mut Guard<'_>, court: Court<'_>) -> Result<bool> {
    const SPINS: u32 = 100;
    const TURN_NS: u64 = 5_000_000;
    let word = guard.word;
    let mixed = court.mixed_namespaces.load(Ordering::Relaxed) != 0;
    let mut waited = Wait::resumed(word as *const AtomicU32 as usize);
    let mut seen_at = None;
    let mut slept = 0;
    let mut spins = 0;
    loop {
        let seen = word.load(Ordering::Relaxed);
        if seen & OWNER == 0 {
            // Having slept, we cannot know that nobody else does.
            if guard.try_take(seen, slept) {
                return Ok(seen & OWNER_DIED != 0);
            }
            waited.changed_hands();
            continue;
        }
        if seen & OWNER == guard.thread.id && !mixed {
            return Err(Error::Reentered);
        }
        if spins < SPINS {
            spins += 1;
            std::hint::spin_loop();
            continue;
        }
        let now = clock::unfrozen_monotonic_ns();
        waited.goes_on(seen & OWNER, now - seen_at.replace(now).unwrap_or(now));
        let left_ns = waited.left_ns();
        if left_ns == 0 {
            return overdue(guard, seen, mixed, court, waited);
        }
        if slept != 0 && patience::waits_in_turns() {
            return Err(Error::Waiting(waited));
        }
        if seen & WAITERS == 0
            && word.compare_exchange(seen, seen | WAITERS, Ordering::Relaxed, Ordering::Relaxed).is_err()
        {
            continue;
        }
        slept = WAITERS;
        sleep(word, seen | WAITERS, TURN_NS.min(left_ns));
    }
}

/// The bound has passed. A holder that lives is never robbed; a word that names nobody, and that the kernel did
/// not mark, was scribbled on, and is broken.
fn overdue(guard: &mut Guard<'_>, seen: u32, mixed: bool, court: Court<'_>, waited: Wait) -> Result<bool> {
    let holder = seen & OWNER;
    if !mixed && process::is_gone(holder) {
        announce(guard.word, &guard.thread);
        let taken = guard.thread.id | WAITERS | OWNER_DIED;
        // SYNC(lock): as in try_take().
        if guard.word.compare_exchange(seen, taken, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            court.broken.fetch_add(1, Ordering::Relaxed);
            return Ok(true);
        }
    }
    Err(Error::Busy(waited))
}

fn sleep(word: &AtomicU32, expected: u32, nanoseconds: u64) {
    let time = libc::timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as libc::time_t,
        tv_nsec: (nanoseconds % 1_000_000_000) as libc::c_long,
    };
    // Not FUTEX_PRIVATE: the word is shared between processes. Every way this returns leads back to the loop.
    // SAFETY: the word is a mapped, aligned 32-bit cell for as long as the reference lives.
    unsafe {
        libc::syscall(libc::SYS_futex, word as *const AtomicU32, libc::FUTEX_WAIT, expected, &time as *const _);
    }
}

impl Drop for Guard<'_> {
    #[inline]
    fn drop(&mut self) {
        failpoint::hit("unlock.before");
        // SYNC(lock): pairs with the acquires above; what we wrote is there for the next holder.
        let seen = self.word.swap(0, Ordering::Release);
        failpoint::hit("unlock.open");
        if seen & WAITERS != 0 {
            // SAFETY: as in sleep.
            unsafe { libc::syscall(libc::SYS_futex, self.word as *const AtomicU32, libc::FUTEX_WAKE, 1) };
        }
        retract(&self.thread, self.outer_pending);
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    fn court() -> Court<'static> {
        static BROKEN: AtomicU64 = AtomicU64::new(0);
        static MIXED: AtomicU32 = AtomicU32::new(0);
        static LIFE: AtomicU64 = AtomicU64::new(0);
        let pid_namespace = process::pid_namespace();
        Court { broken: &BROKEN, mixed_namespaces: &MIXED, pid_namespace, checked_life: &LIFE }
    }

    /// A word that processes share, as in an arena.
    fn shared_word() -> &'static AtomicU32 {
        let mapping = crate::mapping::anonymous(4096).unwrap();
        let base = mapping.base();
        std::mem::forget(mapping);
        // SAFETY: the page stays mapped for ever, is zeroed and aligned.
        unsafe { &*base.as_ptr().cast::<AtomicU32>() }
    }

    fn fork(child: impl FnOnce()) -> libc::pid_t {
        // SAFETY: the child only runs code that allocates nothing, and leaves by _exit.
        match unsafe { libc::fork() } {
            0 => {
                child();
                // SAFETY: ends the child without running anything of the parent's.
                unsafe { libc::_exit(0) }
            }
            pid => pid,
        }
    }

    fn wait_for(pid: libc::pid_t) {
        let mut status = 0;
        // SAFETY: waits for our own child.
        assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    }

    #[test]
    fn a_dead_holder_leaves_a_mark_and_no_lock() {
        let word = shared_word();
        for _ in 0..50 {
            let pid = fork(|| {
                let held = acquire(word, court());
                // SAFETY: the child ends itself while it holds the lock.
                unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
                drop(held);
            });
            wait_for(pid);
            assert!(acquire(word, court()).unwrap().owner_died);
            assert!(!acquire(word, court()).unwrap().owner_died);
        }
    }

    #[test]
    fn a_sleeping_waiter_is_woken_by_the_death_of_the_holder() {
        let word = shared_word();
        let pid = fork(|| {
            let held = acquire(word, court());
            // SAFETY: sleeps, then dies holding the lock.
            unsafe {
                libc::usleep(100_000);
                libc::kill(libc::getpid(), libc::SIGKILL);
            }
            drop(held);
        });
        while word.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        assert!(acquire(word, court()).unwrap().owner_died);
        wait_for(pid);
    }

    #[test]
    fn a_lost_wake_up_costs_a_turn_and_not_the_whole_wait() {
        let word = shared_word();
        // Held by a thread that lives, and let go by one that never comes to wake us.
        // SAFETY: getppid cannot fail and touches no memory.
        let holder = unsafe { libc::getppid() } as u32;
        word.store(holder, Ordering::SeqCst);
        let waiter = std::thread::spawn(move || {
            let started = clock::unfrozen_monotonic_ns();
            drop(acquire(word, court()).unwrap());
            clock::unfrozen_monotonic_ns() - started
        });
        while word.load(Ordering::SeqCst) & WAITERS == 0 {
            std::thread::yield_now();
        }
        word.store(0, Ordering::SeqCst);
        let waited_ms = waiter.join().unwrap() / 1_000_000;
        assert!(waited_ms < patience::PATIENCE_MS - 1_000, "{waited_ms} ms");
    }

    #[test]
    fn the_same_lock_twice_in_one_thread_is_an_error_and_the_first_stays() {
        let word = shared_word();
        let held = acquire(word, court()).unwrap();
        assert!(matches!(acquire(word, court()), Err(Error::Reentered)));
        assert!(try_acquire(word, court()).is_none());
        assert_eq!(word.load(Ordering::Relaxed), held.thread.id);
        assert_ne!(pending(&held.thread), held.outer_pending, "the kernel still knows of the first");
    }

    #[test]
    fn a_child_locks_under_its_own_id() {
        let word = shared_word();
        drop(acquire(word, court()).unwrap());
        let pid = fork(|| {
            let held = acquire(word, court());
            std::mem::forget(held);
        });
        wait_for(pid);
        // The child ended without letting go: the kernel found its id in the word.
        assert!(acquire(word, court()).unwrap().owner_died);
    }
}
