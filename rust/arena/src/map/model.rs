//! The map beside a plain hash: random calls on both, every answer and every figure of the statistics compared.
//!
//! A lapsed entry stays in the table until somebody collects it: the call that lands on its key, or one that makes
//! room for a new key. Which one the latter takes is not promised, so the model keeps the keys that lapsed and how
//! many of them are gone: then all but two things follow. Whether a lapsed key that is landed on was still there,
//! and whether a new key took a slot that was used before: that is read off the figures, within what is possible.

use super::tests::{keys, CLOCK};
use super::*;
use crate::clock;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::mem::MaybeUninit;

// Forking is not for miri.
#[cfg(not(miri))]
mod turns;

const SLOT_SIZE: u64 = 96;
const MAX_PAIR: usize = 64;
const MILLISECOND: u64 = 1_000_000;

/// An answer, or what is wrong.
type Checked<T> = std::result::Result<T, String>;

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Bytes(Vec<u8>),
    Undefined,
    Counter(i64),
}

/// One call, or a step of the clock.
#[derive(Clone, Debug)]
enum Call {
    /// With a time to live in milliseconds.
    Store(Key, Value, u64),
    /// Into so many bytes.
    Fetch(Key, usize),
    Exists(Key),
    Incr(Key, i64, u64),
    Counter(Key),
    Delete(Key),
    Keys,
    Pass(Pass),
}

/// How far the clock moves.
#[derive(Clone, Debug)]
enum Pass {
    Nanoseconds(u64),
    /// To the deadline that is so many deadlines away, less so many nanoseconds.
    ToDeadline(usize, u64),
}

#[derive(Clone, Copy, Debug)]
enum Key {
    Ordinary(u8),
    Empty,
    /// As long as a pair may be.
    Longest,
    TooLong,
}

impl Key {
    fn bytes(self) -> Vec<u8> {
        match self {
            Key::Ordinary(number) => format!("{number:x}").repeat(1 + number as usize % 5).into_bytes(),
            Key::Empty => vec![],
            Key::Longest => vec![b'k'; MAX_PAIR],
            Key::TooLong => vec![b'k'; MAX_PAIR + 1],
        }
    }
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq)]
enum Answer {
    Nothing,
    Stored(Stored),
    Value(Option<Value>),
    TooShort(usize),
    Yes(bool),
    Counted(Counted),
    /// The number that would not take the addend.
    Overflow(i64),
    Number(Option<i64>),
    Keys(Vec<Vec<u8>>),
}

/// What only the map can tell: the two figures after a call that the model cannot always foresee.
#[derive(Clone, Copy)]
struct Told {
    expired: u64,
    tombstones: u64,
}

impl Told {
    fn by(figures: &Figures) -> Told {
        Told { expired: figures.expired, tombstones: figures.tombstones }
    }
}

#[derive(Clone)]
struct Entry {
    value: Value,
    /// In milliseconds.
    deadline: Option<u64>,
}

impl Entry {
    /// What `counter` reads, and `incr` adds to.
    fn number(&self) -> Option<i64> {
        match &self.value {
            Value::Counter(number) => Some(*number),
            Value::Bytes(bytes) => {
                let number = i64::from_ne_bytes(bytes.as_slice().try_into().ok()?);
                (-(1 << 53) < number && number < 1 << 53).then_some(number)
            }
            Value::Undefined => None,
        }
    }
}

struct Model {
    /// In nanoseconds.
    now: u64,
    live: BTreeMap<Vec<u8>, Entry>,
    /// Keys that lapsed and that no call has landed on since.
    lapsed: BTreeSet<Vec<u8>>,
    /// How many of those have been collected to make room.
    gone: usize,
    figures: Figures,
}

impl Model {
    fn new(slots: u64) -> Model {
        let figures = Figures { used: 0, capacity: slots, tombstones: 0, busy: 0, full: 0, expired: 0 };
        let now = 1_700_000_000_000 * MILLISECOND;
        Model { now, live: BTreeMap::new(), lapsed: BTreeSet::new(), gone: 0, figures }
    }

    /// What the call must answer; and the figures become those that must follow. An error when what the map told
    /// cannot be.
    fn apply(&mut self, call: &Call, told: Told) -> Checked<Answer> {
        let answer = match call {
            Call::Store(key, value, ttl) => {
                let key = key.bytes();
                let length = if let Value::Bytes(bytes) = value { bytes.len() } else { 0 };
                Answer::Stored(if key.is_empty() || key.len() + length > MAX_PAIR {
                    Stored::TooLarge
                } else if self.make_place(&key, told)? {
                    self.live.insert(key, Entry { value: value.clone(), deadline: self.deadline(*ttl) });
                    Stored::Yes
                } else {
                    Stored::Full
                })
            }
            Call::Incr(key, by, ttl) => self.incr(key.bytes(), *by, *ttl, told)?,
            Call::Fetch(key, room) => match self.land(key, told)?.map(|entry| entry.value) {
                Some(Value::Bytes(bytes)) if bytes.len() > *room => Answer::TooShort(bytes.len()),
                value => Answer::Value(value),
            },
            Call::Exists(key) => Answer::Yes(self.land(key, told)?.is_some()),
            Call::Counter(key) => Answer::Number(self.land(key, told)?.and_then(|entry| entry.number())),
            Call::Delete(key) => {
                self.land(key, told)?;
                let there = self.live.remove(&key.bytes()).is_some();
                self.figures.tombstones += u64::from(there);
                Answer::Yes(there)
            }
            Call::Keys => Answer::Keys(self.live.keys().cloned().collect()),
            Call::Pass(pass) => {
                self.pass(pass);
                Answer::Nothing
            }
        };
        self.figures.used = self.used();
        Ok(answer)
    }

    fn used(&self) -> u64 {
        (self.live.len() + self.lapsed.len() - self.gone) as u64
    }

    fn deadline(&self, ttl: u64) -> Option<u64> {
        // A time too long to represent never comes.
        let deadline = self.now.div_ceil(MILLISECOND).checked_add(ttl)?;
        (ttl != 0 && deadline < (1 << 63) - 1).then_some(deadline)
    }

    fn pass(&mut self, pass: &Pass) {
        self.now = match pass {
            Pass::Nanoseconds(nanoseconds) => self.now + nanoseconds,
            Pass::ToDeadline(which, before) => {
                let deadlines: BTreeSet<u64> = self.live.values().filter_map(|entry| entry.deadline).collect();
                match deadlines.iter().nth(*which).and_then(|deadline| deadline.checked_mul(MILLISECOND)) {
                    Some(moment) => self.now.max(moment - before),
                    None => self.now,
                }
            }
        };
        let lapses = |entry: &Entry| entry.deadline.is_some_and(|deadline| deadline <= self.now / MILLISECOND);
        let lapsed: Vec<_> = self.live.iter().filter(|(_, entry)| lapses(entry)).map(|(key, _)| key.clone()).collect();
        for key in lapsed {
            self.live.remove(&key);
            self.lapsed.insert(key);
        }
    }

    /// The live entry that a call finds there; a lapsed one is collected.
    fn land(&mut self, key: &Key, told: Told) -> Checked<Option<Entry>> {
        let key = key.bytes();
        let collected = self.leave(&key, told)?;
        self.figures.tombstones += u64::from(collected);
        Ok(self.live.get(&key).cloned())
    }

    /// A call landed on this key: whether it had lapsed and was still to be collected.
    fn leave(&mut self, key: &[u8], told: Told) -> Checked<bool> {
        if !self.lapsed.remove(key) {
            return Ok(false);
        }
        match told.expired.checked_sub(self.figures.expired) {
            Some(1) if self.gone <= self.lapsed.len() => {
                self.figures.expired += 1;
                Ok(true)
            }
            Some(0) if self.gone > 0 => {
                self.gone -= 1;
                Ok(false)
            }
            _ => Err(format!(
                "told {} expired after {}, with {} of {} and one collected",
                told.expired,
                self.figures.expired,
                self.gone,
                self.lapsed.len()
            )),
        }
    }

    /// Room for an entry of this key, its old one gone; false, and counted, when there is none.
    fn make_place(&mut self, key: &[u8], told: Told) -> Checked<bool> {
        if self.live.contains_key(key) {
            return Ok(true);
        }
        if self.used() == self.figures.capacity {
            if self.lapsed.len() == self.gone {
                self.figures.full += 1;
                return Ok(false);
            }
            // The key's own lapsed entry makes room, or another one.
            self.figures.expired += 1;
            if !self.lapsed.remove(key) {
                self.gone += 1;
            }
        } else if !self.leave(key, told)? {
            // Without a slot that was never used it must be a tombstone, and without a tombstone the other.
            let tombstones = self.figures.tombstones;
            let must = self.used() + tombstones == self.figures.capacity;
            self.figures.tombstones -= u64::from(tombstones > 0 && (must || told.tombstones < tombstones));
        }
        Ok(true)
    }

    fn incr(&mut self, key: Vec<u8>, by: i64, ttl: u64, told: Told) -> Checked<Answer> {
        if key.is_empty() || key.len() > MAX_PAIR {
            return Ok(Answer::Counted(Counted::TooLarge));
        }
        let (sum, deadline) = match self.live.get(&key).map(|entry| (entry.number(), entry.deadline)) {
            Some((Some(number), deadline)) => match number.checked_add(by) {
                Some(sum) => (sum, deadline),
                None => return Ok(Answer::Overflow(number)),
            },
            Some((None, _)) => return Ok(Answer::Counted(Counted::NotCounter)),
            None if self.make_place(&key, told)? => (by, self.deadline(ttl)),
            None => return Ok(Answer::Counted(Counted::Full)),
        };
        self.live.insert(key, Entry { value: Value::Counter(sum), deadline });
        Ok(Answer::Counted(Counted::Now(sum)))
    }
}

/// Makes the call itself.
fn make(map: &Map, call: &Call) -> Result<Answer> {
    Ok(match call {
        Call::Store(key, value, ttl) => {
            let content = match value {
                Value::Bytes(bytes) => Content::Bytes(bytes),
                Value::Undefined => Content::Undefined,
                Value::Counter(number) => Content::Counter(*number),
            };
            Answer::Stored(map.store(&key.bytes(), content, *ttl)?)
        }
        Call::Fetch(key, room) => {
            let mut out = vec![MaybeUninit::new(0u8); *room];
            match map.fetch(&key.bytes(), &mut out) {
                Read::Bytes(length) => {
                    // SAFETY: initialised above, and copied over with initialised bytes.
                    let bytes = out[..length].iter().map(|byte| unsafe { byte.assume_init() });
                    Answer::Value(Some(Value::Bytes(bytes.collect())))
                }
                Read::Undefined => Answer::Value(Some(Value::Undefined)),
                Read::Counter(number) => Answer::Value(Some(Value::Counter(number))),
                Read::Absent => Answer::Value(None),
                Read::TooShort(length) => Answer::TooShort(length),
                Read::Busy => Answer::Nothing,
            }
        }
        Call::Exists(key) => Answer::Yes(map.exists(&key.bytes())),
        Call::Incr(key, by, ttl) => match map.incr(&key.bytes(), *by, *ttl) {
            Err(Error::Overflow { number, .. }) => Answer::Overflow(number),
            counted => Answer::Counted(counted?),
        },
        Call::Counter(key) => Answer::Number(map.counter(&key.bytes())),
        Call::Delete(key) => Answer::Yes(map.delete(&key.bytes())?),
        Call::Keys => Answer::Keys(keys(map)),
        Call::Pass(_) => Answer::Nothing,
    })
}

/// Makes the call and compares. What the map told is passed on to those who only follow.
fn make_and_compare(map: &Map, model: &mut Model, call: &Call) -> Checked<Told> {
    clock::freeze(Some(model.now), None);
    let told = |error: Error| error.to_string();
    let answer = make(map, call).map_err(told)?;
    let figures = map.figures();
    let expected = model.apply(call, Told::by(&figures))?;
    if answer != expected {
        return Err(format!("answered {answer:?}, not {expected:?}"));
    }
    if figures != model.figures {
        return Err(format!("left {figures:?}, not {:?}", model.figures));
    }
    Ok(Told::by(&figures))
}

/// Calls on `pool` keys, with times to live up to `longest_ttl` milliseconds.
fn calls(pool: u8, longest_ttl: u64) -> impl Strategy<Value = Call> {
    let key = prop_oneof![
        60 => (0..pool).prop_map(Key::Ordinary),
        1 => Just(Key::Empty),
        1 => Just(Key::Longest),
        1 => Just(Key::TooLong),
    ];
    let bound = 1i64 << 53;
    let number = prop_oneof![-9..9i64, Just(bound), Just(-bound), Just(bound - 1), Just(1 - bound), any::<i64>()];
    let value = prop_oneof![
        5 => (0..=MAX_PAIR, any::<u8>()).prop_map(|(length, byte)| Value::Bytes(vec![byte; length])),
        2 => number.prop_map(|number| Value::Bytes(number.to_ne_bytes().to_vec())),
        1 => Just(Value::Undefined),
        1 => any::<i64>().prop_map(Value::Counter),
    ];
    let by = prop_oneof![9 => -50..50i64, 1 => Just(i64::MAX), 1 => Just(i64::MIN)];
    let ttl = prop_oneof![8 => Just(0), 12 => 1..=longest_ttl, 1 => Just(u64::MAX)];
    let room = prop_oneof![3 => Just(MAX_PAIR), 1 => 0..MAX_PAIR];
    let before = prop_oneof![Just(0), Just(1), Just(MILLISECOND)];
    let pass = prop_oneof![
        8 => (0..longest_ttl * MILLISECOND / 20).prop_map(Pass::Nanoseconds),
        4 => (0..4usize, before).prop_map(|(which, before)| Pass::ToDeadline(which, before)),
        1 => Just(Pass::Nanoseconds(1_000_000 * MILLISECOND)),
    ];
    prop_oneof![
        6 => (key.clone(), value, ttl.clone()).prop_map(|(key, value, ttl)| Call::Store(key, value, ttl)),
        3 => (key.clone(), room).prop_map(|(key, room)| Call::Fetch(key, room)),
        1 => key.clone().prop_map(Call::Exists),
        4 => (key.clone(), by, ttl).prop_map(|(key, by, ttl)| Call::Incr(key, by, ttl)),
        1 => key.clone().prop_map(Call::Counter),
        3 => key.prop_map(Call::Delete),
        1 => Just(Call::Keys),
        2 => pass.prop_map(Call::Pass),
    ]
}

const LONGEST_RUN: usize = if cfg!(miri) { 40 } else { 400 };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 200 }))]

    #[test]
    fn every_answer_and_figure_is_that_of_a_plain_hash(
        slots in 1u64..40,
        calls in (1u8..60).prop_flat_map(|pool| prop::collection::vec(calls(pool, 60), 1..LONGEST_RUN)),
    ) {
        let _turn = CLOCK.lock().unwrap();
        let map = super::tests::map(slots, SLOT_SIZE);
        let mut model = Model::new(slots);
        for (step, call) in calls.iter().enumerate() {
            if let Err(problem) = make_and_compare(&map, &mut model, call) {
                clock::freeze(None, None);
                return Err(TestCaseError::fail(format!("step {step}, {call:?}: {problem}")));
            }
        }
        let whole = map.verify();
        clock::freeze(None, None);
        prop_assert!(whole.is_ok(), "{:?}", whole);
    }
}
