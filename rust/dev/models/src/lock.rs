//! Stands in for the arena's `lock`: a mutex of loom's, so that who waits costs no steps, beside the same word with the same
//! marks, which others look at in passing.

use crate::error::Result;
use crate::memory::{process, shared, step, Access, Kind};
use crate::sync::{AtomicU32, Ordering};
use loom::sync::{Mutex, MutexGuard};
use std::cell::RefCell;
use std::mem::ManuallyDrop;

const OWNER: u32 = 0x3fff_ffff;
const OWNER_DIED: u32 = 0x4000_0000;

/// A lock that a process has.
struct Held {
    process: usize,
    word: *const AtomicU32,
    // Of an execution that is given up, belongs to no loom that is still there.
    mutex: ManuallyDrop<Option<MutexGuard<'static, ()>>>,
}

thread_local! {
    static HELD: RefCell<Vec<Held>> = const { RefCell::new(Vec::new()) };
}

pub(crate) struct Guard<'a> {
    word: &'a AtomicU32,
    pub owner_died: bool,
}

/// An execution begins.
pub(crate) fn begin() {
    HELD.take();
}

fn mutex_of(word: &AtomicU32) -> Option<&'static Mutex<()>> {
    let address = word as *const AtomicU32 as usize;
    shared(address, Kind::Bytes(4), Access::Lock).map(|shared| shared.mutex.expect("it is known to be a lock"))
}

fn hold(word: &AtomicU32, mutex: Option<MutexGuard<'static, ()>>) -> bool {
    // SYNC(lock): who sees the word that the last holder left sees all that it did.
    let seen = word.load(Ordering::Acquire);
    assert!(seen & OWNER == 0, "the lock is held, and nobody will let it go");
    word.store((process() as u32 + 1) | seen & OWNER_DIED, Ordering::Relaxed);
    HELD.with_borrow_mut(|held| held.push(Held { process: process(), word, mutex: ManuallyDrop::new(mutex) }));
    seen & OWNER_DIED != 0
}

pub(crate) fn acquire(word: &AtomicU32) -> Result<Guard<'_>> {
    let mutex = mutex_of(word).map(|mutex| step(|| mutex.lock().unwrap()));
    Ok(Guard { word, owner_died: hold(word, mutex) })
}

/// As the arena's own it may be shown a holder who is no longer there, and then takes nothing.
pub(crate) fn try_acquire(word: &AtomicU32) -> Option<Guard<'_>> {
    if word.load(Ordering::Relaxed) & OWNER != 0 {
        return None;
    }
    let mutex = match mutex_of(word) {
        Some(mutex) => Some(step(|| mutex.try_lock()).ok()?),
        None => None,
    };
    Some(Guard { word, owner_died: hold(word, mutex) })
}

pub(crate) fn acquire_at_once(word: &AtomicU32) -> Option<Guard<'_>> {
    if word.load(Ordering::Relaxed) != 0 {
        return None;
    }
    let guard = try_acquire(word)?;
    if guard.owner_died {
        guard.let_go(OWNER_DIED);
        std::mem::forget(guard);
        return None;
    }
    Some(guard)
}

impl Guard<'_> {
    pub(crate) fn repaired(&self) {
        self.word.fetch_and(!OWNER_DIED, Ordering::Relaxed);
    }

    fn let_go(&self, mark: u32) {
        let held = HELD.with_borrow_mut(|held| {
            let index = held.iter().position(|held| std::ptr::eq(held.word, self.word)).expect("it is held");
            held.swap_remove(index)
        });
        // SYNC(lock): as above.
        self.word.store(mark, Ordering::Release);
        drop(ManuallyDrop::into_inner(held.mutex));
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        // Who dies lets nothing go.
        if !std::thread::panicking() {
            self.let_go(0);
        }
    }
}

/// What the kernel does for the locks of a process that has died.
pub(crate) fn holder_died() {
    let dead = process();
    loop {
        let held = HELD.with_borrow_mut(|held| {
            let index = held.iter().position(|held| held.process == dead)?;
            Some(held.swap_remove(index))
        });
        let Some(Held { word, mutex, .. }) = held else { return };
        // SAFETY: the word is in the scenario's memory.
        unsafe { (*word).store(OWNER_DIED, Ordering::Release) };
        drop(ManuallyDrop::into_inner(mutex));
    }
}

pub(crate) fn awaits_repair(word: &AtomicU32) -> bool {
    word.load(Ordering::Relaxed) & (OWNER_DIED | OWNER) == OWNER_DIED
}

pub(crate) fn is_under_repair(word: &AtomicU32) -> bool {
    let seen = word.load(Ordering::Relaxed);
    seen & OWNER_DIED != 0 && seen & OWNER != 0
}
