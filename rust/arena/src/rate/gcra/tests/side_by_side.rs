//! A bucket as the limiter has it and the one that rounds nothing, side by side: both are asked the same, and only what
//! the limiter's allows is spent from both.

use super::super::{Decision, Gcra};
use super::oracle::{Bucket, Policy, Ratio};

/// The latest clock reading that has to be told apart from later ones.
pub const LATEST: u64 = 1_700_000_000_000_000_000;

/// What a request costs: as a program says it, in the limiter's units, and in the oracle's time.
#[derive(Debug)]
pub struct Cost {
    requests: f64,
    units: u128,
    takes: i128,
    is_exact: bool,
}

pub struct Buckets {
    gcra: Gcra,
    arrival: u128,
    bucket: Bucket,
    all: Cost,
    is_exact: bool,
    rate_is_exact: bool,
    counts_each: bool,
    /// Nanoseconds that the limiter's may be late by now, a nanosecond for each cost that was rounded.
    late: i128,
    /// Since when it may be late.
    since: u64,
    spends: Vec<(u64, i128)>,
}

fn promise(kept: bool, broken: &str) -> Result<(), String> {
    kept.then_some(()).ok_or_else(|| broken.to_string())
}

impl Buckets {
    /// Both full, with costs that are not above the limit. None where the exact numbers would not fit.
    pub fn new(policy: &Policy, costs: &[Ratio]) -> Option<(Buckets, Vec<Cost>)> {
        let all = [costs, &[policy.limit]].concat();
        let bucket = Bucket::new(policy, &all)?;
        let gcra = Gcra::new(policy.limit.double(), policy.window_in_seconds(), policy.extra_bits);
        let mut costs: Vec<Cost> = all
            .iter()
            .map(|&cost| Cost {
                requests: cost.double(),
                units: gcra.cost(cost.double()).expect("a bucket may hold a cost up to the limit"),
                takes: bucket.takes(policy, cost),
                is_exact: policy.is_exact_for(cost),
            })
            .collect();
        let buckets = Buckets {
            gcra,
            arrival: 0,
            bucket,
            all: costs.pop()?,
            is_exact: policy.is_exact(),
            rate_is_exact: policy.rate_is_exact(),
            counts_each: policy.is_exact_for(Ratio::new(1, 1)),
            late: 0,
            since: 0,
            spends: Vec::new(),
        };
        Some((buckets, costs))
    }

    /// The first reading at which the cost is due.
    pub fn due(&self, cost: &Cost) -> u64 {
        self.bucket.due(cost.takes)
    }

    /// The first reading at which the bucket has to be full.
    pub fn refilled(&self) -> u64 {
        self.bucket.due(self.all.takes)
    }

    /// How many requests a full bucket and the time since a reading are good for.
    pub fn owed(&self, since: u64, clock: u64, cost: &Cost) -> u64 {
        (self.bucket.flows_in(clock - since) / cost.takes) as u64
    }

    fn decide(&self, arrival: u128, clock: u64, units: u128) -> Decision {
        self.gcra.decide(arrival, self.gcra.moment(clock), units)
    }

    fn allows(&self, clock: u64, cost: &Cost) -> bool {
        matches!(self.decide(self.arrival, clock, cost.units), Decision::Allow(_))
    }

    /// Nanoseconds by which a cost may be late at a reading: one for rounded moments; one a window for a rounded rate;
    /// and one for each rounded cost. Where all is exact, none.
    fn late(&self, clock: u64, cost: &Cost) -> i128 {
        let flow = if self.rate_is_exact { 0 } else { self.bucket.windows_since(self.since, clock) };
        i128::from(!self.is_exact) + flow + self.late + i128::from(!cost.is_exact)
    }

    /// Asks both; whether it was allowed. Never before it is due, and never later than by what has been rounded.
    pub fn ask(&mut self, clock: u64, cost: &Cost) -> Result<bool, String> {
        let late = self.late(clock, cost);
        let Decision::Allow(later) = self.decide(self.arrival, clock, cost.units) else {
            let due = self.bucket.allows(i128::from(clock) - late, cost.takes);
            return promise(!due, "refused what is due").map(|()| false);
        };
        promise(self.bucket.allows(i128::from(clock), cost.takes), "allowed too early")?;
        if i128::from(self.refilled()) + late <= i128::from(clock) {
            (self.late, self.since) = (0, clock);
        }
        self.late += i128::from(!cost.is_exact);
        self.arrival = later;
        self.bucket.spend(clock, cost.takes);
        self.spends.push((clock, cost.takes));
        Ok(true)
    }

    /// Over every interval, no more than was promised.
    pub fn keep_every_interval(&self) -> Result<(), String> {
        promise(self.bucket.keeps_every_interval(&self.spends), "an interval with more than was promised")
    }

    /// Checks what the questions say that spend nothing.
    pub fn look(&self, clock: u64, cost: &Cost) -> Result<(), String> {
        self.look_at_wait(clock, cost)?;
        self.look_at_refill(clock)?;
        self.look_at_remaining(clock, cost)
    }

    /// The wait ends when the cost is due, and is tight from both sides.
    fn look_at_wait(&self, clock: u64, cost: &Cost) -> Result<(), String> {
        let wait = self.gcra.wait_ns(self.arrival, clock, cost.units);
        promise((wait == 0) == self.allows(clock, cost), "no wait for what is refused, or one for what is not")?;
        let (due, then) = (self.due(cost).max(clock), clock + wait);
        if then > LATEST {
            return Ok(());
        }
        promise(then >= due && i128::from(then - due) <= self.late(then, cost), "a wait until another moment")?;
        promise(self.allows(then, cost), "refused after the wait")?;
        promise(wait == 0 || !self.allows(then - 1, cost), "allowed before the wait is over")
    }

    /// The refill ends when the bucket is full, which is when it pays all there can be, and not a nanosecond before.
    fn look_at_refill(&self, clock: u64) -> Result<(), String> {
        let (due, then) = (self.refilled().max(clock), clock + self.gcra.refill_ns(self.arrival, clock));
        if then > LATEST {
            return Ok(());
        }
        let late = self.late(then, &self.all);
        promise(then >= due && i128::from(then - due) <= late, "full at another moment")?;
        promise(self.allows(then, &self.all), "not full after the refill")?;
        promise(then == clock || !self.allows(then - 1, &self.all), "full before the refill is over")
    }

    /// The whole part of what remains is what is granted at that reading.
    fn look_at_remaining(&self, clock: u64, cost: &Cost) -> Result<(), String> {
        let now = self.gcra.moment(clock);
        let remaining = self.gcra.remaining(self.arrival, now, cost.requests);
        let whole = remaining.floor() as i128;
        let holds = self.bucket.holds(i128::from(clock));
        promise(whole <= holds / cost.takes, "more remains than is there")?;
        let late = self.late(clock, cost);
        if cost.is_exact {
            let least = self.bucket.holds(i128::from(clock) - late) / cost.takes;
            promise(whole >= least, "less remains than is there")?;
        }
        if late == 0 {
            let exact = holds as f64 / cost.takes as f64;
            promise((remaining - exact).abs() <= exact * 1e-12, "another part of a request remains")?;
        }
        // Past 9 requests a nanosecond, they are counted several at a time. And the last request of a full bucket may
        // have to wait for the next nanosecond.
        let split = self.arrival <= now.floor && now.floor != now.ceiling;
        let granted = |number| self.grants(clock, cost, number);
        let short = i128::from(split && !granted(whole));
        promise(!self.counts_each || granted(whole - short), "less is granted than remains")?;
        promise(!self.counts_each || !granted(whole + 1), "more is granted than remains")
    }

    /// Whether so many requests would be granted at one reading.
    fn grants(&self, clock: u64, cost: &Cost, number: i128) -> bool {
        if number <= 0 {
            return true;
        }
        match self.decide(self.arrival, clock, cost.units) {
            Decision::Allow(_) if number == 1 => true,
            // After the first, each adds its units.
            Decision::Allow(first) => {
                let arrival = first + (number as u128 - 2) * cost.units;
                matches!(self.decide(arrival, clock, cost.units), Decision::Allow(_))
            }
            Decision::Deny => false,
        }
    }
}
