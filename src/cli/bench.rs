//! `ovir bench`

use std::io::Write;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use serde_json::json;

use super::profile::Profile;
use super::{Failure, ModelArg, Outcome, inputs, print_json};
use crate::error::{Error, Kind, plain};
use crate::limits::Limits;
use crate::model::{CompileOptions, InferRequest, Model};
use crate::tensor::Tensor;

/// Evaluations before the first that is timed, besides the one that prepares weights: a model of
/// open shapes is compiled for those of the inputs when it sees them again.
const WARM_UP: usize = 2;

/// Fewer evaluations have no median worth the name.
const FEWEST: usize = 5;

/// Evaluations whose layers are timed.
const MOST_PROFILED: usize = 10;

/// No more times are kept.
const MOST: usize = 1_000_000;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    model: ModelArg,
    /// The value of an input, as `ovir eval` takes it; others are random
    #[arg(short, long = "input", value_name = "NAME=VALUE|FILE")]
    inputs: Vec<String>,
    /// How many threads evaluate [default: one for each core, or RAYON_NUM_THREADS]
    #[arg(short, long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// How long evaluations are timed
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = seconds)]
    seconds: Duration,
    /// Time so many evaluations instead
    #[arg(short = 'n', long, value_name = "N", conflicts_with = "seconds")]
    runs: Option<NonZeroUsize>,
    /// Time the evaluator, which goes layer by layer, in place of the compiled model
    #[arg(long)]
    evaluator: bool,
    /// Show which layers the time goes to, in evaluations of their own
    #[arg(long, conflicts_with = "json")]
    layers: bool,
    /// Print JSON, with the time of every evaluation
    #[arg(long)]
    json: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "expected a number".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|e| e.to_string())
}

/// What was measured.
struct Figures {
    threads: usize,
    layers: usize,
    evaluated: usize,
    read: Duration,
    compile: Option<Duration>,
    first: Duration,
    /// The shortest first.
    times: Vec<Duration>,
    /// Bytes of memory, at most, where the system tells.
    memory: Option<u64>,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    let threads = args.threads.map_or(0, NonZeroUsize::get);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    // The calling thread is one of them: it wakes nobody for small work.
    pool.use_current_thread()
        .build_global()
        .map_err(|e| Error::new(Kind::Limit, format!("cannot start threads: {e}")))?;
    let limits = args.model.limits.begin()?;
    let start = Instant::now();
    let model = Model::read_with(&args.model.model, &limits)?;
    let read = start.elapsed();
    model.check_supported()?;
    let given = inputs::read(&model, &args.inputs, &limits)?;
    let given = random_where_missing(&model, given, &limits)?;
    let mut compile = None;
    let (mut request, evaluated) = if args.evaluator {
        (model.infer_request(), &model)
    } else {
        let options = CompileOptions {
            limits: limits.clone(),
            ..CompileOptions::default()
        };
        let start = Instant::now();
        let compiled = model.compile(&options)?;
        compile = Some(start.elapsed());
        (compiled.infer_request(), &compiled.compiled().clone())
    };
    let count = |model: &Model| model.graphs().iter().map(|g| g.nodes().len()).sum();
    let first = once(&mut request, &given, &limits)?;
    for _ in 0..WARM_UP {
        once(&mut request, &given, &limits)?;
    }
    let mut times = Vec::new();
    let start = Instant::now();
    while times.len() < MOST
        && args.runs.map_or_else(
            || times.len() < FEWEST || start.elapsed() < args.seconds,
            |runs| times.len() < runs.get(),
        )
    {
        times.push(once(&mut request, &given, &limits)?);
    }
    times.sort_unstable();
    let figures = Figures {
        threads: rayon::current_num_threads(),
        layers: count(&model),
        evaluated: count(evaluated),
        read,
        compile,
        first,
        times,
        memory: peak_memory(),
    };
    if args.json {
        return print_json(out, &figures.to_json());
    }
    writeln!(out, "{}", plain(&args.model.model.display().to_string()))?;
    figures.print(out)?;
    if args.layers {
        let mut profile = Profile::default();
        for _ in 0..figures.times.len().min(MOST_PROFILED) {
            profile.begin();
            let given = given.iter().cloned();
            request.infer_with(given, &limits, &mut [&mut profile])?;
        }
        profile.print(out)?;
    }
    Ok(())
}

/// The time of one evaluation.
fn once(
    request: &mut InferRequest,
    given: &[(usize, Tensor)],
    limits: &Limits,
) -> Result<Duration, Error> {
    let start = Instant::now();
    let outputs = request.infer_with(given.iter().cloned(), limits, &mut [])?;
    let time = start.elapsed();
    drop(outputs);
    Ok(time)
}

fn random_where_missing(
    model: &Model,
    mut given: Vec<(usize, Tensor)>,
    limits: &Limits,
) -> Result<Vec<(usize, Tensor)>, Failure> {
    for index in 0..model.inputs().len() {
        if given.iter().any(|(known, _)| *known == index) {
            continue;
        }
        let random = [format!("{index}=random")];
        given.extend(inputs::read(model, &random, limits)?);
    }
    Ok(given)
}

/// The most memory this process had, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

impl Figures {
    /// The time that this share of evaluations needs at most.
    fn quantile(&self, share: f64) -> Duration {
        let last = self.times.len() - 1;
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss
        )]
        let at = (last as f64 * share).round() as usize;
        self.times[at.min(last)]
    }

    fn print(&self, out: &mut dyn Write) -> Outcome {
        let layers = match self.compile {
            Some(_) => format!("{}, {} when compiled", self.layers, self.evaluated),
            None => self.layers.to_string(),
        };
        writeln!(out, "layers   {layers}")?;
        writeln!(out, "threads  {}", self.threads)?;
        writeln!(out, "read     {}", show(self.read))?;
        if let Some(compile) = self.compile {
            writeln!(out, "compile  {}", show(compile))?;
        }
        writeln!(out, "first    {}", show(self.first))?;
        let [best, median, most] = [0.0, 0.5, 0.9].map(|share| show(self.quantile(share)));
        writeln!(
            out,
            "median   {median} (best {best}, 9 of 10 within {most})"
        )?;
        writeln!(out, "runs     {}", self.times.len())?;
        if let Some(bytes) = self.memory {
            writeln!(out, "memory   {} MB at most", bytes.div_ceil(1_000_000))?;
        }
        Ok(())
    }

    fn to_json(&self) -> serde_json::Value {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        json!({
            "threads": self.threads,
            "layers": self.layers,
            "compiled_layers": self.compile.map(|_| self.evaluated),
            "read_ns": ns(self.read),
            "compile_ns": self.compile.map(ns),
            "first_ns": ns(self.first),
            "median_ns": ns(self.quantile(0.5)),
            "best_ns": ns(self.quantile(0.0)),
            "memory_bytes": self.memory,
            "times_ns": self.times.iter().copied().map(ns).collect::<Vec<_>>(),
        })
    }
}

/// Four digits and a unit that suits.
pub(super) fn show(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let (value, unit) = match seconds {
        s if s < 1e-6 => (s * 1e9, "ns"),
        s if s < 1e-3 => (s * 1e6, "µs"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    match value {
        v if v < 10.0 => format!("{v:.3} {unit}"),
        v if v < 100.0 => format!("{v:.2} {unit}"),
        v => format!("{v:.1} {unit}"),
    }
}
