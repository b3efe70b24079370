//! What steady clients get: those that ask again and again, and those that ask for all there is at one moment.

use super::oracle::{Policy, Ratio};
use super::policies;
use super::random::{check_cases, Random};
use super::side_by_side::{Buckets, LATEST};

#[derive(Debug)]
struct Polling {
    policy: Policy,
    cost: Ratio,
    start: u64,
    period: u64,
}

/// A cost of which a full bucket holds a few dozen at most.
fn cost_and_policy(random: &mut Random) -> (Ratio, Policy) {
    let policy = policies::policy(random);
    let whole = policy.limit.floor();
    let decimals = random.of(&[1, 1, 1, 10, 100, 3]);
    let least = (whole * decimals).div_ceil(30).max(1);
    let cost =
        Ratio::new(i128::from(random.within(least, (least * 4).min(whole.max(1) * decimals))), i128::from(decimals));
    (if cost.at_most(policy.limit) { cost } else { policy.limit }, policy)
}

fn draw(random: &mut Random) -> Option<(Polling, Vec<()>)> {
    let (cost, policy) = cost_and_policy(random);
    Buckets::new(&policy, &[cost])?;
    let window = policy.window.floor();
    let period = match random.below(3) {
        0 => window.div_ceil(random.within(1, 100)),
        1 => random.of_any_length(1, 2 * window),
        _ => cost.over(policy.limit).times(policy.window).floor() + random.below(3),
    };
    let polls = random.within(1, 30);
    let last = LATEST.checked_sub(period.max(1).checked_mul(polls)?)?;
    let start = if random.once_in(8) { random.below(3) } else { random.within(0, last) };
    Some((Polling { policy, cost, start, period: period.max(1) }, vec![(); polls as usize]))
}

/// Asks until refused, at every poll.
fn check(polling: &Polling, polls: &[()]) -> Result<(), String> {
    let (mut buckets, costs) = Buckets::new(&polling.policy, &[polling.cost]).expect("drawn so that it fits");
    let (start, cost) = (polling.start, &costs[0]);
    let full = buckets.owed(start, start, cost);
    let exact = polling.policy.is_exact() && polling.policy.is_exact_for(polling.cost);
    let (mut clock, mut allowed, mut overflows) = (start, 0, false);
    for _ in polls {
        let before = allowed;
        while buckets.ask(clock, cost)? {
            allowed += 1;
        }
        // A bucket that was full lost what flowed in since.
        overflows |= clock > start && allowed - before >= full;
        let owed = buckets.owed(start, clock, cost);
        if exact && clock == start && allowed != full {
            return Err(format!("{allowed} of {full} at one reading"));
        }
        if exact && !overflows && allowed != owed || allowed > owed {
            return Err(format!("{allowed} instead of {owed} after {} ns", clock - start));
        }
        clock += polling.period;
    }
    buckets.keep_every_interval()
}

#[test]
fn whoever_keeps_asking_gets_at_every_poll_what_is_due() {
    check_cases(20, draw, check);
}
