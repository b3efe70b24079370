use super::*;
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;

fn per_nanoseconds(limit: f64, count: u64) -> Gcra {
    Gcra::new(limit, count as f64 / 1e9, 0)
}

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

#[test]
fn a_full_bucket_gives_all_of_it_at_one_moment() {
    let exact = [(7.0, 60.0, 0), (9.0, 7.0, 0), (2.5, 10.0, 0), (2.0, 2.0 / 3.0, 0), (17.0, 60.0, 6), (499.0, 1.0, 6)];
    for (limit, window, extra_bits) in exact {
        let gcra = Gcra::new(limit, window, extra_bits);
        assert_eq!(gcra.denominator, 1, "{limit} in {window}");
        for cost in [1.0, 0.5, 0.1, 0.7] {
            let units = gcra.cost(cost).unwrap();
            for clock in [0, 1, 1_234_567_890_123_457] {
                let (now, mut arrival, mut allowed) = (gcra.moment(clock), 0, 0);
                while let Decision::Allow(later) = gcra.decide(arrival, now, units) {
                    arrival = later;
                    allowed += 1;
                }
                assert_eq!(allowed, (limit / cost + 1e-9) as i32, "{limit} in {window} at {cost} each");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Over every prefix of a busy history no more is allowed than the promise says, in exact fractions.
    #[test]
    fn never_more_than_promised(
        limit in prop_oneof![1u64..20, 1u64..1_000_000_000],
        window in prop_oneof![1_000_000u64..2_000_000_000, 1u64 << 30..1 << 53],
        start in 0u64..1 << 60,
        steps in prop::collection::vec((0u64..1 << 20, 0u32..40, 1u64..5), 1..60),
    ) {
        let gcra = per_nanoseconds(limit as f64, window);
        let (mut arrival, mut clock, mut spent) = (0, start, 0u128);
        let mut first = None;
        for (gap, shift, cost) in steps {
            clock = (clock + (gap << shift >> 10)).min(1 << 60);
            let Some(units) = gcra.cost(cost as f64) else { continue };
            if let Decision::Allow(later) = gcra.decide(arrival, gcra.moment(clock), units) {
                arrival = later;
                spent += u128::from(cost);
                let first = *first.get_or_insert(clock);
                // spent <= limit + elapsed * limit / window
                let promised = u128::from(limit) * u128::from(window) + u128::from(clock - first) * u128::from(limit);
                prop_assert!(spent * u128::from(window) <= promised);
            }
        }
    }

    /// The wait is tight: then it is allowed, a nanosecond earlier it is not.
    #[test]
    fn the_wait_is_tight_from_both_sides(
        limit in 1u64..1_000_000,
        window in 1_000_000u64..1 << 50,
        clock in 0u64..1 << 58,
        spent in 0.0f64..1.0,
        cost in 0.001f64..1.0,
        extra_bits in 0u32..8,
    ) {
        let gcra = Gcra::new(limit as f64, window as f64 / 1e9, extra_bits);
        let now = gcra.moment(clock);
        let arrival = now.ceiling + (gcra.capacity as f64 * spent) as u128;
        let units = gcra.cost(cost * limit as f64).unwrap();
        let wait = gcra.wait_ns(arrival, clock, units);
        let allowed = |at| matches!(gcra.decide(arrival, gcra.moment(at), units), Decision::Allow(_));
        prop_assert!(allowed(clock + wait));
        prop_assert!(wait == 0 || !allowed(clock + wait - 1));
    }

    /// The estimate by the reciprocal is the exact quotient.
    #[test]
    fn moments_are_exact(limit in 1u64..1_000_000_000, window in 1_000_000u64..1 << 58, clock in 0u64..1 << 60) {
        let gcra = per_nanoseconds(limit as f64, window);
        let exact = u128::from(clock) * u128::from(gcra.numerator);
        let moment = gcra.moment(clock);
        prop_assert_eq!(moment.floor, exact / u128::from(gcra.denominator));
        prop_assert_eq!(moment.ceiling, exact.div_ceil(u128::from(gcra.denominator)));
    }
}
