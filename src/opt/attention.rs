//! Recognises attention written out, and takes the transpositions around it into it, with what stands between
//! these.

use std::sync::Arc;

use smallvec::SmallVec;

use super::draft::{Draft, port};
use crate::graph::Port;
use crate::ops::sequence::{HeadAttention, Order, Seen, default_scale};
use crate::tensor::{ElementType, convert};

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
/// ScaledDotProductAttention, with the transpositions of heads before and after them, where dimensions of one
/// may come and go between, and with numbers that queries and keys are multiplied by.
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
        let mut scale = found.scale.or_else(|| inverse_root(draft, found.query));
        let (query, query_seen) = unmoved(draft, found.query, rank, scale.as_mut());
        let (key, mut key_seen) = unmoved(draft, found.key, rank, scale.as_mut());
        let (value, value_seen) = unmoved(draft, found.value, rank, None);
        if found.key_columns {
            key_seen = key_seen.with_columns_as_rows();
        }
        // The transposition that puts heads side by side again, if nobody else looks.
        let side_by_side = match consumers[index][..] {
            [next] => swaps_heads(draft, next, index, rank).map(|order| (next, order)),
            _ => None,
        };
        let (last, order) = side_by_side.unzip();
        let op = HeadAttention {
            seen: [query_seen, key_seen, value_seen],
            causal: found.causal,
            scale,
            side_by_side: order,
        };
        let inputs = [query, key, value].into_iter().chain(found.mask);
        let name = "ScaledDotProductAttention".to_owned();
        draft.set(last.unwrap_or(index), Arc::new(op), name, inputs);
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

/// What scores are multiplied by where nothing else is given, if the length of queries is known.
fn inverse_root(draft: &Draft, query: Port) -> Option<f32> {
    let length = draft.output(query)?.shape.dims()?.last()?.value()?;
    default_scale(length, ElementType::F32).ok()
}

/// The value that another becomes by moves alone, and how that is seen. Numbers that the value is multiplied by on the
/// way go into `scale`, which scores are multiplied by, if it is known.
fn unmoved(
    draft: &Draft,
    mut port: Port,
    rank: usize,
    mut scale: Option<&mut f32>,
) -> (Port, Seen) {
    let mut seen = Seen::whole(rank);
    loop {
        if let Some((before, way)) = moved(draft, port, &seen) {
            (port, seen) = (before, way);
        } else if let Some(scale) = &mut scale
            && let Some((before, factor)) = scaled(draft, port)
            && let product = **scale * factor
            && factor.is_normal()
            && product.is_normal()
            && draft.output(before) == draft.output(port)
        {
            (port, **scale) = (before, product);
        } else {
            return (port, seen);
        }
    }
}

/// What a value is moved from by a transposition, or by an operation that changes dimensions of one alone, and how that
/// is `seen` where the value is.
fn moved(draft: &Draft, port: Port, seen: &Seen) -> Option<(Port, Seen)> {
    let index = port.node.index();
    if let Some((data, order)) = transposition(draft, index) {
        return Some((data, seen.before_transpose(&order)?));
    }
    let &data = draft.node(index).inputs.first()?;
    let dims = |port: Port| draft.output(port)?.shape.dims();
    let reshapes = port.index == 0 && draft.computes(index)?.reshapes();
    let before = seen.before_reshape(dims(data)?, dims(port)?);
    Some((data, before.filter(|_| reshapes)?))
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

/// How a node transposes this one's output, if it exchanges heads and queries and does nothing else but to move
/// dimensions of one.
fn swaps_heads(draft: &Draft, next: usize, index: usize, rank: usize) -> Option<Order> {
    let (data, order) = transposition(draft, next)?;
    let dims = draft.output(data)?.shape.dims()?;
    if data != port(index) || rank < 4 || order.len() != rank || dims.len() != rank {
        return None;
    }
    let mut swapped: Order = (0..rank).collect();
    swapped.swap(rank - 3, rank - 2);
    let long = |axis: &&usize| dims[**axis].value() != Some(1);
    let same = order.iter().filter(long).eq(swapped.iter().filter(long));
    same.then_some(order)
}

#[cfg(test)]
#[path = "attention_tests.rs"]
mod tests;
