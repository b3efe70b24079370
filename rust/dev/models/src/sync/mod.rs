//! Stands in for the arena's `sync`: cells of the same sizes at the same places, whose operations are loom's where more
//! than one process uses them. What is built of them (copying bytes) is the arena's own.

#[rustfmt::skip]
#[path = "../../../../arena/src/sync/bytes.rs"]
mod bytes;
mod pair;

#[allow(unused_imports)] // not all that the arena uses is modelled
pub(crate) use bytes::{begins_with, copy_in, copy_out, read_raw, write_raw};
pub(crate) use pair::Pair;

use crate::layout::{Group, LANES};
use crate::memory::{runs, shared, step, Access, Kind};
use std::cell::Cell;
use std::sync::atomic as machine;
pub(crate) use std::sync::atomic::Ordering;

macro_rules! atomic {
    ($name:ident, $value:ty) => {
        /// A cell, plain as long as the scenario's processes do not run.
        #[derive(Debug)]
        #[repr(transparent)]
        pub(crate) struct $name(machine::$name);

        #[allow(dead_code)]
        impl $name {
            pub(crate) const fn new(value: $value) -> Self {
                Self(machine::$name::new(value))
            }

            fn shared(&self, access: Access) -> Option<std::rc::Rc<crate::memory::Shared>> {
                shared(self as *const Self as usize, Kind::Bytes(std::mem::size_of::<$value>()), access)
            }

            pub(crate) fn load(&self, order: Ordering) -> $value {
                match self.shared(Access::Load) {
                    Some(shared) => shared.load(order) as $value,
                    None => self.0.load(Ordering::Relaxed),
                }
            }

            pub(crate) fn store(&self, value: $value, order: Ordering) {
                match self.shared(Access::Store) {
                    Some(shared) => shared.change(|word| word.store(value as u64, order)),
                    None => self.0.store(value, Ordering::Relaxed),
                }
            }

            pub(crate) fn swap(&self, value: $value, order: Ordering) -> $value {
                match self.shared(Access::Swap) {
                    Some(shared) => shared.change(|word| word.swap(value as u64, order)) as $value,
                    None => self.0.swap(value, Ordering::Relaxed),
                }
            }

            pub(crate) fn compare_exchange(
                &self,
                old: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                match self.shared(Access::Swap) {
                    Some(shared) => shared
                        .change(|word| word.compare_exchange(old as u64, new as u64, success, failure))
                        .map(|value| value as $value)
                        .map_err(|value| value as $value),
                    None => self.0.compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed),
                }
            }

            pub(crate) fn fetch_add(&self, by: $value, order: Ordering) -> $value {
                match self.shared(Access::Swap) {
                    Some(shared) => shared.change(|word| word.fetch_add(by as u64, order)) as $value,
                    None => self.0.fetch_add(by, Ordering::Relaxed),
                }
            }

            pub(crate) fn fetch_or(&self, bits: $value, order: Ordering) -> $value {
                match self.shared(Access::Swap) {
                    Some(shared) => shared.change(|word| word.fetch_or(bits as u64, order)) as $value,
                    None => self.0.fetch_or(bits, Ordering::Relaxed),
                }
            }

            pub(crate) fn fetch_and(&self, bits: $value, order: Ordering) -> $value {
                match self.shared(Access::Swap) {
                    Some(shared) => shared.change(|word| word.fetch_and(bits as u64, order)) as $value,
                    None => self.0.fetch_and(bits, Ordering::Relaxed),
                }
            }
        }
    };
}

atomic!(AtomicU8, u8);
atomic!(AtomicU32, u32);
atomic!(AtomicU64, u64);

/// The process's own, which no scenario looks at.
pub(crate) use machine::AtomicBool;

thread_local! {
    static FENCED: Cell<bool> = const { Cell::new(true) };
}

pub(crate) fn fence(order: Ordering) {
    if FENCED.get() && runs() {
        loom::sync::atomic::fence(order);
    }
}

/// Takes the fences away, or puts them back, to see what they are for.
pub(crate) fn set_fenced(fenced: bool) {
    FENCED.set(fenced);
}

/// Lets others run, and will not be shown again what it has seen, where there is something newer.
pub(crate) fn spin_loop() {
    if runs() {
        step(loom::hint::spin_loop);
    }
}

/// As the arena's own where the processor cannot compare the words all at once.
pub(crate) fn matching(group: &Group, compared: u64, sought: u64) -> u32 {
    (0..LANES).fold(0, |lanes, lane| {
        lanes | u32::from(group.words[lane].load(Ordering::Acquire) & compared == sought) << lane
    })
}
