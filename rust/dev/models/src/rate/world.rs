//! What scenarios are written in: a table of one group that some processes share, and what must hold of it.

use super::gcra::Gcra;
use super::slot::{Content, Format, EMPTY};
use super::table::{Home, Line, Outcome, Time};
use crate::failpoint;
use crate::layout::{BucketGroup, Tally, GROUP_BUCKETS, LINE};
use crate::mapping::Mapping;
use crate::memory::{process, Memory, PROCESSES};
use crate::search::{Place, Process, Search};
use crate::sync::{AtomicU64, Ordering};

/// Hashes of keys, all of one group.
pub type Key = u64;

/// The policy of every scenario: so many requests, and nanoseconds in which they come back.
pub const LIMIT: u64 = 3;
pub const WINDOW: u64 = 3_000;

/// Where the common time lies: behind the table and the lines of statistics.
const TIME_AT: u64 = LINE * (1 + PROCESSES as u64);

/// Clocks of processes that are at work at once differ by less: too little for a request to come back.
const AT_ONCE: u64 = 10;

/// A clock whose rough readings are exact, since nothing that is modelled depends on how far they lag.
impl<F: Fn() -> u64> Time for F {
    fn rough_ns(&self) -> u64 {
        self()
    }

    fn exact_ns(&self) -> u64 {
        self()
    }
}

/// What a slot holds when a scenario starts.
#[derive(Clone, Copy)]
pub enum Slot {
    Empty,
    /// A bucket that is full from that clock reading on.
    Bucket(Key, u64),
    /// A claim whose maker died.
    Left(Key),
}

impl Search {
    /// Runs processes at once over a table that starts like this, in every order.
    pub fn of<T: 'static, const N: usize>(
        self,
        slots: [Slot; GROUP_BUCKETS],
        processes: [Process<World, T>; N],
        judge: impl Fn(&World, [T; N]) + Send + Sync + 'static,
    ) {
        let gcra = Gcra::new(LIMIT as f64, WINDOW as f64 / 1e9, 0);
        self.run(World::new(gcra, slots, self.unique_claims), processes, judge);
    }
}

/// The table, a line of statistics for each process, and the time.
pub struct World {
    gcra: Gcra,
    mapping: Mapping,
    unique_claims: bool,
}

impl Place for World {
    fn memory(&self) -> &Memory {
        self.mapping.memory()
    }
}

impl World {
    fn new(gcra: Gcra, slots: [Slot; GROUP_BUCKETS], unique_claims: bool) -> World {
        let world = World { gcra, mapping: Mapping::new(TIME_AT + 8), unique_claims };
        for (index, (pair, slot)) in world.table()[0].slots.iter().zip(slots).enumerate() {
            pair.set_plain(match slot {
                Slot::Empty => EMPTY,
                Slot::Bucket(key, full_at) => format().bucket(key, gcra.moment(full_at).ceiling),
                // Of a process that is no longer there.
                Slot::Left(key) => Format::claim(key, 9 << 50 | index as u64),
            });
        }
        world
    }

    fn table(&self) -> &[BucketGroup] {
        self.mapping.view(0, 1).unwrap()
    }

    fn tallies(&self) -> &[Tally] {
        self.mapping.view(LINE, PROCESSES as u64).unwrap()
    }

    fn time(&self) -> &AtomicU64 {
        &self.mapping.view(TIME_AT, 1).unwrap()[0]
    }

    fn home(&self, key: Key) -> Home<'_> {
        Home::new(self.table(), format(), key)
    }

    fn check(&self, key: Key, clock: impl Fn() -> u64, requests: u64) -> bool {
        let process = process();
        // Equal numbers, each counting for itself: equal claims.
        let number = if self.unique_claims { process as u64 } else { 0 };
        let line = Line { number, tally: &self.tallies()[process] };
        let cost = self.gcra.cost(requests as f64).unwrap();
        let outcome = self.home(key).spend(&self.gcra, &clock, cost, line);
        assert!(outcome != Outcome::Contended, "a check gave up");
        outcome == Outcome::Allowed
    }

    /// Whether one request of the key may pass, as this process sees it if its clock shows that.
    pub fn spend(&self, key: Key, clock: u64) -> bool {
        self.check(key, || clock, 1)
    }

    /// Whether as many requests as there are in a full bucket may pass.
    pub fn spend_all(&self, key: Key, clock: u64) -> bool {
        self.check(key, || clock, LIMIT)
    }

    /// Whether one request of the key may pass at the common time.
    pub fn spend_now(&self, key: Key) -> bool {
        // An addition of nothing reads the newest value, as one does of a clock.
        self.check(key, || self.time().fetch_add(0, Ordering::Relaxed), 1)
    }

    /// Lets the common time be that.
    pub fn set_time(&self, time: u64) {
        self.time().swap(time, Ordering::Relaxed);
    }

    /// `spend`, but for a process that dies at the failpoint if it comes there.
    pub fn spend_until(&self, point: &'static str, key: Key, clock: u64) -> Option<bool> {
        failpoint::until(point, || self.spend(key, clock))
    }

    pub fn reset(&self, key: Key) -> bool {
        self.home(key).refill()
    }

    pub fn forget(&self, key: Key) -> bool {
        self.home(key).forget()
    }

    /// Buckets that were taken over while in use.
    pub fn evicted(&self) -> u64 {
        self.tallies().iter().map(|tally| tally.evicted.load(Ordering::Relaxed)).sum()
    }

    fn buckets(&self, key: Key) -> Vec<u128> {
        let slots = self.table()[0].slots.iter().map(|pair| pair.load(Ordering::Acquire));
        let own = slots.filter(|slot| format().is_of(slot.0, key));
        let arrivals = own.filter_map(|slot| match format().content(slot) {
            Content::Bucket(arrival) => Some(arrival),
            Content::Empty | Content::Claim => None,
        });
        let arrivals: Vec<u128> = arrivals.collect();
        assert!(arrivals.len() <= 1, "{} buckets of one key", arrivals.len());
        arrivals
    }

    /// How many requests the key's bucket has paid, all at about the start of the clock; None when it has none. Whoever
    /// looks has joined all the others.
    pub fn paid(&self, key: Key) -> Option<u64> {
        let arrival = *self.buckets(key).first()?;
        let one = self.gcra.cost(1.0).unwrap();
        assert!(arrival % one < self.gcra.moment(AT_ONCE).floor, "an arrival that no spending makes: {arrival}");
        Some((arrival / one) as u64)
    }

    /// How many more requests pass at that clock reading until one is refused.
    pub fn spend_rest(&self, key: Key, clock: u64) -> u64 {
        let rest = (0..=LIMIT).take_while(|_| self.spend(key, clock)).count() as u64;
        self.buckets(key);
        rest
    }
}

fn format() -> Format {
    Format::of_table(GROUP_BUCKETS as u64)
}

/// The number of those that said yes.
pub fn count<const N: usize>(answers: [bool; N]) -> u64 {
    answers.into_iter().map(u64::from).sum()
}
