//! `ovir graph`

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::probe::{self, Probe};
use super::progress::Progress;
use super::select::{GRAMMAR, nearest, select};
use super::table::{bytes, grouped};
use super::{Failure, ModelArg, Outcome, inputs, print_json, shown};
use crate::draw::{Color, Drawing, Measured, Options, Quantity, Summary};
use crate::error::{Error, Kind, plain};
use crate::exec::Observer;
use crate::graph::Node;
use crate::io;
use crate::ir::Severity;
use crate::limits::Limits;
use crate::model::{Depth, Model};

#[derive(Debug, clap::Args)]
#[command(after_long_help = GRAMMAR)]
pub(super) struct Args {
    #[command(flatten)]
    model: ModelArg,
    /// Where to draw: a picture (.svg), a page with search and details of every layer (.html), or
    /// the languages of Graphviz (.dot) and Mermaid (.mmd)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Draw only what is near this layer: its name, or its id
    #[arg(long, value_name = "LAYER")]
    around: Option<String>,
    /// How many steps away from it layers are drawn
    #[arg(long, value_name = "N", default_value_t = 3, requires = "around")]
    distance: usize,
    /// Draw only these layers: a name, a glob such as `encoder*`, or `type:MatMul`; dashed lines
    /// show what lies between
    #[arg(long, value_name = "SELECTOR", num_args = 1.., conflicts_with = "around")]
    only: Vec<String>,
    /// What colours mean; all but `operation` and `type` evaluate the model
    #[arg(long, value_enum, default_value = "operation")]
    color: By,
    /// Draw blocks that repeat, and layers that compute a shape, as one
    #[arg(long, value_enum, default_value = "auto")]
    fold: Fold,
    /// Draw constants as layers, in place of text at their consumers
    #[arg(long)]
    constants: bool,
    /// The value of an input, as `ovir eval` takes it, for colours that need an evaluation; others
    /// are random
    #[arg(short, long = "input", value_name = "NAME=VALUE|FILE")]
    inputs: Vec<String>,
    /// What `--color error` compares with: an .npz file that `ovir eval --dump '*' --to` wrote, or
    /// another model, which is evaluated on the same inputs
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Print what was drawn as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum By {
    /// The kind of the operation
    Operation,
    /// The element type of the output
    Type,
    /// The time of an evaluation
    Time,
    /// The largest absolute value of the outputs
    Range,
    /// The relative L2 error against another run
    Error,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Fold {
    Auto,
    None,
}

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Svg,
    Html,
    Dot,
    Mermaid,
}

impl Format {
    fn of(path: &Path) -> Result<Self, Failure> {
        let extension = path.extension().map(|e| e.to_ascii_lowercase());
        match extension.as_ref().and_then(|e| e.to_str()) {
            Some("svg") => Ok(Self::Svg),
            Some("html" | "htm") => Ok(Self::Html),
            Some("dot" | "gv") => Ok(Self::Dot),
            Some("mmd" | "mermaid") => Ok(Self::Mermaid),
            _ => Err(Failure::Usage(format!(
                "cannot tell what to write to {}: its extension is not .svg, .html, .dot or .mmd",
                shown(path)
            ))),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Html => "html",
            Self::Dot => "dot",
            Self::Mermaid => "mermaid",
        }
    }
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    let limits = args.model.limits.begin()?;
    let format = Format::of(&args.output)?;
    check_options(args)?;
    let inspection = Model::inspect_with(&args.model.model, Depth::Inference, &limits)?;
    super::unless_ended(&inspection)?;
    let errors = inspection.problems.iter();
    let errors = errors.filter(|p| p.severity == Severity::Error).count();
    let measures = !matches!(args.color, By::Operation | By::Type);
    // A picture of a model with errors helps to find them; it cannot be evaluated.
    let model = match inspection.model {
        Some(ref model) if !measures || errors == 0 => model.clone(),
        _ => inspection.into_model()?,
    };
    let mut options = Options {
        fold: args.fold == Fold::Auto,
        constants: args.constants,
        keep: keep(args, &model)?,
        ..Options::default()
    };
    if args.color == By::Type {
        options.color = Color::Type;
    }
    if measures {
        let (wanted, facts) = measure(args, &model, &limits)?;
        options.color = Color::Measured(wanted);
        options.facts = facts;
    }
    let drawing = Drawing::of(&model, &options);
    let text = match format {
        Format::Svg => drawing.svg(),
        Format::Html => drawing.html(),
        Format::Dot => drawing.dot(),
        Format::Mermaid => drawing.mermaid(),
    };
    io::write_whole(&args.output, |file| file.write_all(text.as_bytes()))
        .map_err(super::eval::file_error)?;
    let mut warnings = Vec::new();
    if errors > 0 {
        let noun = if errors == 1 { "error" } else { "errors" };
        warnings.push(format!(
            "the model has {errors} {noun}; `ovir check` shows them"
        ));
    }
    if let Some(much) = drawing
        .too_large_for_mermaid()
        .filter(|_| format == Format::Mermaid)
    {
        warnings.push(format!(
            "{much} are more than Mermaid's viewers take by default; draw less, with --around or \
             --only, or write .svg or .html"
        ));
    }
    let summary = drawing.summary();
    if args.json {
        return print_json(out, "graph/1", to_json(args, format, &summary, &warnings));
    }
    print(args, &summary, text.len(), &warnings, out)
}

/// Evaluates the model; the numbers that colours tell, and all that were measured.
fn measure(
    args: &Args,
    model: &Model,
    limits: &Limits,
) -> Result<(Measured, Vec<Measured>), Failure> {
    model.check_supported()?;
    let given = inputs::read(model, &args.inputs, limits)?;
    let given = inputs::random_where_missing(model, given, 0, limits)?;
    let reference = match &args.against {
        Some(path) => Some(probe::reference(path, model, &given, limits)?),
        None => None,
    };
    let mut observer = Probe::new(model, reference, limits);
    let mut progress = Progress::of_layers([model]);
    let evaluated = if args.color == By::Time {
        // The first evaluation reads weights from disk.
        model.evaluate_with(given.iter().cloned(), limits, &mut progress.observers())?;
        // Drawing a bar takes time of its own.
        progress.tell("once more, timed");
        model.evaluate_with(given, limits, &mut [&mut observer])
    } else {
        let mut observers: Vec<&mut dyn Observer> = vec![&mut observer];
        observers.extend(progress.observers());
        model.evaluate_with(given, limits, &mut observers)
    };
    drop(progress);
    if let Some(error) = observer.failed {
        return Err(Failure::Error(error));
    }
    evaluated?;
    if args.color == By::Error && observer.matched == 0 {
        let path = args.against.as_deref().unwrap_or(Path::new(""));
        let message = format!("{} has no tensor under the name of a layer", shown(path));
        return Err(Failure::Error(Error::new(Kind::Input, message)));
    }
    let make = |what, values: &Vec<Vec<Option<f64>>>| Measured {
        what,
        values: values.clone(),
    };
    let time = make(Quantity::Time, &observer.time);
    let range = make(Quantity::Range, &observer.range);
    let error = make(Quantity::Error, &observer.error);
    Ok(match args.color {
        By::Time => (time.clone(), vec![time, range]),
        By::Error => (error.clone(), vec![error, range]),
        _ => (range.clone(), vec![range]),
    })
}

fn check_options(args: &Args) -> Result<(), Failure> {
    let usage = |message: &str| Err(Failure::Usage(message.to_owned()));
    match (args.color, &args.against) {
        (By::Error, None) => {
            return usage("--color error needs --against: an .npz file or another model");
        }
        (By::Error, Some(_)) | (_, None) => {}
        (_, Some(_)) => return usage("--against is for --color error"),
    }
    if matches!(args.color, By::Operation | By::Type) && !args.inputs.is_empty() {
        return usage("--input is for --color time, range or error; nothing is evaluated without");
    }
    Ok(())
}

/// Which layers are drawn, if not all.
fn keep(args: &Args, model: &Model) -> Result<Option<Vec<Vec<bool>>>, Failure> {
    let graphs = model.graphs();
    let nodes = || graphs.iter().flat_map(|graph| graph.nodes());
    let mut keep: Vec<Vec<bool>> = graphs
        .iter()
        .map(|g| vec![false; g.nodes().len()])
        .collect();
    if let Some(name) = &args.around {
        let wanted = |node: &Node| node.name() == name;
        let by_id = |node: &Node| node.id() != u64::MAX && node.id().to_string() == *name;
        let mut found = false;
        for test in [&wanted as &dyn Fn(&Node) -> bool, &by_id] {
            for (index, graph) in graphs.iter().enumerate() {
                let ids = graph.nodes().filter(|(_, node)| test(node));
                let ids: Vec<usize> = ids.map(|(id, _)| id.index()).collect();
                found |= !ids.is_empty();
                if !ids.is_empty() {
                    near(model, index, &ids, args.distance, &mut keep[index]);
                }
            }
            if found {
                return Ok(Some(keep));
            }
        }
        let hint = nearest(name, nodes().map(|(_, n)| n.name()));
        let hint = hint.map(|n| format!("; did you mean `{}`?", plain(n)));
        let message = format!("there is no layer `{name}`{}", hint.unwrap_or_default());
        return Err(Failure::Usage(message));
    }
    if args.only.is_empty() {
        return Ok(None);
    }
    for (index, id) in select(graphs, &args.only)? {
        keep[index][id.index()] = true;
    }
    Ok(Some(keep))
}

/// Marks the layers of a graph that are no more than `distance` steps away from some. Constants are no
/// way from one layer to another.
fn near(model: &Model, index: usize, from: &[usize], distance: usize, keep: &mut [bool]) {
    let graph = &model.graphs()[index];
    let mut beside: Vec<Vec<usize>> = vec![Vec::new(); keep.len()];
    for (id, node) in graph.nodes() {
        for port in node.inputs() {
            beside[id.index()].push(port.node.index());
            let source = graph.node(port.node);
            let constant = source.op().is_some_and(|op| op.is_constant());
            if !constant || from.contains(&port.node.index()) {
                beside[port.node.index()].push(id.index());
            }
        }
    }
    let mut edge = from.to_vec();
    from.iter().for_each(|&at| keep[at] = true);
    for _ in 0..distance {
        let mut next = Vec::new();
        for at in edge {
            for &other in &beside[at] {
                if !std::mem::replace(&mut keep[other], true) {
                    next.push(other);
                }
            }
        }
        if next.is_empty() {
            break;
        }
        edge = next;
    }
}

fn print(
    args: &Args,
    summary: &Summary,
    size: usize,
    warnings: &[String],
    out: &mut dyn Write,
) -> Outcome {
    let count = |number: usize| grouped(number as u64);
    writeln!(
        out,
        "wrote {}: {} layers in {} boxes, {}",
        shown(&args.output),
        count(summary.layers - summary.left_out),
        count(summary.boxes),
        bytes(size as u64)
    )?;
    for block in &summary.blocks {
        writeln!(
            out,
            "  {} ×{}, {} layers each",
            plain(&block.title),
            block.copies,
            count(block.layers)
        )?;
    }
    if summary.shapes > 0 {
        writeln!(
            out,
            "  {} layers that compute shapes",
            count(summary.shapes)
        )?;
    }
    if summary.constants > 0 {
        writeln!(
            out,
            "  {} constants within their consumers",
            count(summary.constants)
        )?;
    }
    if summary.left_out > 0 {
        writeln!(out, "  {} layers left out", count(summary.left_out))?;
    }
    for warning in warnings {
        writeln!(out, "warning: {warning}")?;
    }
    Ok(())
}

fn to_json(
    args: &Args,
    format: Format,
    summary: &Summary,
    warnings: &[String],
) -> serde_json::Value {
    let blocks = summary.blocks.iter().map(|block| {
        json!({
            "title": block.title,
            "copies": block.copies,
            "layers": block.layers,
        })
    });
    let color = match args.color {
        By::Operation => "operation",
        By::Type => "type",
        By::Time => Quantity::Time.name(),
        By::Range => Quantity::Range.name(),
        By::Error => Quantity::Error.name(),
    };
    json!({
        "model": args.model.model.to_string_lossy(),
        "output": args.output.to_string_lossy(),
        "format": format.name(),
        "color": color,
        "layers": summary.layers,
        "boxes": summary.boxes,
        "constants": summary.constants,
        "shapes": summary.shapes,
        "left_out": summary.left_out,
        "bodies": summary.bodies,
        "blocks": blocks.collect::<Vec<_>>(),
        "warnings": warnings,
    })
}
