//! Random cases: drawn from a seed, run in number, and cut down to what matters when one fails.

use std::fmt::Debug;

/// Numbers that look random: SplitMix64.
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

    /// Below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.word()) * u128::from(end)) >> 64) as u64
    }

    pub fn within(&mut self, first: u64, last: u64) -> u64 {
        first + self.below(last - first + 1)
    }

    /// As likely to have few digits as many.
    pub fn of_any_length(&mut self, first: u64, last: u64) -> u64 {
        let (least, most) = (first.max(1).ilog2(), last.ilog2());
        let bits = self.within(u64::from(least), u64::from(most));
        self.within(first.max(1 << bits), last.min((2 << bits) - 1)).max(first)
    }

    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// True once in so many times.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// How many cases to run: SHARED_ARENA_CASES, or what takes a moment without optimisation.
fn cases() -> u64 {
    const FEW: u64 = 10_000;
    std::env::var("SHARED_ARENA_CASES").map_or(FEW, |cases| cases.parse().expect("a number"))
}

/// Checks so many cases in a hundred of all, each a setting and what happens in it. The first that fails is reported
/// without the steps that do not matter.
pub fn check_cases<Setting: Debug, Step: Clone + Debug>(
    percent: u64,
    draw: impl Fn(&mut Random) -> Option<(Setting, Vec<Step>)>,
    check: impl Fn(&Setting, &[Step]) -> Result<(), String>,
) {
    let wanted = cases() * percent / 100;
    let (mut seed, mut done) = (0, 0);
    while done < wanted {
        seed += 1;
        let Some((setting, steps)) = draw(&mut Random::new(seed)) else { continue };
        done += 1;
        if check(&setting, &steps).is_err() {
            let steps = without_the_idle(&steps, |steps| check(&setting, steps).is_err());
            let why = check(&setting, &steps).unwrap_err();
            panic!("case {seed}: {why}\n{setting:#?}\n{steps:#?}");
        }
    }
    assert!(seed < 4 * wanted + 100, "{seed} draws for {wanted} cases");
}

/// The steps without which it would not fail.
fn without_the_idle<Step: Clone>(steps: &[Step], fails: impl Fn(&[Step]) -> bool) -> Vec<Step> {
    let mut steps = steps.to_vec();
    let mut at = steps.len();
    while at > 0 {
        at -= 1;
        let mut fewer = steps.clone();
        fewer.remove(at);
        if fails(&fewer) {
            steps = fewer;
            at = at.min(steps.len());
        }
    }
    steps
}
