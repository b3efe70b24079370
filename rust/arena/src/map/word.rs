//! An index word: all that one 64-bit store publishes.
//!
//! | bits | meaning |
//! |---|---|
//! | 0 | live: the word names a buffer; a word of 0 is empty |
//! | 1 | the entry has a deadline |
//! | 2..16 | distance: how many groups were searched before, from its home on |
//! | 16..32 | tag: 16 bits of the key's hash |
//! | 32..64 | buffer |
//!
//! From empty to live: any stripe's writer, by compare-and-swap. From live to anything: a writer who holds the
//! lock of the entry's stripe, and nobody else, so such a writer may simply store.

/// Longest search for an entry, in groups before the one where it lies.
pub(super) const MAX_DISTANCE: u64 = (1 << 14) - 1;

const LIVE: u64 = 1;
const LAPSES: u64 = 2;
const DISTANCE_SHIFT: u32 = 2;
const TAG_SHIFT: u32 = 16;
const BUFFER_SHIFT: u32 = 32;
/// Everything a search compares: live, distance and tag.
const SOUGHT: u64 = (1 << BUFFER_SHIFT) - 1 - LAPSES;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Word(pub u64);

impl Word {
    pub(super) const EMPTY: Word = Word(0);
    /// The bits that a search compares, all in the low half.
    pub(super) const COMPARED: u64 = SOUGHT;

    /// What a search looks for in a group `distance` past the home of `hash`.
    #[inline]
    pub(super) fn sought(hash: u64, distance: u64) -> u64 {
        // The low bits: the home comes from the high ones.
        (hash & 0xffff) << TAG_SHIFT | distance << DISTANCE_SHIFT | LIVE
    }

    pub(super) fn live(hash: u64, distance: u64, buffer: u32, lapses: bool) -> Word {
        Word(Word::sought(hash, distance) | u64::from(buffer) << BUFFER_SHIFT | if lapses { LAPSES } else { 0 })
    }

    /// The same entry in another buffer.
    pub(super) fn moved_to(self, buffer: u32, lapses: bool) -> Word {
        Word(self.0 & SOUGHT | u64::from(buffer) << BUFFER_SHIFT | if lapses { LAPSES } else { 0 })
    }

    #[inline]
    pub(super) fn matches(self, sought: u64) -> bool {
        self.0 & SOUGHT == sought
    }

    pub(super) fn is_live(self) -> bool {
        self.0 & LIVE != 0
    }

    pub(super) fn lapses(self) -> bool {
        self.0 & LAPSES != 0
    }

    pub(super) fn distance(self) -> u64 {
        self.0 >> DISTANCE_SHIFT & MAX_DISTANCE
    }

    #[inline]
    pub(super) fn buffer(self) -> u32 {
        (self.0 >> BUFFER_SHIFT) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_comes_back() {
        for buffer in [0, 1, u32::MAX] {
            for distance in [0, 5, MAX_DISTANCE] {
                for lapses in [false, true] {
                    let hash = 0xdead_beef_cafe_f00d;
                    let word = Word::live(hash, distance, buffer, lapses);
                    assert!(word.is_live() && word.matches(Word::sought(hash, distance)));
                    assert!(!word.matches(Word::sought(hash ^ 1, distance)));
                    assert_eq!((word.buffer(), word.distance(), word.lapses()), (buffer, distance, lapses));
                    let moved = word.moved_to(7, !lapses);
                    assert_eq!((moved.buffer(), moved.distance(), moved.lapses()), (7, distance, !lapses));
                }
            }
        }
        assert!(!Word::EMPTY.is_live() && !Word::EMPTY.matches(Word::sought(0, 0)));
    }
}
