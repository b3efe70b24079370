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

#[cfg(test)]
mod tests;

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
    fn admit(&self, thread: &Thread) {
        if !self.has_admitted(thread) {
            self.compare_namespaces(thread.life);
        }
    }

    #[inline(always)]
    fn has_admitted(&self, thread: &Thread) -> bool {
        self.checked_life.load(Ordering::Relaxed) == thread.life
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
    claimant: Claimant<'a>,
    /// The holder before us died inside: what the lock protects must be repaired first.
    pub owner_died: bool,
}

/// A thread, and the lock it wants or has.
#[derive(Clone, Copy)]
struct Claimant<'a> {
    word: &'a AtomicU32,
    thread: Thread,
    /// What the kernel was told before.
    outer_pending: usize,
}

/// Takes the lock if that is as simple as can be: it is free, nobody died in it, and the thread and its robust list are
/// known. The common case in few instructions; None says nothing of the lock.
#[inline(always)] // its guard would be written and waited for on the way
pub(crate) fn acquire_at_once<'a>(word: &'a AtomicU32, court: Court<'_>) -> Option<Guard<'a>> {
    let thread = process::known_thread()?;
    let (head, _) = thread.robust_list()?;
    let claimant = Claimant { word, thread, outer_pending: head.pending.load(Ordering::Relaxed) };
    if !court.has_admitted(&thread) || !claimant.try_take(0, 0) {
        return None;
    }
    failpoint::hit("lock.held");
    Some(Guard { claimant, owner_died: false })
}

/// Takes the lock, waiting a bounded time.
pub(crate) fn acquire<'a>(word: &'a AtomicU32, court: Court<'_>) -> Result<Guard<'a>> {
    let claimant = Claimant::new(word, court);
    if claimant.reenters() {
        return Err(Error::Reentered);
    }
    let mut owner_died = false;
    if !claimant.try_take(0, 0) {
        owner_died = wait(claimant, court)?;
    }
    failpoint::hit("lock.held");
    Ok(Guard { claimant, owner_died })
}

/// Takes the lock if that needs no waiting.
pub(crate) fn try_acquire<'a>(word: &'a AtomicU32, court: Court<'_>) -> Option<Guard<'a>> {
    let claimant = Claimant::new(word, court);
    let seen = word.load(Ordering::Relaxed);
    // A dead holder's word is taken with its mark, for the caller to repair.
    if seen & OWNER == 0 && claimant.try_take(seen, 0) {
        failpoint::hit("lock.held");
        return Some(Guard { claimant, owner_died: seen & OWNER_DIED != 0 });
    }
    None
}

impl Guard<'_> {
    /// What the dead holder left is in order: takes the mark off.
    pub(crate) fn repaired(&self) {
        // Relaxed: letting go releases what was repaired.
        self.claimant.word.fetch_and(!OWNER_DIED, Ordering::Relaxed);
    }
}

impl<'a> Claimant<'a> {
    fn new(word: &'a AtomicU32, court: Court<'_>) -> Claimant<'a> {
        let thread = process::thread();
        court.admit(&thread);
        Claimant { word, thread, outer_pending: pending(&thread) }
    }

    /// Whether this thread has that very lock.
    fn reenters(&self) -> bool {
        self.outer_pending != 0 && self.outer_pending == entry(self.word, &self.thread)
    }

    /// One attempt on a word that is free, with or without marks; `waiters` is a mark to add. On failure the kernel
    /// is left with what it was told before.
    #[inline(always)]
    fn try_take(self, free: u32, waiters: u32) -> bool {
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
fn wait(claimant: Claimant<'_>, court: Court<'_>) -> Result<bool> {
    const SPINS: u32 = 100;
    const TURN_NS: u64 = 5_000_000;
    let word = claimant.word;
    let mixed = court.mixed_namespaces.load(Ordering::Relaxed) != 0;
    let mut waited = Wait::resumed(word as *const AtomicU32 as usize);
    let mut seen_at = None;
    let mut slept = 0;
    let mut spins = 0;
    loop {
        let seen = word.load(Ordering::Relaxed);
        if seen & OWNER == 0 {
            // Having slept, we cannot know that nobody else does.
            if claimant.try_take(seen, slept) {
                return Ok(seen & OWNER_DIED != 0);
            }
            waited.changed_hands();
            continue;
        }
        if seen & OWNER == claimant.thread.id && !mixed {
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
            return overdue(claimant, seen, mixed, court, waited);
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
fn overdue(claimant: Claimant<'_>, seen: u32, mixed: bool, court: Court<'_>, waited: Wait) -> Result<bool> {
    let holder = seen & OWNER;
    if !mixed && process::is_gone(holder) {
        announce(claimant.word, &claimant.thread);
        let taken = claimant.thread.id | WAITERS | OWNER_DIED;
        // SYNC(lock): as in try_take().
        if claimant.word.compare_exchange(seen, taken, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            court.broken.fetch_add(1, Ordering::Relaxed);
            return Ok(true);
        }
        retract(&claimant.thread, claimant.outer_pending);
    }
    Err(Error::Busy(waited))
}

fn sleep(word: &AtomicU32, expected: u32, nanoseconds: u64) {
    let time =
        libc::timespec { tv_sec: (nanoseconds / 1_000_000_000) as _, tv_nsec: (nanoseconds % 1_000_000_000) as _ };
    // Not FUTEX_PRIVATE: the word is shared between processes. Every way this returns leads back to the loop.
    // SAFETY: the word is a mapped, aligned 32-bit cell for as long as the reference lives.
    unsafe {
        libc::syscall(libc::SYS_futex, word as *const AtomicU32, libc::FUTEX_WAIT, expected, &time as *const _);
    }
}

#[cold]
#[inline(never)]
fn wake(word: &AtomicU32) {
    // SAFETY: as in sleep.
    unsafe { libc::syscall(libc::SYS_futex, word as *const AtomicU32, libc::FUTEX_WAKE, 1) };
}

impl Drop for Guard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        let Claimant { word, thread, outer_pending } = self.claimant;
        failpoint::hit("unlock.before");
        // SYNC(lock): pairs with the acquires above; what we wrote is there for the next holder.
        let seen = word.swap(0, Ordering::Release);
        failpoint::hit("unlock.open");
        if seen & WAITERS != 0 {
            wake(word);
        }
        retract(&thread, outer_pending);
    }
}
