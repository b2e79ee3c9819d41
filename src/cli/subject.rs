//! A model that is evaluated again and again to be measured: `ovir bench`, `ovir profile`.

use std::time::{Duration, Instant};

use super::profiler::Profiler;
use super::progress::Progress;
use super::threads::Threads;
use super::{Failure, ModelArg, inputs, shown};
use crate::error::Error;
use crate::exec::Observer;
use crate::limits::Limits;
use crate::model::{CompileOptions, InferRequest, Model};
use crate::tensor::Tensor;

/// What is measured, and how it is evaluated.
#[derive(Debug, clap::Args)]
pub(super) struct Subject {
    #[command(flatten)]
    model: ModelArg,
    /// The value of an input, as `ovir eval` takes it; others are random
    #[arg(short, long = "input", value_name = "NAME=VALUE|FILE")]
    inputs: Vec<String>,
    #[command(flatten)]
    threads: Threads,
    /// Time the evaluator, which goes layer by layer, in place of the compiled model
    #[arg(long)]
    evaluator: bool,
}

/// A model that is ready to be evaluated.
pub(super) struct Ready {
    pub(super) limits: Limits,
    pub(super) model: Model,
    /// The compiled model, or the same one.
    evaluated: Model,
    request: InferRequest,
    /// The inputs by position.
    pub(super) given: Vec<(usize, Tensor)>,
    pub(super) read: Duration,
    pub(super) compile: Option<Duration>,
}

impl Subject {
    /// The model's file as it is told.
    pub(super) fn shown(&self) -> String {
        shown(&self.model.model)
    }

    /// Starts threads, reads and compiles the model, and makes its inputs.
    pub(super) fn prepare(&self) -> Result<Ready, Failure> {
        self.threads.start()?;
        let limits = self.model.limits.begin()?;
        let start = Instant::now();
        let model = Model::read_with(&self.model.model, &limits)?;
        let read = start.elapsed();
        model.check_supported()?;
        let given = inputs::read(&model, &self.inputs, &limits)?;
        let given = inputs::random_where_missing(&model, given, 0, &limits)?;
        let (mut compile, mut evaluated) = (None, model.clone());
        let request = if self.evaluator {
            model.infer_request()
        } else {
            let options = CompileOptions {
                limits: limits.clone(),
                ..CompileOptions::default()
            };
            let start = Instant::now();
            let compiled = model.compile(&options)?;
            compile = Some(start.elapsed());
            evaluated = compiled.compiled().clone();
            compiled.infer_request()
        };
        Ok(Ready {
            limits,
            model,
            evaluated,
            request,
            given,
            read,
            compile,
        })
    }
}

impl Ready {
    /// Layers of the model, those of bodies included.
    pub(super) fn layers(&self) -> usize {
        count(&self.model)
    }

    /// Layers of what is evaluated.
    pub(super) fn evaluated_layers(&self) -> usize {
        count(&self.evaluated)
    }

    /// The time of one evaluation.
    pub(super) fn once(&mut self) -> Result<Duration, Error> {
        let given = self.given.iter().cloned();
        let start = Instant::now();
        let outputs = self.request.infer_with(given, &self.limits, &mut [])?;
        let time = start.elapsed();
        drop(outputs);
        Ok(time)
    }

    /// Times the layers of some evaluations, on a thread of the pool as those that nobody observes: from
    /// any other, each layer would first have to wake the pool.
    pub(super) fn profile(&mut self, runs: usize, profiler: Profiler) -> Result<Profiler, Error> {
        rayon::scope(|_| {
            let mut profiler = profiler;
            let progress = Progress::new("evaluations", runs as u64);
            for _ in 0..runs {
                profiler.begin();
                let given = self.given.iter().cloned();
                let observer: &mut dyn Observer = &mut profiler;
                self.request
                    .infer_with(given, &self.limits, &mut [observer])?;
                profiler.end();
                progress.step();
            }
            Ok(profiler)
        })
    }
}

fn count(model: &Model) -> usize {
    model.graphs().iter().map(|g| g.nodes().len()).sum()
}
