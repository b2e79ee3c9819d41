//! Models compiled to run fast.

use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use super::{InferRequest, Model};
use crate::error::{Error, Kind, Result};
use crate::limits::{self, Limits, under};
use crate::opt::{self, Budget};
use crate::tensor::{PartialShape, Shape, Tensor};

/// How a model is compiled.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CompileOptions {
    /// How many threads evaluate a request. `None`: those of rayon's pool that the caller is in, or
    /// of its global one, whose number `RAYON_NUM_THREADS` sets. Those are also what evaluates where
    /// there are observers, which stay on the caller's thread.
    pub threads: Option<NonZeroUsize>,
    /// Bytes of constants that may be computed ahead.
    pub folded_bytes: u64,
    /// Bounds of the constants that are computed ahead; a deadline and a token also end the
    /// compilation itself. Evaluations have limits of their own, but a model that was compiled to be
    /// [deterministic](Limits::deterministic) is evaluated so.
    pub limits: Limits,
    /// For how many sets of input shapes a model of open shapes is compiled at a time.
    pub shapes: usize,
}

impl Default for CompileOptions {
    fn default() -> Self {
        Self {
            threads: None,
            folded_bytes: 1 << 30,
            limits: Limits::default(),
            shapes: 8,
        }
    }
}

/// A model that was compiled: constants folded, layers joined, weights in the order that suits the
/// machine. Its meaning is that of [`Model::evaluate`], up to the rounding of sums in another order.
///
/// Cloning is cheap; all threads may share it. What changes from one evaluation to the next is in
/// [`InferRequest`]s, as many as one likes.
///
/// ```
/// use ovir::{CompileOptions, Model};
/// use ovir::tensor::Tensor;
///
/// let model = Model::read("ir-samples/ops/movement/gather-8/example-7.xml")?;
/// let compiled = model.compile(&CompileOptions::default())?;
/// let mut request = compiled.infer_request();
/// let outputs = request.infer([
///     ("data", Tensor::vector(&[1i32, 2, 3, 4, 5])),
///     ("indices", Tensor::vector(&[3i64, 10, -20])),
/// ])?;
/// assert_eq!(outputs["output"].as_slice::<i32>()?, [4, 0, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct CompiledModel(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    model: Model,
    /// The model with its weights prepared, for shapes to come.
    prepared: Model,
    /// The model joined as far as its own shapes tell.
    joined: Model,
    budget: Budget,
    most_shapes: usize,
    seen: Mutex<Vec<Seen>>,
    threads: Option<rayon::ThreadPool>,
    /// Whether weights are packed for any machine, not for this.
    deterministic: bool,
}

/// A set of input shapes, the last used first.
#[derive(Debug)]
struct Seen {
    shapes: Vec<Shape>,
    /// What it is compiled to: not at the first time, which may be the only one.
    joined: Option<Model>,
}

impl Model {
    /// Compiles the model: a longer beginning, and faster evaluations.
    ///
    /// Weights are prepared by the first evaluation that uses them.
    ///
    /// # Errors
    /// When a layer is not supported, threads cannot be had, or it is ended by a limit.
    pub fn compile(&self, options: &CompileOptions) -> Result<CompiledModel> {
        self.check_supported()?;
        under(&options.limits, || self.compiled(options))
    }

    fn compiled(&self, options: &CompileOptions) -> Result<CompiledModel> {
        let budget = Budget {
            folded_bytes: options.folded_bytes,
        };
        let prepared = self.with_graphs(opt::prepare(self.graphs(), &self.0.facts, budget));
        let joined = prepared.joined(budget)?;
        let pool = |threads: NonZeroUsize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.get());
            pool.build().map_err(|e| {
                Error::new(Kind::Limit, format!("cannot start {threads} threads: {e}"))
            })
        };
        Ok(CompiledModel(Arc::new(Inner {
            model: self.clone(),
            prepared,
            joined,
            budget,
            most_shapes: options.shapes,
            seen: Mutex::new(Vec::new()),
            threads: options.threads.map(pool).transpose()?,
            deterministic: options.limits.deterministic,
        })))
    }

    fn joined(&self, budget: Budget) -> Result<Self> {
        let joined = self.with_graphs(opt::lower(self.graphs(), &self.0.facts, budget));
        // What was not computed ahead for want of time must not be missing for ever.
        limits::check()?;
        Ok(joined)
    }
}

impl CompiledModel {
    /// The model that was compiled.
    pub fn model(&self) -> &Model {
        &self.0.model
    }

    /// The compiled graphs, as far as the model's own shapes tell: what observers of an evaluation
    /// see, layer by layer, unless inputs of exact shapes allow for more.
    pub fn compiled(&self) -> &Model {
        &self.0.joined
    }

    /// A request: evaluations that share memory and the model's variables.
    pub fn infer_request(&self) -> InferRequest {
        InferRequest::compiled(self.clone())
    }

    /// The limits of an evaluation.
    pub(super) fn limits<'l>(&self, limits: &'l Limits) -> Result<Cow<'l, Limits>> {
        match (self.0.deterministic, limits.deterministic) {
            (true, false) => {
                let mut limits = limits.clone();
                limits.deterministic = true;
                Ok(Cow::Owned(limits))
            }
            (false, true) => Err(Error::new(
                Kind::Unsupported,
                "the model was not compiled to be deterministic",
            )),
            _ => Ok(Cow::Borrowed(limits)),
        }
    }

    /// The model to evaluate on these inputs.
    pub(super) fn for_inputs(&self, inputs: &[Option<Tensor>], limits: &Limits) -> Result<Model> {
        let inner = &*self.0;
        let count = inner.model.inputs().len();
        let is_static = |index: usize| {
            let ty = inner.model.input_type(index);
            ty.is_some_and(|ty| ty.shape.is_static())
        };
        if inner.most_shapes == 0 || (0..count).all(is_static) {
            return Ok(inner.joined.clone());
        }
        let mut seen = inner.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let shapes = || inputs.iter().flatten().map(Tensor::shape);
        let same = |seen: &Seen| seen.shapes.iter().eq(shapes());
        let Some(at) = seen.iter().position(same) else {
            seen.truncate(inner.most_shapes - 1);
            let shapes = shapes().cloned().collect();
            let joined = None;
            seen.insert(0, Seen { shapes, joined });
            return Ok(inner.joined.clone());
        };
        if seen[at].joined.is_none() {
            let shapes = seen[at].shapes.iter().map(PartialShape::from).enumerate();
            let joined = under(limits, || {
                let exact = inner.prepared.reshape(shapes)?;
                exact.joined(inner.budget)
            });
            seen[at].joined = Some(joined?);
        }
        seen[..=at].rotate_right(1);
        Ok(seen[0]
            .joined
            .clone()
            .unwrap_or_else(|| inner.joined.clone()))
    }

    /// Calls `run` where its threads are the request's. Small work stays on the calling thread.
    pub(super) fn on_threads<R: Send>(&self, run: impl FnOnce() -> R + Send) -> R {
        match &self.0.threads {
            Some(threads) if rayon::current_num_threads() != threads.current_num_threads() => {
                threads.install(run)
            }
            _ => run(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Builder;
    use crate::tensor::ElementType;

    #[test]
    fn requests_have_the_threads_they_were_promised() {
        let mut graph = Builder::new();
        let x = graph.parameter("x", ElementType::F32, [2].into());
        graph.result("y", x);
        let model = graph.build("nothing").expect("fits");
        let found = |threads: usize| {
            let options = CompileOptions {
                threads: NonZeroUsize::new(threads),
                ..CompileOptions::default()
            };
            let compiled = model.compile(&options).expect("threads");
            compiled.on_threads(rayon::current_num_threads)
        };
        for threads in [1, 2, 7] {
            assert_eq!(found(threads), threads);
        }
        // Without a number: those of the caller's pool.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build();
        assert_eq!(pool.expect("threads").install(|| found(0)), 3);
    }
}
