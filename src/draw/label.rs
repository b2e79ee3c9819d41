//! What is written on layers: short names, constants, values.

use super::color::type_and_shape;
use super::text;
use super::unit::{Units, is_constant};
use crate::graph::{Node, Port};
use crate::model::Model;
use crate::tensor::{ElementType, Tensor, convert};

/// Constants of more elements are told by their shape.
const MOST_ELEMENTS: usize = 4;
/// Characters of a value.
const LONGEST_VALUE: usize = 26;

/// The end of a layer's name, where it differs from others: without the last part if that only says
/// the type, and not longer than `most` characters.
pub(super) fn short_name(name: &str, type_name: &str, most: usize) -> String {
    let mut name = name;
    if let Some((rest, last)) = name.rsplit_once('/') {
        let stem = last.trim_end_matches(|c: char| c.is_ascii_digit());
        let stem = stem.strip_suffix('_').unwrap_or(last);
        if stem.eq_ignore_ascii_case(type_name) && !rest.is_empty() {
            name = rest;
        }
    }
    let shown = text::visible(name);
    if shown.chars().count() <= most {
        return shown;
    }
    // From a separator on, if one is near.
    let skip = shown.chars().count() - (most - 1);
    let tail: String = shown.chars().skip(skip).collect();
    let from = tail.find(['/', '.']).filter(|&at| at < tail.len() / 2);
    format!("…{}", &tail[from.map_or(0, |at| at + 1)..])
}

/// What a constant input of a layer is: its value if it is small, its shape and the type it is
/// stored in.
pub(super) fn constant(model: &Model, graph: usize, port: Port) -> String {
    let nodes = &model.graphs()[graph];
    let outputs = model.inferred_in(graph, port.node);
    let declared = || {
        let output = nodes.node(port.node).outputs().get(port.index as usize)?;
        let (ty, shape) = output.declared.clone()?;
        Some(crate::op::Output::new(ty, shape))
    };
    let Some(mut output) = outputs.get(port.index as usize).cloned().or_else(declared) else {
        return "?".to_owned();
    };
    // Weights are often stored in a narrower type and widened.
    let mut node = nodes.node(port.node);
    let mut same = true;
    for _ in 0..16 {
        if let Some(value) = small_value(node, MOST_ELEMENTS).filter(|_| same) {
            return text::cut(&value, LONGEST_VALUE);
        }
        same &= node.type_name() == "Convert";
        if is_constant(node) {
            let stored = node.outputs().first().and_then(|o| o.declared.as_ref());
            if let Some((ty, _)) = stored.filter(|_| output.element_type.is_float()) {
                output.element_type = *ty;
            }
            break;
        }
        let Some(input) = node.inputs().first() else {
            break;
        };
        node = nodes.node(input.node);
    }
    type_and_shape(&output)
}

/// What the constant inputs of a layer are, three of them at most.
pub(super) fn constants(model: &Model, graph: usize, units: &Units, node: &Node) -> String {
    let inputs = node.inputs().iter();
    let shown = inputs.filter(|port| units.constant.get(port.node.index()) == Some(&true));
    let all: Vec<String> = shown.map(|&port| constant(model, graph, port)).collect();
    let more = all.len().saturating_sub(3);
    let mut line = all[..all.len() - more].join(" · ");
    if more > 0 {
        line.push_str(&format!(" · {more} more"));
    }
    line
}

/// The elements of a constant, if it has no more than `most`.
pub(super) fn small_value(node: &Node, most: usize) -> Option<String> {
    let declared = node.outputs().first()?.declared.as_ref();
    let count = declared.and_then(|(_, shape)| shape.to_shape()?.elements());
    // Without asking for bytes that a file may not have.
    if count.is_some_and(|count| count > most) {
        return None;
    }
    let tensor = node.op()?.constant()?.ok()?;
    (tensor.len() <= most).then(|| elements(tensor))?
}

fn elements(tensor: &Tensor) -> Option<String> {
    let ty = tensor.element_type();
    let parts: Vec<String> = if ty == ElementType::String {
        let strings = tensor.as_strings().ok()?;
        let shown = strings
            .iter()
            .map(|s| String::from_utf8_lossy(s.as_ref()).into_owned());
        shown
            .map(|s| format!("\"{}\"", text::cut(&s, LONGEST_VALUE)))
            .collect()
    } else if ty == ElementType::Boolean {
        let wide = convert::convert(tensor, ElementType::I64).ok()?;
        let bits = wide.as_slice::<i64>().ok()?;
        bits.iter().map(|&b| (b != 0).to_string()).collect()
    } else if ty.is_integer() {
        let wide = convert::convert(tensor, ElementType::I64).ok()?;
        wide.as_slice::<i64>()
            .ok()?
            .iter()
            .map(i64::to_string)
            .collect()
    } else {
        let wide = convert::convert(tensor, ElementType::F64).ok()?;
        let numbers = wide.as_slice::<f64>().ok()?;
        numbers.iter().map(|&n| super::color::short(n)).collect()
    };
    Some(match &parts[..] {
        [one] if tensor.shape().is_empty() => one.clone(),
        _ => format!("[{}]", parts.join(", ")),
    })
}

/// A name for what several layers are: the part their names begin with, `layers.0…11` for copies that
/// differ in a number, or else the types that come first.
pub(super) fn block_title(copies: &[Vec<&str>], types: &[&str]) -> String {
    let prefixes: Vec<Vec<&str>> = copies.iter().map(|names| common(names)).collect();
    if let Some(title) = numbered(&prefixes) {
        return text::cut(&title, 34);
    }
    let mut shown: Vec<&str> = Vec::new();
    for ty in types {
        if shown.len() < 3 && !shown.contains(ty) {
            shown.push(ty);
        }
    }
    let more = types.iter().any(|ty| !shown.contains(ty));
    let shown = text::cut(&shown.join(", "), 34);
    if more { format!("{shown}, …") } else { shown }
}

/// The parts that the names of most layers begin with.
fn common<'n>(names: &[&'n str]) -> Vec<&'n str> {
    let mut group: Vec<Vec<&str>> = names
        .iter()
        .map(|name| name.split(['/', '.']).take(16).collect())
        .collect();
    let total = group.len();
    let mut prefix = Vec::new();
    loop {
        let mut counts: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
        for parts in &group {
            // The last part names the layer itself.
            if parts.len() > prefix.len() + 1 {
                *counts.entry(parts[prefix.len()]).or_default() += 1;
            }
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        let Some((part, count)) = most else { break };
        if count * 4 < total * 3 {
            break;
        }
        group.retain(|parts| parts.get(prefix.len()) == Some(&part));
        prefix.push(part);
    }
    prefix
}

/// Equal prefixes, or those that differ in one number.
fn numbered(prefixes: &[Vec<&str>]) -> Option<String> {
    let (first, last) = (prefixes.first()?, prefixes.last()?);
    let useful = |parts: &[&str]| {
        let shown: Vec<&str> = parts
            .iter()
            .copied()
            .filter(|p| !matches!(*p, "__module" | "model" | "m" | ""))
            .collect();
        let skip = shown.len().saturating_sub(4);
        (!shown.is_empty()).then(|| shown[skip..].join("."))
    };
    let same = prefixes.iter().all(|p| p.len() == first.len());
    let differ: Vec<usize> = (0..first.len())
        .filter(|&at| prefixes.iter().any(|p| p.get(at) != Some(&first[at])))
        .collect();
    match &differ[..] {
        [] => useful(first),
        [at] if same => {
            // `block_0…11`, not `block_0…block_11`.
            let stem = first[*at].trim_end_matches(|c: char| c.is_ascii_digit());
            let rest = last[*at].strip_prefix(stem);
            let rest = rest.filter(|r| !r.is_empty() && r.bytes().all(|b| b.is_ascii_digit()));
            let numbers = format!("{}…{}", first[*at], rest.unwrap_or(last[*at]));
            let mut parts = first.clone();
            parts[*at] = &numbers;
            useful(&parts)
        }
        [at, ..] => useful(&first[..*at]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shortened_where_they_tell_least() {
        let name = "__module.model.layers.0.self_attn.q_proj/ov_ext::linear/MatMul";
        assert_eq!(short_name(name, "MatMul", 30), "…q_proj/ov_ext::linear");
        assert_eq!(short_name("a/Add_12", "Add", 30), "a");
        assert_eq!(short_name("Add_12", "Add", 30), "Add_12");
        assert_eq!(short_name("aten::add", "Add", 30), "aten::add");
        assert_eq!(short_name(&"模".repeat(50), "Add", 5), "…模模模模");
        assert_eq!(short_name("", "Add", 5), "");
    }

    #[test]
    fn blocks_are_called_by_what_their_names_share() {
        let copy = |number: usize| {
            ["q/MatMul", "k/MatMul", "norm/Multiply"]
                .map(|name| format!("__module.model.layers.{number}.{name}"))
        };
        let copies: Vec<[String; 3]> = (0..12).map(copy).collect();
        let names: Vec<Vec<&str>> = copies
            .iter()
            .map(|copy| copy.iter().map(String::as_str).collect())
            .collect();
        assert_eq!(block_title(&names, &["MatMul"]), "layers.0…11");
        let plain = vec![vec!["Add_1", "Mul_2"], vec!["Add_3", "Mul_4"]];
        let types = ["Add", "Multiply", "Add", "Relu", "Clamp"];
        assert_eq!(block_title(&plain, &types), "Add, Multiply, Relu, …");
    }
}
