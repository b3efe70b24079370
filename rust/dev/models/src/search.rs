//! loom's search of one scenario.

use crate::memory::{self, step, Learned, Memory, PROCESSES};
use crate::{failpoint, lock, sync};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::{Arc, Mutex};

/// How far a search goes.
#[derive(Clone, Copy)]
pub struct Search {
    /// Of a process that could go on; any number when None.
    preemptions: Option<usize>,
    fences: bool,
    pub(crate) unique_claims: bool,
    turns_loads: bool,
}

/// Looks at every order.
pub const EXHAUSTIVE: Search = Search { preemptions: None, fences: true, unique_claims: true, turns_loads: true };

/// Looks at the orders in which at most so many times a process that could go on has to let another one run.
pub const fn bounded(preemptions: usize) -> Search {
    Search { preemptions: Some(preemptions), ..EXHAUSTIVE }
}

/// Whether the longer form was asked for.
fn is_long() -> bool {
    std::env::var("MODELS").is_ok_and(|form| form == "long")
}

/// Something that processes share: memory, and what lies in it.
pub(crate) trait Place: Send + Sync + 'static {
    fn memory(&self) -> &Memory;
}

/// What one process of a scenario does.
pub type Process<P, T> = Arc<dyn Fn(&P) -> T + Send + Sync>;

pub fn process<P, T>(work: impl Fn(&P) -> T + Send + Sync + 'static) -> Process<P, T> {
    Arc::new(work)
}

impl Search {
    /// In the longer form, this one instead.
    pub fn or_long(self, long: Search) -> Search {
        let (preemptions, turns_loads) =
            if is_long() { (long.preemptions, long.turns_loads) } else { (self.preemptions, self.turns_loads) };
        Search { preemptions, turns_loads, ..self }
    }

    /// As if there were no fences.
    pub const fn without_fences(self) -> Search {
        Search { fences: false, ..self }
    }

    /// As if every claim of a limiter's key were the same.
    pub const fn without_unique_claims(self) -> Search {
        Search { unique_claims: false, ..self }
    }

    /// Does without the steps by which loom sees that a load and another process's compare-and-swap can come in two orders:
    /// see `memory::Shared`.
    pub const fn without_turning_loads(self) -> Search {
        Search { turns_loads: false, ..self }
    }

    /// Runs these processes at once, in every order, and judges what they did and left.
    pub(crate) fn run<P: Place, T: 'static, const N: usize>(
        self,
        place: P,
        processes: [Process<P, T>; N],
        judge: impl Fn(&P, [T; N]) + Send + Sync + 'static,
    ) {
        assert!((1..=PROCESSES).contains(&N));
        sync::set_fenced(self.fences);
        let place = Arc::new(place);
        place.memory().prepared(self.turns_loads);
        let judge = Arc::new(judge);
        let began = std::time::Instant::now();
        loop {
            let executions = Arc::new(Mutex::new(0u64));
            let (count, place, judge) = (Arc::clone(&executions), Arc::clone(&place), Arc::clone(&judge));
            let processes = processes.clone();
            let mut builder = loom::model::Builder::new();
            builder.preemption_bound = self.preemptions;
            builder.max_branches = 5_000;
            let search = move || {
                builder.check(move || {
                    *count.lock().unwrap() += 1;
                    execute(&place, &processes, &*judge);
                });
            };
            match catch_unwind(AssertUnwindSafe(search)) {
                Ok(()) => {
                    let name = std::thread::current().name().unwrap_or("a scenario").to_string();
                    println!("{name}: {} executions in {:.1?}", executions.lock().unwrap(), began.elapsed());
                    return;
                }
                Err(reason) if reason.is::<Learned>() => {}
                Err(reason) => resume_unwind(reason),
            }
        }
    }
}

fn execute<P: Place, T: 'static, const N: usize>(
    place: &Arc<P>,
    processes: &[Process<P, T>; N],
    judge: &impl Fn(&P, [T; N]),
) {
    lock::begin();
    failpoint::begin();
    place.memory().begin();
    let others: Vec<_> = (1..N)
        .map(|number| {
            let (place, work) = (Arc::clone(place), Arc::clone(&processes[number]));
            step(|| {
                loom::thread::spawn(move || {
                    memory::be_process(number);
                    work(&place)
                })
            })
        })
        .collect();
    let mut results = vec![processes[0](place)];
    for other in others {
        results.push(step(|| other.join().unwrap()));
    }
    place.memory().end();
    let results: [T; N] = results.try_into().ok().expect("as many as there are");
    judge(place, results);
}
