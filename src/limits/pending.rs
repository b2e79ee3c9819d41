//! Threads that wait for the last items of work that is shared out.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rayon::Yield;

thread_local! {
    static WAITING: Cell<bool> = const { Cell::new(false) };
}

/// How long a thread stays awake for the last items of others. What it waits for may be below other work on the stack
/// of a thread that waits for this one, so that it must give up in the end.
const PATIENCE: Duration = Duration::from_micros(200);

/// Items that are shared out, and not begun or not done yet.
///
/// A worker of rayon that waits goes to sleep after some ten microseconds, and takes up to forty to wake up. Where one
/// thread is slower than another, as those are whose core others use too, that would be so with every layer.
pub(super) struct Pending {
    unbegun: AtomicUsize,
    undone: AtomicUsize,
}

impl Pending {
    pub(super) fn new(items: usize) -> Self {
        Self {
            unbegun: AtomicUsize::new(items),
            undone: AtomicUsize::new(items),
        }
    }

    pub(super) fn begin(&self) {
        self.unbegun.fetch_sub(1, Ordering::Relaxed);
    }

    /// After the last item that was not begun, waits for those of other threads, and does what else there is to do.
    pub(super) fn end(&self) {
        self.end_within(PATIENCE);
    }

    fn end_within(&self, patience: Duration) {
        let others = self.undone.fetch_sub(1, Ordering::Relaxed) > 1;
        // What is found to do may end with waiting, too.
        if !others || self.unbegun.load(Ordering::Relaxed) > 0 || WAITING.replace(true) {
            return;
        }
        let mut last = Instant::now();
        while self.undone.load(Ordering::Relaxed) > 0 {
            match rayon::yield_now() {
                Some(Yield::Executed) => last = Instant::now(),
                _ if last.elapsed() > patience => break,
                _ => std::thread::yield_now(),
            }
        }
        WAITING.set(false);
    }
}

#[cfg(test)]
mod tests {
    use rayon::iter::{IndexedParallelIterator, IntoParallelIterator};

    use super::*;
    use crate::limits::Share;

    /// What is waited for may be below the wait on the stack of another thread.
    #[test]
    fn nobody_waits_for_ever() {
        let pending = Pending::new(3);
        pending.begin();
        pending.end();
        assert_eq!(pending.undone.load(Ordering::Relaxed), 2);
        (0..2).for_each(|_| pending.begin());
        pending.end();
        assert_eq!(pending.undone.load(Ordering::Relaxed), 1);
        assert!(!WAITING.get());
    }

    #[test]
    fn the_last_items_of_others_are_waited_for() {
        let pending = Pending::new(2);
        std::thread::scope(|scope| {
            (0..2).for_each(|_| pending.begin());
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                pending.end();
            });
            pending.end_within(Duration::from_secs(600));
            assert_eq!(pending.undone.load(Ordering::Relaxed), 0);
        });
        assert!(!WAITING.get());
    }

    #[test]
    fn shares_inside_of_shares_are_done() {
        let done = AtomicUsize::new(0);
        let inner = |_| {
            (0..20).into_par_iter().with_max_len(1).share(|_| {
                done.fetch_add(1, Ordering::Relaxed);
            })
        };
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let pool = pool.expect("threads");
            pool.install(|| (0..50).into_par_iter().with_max_len(1).share(inner));
            assert_eq!(done.swap(0, Ordering::Relaxed), 1000);
        }
        assert!(!WAITING.get());
    }
}
