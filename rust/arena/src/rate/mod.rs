//! A rate limiter: one bucket per key, shared by every process.
//!
//! `gcra` decides, with the arithmetic of `fraction` and `divisor`; `table` keeps the buckets, and `slot` says how they
//! are written down. A check is one compare-and-swap, or two where a bucket begins; a refusal writes nothing but
//! statistics; asking what remains writes nothing at all. A process that dies has spent or has not.

mod divisor;
mod fraction;
mod gcra;
mod slot;
mod table;

use crate::arena::Arena;
use crate::clock;
use crate::error::{shown, Error, Result};
use crate::layout::{self, kind, BucketGroup, LimiterHeader, Tally, MAX_SLOTS, MIN_LIMITER_SLOTS, TALLIES};
use crate::mapping::View;
use crate::registry::{Plan, Region};
use crate::sync::Ordering;
use gcra::Gcra;
use slot::Format;
use std::sync::Arc;
use table::{Home, Line, Outcome, Time};

/// Most requests a limit may have.
pub const MAX_LIMIT: f64 = 1e9;
/// Fewest; below one, only costs below one are ever allowed.
pub const MIN_LIMIT: f64 = 1e-9;
/// Longest window, in seconds: ten years.
pub const MAX_WINDOW: f64 = 315_576_000.0;
/// Shortest window, in seconds: one step of the clock.
pub const MIN_WINDOW: f64 = 1e-9;

/// What makes two limiters of one name the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Requests a full bucket holds.
    pub limit: f64,
    /// Seconds in which an empty bucket fills.
    pub window: f64,
    /// Keys the table holds: a power of two, at least 64; what is asked for is rounded up.
    pub slots: u64,
}

impl Policy {
    /// What the header of a limiter's region says.
    pub(crate) fn of(arena: &Arena, region: &Region) -> Option<Policy> {
        let raw = &arena.mapping().view::<LimiterHeader>(region.offset, 1)?[0];
        Some(Policy {
            limit: f64::from_bits(raw.limit.load(Ordering::Relaxed)),
            window: f64::from_bits(raw.window.load(Ordering::Relaxed)),
            slots: raw.slots.load(Ordering::Relaxed),
        })
    }
}

impl std::fmt::Display for Policy {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "a limiter of {} per {} seconds with {} slots", self.limit, self.window, self.slots)
    }
}

/// What `stats` tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// The policy.
    pub policy: Policy,
    /// Buckets that are not full.
    pub keys: u64,
    /// Checks that said yes.
    pub allowed: u64,
    /// Checks that said no.
    pub denied: u64,
    /// Buckets taken over, while still in use, for want of room.
    pub evicted: u64,
    /// Checks that gave up, and were allowed without being counted against anybody.
    pub contended: u64,
}

/// A limiter, bound in this process.
pub struct Limiter {
    arena: Arc<Arena>,
    policy: Policy,
    gcra: Gcra,
    format: Format,
    tallies: View<Tally>,
    table: View<BucketGroup>,
}

/// What an HTTP response tells a client about its bucket, in whole requests and seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// Requests a full bucket holds, rounded down.
    pub limit: u64,
    /// Requests the bucket holds now, rounded down.
    pub remaining: u64,
    /// Seconds until the bucket is full, rounded up.
    pub reset: u64,
    /// Seconds until the cost that was asked for can be paid, rounded up: 0 when it can be now, None when it never can.
    pub retry_after: Option<u64>,
}

/// The clock that every process agrees on and nobody can set.
struct Monotonic;

impl Time for Monotonic {
    #[inline]
    fn rough_ns(&self) -> u64 {
        clock::rough_monotonic_ns()
    }

    #[inline]
    fn exact_ns(&self) -> u64 {
        clock::monotonic_ns()
    }
}

impl Limiter {
    /// The limiter of that name in the arena, carved now if nobody has.
    ///
    /// # Errors
    /// As [`Map::bind`](crate::Map::bind), and `Corrupt` when the limiter goes by another clock than this process has.
    pub fn bind(arena: &Arc<Arena>, name: &[u8], asked: Policy) -> Result<Limiter> {
        check_range("limit", asked.limit, MIN_LIMIT, MAX_LIMIT)?;
        check_range("window", asked.window, MIN_WINDOW, MAX_WINDOW)?;
        if asked.slots == 0 || asked.slots > MAX_SLOTS {
            return Err(Error::Invalid(format!("a limiter has 1 to {MAX_SLOTS} slots, not {}", asked.slots)));
        }
        let policy = Policy { slots: asked.slots.next_power_of_two().max(MIN_LIMITER_SLOTS), ..asked };
        let plan = Plan {
            kind: kind::LIMITER,
            length: layout::limiter_length(policy.slots),
            charge: layout::limiter_charge(policy.slots),
        };
        let region = arena.carve(name, &plan, |region| {
            let raw = arena.mapping().view::<LimiterHeader>(region.offset, 1).ok_or_else(damaged)?;
            raw[0].slots.store(policy.slots, Ordering::Relaxed);
            raw[0].limit.store(policy.limit.to_bits(), Ordering::Relaxed);
            raw[0].window.store(policy.window.to_bits(), Ordering::Relaxed);
            raw[0].clock_offset.store(written(clock::monotonic_offset_ns()), Ordering::Relaxed);
            Ok(())
        })?;
        Limiter::check_policy(arena, &region, policy, &plan)?;
        Limiter::check_clock(arena, &region, name)?;
        let tallies_at = region.offset + std::mem::size_of::<LimiterHeader>() as u64;
        let slots_at = tallies_at + TALLIES * std::mem::size_of::<Tally>() as u64;
        let mapping = arena.mapping();
        let groups = policy.slots / layout::GROUP_BUCKETS as u64;
        let format = Format::of_table(policy.slots);
        // SAFETY: both live in the Limiter beside the arena, which keeps the mapping.
        unsafe {
            Ok(Limiter {
                arena: Arc::clone(arena),
                policy,
                gcra: Gcra::new(policy.limit, policy.window, format.extra_bits()),
                format,
                tallies: View::new(mapping.view(tallies_at, TALLIES).ok_or_else(damaged)?),
                table: View::new(mapping.view(slots_at, groups).ok_or_else(damaged)?),
            })
        }
    }

    fn check_policy(arena: &Arena, region: &Region, asked: Policy, plan: &Plan) -> Result<()> {
        if region.kind != kind::LIMITER || Policy::of(arena, region) != Some(asked) {
            return Err(Error::Shape { asked: asked.to_string(), there: arena.describe(region) });
        }
        // Equal policies take equal bytes, unless the registry was written over.
        if region.length == plan.length {
            Ok(())
        } else {
            Err(damaged())
        }
    }

    /// Time namespaces have clocks of their own, and one bucket cannot go by two of them: where the one is ahead it is
    /// full, and where the other is, everybody has to wait.
    fn check_clock(arena: &Arena, region: &Region, name: &[u8]) -> Result<()> {
        let raw = &arena.mapping().view::<LimiterHeader>(region.offset, 1).ok_or_else(damaged)?[0];
        let (theirs, ours) = (raw.clock_offset.load(Ordering::Relaxed), written(clock::monotonic_offset_ns()));
        if theirs == ours || theirs == 0 || ours == 0 {
            return Ok(());
        }
        let seconds = theirs.abs_diff(ours) as f64 / 1e9;
        let side = if theirs < ours { "behind" } else { "ahead of" };
        Err(Error::Corrupt(format!(
            "{} goes by the clock of another time namespace, {seconds} s {side} the one here",
            shown(name)
        )))
    }

    #[inline(always)]
    fn home(&self, key: &[u8]) -> Home<'_> {
        Home::new(&self.table, self.format, self.arena.header.hash.of(key))
    }

    #[inline]
    fn line(&self) -> Line<'_> {
        let number = self.arena.line() % TALLIES as usize;
        Line { number: number as u64, tally: &self.tallies[number] }
    }

    /// Spends `cost` requests of the key's bucket if it holds them; true when it did. `cost` is finite and not
    /// negative; one of 0 is allowed and spends nothing, one above the limit is never allowed. Constant time,
    /// without a lock. Fails open: see `contended`.
    #[inline]
    pub fn allow(&self, key: &[u8], cost: f64) -> bool {
        let line = self.line();
        let outcome = match self.gcra.cost(cost) {
            None => Outcome::Denied,
            Some(0) => Outcome::Allowed,
            Some(units) => self.home(key).spend(&self.gcra, &Monotonic, units, line),
        };
        line.count(outcome)
    }

    /// How many requests of that cost the key could make now; infinitely many that cost nothing. Writes nothing.
    #[inline]
    #[must_use]
    pub fn remaining(&self, key: &[u8], cost: f64) -> f64 {
        let arrival = self.home(key).arrival();
        if cost == 1.0 {
            if let Some(remaining) = self.gcra.remaining_roughly(arrival, clock::rough_monotonic_ns()) {
                return remaining;
            }
        }
        self.remaining_exactly(arrival, cost)
    }

    #[cold]
    #[inline(never)]
    fn remaining_exactly(&self, arrival: u128, cost: f64) -> f64 {
        self.gcra.remaining(arrival, self.gcra.moment(clock::monotonic_ns()), cost)
    }

    /// Seconds until `allow` with that cost says yes: 0 when it would now, infinite when it never will. Writes
    /// nothing.
    #[inline]
    #[must_use]
    pub fn retry_after(&self, key: &[u8], cost: f64) -> f64 {
        let Some(units) = self.gcra.cost(cost) else { return f64::INFINITY };
        let arrival = self.home(key).arrival();
        // What could be paid at any moment before can be now.
        if self.gcra.pays_from(arrival, clock::reached_monotonic_ns(), units) {
            return 0.0;
        }
        self.retry_after_exactly(arrival, units)
    }

    #[cold]
    #[inline(never)]
    fn retry_after_exactly(&self, arrival: u128, units: u128) -> f64 {
        seconds(self.gcra.wait_ns(arrival, clock::monotonic_ns(), units))
    }

    /// What a response should say: all of one moment. Writes nothing.
    #[must_use]
    pub fn outlook(&self, key: &[u8], cost: f64) -> Outlook {
        let (arrival, clock) = (self.home(key).arrival(), clock::monotonic_ns());
        let whole_seconds = |nanoseconds: u64| nanoseconds.div_ceil(1_000_000_000);
        Outlook {
            limit: self.gcra.limit() as u64,
            remaining: self.gcra.remaining(arrival, self.gcra.moment(clock), 1.0) as u64,
            reset: whole_seconds(self.gcra.refill_ns(arrival, clock)),
            retry_after: self.gcra.cost(cost).map(|units| whole_seconds(self.gcra.wait_ns(arrival, clock, units))),
        }
    }

    /// Fills the key's bucket; true when it had one.
    pub fn reset(&self, key: &[u8]) -> bool {
        self.home(key).refill()
    }

    /// Gives the key's slot back; true when it had one.
    pub fn forget(&self, key: &[u8]) -> bool {
        self.home(key).forget()
    }

    /// Keys the table holds.
    #[must_use]
    pub fn slots(&self) -> u64 {
        self.policy.slots
    }

    /// The statistics. Walks the whole table.
    #[must_use]
    pub fn figures(&self) -> Figures {
        // Relaxed: statistics.
        let sum = |cell: fn(&Tally) -> &crate::sync::AtomicU64| {
            self.tallies.iter().fold(0u64, |sum, tally| sum.wrapping_add(cell(tally).load(Ordering::Relaxed)))
        };
        Figures {
            policy: self.policy,
            keys: table::count_in_use(&self.table, self.format, self.gcra.moment(clock::monotonic_ns())),
            allowed: sum(|tally| &tally.allowed),
            denied: sum(|tally| &tally.denied),
            evicted: sum(|tally| &tally.evicted),
            contended: sum(|tally| &tally.contended),
        }
    }
}

/// Seconds, rounded up where a double does not tell nanoseconds: whoever waits so long has waited long enough.
fn seconds(nanoseconds: u64) -> f64 {
    let mut seconds = nanoseconds as f64 / 1e9;
    while ((seconds * 1e9) as u64) < nanoseconds {
        seconds = f64::from_bits(seconds.to_bits() + 1);
    }
    seconds
}

/// A clock's offset as a limiter's header keeps it: in order, and never 0 if it is known.
fn written(offset_ns: Option<i64>) -> u64 {
    offset_ns.map_or(0, |offset| (offset as u64) ^ (1 << 63))
}

fn check_range(what: &str, value: f64, smallest: f64, largest: f64) -> Result<()> {
    // Written so that NaN is outside.
    if value >= smallest && value <= largest {
        return Ok(());
    }
    Err(Error::Invalid(format!("a limiter's {what} is {smallest} to {largest}, not {value}")))
}

fn damaged() -> Error {
    Error::Corrupt("the region of this limiter is damaged".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_out_of_range_is_refused_and_nothing_is_carved() {
        let arena = Arena::on_heap(1 << 16, 2).unwrap();
        let good = Policy { limit: 5.0, window: 1.0, slots: 64 };
        for bad in [
            Policy { limit: 0.0, ..good },
            Policy { limit: -1.0, ..good },
            Policy { limit: f64::NAN, ..good },
            Policy { limit: MAX_LIMIT * 1.001, ..good },
            Policy { window: 0.0, ..good },
            Policy { window: f64::INFINITY, ..good },
            Policy { window: MAX_WINDOW + 1.0, ..good },
            Policy { slots: 0, ..good },
            Policy { slots: MAX_SLOTS + 1, ..good },
        ] {
            assert!(matches!(Limiter::bind(&arena, b"l", bad), Err(Error::Invalid(_))), "{bad}");
        }
        assert_eq!(Limiter::bind(&arena, b"l", good).unwrap().policy, good);
    }

    #[test]
    fn seconds_are_never_too_few_for_the_nanoseconds() {
        for nanoseconds in [0, 1, 999_999_999, (1 << 53) - 1, (1 << 53) + 1, 315_576_000_000_000_001, u64::MAX >> 2] {
            for near in nanoseconds..nanoseconds + 100 {
                assert!((seconds(near) * 1e9) as u64 >= near, "{near}");
            }
        }
    }
}
