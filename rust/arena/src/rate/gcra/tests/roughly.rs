//! Answers from a rough reading of the clock are those of the exact one, however far it lags.

use super::super::{Decision, Divisor, Gcra, HORIZON_NS};
use super::policies;
use super::random::{check_cases, Random};
use crate::clock::MARGIN_NS;

#[derive(Debug)]
struct Setting {
    gcra: Gcra,
    requests: f64,
}

/// A bucket, and how far the rough clock lags.
#[derive(Clone, Debug)]
struct Step {
    clock: u64,
    lag: u64,
    arrival: u128,
}

const LAGS: [u64; 7] = [0, 1, 1_000_000, 3_000_000, 4_000_000, 99_000_000, MARGIN_NS - 1];

fn draw(random: &mut Random) -> Option<(Setting, Vec<Step>)> {
    let policy = policies::policy(random);
    let gcra = Gcra::new(policy.limit.double(), policy.window_in_seconds(), policy.extra_bits);
    let costs = policies::costs(random, &policy);
    let requests = if random.once_in(2) { 1.0 } else { random.of(&costs).double() };
    let cost = gcra.cost(requests)?;
    let steps = (0..20).map(|_| step(random, &gcra, cost)).collect();
    Some((Setting { gcra, requests }, steps))
}

/// A moment near which an answer changes, or any other.
fn step(random: &mut Random, gcra: &Gcra, cost: u128) -> Step {
    let clock = match random.below(8) {
        0 => random.below(3 * MARGIN_NS),
        1 => HORIZON_NS - MARGIN_NS + random.below(3 * MARGIN_NS),
        _ => random.of_any_length(1, HORIZON_NS),
    };
    let lag = if random.once_in(2) { random.of(&LAGS) } else { random.below(MARGIN_NS) };
    let any = |random: &mut Random, end: u128| (u128::from(random.word()) * (end >> 32)) >> 32;
    let changes = match random.below(6) {
        0 => 0,
        1 => gcra.capacity - cost,
        2 => gcra.capacity,
        3 => gcra.margin,
        // Where a whole number of requests is left.
        4 => gcra.capacity - any(random, gcra.capacity) / cost * cost,
        _ => any(random, gcra.capacity),
    };
    let near = gcra.moment(clock).floor + changes;
    let off = match random.below(4) {
        0 => u128::from(random.below(4)),
        1 => any(random, 2 * gcra.margin + 2),
        2 => u128::from(random.below(4)) + gcra.margin,
        _ => any(random, cost + 2),
    };
    let arrival = if random.once_in(2) { near.saturating_sub(off) } else { near + off };
    // Not more than a process whose clock is some margins ahead may have spent.
    Step { clock, lag, arrival: arrival.min(gcra.moment(clock).ceiling + gcra.capacity + 3 * gcra.margin) }
}

fn check(setting: &Setting, steps: &[Step]) -> Result<(), String> {
    let Setting { gcra, requests } = setting;
    let cost = gcra.cost(*requests).expect("drawn so");
    for Step { clock, lag, arrival } in steps {
        let (now, rough) = (gcra.moment(*clock), clock.saturating_sub(*lag));
        let (known, exact) = (gcra.decide_roughly(*arrival, rough, cost), gcra.decide(*arrival, now, cost));
        if known.is_some_and(|decision| decision != exact) {
            return Err(format!("{known:?} instead of {exact:?}"));
        }
        let wait = gcra.wait_ns(*arrival, *clock, cost);
        if gcra.pays_from(*arrival, rough, cost) && wait != 0 {
            return Err(format!("no wait instead of {wait}"));
        }
        let remaining = gcra.remaining(*arrival, now, 1.0);
        if let Some(known) = gcra.remaining_roughly(*arrival, rough) {
            if known > remaining || known.floor() != remaining.floor() {
                return Err(format!("{known} remaining instead of {remaining}"));
            }
        }
    }
    Ok(())
}

#[test]
fn what_is_known_from_a_rough_reading_is_so() {
    check_cases(100, draw, check);
}

#[test]
fn most_is_known_from_a_rough_reading_where_a_request_takes_much_longer_than_a_margin() {
    let gcra = Gcra::new(5.0, 60.0, 6);
    let (clock, one) = (1_234_567_890_123, gcra.cost(1.0).unwrap());
    let now = gcra.moment(clock).ceiling;
    for spent in 1..5 {
        let arrival = now + spent * one - one / 2;
        assert_eq!(gcra.decide_roughly(arrival, clock, one), Some(Decision::Allow(arrival + one)));
        assert_eq!(gcra.remaining_roughly(arrival, clock), Some(5.5 - spent as f64));
        assert!(gcra.pays_from(arrival, clock, one));
    }
    let empty = now + gcra.capacity - one / 2;
    assert_eq!(gcra.decide_roughly(empty, clock, one), Some(Decision::Deny));
    assert_eq!(gcra.remaining_roughly(empty, clock), Some(0.5));
    assert!(!gcra.pays_from(empty, clock, one));
    // And that a full bucket is full, but not how it goes on; nor what becomes full within the margin.
    assert_eq!((gcra.decide_roughly(now, clock, one), gcra.remaining_roughly(now, clock)), (None, Some(5.0)));
    let soon = now + gcra.margin;
    assert_eq!((gcra.decide_roughly(soon, clock, one), gcra.remaining_roughly(soon, clock)), (None, None));
}

#[test]
fn a_division_by_an_estimate_is_exact() {
    let mut random = Random::new(1);
    for _ in 0..200_000 {
        let units = random.of_any_length(1, (1 << 62) - 1);
        let times = random.of_any_length(1, 1_000_000_000);
        let product = u128::from(units) * u128::from(times);
        let rest = u128::from(random.below(units));
        for held in [product, product - 1, product + rest, rest, 0] {
            let exact = (held / u128::from(units), held % u128::from(units));
            let (whole, rest) = Divisor::new(u128::from(units)).unwrap().divide(held);
            assert_eq!((whole as u128, rest as u128), exact, "{held} by {units}");
        }
    }
}
