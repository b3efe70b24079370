//! What a search reads of the entry it finds, before it knows whether the bytes hold still. Traits and not closures,
//! since these are sure to become a part of the search: a call would cost as much as most of them do.

use super::buffer::{Buffer, Facts, Kind};
use super::Read;
use std::mem::MaybeUninit;

pub(super) trait Reading {
    type Result;

    /// May run several times, and on bytes of any content.
    fn read(&mut self, buffer: &Buffer<'_>, facts: Facts) -> Self::Result;
}

/// That it is there.
pub(super) struct Nothing;

impl Reading for Nothing {
    type Result = ();

    #[inline(always)]
    fn read(&mut self, _: &Buffer<'_>, _: Facts) {}
}

/// The value, into a caller's buffer.
pub(super) struct Value<'o>(pub &'o mut [MaybeUninit<u8>]);

impl Reading for Value<'_> {
    type Result = Read;

    #[inline(always)]
    fn read(&mut self, buffer: &Buffer<'_>, facts: Facts) -> Read {
        match (facts.kind, self.0.get_mut(..facts.value_length)) {
            (Kind::Bytes, Some(out)) => {
                buffer.copy_value(facts, out);
                Read::Bytes(facts.value_length)
            }
            (Kind::Bytes, None) => Read::TooShort(facts.value_length),
            (Kind::Undefined, _) => Read::Undefined,
            (Kind::Counter, _) => Read::Counter(buffer.number()),
        }
    }
}

/// What the word for a number holds, whatever the entry is.
pub(super) struct RawNumber;

impl Reading for RawNumber {
    type Result = i64;

    #[inline(always)]
    fn read(&mut self, buffer: &Buffer<'_>, _: Facts) -> i64 {
        buffer.number()
    }
}

/// What a writer learns of an entry it found.
#[derive(Clone, Copy)]
pub(super) struct Held {
    pub kind: Kind,
    /// The number of a counter, or of bytes that read as one.
    pub number: Option<i64>,
}

/// Kind and number, for a writer.
pub(super) struct Number;

impl Reading for Number {
    type Result = Held;

    #[inline(always)]
    fn read(&mut self, buffer: &Buffer<'_>, facts: Facts) -> Held {
        let number = match facts.kind {
            Kind::Counter => Some(buffer.number()),
            _ => buffer.planted(facts),
        };
        Held { kind: facts.kind, number }
    }
}
