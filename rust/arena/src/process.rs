//! What a process must know about itself: the ids that go into locks, refreshed after a fork.
//!
//! The kernel wipes one page in every forked child (`MADV_WIPEONFORK`), however the fork was made; a thread that
//! finds it wiped asks for its ids anew. Nothing is ever guessed from a remembered process id.

use crate::sync::{AtomicU64, AtomicUsize, Ordering};
use std::cell::Cell;
use std::sync::OnceLock;

/// The head of a thread's robust list, as the kernel defines it.
#[repr(C)]
pub(crate) struct RobustListHead {
    next: AtomicUsize,
    futex_offset: isize,
    /// The lock operation under way: what the kernel looks at when the thread dies.
    pub pending: AtomicUsize,
}

/// What a lock needs to know of the calling thread.
#[derive(Clone, Copy)]
pub(crate) struct Thread {
    /// The kernel's thread id, in this pid namespace.
    pub id: u32,
    /// Which life of the process these were asked in: a forked child starts another.
    pub life: u64,
    /// The robust list head the kernel knows; null where there is none.
    head: *const RobustListHead,
}

impl Thread {
    /// The head, and what the kernel adds to a list entry to find the lock word.
    pub(crate) fn robust_list(&self) -> Option<(&RobustListHead, isize)> {
        // SAFETY: the kernel gave us this thread's head. It lives as long as the thread, and a Thread is not Send.
        unsafe { self.head.as_ref() }.map(|head| (head, head.futex_offset))
    }
}

/// One page that the kernel zeroes in every child.
#[repr(C)]
struct Wiped {
    /// Which life of the process this is; 0 until somebody asks.
    life: AtomicU64,
}

fn wiped() -> &'static Wiped {
    static PAGE: OnceLock<&'static Wiped> = OnceLock::new();
    PAGE.get_or_init(map_wiped)
}

#[cfg(not(miri))]
fn map_wiped() -> &'static Wiped {
    const LENGTH: usize = 4096;
    // SAFETY: a new private mapping at an address the kernel picks; it is never unmapped.
    let page = unsafe {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        libc::mmap(std::ptr::null_mut(), LENGTH, access, kind, -1, 0)
    };
    assert!(page != libc::MAP_FAILED, "no memory for one page");
    // SAFETY: the page is ours, and nothing else uses it.
    let wipes = unsafe { libc::madvise(page, LENGTH, libc::MADV_WIPEONFORK) == 0 };
    if !wipes {
        // Kernels before 4.14: a fork that goes through libc runs this in the child.
        extern "C" fn wipe() {
            wiped().life.store(0, Ordering::Relaxed);
        }
        // SAFETY: the handler is a plain function that only stores an integer.
        unsafe { libc::pthread_atfork(None, None, Some(wipe)) };
    }
    // SAFETY: the page is mapped for the life of the process, zeroed, aligned, and only touched through atomics.
    unsafe { &*page.cast::<Wiped>() }
}

#[cfg(miri)]
fn map_wiped() -> &'static Wiped {
    Box::leak(Box::new(Wiped { life: AtomicU64::new(0) }))
}

/// What a thread was told when it asked, and the page that says in which life of the process it holds.
#[derive(Clone, Copy)]
struct Known {
    page: Option<&'static Wiped>,
    thread: Thread,
}

thread_local! {
    static KNOWN: Cell<Known> =
        const { Cell::new(Known { page: None, thread: Thread { id: 0, life: 0, head: std::ptr::null() } }) };
}

/// The calling thread, as the kernel knows it now.
pub(crate) fn thread() -> Thread {
    known_thread().unwrap_or_else(ask)
}

/// The same, if it was asked before in this life of the process.
#[inline(always)]
pub(crate) fn known_thread() -> Option<Thread> {
    let Known { page, thread } = KNOWN.with(Cell::get);
    // Relaxed: the page is written by this process alone, and a stale value of another thread only means asking.
    (page?.life.load(Ordering::Relaxed) == thread.life).then_some(thread)
}

#[cold]
fn ask() -> Thread {
    let life = life();
    let (id, head) = ask_kernel();
    let thread = Thread { id, life, head };
    KNOWN.set(Known { page: Some(wiped()), thread });
    thread
}

/// Which life of the process this is: never 0, and another one in a forked child than in its parent.
#[inline]
pub(crate) fn life() -> u64 {
    // Relaxed: as in `thread`.
    match wiped().life.load(Ordering::Relaxed) {
        0 => begin_life(),
        life => life,
    }
}

/// The word that [`life`] looks at, for who asks often: 0 until somebody has asked it in this life of the process.
pub(crate) fn life_word() -> &'static AtomicU64 {
    &wiped().life
}

#[cold]
fn begin_life() -> u64 {
    static LIVES: AtomicU64 = AtomicU64::new(0);
    // Relaxed: only that a child's number is not its parent's matters, and that all threads of a process get one.
    let fresh = LIVES.fetch_add(1, Ordering::Relaxed) + 1;
    match wiped().life.compare_exchange(0, fresh, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => fresh,
        Err(other) => other,
    }
}

#[cfg(not(miri))]
fn ask_kernel() -> (u32, *const RobustListHead) {
    let mut head: *const RobustListHead = std::ptr::null();
    let mut length = 0usize;
    // SAFETY: get_robust_list writes a pointer and a length to the two places it is given.
    let known = unsafe { libc::syscall(libc::SYS_get_robust_list, 0, &mut head, &mut length) == 0 };
    if !known || length != std::mem::size_of::<RobustListHead>() {
        head = std::ptr::null();
    }
    if head.is_null() {
        head = register_own();
    }
    // SAFETY: gettid cannot fail and touches no memory.
    let id = unsafe { libc::syscall(libc::SYS_gettid) } as u32;
    (id, head)
}

/// A C library that registers no list until its first robust mutex (musl) leaves the place to us.
#[cfg(not(miri))]
fn register_own() -> *const RobustListHead {
    let head: &'static RobustListHead = Box::leak(Box::new(RobustListHead {
        next: AtomicUsize::new(0),
        futex_offset: 0,
        pending: AtomicUsize::new(0),
    }));
    // An empty list points at itself.
    head.next.store(head as *const RobustListHead as usize, Ordering::Relaxed);
    // SAFETY: the head is never freed, and has the kernel's layout and size.
    let registered = unsafe {
        libc::syscall(libc::SYS_set_robust_list, head as *const RobustListHead, std::mem::size_of::<RobustListHead>())
            == 0
    };
    if registered {
        head
    } else {
        std::ptr::null()
    }
}

/// Under miri nobody looks at the list of a dead thread; but every thread has an id and a head, so that locks are taken as
/// they are elsewhere.
#[cfg(miri)]
fn ask_kernel() -> (u32, *const RobustListHead) {
    use crate::sync::AtomicU32;

    static THREADS: AtomicU32 = AtomicU32::new(0);
    thread_local! {
        static HEAD: RobustListHead = const {
            RobustListHead { next: AtomicUsize::new(0), futex_offset: -32, pending: AtomicUsize::new(0) }
        };
    }
    // Relaxed: only that no two get one id matters.
    (THREADS.fetch_add(1, Ordering::Relaxed) + 1, HEAD.with(|head| head as *const _))
}

/// Whether a thread id of this pid namespace names nobody.
pub(crate) fn is_gone(id: u32) -> bool {
    // SAFETY: signal 0 only asks.
    let code = unsafe { libc::kill(id as libc::pid_t, 0) };
    code != 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}

/// The inode of this process's pid namespace; 0 where it cannot be told.
pub(crate) fn pid_namespace() -> u64 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self/ns/pid").map_or(0, |found| found.ino())
}

/// A number for this start of the machine: an arena on a disk outlives it, its locks and clocks do not. 0 where it
/// cannot be told.
pub(crate) fn boot() -> u64 {
    // Miri complains of such files.
    let id = if cfg!(miri) { Vec::new() } else { std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default() };
    // FNV-1a: any fixed function of the bytes serves.
    id.iter().fold(if id.is_empty() { 0 } else { 0xcbf2_9ce4_8422_2325 }, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
