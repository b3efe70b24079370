//! The decision: a generic cell rate algorithm (ITU-T I.371, "virtual scheduling"), pure and in whole numbers.
//!
//! A bucket is one number, its *arrival*: the virtual time at which it will be full again. Virtual time is the clock,
//! counted in units of which a request costs a fixed number and a full bucket holds `capacity`. Nothing is ever added
//! up from elapsed times, so nothing drifts, and a refusal changes nothing, so being refused delays nothing.
//!
//! The finer the units, the more rates come out in whole numbers of units, both a nanosecond and a request, and then
//! every figure is exact: 100 or 7 a minute, 3 a second, 1 an hour. How fine they can be depends on the bits that a
//! table has for an arrival. Where they do not suffice (a limit of 999,983 a minute), units are a power of two of a
//! request, still finer than a nanosecond, and whatever has to be rounded is rounded so that nothing comes early.

/// Longest uptime that is told apart: nearly 54 years. Later, time stands still.
const HORIZON_NS: u64 = 1_700_000_000_000_000_000;
/// Units a nanosecond, at most, in a table that has just a word for an arrival: with it, the latest arrival there can
/// be, [`HORIZON_NS`] and the longest window away, is below 255 / 256 of what a word holds.
const FASTEST: u64 = 9;

/// How a policy counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gcra {
    limit: f64,
    /// Units of a full bucket.
    capacity: u128,
    /// Units of one request, and the same as a whole number, or 0 where a unit is more than a request.
    units: f64,
    whole_units: u128,
    /// Virtual time is `clock * numerator / denominator`.
    numerator: u64,
    denominator: u64,
    /// `numerator / denominator` in units of 2**-64. Not used where the denominator is 1.
    reciprocal: u128,
}

/// A moment of virtual time, rounded both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub floor: u128,
    pub ceiling: u128,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// The bucket's arrival from now on.
    Allow(u128),
    Deny,
}

/// A positive number as a fraction.
#[derive(Clone, Copy, Debug)]
struct Fraction {
    count: u64,
    of: u64,
}

impl Fraction {
    /// The fraction that was meant: with a denominator up to 1,000 where one is as near as a double can be, since what
    /// thirds or decimals lose in binary is not meant. None when there is none.
    fn meant_by(value: f64) -> Option<Fraction> {
        (1..=1000).find_map(|of| Fraction::near(value, of))
    }

    /// The same for a cost, which has to be found out fast: decimals of up to nine digits, halves to tenths and
    /// twelfths, and what has few binary digits.
    fn meant_by_cost(requests: f64) -> Option<Fraction> {
        const DENOMINATORS: [u64; 5] = [1000, 2520, 1_000_000, 1 << 20, 1_000_000_000];
        // From here on, a double is near every whole number.
        const TOO_MANY: u64 = 1 << 48;
        let near = DENOMINATORS.into_iter().find_map(|of| Fraction::near(requests, of));
        near.filter(|meant| meant.count < TOO_MANY)
    }

    /// The fraction of that denominator, if one is as near as a double can be.
    fn near(value: f64, of: u64) -> Option<Fraction> {
        let count = nearly_whole(value * of as f64)?;
        (1.0..1e18).contains(&count).then_some(Fraction { count: count as u64, of })
    }

    /// The nanoseconds of so many seconds, or what is near them to 60 bits.
    fn nanoseconds_of(seconds: f64) -> Fraction {
        const SECOND: f64 = 1e9;
        const BITS: i32 = 60;
        if let Some(Fraction { count, of }) = Fraction::meant_by(seconds) {
            let common = gcd(SECOND as u128, u128::from(of)) as u64;
            let (each, of) = (SECOND as u64 / common, of / common);
            if let Some(count) = count.checked_mul(each).filter(|count| count >> BITS == 0) {
                return Fraction { count, of };
            }
        }
        let value = seconds * SECOND;
        Fraction::meant_by(value).filter(|meant| meant.count >> BITS == 0).unwrap_or_else(|| {
            let shift = (BITS - 1 - value.log2().floor() as i32).clamp(0, BITS);
            Fraction { count: (value * 2f64.powi(shift)).round() as u64, of: 1 << shift }
        })
    }
}

/// The whole number that a double is, but for what a few operations on doubles lose.
fn nearly_whole(value: f64) -> Option<f64> {
    let whole = value.round();
    ((value - whole).abs() <= value * 4.0 * f64::EPSILON).then_some(whole)
}

impl Gcra {
    /// For `limit` requests in `window` seconds, both positive and within their documented ranges. An arrival may take
    /// `extra_bits` more than a word.
    pub(super) fn new(limit: f64, window: f64, extra_bits: u32) -> Gcra {
        let window = Fraction::nanoseconds_of(window);
        // A sum that came out just beside a whole number is that number, for everything that looks at it.
        let limit = Fraction::meant_by(limit).map_or(limit, |meant| meant.count as f64 / meant.of as f64);
        exact(limit, window, FASTEST << extra_bits).unwrap_or_else(|| Gcra::rounded(limit, window))
    }

    /// The finest power of two units a request that stays within FASTEST: more than FASTEST / 2 units a nanosecond.
    fn rounded(limit: f64, window: Fraction) -> Gcra {
        let finest = FASTEST as f64 * (window.count as f64 / window.of as f64) / limit;
        let units = 2f64.powi(finest.log2().floor() as i32);
        let whole_units = if units >= 1.0 { units as u128 } else { 0 };
        let capacity = match Fraction::meant_by(limit) {
            Some(Fraction { count, of }) if whole_units > 0 => {
                (u128::from(count) * whole_units / u128::from(of)) as u64
            }
            _ => (limit * units) as u64,
        };
        let (numerator, denominator) = (capacity * window.of, window.count);
        Gcra {
            limit,
            capacity: u128::from(capacity),
            units,
            whole_units,
            numerator,
            denominator,
            reciprocal: (u128::from(numerator) << 64) / u128::from(denominator),
        }
    }

    /// Requests that a full bucket holds.
    pub(super) fn limit(&self) -> f64 {
        self.limit
    }

    /// The virtual time of a clock reading.
    #[inline]
    pub(super) fn moment(&self, clock_ns: u64) -> Moment {
        let clock = clock_ns.min(HORIZON_NS);
        if self.denominator == 1 {
            let exact = u128::from(clock) * u128::from(self.numerator);
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
        Moment { floor: u128::from(floor), ceiling: u128::from(floor) + u128::from(rest != 0) }
    }

    /// The first clock reading whose virtual time is at least `virtual_time`.
    fn clock_at(&self, virtual_time: u128) -> u64 {
        // Where the denominator is not 1, virtual times fit a word.
        let exact = virtual_time.saturating_mul(u128::from(self.denominator));
        exact.div_ceil(u128::from(self.numerator)).min(u128::from(u64::MAX)) as u64
    }

    /// What a cost takes from the bucket; None when no bucket ever holds so much.
    #[inline]
    pub(super) fn cost(&self, requests: f64) -> Option<u128> {
        if requests >= self.limit {
            // What doubles lose is not meant: the limit as it was given may be a little more than it was taken for.
            return (requests <= self.limit * (1.0 + 4.0 * f64::EPSILON)).then_some(self.capacity);
        }
        let units = if self.whole_units == 0 {
            (requests * self.units).ceil() as u128
        } else if requests.fract() == 0.0 {
            u128::from(requests as u64) * self.whole_units
        } else if let Some(Fraction { count, of }) = Fraction::meant_by_cost(requests) {
            (u128::from(count) * self.whole_units).div_ceil(u128::from(of))
        } else {
            (requests * self.units * (1.0 + 4.0 * f64::EPSILON)).ceil() as u128
        };
        // Rounding up must not push a cost within the limit over it.
        Some(units.min(self.capacity))
    }

    /// Whether a bucket can pay, and what becomes of it. `cost` comes from [`Gcra::cost`].
    #[inline]
    pub(super) fn decide(&self, arrival: u128, now: Moment, cost: u128) -> Decision {
        if arrival <= now.floor {
            // Full. It starts to refill from now, rounded so that no part of a unit comes early.
            return Decision::Allow(now.ceiling + cost);
        }
        let later = arrival + cost;
        if later <= now.floor + self.capacity {
            Decision::Allow(later)
        } else {
            Decision::Deny
        }
    }

    /// How many times the bucket could pay so many requests now. The whole part is exact, the rest rounded down. A full
    /// bucket holds `limit` requests, although rounding may keep the last one until the clock's next nanosecond; but
    /// where a unit is more than a request, as many as it pays.
    pub(super) fn remaining(&self, arrival: u128, now: Moment, requests: f64) -> f64 {
        let (is_full, is_coarse) = (arrival <= now.floor, self.whole_units == 0);
        let full_at = if is_coarse { now.ceiling } else { now.floor };
        let held = (now.floor + self.capacity).saturating_sub(if is_full { full_at } else { arrival });
        match self.cost(requests) {
            Some(0) => f64::INFINITY,
            Some(_) if is_full && requests == 1.0 && !is_coarse => self.limit,
            Some(cost) => {
                // A full bucket pays any cost there is, once.
                let whole = ((held / cost) as f64).max(f64::from(u8::from(is_full)));
                let sum = whole + (held % cost) as f64 / cost as f64;
                sum.min(below(whole + 1.0))
            }
            // More than a bucket holds: less than one.
            None if is_full => self.limit / requests,
            None => held as f64 / self.capacity as f64 * (self.limit / requests),
        }
    }

    /// Nanoseconds from a clock reading until `cost` can be paid.
    pub(super) fn wait_ns(&self, arrival: u128, clock_ns: u64, cost: u128) -> u64 {
        match self.decide(arrival, self.moment(clock_ns), cost) {
            _ if cost == 0 => 0,
            Decision::Allow(_) => 0,
            Decision::Deny => self.clock_at(arrival + cost - self.capacity).saturating_sub(clock_ns).max(1),
        }
    }

    /// Nanoseconds from a clock reading until the bucket is full.
    pub(super) fn refill_ns(&self, arrival: u128, clock_ns: u64) -> u64 {
        self.clock_at(arrival).saturating_sub(clock_ns)
    }
}

/// The next double towards 0 from a positive one.
fn below(value: f64) -> f64 {
    f64::from_bits(value.to_bits() - 1)
}

/// How to count so that everything is whole, if `finest` units a nanosecond allow it.
fn exact(limit: f64, window: Fraction, finest: u64) -> Option<Gcra> {
    let requests = Fraction::meant_by(limit)?;
    // A request takes `period / divisor` nanoseconds. Units of which it takes a whole number may still not divide a
    // window of thirds; and a full bucket that is rounded down would let a cost of all of it come back early.
    let period = u128::from(window.count) * u128::from(requests.of);
    let divisor = u128::from(requests.count) * u128::from(window.of);
    let common = gcd(period, divisor);
    let (mut units, mut numerator) = (period / common, divisor / common);
    let window_of = u128::from(window.of);
    let factor = window_of / gcd(window_of, numerator);
    units = units.checked_mul(factor)?;
    numerator = numerator.checked_mul(factor)?;
    if numerator > u128::from(finest) {
        return None;
    }
    // Finer still, so that costs of halves, thirds and tenths come out whole too.
    for factor in [2, 5, 3, 2, 2, 5, 3, 7] {
        if numerator * factor <= u128::from(finest) {
            units *= factor;
            numerator *= factor;
        }
    }
    Some(Gcra {
        limit,
        capacity: units * u128::from(requests.count) / u128::from(requests.of),
        units: units as f64,
        whole_units: units,
        numerator: numerator as u64,
        denominator: 1,
        reciprocal: 0,
    })
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 {
        a
    } else {
        gcd(b, a % b)
    }
}

#[cfg(test)]
mod tests;
