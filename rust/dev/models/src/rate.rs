//! The files under test, of which the models use a part, and the world they are put in.
//!
//! rustfmt is told to pass them by, since it would look for their own tests, which lie elsewhere.

#[allow(dead_code)]
#[rustfmt::skip]
#[path = "../../../arena/src/rate/fraction.rs"]
mod fraction;
#[allow(dead_code)]
#[rustfmt::skip]
#[path = "../../../arena/src/rate/gcra.rs"]
mod gcra;
#[allow(dead_code)]
#[rustfmt::skip]
#[path = "../../../arena/src/rate/divisor.rs"]
mod divisor;
#[allow(dead_code)]
#[rustfmt::skip]
#[path = "../../../arena/src/rate/slot.rs"]
mod slot;
#[allow(dead_code)]
#[rustfmt::skip]
#[path = "../../../arena/src/rate/table.rs"]
mod table;

pub mod world;

use crate::arena::Arena;
use crate::registry::Region;

/// What a message says of a limiter's region. None is carved here.
pub(crate) struct Policy;

impl Policy {
    pub(crate) fn of(_: &Arena, _: &Region) -> Option<String> {
        None
    }
}
