//! Locks between real processes, and between threads where that shows as much. Forking is not for miri.

use super::*;

fn court() -> Court<'static> {
    static BROKEN: AtomicU64 = AtomicU64::new(0);
    static MIXED: AtomicU32 = AtomicU32::new(0);
    static LIFE: AtomicU64 = AtomicU64::new(0);
    let pid_namespace = process::pid_namespace();
    Court { broken: &BROKEN, mixed_namespaces: &MIXED, pid_namespace, checked_life: &LIFE }
}

/// A word that processes share, as in an arena.
#[cfg(not(miri))]
fn shared_word() -> &'static AtomicU32 {
    let mapping = crate::mapping::anonymous(4096).unwrap();
    let base = mapping.base();
    std::mem::forget(mapping);
    // SAFETY: the page stays mapped for ever, is zeroed and aligned.
    unsafe { &*base.as_ptr().cast::<AtomicU32>() }
}

#[cfg(miri)]
fn shared_word() -> &'static AtomicU32 {
    // Kept where miri finds it, for which it would be a leak.
    static WORDS: std::sync::Mutex<Vec<&'static AtomicU32>> = std::sync::Mutex::new(Vec::new());
    let word = Box::leak(Box::new(AtomicU32::new(0)));
    WORDS.lock().unwrap().push(word);
    word
}

#[cfg(not(miri))]
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

/// What it ended with.
#[cfg(not(miri))]
fn wait_for(pid: libc::pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: waits for our own child.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    status
}

#[test]
#[cfg(not(miri))]
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
#[cfg(not(miri))]
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
#[cfg(not(miri))]
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
    let Claimant { thread, outer_pending, .. } = held.claimant;
    assert_eq!(word.load(Ordering::Relaxed), thread.id);
    assert_ne!(pending(&thread), outer_pending, "the kernel still knows of the first");
}

/// As in a signal handler that interrupted the holder.
#[test]
fn who_lets_go_of_an_inner_lock_leaves_the_kernel_knowing_of_the_outer_one() {
    let (word, inner) = (shared_word(), shared_word());
    let held = acquire(word, court()).unwrap();
    let outer = pending(&held.claimant.thread);
    assert_eq!(outer, entry(word, &held.claimant.thread));
    drop(acquire(inner, court()).unwrap());
    assert_eq!(pending(&held.claimant.thread), outer);
    drop(acquire_at_once(inner, court()).unwrap());
    assert_eq!(pending(&held.claimant.thread), outer);
    drop(try_acquire(inner, court()).unwrap());
    assert_eq!(pending(&held.claimant.thread), outer);
    // Nor does one that was not to be had make it forget.
    inner.store(OWNER, Ordering::SeqCst);
    assert!(try_acquire(inner, court()).is_none() && acquire_at_once(inner, court()).is_none());
    assert_eq!(pending(&held.claimant.thread), outer);
}

/// What no thread is called here may be what somebody is called in another pid namespace, who only takes long.
#[test]
#[cfg(not(miri))]
fn a_holder_whom_nobody_knows_here_is_robbed_only_where_there_is_one_namespace() {
    let word = shared_word();
    let nobody = fork(|| ()) as u32;
    assert_eq!(wait_for(nobody as libc::pid_t), 0);
    let (broken, mixed) = (AtomicU64::new(0), AtomicU32::new(1));
    let court = Court { broken: &broken, mixed_namespaces: &mixed, ..court() };
    // All patience is spent already.
    let held_ns = patience::PATIENCE_MS * 1_000_000;
    let lock = word as *const AtomicU32 as usize;
    patience::resume_wait(Wait { waited_ns: held_ns, held_ns, holder: nobody, lock });
    word.store(nobody, Ordering::SeqCst);
    assert!(matches!(acquire(word, court), Err(Error::Busy(_))));
    assert_eq!((word.load(Ordering::SeqCst) & OWNER, broken.load(Ordering::SeqCst)), (nobody, 0));
    mixed.store(0, Ordering::SeqCst);
    assert!(acquire(word, court).unwrap().owner_died);
    assert_eq!(broken.load(Ordering::SeqCst), 1);
    patience::resume_wait(Wait::default());
}

#[test]
#[cfg(not(miri))]
fn a_child_locks_under_its_own_id() {
    let word = shared_word();
    for at_once in [false, true] {
        drop(acquire(word, court()).unwrap());
        let pid = fork(|| {
            // At once only when it knows who it is: its parent's id is nothing to it.
            let unknown = acquire_at_once(word, court()).is_none();
            drop(acquire(word, court()));
            let held = if at_once { acquire_at_once(word, court()) } else { acquire(word, court()).ok() };
            // SAFETY: ends the child without running anything of the parent's.
            unsafe { libc::_exit(i32::from(!(unknown && held.is_some()))) }
        });
        assert_eq!(wait_for(pid), 0);
        // The child ended without letting go: the kernel found its id in the word.
        assert!(acquire(word, court()).unwrap().owner_died);
    }
}

#[test]
fn a_lock_is_had_at_once_when_it_is_free_and_nobody_died_in_it() {
    let word = shared_word();
    drop(acquire(word, court()).unwrap());
    let held = acquire_at_once(word, court()).unwrap();
    assert_ne!(pending(&held.claimant.thread), held.claimant.outer_pending, "the kernel knows of it");
    assert!(acquire_at_once(word, court()).is_none(), "nor twice");
    std::thread::spawn(move || assert!(acquire_at_once(word, court()).is_none())).join().unwrap();
    drop(held);
    std::thread::spawn(move || {
        assert!(acquire_at_once(word, court()).is_none(), "a thread asks who it is before");
        drop(acquire(word, court()));
        assert!(acquire_at_once(word, court()).is_some());
    })
    .join()
    .unwrap();
    word.store(OWNER_DIED, Ordering::SeqCst);
    assert!(acquire_at_once(word, court()).is_none(), "what the dead left is repaired first");
    assert!(acquire(word, court()).unwrap().owner_died);
}

/// Memory that is no atomic's: miri and ThreadSanitizer report it if one holder does not see what another one wrote.
#[test]
fn what_a_holder_wrote_is_there_for_the_next_one_however_it_takes_the_lock() {
    struct Plain(std::cell::UnsafeCell<u32>);
    // SAFETY: it is only touched by who holds the lock.
    unsafe impl Sync for Plain {}
    const THREADS: u32 = 3;
    let rounds = if cfg!(miri) { 20 } else { 20_000 };
    let (word, plain) = (shared_word(), Plain(std::cell::UnsafeCell::new(0)));
    let plain = &plain;
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                for round in 0..rounds {
                    let held = match (thread + round) % 3 {
                        0 => None,
                        1 => try_acquire(word, court()),
                        _ => acquire_at_once(word, court()),
                    };
                    let held = held.unwrap_or_else(|| acquire(word, court()).unwrap());
                    // SAFETY: we hold the lock.
                    unsafe { *plain.0.get() += 1 };
                    drop(held);
                }
            });
        }
    });
    // SAFETY: the threads have ended.
    assert_eq!(unsafe { *plain.0.get() }, THREADS * rounds);
}

#[test]
fn no_lock_of_an_arena_is_had_before_its_pid_namespace_was_compared_with_ours() {
    let (broken, mixed, life) = (AtomicU64::new(0), AtomicU32::new(0), AtomicU64::new(0));
    let elsewhere = Court { broken: &broken, mixed_namespaces: &mixed, pid_namespace: 1, checked_life: &life };
    let word = shared_word();
    drop(acquire(word, court()).unwrap());
    assert!(acquire_at_once(word, elsewhere).is_none(), "the thread is known, but not to this arena");
    assert_eq!(word.load(Ordering::Relaxed), 0);
    drop(acquire(word, elsewhere).unwrap());
    assert_eq!(mixed.load(Ordering::Relaxed), 1, "said before the lock is had");
    assert!(acquire_at_once(word, elsewhere).is_some());
}
