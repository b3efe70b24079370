//! Division of what a bucket holds by what a request takes, without the machine's slow division of two words.

/// The units of a request, of which a bucket holds two billion times as many at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Divisor {
    units: i64,
    /// The same.
    pub double: f64,
    inverse: f64,
}

impl Divisor {
    /// None where there are none or too many.
    pub(super) fn new(units: u128) -> Option<Divisor> {
        // Twice as many are still a word, with a sign.
        let units = i64::try_from(units).ok().filter(|units| (1..1 << 62).contains(units))?;
        Some(Divisor { units, double: units as f64, inverse: 1.0 / units as f64 })
    }

    /// Quotient and remainder of what a bucket holds.
    #[inline]
    pub(super) fn divide(self, held: u128) -> (i64, i64) {
        const WORD: f64 = 18_446_744_073_709_551_616.0;
        let (high, low) = ((held >> 64) as u32, held as u64);
        let estimate = (f64::from(high) * WORD + low as f64) * self.inverse;
        // The quotient has 31 bits and a double 53, so this is the quotient or one beside it.
        // SAFETY: and so it is far from the ends of an i64.
        let quotient = unsafe { estimate.to_int_unchecked::<i64>() };
        let rest = (low as i64).wrapping_sub(quotient.wrapping_mul(self.units));
        if rest < 0 {
            (quotient - 1, rest + self.units)
        } else if rest >= self.units {
            (quotient + 1, rest - self.units)
        } else {
            (quotient, rest)
        }
    }

    /// Whether so many more units than that rest would be enough for another request.
    #[inline]
    pub(super) fn is_reached_by(self, rest: i64, more: u128) -> bool {
        rest as u128 + more >= self.units as u128
    }
}
