//! The policies and costs that the random cases are about: what people write, and what is as awkward as can be.

use super::oracle::{Policy, Ratio};
use super::random::Random;

const SECOND: i128 = 1_000_000_000;

pub fn policy(random: &mut Random) -> Policy {
    let window = window(random);
    Policy { limit: limit(random), window, extra_bits: random.of(&[0, 0, 0, 1, 6, 6, 6, 6, 10, 25]) }
}

/// From 1 to a billion, and some below.
fn limit(random: &mut Random) -> Ratio {
    let whole = match random.below(8) {
        0 | 1 => random.within(1, 20),
        2 | 3 => random.within(1, 600),
        4 => random.of(&[1, 60, 100, 1000, 3600, 10_000, 1_000_000, 1_000_000_000]),
        5 => random.of(&[577, 1021, 65_537, 999_983, 999_999_937]),
        _ => random.of_any_length(1, 1_000_000_000),
    };
    match random.below(10) {
        0 => Ratio::new(i128::from(random.within(1, 99)), 10),
        1 => Ratio::new(i128::from(whole) * 2 + 1, 2),
        2 => Ratio::new(i128::from(random.of_any_length(1, 1_000_000)), i128::from(random.of(&[3, 7, 10, 100, 1000]))),
        _ => Ratio::new(i128::from(whole), 1),
    }
}

/// From a millisecond to ten years, in nanoseconds.
fn window(random: &mut Random) -> Ratio {
    const USUAL: [u64; 14] = [1, 2, 5, 7, 10, 60, 300, 900, 3600, 86_400, 604_800, 2_592_000, 31_536_000, 315_576_000];
    let (count, of) = match random.below(8) {
        0..=3 => (random.of(&USUAL), 1),
        4 => (random.of_any_length(1, 315_576_000), 1),
        5 => (random.of_any_length(1, 315_576_000_000), 1000),
        6 => (random.of_any_length(1_000_000, 500_000_000_000), 1_000_000_000),
        _ => (random.of_any_length(10, 1_000_000), random.of(&[3, 7, 9, 64, 1000])),
    };
    Ratio::new(i128::from(count) * SECOND, of)
}

/// A few costs, none above the limit, that a bucket of this policy is asked for.
pub fn costs(random: &mut Random, policy: &Policy) -> Vec<Ratio> {
    let mut costs = Vec::new();
    let whole = policy.limit.floor().max(1);
    // Thousandths and thirds in one history would need a finer oracle than fits.
    let of = random.of(&[2, 3, 4, 7, 10, 10, 10, 12, 100, 1000, 1024, 1_000_000]);
    for _ in 0..random.within(1, 3) {
        let drawn = match random.below(8) {
            0..=2 => Ratio::new(1, 1),
            3 => Ratio::new(i128::from(random.within(1, whole)), 1),
            4 => Ratio::new(i128::from(whole.div_ceil(random.within(1, 8))), 1),
            5 => policy.limit,
            _ => Ratio::new(i128::from(random.of_any_length(1, of * whole.min(100_000))), i128::from(of)),
        };
        if drawn.at_most(policy.limit) {
            costs.push(drawn);
        }
    }
    costs.push(policy.limit);
    costs
}
