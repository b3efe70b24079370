//! A limiter answers the same however far the rough clock lags behind the exact one.

use shared_arena::{clock, Arena, Limiter, Outlook, Policy};

const SECOND: u64 = 1_000_000_000;
const MILLISECOND: u64 = 1_000_000;

/// What a limiter says at one moment, before and after a request.
#[derive(Debug, PartialEq)]
struct Answers {
    is_allowed: bool,
    retry_after: f64,
    whole_remaining: f64,
    outlook: Outlook,
    /// Not all of it is promised to be the same.
    remaining: [f64; 2],
}

/// Numbers that look random.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// One history of requests for a few keys, by a clock that lags so much where it is read roughly.
fn history(policy: Policy, seed: u64, lag: u64) -> Vec<Answers> {
    let arena = Arena::on_heap(1 << 16, 2).unwrap();
    let limiter = Limiter::bind(&arena, b"l", policy).unwrap();
    let each = (policy.window * 1e9 / policy.limit) as u64;
    let (mut random, mut now) = (seed, 1000 * SECOND);
    clock::lag(lag);
    (0..400)
        .map(|_| {
            now += match next(&mut random) % 5 {
                0 => 0,
                1 => next(&mut random) % (each + 2),
                2 => next(&mut random) % (200 * MILLISECOND),
                3 => each - 1 + next(&mut random) % 3,
                _ => next(&mut random) % 3,
            };
            clock::freeze(None, Some(now));
            let key = [next(&mut random) as u8 % 3];
            let cost = if next(&mut random) % 8 == 0 { 2.0 } else { 1.0 };
            // A process that has just read the exact time knows it; another one has the rough reading alone.
            let is_another = next(&mut random) % 2 == 0;
            let by_rough_reading = || {
                if is_another {
                    clock::lag(lag);
                }
                &limiter
            };
            let before = by_rough_reading().remaining(&key, 1.0);
            let retry_after = by_rough_reading().retry_after(&key, cost);
            let is_allowed = by_rough_reading().allow(&key, cost);
            let after = by_rough_reading().remaining(&key, 1.0);
            let outlook = limiter.outlook(&key, cost);
            assert_eq!(is_allowed, retry_after == 0.0, "seed {seed}, {lag} behind");
            assert_eq!(after as u64, outlook.remaining, "seed {seed}, {lag} behind");
            Answers { is_allowed, retry_after, whole_remaining: after.floor(), outlook, remaining: [before, after] }
        })
        .collect()
}

#[test]
fn no_answer_depends_on_how_far_the_rough_clock_lags() {
    for (limit, window) in [(5.0, 60.0), (100.0, 60.0), (7.0, 0.3), (3.0, 1e-6), (999_983.0, 60.0), (2.5, 10.0)] {
        let policy = Policy { limit, window, slots: 64 };
        for seed in 0..20 {
            let exact = history(policy, seed, 0);
            for lag in [1, 3 * MILLISECOND, 50 * MILLISECOND, 99 * MILLISECOND, 100 * MILLISECOND - 1] {
                for (step, (rough, exact)) in history(policy, seed, lag).iter().zip(&exact).enumerate() {
                    let is_less = rough.remaining.iter().zip(&exact.remaining).all(|(rough, exact)| rough <= exact);
                    assert!(is_less, "{policy}, seed {seed}, {lag} behind, step {step}: {rough:?}, {exact:?}");
                    let rough = Answers { remaining: exact.remaining, ..*rough };
                    assert_eq!(rough, *exact, "{policy}, seed {seed}, {lag} behind, step {step}");
                }
            }
        }
    }
    clock::lag(0);
    clock::freeze(None, None);
}
