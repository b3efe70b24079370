//! The fractions that doubles stand for.

/// A positive number as a fraction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fraction {
    pub count: u64,
    pub of: u64,
}

impl Fraction {
    /// The fraction that was meant: with a denominator up to 1,000 where one is as near as a double can be, since what
    /// thirds or decimals lose in binary is not meant. None when there is none.
    pub(super) fn meant_by(value: f64) -> Option<Fraction> {
        (1..=1000).find_map(|of| Fraction::near(value, of))
    }

    /// The same for a cost, which has to be found out fast: decimals of up to nine digits, halves to tenths and
    /// twelfths, and what has few binary digits.
    pub(super) fn meant_by_cost(requests: f64) -> Option<Fraction> {
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
    pub(super) fn nanoseconds_of(seconds: f64) -> Fraction {
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

/// The greatest common divisor.
pub(super) fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 {
        a
    } else {
        gcd(b, a % b)
    }
}
