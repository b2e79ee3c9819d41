//! Computes ahead what depends on constants only.

use super::dead::needed;
use super::draft::Draft;
use crate::graph::{Known, Node, evaluate_known};
use crate::limits;
use crate::tensor::Tensor;

/// A constant may become this many times as large as what it is computed from.
const GROWTH: u64 = 8;

/// Constants of fewer bytes may come from anything.
const SMALL: u64 = 1 << 20;

/// Replaces nodes of one output whose elements are known, or follow from constants, but for those
/// that `keep` names and those that nobody needs. `left` is how many bytes may be computed still.
///
/// What was computed on the way is forgotten when it has been used: as much memory again as a constant, or
/// several times as much, may be gone into a chain of layers that widens it.
pub(super) fn fold(draft: &mut Draft, left: &mut u64, keep: &dyn Fn(&Node) -> bool) {
    let needed = needed(draft);
    let mut uses = vec![0usize; draft.len()];
    let consumers = draft.graph.nodes().filter(|(id, _)| needed[id.index()]);
    let inputs = consumers.flat_map(|(_, node)| node.inputs.iter().map(|port| port.node));
    for id in inputs.chain(draft.graph.outputs.iter().map(|output| output.node)) {
        uses[id.index()] += 1;
    }
    let mut computed = vec![false; draft.len()];
    for index in 0..draft.len() {
        if !needed[index] || keep(draft.node(index)) {
            continue;
        }
        if let Some(tensor) = folded(draft, index, left) {
            let inputs = draft.node(index).inputs.clone();
            draft.set_constant(index, tensor);
            computed[index] = true;
            for port in inputs {
                let input = port.node.index();
                uses[input] -= 1;
                if uses[input] == 0 && computed[input] {
                    draft.forget(input);
                }
            }
        }
    }
}

fn folded(draft: &Draft, index: usize, left: &mut u64) -> Option<Tensor> {
    let op = draft.computes(index)?;
    let fact = &draft.facts[index];
    let [output] = &fact.outputs[..] else {
        return None;
    };
    if let Some(Some(Known::Tensor(tensor))) = fact.known.first() {
        return Some(tensor.clone());
    }
    let inputs = draft.inputs(index)?;
    let values: Option<Vec<&Tensor>> = inputs.iter().map(|input| input.value).collect();
    let values = values.filter(|values| !values.is_empty())?;
    let given: u64 = values.iter().map(|t| t.byte_len() as u64).sum();
    let elements = output.shape.to_shape()?.elements()?;
    let bytes = output.element_type.storage_bytes(elements)? as u64;
    let limit = limits::current(|limits| limits.tensor_bytes);
    if bytes > limit || bytes > *left || bytes > SMALL.max(given.saturating_mul(GROWTH)) {
        return None;
    }
    // What evaluation refuses, it will refuse with a place when it is asked for.
    let tensors = evaluate_known(&**op, &values, &fact.outputs).ok()?;
    *left -= bytes;
    tensors.into_iter().next()
}
