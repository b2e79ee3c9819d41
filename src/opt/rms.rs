//! Recognises normalization by the root mean square written out, as language models have it.

use std::sync::Arc;

use super::draft::{Draft, port};
use crate::graph::Port;
use crate::ops::normalization::Rms;
use crate::tensor::convert;

/// Puts one operation in place of `x * (mean(x^2) + epsilon)^-0.5`, however it is written, along the last
/// axis; with the scale that follows if nobody else takes what comes before it. A layer normalization
/// written out ends in one, of the differences from the mean.
pub(super) fn rms(draft: &mut Draft) {
    let consumers = draft.consumers();
    for (index, users) in consumers.iter().enumerate() {
        let Some((data, epsilon)) = written_out(draft, index) else {
            continue;
        };
        let scaled = match users[..] {
            [next] => scale(draft, next, index).map(|scale| (next, scale)),
            _ => None,
        };
        let op = Arc::new(Rms::new(epsilon.into(), scaled.is_some()));
        let (place, scale) = scaled.unzip();
        let inputs = [data].into_iter().chain(scale);
        draft.set(place.unwrap_or(index), op, "RMS".to_owned(), inputs);
    }
}

/// What node `index` normalizes, and the epsilon.
fn written_out(draft: &Draft, index: usize) -> Option<(Port, f32)> {
    let &[a, b] = &draft.node(index).inputs[..] else {
        return None;
    };
    let (data, (squared, epsilon)) = match draft.kind(index)? {
        "Multiply" => match inverse_root(draft, b) {
            Some(found) => (a, found),
            None => (b, inverse_root(draft, a)?),
        },
        "Divide" => (a, root(draft, b)?),
        _ => return None,
    };
    let same = draft.output(data)?.shape == draft.output(port(index))?.shape;
    (squared == data && same).then_some((data, epsilon))
}

/// What `1 / root` is made of: see [`root`].
fn inverse_root(draft: &Draft, value: Port) -> Option<(Port, f32)> {
    let index = value.node.index();
    let &[a, b] = &draft.node(index).inputs[..] else {
        return None;
    };
    match draft.kind(index)? {
        "Divide" if draft.number(a)? == 1.0 => root(draft, b),
        "Power" if draft.number(b)? == -0.5 => mean_of_squares(draft, a),
        "Power" if draft.number(b)? == -1.0 => root(draft, a),
        _ => None,
    }
}

/// What the root of a mean of squares is made of: see [`mean_of_squares`].
fn root(draft: &Draft, value: Port) -> Option<(Port, f32)> {
    let index = value.node.index();
    match (draft.kind(index)?, &draft.node(index).inputs[..]) {
        ("Sqrt", &[of]) => mean_of_squares(draft, of),
        ("Power", &[of, half]) if draft.number(half)? == 0.5 => mean_of_squares(draft, of),
        _ => None,
    }
}

/// `x` and the epsilon of `mean(x^2) + epsilon` along the last axis, which stays.
fn mean_of_squares(draft: &Draft, value: Port) -> Option<(Port, f32)> {
    let index = value.node.index();
    let &[a, b] = &draft.node(index).inputs[..] else {
        return None;
    };
    if draft.kind(index)? != "Add" {
        return None;
    }
    let (mean, epsilon) = match draft.number(b) {
        Some(epsilon) => (a, epsilon),
        None => (b, draft.number(a)?),
    };
    let index = mean.node.index();
    let &[squares, axes] = &draft.node(index).inputs[..] else {
        return None;
    };
    if draft.kind(index)? != "ReduceMean" || !draft.is_set(index, "keep_dims") {
        return None;
    }
    let rank = i64::try_from(draft.output(squares)?.shape.rank()?).ok()?;
    let last = |axis: i64| axis == -1 || axis == rank - 1;
    match convert::few_i64(draft.value(axes)?)[..] {
        [axis] if last(axis) => {}
        _ => return None,
    }
    let index = squares.node.index();
    match (draft.kind(index)?, &draft.node(index).inputs[..]) {
        ("Power", &[of, two]) if draft.number(two)? == 2.0 => Some((of, epsilon)),
        ("Multiply", &[of, same]) if of == same => Some((of, epsilon)),
        _ => None,
    }
}

/// What node `next` multiplies the output of this one by, if it is a number for each place of the last
/// axis.
fn scale(draft: &Draft, next: usize, index: usize) -> Option<Port> {
    if draft.kind(next)? != "Multiply" {
        return None;
    }
    let scale = match draft.node(next).inputs[..] {
        [a, b] if a == port(index) => b,
        [a, _] => a,
        _ => return None,
    };
    let shape = draft.output(scale)?.shape.dims()?;
    let width = draft.output(port(index))?.shape.dims()?.last()?.value()?;
    let (&last, others) = shape.split_last()?;
    let fits = last.value() == Some(width) && others.iter().all(|dim| dim.value() == Some(1));
    let same = draft.output(port(index))?.shape == draft.output(port(next))?.shape;
    (fits && same).then_some(scale)
}

#[cfg(test)]
#[path = "rms_tests.rs"]
mod tests;
