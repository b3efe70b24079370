//! Comparing all words of a group at once. Nobody can predict which of them will match, so a loop that ends at the
//! match would be guessed wrongly by the processor nearly every time.

use super::word::Word;
use crate::layout::{Group, LANES};
use crate::sync;

/// Which words of a group match, a bit each.
#[derive(Clone, Copy)]
pub(super) struct Lanes(u32);

impl Lanes {
    #[inline(always)]
    pub(super) fn of(group: &Group, sought: u64) -> Lanes {
        Lanes(sync::matching(group, Word::COMPARED, sought))
    }

    /// The first that matches.
    #[inline(always)]
    pub(super) fn first(self) -> Option<usize> {
        let lane = self.0.trailing_zeros() as usize;
        (lane < LANES).then_some(lane)
    }

    pub(super) fn but_first(self) -> Lanes {
        Lanes(self.0 & self.0.wrapping_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::{AtomicU64, Ordering};

    #[test]
    fn exactly_the_words_that_match_are_found() {
        let hash = 0xdead_beef_cafe_f00d;
        let (match_, other) = (Word::live(hash, 0, 7, true).0, Word::live(hash ^ 0x1000, 0, 7, true).0);
        for wanted in 0..1 << LANES {
            let word = |lane| AtomicU64::new(if wanted >> lane & 1 != 0 { match_ } else { other });
            let group = Group { reach: AtomicU64::new(match_), words: std::array::from_fn(word) };
            let mut lanes = Lanes::of(&group, Word::sought(hash, 0));
            let mut found = 0;
            while let Some(lane) = lanes.first() {
                found |= 1 << lane;
                lanes = lanes.but_first();
            }
            assert_eq!(found, wanted);
        }
    }

    #[test]
    fn every_bit_but_the_deadline_s_and_the_buffer_s_counts() {
        let hash = 0xdead_beef_cafe_f00d;
        for distance in [0, 1, 3] {
            let sought = Word::sought(hash, distance);
            for bit in 0..64 {
                let group = Group { reach: AtomicU64::new(0), words: std::array::from_fn(|_| AtomicU64::new(0)) };
                group.words[5].store(sought ^ 1 << bit, Ordering::Relaxed);
                let matches = Lanes::of(&group, sought).first() == Some(5);
                assert_eq!(matches, Word(sought ^ 1 << bit).matches(sought), "bit {bit}");
                assert_eq!(matches, bit >= 32 || bit == 1, "bit {bit}");
            }
        }
    }
}
