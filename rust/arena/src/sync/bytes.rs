//! Bytes into and out of shared words. Whoever copies decides afterwards whether what was copied counts.

use super::{AtomicU64, AtomicU8, Ordering};
use core::mem::MaybeUninit;

/// The eight bytes from byte `start` of shared words on.
#[inline]
fn eight_at(words: &[AtomicU64], start: usize) -> [u8; 8] {
    // Relaxed: whoever copies decides afterwards whether what was copied counts.
    let word = |index: usize| u64::from_le(words[index].load(Ordering::Relaxed));
    let (index, shift) = (start / 8, start % 8 * 8);
    if shift == 0 {
        return word(index).to_le_bytes();
    }
    (word(index) >> shift | word(index + 1) << (64 - shift)).to_le_bytes()
}

/// Copies `out.len()` bytes from byte `start` of shared words. Panics when they do not lie inside.
#[inline(always)] // most values are short
pub(crate) fn copy_out(words: &[AtomicU64], start: usize, out: &mut [MaybeUninit<u8>]) {
    let length = out.len();
    if length < 8 {
        return copy_few_out(words, start, out);
    }
    // Eight bytes known to be eight: one move. The first eight and the last may overlap those between, which begin on
    // a word.
    let head = (8 - start % 8) % 8;
    let count = (length - head) / 8;
    if head != 0 {
        out[..8].copy_from_slice(&eight_at(words, start).map(MaybeUninit::new));
    }
    let middle = &words[(start + head) / 8..][..count];
    for (to, word) in out[head..].chunks_exact_mut(8).zip(middle) {
        to.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes().map(MaybeUninit::new));
    }
    if head + count * 8 < length {
        out[length - 8..].copy_from_slice(&eight_at(words, start + length - 8).map(MaybeUninit::new));
    }
}

/// The same for less than eight bytes. Puts them together in a register, as `few` takes them apart.
#[inline]
fn copy_few_out(words: &[AtomicU64], start: usize, out: &mut [MaybeUninit<u8>]) {
    let word = |index: usize| u64::from_le(words[index].load(Ordering::Relaxed));
    let (index, skip, length) = (start / 8, start % 8, out.len());
    if length == 0 {
        return;
    }
    let mut bytes = word(index) >> (8 * skip);
    if skip + length > 8 {
        bytes |= word(index + 1) << (64 - 8 * skip);
    }
    let mut put = |at: usize, from: &[u8]| {
        for (to, from) in out[at..at + from.len()].iter_mut().zip(from) {
            to.write(*from);
        }
    };
    let from = |at: usize| bytes >> (8 * at);
    if length >= 4 {
        put(0, &(from(0) as u32).to_le_bytes());
        put(length - 4, &(from(length - 4) as u32).to_le_bytes());
    } else {
        put(0, &[from(0) as u8]);
        put(length / 2, &[from(length / 2) as u8]);
        put(length - 1, &[from(length - 1) as u8]);
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

/// Replaces the bytes of a word that are in `mask`, as numbers the lowest first.
#[inline(always)]
fn put(word: &AtomicU64, mask: u64, bytes: u64) {
    let others = u64::from_le(word.load(Ordering::Relaxed)) & !mask;
    word.store((others | bytes & mask).to_le(), Ordering::Relaxed);
}

/// Copies `from` to byte `start` of shared words that only this process writes. Panics when it does not fit.
#[inline(always)] // most copies are of a few words, at a place that is known where it is called
pub(crate) fn copy_in(words: &[AtomicU64], start: usize, from: &[u8]) {
    assert!(start.saturating_add(from.len()) <= words.len() * 8);
    let skip = start % 8;
    if from.len() < 8 {
        return copy_in_few(&words[start / 8..], skip, from);
    }
    // The words at both ends are cut from eight bytes that are read at once.
    let (mut from, mut left) = (from.as_ptr(), from.len());
    // SAFETY: `words` has room for all bytes from `start` on, and each step goes as far in both. The last eight bytes,
    // of which the tail is cut, are there: `from` has that many.
    unsafe {
        let mut word = words.as_ptr().add(start / 8);
        let eight = |from: *const u8| u64::from_le_bytes(from.cast::<[u8; 8]>().read());
        if skip != 0 {
            put(&*word, u64::MAX << (8 * skip), eight(from) << (8 * skip));
            (word, from, left) = (word.add(1), from.add(8 - skip), left - (8 - skip));
        }
        while left >= 32 {
            for next in 0..4 {
                (*word.add(next)).store(eight(from.add(8 * next)).to_le(), Ordering::Relaxed);
            }
            (word, from, left) = (word.add(4), from.add(32), left - 32);
        }
        for words in [2, 1] {
            if left >= 8 * words {
                for next in 0..words {
                    (*word.add(next)).store(eight(from.add(8 * next)).to_le(), Ordering::Relaxed);
                }
                (word, from, left) = (word.add(words), from.add(8 * words), left - 8 * words);
            }
        }
        if left != 0 {
            let unused = 8 * (8 - left);
            put(&*word, u64::MAX >> unused, eight(from.add(left).sub(8)) >> unused);
        }
    }
}

/// Up to seven bytes, which lie in one word or two.
#[inline]
fn copy_in_few(words: &[AtomicU64], skip: usize, from: &[u8]) {
    let (mask, bytes) = ((1 << (8 * from.len())) - 1, few(from));
    if !from.is_empty() {
        put(&words[0], mask << (8 * skip), bytes << (8 * skip));
    }
    if skip + from.len() > 8 {
        put(&words[1], mask >> (64 - 8 * skip), bytes >> (64 - 8 * skip));
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
#[inline(always)] // keys are short, and compared by every call
pub(crate) fn begins_with(words: &[AtomicU64], bytes: &[u8]) -> bool {
    let word = |index: usize| u64::from_le(words[index].load(Ordering::Relaxed));
    let eight = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
    let (whole, rest) = (bytes.len() / 8, bytes.len() % 8);
    let beyond = 64 - 8 * rest;
    if whole == 0 {
        return rest == 0 || word(0) << beyond == few(bytes) << beyond;
    }
    if word(0) != eight(&bytes[..8]) {
        return false;
    }
    if bytes.len() == 8 {
        return true;
    }
    for index in 1..whole {
        if word(index) != eight(&bytes[8 * index..8 * index + 8]) {
            return false;
        }
    }
    // The last eight bytes are one load.
    rest == 0 || word(whole) << beyond == eight(&bytes[bytes.len() - 8..]) >> beyond << beyond
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(count: usize) -> Vec<AtomicU64> {
        (0..count).map(|_| AtomicU64::new(u64::MAX)).collect()
    }

    #[test]
    fn bytes_survive_every_offset_and_length() {
        let source: Vec<u8> = (0..if cfg!(miri) { 45 } else { 110 }).collect();
        for start in 0..17 {
            for length in 0..=source.len() {
                let shared = words(16);
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
    fn what_does_not_fit_is_not_copied() {
        for (start, length) in [(0, 17), (1, 16), (9, 8), (15, 2), (16, 1), (17, 0), (usize::MAX, 1)] {
            let shared = words(2);
            let copied = std::panic::catch_unwind(|| copy_in(&shared, start, &[0; 17][..length]));
            assert!(copied.is_err(), "{length} bytes at {start} of 16");
            assert!(shared.iter().all(|word| word.load(Ordering::Relaxed) == u64::MAX));
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
}
