//! The bytes that a scenario's processes share, and loom's view of them.
//!
//! Cells are where they are in the shipped code: words at addresses in a mapping. Before the processes of a scenario start
//! and after they have ended the bytes are plain, so preparing and judging costs loom nothing. While they run, every
//! access is looked up by its address here. A cell that two processes use, and one of them writes, is an atomic of loom's;
//! all others stay plain: nobody can tell the orders of their accesses apart. Which is which shows only as the search
//! goes on: when a cell turns out to be shared the search begins anew ([`Learned`]), so that in the end loom has
//! known of all of them, in each execution, from the first step on.

use loom::sync::atomic::{AtomicU64, Ordering};
use loom::sync::Mutex;
use std::alloc::{alloc_zeroed, dealloc, Layout};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::rc::Rc;

/// Processes of a scenario, at most.
pub(crate) const PROCESSES: usize = 3;

/// A cell that was thought to be one process's own was used by another: the search must begin anew.
pub(crate) struct Learned;

/// What a cell is, which says how its value is put into loom's word and back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Bytes(usize),
    /// Sixteen bytes, packed.
    Pair,
}

/// What is done to a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Load,
    Store,
    /// A load and a store in one step.
    Swap,
    /// As a lock, by whoever takes it.
    Lock,
}

/// Who used a cell, and how, in any execution so far; of processes a bit for each.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Use {
    kind: Kind,
    users: u8,
    writers: u8,
    is_loaded: bool,
    is_swapped: bool,
    is_lock: bool,
}

impl Use {
    fn is_shared(&self) -> bool {
        self.writers != 0 && self.users.count_ones() > 1
    }

    fn add(&mut self, access: Access) {
        let process = 1 << process();
        self.users |= process;
        self.writers |= if access == Access::Load { 0 } else { process };
        self.is_loaded |= access == Access::Load;
        self.is_swapped |= access == Access::Swap;
        self.is_lock |= access == Access::Lock;
    }
}

/// loom's objects for one cell.
pub(crate) struct Shared {
    pub(crate) word: AtomicU64,
    /// See [`Shared::load`].
    readers: Option<[AtomicU64; PROCESSES]>,
    /// What waits for a lock.
    pub(crate) mutex: Option<&'static Mutex<()>>,
}

impl Shared {
    /// loom leaves out orders that cannot be told apart. For that it compares each step with the last one on the same
    /// atomic, so a process's own load hides from its compare-and-swap the load of another one just before it, and the
    /// order of those two is not turned round. A word for each reader, which the reader touches before each load and the
    /// others after each change, makes the two a conflict that loom sees.
    pub(crate) fn load(&self, order: Ordering) -> u64 {
        if let Some(readers) = &self.readers {
            step(|| readers[process()].fetch_add(0, Ordering::Relaxed));
        }
        step(|| self.word.load(order))
    }

    pub(crate) fn change<T>(&self, change: impl FnOnce(&AtomicU64) -> T) -> T {
        let result = step(|| change(&self.word));
        if let Some(readers) = &self.readers {
            for (_, word) in readers.iter().enumerate().filter(|(reader, _)| *reader != process()) {
                step(|| word.fetch_add(0, Ordering::Relaxed));
            }
        }
        result
    }
}

/// The region of the present scenario.
struct Region {
    start: usize,
    length: usize,
    uses: BTreeMap<usize, Use>,
    shared: Option<BTreeMap<usize, Rc<Shared>>>,
    turns_loads: bool,
}

thread_local! {
    // loom runs the processes of a scenario in turns on the thread that started it, so all this is the scenario's own.
    static REGION: RefCell<Option<Region>> = const { RefCell::new(None) };
    static PROCESS: Cell<usize> = const { Cell::new(0) };
    static RUNS: Cell<bool> = const { Cell::new(false) };
    static HALVES: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Which of the scenario's processes this one is.
pub(crate) fn process() -> usize {
    PROCESS.get()
}

pub(crate) fn be_process(number: usize) {
    PROCESS.set(number);
}

/// Whether the scenario's processes are running.
pub(crate) fn runs() -> bool {
    RUNS.get()
}

/// Every call of loom in which other processes may run.
pub(crate) fn step<T>(operation: impl FnOnce() -> T) -> T {
    let process = PROCESS.get();
    let result = operation();
    PROCESS.set(process);
    result
}

/// Bytes on a line's boundary, and how they were when the scenario was prepared.
pub(crate) struct Memory {
    start: *mut u8,
    layout: Layout,
    prepared: RefCell<Vec<u8>>,
}

// SAFETY: a scenario is prepared, run and judged on one thread.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    pub(crate) fn new(length: usize) -> Memory {
        let layout = Layout::from_size_align(length.next_multiple_of(64), 64).unwrap();
        // SAFETY: the layout has a size.
        let start = unsafe { alloc_zeroed(layout) };
        assert!(!start.is_null());
        Memory { start, layout, prepared: RefCell::new(Vec::new()) }
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.start
    }

    pub(crate) fn length(&self) -> usize {
        self.layout.size()
    }

    /// The scenario is prepared: the bytes are to be as they are now whenever it begins.
    pub(crate) fn prepared(&self, turns_loads: bool) {
        // SAFETY: the block is ours, initialised, and nobody else runs.
        let bytes = unsafe { std::slice::from_raw_parts(self.start, self.length()) };
        *self.prepared.borrow_mut() = bytes.to_vec();
        RUNS.set(false);
        let (start, length) = (self.start as usize, self.length());
        REGION.set(Some(Region { start, length, uses: BTreeMap::new(), shared: None, turns_loads }));
    }

    /// An execution begins, in the first process.
    pub(crate) fn begin(&self) {
        let prepared = self.prepared.borrow();
        // SAFETY: the block is ours, as long as it was, and nobody else runs.
        unsafe { std::ptr::copy_nonoverlapping(prepared.as_ptr(), self.start, prepared.len()) };
        REGION.with_borrow_mut(|region| region.as_mut().unwrap().begin());
        PROCESS.set(0);
        RUNS.set(true);
    }

    /// All processes have ended: what they wrote becomes plain bytes again.
    pub(crate) fn end(&self) {
        RUNS.set(false);
        REGION.with_borrow_mut(|region| region.as_mut().unwrap().end());
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: from alloc_zeroed with this very layout.
        unsafe { dealloc(self.start, self.layout) };
    }
}

impl Region {
    fn begin(&mut self) {
        let mut shared = BTreeMap::new();
        for (address, used) in self.uses.iter().filter(|(_, used)| used.is_shared()) {
            let mutex = used.is_lock.then(|| &*Box::leak(Box::new(Mutex::new(()))));
            let readers = self.turns_loads && used.is_loaded && used.is_swapped;
            let readers = readers.then(|| std::array::from_fn(|_| AtomicU64::new(0)));
            let word = AtomicU64::new(plain_value(*address, used.kind));
            shared.insert(*address, Rc::new(Shared { word, readers, mutex }));
        }
        self.shared = Some(shared);
    }

    fn end(&mut self) {
        for (address, shared) in self.shared.take().unwrap() {
            // SAFETY: all other processes have been joined.
            let value = unsafe { shared.word.unsync_load() };
            set_plain_value(address, self.uses[&address].kind, value);
        }
    }
}

/// What loom knows of a cell that is being used; None for a plain one.
pub(crate) fn shared(address: usize, kind: Kind, access: Access) -> Option<Rc<Shared>> {
    if !runs() {
        return None;
    }
    let known = REGION.with_borrow_mut(|region| {
        let region = region.as_mut()?;
        if !(region.start..region.start + region.length).contains(&address) {
            return None;
        }
        let new = Use { kind, users: 0, writers: 0, is_loaded: false, is_swapped: false, is_lock: false };
        let used = region.uses.entry(address).or_insert(new);
        assert!(used.kind == kind, "a cell of two widths");
        let was = *used;
        used.add(access);
        // Other objects of loom's than those that this execution began with?
        let objects = |used: &Use| (used.is_shared(), used.is_lock, used.is_loaded && used.is_swapped);
        let is_known = objects(&was) == objects(used);
        used.is_shared().then(|| if is_known { region.shared.as_ref()?.get(&address).cloned() } else { None })
    })?;
    if known.is_none() {
        RUNS.set(false);
        // Without the hook: nothing went wrong.
        resume_unwind(Box::new(Learned));
    }
    known
}

/// A pair as one word: the numbers of its halves in a list.
pub(crate) fn packed((first, second): (u64, u64)) -> u64 {
    number_of(first) << 32 | number_of(second)
}

pub(crate) fn unpacked(word: u64) -> (u64, u64) {
    HALVES.with_borrow(|halves| (halves[(word >> 32) as usize], halves[word as u32 as usize]))
}

fn number_of(half: u64) -> u64 {
    HALVES.with_borrow_mut(|halves| {
        let number = halves.iter().position(|known| *known == half).unwrap_or_else(|| {
            halves.push(half);
            halves.len() - 1
        });
        number as u64
    })
}

fn plain_value(address: usize, kind: Kind) -> u64 {
    // SAFETY: the address is that of a cell in the region, and nobody else runs.
    unsafe {
        match kind {
            Kind::Bytes(1) => u64::from(*(address as *const u8)),
            Kind::Bytes(4) => u64::from(*(address as *const u32)),
            Kind::Bytes(_) => *(address as *const u64),
            Kind::Pair => packed((*(address as *const [u64; 2])).into()),
        }
    }
}

fn set_plain_value(address: usize, kind: Kind, value: u64) {
    // SAFETY: as above.
    unsafe {
        match kind {
            Kind::Bytes(1) => *(address as *mut u8) = value as u8,
            Kind::Bytes(4) => *(address as *mut u32) = value as u32,
            Kind::Bytes(_) => *(address as *mut u64) = value,
            Kind::Pair => *(address as *mut [u64; 2]) = unpacked(value).into(),
        }
    }
}
