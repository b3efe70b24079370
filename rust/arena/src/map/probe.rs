//! The search: from a key to its entry, without a lock.
//!
//! The index is an open-addressed table in groups of one cache line. A key's home is one group; it lies there or,
//! when that was full, in one of the next three, or else in one that is found by leaps across the table: a part of
//! the index that fills up, whatever the reason, overflows everywhere and not into a run of full groups. `reach` of
//! the home says how many groups, from the home on, a key of this home can lie in: a search ends there, never at an
//! empty word, so what was deleted costs nothing. Reach is raised before an entry is published further out, and
//! lowered when the furthest entry goes.
//!
//! | edge | release | acquire | makes visible |
//! |---|---|---|---|
//! | publish | `journal.rs`, the word | `Map::seek`, the word | the buffer's filling, the reach before it |
//! | reach | `journal.rs`, raising or lowering | `Map::seek`, the reach | a search that begins after an insert sees it |

use super::buffer::{Buffer, Facts};
use super::lanes::Lanes;
use super::reading::Reading;
use super::word::{Word, MAX_DISTANCE};
use super::Map;
use crate::failpoint;
use crate::layout::LANES;
use crate::sync::{spin_loop, AtomicU64, Ordering};

/// So many groups from the home on lie side by side; those further out are leaps apart.
const NEAR: u64 = 4;

/// A reader that finds an entry changed under it starts over; after so many times it gives up, or sooner where it came
/// far each time: no more than that many times this many groups are looked at.
const ROUNDS: u64 = 10_000;
const GROUPS_A_ROUND: u64 = 16;

/// Which word of the index: the group, then the lane in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Position {
    pub group: u64,
    pub lane: usize,
}

impl Position {
    pub(super) fn pack(self) -> u64 {
        self.group * 8 + self.lane as u64
    }

    /// None for a number no word has.
    pub(super) fn unpack(packed: u64, groups: u64) -> Option<Position> {
        let position = Position { group: packed / 8, lane: (packed % 8) as usize };
        (position.group < groups && position.lane < LANES).then_some(position)
    }
}

/// An entry that was found, and what the search learned of it.
pub(super) struct Found<'a, T> {
    pub position: Position,
    pub word: Word,
    pub buffer: Buffer<'a>,
    pub sequence: u64,
    pub facts: Facts,
    pub deadline: u64,
    /// What was read of it.
    pub value: T,
}

/// How a search ended.
pub(super) enum Seek<'a, T> {
    Found(Found<'a, T>),
    Absent,
    /// It kept changing.
    GaveUp,
}

enum Look<T> {
    Hit(T),
    OtherKey,
    Changed,
}

impl Map {
    /// The group where a key of this hash belongs.
    #[inline]
    pub(super) fn home(&self, hash: u64) -> u64 {
        // Maps the hash's high bits evenly onto the groups, and keeps their order: equal ranges of groups belong to
        // equal ranges of hashes, which is what makes stripes own ranges.
        ((u128::from(hash) * u128::from(self.layout.groups)) >> 64) as u64
    }

    /// The stripe of a hash.
    #[inline]
    pub(super) fn stripe_of(&self, hash: u64) -> usize {
        // A shift by 64, for one stripe, is not defined.
        hash.checked_shr(self.stripe_shift).unwrap_or(0) as usize
    }

    /// The group `distance` searches after `home`.
    #[inline]
    pub(super) fn group_after(&self, home: u64, distance: u64) -> u64 {
        let group = home + self.offset(distance);
        if group < self.layout.groups {
            group
        } else {
            group % self.layout.groups
        }
    }

    /// How far from its home that group is.
    #[inline]
    fn offset(&self, distance: u64) -> u64 {
        if distance < NEAR {
            distance
        } else {
            (distance - NEAR + 1) * self.layout.step % self.layout.groups
        }
    }

    /// How many distances there are: enough to come to every group or, in tables of more than 16,380 groups (82,000
    /// slots), to as many that lie everywhere.
    #[inline]
    pub(super) fn distances(&self) -> u64 {
        (self.layout.groups + NEAR).min(MAX_DISTANCE + 1)
    }

    /// The home of an entry at this position.
    pub(super) fn home_of(&self, position: Position, word: Word) -> u64 {
        let groups = self.layout.groups;
        (position.group + groups - self.offset(word.distance()) % groups) % groups
    }

    /// The stripe of an entry at this position.
    pub(super) fn stripe_at(&self, position: Position, word: Word) -> usize {
        (self.home_of(position, word) / (self.layout.groups / self.layout.stripes)) as usize
    }

    /// How many groups to search from a home; never more than there are.
    #[inline]
    pub(super) fn reach(&self, home: u64) -> u64 {
        // SYNC(reach): pairs with the releases in journal.rs.
        self.groups[home as usize].reach.load(Ordering::Acquire).min(self.distances())
    }

    #[inline]
    pub(super) fn cell(&self, position: Position) -> &AtomicU64 {
        &self.groups[position.group as usize].words[position.lane]
    }

    /// Finds a key, and lets `read` look at its buffer. What `read` returns is passed on only if the buffer was
    /// published when it was found and whole the while; `read` may run several times, and on bytes of any content.
    #[inline(always)] // as seek_then()
    pub(super) fn seek<'a, T: Reading>(&'a self, key: &[u8], hash: u64, read: T) -> Seek<'a, T::Result> {
        self.seek_then(key, hash, read, |seek| seek)
    }

    /// As `seek`, and lets `then` use what was found. What that returns should be small: all that is found together is
    /// large, and would be written and waited for on the way.
    #[inline(always)] // for the same reason
    pub(super) fn seek_then<'a, T: Reading, R>(
        &'a self,
        key: &[u8],
        hash: u64,
        mut read: T,
        then: impl Fn(Seek<'a, T::Result>) -> R,
    ) -> R {
        // Nearly every key that is there lies in its home, alone with its tag. That much is done here, and all else
        // elsewhere.
        let home = self.home(hash);
        let sought = Word::sought(hash, 0);
        let first = match Lanes::of(&self.groups[home as usize], sought).first() {
            Some(lane) => match self.look(Position { group: home, lane }, sought, key, &mut read) {
                Look::Hit(found) => return then(Seek::Found(found)),
                _ => 0,
            },
            None if self.reach(home) <= 1 => return then(Seek::Absent),
            None => 1,
        };
        then(self.seek_on(key, hash, first, &mut read))
    }

    /// Goes on with a search, first at that distance from home, and all over again when something changes under it.
    #[inline(never)]
    fn seek_on<'a, T: Reading>(&'a self, key: &[u8], hash: u64, mut first: u64, read: &mut T) -> Seek<'a, T::Result> {
        let home = self.home(hash);
        let mut left = ROUNDS;
        'rounds: while left > 0 {
            for distance in std::mem::take(&mut first)..self.reach(home) {
                match self.look_in(self.group_after(home, distance), Word::sought(hash, distance), key, read) {
                    Look::Hit(found) => return Seek::Found(found),
                    Look::OtherKey => {}
                    Look::Changed => {
                        left = left.saturating_sub(1 + distance / GROUPS_A_ROUND);
                        spin_loop();
                        continue 'rounds;
                    }
                }
            }
            return Seek::Absent;
        }
        Seek::GaveUp
    }

    /// Looks for a key among the words of one group.
    fn look_in<'a, T: Reading>(
        &'a self,
        group: u64,
        sought: u64,
        key: &[u8],
        read: &mut T,
    ) -> Look<Found<'a, T::Result>> {
        let mut lanes = Lanes::of(&self.groups[group as usize], sought);
        while let Some(lane) = lanes.first() {
            match self.look(Position { group, lane }, sought, key, read) {
                Look::OtherKey => lanes = lanes.but_first(),
                other => return other,
            }
        }
        Look::OtherKey
    }

    /// Looks whether the entry of a word that matched is the key's.
    #[inline(always)] // as seek()
    fn look<'a, T: Reading>(
        &'a self,
        position: Position,
        sought: u64,
        key: &[u8],
        read: &mut T,
    ) -> Look<Found<'a, T::Result>> {
        let cell = self.cell(position);
        // SYNC(publish): pairs with the releases in journal.rs.
        let word = Word(cell.load(Ordering::Acquire));
        if !word.matches(sought) {
            return Look::Changed;
        }
        // A word that names no buffer was scribbled: no key is there.
        let Some(buffer) = self.buffers.get(word.buffer()) else { return Look::OtherKey };
        failpoint::hit("read.word");
        let Some(sequence) = buffer.sequence(cell, word) else { return Look::Changed };
        let facts = match buffer.facts() {
            Some(facts) if facts.key_length == key.len() && buffer.has_key(key) => facts,
            _ if buffer.unchanged(sequence) => return Look::OtherKey,
            _ => return Look::Changed,
        };
        failpoint::hit("read.matched");
        let deadline = buffer.deadline();
        let value = read.read(&buffer, facts);
        failpoint::hit("read.copied");
        if buffer.unchanged(sequence) {
            Look::Hit(Found { position, word, buffer, sequence, facts, deadline, value })
        } else {
            Look::Changed
        }
    }
}
