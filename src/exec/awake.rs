//! Threads that stay awake while a model is evaluated.
//!
//! A worker of rayon goes to sleep when it finds no work for some microseconds, as it does between
//! two layers; waking it takes as long as many a layer. During a long evaluation the other workers
//! therefore look for work without a pause.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rayon::Yield;

/// An evaluation that takes at least this long keeps its threads awake.
const LONG: Duration = Duration::from_micros(50);

/// A short evaluation is measured every so many times.
const OFTEN: u8 = 16;

/// A worker that finds no work for so long goes to sleep as it would without us. It may stand in the
/// way of what its thread was waiting for before, so that this bound is needed.
const IDLE: Duration = Duration::from_millis(5);

/// How long a worker waits for another to take its place in the line.
const TAKEN: Duration = Duration::from_micros(200);

/// One evaluation at a time keeps threads awake. Of two, each could have the other's threads wait.
static TAKING: AtomicBool = AtomicBool::new(false);

thread_local! {
    static WATCHING: Cell<bool> = const { Cell::new(false) };
}

/// How long the evaluations of a request take.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    long: bool,
    /// Evaluations that need no measuring.
    left: u8,
}

impl Pace {
    /// Evaluates, on threads that are kept awake if the last evaluation was long.
    pub(crate) fn keep<R: Send>(&mut self, run: impl FnOnce() -> R + Send) -> R {
        self.measured(|long| if long { awake(run) } else { run() })
    }

    /// The same on this very thread. Others are kept awake if it is one of a pool.
    pub(crate) fn keep_here<R>(&mut self, run: impl FnOnce() -> R) -> R {
        self.measured(|long| if long { awake_here(run) } else { run() })
    }

    fn measured<R>(&mut self, run: impl FnOnce(bool) -> R) -> R {
        if self.left > 0 {
            self.left -= 1;
            return run(false);
        }
        let start = Instant::now();
        let result = run(self.long);
        self.took(start.elapsed());
        result
    }

    fn took(&mut self, time: Duration) {
        self.long = time >= LONG;
        self.left = if self.long { 0 } else { OFTEN };
    }
}

/// Sets a flag when it goes, also in a panic.
struct Set<'f>(&'f AtomicBool, bool);

impl Drop for Set<'_> {
    fn drop(&mut self) {
        self.0.store(self.1, Ordering::Release);
    }
}

/// The workers beside one, and what lets none but this evaluation keep them awake; `None` where there are
/// none, or another does.
fn take() -> Option<(usize, Set<'static>)> {
    let others = rayon::current_num_threads() - 1;
    let taken = others > 0 && !TAKING.swap(true, Ordering::Acquire);
    taken.then(|| (others, Set(&TAKING, false)))
}

/// Calls `run` while the other workers of the pool look for work.
fn awake<R: Send>(run: impl FnOnce() -> R + Send) -> R {
    let Some((others, _taking)) = take() else {
        return run();
    };
    let over = AtomicBool::new(false);
    let until_over = || {
        let _over = Set(&over, true);
        run()
    };
    rayon::join(until_over, || line(&over, others)).0
}

/// The same on this thread; outside of a pool nobody is kept awake, for all of its workers are others.
fn awake_here<R>(run: impl FnOnce() -> R) -> R {
    if rayon::current_thread_index().is_none() {
        return run();
    }
    let Some((others, _taking)) = take() else {
        return run();
    };
    let over = AtomicBool::new(false);
    rayon::in_place_scope(|scope| {
        let _over = Set(&over, true);
        scope.spawn(|_| line(&over, others));
        run()
    })
}

/// This worker and so many others behind it look for work.
fn line(over: &AtomicBool, workers: usize) {
    if workers == 1 {
        return watch(over);
    }
    let taken = AtomicBool::new(false);
    let first = || {
        let start = Instant::now();
        while !taken.load(Ordering::Acquire) && !is(over) && start.elapsed() < TAKEN {
            std::hint::spin_loop();
        }
        watch(over);
    };
    rayon::join(first, || {
        taken.store(true, Ordering::Release);
        line(over, workers - 1);
    });
}

/// Looks for work until the evaluation is over, or there was none for long.
fn watch(over: &AtomicBool) {
    // What is found may be the next of the line.
    if WATCHING.replace(true) {
        return;
    }
    let mut last = Instant::now();
    while !is(over) {
        match rayon::yield_now() {
            Some(Yield::Executed) => last = Instant::now(),
            _ if last.elapsed() > IDLE => break,
            _ => (0..16).for_each(|_| std::hint::spin_loop()),
        }
    }
    WATCHING.set(false);
}

fn is(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Acquire)
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::*;

    fn work() -> u64 {
        (0..1000u64)
            .into_par_iter()
            .map(|i| (0..100).map(|j| i ^ j).sum::<u64>())
            .sum()
    }

    #[test]
    fn work_is_done_inside_and_outside_of_pools() {
        let expected = work();
        for threads in [1, 2, 3, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().expect("threads");
            for _ in 0..50 {
                assert_eq!(pool.install(|| awake(|| work() + work())), 2 * expected);
                assert_eq!(
                    pool.install(|| awake_here(|| work() + work())),
                    2 * expected
                );
            }
        }
        assert_eq!(awake(work), expected);
        assert_eq!(awake_here(work), expected);
    }

    #[test]
    fn many_evaluations_at_once_end() {
        let expected = work();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3);
        let pool = pool.build().expect("threads");
        let sums: Vec<u64> = pool.install(|| {
            let runs = (0..200).into_par_iter();
            runs.map(|i| match i % 2 {
                0 => awake(|| awake(work) + awake_here(work)),
                _ => awake_here(|| awake(work) + awake_here(work)),
            })
            .collect()
        });
        assert_eq!(sums, [2 * expected; 200]);
    }

    #[test]
    fn a_panic_ends_the_watch() {
        let panicked = std::panic::catch_unwind(|| awake(|| panic!("on purpose")));
        assert!(panicked.is_err());
        let here = || rayon::scope(|_| awake_here(|| panic!("on purpose")));
        assert!(std::panic::catch_unwind(here).is_err());
        assert_eq!(awake(work), work());
    }

    #[test]
    fn only_long_evaluations_are_kept_awake() {
        let mut pace = Pace::default();
        pace.took(LONG);
        assert!(pace.long && pace.left == 0);
        assert_eq!(pace.keep(work), work());
        pace.took(LONG);
        assert_eq!(rayon::scope(|_| pace.keep_here(work)), work());
        pace.took(LONG / 2);
        assert!(!pace.long && pace.left == OFTEN);
        assert_eq!(pace.keep(work), work());
        assert_eq!(pace.left, OFTEN - 1);
    }
}
