//! A map of fixed capacity that any number of processes read and write.
//!
//! An index of one word per entry says which buffer holds it. A store fills a buffer nobody sees and then changes
//! one word; that store is the whole publication, so a reader sees an entry whole or not at all, and a writer
//! that dies or sleeps is in nobody's way but its stripe's other writers.
//!
//! The files: `word` and `buffer` (what lies in memory), `lanes` and `probe` (the search), `reading` (what it reads), `read`, `write` and `counter` (the
//! operations), `claim` (who owns which buffer), `vacancy` (where free ones are), `journal` (finishing what a dead
//! writer began), `lapse` (deadlines), `figures` and `verify`.

mod buffer;
mod claim;
mod counter;
mod figures;
mod journal;
mod lanes;
mod lapse;
mod probe;
mod read;
mod reading;
mod vacancy;
mod verify;
mod word;
mod write;

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

pub use counter::Counted;
pub use figures::Figures;
pub use read::{NextKey, Read};
pub use write::Stored;

use crate::arena::Arena;
use crate::error::{Error, Result};
use crate::hash::KeyHash;
use crate::layout::{self, kind, MapHeader, MapLayout, BUFFER_HEADER, MAX_SLOTS, MAX_SLOT_SIZE, MIN_SLOT_SIZE};
use crate::mapping::View;
use crate::registry::{Plan, Region};
use crate::sync::{AtomicU64, Ordering};
use buffer::Buffers;
use std::sync::Arc;

/// What makes two maps of one name the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Entries the map takes.
    pub slots: u64,
    /// Bytes a key, its value and a header of 32 may take together.
    pub slot_size: u64,
    /// Values are encoded structures. Kept here so that all processes agree; the bytes are the caller's.
    pub serialised: bool,
}

impl Shape {
    /// What the header of a map's region says.
    pub(crate) fn of(arena: &Arena, region: &Region) -> Option<Shape> {
        let raw = &arena.mapping().view::<MapHeader>(region.offset, 1)?[0];
        Some(Shape {
            slots: raw.slots.load(Ordering::Relaxed),
            slot_size: raw.slot_size.load(Ordering::Relaxed),
            serialised: raw.flags.load(Ordering::Relaxed) & SERIALISED != 0,
        })
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let serialised = if self.serialised { "serialised " } else { "" };
        write!(out, "a {serialised}map of {} slots of {} bytes", self.slots, self.slot_size)
    }
}

/// A value to store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// Any bytes.
    Bytes(&'a [u8]),
    /// A value that is there and undefined.
    Undefined,
    /// A counter's number.
    Counter(i64),
}

impl Content<'_> {
    fn length(&self) -> usize {
        match self {
            Content::Bytes(bytes) => bytes.len(),
            Content::Undefined | Content::Counter(_) => 0,
        }
    }
}

/// A map, bound in this process. All that shared memory says about its shape was checked when it was bound.
pub struct Map {
    arena: Arc<Arena>,
    /// The arena's, near at hand.
    hash: KeyHash,
    shape: Shape,
    layout: MapLayout,
    /// Right shift from a hash to its stripe.
    stripe_shift: u32,
    header: View<MapHeader>,
    stripes: View<layout::Stripe>,
    groups: View<layout::Group>,
    owners: View<AtomicU64>,
    vacancies: View<AtomicU64>,
    bounds: View<AtomicU64>,
    buffers: Buffers,
}

const SERIALISED: u64 = 1;
const WORDS_A_LINE: u64 = layout::LINE / 8;

impl Map {
    /// The map of that name in the arena, carved now if nobody has.
    ///
    /// # Errors
    /// `Invalid` for a name or shape out of range, `Full` or `NoEntry` when there is no room, `Shape` when the name
    /// is carved as something else, `Corrupt` when the region is damaged.
    pub fn bind(arena: &Arc<Arena>, name: &[u8], shape: Shape) -> Result<Map> {
        let Shape { slots, slot_size, .. } = shape;
        if slots == 0 || slots > MAX_SLOTS {
            return Err(Error::Invalid(format!("a map has 1 to {MAX_SLOTS} slots, not {slots}")));
        }
        if !(MIN_SLOT_SIZE..=MAX_SLOT_SIZE).contains(&slot_size) {
            return Err(Error::Invalid(format!(
                "a map's slot_size is {MIN_SLOT_SIZE} to {MAX_SLOT_SIZE} bytes, not {slot_size}"
            )));
        }
        let layout = MapLayout::new(slots, slot_size);
        let plan = Plan { kind: kind::MAP, length: layout.length, charge: layout::map_charge(slots, slot_size) };
        let region = arena.carve(name, &plan, |region| Map::view(arena, region, shape, layout)?.lay_out())?;
        Map::check_shape(arena, &region, shape, &plan)?;
        Map::view(arena, &region, shape, layout)
    }

    fn check_shape(arena: &Arena, region: &Region, asked: Shape, plan: &Plan) -> Result<()> {
        if region.kind != kind::MAP || Shape::of(arena, region) != Some(asked) {
            return Err(Error::Shape { asked: asked.to_string(), there: arena.describe(region) });
        }
        // Equal shapes take equal bytes, unless the registry was written over.
        if region.length == plan.length {
            Ok(())
        } else {
            Err(damaged())
        }
    }

    fn view(arena: &Arc<Arena>, region: &Region, shape: Shape, layout: MapLayout) -> Result<Map> {
        let mapping = arena.mapping();
        let at = |offset: u64| region.offset.checked_add(offset).ok_or_else(damaged);
        let owner_words = layout.owner_lines * WORDS_A_LINE;
        let vacancy_words = layout.owner_lines.div_ceil(64);
        // SAFETY: all seven live in the Map beside the arena, which keeps the mapping.
        unsafe {
            Ok(Map {
                arena: Arc::clone(arena),
                hash: arena.header.hash.clone(),
                shape,
                layout,
                stripe_shift: 64 - layout.stripes.trailing_zeros(),
                header: View::new(mapping.view(region.offset, 1).ok_or_else(damaged)?),
                stripes: View::new(mapping.view(at(layout.stripes_at)?, layout.stripes).ok_or_else(damaged)?),
                groups: View::new(mapping.view(at(layout.groups_at)?, layout.groups).ok_or_else(damaged)?),
                owners: View::new(mapping.view(at(layout.owners_at)?, owner_words).ok_or_else(damaged)?),
                vacancies: View::new(mapping.view(at(layout.vacancies_at)?, vacancy_words).ok_or_else(damaged)?),
                bounds: View::new(mapping.view(at(layout.bounds_at)?, layout.bounds).ok_or_else(damaged)?),
                buffers: Buffers::new(mapping, at(layout.buffers_at)?, layout.buffers, layout.stride)
                    .ok_or_else(damaged)?,
            })
        }
    }

    /// Writes the first state of a new map into zeroed bytes that nobody else looks at yet.
    fn lay_out(&self) -> Result<()> {
        let header = self.header();
        header.slots.store(self.shape.slots, Ordering::Relaxed);
        header.slot_size.store(self.shape.slot_size, Ordering::Relaxed);
        header.flags.store(if self.shape.serialised { SERIALISED } else { 0 }, Ordering::Relaxed);
        self.lay_out_owners();
        self.lay_out_vacancies();
        self.lay_out_bounds();
        Ok(())
    }

    fn header(&self) -> &MapHeader {
        &self.header[0]
    }

    /// Largest key and value together, in bytes.
    #[must_use]
    pub fn max_pair(&self) -> u64 {
        self.shape.slot_size - BUFFER_HEADER
    }

    /// Entries the map takes: exactly the slots asked for.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.shape.slots
    }

    /// Whether values are encoded structures.
    #[must_use]
    pub fn serialised(&self) -> bool {
        self.shape.serialised
    }

    #[inline(always)] // as KeyHash::of
    fn hash(&self, key: &[u8]) -> u64 {
        self.hash.of(key)
    }
}

fn damaged() -> Error {
    Error::Corrupt("the region of this map is damaged".into())
}
