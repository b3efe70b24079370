//! The model once more, with several processes that take turns at one map.
//!
//! Each runs the whole sequence of calls over its own copy of the model, and makes those that fall to it: so it
//! must find exactly what the others left.

use super::*;
use crate::mapping::{self, Mapping};
use crate::sync::{copy_in, copy_out, Ordering};
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

const CALLS: usize = 10_000;
/// After so many of them the map is walked through.
const BETWEEN_VERIFIES: usize = 250;
/// Slots, keys, and the longest time to live, in milliseconds.
const ROUNDS: [(u64, u8, u64); 10] = [
    (1, 3, 40),
    (2, 2, 40),
    (3, 8, 60),
    (5, 4, 60),
    (8, 20, 100),
    (16, 12, 200),
    (37, 60, 400),
    (64, 50, 400),
    (100, 150, 800),
    (200, 250, 2000),
];

/// What the processes tell each other: whose turn it is, what the map told after each call, and why they stopped.
struct Board(Mapping);

impl Board {
    const TEXT_LENGTH: usize = 4096;

    fn new() -> Board {
        Board(mapping::anonymous(16 + Board::TEXT_LENGTH + CALLS * 16).unwrap())
    }

    fn words(&self) -> &[AtomicU64] {
        self.0.view(0, self.0.length() as u64 / 8).unwrap()
    }

    /// Calls made so far.
    fn turn(&self) -> &AtomicU64 {
        &self.words()[0]
    }

    /// Length of the text of the first failure.
    fn failed(&self) -> &AtomicU64 {
        &self.words()[1]
    }

    /// The first failure is the one that tells.
    fn fail(&self, text: &str) {
        if self.failed().load(Ordering::Acquire) != 0 {
            return;
        }
        let bytes = &text.as_bytes()[..text.len().min(Board::TEXT_LENGTH)];
        copy_in(&self.words()[2..], 0, bytes);
        self.failed().store(bytes.len() as u64, Ordering::Release);
    }

    fn failure(&self) -> Option<String> {
        let length = self.failed().load(Ordering::Acquire) as usize;
        let mut text = vec![MaybeUninit::new(0u8); length];
        copy_out(&self.words()[2..], 0, &mut text);
        // SAFETY: initialised above, and copied over with initialised bytes.
        let bytes: Vec<u8> = text.iter().map(|byte| unsafe { byte.assume_init() }).collect();
        (length > 0).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn told(&self, step: usize) -> &[AtomicU64] {
        &self.words()[2 + Board::TEXT_LENGTH / 8 + step * 2..][..2]
    }

    /// Waits for a call to have been made; false when somebody failed.
    fn wait_for(&self, step: usize) -> bool {
        while (self.turn().load(Ordering::Acquire) as usize) < step {
            if self.failed().load(Ordering::Relaxed) != 0 {
                return false;
            }
            std::thread::yield_now();
        }
        true
    }
}

/// One process's part: it follows all calls in its model, and makes every `crew`-th.
fn take_part(map: &Map, board: &Board, calls: &[Call], crew: usize, number: usize) -> Checked<()> {
    let mut model = Model::new(map.capacity());
    for (step, call) in calls.iter().enumerate() {
        let said = |problem: String| format!("step {step}, {call:?}, by process {}: {problem}", step % crew);
        let told = board.told(step);
        if step % crew != number {
            if !board.wait_for(step + 1) {
                return Ok(());
            }
            let [expired, tombstones] = [&told[0], &told[1]].map(|cell| cell.load(Ordering::Relaxed));
            model.apply(call, Told { expired, tombstones }).map_err(said)?;
            continue;
        }
        if !board.wait_for(step) {
            return Ok(());
        }
        let new = make_and_compare(map, &mut model, call).map_err(said)?;
        if step % BETWEEN_VERIFIES == 0 {
            map.verify().map_err(|error| said(error.to_string()))?;
        }
        told[0].store(new.expired, Ordering::Relaxed);
        told[1].store(new.tombstones, Ordering::Relaxed);
        board.turn().store(step as u64 + 1, Ordering::Release);
    }
    Ok(())
}

/// A child that leaves what went wrong, panics too, on the board.
fn fork(board: &Board, part: impl FnOnce() -> Checked<()>) -> libc::pid_t {
    // SAFETY: the child runs our own code, which takes no lock of another thread's but the allocator's, and glibc
    // keeps that usable after a fork; it leaves by _exit.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(part)) {
            Ok(Ok(())) => {}
            Ok(Err(problem)) => board.fail(&problem),
            Err(panic) => board.fail(panic.downcast_ref::<String>().map_or("a panic", |text| text)),
        }
        // SAFETY: ends the child and runs nothing of the parent's.
        unsafe { libc::_exit(0) };
    }
    assert!(pid > 0, "fork: {}", std::io::Error::last_os_error());
    pid
}

/// A child that dies of a signal keeps the others waiting unless they are told. (Polled: other tests of this process
/// wait for children of their own.)
fn wait_for(children: Vec<libc::pid_t>, board: &Board) {
    let mut left = children;
    while !left.is_empty() {
        left.retain(|pid| {
            let mut status = 0;
            // SAFETY: asks after our own child.
            let ended = unsafe { libc::waitpid(*pid, &mut status, libc::WNOHANG) } == *pid;
            if ended && status != 0 {
                board.fail(&format!("process {pid} ended with status {status:#x}"));
            }
            !ended
        });
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

#[test]
fn processes_that_take_turns_agree_with_a_plain_hash_through_100_000_calls() {
    let _turn = CLOCK.lock().unwrap();
    for (round, (slots, pool, longest_ttl)) in ROUNDS.into_iter().enumerate() {
        let random = TestRng::from_seed(RngAlgorithm::XorShift, &[round as u8 + 1; 16]);
        let mut runner = TestRunner::new_with_rng(Config::default(), random);
        let strategy = calls(pool, longest_ttl);
        let calls: Vec<_> = (0..CALLS).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect();

        let arena = Arena::create(None, slots * SLOT_SIZE + 4096, 4).unwrap();
        let map = Map::bind(&arena, b"m", Shape { slots, slot_size: SLOT_SIZE, serialised: false }).unwrap();
        let board = Board::new();
        let crew = 2 + round % 3;
        let children: Vec<_> =
            (0..crew).map(|number| fork(&board, || take_part(&map, &board, &calls, crew, number))).collect();
        wait_for(children, &board);
        if let Some(problem) = board.failure() {
            panic!("{slots} slots, {pool} keys: {problem}");
        }
        assert_eq!(board.turn().load(Ordering::Relaxed), CALLS as u64);
        map.verify().unwrap();
    }
}
