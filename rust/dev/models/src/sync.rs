//! Stands in for the arena's `sync`: the same operations on loom's atomics.
//!
//! loom has no atomic of 16 bytes, so a pair is one atomic word that holds the number of its contents in a list. Both
//! halves are loads of that word. Two loads, of a half and the other or of a half and the whole, are two steps that
//! others may come between. What is not modelled: of two such loads the later never returns the older content, which
//! a processor may do for halves that are read relaxed. In `claim` alone a decision rests on halves of two loads, and
//! the compare-and-swap that follows succeeds only if both were of one moment.
//!
//! loom leaves out orders that cannot be told apart. For that it compares each step with the last one on the same
//! atomic, so a thread's own load hides from its compare-and-swap the load of another thread just before it, and the
//! order of those two is never turned round. Here it is: a word for each reader of a pair, which the reader touches
//! before each load and the others after each compare-and-swap, makes the two a conflict that loom sees. (Without it
//! loom does not find a check that is overtaken between its clock and its search.)

pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
use std::cell::{Cell, RefCell};

thread_local! {
    // loom runs the threads of a model in turns on the thread that started it, so these are the model's own.
    static CONTENTS: RefCell<Vec<(u64, u64)>> = const { RefCell::new(Vec::new()) };
    static FENCED: Cell<bool> = const { Cell::new(true) };
}

/// Threads of a scenario, at most.
pub(crate) const THREADS: usize = 3;

loom::thread_local! {
    static THREAD: Cell<usize> = Cell::new(0);
}

/// Says which of the scenario's threads this one is. Who says nothing is the first.
pub(crate) fn be_thread(number: usize) {
    THREAD.with(|thread| thread.set(number));
}

pub(crate) fn thread() -> usize {
    THREAD.with(Cell::get)
}

pub(crate) fn fence(order: Ordering) {
    if FENCED.get() {
        loom::sync::atomic::fence(order);
    }
}

/// Takes the fences away, or puts them back, to see what they are for.
pub(crate) fn set_fenced(fenced: bool) {
    FENCED.set(fenced);
}

/// The list's number of a pair, and back.
fn number_of(pair: (u64, u64)) -> u64 {
    CONTENTS.with_borrow_mut(|contents| {
        let number = contents.iter().position(|known| *known == pair).unwrap_or_else(|| {
            contents.push(pair);
            contents.len() - 1
        });
        number as u64
    })
}

fn pair_of(number: u64) -> (u64, u64) {
    CONTENTS.with_borrow(|contents| contents[number as usize])
}

/// Writes what is there: a step, in conflict with every other on that word. Relaxed, so it orders nothing else.
fn touch(word: &AtomicU64) {
    word.fetch_add(0, Ordering::Relaxed);
}

pub(crate) struct Pair {
    contents: AtomicU64,
    readers: [AtomicU64; THREADS],
}

impl Pair {
    pub(crate) fn new(pair: (u64, u64)) -> Pair {
        Pair { contents: AtomicU64::new(number_of(pair)), readers: std::array::from_fn(|_| AtomicU64::new(0)) }
    }

    pub(crate) fn load(&self, order: Ordering) -> (u64, u64) {
        touch(&self.readers[thread()]);
        pair_of(self.contents.load(order))
    }

    pub(crate) fn first(&self, order: Ordering) -> u64 {
        self.load(order).0
    }

    pub(crate) fn second(&self, order: Ordering) -> u64 {
        self.load(order).1
    }

    pub(crate) fn compare_exchange(&self, old: (u64, u64), new: (u64, u64)) -> Result<(u64, u64), (u64, u64)> {
        let (old, new) = (number_of(old), number_of(new));
        let swapped = self.contents.compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire);
        for (_, word) in self.readers.iter().enumerate().filter(|(reader, _)| *reader != thread()) {
            touch(word);
        }
        swapped.map(pair_of).map_err(pair_of)
    }
}
