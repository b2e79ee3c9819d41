//! A model as text that follows from its structure: for `git diff` and other tools that compare
//! lines.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::pairs::walk;
use super::side::{Level, Side, Whole, attributes, given_name, hash, is_constant, version, wires};
use crate::error::quoted;
use crate::graph::{NodeId, Port};
use crate::model::Model;

/// A model as text, one line a layer, producers first. Two files of one model, whatever their ids,
/// the order of their layers and the names that tools make, give the same text; a change of one layer
/// changes its line and few around it.
///
/// A layer is known by its name, or where a tool made that of the type and a number, by a hash of
/// what is around it. Constants have a hash of their elements, unless `weights` is false.
pub fn canonical(model: &Model, weights: bool) -> String {
    let whole = Whole::new(model, weights);
    let mut text = String::new();
    for index in 0..model.graphs().len() {
        let side = Side::new(&whole, index);
        if let Some((parent, holder)) = side.graph.parent() {
            let holder = model.graphs()[parent].node(holder);
            let kind = holder.bodies().iter().find(|body| body.graph == index);
            let kind = kind.map_or("body", |body| body.kind.tag());
            let _ = writeln!(
                text,
                "\n{kind} of {} {}",
                holder.type_name(),
                quoted(holder.name())
            );
        }
        graph(&whole, &side, index, &mut text);
    }
    text
}

fn graph(whole: &Whole<'_>, side: &Side<'_>, index: usize, text: &mut String) {
    let model = whole.model;
    let ends = wires(model, index);
    let names = names(side);
    let port = |port: &Port| match port.index {
        0 => names[port.node.index()].clone(),
        output => format!("{}.{output}", names[port.node.index()]),
    };
    for at in walk(side.graph) {
        let node = side.node(at);
        let outputs = model.inferred_in(index, NodeId::new(at)).iter();
        let outputs: Vec<_> = outputs.map(ToString::to_string).collect();
        let inputs: Vec<_> = node.inputs().iter().map(port).collect();
        let _ = write!(
            text,
            "{} = {}-{}",
            names[at],
            node.type_name(),
            version(node)
        );
        let _ = write!(text, "({})", inputs.join(", "));
        if !is_constant(node) {
            for (name, value) in attributes(node) {
                let _ = write!(text, " {name}={}", crate::error::plain(&value));
            }
        }
        let _ = write!(text, " -> {}", outputs.join(", "));
        if let Some(content) = whole.content(index, at) {
            let _ = write!(text, " #{content:016x}");
        }
        if let Some(end) = ends.get(&at) {
            let _ = write!(text, " [{end}]");
        }
        text.push('\n');
    }
}

/// How far around a layer is looked at for what sets it apart from those of the same kind.
const ROUNDS: usize = 8;

/// A name for each node: what was given, or the type and a hash of the neighbourhood, of as many steps
/// as set it apart. What nothing within reach sets apart is numbered.
fn names(side: &Side<'_>) -> Vec<String> {
    let order = walk(side.graph);
    let given: Vec<Option<String>> = (0..side.len())
        .map(|at| {
            let node = side.node(at);
            let tensors = node.outputs().iter().flat_map(|port| &port.names).next();
            given_name(node).or(tensors.map(String::as_str)).map(quoted)
        })
        .collect();
    let mut keys = side.level(Level::Full).to_vec();
    for (key, name) in keys.iter_mut().zip(&given) {
        if let Some(name) = name {
            *key = hash(name);
        }
    }
    let mut names: Vec<Option<String>> = given.clone();
    for _ in 0..ROUNDS {
        let open: Vec<usize> = order
            .iter()
            .copied()
            .filter(|&at| names[at].is_none())
            .collect();
        if open.is_empty() {
            break;
        }
        keys = wider(side, &given, &keys);
        let name =
            |at: usize| format!("{}~{:06x}", side.node(at).type_name(), keys[at] & 0xff_ffff);
        let mut shared: HashMap<String, usize> = HashMap::new();
        for &at in &open {
            *shared.entry(name(at)).or_default() += 1;
        }
        for at in open {
            let name = name(at);
            if shared[&name] == 1 {
                names[at] = Some(name);
            }
        }
    }
    let mut used: HashMap<String, usize> = HashMap::new();
    let mut numbered = vec![String::new(); side.len()];
    for at in order {
        let name = names[at].take().unwrap_or_else(|| {
            format!("{}~{:06x}", side.node(at).type_name(), keys[at] & 0xff_ffff)
        });
        let count = used.entry(name.clone()).or_default();
        *count += 1;
        numbered[at] = match *count {
            1 => name,
            count => format!("{name}'{count}"),
        };
    }
    numbered
}

/// The key of each node with those of its neighbours; a given name stands for all that is behind it.
fn wider(side: &Side<'_>, given: &[Option<String>], keys: &[u64]) -> Vec<u64> {
    let key = |at: usize| {
        if given[at].is_some() {
            return keys[at];
        }
        let inputs = side.node(at).inputs().iter();
        let inputs: Vec<u64> = inputs.map(|port| keys[port.node.index()]).collect();
        let consumers = side.consumers[at].iter();
        let mut takers: Vec<_> = consumers.map(|c| (keys[c.0], c.1)).collect();
        takers.sort_unstable();
        hash(&(keys[at], inputs, takers))
    };
    (0..side.len()).map(key).collect()
}
