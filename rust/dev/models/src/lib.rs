//! Model checks of the limiter's table: the arena's own source files over loom's atomics.
//!
//! loom runs a scenario once for each order in which its threads' steps can be told apart, and for each value, new or
//! old, that the memory model lets a load return. All orders are too many for most scenarios, so they say how often a
//! thread is interrupted at most. `rate` includes the files under test unchanged; the modules below take the
//! places of the arena's of the same names; `world` is what scenarios, in `tests/`, are written in.

// The files under test bring tests of their own, which are not for loom: here all tests are in `tests/`.
#![cfg(not(test))]

mod clock;
mod failpoint;
mod layout;
mod rate;
mod sync;

pub use rate::world;
