//! Two words that change together.

use super::{AtomicU64, Ordering, WATCHED};
use portable_atomic::AtomicU128;

/// Two adjacent words that change together by one 16-byte compare-and-swap.
///
/// The halves are also read and written alone. The 16-byte operation is a single machine instruction that the
/// compiler never sees inside, so the language's memory model only ever meets the 8-byte accesses; the machine
/// keeps the two coherent (x86-64: a locked operation on one cache line; AArch64: single-copy atomic halves).
/// Who watches (`WATCHED`) cannot look through that, so there the halves go through the 16-byte operations.
#[repr(C, align(16))]
pub(crate) struct Pair {
    first: AtomicU64,
    second: AtomicU64,
}

const fn join(first: u64, second: u64) -> u128 {
    let (low, high) = if cfg!(target_endian = "little") { (first, second) } else { (second, first) };
    low as u128 | (high as u128) << 64
}

const fn split(both: u128) -> (u64, u64) {
    let (low, high) = (both as u64, (both >> 64) as u64);
    if cfg!(target_endian = "little") {
        (low, high)
    } else {
        (high, low)
    }
}

impl Pair {
    /// Whether the processor has the instruction; without it a process-local lock would stand in, which other
    /// processes know nothing of, so arenas refuse to open.
    pub(crate) fn is_lock_free() -> bool {
        AtomicU128::is_lock_free()
    }

    fn both(&self) -> &AtomicU128 {
        // SAFETY: repr(C, align(16)) makes the two words one aligned 16-byte cell, and every bit pattern is valid.
        unsafe { &*(self as *const Pair).cast::<AtomicU128>() }
    }

    #[inline]
    pub(crate) fn load(&self, order: Ordering) -> (u64, u64) {
        split(self.both().load(order))
    }

    #[inline]
    pub(crate) fn first(&self, order: Ordering) -> u64 {
        if WATCHED {
            self.load(order).0
        } else {
            self.first.load(order)
        }
    }

    #[inline]
    pub(crate) fn second(&self, order: Ordering) -> u64 {
        if WATCHED {
            self.load(order).1
        } else {
            self.second.load(order)
        }
    }

    #[inline]
    pub(crate) fn set_first(&self, value: u64, order: Ordering) {
        if WATCHED {
            self.rewrite(|_, second| (value, second));
        } else {
            self.first.store(value, order);
        }
    }

    #[inline]
    pub(crate) fn set_second(&self, value: u64, order: Ordering) {
        if WATCHED {
            self.rewrite(|first, _| (first, value));
        } else {
            self.second.store(value, order);
        }
    }

    fn rewrite(&self, change: impl Fn(u64, u64) -> (u64, u64)) {
        let mut old = self.load(Ordering::Relaxed);
        loop {
            let (first, second) = change(old.0, old.1);
            match self.compare_exchange(old, (first, second)) {
                Ok(_) => return,
                Err(current) => old = current,
            }
        }
    }

    /// Swaps both words if both are as expected. Acquire and release, either way.
    #[inline]
    pub(crate) fn compare_exchange(&self, old: (u64, u64), new: (u64, u64)) -> Result<(u64, u64), (u64, u64)> {
        #[cfg(target_arch = "x86_64")]
        if !WATCHED {
            return swap_in_place(self, old, new);
        }
        self.both()
            .compare_exchange(join(old.0, old.1), join(new.0, new.1), Ordering::AcqRel, Ordering::Acquire)
            .map(split)
            .map_err(split)
    }
}

/// The instruction written out where it is used, for processors that have it: no others open an arena
/// (`Pair::is_lock_free`). What the crate offers calls it through a pointer, which costs as much again.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn swap_in_place(pair: &Pair, old: (u64, u64), new: (u64, u64)) -> Result<(u64, u64), (u64, u64)> {
    let (first, second, is_swapped): (u64, u64, u8);
    // SAFETY: the pair is aligned as the instruction asks. rbx, which is the compiler's, is put back; the other registers
    // are named, as one that the compiler chose might be rbx. A locked instruction acquires and releases, and the compiler
    // moves no other access over it.
    unsafe {
        core::arch::asm!(
            "xchg rsi, rbx",
            "lock cmpxchg16b xmmword ptr [rdi]",
            "sete r8b",
            "mov rbx, rsi",
            in("rdi") pair,
            inout("rsi") new.0 => _,
            in("rcx") new.1,
            inout("rax") old.0 => first,
            inout("rdx") old.1 => second,
            out("r8b") is_swapped,
            options(nostack),
        );
    }
    if is_swapped != 0 {
        Ok((first, second))
    } else {
        Err((first, second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_swaps_both_or_neither() {
        let pair = Pair { first: AtomicU64::new(1), second: AtomicU64::new(2) };
        assert_eq!(pair.compare_exchange((1, 3), (9, 9)), Err((1, 2)));
        assert_eq!(pair.compare_exchange((1, 2), (3, 4)), Ok((1, 2)));
        assert_eq!(pair.load(Ordering::Relaxed), (3, 4));
        pair.set_first(5, Ordering::Relaxed);
        pair.set_second(6, Ordering::Relaxed);
        assert_eq!((pair.first(Ordering::Relaxed), pair.second(Ordering::Relaxed)), (5, 6));
    }
}
