//! The reader, by the tag, the refusal and the bound.

mod bounds;
mod refusals;
mod tags;
