//! What is written over, and with what: mostly words that mean something, with values not far from what could be there.
//! Shared::Arena::Format says where everything lies.

use crate::subject::{limiter_name, map_name, Subject, NOW};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicU8, Ordering};

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    /// Below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.word()) * u128::from(end)) >> 64) as u64
    }

    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Header,
    Lock,
    Entry,
    Shape,
    Spare,
    Step,
    Journal,
    Count,
    Cursor,
    Reach,
    Word,
    Owner,
    Vacancy,
    Bound,
    Sequence,
    Number,
    Deadline,
    Lengths,
    Body,
    Tally,
    Bucket,
}

use Kind::*;

/// How often each is hit.
const WEIGHTS: &[(Kind, u64)] = &[
    (Header, 4),
    (Lock, 8),
    (Entry, 6),
    (Shape, 2),
    (Spare, 6),
    (Step, 4),
    (Journal, 6),
    (Count, 2),
    (Cursor, 4),
    (Reach, 8),
    (Word, 12),
    (Owner, 6),
    (Vacancy, 3),
    (Bound, 4),
    (Sequence, 8),
    (Number, 3),
    (Deadline, 5),
    (Lengths, 10),
    (Body, 3),
    (Tally, 2),
    (Bucket, 12),
];

/// Words of one kind: where they begin, in bytes, and how many bytes each has.
struct Places {
    kind: Kind,
    width: u64,
    at: Vec<u64>,
}

pub struct Scribbler<'a> {
    subject: &'a Subject,
    places: Vec<Places>,
    /// Where each stripe of each map begins.
    stripes: Vec<Vec<u64>>,
}

impl<'a> Scribbler<'a> {
    /// Of an arena that is whole.
    pub fn new(subject: &'a Subject) -> Scribbler<'a> {
        let places = [(Header, 8), (Lock, 4), (Entry, 8), (Shape, 8), (Spare, 4), (Owner, 1)];
        let width = |kind| places.iter().find(|(of, _)| *of == kind).map_or(8, |(_, width)| *width);
        let places =
            WEIGHTS.iter().map(|(kind, _)| Places { kind: *kind, width: width(*kind), at: Vec::new() }).collect();
        let mut scribbler = Scribbler { subject, places, stripes: Vec::new() };
        scribbler.add(Header, 0, 24, 8);
        scribbler.add(Lock, 128, 1, 4);
        scribbler.add(Entry, 192, 9 * 8, 8);
        for (number, shape) in subject.shapes.iter().enumerate() {
            let region = subject.arena.find_region(&map_name(number)).unwrap();
            scribbler.add_map(region.offset, region.length, shape.slots, shape.slot_size);
        }
        for number in 0..subject.limiters.len() {
            let region = subject.arena.find_region(&limiter_name(number)).unwrap();
            scribbler.add(Shape, region.offset, 3, 8);
            (0..64).for_each(|line| scribbler.add(Tally, region.offset + 128 + 64 * line, 5, 8));
            let buckets = region.offset + 128 + 64 * 64;
            scribbler.add(Bucket, buckets, (region.offset + region.length - buckets) / 8, 8);
        }
        scribbler
    }

    fn add(&mut self, kind: Kind, start: u64, count: u64, step: u64) {
        let places = self.places.iter_mut().find(|places| places.kind == kind).unwrap();
        places.at.extend((0..count).map(|index| start + index * step));
    }

    fn add_map(&mut self, start: u64, length: u64, slots: u64, slot_size: u64) {
        let round_up = |value: u64, to: u64| value.div_ceil(to) * to;
        let stripes = match slots / 8 {
            0 | 1 => 1,
            few => 1 << few.ilog2().min(6),
        };
        let groups = round_up(slots.div_ceil(5), stripes);
        let (buffers, stride) = (slots + stripes, round_up(slot_size, 64));
        let lines = buffers.div_ceil(64);
        let bounds = stripes * (groups / stripes).div_ceil(64);
        let stripes_at = start + 128;
        let groups_at = stripes_at + stripes * 128;
        let owners_at = groups_at + groups * 64;
        let vacancies_at = owners_at + lines * 64;
        let bounds_at = vacancies_at + round_up(lines.div_ceil(8), 64);
        let buffers_at = bounds_at + round_up(bounds * 8, 64);
        assert_eq!(buffers_at + buffers * stride, start + length, "a map is laid out otherwise");

        self.add(Shape, start, 3, 8);
        self.add(Count, start + 64, 2, 8);
        for (kind, offset, count) in
            [(Lock, 0, 1), (Spare, 4, 1), (Step, 8, 1), (Journal, 16, 4), (Count, 64, 7), (Cursor, 120, 1)]
        {
            (0..stripes).for_each(|stripe| self.add(kind, stripes_at + stripe * 128 + offset, count, 8));
        }
        self.add(Reach, groups_at, groups, 64);
        (0..groups).for_each(|group| self.add(Word, groups_at + 64 * group + 8, 7, 8));
        self.add(Owner, owners_at, buffers, 1);
        self.add(Vacancy, vacancies_at, lines.div_ceil(64), 8);
        self.add(Bound, bounds_at, bounds, 8);
        for (kind, offset) in [(Sequence, 0), (Number, 8), (Deadline, 16), (Lengths, 24), (Body, 32)] {
            self.add(kind, buffers_at + offset, buffers, stride);
        }
        self.stripes.push((0..stripes).map(|stripe| stripes_at + stripe * 128).collect());
    }

    fn write(&self, at: u64, width: u64, value: u64) {
        assert!(at + width <= self.subject.words.len() as u64 * 8 && at % width == 0);
        let start = self.subject.words.as_ptr().cast::<u8>();
        // SAFETY: inside the mapping and aligned, as just asserted; everybody uses atomics there.
        unsafe {
            let place = start.add(at as usize);
            match width {
                1 => (*place.cast::<AtomicU8>()).store(value as u8, Ordering::Relaxed),
                4 => (*place.cast::<AtomicU32>()).store(value as u32, Ordering::Relaxed),
                _ => (*place.cast::<AtomicU64>()).store(value, Ordering::Relaxed),
            }
        }
    }

    /// What is there now.
    fn read(&self, at: u64, width: u64) -> u64 {
        let word = self.subject.words[at as usize / 8].load(Ordering::Relaxed).to_le() >> (at % 8 * 8);
        word & u64::MAX >> (64 - 8 * width)
    }

    fn of_kind(&self, kind: Kind) -> &Places {
        self.places.iter().find(|places| places.kind == kind).unwrap()
    }

    /// A word somewhere, or several that make sense together.
    pub fn scribble(&self, random: &mut Random) {
        match random.below(10) {
            0 => self.scribble_anywhere(random),
            1 => self.scribble_journal(random),
            2 => self.scribble_buckets(random),
            _ => {
                let mut draw = random.below(WEIGHTS.iter().map(|(_, weight)| weight).sum());
                let hit = WEIGHTS.iter().find(|(_, weight)| {
                    let found = draw < *weight;
                    draw = draw.saturating_sub(*weight);
                    found
                });
                let places = self.of_kind(hit.unwrap().0);
                let at = random.of(&places.at);
                self.write(at, places.width, self.value(places, at, random));
            }
        }
    }

    fn value(&self, places: &Places, at: u64, random: &mut Random) -> u64 {
        let now = self.read(at, places.width);
        if random.below(2) == 0 {
            return match random.below(7) {
                0 => random.word(),
                1 => 0,
                2 => u64::MAX,
                3 => random.below(40),
                4 => now.wrapping_add(1).wrapping_sub(random.below(3)),
                5 => now ^ 1 << random.below(64),
                _ => self.read(random.of(&places.at), places.width),
            };
        }
        let length = |random: &mut Random| if random.below(2) == 0 { random.below(90) } else { random.below(1 << 31) };
        match places.kind {
            Lock => u64::from(random.of(&[0, 0, own_thread(), parent(), 1, 0x3fff_fffe])) | random.below(4) << 30,
            Reach => random.of(&[1, 2, 3, 4, 5, 9, 11, 100, 16_383, 16_384]),
            Step => random.below(6),
            Word => now & 0xffff_ffff | random.below(130) << 32,
            Owner => random.of(&[0, 1, 2, 9, 64, 65, 254, 255]),
            Sequence => now.wrapping_add(random.below(4)),
            Lengths => random.below(4) | length(random) << 3 | length(random) << 34,
            Deadline | Bound => random.of(&[0, 1, NOW, NOW + 5_000, u64::MAX]),
            Entry => 64 * random.below(self.subject.words.len() as u64 / 8 + 10),
            Bucket => now.wrapping_add(random.word() >> random.below(64)),
            _ => self.read(random.of(&places.at), places.width),
        }
    }

    fn scribble_anywhere(&self, random: &mut Random) {
        let count = 1 + random.below(30);
        let words = self.subject.words.len() as u64;
        let (from, to) = (random.below(words - count), random.below(words - count));
        for index in 0..count {
            let value = if count % 3 == 0 { random.word() } else { self.read(8 * (from + index), 8) };
            self.write(8 * (to + index), 8, value);
        }
    }

    /// A writer died in the middle of a change that nobody had begun.
    fn scribble_journal(&self, random: &mut Random) {
        let stripes = &self.stripes[random.below(self.stripes.len() as u64) as usize];
        let stripe = random.of(stripes);
        let words = &self.of_kind(Word).at;
        let groups = self.of_kind(Reach).at.len() as u64;
        let claim = random.below(130) | random.below(2) << 63;
        self.write(stripe + 8, 8, random.below(6));
        self.write(stripe + 16, 8, random.below(8 * groups));
        self.write(stripe + 24, 8, self.read(random.of(words), 8));
        self.write(stripe + 32, 8, self.read(random.of(words), 8) ^ random.of(&[0, 1 << 32, 1 << 2]));
        self.write(stripe + 40, 8, claim);
        self.write(stripe, 4, u64::from(random.of(&[0x4000_0000u32, 0xc000_0000, 0x7fff_fffe])));
    }

    /// A key has two buckets, or a claim beside its bucket.
    fn scribble_buckets(&self, random: &mut Random) {
        let buckets = &self.of_kind(Bucket).at;
        let pair = |random: &mut Random| buckets[random.below(buckets.len() as u64 / 2) as usize * 2];
        let used = (0..20).map(|_| pair(random)).find(|at| self.read(at + 8, 8) != 0).unwrap_or(buckets[0]);
        let near = (0..20).map(|_| pair(random)).find(|at| at.abs_diff(used) < 1024).unwrap_or(used);
        let second = if random.below(2) == 0 { 0xff << 56 | random.below(9) } else { self.read(used + 8, 8) };
        self.write(near, 8, self.read(used, 8));
        self.write(near + 8, 8, second);
    }

    /// How many ways there are for `scribble_wholesale`.
    pub fn wholesale_count(&self) -> u64 {
        WEIGHTS.len() as u64 * 6
    }

    /// Writes over all words of a kind, and sets every reach to the most there is, or leaves it.
    pub fn scribble_wholesale(&self, way: u64, random: &mut Random) {
        let places = &self.places[way as usize % self.places.len()];
        for at in &places.at {
            let now = self.read(*at, places.width);
            let value = match way / self.places.len() as u64 % 6 {
                0 => 0,
                1 => u64::MAX,
                2 => now | 1,
                3 => now ^ 1,
                4 => self.read(random.of(&places.at), places.width),
                _ => self.value(places, *at, random),
            };
            self.write(*at, places.width, value);
        }
        if way % 2 == 0 {
            self.of_kind(Reach).at.iter().for_each(|at| self.write(*at, 8, u64::MAX));
        }
    }
}

impl Scribbler<'_> {
    /// An entry that is never whole and lies, so all words say, as far from its home as can be. Returns its key.
    pub fn scribble_far_away(&self, random: &mut Random) -> Vec<u8> {
        const DISTANCE: u64 = ((1 << 14) - 1) << 2;
        let words = &self.of_kind(Word).at;
        let word = loop {
            match self.read(random.of(words), 8) {
                0 => {}
                word => break word,
            }
        };
        let buffer = (word >> 32) as usize;
        let lengths = self.read(self.of_kind(Lengths).at[buffer], 8);
        let body = self.of_kind(Body).at[buffer];
        let key = (0..lengths >> 34).map(|index| self.read(body + index, 1) as u8).collect();
        words.iter().for_each(|at| self.write(*at, 8, word | DISTANCE));
        self.of_kind(Sequence).at.iter().for_each(|at| self.write(*at, 8, 1));
        self.of_kind(Reach).at.iter().for_each(|at| self.write(*at, 8, u64::MAX));
        key
    }

    /// Any entry may have lapsed, as far as the bounds tell, and lie anywhere; and writers seem to be at work.
    pub fn scribble_everywhere_to_look(&self, locked: bool) {
        self.of_kind(Reach).at.iter().for_each(|at| self.write(*at, 8, u64::MAX));
        self.of_kind(Bound).at.iter().for_each(|at| self.write(*at, 8, 0));
        if locked {
            self.of_kind(Lock).at.iter().skip(2).for_each(|at| self.write(*at, 4, u64::from(parent())));
        }
    }
}

fn own_thread() -> u32 {
    // SAFETY: cannot fail and touches no memory.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

fn parent() -> u32 {
    // SAFETY: as above.
    unsafe { libc::getppid() as u32 }
}
