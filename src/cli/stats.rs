//! `ovir stats`

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::io::Write;

use serde_json::{Value as Json, json};

use super::cells::{
    ASCII, UNICODE, narrowing, odd, percent, share, short, sparkline, speaks_unicode, weight,
};
use super::select::{GRAMMAR, select};
use super::table::{Table, grouped};
use super::{Failure, ModelArg, Outcome, inputs, print_json};
use crate::error::{Error, plain, quoted};
use crate::graph::NodeId;
use crate::metrics::{Narrowing, Statistics};
use crate::model::Model;
use crate::stats::{Distance, Emulation, LayerStatistics, Survey, emulate};
use crate::tensor::ElementType;

/// Names of a list that are printed; JSON has all.
const MOST_NAMED: usize = 12;

#[derive(Debug, clap::Args)]
#[command(after_long_help = GRAMMAR)]
pub(super) struct Args {
    #[command(flatten)]
    model: ModelArg,
    /// The value of an input, as `ovir eval` takes it; others are random
    #[arg(short, long = "input", value_name = "NAME=VALUE|FILE")]
    inputs: Vec<String>,
    /// Round the floats that every layer gives to this type and go on, and show where that leads
    #[arg(long, value_name = "TYPE")]
    emulate: Option<Narrow>,
    /// With --emulate: the layers that keep their precision
    #[arg(long, value_name = "SELECTOR", num_args = 1.., requires = "emulate")]
    ignore: Vec<String>,
    /// Show these layers only: a layer's name, a glob such as `encoder*`, or `type:MatMul`
    #[arg(long, value_name = "SELECTOR", num_args = 1..)]
    layers: Vec<String>,
    /// What comes first
    #[arg(long, value_enum, default_value = "matter")]
    sort: Sort,
    /// How many lines are shown; 0 for all
    #[arg(long, value_name = "N", default_value_t = 20)]
    most: usize,
    /// Show constants as well
    #[arg(long)]
    constants: bool,
    /// Print JSON, with every layer that is selected
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Narrow {
    F16,
    Bf16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Sort {
    /// NaN and infinities, then the error of --emulate or what overflows, then the largest numbers
    Matter,
    /// The order of the evaluation
    Order,
    /// Names
    Name,
    /// The largest magnitudes
    Absmax,
    /// The share of zeros
    Zeros,
    /// The rounding error in f16
    F16,
    /// The rounding error in bf16
    Bf16,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    let (limits, model) = args.model.read()?;
    model.check_supported()?;
    let given = inputs::read(&model, &args.inputs, &limits)?;
    let given = inputs::random_where_missing(&model, given, 0, &limits)?;
    let ignored = selected(&model, &args.ignore)?;
    let selected = selected(&model, &args.layers)?;
    let mut survey = Survey::new(&model);
    let emulation = match args.emulate {
        None => {
            model.evaluate_with(given, &limits, &mut [&mut survey])?;
            None
        }
        Some(narrow) => {
            let ty = match narrow {
                Narrow::F16 => ElementType::F16,
                Narrow::Bf16 => ElementType::Bf16,
            };
            let ignored = ignored.unwrap_or_default();
            let run = emulate(&model, &given, ty, &ignored, &mut survey, &limits);
            Some(run.map_err(|e| in_emulation(ty, &e))?)
        }
    };
    let report = Report {
        model: &model,
        survey: &survey,
        emulation: emulation.as_ref(),
    };
    let shows = |layer: &&LayerStatistics| {
        let selected = selected
            .as_ref()
            .is_none_or(|set| set.contains(&(layer.graph, layer.node)));
        let odd = layer.statistics.nan > 0 || layer.statistics.f16.overflow > 0;
        selected
            && (!layer.is_constant || args.constants || args.json || odd || !args.layers.is_empty())
    };
    let mut layers: Vec<&LayerStatistics> = survey.layers().iter().filter(shows).collect();
    report.sort(&mut layers, args.sort);
    if args.json {
        return print_json(out, "stats/1", report.to_json(&layers));
    }
    writeln!(out, "{}", plain(&args.model.model.display().to_string()))?;
    report.summary(out)?;
    let most = if args.most == 0 {
        usize::MAX
    } else {
        args.most
    };
    report.table(&layers[..layers.len().min(most)], out)?;
    if layers.len() > most {
        writeln!(
            out,
            "… and {} more; --most 0 shows all",
            layers.len() - most
        )?;
    }
    Ok(())
}

fn in_emulation(ty: ElementType, error: &Error) -> Failure {
    let message = format!("with layers rounded to {ty}: {}", error.message());
    Failure::Error(Error::at(error.place().clone(), error.kind(), message))
}

/// The layers that selectors mean; `None` if there are no selectors.
fn selected(
    model: &Model,
    selectors: &[String],
) -> Result<Option<HashSet<(usize, NodeId)>>, Failure> {
    if selectors.is_empty() {
        return Ok(None);
    }
    Ok(Some(
        select(model.graphs(), selectors)?.into_iter().collect(),
    ))
}

/// What was found, and how it is shown.
struct Report<'r> {
    model: &'r Model,
    survey: &'r Survey<'r>,
    emulation: Option<&'r Emulation>,
}

impl Report<'_> {
    fn distance(&self, layer: &LayerStatistics) -> Option<Distance> {
        let layers = &self.emulation.filter(|_| layer.graph == 0)?.layers;
        layers.get(&(layer.node, layer.output)).copied()
    }

    fn sort(&self, layers: &mut [&LayerStatistics], sort: Sort) {
        let most = |key: &dyn Fn(&LayerStatistics) -> f64, layers: &mut [&LayerStatistics]| {
            layers.sort_by(|a, b| key(b).total_cmp(&key(a)));
        };
        match sort {
            Sort::Order => {}
            Sort::Name => layers.sort_by(|a, b| a.name.cmp(&b.name)),
            Sort::Absmax => most(&|layer| layer.statistics.absolute_max, layers),
            Sort::Zeros => most(
                &|layer| share(layer.statistics.zeros, &layer.statistics),
                layers,
            ),
            Sort::F16 => most(&|layer| weight(&layer.statistics.f16), layers),
            Sort::Bf16 => most(&|layer| weight(&layer.statistics.bf16), layers),
            Sort::Matter => {
                most(&|layer| layer.statistics.absolute_max, layers);
                layers.sort_by_key(|layer| Reverse(layer.statistics.f16.overflow));
                if self.emulation.is_some() {
                    let error = |layer: &LayerStatistics| {
                        let distance = self.distance(layer).unwrap_or_default();
                        if distance.lost > 0 {
                            f64::INFINITY
                        } else {
                            distance.relative_l2
                        }
                    };
                    most(&error, layers);
                }
                layers
                    .sort_by_key(|l| Reverse((l.statistics.nan > 0, l.statistics.infinite() > 0)));
            }
        }
    }

    fn summary(&self, out: &mut dyn Write) -> Outcome {
        let all = self.survey.layers();
        let layers = all.iter().filter(|layer| !layer.is_constant).count();
        let odd = all
            .iter()
            .filter(|l| l.statistics.nan + l.statistics.infinite() > 0)
            .count();
        writeln!(
            out,
            "{layers} tensors of layers, {} constants",
            all.len() - layers
        )?;
        match (odd, self.survey.first_not_finite()) {
            (0, _) => writeln!(out, "every number is finite")?,
            (odd, None) => writeln!(
                out,
                "{odd} tensors hold NaN or infinities, which come in by inputs or constants"
            )?,
            (odd, Some(layer)) => {
                writeln!(out, "{odd} tensors hold NaN or infinities")?;
                writeln!(out, "first from finite inputs: {}", self.odd(layer))?;
            }
        }
        if let Some(layer) = self.survey.first_nan().filter(|_| odd > 0) {
            let same = |first: &LayerStatistics| std::ptr::eq(first, layer);
            if !self.survey.first_not_finite().is_some_and(same) {
                writeln!(out, "first NaN: {}", self.odd(layer))?;
            }
        }
        for (ty, of) in [
            ("f16 ", &f16 as &dyn Fn(&Statistics) -> &Narrowing),
            ("bf16", &bf16),
        ] {
            let count = |what: &dyn Fn(&Narrowing) -> bool| {
                all.iter()
                    .filter(|layer| what(of(&layer.statistics)))
                    .count()
            };
            let worst = all
                .iter()
                .map(|layer| of(&layer.statistics).relative_error());
            writeln!(
                out,
                "{ty}  {} tensors overflow, {} lose numbers to zero, {} have subnormal ones; largest rounding error {}",
                count(&|n| n.overflow > 0),
                count(&|n| n.flushed > 0),
                count(&|n| n.subnormal > 0),
                short(worst.fold(0.0, f64::max))
            )?;
        }
        if let Some(emulation) = self.emulation {
            self.emulated(emulation, out)?;
        }
        Ok(())
    }

    fn odd(&self, layer: &LayerStatistics) -> String {
        let statistics = &layer.statistics;
        let node = self.model.graphs()[layer.graph].node(layer.node);
        let inputs = node.inputs().len();
        format!(
            "layer {} ({}) {}: {} NaN and {} infinite of {}, {inputs} inputs",
            quoted(&layer.name),
            layer.type_name,
            layer.what,
            grouped(statistics.nan),
            grouped(statistics.infinite()),
            grouped(statistics.elements),
        )
    }

    fn emulated(&self, emulation: &Emulation, out: &mut dyn Write) -> Outcome {
        let ty = emulation.element_type;
        writeln!(out)?;
        writeln!(out, "with every layer rounded to {ty}:")?;
        let mut table = Table::new(2, &[false, true, true, true]);
        table.row(["output", "relative L2", "largest", "lost"].map(str::to_owned));
        for (name, distance) in &emulation.outputs {
            table.row(match distance {
                None => [
                    name.clone(),
                    "exact type".to_owned(),
                    String::new(),
                    String::new(),
                ],
                Some(distance) => [
                    name.clone(),
                    short(distance.relative_l2),
                    short(distance.max_absolute),
                    grouped(distance.lost),
                ],
            });
        }
        table.print(out)?;
        if !emulation.ignored.is_empty() {
            writeln!(
                out,
                "{} layers kept their precision",
                emulation.ignored.len()
            )?;
        }
        if emulation.suggested.is_empty() {
            writeln!(out, "no layer stands out that should keep its precision")?;
        } else {
            writeln!(
                out,
                "layers that should keep their precision (--ignore tries it):"
            )?;
            let names = self.names(&emulation.suggested);
            for name in names.iter().take(MOST_NAMED) {
                writeln!(out, "  {}", plain(name))?;
            }
            if names.len() > MOST_NAMED {
                writeln!(
                    out,
                    "  … and {} more; --json has all",
                    names.len() - MOST_NAMED
                )?;
            }
        }
        Ok(())
    }

    fn names(&self, layers: &[NodeId]) -> Vec<String> {
        let graph = self.model.graph();
        layers
            .iter()
            .map(|&id| graph.node(id).name().to_owned())
            .collect()
    }

    fn table(&self, layers: &[&LayerStatistics], out: &mut dyn Write) -> Outcome {
        if layers.is_empty() {
            return Ok(());
        }
        let outputs: HashMap<(usize, NodeId), usize> =
            self.survey
                .layers()
                .iter()
                .fold(HashMap::new(), |mut counts, layer| {
                    *counts.entry((layer.graph, layer.node)).or_default() += 1;
                    counts
                });
        let bars = if speaks_unicode() { UNICODE } else { ASCII };
        let error = self.emulation.map(|e| format!("{} error", e.element_type));
        let mut right = vec![false, false, false];
        right.extend([true; 8]);
        right.extend(error.iter().map(|_| true));
        right.push(false);
        let mut table = Table::new(0, &right);
        let titles = [
            "layer",
            "operation",
            "output",
            "min",
            "max",
            "mean",
            "deviation",
            "zeros",
            "odd",
            "in f16",
            "in bf16",
        ];
        let titles = titles.map(str::to_owned).into_iter().chain(error);
        table.row(titles.chain(["distribution".to_owned()]));
        for layer in layers {
            let statistics = &layer.statistics;
            let several = outputs
                .get(&(layer.graph, layer.node))
                .is_some_and(|&n| n > 1);
            let name = match several {
                true => format!("{}.{}", layer.name, layer.output),
                false => layer.name.clone(),
            };
            let number = |x: Option<f64>| x.map_or_else(|| "-".to_owned(), short);
            let some = statistics.finite > 0;
            let mut row = vec![
                name,
                layer.type_name.clone(),
                layer.what.clone(),
                number(statistics.min),
                number(statistics.max),
                number(some.then_some(statistics.mean)),
                number(some.then_some(statistics.deviation)),
                percent(share(statistics.zeros, statistics)),
                odd(statistics),
                narrowing(&statistics.f16, statistics),
                narrowing(&statistics.bf16, statistics),
            ];
            if self.emulation.is_some() {
                row.push(
                    self.distance(layer)
                        .map_or_else(String::new, |d| match d.lost {
                            0 => short(d.relative_l2),
                            lost => format!("{} lost", grouped(lost)),
                        }),
                );
            }
            row.push(
                layer
                    .histogram
                    .as_ref()
                    .map_or_else(String::new, |h| sparkline(h, bars)),
            );
            table.row(row);
        }
        writeln!(out)?;
        table.print(out)?;
        Ok(())
    }

    fn to_json(&self, layers: &[&LayerStatistics]) -> Json {
        let layer = |layer: &&LayerStatistics| {
            json!({
                "name": layer.name,
                "operation": layer.type_name,
                "output": layer.output,
                "type": layer.what,
                "evaluations": layer.evaluations,
                "constant": layer.is_constant,
                "statistics": statistics_json(&layer.statistics),
                "histogram": layer.histogram.as_ref().map(|h| json!({
                    "low": h.low, "high": h.high, "counts": h.counts,
                })),
                "emulated": self.distance(layer).map(distance_json),
            })
        };
        let first = |layer: Option<&LayerStatistics>| {
            layer.map(|l| json!({ "name": l.name, "output": l.output }))
        };
        json!({
            "layers": layers.iter().map(layer).collect::<Vec<_>>(),
            "first_not_finite": first(self.survey.first_not_finite()),
            "first_nan": first(self.survey.first_nan()),
            "emulation": self.emulation.map(|emulation| json!({
                "element_type": emulation.element_type.name(),
                "outputs": emulation.outputs.iter().map(|(name, distance)| json!({
                    "name": name, "difference": distance.map(distance_json),
                })).collect::<Vec<_>>(),
                "ignored": emulation.ignored,
                "suggested": self.names(&emulation.suggested),
            })),
        })
    }
}

fn f16(statistics: &Statistics) -> &Narrowing {
    &statistics.f16
}

fn bf16(statistics: &Statistics) -> &Narrowing {
    &statistics.bf16
}

fn statistics_json(s: &Statistics) -> Json {
    let narrow = |n: &Narrowing| {
        json!({
            "overflow": n.overflow,
            "subnormal": n.subnormal,
            "flushed": n.flushed,
            "relative_error": n.relative_error(),
        })
    };
    json!({
        "elements": s.elements,
        "min": s.min,
        "max": s.max,
        "mean": s.mean,
        "deviation": s.deviation,
        "l2": s.l2,
        "absolute_max": s.absolute_max,
        "smallest": s.smallest,
        "zeros": s.zeros,
        "nan": s.nan,
        "positive_infinity": s.positive_infinity,
        "negative_infinity": s.negative_infinity,
        "f16": narrow(&s.f16),
        "bf16": narrow(&s.bf16),
    })
}

fn distance_json(distance: Distance) -> Json {
    json!({
        "relative_l2": distance.relative_l2,
        "max_absolute": distance.max_absolute,
        "lost": distance.lost,
    })
}
