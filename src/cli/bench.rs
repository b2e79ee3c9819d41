//! `ovir bench`

use std::io::Write;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use serde_json::json;

use super::profile::{MOST_LAYERS, print_layers, print_operations};
use super::profiler::Profiler;
use super::progress::Progress;
use super::subject::Subject;
use super::{Outcome, print_json};

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
    subject: Subject,
    /// How long evaluations are timed
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = seconds)]
    seconds: Duration,
    /// Time so many evaluations instead
    #[arg(short = 'n', long, value_name = "N", conflicts_with = "seconds")]
    runs: Option<NonZeroUsize>,
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
    let mut ready = args.subject.prepare()?;
    let first = ready.once()?;
    for _ in 0..WARM_UP {
        ready.once()?;
    }
    let runs = args.runs.map_or(0, NonZeroUsize::get);
    let progress = Progress::new("evaluations", runs as u64);
    let mut times = Vec::new();
    let start = Instant::now();
    while times.len() < MOST
        && args.runs.map_or_else(
            || times.len() < FEWEST || start.elapsed() < args.seconds,
            |runs| times.len() < runs.get(),
        )
    {
        times.push(ready.once()?);
        progress.step();
    }
    drop(progress);
    times.sort_unstable();
    let figures = Figures {
        threads: rayon::current_num_threads(),
        layers: ready.layers(),
        evaluated: ready.evaluated_layers(),
        read: ready.read,
        compile: ready.compile,
        first,
        times,
        memory: peak_memory(),
    };
    if args.json {
        return print_json(out, "bench/1", figures.to_json());
    }
    writeln!(out, "{}", args.subject.shown())?;
    figures.print(out)?;
    if args.layers {
        let runs = figures.times.len().min(MOST_PROFILED);
        let profiler = ready.profile(runs, Profiler::default())?;
        print_operations(&profiler, None, out)?;
        print_layers(&profiler, None, MOST_LAYERS, out)?;
    }
    Ok(())
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
