//! A buffer: one key and its value, read without a lock under a sequence number (a seqlock).
//!
//! | sequence | meaning | who leaves it |
//! |---|---|---|
//! | even | complete; the bytes do not change (a counter's number does) | a writer who owns the buffer as its spare |
//! | odd | being filled, or its filler died | the same writer when done; else the next one |
//!
//! | edge | release | acquire | makes visible |
//! |---|---|---|---|
//! | fill | `Buffer::fill`, the even sequence | `Buffer::sequence` | the bytes under that sequence |
//! | refill | `Buffer::fill`, the fence after the odd sequence | `Buffer::unchanged`, the fence | that they changed |

use super::word::Word;
use super::Content;
use crate::failpoint;
use crate::layout::{BufferHeader, BUFFER_HEADER, LINE};
use crate::mapping::Mapping;
use crate::sync::{self, fence, AtomicU64, Ordering};
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// All buffers of a map: `count` of them, `stride` bytes apart, checked to lie inside the mapping.
pub(super) struct Buffers {
    start: NonNull<u8>,
    count: u64,
    stride: usize,
}

// SAFETY: buffers are atomics alone.
unsafe impl Send for Buffers {}
// SAFETY: as above.
unsafe impl Sync for Buffers {}

#[derive(Clone, Copy)]
pub(super) struct Buffer<'a> {
    header: &'a BufferHeader,
    body: &'a [AtomicU64],
}

/// What kind of value a buffer holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Kind {
    Bytes = 0,
    Undefined = 1,
    Counter = 2,
}

/// A buffer's shape word: kind in bits 0..3, value length in 3..34, key length in 34..64.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Facts {
    pub kind: Kind,
    pub key_length: usize,
    pub value_length: usize,
}

impl Facts {
    fn pack(self) -> u64 {
        self.kind as u64 | (self.value_length as u64) << 3 | (self.key_length as u64) << 34
    }

    /// None for a word nobody writes.
    #[inline(always)] // as Map::look()
    fn unpack(word: u64) -> Option<Facts> {
        let kind = match word & 7 {
            0 => Kind::Bytes,
            1 => Kind::Undefined,
            2 => Kind::Counter,
            _ => return None,
        };
        Some(Facts { kind, key_length: (word >> 34) as usize, value_length: (word >> 3 & 0x7fff_ffff) as usize })
    }
}

impl Buffers {
    /// # Safety
    /// Whoever keeps the result keeps `mapping` alive as long.
    pub(super) unsafe fn new(mapping: &Mapping, offset: u64, count: u64, stride: u64) -> Option<Buffers> {
        let bytes: &[AtomicU64] = mapping.view(offset, count.checked_mul(stride)? / 8)?;
        if stride < LINE || stride % LINE != 0 || offset % LINE != 0 {
            return None;
        }
        Some(Buffers { start: NonNull::from(bytes).cast(), count, stride: stride as usize })
    }

    /// One buffer; None for a number that no buffer has, as a damaged word may say.
    #[inline]
    pub(super) fn get(&self, index: u32) -> Option<Buffer<'_>> {
        if u64::from(index) >= self.count {
            return None;
        }
        // SAFETY: `new` saw count * stride bytes from start inside a mapping that outlives self, and index is below
        // count; a header and (stride - 32) / 8 words fit a stride, aligned because start and stride are.
        unsafe {
            let at = self.start.as_ptr().add(index as usize * self.stride);
            let body = at.add(BUFFER_HEADER as usize).cast::<AtomicU64>();
            Some(Buffer {
                header: &*at.cast::<BufferHeader>(),
                body: std::slice::from_raw_parts(body, (self.stride - BUFFER_HEADER as usize) / 8),
            })
        }
    }
}

impl Buffer<'_> {
    /// The sequence number to read under, if the buffer is complete and `cell` names it, as `word`, after the number
    /// was read. If that is still the number in the end, the bytes are those that were published at this moment; what
    /// becomes of the word meanwhile is no matter, and so a reader has until the buffer is filled again.
    #[inline]
    pub(super) fn sequence(&self, cell: &AtomicU64, word: Word) -> Option<u64> {
        // SYNC(fill): pairs with the release at the end of fill().
        let sequence = self.header.incarnation.first(Ordering::Acquire);
        failpoint::hit("read.sequence");
        // SYNC(publish): pairs with the releases in journal.rs. The number may have been that of a filling which
        // nobody published yet; a word that is there now is of no earlier one.
        (sequence % 2 == 0 && cell.load(Ordering::Acquire) == word.0).then_some(sequence)
    }

    /// Whether all that was read since `sequence` belongs together.
    #[inline]
    pub(super) fn unchanged(&self, sequence: u64) -> bool {
        // SYNC(refill): pairs with the fence in fill(): bytes of a later filling bring its sequence with them.
        fence(Ordering::Acquire);
        self.header.incarnation.first(Ordering::Relaxed) == sequence
    }

    /// Kind and lengths, if they are possible here.
    #[inline(always)] // as Map::look()
    pub(super) fn facts(&self) -> Option<Facts> {
        match Facts::unpack(self.header.shape.load(Ordering::Relaxed)) {
            Some(facts) if facts.key_length + facts.value_length <= self.body.len() * 8 => Some(facts),
            _ => None,
        }
    }

    #[inline(always)] // as Map::look()
    pub(super) fn has_key(&self, key: &[u8]) -> bool {
        sync::begins_with(self.body, key)
    }

    #[inline]
    pub(super) fn deadline(&self) -> u64 {
        self.header.deadline.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn number(&self) -> i64 {
        self.header.incarnation.second(Ordering::Relaxed) as i64
    }

    /// Replaces a counter's number, unless the buffer has begun another life or the number has changed.
    #[inline]
    pub(super) fn count(&self, sequence: u64, old: i64, new: i64) -> Result<(), (u64, i64)> {
        self.header
            .incarnation
            .compare_exchange((sequence, old as u64), (sequence, new as u64))
            .map(|_| ())
            .map_err(|(sequence, number)| (sequence, number as i64))
    }

    /// Copies the value out; `facts` bounds it, and `out` is as long as the value.
    #[inline(always)] // as Map::look()
    pub(super) fn copy_value(&self, facts: Facts, out: &mut [MaybeUninit<u8>]) {
        sync::copy_out(self.body, facts.key_length, out);
    }

    /// The addresses of the first and the last byte.
    #[cfg(test)]
    pub(super) fn span(&self) -> [usize; 2] {
        [self.header as *const _ as usize, self.body.as_ptr_range().end as usize - 1]
    }

    /// Copies the key out.
    pub(super) fn copy_key(&self, out: &mut [MaybeUninit<u8>]) {
        sync::copy_out(self.body, 0, out);
    }

    /// The value, when it is bytes that read as a counter: eight of them, and a small native integer.
    #[inline]
    pub(super) fn planted(&self, facts: Facts) -> Option<i64> {
        const BOUND: u64 = 1 << 53;
        if facts.kind != Kind::Bytes || facts.value_length != 8 {
            return None;
        }
        let mut bytes = [MaybeUninit::new(0u8); 8];
        self.copy_value(facts, &mut bytes);
        // SAFETY: initialised above, and copy_out writes initialised bytes.
        let number = i64::from_ne_bytes(bytes.map(|byte| unsafe { byte.assume_init() }));
        (number.unsigned_abs() < BOUND).then_some(number)
    }

    /// Writes an entry into a buffer that nobody else writes and no word names. Key and value fit.
    #[inline(always)] // what is stored is known where it is called
    pub(super) fn fill(&self, key: &[u8], content: Content<'_>, deadline: u64) {
        let header = self.header;
        let old = header.incarnation.first(Ordering::Relaxed);
        // A dead filler's odd number serves again: nobody reads under it.
        let filling = old | 1;
        header.incarnation.set_first(filling, Ordering::Relaxed);
        failpoint::hit("fill.begun");
        // SYNC(refill): pairs with the fence in unchanged().
        fence(Ordering::Release);
        let (kind, bytes, number) = match content {
            Content::Bytes(bytes) => (Kind::Bytes, bytes, 0),
            Content::Undefined => (Kind::Undefined, &[][..], 0),
            Content::Counter(number) => (Kind::Counter, &[][..], number),
        };
        let facts = Facts { kind, key_length: key.len(), value_length: bytes.len() };
        header.shape.store(facts.pack(), Ordering::Relaxed);
        header.deadline.store(deadline, Ordering::Relaxed);
        header.incarnation.set_second(number as u64, Ordering::Relaxed);
        sync::copy_in(self.body, 0, key);
        failpoint::hit("fill.half");
        sync::copy_in(self.body, key.len(), bytes);
        // SYNC(fill): pairs with the acquire in sequence().
        header.incarnation.set_first(filling.wrapping_add(1), Ordering::Release);
        failpoint::hit("fill.done");
    }
}
