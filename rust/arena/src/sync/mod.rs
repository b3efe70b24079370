//! The one place atomics come from, and the one place where bytes move into or out of shared memory.
//!
//! Other processes write the mapping at any moment, so nothing in it is ever seen through a plain reference:
//! words are `&AtomicU64`, and bytes are copied as relaxed words of one width.
//!
//! Every acquire and release in this crate carries a name after `SYNC`, the same on both halves.
//!
//! The files: this one (single words), `pair` (two words that change together), `bytes` (copies into and out of words)
//! and `lanes` (a line of words compared at once). What is the machine's own is nowhere else, so that a model checker can
//! take its place.

#![allow(clippy::disallowed_types)]

mod bytes;
mod lanes;
mod pair;

pub(crate) use bytes::{begins_with, copy_in, copy_out, read_raw, write_raw};
pub(crate) use lanes::matching;
pub(crate) use pair::Pair;

pub(crate) use core::hint::spin_loop;
use core::sync::atomic as machine;
pub(crate) use core::sync::atomic::{fence, Ordering};

/// Whether tools watch memory through the language's accesses alone: miri, and ThreadSanitizer, for which `.ci/tsan` sets
/// the variable. Then nothing is left to the machine behind their back: no instruction is written out, and no word is
/// accessed in two widths.
pub(crate) const WATCHED: bool = cfg!(miri) || option_env!("SHARED_ARENA_WATCHED").is_some();

/// Atomics of our own name: the standard ones and nothing else, but every access passes here.
macro_rules! atomic {
    ($name:ident, $machine:ty, $value:ty) => {
        #[derive(Debug)]
        #[repr(transparent)]
        pub(crate) struct $name($machine);

        #[allow(dead_code)]
        impl $name {
            #[inline]
            pub(crate) const fn new(value: $value) -> Self {
                Self(<$machine>::new(value))
            }

            #[inline]
            pub(crate) fn load(&self, order: Ordering) -> $value {
                self.0.load(order)
            }

            #[inline]
            pub(crate) fn store(&self, value: $value, order: Ordering) {
                self.0.store(value, order);
            }

            #[inline]
            pub(crate) fn swap(&self, value: $value, order: Ordering) -> $value {
                self.0.swap(value, order)
            }

            #[inline]
            pub(crate) fn compare_exchange(
                &self,
                old: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.0.compare_exchange(old, new, success, failure)
            }
        }
    };
}

/// What only integers can do.
macro_rules! counting {
    ($name:ident, $value:ty) => {
        #[allow(dead_code)]
        impl $name {
            #[inline]
            pub(crate) fn fetch_add(&self, by: $value, order: Ordering) -> $value {
                self.0.fetch_add(by, order)
            }

            #[inline]
            pub(crate) fn fetch_or(&self, bits: $value, order: Ordering) -> $value {
                self.0.fetch_or(bits, order)
            }

            #[inline]
            pub(crate) fn fetch_and(&self, bits: $value, order: Ordering) -> $value {
                self.0.fetch_and(bits, order)
            }
        }
    };
}

atomic!(AtomicBool, machine::AtomicBool, bool);
atomic!(AtomicU8, machine::AtomicU8, u8);
atomic!(AtomicU32, machine::AtomicU32, u32);
atomic!(AtomicU64, machine::AtomicU64, u64);
atomic!(AtomicUsize, machine::AtomicUsize, usize);
counting!(AtomicU32, u32);
counting!(AtomicU64, u64);
