//! The one place atomics come from, and the one place where bytes move into or out of shared memory.
//!
//! Other processes write the mapping at any moment, so nothing in it is ever seen through a plain reference:
//! words are `&AtomicU64`, and bytes are copied as relaxed words of one width.
//!
//! Every acquire and release in this crate carries a name after `SYNC`, the same on both halves.

#![allow(clippy::disallowed_types)]

use core::mem::MaybeUninit;
use core::sync::atomic as machine;
pub(crate) use core::sync::atomic::{fence, Ordering};
use portable_atomic::AtomicU128;

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

/// Two adjacent words that change together by one 16-byte compare-and-swap.
///
/// The halves are also read and written alone. The 16-byte operation is a single machine instruction that the
/// compiler never sees inside, so the language's memory model only ever meets the 8-byte accesses; the machine
/// keeps the two coherent (x86-64: a locked operation on one cache line; AArch64: single-copy atomic halves).
/// Miri has no such instruction to look through, so there the halves go through the 16-byte operations.
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
        if cfg!(miri) {
            self.load(order).0
        } else {
            self.first.load(order)
        }
    }

    #[inline]
    pub(crate) fn second(&self, order: Ordering) -> u64 {
        if cfg!(miri) {
            self.load(order).1
        } else {
            self.second.load(order)
        }
    }

    #[inline]
    pub(crate) fn set_first(&self, value: u64, order: Ordering) {
        if cfg!(miri) {
            self.rewrite(|_, second| (value, second));
        } else {
            self.first.store(value, order);
        }
    }

    #[inline]
    pub(crate) fn set_second(&self, value: u64, order: Ordering) {
        if cfg!(miri) {
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
        self.both()
            .compare_exchange(join(old.0, old.1), join(new.0, new.1), Ordering::AcqRel, Ordering::Acquire)
            .map(split)
            .map_err(split)
    }
}

/// Bytes of a partial word at the start of a copy, so that the rest begins on a word.
#[inline]
fn head_length(start: usize, length: usize) -> usize {
    length.min((8 - start % 8) % 8)
}

/// Copies `out.len()` bytes from byte `start` of shared words. Panics when they do not lie inside.
#[inline]
pub(crate) fn copy_out(words: &[AtomicU64], start: usize, out: &mut [MaybeUninit<u8>]) {
    let part = |word: &AtomicU64, skip: usize, out: &mut [MaybeUninit<u8>]| {
        let bytes = word.load(Ordering::Relaxed).to_ne_bytes();
        for (to, from) in out.iter_mut().zip(&bytes[skip..]) {
            to.write(*from);
        }
    };
    let (head, rest) = out.split_at_mut(head_length(start, out.len()));
    if !head.is_empty() {
        part(&words[start / 8], start % 8, head);
    }
    let middle = (start + head.len()) / 8;
    let count = rest.len() / 8;
    let mut eights = rest.chunks_exact_mut(8);
    for (to, word) in eights.by_ref().zip(&words[middle..middle + count]) {
        // Eight bytes known to be eight: one move.
        to.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes().map(MaybeUninit::new));
    }
    let tail = eights.into_remainder();
    if !tail.is_empty() {
        part(&words[middle + count], 0, tail);
    }
}

/// Up to seven bytes as a number, the first the lowest. Put together in a register: bytes that are written one by one and
/// then read as a word would be waited for.
#[inline]
fn few(bytes: &[u8]) -> u64 {
    let count = bytes.len();
    match bytes {
        [] => 0,
        [a, b, c, d, ..] => {
            let last = [bytes[count - 4], bytes[count - 3], bytes[count - 2], bytes[count - 1]];
            u64::from(u32::from_le_bytes([*a, *b, *c, *d])) | u64::from(u32::from_le_bytes(last)) << (8 * (count - 4))
        }
        [first, ..] => {
            let middle = u64::from(bytes[count / 2]) << (8 * (count / 2));
            u64::from(*first) | middle | u64::from(bytes[count - 1]) << (8 * (count - 1))
        }
    }
}

/// Copies `from` to byte `start` of shared words that only this process writes. Panics when it does not fit.
#[inline]
pub(crate) fn copy_in(words: &[AtomicU64], start: usize, from: &[u8]) {
    let part = |word: &AtomicU64, skip: usize, from: &[u8]| {
        let mask = ((1 << (8 * from.len())) - 1) << (8 * skip);
        let others = u64::from_le(word.load(Ordering::Relaxed)) & !mask;
        word.store((others | few(from) << (8 * skip)).to_le(), Ordering::Relaxed);
    };
    let (head, rest) = from.split_at(head_length(start, from.len()));
    if !head.is_empty() {
        part(&words[start / 8], start % 8, head);
    }
    let middle = (start + head.len()) / 8;
    let count = rest.len() / 8;
    let eights = rest.chunks_exact(8);
    let tail = eights.remainder();
    for (from, word) in eights.zip(&words[middle..middle + count]) {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(from);
        word.store(u64::from_ne_bytes(bytes), Ordering::Relaxed);
    }
    if !tail.is_empty() {
        part(&words[middle + count], 0, tail);
    }
}

/// Raw bytes in parts: single ones up to an aligned word, aligned words, single ones.
fn in_words(cells: &[AtomicU8]) -> (&[AtomicU8], &[AtomicU64], &[AtomicU8]) {
    // SAFETY: any eight bytes are a word, and all access is atomic, one instruction each. That others may access
    // single bytes of a word is, as with Pair, between the machine's instructions, which it keeps coherent.
    unsafe { cells.align_to() }
}

/// Writes raw bytes, aligned words whole. They are as many as the cells.
pub(crate) fn write_raw(cells: &[AtomicU8], from: &[u8]) {
    let (head, words, tail) = in_words(cells);
    let (first, rest) = from.split_at(head.len());
    let (middle, last) = rest.split_at(words.len() * 8);
    // Relaxed: raw bytes have whatever order their users give them.
    for (cell, byte) in head.iter().zip(first).chain(tail.iter().zip(last)) {
        cell.store(*byte, Ordering::Relaxed);
    }
    for (word, bytes) in words.iter().zip(middle.chunks_exact(8)) {
        let mut eight = [0; 8];
        eight.copy_from_slice(bytes);
        word.store(u64::from_ne_bytes(eight), Ordering::Relaxed);
    }
}

/// Reads raw bytes, aligned words whole. They are as many as the cells.
pub(crate) fn read_raw(cells: &[AtomicU8], out: &mut [MaybeUninit<u8>]) {
    let (head, words, tail) = in_words(cells);
    let (first, rest) = out.split_at_mut(head.len());
    let (middle, last) = rest.split_at_mut(words.len() * 8);
    // Relaxed: as above.
    for (cell, byte) in head.iter().zip(first).chain(tail.iter().zip(last)) {
        byte.write(cell.load(Ordering::Relaxed));
    }
    for (word, bytes) in words.iter().zip(middle.chunks_exact_mut(8)) {
        bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes().map(MaybeUninit::new));
    }
}

/// Whether the shared words begin with exactly these bytes. Panics when they are too few.
#[inline]
pub(crate) fn begins_with(words: &[AtomicU64], bytes: &[u8]) -> bool {
    let mut chunks = bytes.chunks_exact(8);
    let mut index = 0;
    for chunk in chunks.by_ref() {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        if words[index].load(Ordering::Relaxed) != u64::from_ne_bytes(word) {
            return false;
        }
        index += 1;
    }
    let tail = chunks.remainder();
    tail.is_empty() || words[index].load(Ordering::Relaxed).to_ne_bytes()[..tail.len()] == *tail
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(count: usize) -> Vec<AtomicU64> {
        (0..count).map(|_| AtomicU64::new(u64::MAX)).collect()
    }

    #[test]
    fn bytes_survive_every_offset_and_length() {
        let source: Vec<u8> = (0..40).collect();
        for start in 0..17 {
            for length in 0..=source.len() {
                let shared = words(8);
                copy_in(&shared, start, &source[..length]);
                let mut out = vec![MaybeUninit::new(0); length];
                copy_out(&shared, start, &mut out);
                // SAFETY: copy_out wrote every byte, and they were initialised before.
                let back: Vec<u8> = out.iter().map(|byte| unsafe { byte.assume_init() }).collect();
                assert_eq!(back, source[..length]);
                let whole: Vec<u8> = shared.iter().flat_map(|w| w.load(Ordering::Relaxed).to_ne_bytes()).collect();
                assert!(whole[..start].iter().chain(&whole[start + length..]).all(|byte| *byte == 255));
            }
        }
    }

    #[test]
    fn raw_bytes_survive_every_offset_and_length() {
        let source: Vec<u8> = (1..41).collect();
        for start in 0..17 {
            for length in 0..=source.len() {
                let shared = words(8);
                // SAFETY: 64 bytes of atomics, looked at as 64 atomic bytes.
                let cells = unsafe { std::slice::from_raw_parts(shared.as_ptr().cast::<AtomicU8>(), 64) };
                write_raw(&cells[start..start + length], &source[..length]);
                let mut out = [MaybeUninit::new(0); 64];
                read_raw(cells, &mut out);
                // SAFETY: initialised above, and written with initialised bytes.
                let whole = out.map(|byte| unsafe { byte.assume_init() });
                assert_eq!(whole[start..start + length], source[..length]);
                assert!(whole[..start].iter().chain(&whole[start + length..]).all(|byte| *byte == 255));
            }
        }
    }

    #[test]
    fn begins_with_looks_at_every_byte_and_no_further() {
        for length in 1..24 {
            let shared = words(3);
            let key = vec![7; length];
            copy_in(&shared, 0, &key);
            assert!(begins_with(&shared, &key));
            for wrong in 0..length {
                let mut other = key.clone();
                other[wrong] = 8;
                assert!(!begins_with(&shared, &other));
            }
        }
    }

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
