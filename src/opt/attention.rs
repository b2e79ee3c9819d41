//! Recognises attention written out, and takes the transpositions around it into it.

use std::sync::Arc;

use smallvec::SmallVec;

use super::draft::{Draft, port};
use crate::graph::Port;
use crate::ops::sequence::{HeadAttention, Order};
use crate::tensor::convert;

/// What the pass has found of an attention, from its values back to its queries.
struct Found {
    query: Port,
    key: Port,
    value: Port,
    /// Whether keys are given as columns.
    key_columns: bool,
    mask: Option<Port>,
    scale: Option<f32>,
    causal: bool,
}

/// Puts one operation in place of `MatMul` → scale → mask → `SoftMax` → `MatMul` and of
/// ScaledDotProductAttention, with the transpositions of heads before and after them.
pub(super) fn attention(draft: &mut Draft) {
    let consumers = draft.consumers();
    for index in 0..draft.len() {
        let Some(found) = written_out(draft, &consumers, index).or_else(|| whole(draft, index))
        else {
            continue;
        };
        let rank = |port: Port| draft.output(port).and_then(|output| output.shape.rank());
        let Some(rank) = rank(port(index)).filter(|&own| {
            [found.query, found.key, found.value]
                .iter()
                .all(|&port| rank(port) == Some(own))
        }) else {
            continue;
        };
        let (query, query_order) = before_transpose(draft, found.query, rank);
        let (key, mut key_order) = before_transpose(draft, found.key, rank);
        let (value, value_order) = before_transpose(draft, found.value, rank);
        if found.key_columns {
            key_order.swap(rank - 2, rank - 1);
        }
        // The transposition that puts heads side by side again, if nobody else looks.
        let side_by_side = match consumers[index][..] {
            [next] => swaps_heads(draft, next, index, rank).then_some(next),
            _ => None,
        };
        let op = HeadAttention {
            orders: [query_order, key_order, value_order],
            causal: found.causal,
            scale: found.scale,
            side_by_side: side_by_side.is_some(),
        };
        let inputs = [query, key, value].into_iter().chain(found.mask);
        let name = "ScaledDotProductAttention".to_owned();
        draft.set(side_by_side.unwrap_or(index), Arc::new(op), name, inputs);
    }
}

/// Attention whose values are multiplied by node `index`.
fn written_out(draft: &Draft, consumers: &[Vec<usize>], index: usize) -> Option<Found> {
    if draft.kind(index)? != "MatMul" || draft.is_set(index, "transpose_a") {
        return None;
    }
    if draft.is_set(index, "transpose_b") {
        return None;
    }
    let &[weights, value] = &draft.node(index).inputs[..] else {
        return None;
    };
    let alone = |port: Port| consumers[port.node.index()].len() == 1;
    let softmax = weights.node.index();
    let rank = draft.output(weights)?.shape.rank()?;
    let axis: i64 = draft.attribute(softmax, "axis")?.parse().ok()?;
    let last = axis == -1 || usize::try_from(axis) == Ok(rank.checked_sub(1)?);
    if !matches!(draft.kind(softmax)?, "SoftMax" | "Softmax") || !last || !alone(weights) {
        return None;
    }
    let mut scores = *draft.node(softmax).inputs.first()?;
    let (mut mask, mut scale) = (None, None);
    let shape = draft.output(scores)?.shape.clone();
    if rank < 3 || !alone(scores) {
        return None;
    }
    if draft.kind(scores.node.index())? == "Add" {
        let &[a, b] = &draft.node(scores.node.index()).inputs[..] else {
            return None;
        };
        let product = |port: Port| scaled_product(draft, port).is_some();
        let (inner, other) = if product(a) { (a, b) } else { (b, a) };
        // A mask of one axis is aligned at the keys; attention takes it with two.
        let ranks = draft.output(other)?.shape.rank()?;
        if !alone(inner) || ranks == 1 || draft.output(inner)?.shape != shape {
            return None;
        }
        mask = Some(other);
        scores = inner;
    }
    if let Some((inner, factor)) = scaled(draft, scores) {
        if !alone(inner) {
            return None;
        }
        scale = Some(factor);
        scores = inner;
    }
    let product = scores.node.index();
    if draft.kind(product)? != "MatMul" || draft.is_set(product, "transpose_a") {
        return None;
    }
    let &[query, key] = &draft.node(product).inputs[..] else {
        return None;
    };
    Some(Found {
        query,
        key,
        value,
        key_columns: !draft.is_set(product, "transpose_b"),
        mask,
        scale: Some(scale.unwrap_or(1.0)),
        causal: false,
    })
}

/// A product, or a multiple of one.
fn scaled_product(draft: &Draft, port: Port) -> Option<()> {
    let inner = scaled(draft, port).map_or(port, |(inner, _)| inner);
    (draft.kind(inner.node.index())? == "MatMul").then_some(())
}

/// A value and the constant that it is multiplied by.
fn scaled(draft: &Draft, port: Port) -> Option<(Port, f32)> {
    let index = port.node.index();
    let &[a, b] = &draft.node(index).inputs[..] else {
        return None;
    };
    match draft.kind(index)? {
        "Multiply" => draft
            .number(b)
            .map(|factor| (a, factor))
            .or_else(|| Some((b, draft.number(a)?))),
        "Divide" => {
            let divisor = draft.number(b)?;
            // Only then is a product the quotient.
            let exact = divisor.abs().to_bits().trailing_zeros() >= 23 && divisor.is_normal();
            exact.then(|| (a, divisor.recip()))
        }
        _ => None,
    }
}

/// Attention that is one operation already.
fn whole(draft: &Draft, index: usize) -> Option<Found> {
    if draft.kind(index)? != "ScaledDotProductAttention" {
        return None;
    }
    let [query, key, value, ref more @ ..] = draft.node(index).inputs[..] else {
        return None;
    };
    let causal = draft.is_set(index, "causal");
    let scale = match more.get(1) {
        Some(&scale) => Some(draft.number(scale)?),
        None => None,
    };
    if more.len() > 2 {
        return None;
    }
    // Adding nothing is left out.
    let adds = |&&port: &&Port| !draft.number(port).is_some_and(|number| number == 0.0);
    Some(Found {
        query,
        key,
        value,
        key_columns: false,
        mask: more.first().filter(|_| !causal).filter(adds).copied(),
        scale,
        causal,
    })
}

/// What a Transpose moves, and how, or the value as it is.
fn before_transpose(draft: &Draft, port: Port, rank: usize) -> (Port, Order) {
    let found = transposition(draft, port.node.index());
    found
        .filter(|(_, order)| order.len() == rank)
        .unwrap_or_else(|| (port, (0..rank).collect()))
}

fn transposition(draft: &Draft, index: usize) -> Option<(Port, Order)> {
    let &[data, order] = &draft.node(index).inputs[..] else {
        return None;
    };
    if draft.kind(index)? != "Transpose" {
        return None;
    }
    let order = convert::few_i64(draft.value(order)?);
    let order: Option<SmallVec<_>> = order
        .into_iter()
        .map(|axis| usize::try_from(axis).ok())
        .collect();
    Some((data, order?))
}

/// Whether a node exchanges heads and queries of this one's output.
fn swaps_heads(draft: &Draft, next: usize, index: usize, rank: usize) -> bool {
    let mut swapped: Order = (0..rank).collect();
    if rank < 4 {
        return false;
    }
    swapped.swap(rank - 3, rank - 2);
    transposition(draft, next).is_some_and(|(data, order)| data == port(index) && order == swapped)
}

#[cfg(test)]
#[path = "attention_tests.rs"]
mod tests;
