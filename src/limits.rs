//! Limits on what a file may ask for. They are checked before anything is allocated.

mod pending;

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rayon::iter::{MapInit, ParallelIterator};

use crate::error::{Error, Kind};
use crate::op::{OpError, OpErrorKind};
use pending::Pending;

/// Upper bounds for reading, inferring and evaluating a model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of the document (`model.xml`), and of other text: a file of inputs in JSON, the header
    /// of a file of tensors.
    pub document_bytes: u64,
    /// Layers of the model, those of all bodies included.
    pub layers: usize,
    /// How deep bodies, and entries of `rt_info`, may be nested. No level takes any of the stack.
    pub nesting: usize,
    /// Dimensions of a shape.
    pub rank: usize,
    /// Bytes of a file of tensors, or of an ONNX model.
    pub file_bytes: u64,
    /// Bytes of one tensor.
    pub tensor_bytes: u64,
    /// Bytes of all tensors alive at one time of an evaluation, constants not counted.
    pub live_bytes: u64,
    /// Bytes of all outputs of an evaluation.
    pub output_bytes: u64,
    /// Iterations of one Loop or TensorIterator.
    pub loop_trips: u64,
    /// When whatever is going on ends with an error of [`Kind::Deadline`].
    pub deadline: Option<Instant>,
    /// Ends whatever is going on with an error of [`Kind::Cancelled`].
    pub cancel: Option<CancelToken>,
    /// Whether the bytes of constants may stay in a mapped file until they are needed. A mapped file
    /// that another process makes shorter ends this one with a signal. What is not mapped is read
    /// when it is needed, [`Limits::file_bytes`] of one file at most.
    pub map: bool,
    /// Whether the constants of a model may lie outside its own folder: where absolute paths, `..`
    /// and links lead.
    pub allow_outside: bool,
    /// Whether results are the same bits on every machine, not only with every number of threads.
    /// Products, convolutions and transforms then add up as any machine can, which is slower where
    /// vectors are longer than four floats.
    /// Which NaN a NaN is stays open. A model that is compiled must be
    /// [compiled](crate::CompileOptions::limits) so.
    pub deterministic: bool,
}

impl Default for Limits {
    fn default() -> Self {
        const GIB: u64 = 1 << 30;
        Self {
            document_bytes: GIB,
            layers: 2_000_000,
            nesting: 10_000,
            rank: 64,
            file_bytes: 16 * GIB,
            tensor_bytes: 16 * GIB,
            live_bytes: 64 * GIB,
            output_bytes: 64 * GIB,
            loop_trips: 100_000_000,
            deadline: None,
            cancel: None,
            map: true,
            allow_outside: false,
            deterministic: false,
        }
    }
}

impl Limits {
    /// Bounds for files from strangers: a model as large as real ones are, on a machine that has
    /// other things to do.
    pub fn untrusted() -> Self {
        const MIB: u64 = 1 << 20;
        Self {
            document_bytes: 64 * MIB,
            layers: 100_000,
            nesting: 256,
            rank: 32,
            file_bytes: 2048 * MIB,
            tensor_bytes: 1024 * MIB,
            live_bytes: 2048 * MIB,
            output_bytes: 1024 * MIB,
            loop_trips: 1_000_000,
            map: false,
            ..Self::default()
        }
    }
}

/// Ends an evaluation, or the reading of a model, from another thread.
///
/// Give a clone to [`Limits::cancel`] and keep one. It is looked at between layers and inside long
/// kernels; a token that was used stays used.
///
/// ```
/// use ovir::{CancelToken, Kind, Limits, Model};
///
/// let token = CancelToken::new();
/// let mut limits = Limits::default();
/// limits.cancel = Some(token.clone());
/// token.cancel();
/// let path = "ir-samples/ops/movement/gather-8/example-7.xml";
/// let error = Model::read_with(path, &limits).expect_err("it was cancelled");
/// assert_eq!(error.kind(), Kind::Cancelled);
/// ```
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// A token that was not used yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends what the token was given to.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether it was used.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// The same token.
impl PartialEq for CancelToken {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for CancelToken {}

/// Why something ends before it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    Cancelled,
    Late,
    /// A kernel was refused memory.
    Memory,
}

impl Stop {
    /// The kind of its error.
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Cancelled => Kind::Cancelled,
            Self::Late => Kind::Deadline,
            Self::Memory => Kind::Limit,
        }
    }

    /// The message of its error.
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::Cancelled => "the work was cancelled",
            Self::Late => "the time limit is over",
            Self::Memory => "memory ran out",
        }
    }
}

impl From<Stop> for Error {
    fn from(stop: Stop) -> Self {
        Self::new(stop.kind(), stop.message())
    }
}

impl From<Stop> for OpError {
    fn from(stop: Stop) -> Self {
        Self {
            message: stop.message().to_owned(),
            kind: match stop {
                Stop::Cancelled => OpErrorKind::Cancelled,
                Stop::Late => OpErrorKind::Deadline,
                Stop::Memory => OpErrorKind::Limit,
            },
        }
    }
}

/// What goes on under the same limits, on whatever threads.
#[derive(Debug, Default)]
struct Work {
    limits: Limits,
    /// Whether a kernel of it was refused memory.
    refused: AtomicBool,
}

impl Work {
    fn check(&self) -> Result<(), Stop> {
        if self.refused.load(Ordering::Acquire) {
            return Err(Stop::Memory);
        }
        let Limits {
            cancel, deadline, ..
        } = &self.limits;
        if cancel.as_ref().is_some_and(CancelToken::is_cancelled) {
            return Err(Stop::Cancelled);
        }
        match deadline {
            Some(deadline) if Instant::now() >= *deadline => Err(Stop::Late),
            _ => Ok(()),
        }
    }
}

/// Tells whether to go on. Kernels take the one of their thread ([`watch`]) before they share out
/// work, and return early, with anything in their outputs, when it says so: whoever called them
/// asks again.
#[derive(Debug, Clone)]
pub(crate) struct Watch(Arc<Work>);

impl Watch {
    /// Tells when what goes on under these limits is to end.
    pub(crate) fn of(limits: &Limits) -> Self {
        Self(Arc::new(Work {
            limits: limits.clone(),
            refused: AtomicBool::new(false),
        }))
    }

    /// Nothing, or why to end.
    pub(crate) fn check(&self) -> Result<(), Stop> {
        self.0.check()
    }
}

thread_local! {
    /// What this thread does. Threads that work for it ask before they are given the work.
    static CURRENT: RefCell<Arc<Work>> = RefCell::default();
    /// For the next work: what evaluates again and again allocates nothing.
    static SPARE: Cell<Option<Arc<Work>>> = const { Cell::new(None) };
}

/// Calls `f` under these limits.
pub(crate) fn under<R>(limits: &Limits, f: impl FnOnce() -> R) -> R {
    let mut work = SPARE.take().unwrap_or_default();
    match Arc::get_mut(&mut work) {
        Some(work) => work.limits.clone_from(limits),
        None => unreachable!("nobody else has what is spare"),
    }
    let _lent = Lent::new(work);
    f()
}

/// Looks at the limits of what this thread does.
pub(crate) fn current<R>(f: impl FnOnce(&Limits) -> R) -> R {
    CURRENT.with_borrow(|work| f(&work.limits))
}

/// Tells when what this thread does is to end.
pub(crate) fn watch() -> Watch {
    CURRENT.with_borrow(|work| Watch(Arc::clone(work)))
}

/// What [`watch`] says now.
pub(crate) fn check() -> Result<(), Stop> {
    CURRENT.with_borrow(|work| work.check())
}

/// What a kernel says that no `Result` leaves and that was refused memory, before it returns early:
/// the watch of this work tells it to whoever called the kernel.
pub(crate) fn refuse() {
    CURRENT.with_borrow(|work| work.refused.store(true, Ordering::Release));
}

/// A thread that does this work, until this is dropped.
pub(crate) struct Lent {
    before: Arc<Work>,
}

impl Lent {
    fn new(work: Arc<Work>) -> Self {
        let before = CURRENT.replace(work);
        Self { before }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // What was before is again, and this has what is done.
        CURRENT.with_borrow_mut(|current| std::mem::swap(current, &mut self.before));
        if let Some(done) = Arc::get_mut(&mut self.before) {
            done.limits.cancel = None;
            *done.refused.get_mut() = false;
            SPARE.set(Some(Arc::clone(&self.before)));
        }
    }
}

/// Work that is shared out by rayon.
///
/// A thread that waits for its own share may be given a piece of another evaluation meanwhile, so
/// that a piece which looks at the watch must bring its limits along: pieces of kernels go
/// through here unless they are short and call no other kernel.
pub(crate) trait Share: ParallelIterator {
    /// Does the work for every item, under the limits of this thread. When the watch says so, what
    /// is left stays undone: whoever called the kernel asks again.
    fn share(self, work: impl Fn(Self::Item) + Sync + Send) {
        share_each(self, &|| (), &|(), item| work(item));
    }

    /// The same, with something that each thread makes for the items it takes one after the other.
    fn share_init<S>(
        self,
        init: impl Fn() -> S + Sync + Send,
        work: impl Fn(&mut S, Self::Item) + Sync + Send,
    ) {
        share_each(self, &init, &work);
    }

    /// What the work gives for every item. None is left out: the work looks at the watch itself.
    fn share_map<R: Send, F: Fn(Self::Item) -> R + Sync + Send>(
        self,
        work: F,
    ) -> MapInit<
        Self,
        impl Fn() -> Lent + Sync + Send,
        impl Fn(&mut Lent, Self::Item) -> R + Sync + Send,
    > {
        let Watch(current) = watch();
        self.map_init(
            move || Lent::new(Arc::clone(&current)),
            move |_, item| work(item),
        )
    }
}

impl<I: ParallelIterator> Share for I {}

/// [`Share::share_init`] for functions that are called by address: what rayon makes of an iterator is much code, and
/// compiled for each type of iterator so, not for each work.
fn share_each<I: ParallelIterator, S>(
    items: I,
    init: &(dyn Fn() -> S + Sync),
    work: &(dyn Fn(&mut S, I::Item) + Sync),
) {
    let Watch(current) = watch();
    let pending = items.opt_len().map(Pending::new);
    items.for_each_init(
        || (Lent::new(Arc::clone(&current)), init()),
        |(_, own), item| {
            if let Some(pending) = &pending {
                pending.begin();
            }
            if current.check().is_ok() {
                work(own, item);
            }
            if let Some(pending) = &pending {
                pending.end();
            }
        },
    );
}

/// Calls `f` under limits of its own, and says whether it was not told to end. If it was refused
/// memory, so was this work.
fn aside<R>(limits: &Limits, f: impl FnOnce() -> R) -> (R, bool) {
    let (made, told) = under(limits, || (f(), check()));
    if told == Err(Stop::Memory) {
        refuse();
    }
    (made, told.is_ok())
}

/// Calls `f` without a deadline or a token: what it makes is kept, and must be whole. Nothing, if it
/// was refused memory, as this work then was.
pub(crate) fn unhurried<R>(f: impl FnOnce() -> R) -> Option<R> {
    let mut limits = current(Limits::clone);
    (limits.deadline, limits.cancel) = (None, None);
    let (made, whole) = aside(&limits, f);
    whole.then_some(made)
}

/// Calls `f` so that it gives the same bits on every machine: what it makes outlives the limits of the
/// work at hand.
pub(crate) fn deterministic<R>(f: impl FnOnce() -> R) -> R {
    let mut limits = current(Limits::clone);
    if std::mem::replace(&mut limits.deterministic, true) {
        return f();
    }
    aside(&limits, f).0
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    use rayon::iter::IntoParallelIterator;

    use super::*;

    #[test]
    fn limits_hold_inside_only() {
        let token = CancelToken::new();
        let mut limits = Limits {
            rank: 7,
            cancel: Some(token.clone()),
            ..Limits::default()
        };
        let inner = under(&limits, || {
            assert_eq!(current(|l| l.rank), 7);
            assert_eq!(watch().check(), Ok(()));
            token.cancel();
            watch().check()
        });
        assert_eq!(inner, Err(Stop::Cancelled));
        assert_eq!(watch().check(), Ok(()));
        limits.cancel = None;
        limits.deadline = Some(Instant::now());
        assert_eq!(under(&limits, || watch().check()), Err(Stop::Late));
        limits.deadline = Some(Instant::now() + Duration::from_secs(600));
        assert_eq!(under(&limits, || watch().check()), Ok(()));
        let unhurried = under(&limits, || unhurried(watch)).expect("memory");
        assert_eq!(unhurried.check(), Ok(()));
        let panicked = std::panic::catch_unwind(|| under(&limits, || panic!("on purpose")));
        assert!(panicked.is_err() && current(|l| l.rank) == 64);
        let chosen = || current(|l| l.deterministic);
        let panicked = std::panic::catch_unwind(|| deterministic(|| assert!(!chosen())));
        assert!(panicked.is_err() && !chosen() && deterministic(|| deterministic(chosen)));
    }

    #[test]
    fn memory_is_refused_to_the_work_at_hand_only() {
        let limits = Limits::default();
        under(&limits, || {
            under(&limits, || {
                (0..10).into_par_iter().share(|_| refuse());
                assert_eq!(watch().check(), Err(Stop::Memory));
            });
            assert_eq!(watch().check(), Ok(()));
            assert_eq!(unhurried(|| 7), Some(7));
            assert_eq!(watch().check(), Ok(()));
            assert_eq!(unhurried(refuse), None);
            assert_eq!(watch().check(), Err(Stop::Memory));
        });
        assert_eq!(under(&limits, || watch().check()), Ok(()));
    }

    #[test]
    fn shared_work_is_under_the_limits_of_who_shares_it() {
        let count = |limits: &Limits, inner: usize| {
            let done = AtomicUsize::new(0);
            under(limits, || {
                (0..100).into_par_iter().share(|_| {
                    assert_eq!(current(|l| l.rank), limits.rank);
                    (0..inner).into_par_iter().share(|_| {
                        done.fetch_add(1, Ordering::Relaxed);
                    });
                });
            });
            done.into_inner()
        };
        let plain = Limits {
            rank: 5,
            ..Limits::default()
        };
        let late = Limits {
            deadline: Some(Instant::now()),
            ..Limits::default()
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3);
        let pool = pool.build().expect("threads");
        // Each takes pieces of the other while it waits.
        let (times, inner) = if cfg!(miri) { (1, 2) } else { (20, 50) };
        let both = || rayon::join(|| count(&plain, inner), || count(&late, inner));
        for _ in 0..times {
            assert_eq!(pool.install(both), (100 * inner, 0));
        }
        assert_eq!(pool.broadcast(|_| current(|l| l.rank)), [64; 3]);
    }
}
