//! What the two words of a slot say.
//!
//! | first | second | meaning |
//! |---|---|---|
//! | any | 0 | empty |
//! | hash and low bits of the arrival | 1 + high bits of the arrival, below `CLAIMS` | the key's bucket |
//! | hash | `CLAIMS` + a number used once | a claim: somebody is about to begin a bucket for that key |
//!
//! The low bits of a key's hash say in which group of slots it lies, so a slot need not keep them. In their place lie
//! the low bits of the arrival: the more groups a table has, the finer it tells time. All 64 bits of the hash still
//! decide whether two keys are one.

use crate::layout::GROUP_BUCKETS;

/// From here on a second word is a claim.
const CLAIMS: u64 = 0xff << 56;

pub(super) const EMPTY: (u64, u64) = (0, 0);

/// How the slots of one table are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    group_bits: u32,
    /// Those bits.
    mask: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Content {
    Empty,
    /// With its arrival.
    Bucket(u128),
    Claim,
}

impl Format {
    /// For a table of so many slots, a power of two and at least a group.
    pub(super) fn of_table(slots: u64) -> Format {
        let groups = slots / GROUP_BUCKETS as u64;
        Format { group_bits: groups.trailing_zeros(), mask: groups - 1 }
    }

    /// Bits of an arrival that do not take any of its word, as those of a hash that say the group lie in none.
    pub(super) const fn extra_bits(self) -> u32 {
        self.group_bits
    }

    /// The number of the group in which a key of that hash lies.
    #[inline]
    pub(super) const fn group_of(self, hash: u64) -> usize {
        (hash & self.mask) as usize
    }

    /// Whether a first word belongs to a key of that hash, given that its slot is in the key's group.
    #[inline]
    pub(super) const fn is_of(self, first: u64, hash: u64) -> bool {
        first ^ hash <= self.mask
    }

    /// What taking a slot with that second word loses, as a number to compare: 0 for an empty slot and for a bucket that
    /// was full in an earlier unit of the word; little for a claim, which holds nothing, but whose maker is probably at
    /// work; then the more, the more was spent. Buckets of one second word are told apart by their low bits.
    #[inline]
    pub(super) const fn loss(self, second: u64, now: u128) -> u64 {
        if second >= CLAIMS {
            1
        } else if second == 0 || second - 1 < (now >> self.group_bits) as u64 {
            0
        } else {
            second + 1
        }
    }

    /// The low bits of an arrival.
    #[inline]
    pub(super) const fn low_bits(self, first: u64) -> u64 {
        first & self.mask
    }

    #[inline]
    pub(super) fn content(self, slot: (u64, u64)) -> Content {
        match slot.1 {
            0 => Content::Empty,
            CLAIMS.. => Content::Claim,
            // Multiplied, which is less work for a processor than to shift two words.
            high => {
                Content::Bucket(u128::from(high - 1) * u128::from(self.mask + 1) + u128::from(self.low_bits(slot.0)))
            }
        }
    }

    #[inline]
    pub(super) fn bucket(self, hash: u64, arrival: u128) -> (u64, u64) {
        // By so few bits, a word.
        let bits = self.group_bits & 63;
        let second = ((arrival >> 64) as u64) << 1 << (63 - bits) | arrival as u64 >> bits;
        let second = second + 1;
        debug_assert!(second < CLAIMS, "Gcra keeps arrivals below");
        (hash & !self.mask | arrival as u64 & self.mask, second)
    }

    /// A claim that differs from every other one, if the serial number does.
    #[inline]
    pub(super) const fn claim(hash: u64, serial: u64) -> (u64, u64) {
        (hash, CLAIMS | serial)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [u64; 4] = [64, 128, 4096, 1 << 31];

    #[test]
    fn a_bucket_is_read_as_it_was_written() {
        for slots in SIZES {
            let format = Format::of_table(slots);
            let latest = (255u128 << (56 + format.group_bits)) - (2 << format.group_bits);
            for arrival in [0, 1, 2, 1 << 20, latest - 1, latest] {
                for hash in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef] {
                    let slot = format.bucket(hash, arrival);
                    assert!(format.is_of(slot.0, hash));
                    assert_eq!(format.content(slot), Content::Bucket(arrival));
                }
            }
            for serial in [0, 1, CLAIMS - 1 - (254 << 56)] {
                assert_eq!(format.content(Format::claim(7, serial)), Content::Claim);
            }
            assert_eq!(format.content(EMPTY), Content::Empty);
        }
    }

    #[test]
    fn what_is_free_is_lost_first_then_a_claim_then_what_has_spent_least() {
        for slots in SIZES {
            let format = Format::of_table(slots);
            let word = |unit: u128| format.bucket(7, unit << format.group_bits).1;
            let now = 1000 << format.group_bits;
            let losses = [word(999), Format::claim(7, 1).1, word(1000), word(1001)].map(|word| format.loss(word, now));
            assert!(losses[0] == 0 && losses.windows(2).all(|pair| pair[0] < pair[1]), "{losses:?}");
            assert_eq!(format.loss(EMPTY.1, now), 0);
            assert!(format.loss(word(0), 0) > format.loss(Format::claim(7, 1).1, 0), "at the start of the clock");
        }
    }

    #[test]
    fn every_bit_of_the_hash_tells_keys_apart() {
        for slots in SIZES {
            let format = Format::of_table(slots);
            let hash = 0x0123_4567_89ab_cdef;
            for bit in 0..64 {
                let other = hash ^ 1 << bit;
                let elsewhere = (hash ^ other) & format.mask != 0;
                assert!(elsewhere || !format.is_of(format.bucket(other, 12_345).0, hash), "bit {bit}");
            }
        }
    }
}
