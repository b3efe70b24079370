//! The decision: a generic cell rate algorithm (ITU-T I.371, "virtual scheduling"), pure and in whole numbers.
//!
//! A bucket is one number, its *arrival*: the virtual time at which it will be full again. Virtual time runs with
//! the clock, at `numerator / denominator` units a nanosecond, so that a request costs a fixed number of units and
//! the bucket holds `capacity` of them. Nothing is ever added up from elapsed times, so nothing drifts, and a
//! refusal changes nothing, so being refused delays nothing.
//!
//! Where the rate is "nice" (at most 3 units a nanosecond when a unit is the nanoseconds of a request divided down
//! to whole numbers: 100 a minute, 10 a second, 3 a second, 1 an hour) the conversion is exact. Elsewhere units
//! are a power of two of a request, still finer than a nanosecond, and rounded so that nothing is allowed early.

/// Longest uptime that is told apart: about 73 years. Later, time stands still.
const HORIZON_NS: u64 = 1 << 61;
/// Units a nanosecond, at most: with it, any virtual time and capacity stay below bit 63.
const FASTEST: u64 = 3;

/// How a policy counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gcra {
    limit: f64,
    /// Units of a full bucket.
    capacity: u64,
    /// Units of one request, and the same as a whole number, or 0 where a unit is more than a request.
    units: f64,
    whole_units: u64,
    /// Virtual time is `clock * numerator / denominator`.
    numerator: u64,
    denominator: u64,
    /// `numerator / denominator` in units of 2**-64.
    reciprocal: u128,
}

/// A moment of virtual time, rounded both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub floor: u64,
    pub ceiling: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// The bucket's arrival from now on.
    Allow(u64),
    Deny,
}

/// A window in nanoseconds as the fraction `count / 2**shift`: whole where it is whole, else to 60 bits.
#[derive(Clone, Copy, Debug)]
struct Window {
    count: u64,
    shift: u32,
}

impl Window {
    fn of_seconds(seconds: f64) -> Window {
        const BITS: i32 = 60;
        let exact = seconds * 1e9;
        let whole = exact.round();
        // What decimal seconds lose in binary is not meant as a fraction of a nanosecond.
        if whole >= 1.0 && (exact - whole).abs() <= exact * 4.0 * f64::EPSILON {
            return Window { count: whole as u64, shift: 0 };
        }
        let shift = (BITS - 1 - exact.log2().floor() as i32).clamp(0, BITS) as u32;
        Window { count: (exact * 2f64.powi(shift as i32)).round() as u64, shift }
    }

    fn nanoseconds(self) -> f64 {
        self.count as f64 / 2f64.powi(self.shift as i32)
    }
}

impl Gcra {
    /// For `limit` requests in `window` seconds, both positive and within their documented ranges.
    pub(super) fn new(limit: f64, window: f64) -> Gcra {
        Gcra::for_window(limit, Window::of_seconds(window))
    }

    fn for_window(limit: f64, window: Window) -> Gcra {
        if let Some((numerator, units)) = nice_rate(limit, window) {
            let capacity = limit as u64 * units + (limit.fract() * units as f64) as u64;
            return Gcra::scaled(limit, capacity, units as f64, units, numerator, 1);
        }
        // The finest power of two that stays within FASTEST: more than FASTEST / 2 units a nanosecond.
        let finest = FASTEST as f64 * window.nanoseconds() / limit;
        let units = 2f64.powi(finest.log2().floor() as i32);
        let capacity = ((limit * units) as u64).max(1);
        let whole_units = if units >= 1.0 { units as u64 } else { 0 };
        Gcra::scaled(limit, capacity, units, whole_units, capacity << window.shift, window.count)
    }

    fn scaled(limit: f64, capacity: u64, units: f64, whole_units: u64, numerator: u64, denominator: u64) -> Gcra {
        let reciprocal = (u128::from(numerator) << 64) / u128::from(denominator);
        Gcra { limit, capacity, units, whole_units, numerator, denominator, reciprocal }
    }

    /// The virtual time of a clock reading.
    #[inline]
    pub(super) fn moment(&self, clock_ns: u64) -> Moment {
        let clock = clock_ns.min(HORIZON_NS);
        if self.denominator == 1 {
            let exact = clock * self.numerator;
            return Moment { floor: exact, ceiling: exact };
        }
        // Division by a constant: the reciprocal is less than one short, the clock below 2**61, so the estimate is
        // the quotient or one less; the remainder tells, and fits a word although its terms do not.
        let mut floor = ((u128::from(clock) * self.reciprocal) >> 64) as u64;
        let mut rest = clock.wrapping_mul(self.numerator).wrapping_sub(floor.wrapping_mul(self.denominator));
        if rest >= self.denominator {
            floor += 1;
            rest -= self.denominator;
        }
        Moment { floor, ceiling: floor + u64::from(rest != 0) }
    }

    /// The first clock reading whose virtual time is at least `virtual_time`.
    fn clock_at(&self, virtual_time: u64) -> u64 {
        let exact = u128::from(virtual_time) * u128::from(self.denominator);
        exact.div_ceil(u128::from(self.numerator)).min(u128::from(u64::MAX)) as u64
    }

    /// What a cost takes from the bucket; None when no bucket ever holds so much.
    #[inline]
    pub(super) fn cost(&self, requests: f64) -> Option<u64> {
        if requests > self.limit {
            return None;
        }
        let units = if self.whole_units == 0 {
            (requests * self.units).ceil() as u64
        } else {
            let part = requests.fract();
            let rest = if part == 0.0 { 0 } else { (part * self.units).ceil() as u64 };
            requests as u64 * self.whole_units + rest
        };
        // Rounding up must not push a cost of just the limit over it.
        Some(units.min(self.capacity))
    }

    /// Whether a bucket can pay, and what becomes of it. `cost` comes from [`Gcra::cost`].
    #[inline]
    pub(super) fn decide(&self, arrival: u64, now: Moment, cost: u64) -> Decision {
        if arrival <= now.floor {
            // Full. It starts to refill from now, rounded so that no part of a unit comes early.
            return Decision::Allow(now.ceiling + cost);
        }
        match arrival.checked_add(cost) {
            Some(later) if later <= now.floor + self.capacity => Decision::Allow(later),
            _ => Decision::Deny,
        }
    }

    /// Requests the bucket could pay for now.
    pub(super) fn remaining(&self, arrival: u64, now: Moment) -> f64 {
        if arrival <= now.floor {
            return self.limit;
        }
        (now.floor + self.capacity).saturating_sub(arrival) as f64 / self.units
    }

    /// Nanoseconds from a clock reading until `cost` can be paid.
    pub(super) fn wait_ns(&self, arrival: u64, clock_ns: u64, cost: u64) -> u64 {
        match self.decide(arrival, self.moment(clock_ns), cost) {
            Decision::Allow(_) => 0,
            Decision::Deny => {
                let due = arrival.saturating_add(cost).saturating_sub(self.capacity);
                self.clock_at(due).saturating_sub(clock_ns).max(1)
            }
        }
    }
}

/// Whole units a nanosecond and whole units a request that give the rate, if there are such within FASTEST.
fn nice_rate(limit: f64, window: Window) -> Option<(u64, u64)> {
    if limit.fract() == 0.0 && window.shift == 0 {
        let common = gcd(limit as u64, window.count);
        let numerator = limit as u64 / common;
        return (numerator <= FASTEST).then_some((numerator, window.count / common));
    }
    // A third of a second is no binary fraction: near enough to whole is whole.
    (1..=FASTEST).find_map(|numerator| {
        let exact = numerator as f64 * window.nanoseconds() / limit;
        let whole = exact.round();
        let near = (exact - whole).abs() <= exact * 4.0 * f64::EPSILON;
        (near && (1.0..1e12).contains(&whole)).then_some((numerator, whole as u64))
    })
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        gcd(b, a % b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;

    fn per_nanoseconds(limit: f64, count: u64) -> Gcra {
        Gcra::for_window(limit, Window { count, shift: 0 })
    }

    /// What a client gets that asks for one request, until refused, at every step.
    fn poll(limit: f64, window: f64, start: u64, step: u64, until: u64) -> u64 {
        let gcra = Gcra::new(limit, window);
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
        for limit in [1e-9, 0.3, 1.0, 2.0, 3.0, 7.0, 100.0, 99_999.0, 1e6, 1e9] {
            for window in [1e-9, 1.7e-9, 1.3e-6, 1e-3, 1.0, 7.000_000_001, 3600.0, 315_576_000.0] {
                let gcra = Gcra::new(limit, window);
                let late = gcra.moment(u64::MAX);
                assert!(late.ceiling + gcra.capacity < 1 << 63, "{gcra:?}");
                // Unless the bucket is so small that a unit is all it holds.
                assert!(gcra.numerator >= gcra.denominator || gcra.capacity < 1 << 20, "{gcra:?}");
                assert!(gcra.denominator < 1 << 62 && gcra.numerator < 1 << 63, "{gcra:?}");
                assert!(gcra.cost(limit).unwrap() <= gcra.capacity);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// Over every prefix of a busy history no more is allowed than the promise says, in exact fractions.
        #[test]
        fn never_more_than_promised(
            limit in prop_oneof![1u64..20, 1u64..1_000_000_000],
            window in prop_oneof![1_000_000u64..2_000_000_000, 1u64 << 30..1 << 58],
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
            cost in 0.0f64..1.0,
        ) {
            let gcra = per_nanoseconds(limit as f64, window);
            let now = gcra.moment(clock);
            let arrival = now.ceiling + (gcra.capacity as f64 * spent) as u64;
            let units = gcra.cost(cost * limit as f64).unwrap();
            let wait = gcra.wait_ns(arrival, clock, units);
            let allowed = |at| matches!(gcra.decide(arrival, gcra.moment(at), units), Decision::Allow(_));
            prop_assert!(allowed(clock + wait));
            prop_assert!(wait == 0 || !allowed(clock + wait - 1));
        }

        /// The estimate by the reciprocal is the exact quotient.
        #[test]
        fn moments_are_exact(limit in 1u64..1_000_000_000, window in 1_000_000u64..1 << 58, clock in 0u64..1 << 61) {
            let gcra = per_nanoseconds(limit as f64, window);
            let exact = u128::from(clock) * u128::from(gcra.numerator);
            let moment = gcra.moment(clock);
            prop_assert_eq!(u128::from(moment.floor), exact / u128::from(gcra.denominator));
            prop_assert_eq!(u128::from(moment.ceiling), exact.div_ceil(u128::from(gcra.denominator)));
        }
    }
}
