//! What `ovir bisect` prints.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::compare::pairs_json;
use super::sides::{self, COLUMNS, Inputs};
use super::table::Table;
use super::{Outcome, shown};
use crate::compare::{Blamed, Finding, Search, Verdict};
use crate::error::{plain, quoted};
use crate::model::Model;

/// More layers are only counted.
const MOST_LISTED: usize = 10;

/// A reproduction that was written, and what the runtime makes of it.
pub(super) struct Reproduced {
    pub(super) folder: PathBuf,
    pub(super) shows: bool,
    /// Whether the runtime's own result on it differs, if there is a runtime.
    pub(super) runtime: Option<bool>,
}

/// What is told.
pub(super) struct Report<'r> {
    pub(super) path: &'r Path,
    pub(super) model: &'r Model,
    pub(super) inputs: &'r Inputs,
    /// Whether all that is wrong is listed.
    pub(super) isolated: bool,
    pub(super) search: &'r Search,
    pub(super) reference: String,
    pub(super) reproduction: Option<Reproduced>,
}

impl Report<'_> {
    pub(super) fn print(&self, out: &mut dyn Write) -> Outcome {
        let search = self.search;
        let model = shown(self.path);
        let against = sides::describe(&self.reference, search.about.as_ref());
        writeln!(out, "{model} against {against}")?;
        if let Some(line) = self.inputs.to_line() {
            writeln!(out, "{line}")?;
        }
        writeln!(out)?;
        if let Some(error) = &search.error {
            writeln!(out, "the model does not evaluate: {error}\n")?;
        }
        match &search.verdict {
            Verdict::Equal => self.equal(out)?,
            Verdict::Grown => self.grown(out)?,
            Verdict::Layer(blamed) => self.blamed(blamed, out)?,
            Verdict::Fused(blamed) => {
                self.blamed(blamed, out)?;
                writeln!(
                    out,
                    "\nOne by one these layers agree: the fault is in how the runtime fuses them."
                )?;
            }
        }
        self.others(out)?;
        self.counts(out)?;
        self.reproduced(out)
    }

    fn reproduced(&self, out: &mut dyn Write) -> Outcome {
        let Some(Reproduced {
            folder,
            shows,
            runtime,
        }) = &self.reproduction
        else {
            return Ok(());
        };
        let how = match (shows, runtime) {
            (_, Some(true)) => "the runtime shows the difference on it too",
            (_, Some(false)) => "the runtime does not show the difference on it",
            (true, None) => "it shows the difference",
            (false, None) => "it does not show the difference",
        };
        writeln!(out, "wrote a reproduction to {}: {how}", shown(folder))?;
        Ok(())
    }

    fn equal(&self, out: &mut dyn Write) -> Outcome {
        let outputs = self.search.outputs.pairs.len();
        writeln!(
            out,
            "no difference: {outputs} outputs are equal within tolerance"
        )?;
        let worst = self.search.outputs.worst_first().into_iter().next();
        if let Some(worst) = worst.filter(|worst| !worst.difference.is_none()) {
            let values = sides::columns(&worst.difference);
            writeln!(
                out,
                "the largest: {} rel L2 {}, max abs {}",
                plain(&worst.name),
                values[3],
                values[0]
            )?;
        }
        Ok(())
    }

    fn grown(&self, out: &mut dyn Write) -> Outcome {
        writeln!(
            out,
            "the outputs differ, but no layer does by itself: on the reference's inputs every one \
             gives what the reference gives"
        )?;
        let mut table = new_table("output");
        for pair in self
            .search
            .outputs
            .worst_first()
            .into_iter()
            .take(MOST_LISTED)
        {
            table.row(
                [pair.name.clone()]
                    .into_iter()
                    .chain(sides::columns(&pair.difference)),
            );
        }
        table.print(out)?;
        let first = self
            .search
            .along
            .iter()
            .find(|finding| !finding.compared.passes());
        if let Some(first) = first {
            writeln!(
                out,
                "the first tensor to exceed its tolerance: {}",
                plain(&first.name)
            )?;
        }
        Ok(())
    }

    fn blamed(&self, blamed: &Blamed, out: &mut dyn Write) -> Outcome {
        let graph = self.model.graph();
        match blamed.nodes.as_slice() {
            [] | [_] => writeln!(out, "the first layer that differs is")?,
            more => writeln!(out, "the first that differ are these {} layers", more.len())?,
        }
        let place = blamed.alone.slot().map(|(id, _)| self.model.place(id));
        let line = place.and_then(|place| {
            let (line, column) = place.line_column?;
            Some(format!(
                "  at {}:{line}:{column}",
                plain(place.file.as_deref()?)
            ))
        });
        match blamed.nodes.as_slice() {
            [] | [_] => writeln!(
                out,
                "\n  {}{}",
                blamed.alone.layer,
                line.unwrap_or_default()
            )?,
            more => {
                writeln!(out)?;
                for &id in more.iter().take(MOST_LISTED) {
                    writeln!(out, "  {}", graph.node(id))?;
                }
                if more.len() > MOST_LISTED {
                    writeln!(out, "  … {} more", more.len() - MOST_LISTED)?;
                }
            }
        }
        if blamed.nodes.len() < 2 && !blamed.attributes.is_empty() {
            let list: Vec<String> = blamed
                .attributes
                .iter()
                .map(|(name, value)| format!("{}={}", plain(name), plain(value)))
                .collect();
            writeln!(out, "  {}", list.join(" "))?;
        }
        for line in explained(blamed) {
            writeln!(out, "  {line}")?;
        }
        writeln!(out)?;
        let mut table = new_table("difference");
        let rows = [
            ("of its inputs", blamed.before.as_ref()),
            ("of its output", blamed.after.as_ref()),
            ("by itself, on the reference's inputs", Some(&blamed.alone)),
        ];
        for (what, finding) in rows {
            if let Some(finding) = finding {
                let cells = sides::columns(&finding.compared.difference);
                table.row([what.to_owned()].into_iter().chain(cells));
            }
        }
        table.print(out)?;
        let alone = &blamed.alone;
        if let Some(worst) = sides::worst(&alone.name, &alone.compared.difference) {
            writeln!(out, "worst: {worst}")?;
        }
        Ok(())
    }

    /// What else is wrong.
    fn others(&self, out: &mut dyn Write) -> Outcome {
        let wrong = &self.search.wrong;
        if wrong.len() > 1 {
            writeln!(out, "\n{} more differ by themselves:", wrong.len() - 1)?;
            let most = if self.isolated {
                usize::MAX
            } else {
                MOST_LISTED
            };
            let mut table = new_table("");
            for finding in wrong.iter().skip(1).take(most) {
                let name = format!("{} ({})", finding.name, finding.layer.type_name);
                table.row(
                    [name]
                        .into_iter()
                        .chain(sides::columns(&finding.compared.difference)),
                );
            }
            table.print(out)?;
        }
        let explained = &self.search.explained;
        if !explained.is_empty() {
            let names: Vec<_> = explained
                .iter()
                .take(MOST_LISTED)
                .map(|f| quoted(&f.name))
                .collect();
            let dots = if explained.len() > MOST_LISTED {
                ", …"
            } else {
                ""
            };
            writeln!(
                out,
                "\n{} exceed the tolerance by themselves by no more than rounding explains: {}{dots}",
                explained.len(),
                names.join(", ")
            )?;
        }
        Ok(())
    }

    fn counts(&self, out: &mut dyn Write) -> Outcome {
        let search = self.search;
        if search.compared > 0 {
            write!(out, "\n{} tensors compared", search.compared)?;
            match search.asked {
                0 => writeln!(out)?,
                1 => writeln!(out, ", the runtime was asked once")?,
                more => writeln!(out, ", the runtime was asked {more} times")?,
            }
        }
        Ok(())
    }

    pub(super) fn to_json(&self) -> Value {
        let search = self.search;
        let (verdict, blamed) = match &search.verdict {
            Verdict::Equal => ("equal", None),
            Verdict::Grown => ("grown", None),
            Verdict::Layer(blamed) => ("layer", Some(blamed)),
            Verdict::Fused(blamed) => ("fused", Some(blamed)),
        };
        let findings = |list: &[Finding]| -> Value { list.iter().map(finding_json).collect() };
        json!({
            "verdict": verdict,
            "model": shown(self.path),
            "reference": sides::about_json(&self.reference, search.about.as_ref()),
            "inputs": self.inputs.to_json(),
            "error": search.error.as_ref().map(ToString::to_string),
            "blamed": blamed.map(|blamed| self.blamed_json(blamed)),
            "wrong": findings(&search.wrong),
            "explained": findings(&search.explained),
            "outputs": pairs_json(&search.outputs.pairs),
            "reproduction": self.reproduction.as_ref().map(|r| json!({
                "folder": shown(&r.folder),
                "shows": r.shows,
                "runtime_shows": r.runtime,
            })),
            "compared": search.compared,
            "asked": search.asked,
        })
    }

    fn blamed_json(&self, blamed: &Blamed) -> Value {
        let graph = self.model.graph();
        let layers = blamed.nodes.iter().map(|&id| layer_json(graph.node(id)));
        let layers: Vec<Value> = layers.collect();
        let difference = |finding: &Finding| sides::difference_json(&finding.compared.difference);
        let why = &blamed.explanation;
        let attributes: serde_json::Map<String, Value> = blamed
            .attributes
            .iter()
            .map(|(name, value)| (name.clone(), value.clone().into()))
            .collect();
        json!({
            "layer": finding_layer(&blamed.alone),
            "tensor": blamed.alone.name,
            "attributes": attributes,
            "layers": layers,
            "before": blamed.before.as_ref().map(difference),
            "after": blamed.after.as_ref().map(difference),
            "alone": difference(&blamed.alone),
            "operations": why.operations.as_ref().map(|(a, b)| json!([a, b])),
            "changed_attributes": why.attributes.iter().map(|(name, a, b)| {
                json!({"name": name, "here": a, "there": b})
            }).collect::<Vec<_>>(),
            "changed_inputs": why.inputs.iter().map(|(index, a, b)| {
                json!({"input": index, "here": a, "there": b})
            }).collect::<Vec<_>>(),
            "changed_constants": why.constants.iter().map(|(name, difference)| {
                json!({"name": name, "difference": sides::difference_json(difference)})
            }).collect::<Vec<_>>(),
        })
    }
}

fn new_table(what: &str) -> Table {
    let mut table = Table::new(2, &[false, true, true, true, true, true, true]);
    table.row([what].into_iter().chain(COLUMNS).map(str::to_owned));
    table
}

/// Why a layer differs, a line each.
pub(super) fn explained(blamed: &Blamed) -> Vec<String> {
    let why = &blamed.explanation;
    let mut lines = Vec::new();
    if let Some((here, there)) = &why.operations {
        lines.push(format!(
            "it is {} here and {} there",
            plain(here),
            plain(there)
        ));
    }
    for (name, here, there) in &why.attributes {
        let (here, there) = (plain(here), plain(there));
        lines.push(format!(
            "its {} is {here} here and {there} there",
            plain(name)
        ));
    }
    for (index, here, there) in &why.inputs {
        let (here, there) = (quoted(here), quoted(there));
        lines.push(format!(
            "its input {index} is {here} here and {there} there"
        ));
    }
    for (name, difference) in why.constants.iter().take(MOST_LISTED) {
        let cells = sides::columns(difference);
        let how = match &difference.values {
            Some(values) => format!(
                "in {} of {} elements, rel L2 {}",
                values.differing, values.elements, cells[3]
            ),
            None => format!("in shape or type: {}", cells[0]),
        };
        lines.push(format!("its constant {} differs {how}", quoted(name)));
    }
    lines
}

fn layer_json(node: &crate::graph::Node) -> Value {
    json!({
        "id": node.id(),
        "name": node.name(),
        "type": node.type_name(),
        "opset": node.opset(),
    })
}

fn finding_layer(finding: &Finding) -> Value {
    let layer = &finding.layer;
    json!({
        "id": layer.id,
        "name": layer.name,
        "type": layer.type_name,
        "opset": layer.opset,
    })
}

fn finding_json(finding: &Finding) -> Value {
    json!({
        "layer": finding_layer(finding),
        "tensor": finding.name,
        "violations": finding.compared.violations,
        "tolerance": finding.compared.tolerance.to_string(),
        "difference": sides::difference_json(&finding.compared.difference),
        "rounding": finding.rounding.filter(|x| x.is_finite()),
    })
}
