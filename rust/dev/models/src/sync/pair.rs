//! Two words that change together: for loom, which has no atomic of 16 bytes, one word that holds the numbers of their
//! contents in a list.
//!
//! Both halves are loads of that word. Two loads, of a half and the other or of a half and the whole, are two steps that
//! others may come between. What is not modelled: of two such loads the later never returns the older content, which a
//! processor may do for halves that are read relaxed. In the limiter's `claim` a decision rests on halves of two loads, and
//! the compare-and-swap that follows succeeds only if both were of one moment. In a map's buffer the first half is read
//! with acquire, and so is before the second.
//!
//! A half is changed by a change of the whole, in one step, that keeps the other half. For that the plain bytes are always
//! those of the newest change.

use super::Ordering;
use crate::memory::{packed, shared, unpacked, Access, Kind, Shared};
use std::cell::UnsafeCell;
use std::rc::Rc;

#[repr(C, align(16))]
pub(crate) struct Pair(UnsafeCell<[u64; 2]>);

// SAFETY: a scenario's processes run in turns, on one thread.
unsafe impl Sync for Pair {}

impl Pair {
    fn shared(&self, access: Access) -> Option<Rc<Shared>> {
        shared(self as *const Pair as usize, Kind::Pair, access)
    }

    fn plain(&self) -> (u64, u64) {
        // SAFETY: one thread, and no reference to the contents is kept.
        unsafe { *self.0.get() }.into()
    }

    pub(crate) fn set_plain(&self, pair: (u64, u64)) {
        // SAFETY: as above.
        unsafe { *self.0.get() = pair.into() };
    }

    pub(crate) fn load(&self, order: Ordering) -> (u64, u64) {
        self.shared(Access::Load).map_or_else(|| self.plain(), |shared| unpacked(shared.load(order)))
    }

    pub(crate) fn first(&self, order: Ordering) -> u64 {
        self.load(order).0
    }

    pub(crate) fn second(&self, order: Ordering) -> u64 {
        self.load(order).1
    }

    pub(crate) fn set_first(&self, value: u64, order: Ordering) {
        self.rewrite(order, |(_, second)| (value, second));
    }

    pub(crate) fn set_second(&self, value: u64, order: Ordering) {
        self.rewrite(order, |(first, _)| (first, value));
    }

    fn rewrite(&self, order: Ordering, change: impl Fn((u64, u64)) -> (u64, u64)) {
        if let Some(shared) = self.shared(Access::Swap) {
            // Only the half that is not ours to change can differ by the time of the step.
            let bits = packed(self.plain()) ^ packed(change(self.plain()));
            shared.change(|word| {
                word.fetch_xor(bits, order);
                self.set_plain(change(self.plain()));
            });
        } else {
            self.set_plain(change(self.plain()));
        }
    }

    pub(crate) fn compare_exchange(&self, old: (u64, u64), new: (u64, u64)) -> Result<(u64, u64), (u64, u64)> {
        let Some(shared) = self.shared(Access::Swap) else {
            let found = self.plain();
            if found != old {
                return Err(found);
            }
            self.set_plain(new);
            return Ok(found);
        };
        let swapped = shared.change(|word| {
            let swapped = word.compare_exchange(packed(old), packed(new), Ordering::AcqRel, Ordering::Acquire);
            if swapped.is_ok() {
                self.set_plain(new);
            }
            swapped
        });
        swapped.map(unpacked).map_err(unpacked)
    }
}
