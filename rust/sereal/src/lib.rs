//! Sereal documents over byte slices: a writer that keeps to a limit, and a reader that trusts nothing.
//!
//! The format is that of the public Sereal specification (`sereal_spec.pod` of the Sereal project): protocol version 5
//! is written, versions 3 to 5 are read, both with a body that is not compressed. Nothing here knows of Perl: the caller
//! walks its own values and feeds the [`Writer`], or is fed [`Item`]s by the [`Reader`] and builds its own.
//!
//! The modules, from the bottom up: `tag` (the table of tags), `error`, `varint`, `cursor` (reading that stays inside),
//! `header`, `item` (what a reader tells), `writer`, `reader` (one item after the other) with `reader::value` (one item),
//! `reader::copy` (what is read a second time) and `reader::track` (what is referred to later).

#![forbid(unsafe_code)]

mod cursor;
mod error;
mod header;
mod item;
mod reader;
mod tag;
mod varint;
mod writer;

pub use error::{Error, Reason, Role};
pub use item::{flag, Item, Kind, Sort, Span, Text, UNTRACKED};
pub use reader::{text, Reader, COPIED_ANYWAY, COPIED_PER_BYTE, MAX_DEPTH, MAX_DOCUMENT};
pub use writer::{short_text, Writer, SHORT_DOCUMENT, SHORT_TEXT};

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
