//! `ovir diff`

use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::colour::{self, Mark};
use super::limits::LimitArgs;
use super::table::grouped;
use super::{Failure, Outcome, print_json, unless_ended};
use crate::diff::{
    At, Both, DiffOptions, EndChange, Lone, ModelDiff, WeightChange, canonical, diff,
};
use crate::error::{plain, quoted};
use crate::graph::Port;
use crate::limits::under;
use crate::model::{Depth, Model};

/// Constants that differ are listed up to here.
const MOST_WEIGHTS: usize = 10;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The first model: what was
    #[arg(value_name = "A")]
    first: PathBuf,
    /// The second model: what is
    #[arg(value_name = "B", required_unless_present = "textconv")]
    second: Option<PathBuf>,
    /// List every constant that differs, not the ten that differ most
    #[arg(long)]
    weights: bool,
    /// Do not look at the elements of constants
    #[arg(long, conflicts_with = "weights")]
    no_weights: bool,
    /// Show other names of layers and inner tensors too
    #[arg(long)]
    names: bool,
    /// Show other runtime information too
    #[arg(long)]
    rt_info: bool,
    /// Print no colours; they are printed on a terminal alone, and not where NO_COLOR is set
    #[arg(long)]
    no_color: bool,
    /// Print one model as text that follows from its structure, one line a layer: for `git diff`
    #[arg(long, conflicts_with_all = ["second", "weights", "names", "rt_info", "json"])]
    textconv: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    limits: LimitArgs,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    let limits = args.limits.begin()?;
    let Some(second) = &args.second else {
        // Git hands over a document without its weights.
        let inspection = Model::inspect_with(&args.first, Depth::Structure, &limits)?;
        unless_ended(&inspection)?;
        let text = match &inspection.model {
            Some(model) => under(&limits, || canonical(model, !args.no_weights)),
            None => canonical(&inspection.into_model()?, false),
        };
        write!(out, "{text}")?;
        return Ok(());
    };
    let first = Model::read_with(&args.first, &limits)?;
    let second = Model::read_with(second, &limits)?;
    let options = DiffOptions {
        weights: !args.no_weights,
        names: args.names,
        rt_info: args.rt_info,
    };
    let found = under(&limits, || diff(&first, &second, &options));
    let view = View {
        models: (&first, &second),
        found: &found,
        colour: colour::wanted(args.no_color),
        all: args.weights,
    };
    if args.json {
        print_json(out, "diff/1", view.to_json())?;
    } else {
        view.print(out)?;
    }
    if found.is_empty() {
        Ok(())
    } else {
        Err(Failure::Different)
    }
}

struct View<'v> {
    models: (&'v Model, &'v Model),
    found: &'v ModelDiff,
    colour: bool,
    all: bool,
}

/// A layer as it is told: its type and name, after those whose bodies it is in.
fn layer(model: &Model, at: At) -> String {
    let mut text = String::new();
    let mut graph = at.graph;
    let mut depth = 0;
    while let Some((parent, holder)) = model.graphs()[graph].parent() {
        depth += 1;
        if depth > 4 {
            text = format!("… > {text}");
            break;
        }
        let holder = model.graphs()[parent].node(holder);
        text = format!("{} > {text}", plain(holder.name()));
        graph = parent;
    }
    let node = model.graphs()[at.graph].node(at.node);
    format!(
        "{} {}",
        plain(node.type_name()),
        quoted(&(text + node.name()))
    )
}

/// A value: the layer that makes it, and which of its outputs.
fn value(model: &Model, graph: usize, port: Option<Port>) -> String {
    let Some(port) = port else {
        return "nothing".to_owned();
    };
    let node = model.graphs()[graph].node(port.node);
    match port.index {
        0 => quoted(node.name()),
        output => format!("{} output {output}", quoted(node.name())),
    }
}

impl View<'_> {
    fn print(&self, out: &mut dyn Write) -> Outcome {
        let found = self.found;
        let (a, b) = self.models;
        self.section(out, "inputs", self.ends(&found.inputs, true))?;
        self.section(out, "outputs", self.ends(&found.outputs, false))?;
        self.section(out, "removed", lone(a, &found.removed, Mark::Removed))?;
        self.section(out, "added", lone(b, &found.added, Mark::Added))?;
        self.section(out, "changed", self.changed())?;
        let rewired = found.rewired.iter().map(|change| {
            let (first, second) = (change.layer.first, change.layer.second);
            let text = format!(
                "{} input {}: {} → {}",
                layer(b, second),
                change.input,
                value(a, first.graph, change.first),
                value(b, second.graph, change.second)
            );
            (Mark::Changed, text)
        });
        self.section(out, "rewired", rewired.collect())?;
        self.section(out, "weights", self.weights())?;
        let names = found.names.iter().map(|change| {
            let what = match change.output {
                None => String::new(),
                Some(output) => format!(" tensor {output}"),
            };
            let (x, y) = (list(&change.names.0), list(&change.names.1));
            (
                Mark::Changed,
                format!("{}{what}: {x} → {y}", layer(b, change.layer.second)),
            )
        });
        self.section(out, "names", names.collect())?;
        let rt_info = found.rt_info.iter().map(|change| {
            let whose = match change.layer {
                Some(both) => layer(b, both.second),
                None => "the model".to_owned(),
            };
            let text = format!(
                "{whose}: {}: {} → {}",
                plain(&change.key),
                shown(change.first.as_deref()),
                shown(change.second.as_deref())
            );
            (Mark::Changed, text)
        });
        self.section(out, "rt_info", rt_info.collect())?;
        for (what, reordered) in [
            ("inputs", found.inputs_reordered),
            ("outputs", found.outputs_reordered),
        ] {
            if reordered {
                writeln!(out, "note: the {what} come in another order")?;
            }
        }
        let matched = grouped(found.matched as u64);
        match found.count() {
            0 => writeln!(out, "no difference: {matched} layers match")?,
            1 => writeln!(out, "1 difference; {matched} layers match")?,
            n => writeln!(
                out,
                "{} differences; {matched} layers match",
                grouped(n as u64)
            )?,
        }
        Ok(())
    }

    fn section(&self, out: &mut dyn Write, title: &str, lines: Vec<(Mark, String)>) -> Outcome {
        if lines.is_empty() {
            return Ok(());
        }
        writeln!(out, "{title}")?;
        for (mark, text) in lines {
            let mut parts = text.lines();
            let first = parts.next().unwrap_or_default();
            writeln!(out, "  {}", mark.line(first, self.colour))?;
            for more in parts {
                writeln!(out, "      {more}")?;
            }
        }
        writeln!(out)?;
        Ok(())
    }

    fn ends(&self, changes: &[EndChange], inputs: bool) -> Vec<(Mark, String)> {
        let (a, b) = self.models;
        let told = |model: &Model, index: usize| {
            let (terminals, ty) = if inputs {
                (model.inputs(), model.input_type(index))
            } else {
                (model.outputs(), model.output_type(index))
            };
            let ty = ty.map(ToString::to_string).unwrap_or_default();
            (quoted(terminals[index].name()), ty)
        };
        let line = |change: &EndChange| match (change.first, change.second) {
            (Some(first), None) => {
                let (name, ty) = told(a, first);
                (Mark::Removed, format!("{name} {ty}"))
            }
            (first, second) => {
                let (name, ty) = told(b, second.unwrap_or_default());
                if first.is_none() {
                    return (Mark::Added, format!("{name} {ty}"));
                }
                let mut parts = Vec::new();
                if let Some((x, y)) = &change.names {
                    parts.push(format!("names {} → {}", list(x), list(y)));
                }
                if let Some((x, y)) = &change.types {
                    parts.push(format!("{x} → {y}"));
                }
                (Mark::Changed, format!("{name}: {}", parts.join(", ")))
            }
        };
        changes.iter().map(line).collect()
    }

    fn changed(&self) -> Vec<(Mark, String)> {
        let line = |change: &crate::diff::AttributeChange| {
            let mut text = layer(self.models.1, change.layer.second);
            if let Some((x, y)) = &change.version {
                text.push_str(&format!("\nversion: {} → {}", plain(x), plain(y)));
            }
            for (name, x, y) in &change.attributes {
                let (x, y) = (shown(x.as_deref()), shown(y.as_deref()));
                text.push_str(&format!("\n{}: {x} → {y}", plain(name)));
            }
            (Mark::Changed, text)
        };
        self.found.changed.iter().map(line).collect()
    }

    /// The constants that differ, those that differ most first.
    fn weights(&self) -> Vec<(Mark, String)> {
        let mut all: Vec<&WeightChange> = self.found.weights.iter().collect();
        // Where there is no number, the shapes differ.
        let size = |change: &WeightChange| match change.distance {
            Some(distance) if !distance.relative_l2.is_nan() => distance.relative_l2,
            _ => f64::INFINITY,
        };
        all.sort_by(|x, y| size(y).total_cmp(&size(x)));
        let most = if self.all { all.len() } else { MOST_WEIGHTS };
        let (_, b) = self.models;
        let mut lines: Vec<_> = all
            .iter()
            .take(most)
            .map(|change| {
                let at = change.layer.second;
                let mut text = layer(b, at);
                match &change.types {
                    (x, y) if x == y => text.push_str(&format!(" {x}")),
                    (x, y) => text.push_str(&format!(" {x} → {y}")),
                }
                if let Some(d) = change.distance {
                    text.push_str(&format!(
                        ": relative L2 {:.3e}, max abs {:.3e}",
                        d.relative_l2, d.max_abs
                    ));
                }
                if let Some((user, input)) = change.user {
                    let user = layer(b, At { node: user, ..at });
                    text.push_str(&format!("\ninput {input} of {user}"));
                }
                (Mark::Changed, text)
            })
            .collect();
        if let Some(more) = all.len().checked_sub(most).filter(|&more| more > 0) {
            let text = format!("{} more; `--weights` lists them", grouped(more as u64));
            lines.push((Mark::Changed, text));
        }
        lines
    }

    fn to_json(&self) -> Value {
        let found = self.found;
        let (a, b) = self.models;
        let one = |model: &Model, at: At| {
            let node = model.graphs()[at.graph].node(at.node);
            json!({ "graph": at.graph, "id": node.id(), "name": node.name(), "type": node.type_name() })
        };
        let both = |layer: Both| json!({ "a": one(a, layer.first), "b": one(b, layer.second) });
        let lone = |model: &Model, lone: &Lone| {
            let mut value = one(model, lone.at);
            value["constants"] = lone.constants.into();
            value["within"] = match lone.within {
                None => Value::Null,
                Some((port, node, input)) => {
                    let at = |node| At { node, ..lone.at };
                    json!({
                        "from": one(model, at(port.node)),
                        "output": port.index,
                        "to": one(model, at(node)),
                        "input": input,
                    })
                }
            };
            value
        };
        let end = |inputs: bool| {
            move |change: &EndChange| {
                let name = |model: &Model, index: Option<usize>| {
                    let terminals = if inputs {
                        model.inputs()
                    } else {
                        model.outputs()
                    };
                    index.map(|index| json!({ "index": index, "name": terminals[index].name() }))
                };
                let types = change.types.as_ref();
                json!({
                    "a": name(a, change.first),
                    "b": name(b, change.second),
                    "names": change.names,
                    "types": types.map(|(x, y)| [x.to_string(), y.to_string()]),
                })
            }
        };
        let port = |model: &Model, graph: usize, port: Option<Port>| {
            port.map(|port| {
                json!({ "layer": one(model, At { graph, node: port.node }), "output": port.index })
            })
        };
        json!({
            "equal": found.is_empty(),
            "matched": found.matched,
            "inputs": found.inputs.iter().map(end(true)).collect::<Vec<_>>(),
            "outputs": found.outputs.iter().map(end(false)).collect::<Vec<_>>(),
            "inputs_reordered": found.inputs_reordered,
            "outputs_reordered": found.outputs_reordered,
            "removed": found.removed.iter().map(|l| lone(a, l)).collect::<Vec<_>>(),
            "added": found.added.iter().map(|l| lone(b, l)).collect::<Vec<_>>(),
            "changed": found.changed.iter().map(|change| json!({
                "layer": both(change.layer),
                "version": change.version,
                "attributes": change.attributes.iter()
                    .map(|(name, x, y)| json!({ "name": name, "a": x, "b": y }))
                    .collect::<Vec<_>>(),
            })).collect::<Vec<_>>(),
            "rewired": found.rewired.iter().map(|change| json!({
                "layer": both(change.layer),
                "input": change.input,
                "a": port(a, change.layer.first.graph, change.first),
                "b": port(b, change.layer.second.graph, change.second),
            })).collect::<Vec<_>>(),
            "weights": found.weights.iter().map(|change| json!({
                "layer": both(change.layer),
                "types": [change.types.0.to_string(), change.types.1.to_string()],
                "distance": change.distance.map(|d| json!({
                    "relative_l2": number(d.relative_l2),
                    "max_abs": number(d.max_abs),
                    "differing": d.differing,
                })),
            })).collect::<Vec<_>>(),
            "names": found.names.iter().map(|change| json!({
                "layer": both(change.layer),
                "output": change.output,
                "a": change.names.0,
                "b": change.names.1,
            })).collect::<Vec<_>>(),
            "rt_info": found.rt_info.iter().map(|change| json!({
                "layer": change.layer.map(both),
                "key": change.key,
                "a": change.first,
                "b": change.second,
            })).collect::<Vec<_>>(),
        })
    }
}

fn lone(model: &Model, all: &[Lone], mark: Mark) -> Vec<(Mark, String)> {
    let line = |lone: &Lone| {
        let mut text = layer(model, lone.at);
        match lone.constants {
            0 => {}
            1 => text.push_str(" with 1 constant"),
            n => text.push_str(&format!(" with {n} constants")),
        }
        if let Some((port, node, input)) = lone.within {
            let at = |node| At { node, ..lone.at };
            text.push_str(&format!(
                "\nbetween {} and input {input} of {}",
                value(model, lone.at.graph, Some(port)),
                layer(model, at(node))
            ));
        }
        (mark, text)
    };
    all.iter().map(line).collect()
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    let names: Vec<_> = names.iter().map(|name| quoted(name)).collect();
    names.join(", ")
}

fn shown(text: Option<&str>) -> String {
    text.map_or_else(
        || "nothing".to_owned(),
        |text| match text {
            "" => "\"\"".to_owned(),
            text => plain(text),
        },
    )
}

/// JSON has no infinity and no NaN.
fn number(number: f64) -> Value {
    match number {
        n if n.is_finite() => n.into(),
        n => n.to_string().to_lowercase().into(),
    }
}
