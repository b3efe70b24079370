//! Whole documents.

mod damage;
mod fixtures;
mod round_trip;
