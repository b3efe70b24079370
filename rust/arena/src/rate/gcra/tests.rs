//! What the decision promises: by example here, and over random policies and histories, against a bucket that rounds
//! nothing, in the files below.

mod histories;
mod oracle;
mod policies;
mod polling;
mod random;
mod roughly;
mod side_by_side;

use super::*;
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;

/// What a client gets that asks for one request, until refused, at every step.
fn poll(limit: f64, window: f64, start: u64, step: u64, until: u64) -> u64 {
    let gcra = Gcra::new(limit, window, 0);
    let one = gcra.cost(1.0).unwrap();
    let (mut arrival, mut allowed) = (0, 0);
    let mut clock = start;
    while clock <= start + until {
        while let Decision::Allow(later) = gcra.decide(arrival, gcra.moment(clock), one) {
            arrival = later;
            allowed += 1;
            assert!(allowed < 10_000_000, "no end");
        }
        clock += step;
    }
    allowed
}

#[test]
fn a_polling_client_gets_exactly_what_is_due() {
    for start in [0, 1, 123_456_789_123_457] {
        assert_eq!(poll(5.0, 300.0, start, SECOND / 100, 75 * SECOND), 5 + 1, "1.25 due in 75 s");
        assert_eq!(poll(100.0, 60.0, start, SECOND / 1000, 75 * SECOND), 100 + 125);
        assert_eq!(poll(1.0, 1000.0, start, SECOND, 10_000 * SECOND), 1 + 10);
        assert_eq!(poll(4.0, 0.4, start, SECOND / 20, 10 * SECOND), 4 + 100);
        let thirds = poll(2.0, 2.0 / 3.0, start, SECOND / 1000, 1000 * SECOND);
        assert_eq!(thirds, 3002);
        let fast = poll(2.0, 2.0 / 1.5e6, start, 1000, SECOND);
        assert_eq!(fast, 1_500_002);
    }
}

#[test]
fn every_scale_is_finer_than_a_nanosecond_and_never_overflows() {
    for limit in [1e-9, 0.3, 1.0, 2.0, 2.5, 3.0, 7.0, 100.0, 999.0, 99_999.0, 1e6, 999_999_937.0, 1e9] {
        for window in [1e-9, 1.7e-9, 1.3e-6, 1e-3, 1.0, 60.0, 7.000_000_001, 3600.0, 315_576_000.0] {
            for extra_bits in [0, 1, 6, 25] {
                let gcra = Gcra::new(limit, window, extra_bits);
                let late = gcra.moment(u64::MAX);
                let latest = late.ceiling + gcra.capacity;
                assert!(latest < 255 << (56 + extra_bits), "{gcra:?}");
                // Unless the bucket is so small that a unit is all it holds.
                assert!(gcra.numerator >= gcra.denominator || gcra.capacity < 1 << 20, "{gcra:?}");
                assert!(gcra.cost(limit).unwrap() <= gcra.capacity);
            }
        }
    }
}

/// What a full bucket grants at one reading of the clock.
fn at_once(gcra: &Gcra, clock: u64, cost: f64) -> u32 {
    let (now, units) = (gcra.moment(clock), gcra.cost(cost).unwrap());
    let (mut arrival, mut allowed) = (0, 0);
    while let Decision::Allow(later) = gcra.decide(arrival, now, units) {
        arrival = later;
        allowed += 1;
        assert!(allowed < 10_000_000, "no end");
    }
    allowed
}

#[test]
fn a_full_bucket_gives_all_of_it_at_one_moment() {
    let exact = [(7.0, 60.0, 0), (9.0, 7.0, 0), (2.5, 10.0, 0), (2.0, 2.0 / 3.0, 0), (17.0, 60.0, 6), (499.0, 1.0, 6)];
    for (limit, window, extra_bits) in exact {
        let gcra = Gcra::new(limit, window, extra_bits);
        for cost in [1.0, 0.5, 0.1, 0.7] {
            for clock in [0, 1, 1_234_567_890_123_457] {
                let due = (limit / cost + 1e-9) as u32;
                assert_eq!(at_once(&gcra, clock, cost), due, "{limit} in {window} at {cost} each");
            }
        }
    }
}

#[test]
fn a_cost_is_the_decimal_that_was_written() {
    let year = 31_536_000.0;
    for (limit, window, cost, times) in [
        (7.0, 60.0, 0.7, 10),
        (7.0, 10.0 * year, 0.7, 10),
        (2.1, 60.0, 2.1, 1),
        (161.0, 60.0, 16.1, 10),
        (7.0, year, 0.035, 200),
        (10_001.0, 10_001.0, 1000.1, 10),
        (1.0, year, 1.0 / 3.0, 3),
        (5.0, 604_800.0, 5.0 / 7.0, 7),
        (1.0, 1024.0, 1.0 / 1024.0, 1024),
        (1.0, 3600.0, 0.000_001, 1_000_000),
    ] {
        let gcra = Gcra::new(limit, window, 6);
        assert_eq!(at_once(&gcra, 1_234_567_890_123_457, cost), times, "{limit} in {window} at {cost} each");
    }
}

#[test]
fn a_cost_that_is_no_short_fraction_is_rounded_up() {
    for limit in [1.0, 7.0, 1e9] {
        for cost in [1e-300, 1e-12, 0.123_456_789_012_345_6, f64::EPSILON, 1.0 - f64::EPSILON / 2.0] {
            let gcra = Gcra::new(limit, 315_576_000.0, 6);
            let units = gcra.cost(cost).unwrap();
            assert!(units > 0 && units as f64 >= cost * gcra.units && units <= gcra.capacity, "{cost} of {limit}");
            assert!(units as f64 <= cost * gcra.units * (1.0 + 1e-15) + 1.0, "{cost} of {limit}");
        }
    }
}

#[test]
fn a_full_bucket_pays_every_cost_within_the_limit() {
    for (limit, window) in [(2.5, 60.0), (1.0 / 3.0, 60.0), (999_983.7, 0.001), (4.6e6, 0.001), (1e9, 0.001)] {
        for extra_bits in [0, 6] {
            let gcra = Gcra::new(limit, window, extra_bits);
            for cost in [limit, below(limit), limit - 0.01] {
                assert_eq!(at_once(&gcra, 60 * SECOND, cost), 1, "{cost} of {limit}");
                let remaining = gcra.remaining(0, gcra.moment(60 * SECOND), cost);
                assert!(gcra.whole_units == 0 || remaining.floor() == 1.0, "{remaining} of {cost} of {limit}");
            }
        }
    }
}

#[test]
fn a_large_cost_of_many_digits_is_rounded_up() {
    const PARTS: u32 = 1 << 31;
    let gcra = Gcra::new(2e6, 315_576_000.0, 6);
    for last_digits in (1001..PARTS).step_by(10_000_019) {
        let cost = 1_234_567.0 + f64::from(last_digits) / f64::from(PARTS);
        let parts = 1_234_567 * u128::from(PARTS) + u128::from(last_digits);
        let exact = parts * gcra.whole_units;
        assert!(gcra.cost(cost).unwrap() * u128::from(PARTS) >= exact, "{last_digits} parts");
    }
}

#[test]
fn what_costs_nothing_is_always_there_and_what_costs_too_much_never() {
    for (limit, window) in [(0.3, 60.0), (5.0, 60.0), (999_983.0, 60.0), (1e9, 1e-3)] {
        let gcra = Gcra::new(limit, window, 6);
        let now = gcra.moment(SECOND);
        for arrival in [0, now.ceiling + gcra.capacity / 2, now.ceiling + gcra.capacity] {
            assert_eq!(gcra.cost(0.0), Some(0));
            assert_eq!(gcra.wait_ns(arrival, SECOND, 0), 0);
            assert_eq!(gcra.remaining(arrival, now, 0.0), f64::INFINITY);
            let above = limit * (1.0 + 1e-14);
            assert_eq!(gcra.cost(above), None);
            assert!((0.0..=1.0).contains(&gcra.remaining(arrival, now, above)));
        }
    }
}

#[test]
fn the_limit_remains_of_a_full_bucket_to_the_last_digit() {
    for limit in [1e-9, 0.3, 1.0 / 3.0, 2.5, 39.154, 999_983.7, 1e9] {
        // Fast enough, but not so fast that requests are counted several at a time.
        for window in [0.2, 60.0, 2.0 / 3.0, 315_576_000.0] {
            let gcra = Gcra::new(limit, window, 0);
            assert_eq!(gcra.remaining(0, gcra.moment(SECOND), 1.0), limit, "{limit} in {window}");
        }
    }
}

#[test]
fn an_empty_bucket_refills_in_just_the_window_whatever_its_digits() {
    for limit in [1.0, 7.0, 999_983.0] {
        for window in (0..10).map(|power| std::f64::consts::PI * 10f64.powi(power - 3)) {
            let gcra = Gcra::new(limit, window, 6);
            let refill = gcra.refill_ns(gcra.capacity, 0);
            assert_eq!(refill, (window * 1e9).ceil() as u64, "{limit} in {window}");
        }
    }
}

#[test]
fn an_older_reading_gives_nothing() {
    for limit in [2.0, 999_983.0] {
        let gcra = Gcra::new(limit, 60.0, 6);
        let now = gcra.moment(100 * SECOND);
        let Decision::Allow(empty) = gcra.decide(0, now, gcra.capacity) else { panic!("a full bucket") };
        for older in [100 * SECOND - 1, 99 * SECOND, 1, 0] {
            let then = gcra.moment(older);
            assert_eq!(gcra.decide(empty, then, 1), Decision::Deny);
            assert_eq!(gcra.remaining(empty, then, 1.0), 0.0);
            let due = older + gcra.wait_ns(empty, older, gcra.cost(1.0).unwrap());
            assert_eq!(due, 100 * SECOND + gcra.wait_ns(empty, 100 * SECOND, gcra.cost(1.0).unwrap()));
            assert_eq!(older + gcra.refill_ns(empty, older), 100 * SECOND + gcra.refill_ns(empty, 100 * SECOND));
        }
    }
}

#[test]
fn time_stands_still_at_the_end_of_time() {
    for limit in [2.0, 999_983.0] {
        let gcra = Gcra::new(limit, 60.0, 6);
        let last = gcra.moment(HORIZON_NS);
        assert_ne!(gcra.moment(HORIZON_NS - 1), last);
        assert_eq!(gcra.moment(u64::MAX), last);
        let Decision::Allow(empty) = gcra.decide(0, last, gcra.capacity) else { panic!("a full bucket") };
        assert!(gcra.wait_ns(empty, u64::MAX, 1) > 0);
        assert_eq!(gcra.decide(empty, gcra.moment(u64::MAX), 1), Decision::Deny);
    }
}

#[test]
fn up_to_576_requests_in_any_whole_seconds_are_exact_with_4096_slots_and_9_with_64() {
    for window in (1..=60).chain([3600, 86_400, 604_800, 31_536_000, 315_576_000]) {
        for (extra_bits, most) in [(0, 9), (6, 576)] {
            for limit in 1..=most {
                let gcra = Gcra::new(f64::from(limit), f64::from(window), extra_bits);
                assert_eq!(gcra.denominator, 1, "{limit} in {window}");
            }
        }
    }
    // The next that shares nothing with a billion nanoseconds.
    assert_ne!(Gcra::new(11.0, 1.0, 0).denominator, 1);
    assert_ne!(Gcra::new(577.0, 1.0, 6).denominator, 1);
}

#[test]
fn every_policy_that_can_be_exact_is() {
    for seed in 0..20_000 {
        let policy = policies::policy(&mut random::Random::new(seed));
        let gcra = Gcra::new(policy.limit.double(), policy.window_in_seconds(), policy.extra_bits);
        assert_eq!(gcra.denominator == 1, policy.is_exact(), "{policy:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// The estimate by the reciprocal is the exact quotient.
    #[test]
    fn moments_are_exact(limit in 1u64..1_000_000_000, window in 1_000_000u64..1 << 58, clock in 0u64..1 << 60) {
        let gcra = Gcra::new(limit as f64, window as f64 / 1e9, 0);
        let exact = u128::from(clock) * u128::from(gcra.numerator);
        let moment = gcra.moment(clock);
        prop_assert_eq!(moment.floor, exact / u128::from(gcra.denominator));
        prop_assert_eq!(moment.ceiling, exact.div_ceil(u128::from(gcra.denominator)));
    }
}
