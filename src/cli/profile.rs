//! `ovir profile`, and the tables of `ovir bench --layers`.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::bench::show;
use super::eval::file_error;
use super::profiler::{Layer, Profiler};
use super::subject::{Ready, Subject};
use super::table::{Table, bar, scaled};
use super::work::{Amount, Work};
use super::{Failure, Outcome, print_json, shown};
use crate::io::write_whole;
use crate::limits::under;
use crate::model::PortKey;
use crate::tensor::PartialShape;

/// Lines of layers, unless other many are asked for.
pub(super) const MOST_LAYERS: usize = 20;

/// Evaluations before the first that is timed: weights are prepared, shapes compiled for.
const WARM_UP: usize = 3;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    subject: Subject,
    /// Time so many evaluations
    #[arg(short = 'n', long, value_name = "N", default_value = "5")]
    runs: NonZeroUsize,
    /// Show so many layers, those that take longest; 0 for all
    #[arg(long, value_name = "N", default_value_t = MOST_LAYERS)]
    top: usize,
    /// Write every layer of every evaluation to a file for chrome://tracing or ui.perfetto.dev
    #[arg(long, value_name = "FILE.json")]
    trace: Option<PathBuf>,
    /// Print JSON, all layers in the order of their evaluation
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    let mut ready = args.subject.prepare()?;
    for _ in 0..WARM_UP {
        ready.once()?;
    }
    let profiler = match &args.trace {
        Some(_) => Profiler::tracing(),
        None => Profiler::default(),
    };
    let profiler = ready.profile(args.runs.get(), profiler)?;
    if let (Some(path), Some(trace)) = (&args.trace, profiler.trace()) {
        let text = trace.to_string();
        write_whole(path, |file| file.write_all(text.as_bytes())).map_err(file_error)?;
    }
    let work = work(&ready)?;
    if args.json {
        return print_json(out, "profile/1", to_json(&profiler, &work, &ready));
    }
    writeln!(out, "{}", args.subject.shown())?;
    let layers = match ready.compile {
        Some(_) => format!(
            "{} layers, {} when compiled",
            ready.layers(),
            ready.evaluated_layers()
        ),
        None => format!("{} layers", ready.layers()),
    };
    let threads = rayon::current_num_threads();
    writeln!(
        out,
        "{layers}; threads: {threads}; evaluations: {}",
        profiler.runs
    )?;
    let total = profiler.total();
    write!(out, "{} in the layers of an evaluation", show(total))?;
    let flops = flops(&profiler, &work);
    if flops > 0 {
        let rate = scaled(per_second(flops, total));
        write!(out, ", {}FLOP, {rate}FLOP/s", scaled(as_float(flops)))?;
    }
    writeln!(out)?;
    print_operations(&profiler, Some(&work), out)?;
    print_layers(&profiler, Some(&work), args.top, out)?;
    if let Some(path) = &args.trace {
        writeln!(out, "\nwrote {}", shown(path))?;
        if profiler.is_cut() {
            writeln!(out, "it holds the first million events, there were more")?;
        }
    }
    Ok(())
}

/// The work of the model for the shapes that were evaluated.
fn work(ready: &Ready) -> Result<Work, Failure> {
    let shapes: Vec<(PortKey<'_>, PartialShape)> = ready
        .given
        .iter()
        .map(|(index, tensor)| ((*index).into(), tensor.shape().iter().copied().collect()))
        .collect();
    let model = under(&ready.limits, || ready.model.reshape(shapes))?;
    Ok(Work::new(model))
}

fn flops(profiler: &Profiler, work: &Work) -> u64 {
    let all = profiler
        .layers
        .iter()
        .filter_map(|layer| work.of(layer).flops);
    all.fold(0, u64::saturating_add)
}

#[allow(clippy::cast_precision_loss)] // shown with three digits
fn as_float(number: u64) -> f64 {
    number as f64
}

fn per_second(amount: u64, time: Duration) -> f64 {
    as_float(amount) / time.as_secs_f64().max(1e-9)
}

/// Layers of one type together.
struct Row<'p> {
    type_name: &'p str,
    layers: usize,
    time: Duration,
    amount: Amount,
}

/// The types of layers, those that take longest first.
fn rows<'p>(profiler: &'p Profiler, work: Option<&Work>) -> Vec<Row<'p>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    let mut places: std::collections::HashMap<&str, usize> = Default::default();
    for layer in &profiler.layers {
        let place = *places.entry(&layer.type_name).or_insert_with(|| {
            rows.push(Row {
                type_name: &layer.type_name,
                layers: 0,
                time: Duration::ZERO,
                amount: Amount {
                    flops: Some(0),
                    bytes: 0,
                },
            });
            rows.len() - 1
        });
        let row = &mut rows[place];
        row.layers += 1;
        row.time += layer.time;
        if let Some(amount) = work.map(|work| work.of(layer)) {
            let sum = row.amount.flops.zip(amount.flops);
            row.amount.flops = sum.map(|(a, b)| a.saturating_add(b));
            row.amount.bytes = row.amount.bytes.saturating_add(amount.bytes);
        }
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.time));
    rows
}

fn share(part: Duration, whole: Duration) -> f64 {
    part.as_secs_f64() / whole.as_secs_f64().max(f64::MIN_POSITIVE)
}

/// Operations and bytes per second, the share, and a bar of it.
fn rates(amount: Amount, time: Duration, share: f64) -> [String; 4] {
    let flops = match amount.flops {
        None => "?".to_owned(),
        Some(0) => "-".to_owned(),
        Some(flops) => scaled(per_second(flops, time)),
    };
    let bytes = match amount.bytes {
        0 => "-".to_owned(),
        bytes => scaled(per_second(bytes, time)),
    };
    [flops, bytes, percent(share), bar(share)]
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// The table of operation types; with work, how much they compute and move.
pub(super) fn print_operations(
    profiler: &Profiler,
    work: Option<&Work>,
    out: &mut dyn Write,
) -> Outcome {
    let runs = profiler.runs.max(1);
    let total = profiler.total();
    let mut table = Table::new(0, &[false, true, true, true, true, true, false]);
    let mut header = vec!["operation", "layers", "time"];
    header.extend(columns(work));
    table.row(header.into_iter().map(str::to_owned));
    for row in rows(profiler, work) {
        let time = row.time / runs;
        let mut cells = vec![row.type_name.to_owned(), row.layers.to_string(), show(time)];
        match work {
            Some(_) => cells.extend(rates(row.amount, time, share(time, total))),
            None => cells.push(percent(share(time, total))),
        }
        table.row(cells);
    }
    writeln!(out)?;
    table.print(out)?;
    Ok(())
}

fn columns(work: Option<&Work>) -> &'static [&'static str] {
    match work {
        Some(_) => &["FLOP/s", "B/s", "share", ""],
        None => &["share"],
    }
}

/// The table of the layers that take longest; 0 for all of them.
pub(super) fn print_layers(
    profiler: &Profiler,
    work: Option<&Work>,
    most: usize,
    out: &mut dyn Write,
) -> Outcome {
    let runs = profiler.runs.max(1);
    let total = profiler.total();
    let mut layers: Vec<&Layer> = profiler.layers.iter().collect();
    layers.sort_by_key(|layer| std::cmp::Reverse(layer.time));
    let most = if most == 0 { layers.len() } else { most };
    let mut table = Table::new(0, &[false, false, false, true, true, true, true, false]);
    let mut header = vec!["layer", "operation", "output", "time"];
    header.extend(columns(work));
    table.row(header.into_iter().map(str::to_owned));
    for layer in layers.iter().take(most) {
        let time = layer.time / runs;
        let mut cells = vec![
            layer.name.clone(),
            layer.type_name.clone(),
            layer.output.clone(),
            show(time),
        ];
        match work {
            Some(work) => cells.extend(rates(work.of(layer), time, share(time, total))),
            None => cells.push(percent(share(time, total))),
        }
        table.row(cells);
    }
    writeln!(out)?;
    table.print(out)?;
    Ok(())
}

fn to_json(profiler: &Profiler, work: &Work, ready: &Ready) -> Value {
    let runs = profiler.runs.max(1);
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let layer = |layer: &Layer| {
        let amount = work.of(layer);
        json!({
            "id": layer.id,
            "name": layer.name,
            "type": layer.type_name,
            "output": layer.output,
            "time_ns": ns(layer.time / runs),
            "flops": amount.flops,
            "bytes": amount.bytes,
        })
    };
    let operation = |row: Row<'_>| {
        json!({
            "type": row.type_name,
            "layers": row.layers,
            "time_ns": ns(row.time / runs),
            "flops": row.amount.flops,
            "bytes": row.amount.bytes,
        })
    };
    let operations = rows(profiler, Some(work)).into_iter();
    json!({
        "threads": rayon::current_num_threads(),
        "compiled": ready.compile.is_some(),
        "evaluations": profiler.runs,
        "time_ns": ns(profiler.total()),
        "flops": flops(profiler, work),
        "operations": operations.map(operation).collect::<Vec<_>>(),
        "layers": profiler.layers.iter().map(layer).collect::<Vec<_>>(),
    })
}
