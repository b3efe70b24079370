//! The C ABI of `shared-arena` and `shared-arena-sereal`: one file for each noun, and no logic.
//!
//! Errors are codes and text; no panic ever crosses. Every pointer a caller passes must be valid as its function
//! says, and a handle must not be used after its release. Keys and values are bytes with a length; a null pointer
//! stands for no bytes where the length is 0.

#![allow(non_camel_case_types, non_upper_case_globals)]

mod arena;
mod error;
mod map;
mod rate;
mod reader;
mod testing;
mod writer;

pub use arena::*;
pub use error::*;
pub use map::*;
pub use rate::*;
pub use reader::*;
pub use testing::*;
pub use writer::*;

/// Changes when a caller compiled against an older header can no longer call this library.
pub const SA_ABI_VERSION: u32 = 2;
/// Largest size of an arena, in bytes.
pub const SA_MAX_ARENA_SIZE: u64 = 70_368_744_177_664;
/// Most regions of an arena.
pub const SA_MAX_REGIONS: u32 = 65_536;
/// Longest name of a region, in bytes.
pub const SA_MAX_REGION_NAME: u32 = 31;
/// Longest name of an arena, in bytes.
pub const SA_MAX_ARENA_NAME: u32 = 200;
/// Most slots of a map or limiter.
pub const SA_MAX_SLOTS: u64 = 2_147_483_648;
/// Smallest slot_size of a map, in bytes.
pub const SA_MIN_SLOT_SIZE: u64 = 33;
/// Largest slot_size of a map, in bytes.
pub const SA_MAX_SLOT_SIZE: u64 = 1_073_741_824;
/// Largest limit of a limiter, in requests.
pub const SA_MAX_LIMIT: f64 = 1e9;
/// Smallest limit of a limiter.
pub const SA_MIN_LIMIT: f64 = 1e-9;
/// Longest window of a limiter, in seconds: ten years.
pub const SA_MAX_WINDOW: f64 = 315_576_000.0;
/// Shortest window of a limiter, in seconds.
pub const SA_MIN_WINDOW: f64 = 1e-9;

// The header spells the numbers out; the core owns them.
const _: () = {
    use shared_arena::layout;
    assert!(SA_MAX_ARENA_SIZE == layout::MAX_ARENA_SIZE && SA_MAX_REGIONS == layout::MAX_REGIONS);
    assert!(SA_MAX_REGION_NAME as usize == layout::MAX_REGION_NAME);
    assert!(SA_MAX_ARENA_NAME as usize == layout::MAX_ARENA_NAME && SA_MAX_SLOTS == layout::MAX_SLOTS);
    assert!(SA_MAX_LIMIT == shared_arena::MAX_LIMIT && SA_MIN_LIMIT == shared_arena::MIN_LIMIT);
    assert!(SA_MAX_WINDOW == shared_arena::MAX_WINDOW && SA_MIN_WINDOW == shared_arena::MIN_WINDOW);
    assert!(SA_MIN_SLOT_SIZE == layout::MIN_SLOT_SIZE && SA_MAX_SLOT_SIZE == layout::MAX_SLOT_SIZE);
};

/// The version this library was built with: compare it with SA_ABI_VERSION.
#[no_mangle]
pub extern "C" fn sa_abi_version() -> u32 {
    SA_ABI_VERSION
}

/// Whether this processor has the 16-byte compare-and-swap that arenas need; without it none can be opened.
#[no_mangle]
pub extern "C" fn sa_have_atomics() -> bool {
    shared_arena::have_atomics()
}

/// # Safety
/// `start` points at `length` bytes that nobody writes while the result lives, or `length` is 0.
unsafe fn bytes<'a, T>(start: *const T, length: usize) -> &'a [u8] {
    if length == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(start.cast(), length) }
}

/// # Safety
/// `start` points at `length` bytes that are the callee's to write, or `length` is 0.
unsafe fn room<'a, T>(start: *mut T, length: usize) -> &'a mut [std::mem::MaybeUninit<u8>] {
    if length == 0 {
        return &mut [];
    }
    // SAFETY: the caller's promise; MaybeUninit asks nothing of what is there.
    unsafe { std::slice::from_raw_parts_mut(start.cast(), length) }
}
