//! What a limiter owes, in exact fractions: the numbers as they were written, and a token bucket that rounds nothing.
//! None of it knows how `Gcra` counts.

/// A fraction that is not negative, in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    pub of: i128,
    pub count: i128,
}

impl Ratio {
    pub fn new(count: i128, of: i128) -> Ratio {
        assert!(count >= 0 && of > 0, "{count} / {of}");
        let common = gcd(count, of);
        Ratio { count: count / common, of: of / common }
    }

    /// The double that a program gets that writes this number down.
    pub fn double(self) -> f64 {
        assert!(self.count < 1 << 53 && self.of < 1 << 53, "one rounding at most: {self:?}");
        self.count as f64 / self.of as f64
    }

    pub fn times(self, other: Ratio) -> Ratio {
        let (left, right) = (Ratio::new(self.count, other.of), Ratio::new(other.count, self.of));
        Ratio::new(left.count * right.count, left.of * right.of)
    }

    pub fn over(self, other: Ratio) -> Ratio {
        self.times(Ratio { count: other.of, of: other.count })
    }

    pub fn at_most(self, other: Ratio) -> bool {
        self.count.checked_mul(other.of).unwrap() <= other.count.checked_mul(self.of).unwrap()
    }

    pub fn floor(self) -> u64 {
        (self.count / self.of) as u64
    }
}

pub fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 {
        a
    } else {
        gcd(b, a % b)
    }
}

/// So many requests in so many nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    pub limit: Ratio,
    pub window: Ratio,
    pub extra_bits: u32,
}

impl Policy {
    pub fn window_in_seconds(&self) -> f64 {
        self.window.over(Ratio::new(1_000_000_000, 1)).double()
    }

    /// The bound below which everything is promised to be exact.
    fn finest(&self) -> i128 {
        9 << self.extra_bits
    }

    /// Requests a nanosecond.
    fn rate(&self) -> Ratio {
        self.limit.over(self.window)
    }

    /// The parts of a nanosecond of which a request and the window take whole numbers.
    fn parts(&self) -> i128 {
        let (each, of) = (self.rate().count, self.window.of);
        each / gcd(each, of) * of
    }

    /// Whether whole requests are promised to be counted without any rounding.
    pub fn is_exact(&self) -> bool {
        self.parts() <= self.finest()
    }

    /// Whether the rate is promised not to be rounded down.
    pub fn rate_is_exact(&self) -> bool {
        self.is_exact() || self.limit.of == 1 && self.is_exact_for(Ratio::new(1, 1))
    }

    /// Whether a cost is promised to be counted without rounding it: in an exact policy if it takes a whole number of
    /// parts to flow in, or of halves, tenths, thirds of them, and so on, while there is room for those; in another one
    /// if it is whole, up to 9 requests a nanosecond.
    pub fn is_exact_for(&self, cost: Ratio) -> bool {
        const FINER: [i128; 9] = [1, 2, 10, 30, 60, 120, 600, 1800, 12_600];
        if !self.is_exact() {
            return cost.of == 1 && self.rate().at_most(Ratio::new(9, 1));
        }
        let takes = cost.over(self.rate());
        FINER.map(|finer| self.parts() * finer).iter().any(|parts| *parts <= self.finest() && parts % takes.of == 0)
    }
}

/// A token bucket. All times are counted in a fraction of a nanosecond, chosen so that each of the costs takes a whole
/// number of them to flow in.
#[derive(Clone, Debug)]
pub struct Bucket {
    of: i128,
    window: i128,
    /// When it will be full, if nothing more is spent.
    full: i128,
}

impl Bucket {
    /// None where the exact numbers would not fit.
    pub fn new(policy: &Policy, costs: &[Ratio]) -> Option<Bucket> {
        const LATEST: i128 = 1 << 62;
        let of = costs.iter().try_fold(policy.window.of, |of, &cost| {
            let takes = cost.over(policy.rate());
            of.checked_mul(takes.of / gcd(of, takes.of))
        })?;
        of.checked_mul(LATEST)?;
        Some(Bucket { of, window: policy.window.count * (of / policy.window.of), full: 0 })
    }

    /// How long a cost takes to flow in.
    pub fn takes(&self, policy: &Policy, cost: Ratio) -> i128 {
        let takes = cost.over(policy.rate());
        takes.count * (self.of / takes.of)
    }

    /// Whether it pays at a clock reading. A reading that is older than others gives nothing.
    pub fn allows(&self, clock: i128, takes: i128) -> bool {
        let now = clock * self.of;
        self.full.max(now) + takes <= now + self.window
    }

    pub fn spend(&mut self, clock: u64, takes: i128) {
        self.full = self.full.max(i128::from(clock) * self.of) + takes;
    }

    /// The first clock reading at which it pays.
    pub fn due(&self, takes: i128) -> u64 {
        let due = (self.full + takes - self.window).max(0);
        (due / self.of + i128::from(due % self.of != 0)) as u64
    }

    /// How long what it holds at a clock reading took to flow in.
    pub fn holds(&self, clock: i128) -> i128 {
        let now = clock * self.of;
        (now + self.window - self.full.max(now)).max(0)
    }

    /// What flows in during so many nanoseconds, and a bucketful.
    pub fn flows_in(&self, nanoseconds: u64) -> i128 {
        self.window + i128::from(nanoseconds) * self.of
    }

    /// The windows that have begun since a reading.
    pub fn windows_since(&self, earlier: u64, clock: u64) -> i128 {
        i128::from(clock.saturating_sub(earlier)) * self.of / self.window + 1
    }

    /// Whether spends, each a clock reading and what it takes, keep the promise over every interval: no more than flows
    /// in during it, and a window's worth.
    pub fn keeps_every_interval(&self, spends: &[(u64, i128)]) -> bool {
        let mut spends = spends.to_vec();
        spends.sort_unstable();
        (0..spends.len()).all(|first| {
            let mut sum = 0;
            spends[first..].iter().all(|&(clock, takes)| {
                sum += takes;
                sum <= self.flows_in(clock - spends[first].0)
            })
        })
    }
}
