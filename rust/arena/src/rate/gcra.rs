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
//!
//! An answer that is the same at every moment that a rough reading of the clock may stand for needs no exact one; the
//! functions named `roughly` find such answers. Should the rough clock ever lag by more than [`MARGIN_NS`], a request is
//! taken for one that came by that much more earlier, and nothing else changes.

use super::divisor::Divisor;
use super::fraction::{gcd, Fraction};
use crate::clock::MARGIN_NS;

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
    /// What a request of cost 1 takes, or 0 where a bucket never holds one, and how to divide by that.
    one: u128,
    by_one: Option<Divisor>,
    /// Virtual time is `clock * numerator / denominator`.
    numerator: u64,
    denominator: u64,
    /// `numerator / denominator`: the whole part, and the rest in units of 2**-64, rounded down.
    whole_rate: u64,
    rest_of_rate: u64,
    /// No [`MARGIN_NS`] of virtual time takes more units, however it is rounded.
    margin: u128,
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
        let rate = Fraction { count: capacity * window.of, of: window.count };
        Gcra::of(limit, u128::from(capacity), units, whole_units, rate)
    }

    /// With everything that follows from these.
    fn of(limit: f64, capacity: u128, units: f64, whole_units: u128, rate: Fraction) -> Gcra {
        let Fraction { count: numerator, of: denominator } = rate;
        // Two estimates may be off by one each.
        let off = if denominator == 1 { 0 } else { 2 };
        let mut gcra = Gcra {
            limit,
            capacity,
            units,
            whole_units,
            one: 0,
            by_one: None,
            numerator,
            denominator,
            whole_rate: numerator / denominator,
            rest_of_rate: ((u128::from(numerator % denominator) << 64) / u128::from(denominator)) as u64,
            margin: (u128::from(MARGIN_NS) * u128::from(numerator)).div_ceil(u128::from(denominator)) + off,
        };
        gcra.one = gcra.other_cost(1.0).unwrap_or(0);
        gcra.by_one = Divisor::new(gcra.one);
        gcra
    }

    /// Requests that a full bucket holds.
    pub(super) fn limit(&self) -> f64 {
        self.limit
    }

    /// The virtual time of a clock reading, rounded down, or where the denominator is not 1, perhaps one less.
    #[inline]
    fn estimate(&self, clock_ns: u64) -> u128 {
        let clock = u128::from(clock_ns.min(HORIZON_NS));
        // Division by a constant: the reciprocal is less than one short, and the clock below 2**61.
        clock * u128::from(self.whole_rate) + ((clock * u128::from(self.rest_of_rate)) >> 64)
    }

    /// The virtual time of a clock reading.
    #[inline]
    pub(super) fn moment(&self, clock_ns: u64) -> Moment {
        let estimate = self.estimate(clock_ns);
        if self.denominator == 1 {
            return Moment { floor: estimate, ceiling: estimate };
        }
        // The remainder tells whether it is one less, and fits a word although its terms do not.
        let (clock, mut floor) = (clock_ns.min(HORIZON_NS), estimate as u64);
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
        if requests == 1.0 && self.one != 0 {
            Some(self.one)
        } else {
            self.other_cost(requests)
        }
    }

    #[inline(never)]
    fn other_cost(&self, requests: f64) -> Option<u128> {
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

    /// What [`Gcra::decide`] says at whatever moment a rough reading stands for: None where it may differ, or where the
    /// bucket may be full, since such a one starts to refill at the very moment.
    #[inline]
    pub(super) fn decide_roughly(&self, arrival: u128, rough_ns: u64, cost: u128) -> Option<Decision> {
        let earliest = self.estimate(rough_ns);
        let (latest, later) = (earliest + self.margin, arrival + cost);
        if arrival > latest && later <= earliest + self.capacity {
            Some(Decision::Allow(later))
        } else if later > latest + self.capacity {
            Some(Decision::Deny)
        } else {
            None
        }
    }

    /// Whether the bucket can pay at every moment from that reading on.
    #[inline]
    pub(super) fn pays_from(&self, arrival: u128, clock_ns: u64, cost: u128) -> bool {
        arrival + cost <= self.estimate(clock_ns) + self.capacity
    }

    /// What [`Gcra::remaining`] says of cost 1 at the earliest moment that a rough reading stands for, if the whole part
    /// is the same at every one: at most what remains, and less by no whole request. None where it may differ, or where
    /// the bucket may just have become full or is more than empty.
    #[inline]
    pub(super) fn remaining_roughly(&self, arrival: u128, rough_ns: u64) -> Option<f64> {
        let earliest = self.estimate(rough_ns);
        let latest = earliest + self.margin;
        if arrival <= earliest && self.whole_units != 0 {
            return Some(self.limit);
        }
        let by_one = self.by_one?;
        if arrival <= latest || arrival > earliest + self.capacity {
            return None;
        }
        let (whole, rest) = by_one.divide(earliest + self.capacity - arrival);
        if by_one.is_reached_by(rest, self.margin) {
            return None;
        }
        Some(sum(whole as f64, rest as f64, by_one.double))
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
                let (whole, rest) = match self.by_one {
                    Some(by_one) if cost == self.one => {
                        let (whole, rest) = by_one.divide(held);
                        (whole as f64, rest as f64)
                    }
                    _ => ((held / cost) as f64, (held % cost) as f64),
                };
                sum(whole.max(f64::from(u8::from(is_full))), rest, cost as f64)
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

/// `whole + rest / of`, but below the next whole number.
#[inline]
fn sum(whole: f64, rest: f64, of: f64) -> f64 {
    let sum = whole + rest / of;
    if sum < whole + 1.0 {
        sum
    } else {
        below(whole + 1.0)
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
    let capacity = units * u128::from(requests.count) / u128::from(requests.of);
    Some(Gcra::of(limit, capacity, units as f64, units, Fraction { count: numerator as u64, of: 1 }))
}

#[cfg(test)]
mod tests;
