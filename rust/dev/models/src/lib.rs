//! Model checks of maps, of carving and of the limiter's table: the arena's own source files over loom's atomics.
//!
//! loom runs a scenario once for each order in which its processes' steps can be told apart, and for each value, new or
//! old, that the memory model lets a load return. All orders are too many for most scenarios, so they say how often a
//! process is interrupted at most.
//!
//! The files under test are included unchanged, by their paths. The modules beside this one take the places of the arena's
//! of the same names: `sync` (atomics), `mapping` and `arena` (memory), `lock`, `clock` and `failpoint`; of `layout` only the
//! size of a limiter's group is another. `memory` says which cells are loom's, `search` runs scenarios, and these are
//! written, in `tests/`, in the words of `map_world` and `rate_world`.
//!
//! What is not modelled: two widths of access to one place; loads that a processor carries out after stores which follow
//! them (loom has no such); and of a pair of words what `sync/pair.rs` says.

// The files under test bring tests of their own, which are not for loom: here all tests are in `tests/`.
#![cfg(not(test))]
// Atomics are made of others here.
#![allow(clippy::disallowed_types)]

mod arena;
mod clock;
#[rustfmt::skip]
#[allow(dead_code)]
#[path = "../../../arena/src/error.rs"]
mod error;
mod failpoint;
mod hash;
mod layout;
mod lock;
#[rustfmt::skip]
#[allow(dead_code, unused_imports)]
#[path = "../../../arena/src/map/mod.rs"]
mod map;
pub mod map_world;
mod mapping;
mod memory;
#[rustfmt::skip]
#[allow(dead_code)]
#[path = "../../../arena/src/patience.rs"]
mod patience;
mod rate;
pub mod search;
#[rustfmt::skip]
#[allow(dead_code)]
#[path = "../../../arena/src/registry.rs"]
mod registry;
mod sync;

pub use rate::world as rate_world;
