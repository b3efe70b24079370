//! Every promise, after every step of random histories, against the bucket that rounds nothing.

use super::oracle::{Bucket, Policy, Ratio};
use super::policies;
use super::random::{check_cases, Random};
use super::side_by_side::{Buckets, LATEST};

const FIFTY_YEARS: u64 = 50 * 31_557_600 * 1_000_000_000;

#[derive(Clone, Debug)]
struct Step {
    clock: Clock,
    /// Which of the costs is asked for, and how often at that reading.
    cost: usize,
    times: u64,
}

/// Where the next reading is.
#[derive(Clone, Copy, Debug)]
enum Clock {
    Stands,
    On(u64),
    Back(u64),
    /// So many nanoseconds from the first at which the cost is due.
    Due(i64),
    /// So many nanoseconds from the first at which the bucket is full.
    Full(i64),
}

#[derive(Debug)]
struct Setting {
    policy: Policy,
    costs: Vec<Ratio>,
    start: u64,
}

fn draw(random: &mut Random) -> Option<(Setting, Vec<Step>)> {
    let policy = policies::policy(random);
    let costs = policies::costs(random, &policy);
    Bucket::new(&policy, &costs)?;
    let window = policy.window.floor();
    let start = match random.below(6) {
        0 => random.below(3),
        1 => LATEST - random.of_any_length(1, 4 * window),
        _ => random.of_any_length(1, LATEST),
    };
    let near = |random: &mut Random| {
        let early = -(random.within(2, 100) as i64);
        random.of(&[-1, -1, 0, 0, 0, 1, 2, early])
    };
    let steps = (0..random.within(1, 40))
        .map(|_| {
            let clock = match random.below(16) {
                0 | 1 => Clock::Stands,
                2 => Clock::On(random.within(1, 3)),
                3 => Clock::On(random.of_any_length(1, window)),
                4 => Clock::On(window / random.within(1, 50)),
                5 => Clock::Back(random.of_any_length(1, window)),
                6 => Clock::Back(random.within(1, 3)),
                7 => Clock::Full(near(random)),
                8 if random.once_in(4) => Clock::On(FIFTY_YEARS),
                _ => Clock::Due(near(random)),
            };
            let times = if random.once_in(4) { random.within(2, 12) } else { 1 };
            Step { clock, cost: random.below(costs.len() as u64) as usize, times }
        })
        .collect();
    Some((Setting { policy, costs, start }, steps))
}

fn check(setting: &Setting, steps: &[Step]) -> Result<(), String> {
    let (mut buckets, costs) = Buckets::new(&setting.policy, &setting.costs).expect("drawn so that it fits");
    let mut clock = setting.start;
    for step in steps {
        let cost = &costs[step.cost];
        let next = match step.clock {
            Clock::Stands => clock,
            Clock::On(nanoseconds) => clock.saturating_add(nanoseconds),
            Clock::Back(nanoseconds) => clock.saturating_sub(nanoseconds),
            Clock::Due(off) => buckets.due(cost).saturating_add_signed(off).max(clock),
            Clock::Full(off) => buckets.refilled().saturating_add_signed(off).max(clock),
        };
        clock = next.min(LATEST);
        for _ in 0..step.times {
            buckets
                .look(clock, cost)
                .and_then(|()| buckets.ask(clock, cost))
                .map_err(|why| format!("{why}, {clock}"))?;
        }
    }
    buckets.keep_every_interval()
}

#[test]
fn no_history_gets_more_than_promised_or_is_refused_what_is_due() {
    check_cases(80, draw, check);
}
