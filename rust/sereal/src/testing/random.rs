//! Numbers that look random, and how many cases are drawn with them.

/// SplitMix64.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    pub fn byte(&mut self) -> u8 {
        self.word() as u8
    }

    /// Below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.word()) * end as u128) >> 64) as usize
    }

    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// How many cases to run: SHARED_ARENA_CASES, or what takes a moment without optimisation.
pub fn cases() -> u64 {
    const FEW: u64 = 20_000;
    std::env::var("SHARED_ARENA_CASES").map_or(FEW, |cases| cases.parse().expect("a number"))
}
