//! `ovir check`

use std::io::Write;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use serde_json::json;

use super::{Failure, ModelArg, Outcome, colour, print_json, shown, unless_ended};
use crate::error::{is_hidden, path, plain};
use crate::ir::{Problem, Severity, Source};
use crate::model::{Depth, Model};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    model: ModelArg,
    /// Show errors alone
    #[arg(long)]
    no_warnings: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    let limits = args.model.limits.begin()?;
    let inspection = Model::inspect_with(&args.model.model, Depth::Inference, &limits)?;
    unless_ended(&inspection)?;
    let wanted = |p: &&Problem| p.severity == Severity::Error || !args.no_warnings;
    let problems: Vec<&Problem> = inspection.problems.iter().filter(wanted).collect();
    let count = |s: Severity| {
        inspection
            .problems
            .iter()
            .filter(|p| p.severity == s)
            .count()
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    if args.json {
        let list: Vec<_> = problems.iter().map(|p| to_json(p)).collect();
        print_json(
            out,
            "check/1",
            json!({ "errors": errors, "warnings": warnings, "problems": list }),
        )?;
    } else {
        let renderer = if colour::wanted(false) {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        for problem in &problems {
            writeln!(out, "{}\n", render(problem, &inspection.source, &renderer))?;
        }
        let file = shown(&args.model.model);
        match (errors, warnings) {
            (0, 0) => writeln!(out, "{file}: no problems")?,
            _ => writeln!(
                out,
                "{file}: {}, {}",
                plural(errors, "error"),
                plural(warnings, "warning")
            )?,
        }
    }
    if errors > 0 {
        return Err(Failure::Different);
    }
    Ok(())
}

fn plural(count: usize, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {what}{s}")
}

fn to_json(problem: &Problem) -> serde_json::Value {
    let place = problem.error.place();
    let (line, column) = place.line_column.unzip();
    json!({
        "severity": match problem.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        "kind": format!("{:?}", problem.error.kind()).to_lowercase(),
        "message": problem.error.message(),
        "line": line,
        "column": column,
        "layers": place.layers.iter().map(|layer| json!({
            "id": layer.id,
            "name": layer.name,
            "type": layer.type_name,
            "version": layer.opset,
        })).collect::<Vec<_>>(),
    })
}

/// Lines longer than this are cut around the place.
const LONGEST_LINE: usize = 160;

fn render(problem: &Problem, source: &Source, renderer: &Renderer) -> String {
    let level = match problem.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let place = problem.error.place();
    let mut title = path(&place.layers);
    if !title.is_empty() {
        title.push_str(": ");
    }
    title.push_str(&plain(problem.error.message()));
    let (Some(offset), Some((line, _))) = (place.offset, place.line_column) else {
        let title = Group::with_title(level.primary_title(title));
        return renderer.render(&[title]);
    };
    let text = source.text();
    let offset = text.floor_char_boundary(offset);
    let start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
    let start = start.max(text.ceil_char_boundary(offset.saturating_sub(LONGEST_LINE / 2)));
    let end = text[offset..]
        .find('\n')
        .map_or(text.len(), |at| offset + at);
    let end = end.min(text.floor_char_boundary(start + LONGEST_LINE));
    let line_text = text[start..end].trim_end();
    let from = (offset - start).min(line_text.len());
    let to = from + marked(&line_text[from..]);
    // Character by character, so that the mark stays under what it means.
    let visible = |part: &str| -> String {
        let visible = |c: char| {
            if is_hidden(c) && c != '\t' {
                '\u{fffd}'
            } else {
                c
            }
        };
        part.chars().map(visible).collect()
    };
    let (before, meant) = (visible(&line_text[..from]), visible(&line_text[from..to]));
    let after = visible(&line_text[to..]);
    let (from, to) = (before.len(), before.len() + meant.len());
    let snippet = Snippet::source(before + &meant + &after)
        .line_start(line)
        .path(plain(source.name()))
        .annotation(AnnotationKind::Primary.span(from..to));
    renderer.render(&[level.primary_title(title).element(snippet)])
}

/// How much of the line is meant: a whole tag, or a whole attribute.
fn marked(text: &str) -> usize {
    if text.starts_with('<') {
        return text.find('>').map_or(text.len(), |at| at + 1);
    }
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(q), c) if c == q => return at + 1,
            (None, ' ' | '>' | '/') => return at,
            _ => {}
        }
    }
    text.len()
}
