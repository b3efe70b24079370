//! Whether the recorded calls on one key could have happened one after another, each at some moment between its
//! beginning and its end, and each with the answer it gave.
//!
//! The search is Wing and Gong's ("Testing and verifying concurrent objects", 1993): of the calls that could come
//! next, try each. As Lowe showed ("Testing for linearizability", 2017), it need not go on from a set of calls done
//! and a state that it has been at before. Keys are independent, so each has a history of its own.

use std::collections::HashSet;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// Bytes that only one store writes.
    Bytes(u8),
    /// Eight bytes that read as a counter.
    Planted(i64),
    Number(i64),
}

/// Times to live are in milliseconds, 0 for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Fetch,
    Exists,
    Counter,
    Store(Value, u64),
    Incr(i64, u64),
    Delete,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Value(Option<Value>),
    Yes(bool),
    /// Of `counter`, and of `incr` that counted.
    Number(Option<i64>),
    NotCounter,
    Stored,
    Full,
    /// What no call may answer: bytes that nobody stored, an error, or that it gave up.
    Wrong,
}

/// A call as it was recorded.
#[derive(Clone, Debug)]
pub struct Event {
    pub start: u64,
    /// `u64::MAX` for a call whose caller died in it: it took effect at any time since, or never.
    pub end: u64,
    pub call: Call,
    /// None for such a call.
    pub answer: Option<Answer>,
    /// What the clock may have shown it, in milliseconds and in order.
    pub clock: Vec<u64>,
}

/// An entry's value and its deadline, 0 for none.
type State = Option<(Value, u64)>;

/// Every way the call can go: its answer, and the state it leaves. Whoever finds an entry lapsed leaves none.
fn outcomes(state: State, event: &Event, may_be_full: bool) -> Vec<(Answer, State)> {
    let mut ways = Vec::new();
    for (index, &now) in event.clock.iter().enumerate() {
        let there = state.filter(|(_, deadline)| *deadline == 0 || now < *deadline);
        // Deadlines are reckoned from another look at the clock, at the same time or later.
        let deadlines = |ttl: u64| {
            let later = if ttl == 0 { &[0][..] } else { &event.clock[index..] };
            later.iter().map(move |now| if ttl == 0 { 0 } else { now + ttl })
        };
        if may_be_full && there.is_none() && matches!(event.call, Call::Store(..) | Call::Incr(..)) {
            ways.push((Answer::Full, None));
        }
        match (event.call, there) {
            (Call::Fetch, _) => ways.push((Answer::Value(there.map(|(value, _)| value)), there)),
            (Call::Exists, _) => ways.push((Answer::Yes(there.is_some()), there)),
            (Call::Counter, Some((Value::Number(number) | Value::Planted(number), _))) => {
                ways.push((Answer::Number(Some(number)), there));
            }
            (Call::Counter, _) => ways.push((Answer::Number(None), there)),
            (Call::Store(value, ttl), _) => {
                ways.extend(deadlines(ttl).map(|deadline| (Answer::Stored, Some((value, deadline)))));
            }
            (Call::Incr(by, _), Some((Value::Number(number) | Value::Planted(number), deadline))) => {
                ways.push((Answer::Number(Some(number + by)), Some((Value::Number(number + by), deadline))));
            }
            (Call::Incr(..), Some(_)) => ways.push((Answer::NotCounter, there)),
            (Call::Incr(by, ttl), None) => {
                let made = |deadline| (Answer::Number(Some(by)), Some((Value::Number(by), deadline)));
                ways.extend(deadlines(ttl).map(made));
            }
            (Call::Delete, _) => ways.push((Answer::Yes(there.is_some()), None)),
        }
    }
    ways
}

/// Whether there is such an order. `may_be_full`: there are more keys than slots, so a new one may be refused.
pub fn is_linearizable(events: &[Event], may_be_full: bool) -> bool {
    assert!(events.len() <= 64);
    Search { events, may_be_full, met: HashSet::new() }.goes_on(0, None)
}

struct Search<'a> {
    events: &'a [Event],
    may_be_full: bool,
    met: HashSet<(u64, State)>,
}

impl Search<'_> {
    /// `done` has a bit for each event that has taken effect.
    fn goes_on(&mut self, done: u64, state: State) -> bool {
        let events = self.events;
        let left = || events.iter().enumerate().filter(|(index, _)| done >> index & 1 == 0);
        // Nothing comes before a call that ended before it began.
        let first_end = left().map(|(_, event)| event.end).min().unwrap_or(u64::MAX);
        if first_end == u64::MAX {
            return true;
        }
        left().filter(|(_, event)| event.start < first_end).any(|(index, event)| {
            outcomes(state, event, self.may_be_full).into_iter().any(|(answer, next)| {
                let done = done | 1 << index;
                event.answer.map_or(true, |given| given == answer)
                    && self.met.insert((done, next))
                    && self.goes_on(done, next)
            })
        })
    }
}

mod tests {
    use super::*;
    use Answer::{Number, Stored, Yes};
    use Call::{Counter, Delete, Exists, Fetch, Incr, Store};

    const A: Value = Value::Bytes(1);
    const B: Value = Value::Bytes(2);

    fn event(start: u64, end: u64, call: Call, answer: Answer) -> Event {
        Event { start, end, call, answer: Some(answer), clock: vec![0] }
    }

    fn fetched(start: u64, end: u64, value: Option<Value>) -> Event {
        event(start, end, Fetch, Answer::Value(value))
    }

    fn at(clock: &[u64], event: Event) -> Event {
        Event { clock: clock.to_vec(), ..event }
    }

    fn died(start: u64, call: Call) -> Event {
        Event { start, end: u64::MAX, call, answer: None, clock: vec![0] }
    }

    fn good(events: &[Event]) {
        assert!(is_linearizable(events, false), "{events:?}");
    }

    fn bad(events: &[Event]) {
        assert!(!is_linearizable(events, false), "{events:?}");
    }

    #[test]
    fn the_checker_accepts_what_can_be_and_nothing_else() {
        good(&[]);
        let stored = event(1, 4, Store(A, 0), Stored);
        good(&[stored.clone(), fetched(2, 3, None)]);
        good(&[stored.clone(), fetched(2, 3, Some(A))]);
        bad(&[stored.clone(), fetched(5, 6, None)]);
        bad(&[fetched(1, 2, Some(A)), event(3, 4, Store(A, 0), Stored)]);
        bad(&[stored.clone(), event(5, 6, Fetch, Answer::Wrong)]);
        // New, then old again.
        bad(&[
            event(1, 2, Store(A, 0), Stored),
            event(3, 9, Store(B, 0), Stored),
            fetched(4, 5, Some(B)),
            fetched(6, 7, Some(A)),
        ]);
        // The same, overlapping.
        good(&[
            event(1, 2, Store(A, 0), Stored),
            event(3, 9, Store(B, 0), Stored),
            fetched(4, 7, Some(B)),
            fetched(5, 6, Some(A)),
        ]);
    }

    #[test]
    fn the_checker_sees_lost_and_doubled_effects() {
        let counted = |start, end, by, sum| event(start, end, Incr(by, 0), Number(Some(sum)));
        good(&[counted(1, 4, 1, 2), counted(2, 3, 1, 1), event(5, 6, Counter, Number(Some(2)))]);
        bad(&[counted(1, 4, 1, 1), counted(2, 3, 1, 1)]);
        bad(&[counted(1, 2, 1, 1), event(3, 4, Counter, Number(None))]);
        bad(&[counted(1, 2, 1, 1), event(3, 4, Incr(1, 0), Answer::NotCounter)]);
        good(&[counted(1, 2, 1, 1), counted(3, 6, 5, 5), event(4, 5, Delete, Yes(true))]);
        // One entry, two deletes.
        let deleted = |start, end, there| event(start, end, Delete, Yes(there));
        good(&[event(1, 2, Store(A, 0), Stored), deleted(3, 5, true), deleted(4, 6, false)]);
        bad(&[event(1, 2, Store(A, 0), Stored), deleted(3, 5, true), deleted(4, 6, true)]);
        good(&[event(1, 2, Store(Value::Planted(4), 0), Stored), counted(3, 4, 3, 7)]);
        bad(&[event(1, 2, Store(A, 0), Stored), counted(3, 4, 3, 3)]);
        let refused = event(3, 4, Store(B, 0), Answer::Full);
        let refusals = [refused.clone(), refused.clone()];
        assert!(is_linearizable(&refusals, true) && !is_linearizable(&refusals, false));
        assert!(!is_linearizable(&[event(1, 2, Store(A, 0), Stored), refused], true));
    }

    #[test]
    fn the_checker_knows_either_side_of_a_tick_and_no_other() {
        let stored = event(1, 2, Store(A, 5), Stored);
        let exists = |clock: &[u64], start, end, there| at(clock, event(start, end, Exists, Yes(there)));
        good(&[stored.clone(), exists(&[4], 3, 4, true)]);
        bad(&[stored.clone(), exists(&[4], 3, 4, false)]);
        bad(&[stored.clone(), exists(&[5], 3, 4, true)]);
        good(&[stored.clone(), exists(&[0, 5], 3, 6, true), exists(&[0, 5], 4, 5, false)]);
        bad(&[stored.clone(), exists(&[0, 5], 3, 4, false), exists(&[0, 5], 5, 6, true)]);
        // A count on what had lapsed starts again, with the deadline of its own time.
        let counted = |clock: &[u64], start, end, sum| at(clock, event(start, end, Incr(1, 5), Number(Some(sum))));
        good(&[counted(&[0], 1, 2, 1), counted(&[4], 3, 4, 2), counted(&[5], 5, 6, 1), counted(&[9], 7, 8, 2)]);
        bad(&[counted(&[0], 1, 2, 1), counted(&[5], 3, 4, 2)]);
        bad(&[counted(&[0], 1, 2, 1), counted(&[4], 3, 4, 2), counted(&[9], 5, 6, 3)]);
    }

    #[test]
    fn the_checker_lets_a_dead_callers_call_be_or_not_be() {
        let sum = |start, sum| event(start, start + 1, Counter, Number(sum));
        let dead = died(1, Incr(1, 0));
        good(&[dead.clone(), sum(2, None), sum(4, Some(1))]);
        good(&[dead.clone(), sum(2, None), sum(4, None)]);
        bad(&[dead.clone(), sum(2, Some(1)), sum(4, None)]);
        bad(&[dead.clone(), sum(2, Some(2))]);
        bad(&[died(4, Incr(1, 0)), sum(2, Some(1))]);
    }
}
