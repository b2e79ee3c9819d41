//! Large tables that are stored small, of which a gather takes some rows: only these are widened.

use std::collections::HashMap;

use super::dead::needed;
use super::draft::{Draft, Replaced, constant, port};
use crate::graph::infer::Fact;
use crate::graph::{Known, Node, Operation, Port};
use crate::op::attrs::Attr;
use crate::op::{Input, LayerData, NoWeights};
use crate::ops;
use crate::tensor::convert::one_i64;
use crate::tensor::pack::run_bytes;
use crate::tensor::{ElementType, Shape, Tensor};

/// A table of fewer bytes is computed ahead: that takes milliseconds once, and to widen rows takes microseconds
/// each time.
const LARGE: u64 = 4 << 20;

/// Values that rows of a table are computed from: as many as there are in usual ones, and some.
const MOST: usize = 16;

/// Has each `Gather` along the first axis of a large table that is computed row by row from smaller constants
/// take the rows of these. From them the table's rows are computed, in the gather's place.
///
/// Indices out of range take zeros, and all that is computed here of zeros is zero.
pub(super) fn rows(drafts: &mut [Draft]) {
    for which in 0..drafts.len() {
        let draft = &drafts[which];
        let replaced: Vec<Replaced> = gathers(draft)
            .into_iter()
            .filter_map(|index| Rows::of(draft, index))
            .collect();
        if !replaced.is_empty() {
            Draft::replace(drafts, which, replaced);
        }
    }
}

/// The table of a gather along the first axis.
fn table(draft: &Draft, index: usize) -> Option<Port> {
    let &[table, indices, axis] = &draft.node(index).inputs[..] else {
        return None;
    };
    if draft.computed_by(port(index))? != "Gather" || table == indices || table == axis {
        return None;
    }
    let axis = draft
        .value(axis)
        .filter(|axis| axis.element_type().is_integer())?;
    let batch = draft.attribute(index, "batch_dims");
    let first = one_i64(axis) == Some(0) && batch.is_none_or(|batch| batch == "0");
    first.then_some(table)
}

/// The gathers of large tables that are not known, and that nothing but such gathers reads.
fn gathers(draft: &Draft) -> Vec<usize> {
    let needed = needed(draft);
    let mut consumers = draft.consumers();
    for users in &mut consumers {
        users.retain(|&user| needed[user]);
    }
    let fits = |at: Port| {
        let users = &consumers[at.node.index()];
        let large = bytes_of(draft, at).is_some_and(|bytes| bytes >= LARGE);
        large
            && draft.value(at).is_none()
            && users.iter().all(|&user| table(draft, user) == Some(at))
    };
    let mut fit = HashMap::new();
    let all = (0..draft.len()).filter(|&index| needed[index]);
    all.filter(|&index| {
        table(draft, index).is_some_and(|at| *fit.entry(at).or_insert_with(|| fits(at)))
    })
    .collect()
}

fn shape_of(draft: &Draft, value: Port) -> Option<Shape> {
    draft.output(value)?.shape.to_shape()
}

fn bytes_of(draft: &Draft, value: Port) -> Option<u64> {
    draft.output(value)?.known_bytes()
}

/// The nodes that compute rows of a table.
struct Rows<'a> {
    draft: &'a Draft,
    /// The gather of the table.
    gather: usize,
    /// The rows that the table has.
    count: usize,
    /// Bytes of the constants of which rows are taken.
    stored: u64,
    /// How many more values may be looked at.
    left: usize,
    nodes: Vec<(Node, Fact)>,
}

impl<'a> Rows<'a> {
    /// What computes the same as a gather, if it takes less memory.
    fn of(draft: &'a Draft, gather: usize) -> Option<Replaced> {
        let &[table, indices, _] = &draft.node(gather).inputs[..] else {
            return None;
        };
        let count = *shape_of(draft, table)?.first()?;
        let taken = shape_of(draft, indices).and_then(|shape| shape.elements());
        // All rows once, or some of them often, are better computed ahead.
        if taken.is_some_and(|taken| taken >= count) {
            return None;
        }
        let mut rows = Self {
            draft,
            gather,
            count,
            stored: 0,
            left: MOST,
            nodes: Vec::new(),
        };
        rows.take(table)?;
        if rows.stored >= bytes_of(draft, table)? {
            return None;
        }
        let (last, _) = rows.nodes.pop()?;
        Some(Replaced {
            index: gather,
            before: rows.nodes,
            operation: last.operation,
            inputs: last.inputs,
        })
    }

    /// The rows of a value, if each follows from the rows of constants at the same place.
    fn take(&mut self, value: Port) -> Option<Port> {
        self.left = self.left.checked_sub(1)?;
        let draft = self.draft;
        let shape = shape_of(draft, value)?;
        if shape.first() != Some(&self.count) {
            return None;
        }
        let gather = draft.node(self.gather);
        if let Some(tensor) = draft.value(value) {
            let ty = tensor.element_type();
            // The code of zeros is that of another number in these, and rows that share bytes are slow to take.
            let zero = !matches!(ty, ElementType::Nf4 | ElementType::F8e8m0);
            run_bytes(ty, shape[1..].iter().product()).filter(|_| zero)?;
            self.stored += tensor.byte_len() as u64;
            let inputs = [value, gather.inputs[1], gather.inputs[2]];
            return self.push(value, gather.operation.clone(), &inputs);
        }
        let kind = draft.computed_by(value)?;
        let index = value.node.index();
        let node = draft.node(index);
        let inputs: Vec<Port> = match (kind, &node.inputs[..]) {
            ("Convert", &[data]) => vec![self.take(data)?],
            ("Add" | "Subtract" | "Multiply", &[a, b]) => {
                let same_rank =
                    |side| shape_of(draft, side).map(|s| s.rank()) == Some(shape.rank());
                if !same_rank(a) || !same_rank(b) {
                    return None;
                }
                vec![self.take(a)?, self.take(b)?]
            }
            ("Reshape", &[data, _]) => return self.reshape(value, data, &shape[1..]),
            _ => return None,
        };
        self.push(value, node.operation.clone(), &inputs)
    }

    /// The rows of `data`, each in this shape.
    fn reshape(&mut self, value: Port, data: Port, row: &[usize]) -> Option<Port> {
        let indices = self.draft.node(self.gather).inputs[1];
        let rank = self.draft.output(indices)?.shape.rank()?;
        let data = self.take(data)?;
        // With `special_zero`, zeros stand for the dimensions of the indices.
        let row: Option<Vec<i64>> = row.iter().map(|&size| i64::try_from(size).ok()).collect();
        let row = row.filter(|row| !row.contains(&0))?;
        let target = [vec![0; rank], row].concat();
        let (operation, fact) = constant(Tensor::vector(&target));
        let target = self.add(value, operation, &[], fact);
        let resolved = ops::resolve("Reshape", "opset1")?;
        let (op, _) = resolved
            .def
            .read(&LayerData {
                attributes: &[Attr::new("special_zero", "true")],
                weights: &NoWeights,
            })
            .ok()?;
        let operation = Operation::known(&resolved, op);
        self.push(value, operation, &[data, target])
    }

    /// A node that computes rows of `value`.
    fn push(&mut self, value: Port, operation: Operation, inputs: &[Port]) -> Option<Port> {
        let Operation::Known { op, .. } = &operation else {
            return None;
        };
        let given: Option<Vec<Input<'_>>> = inputs.iter().map(|&input| self.input(input)).collect();
        let outputs = op.infer(&given?).ok()?;
        let fact = Fact::of(outputs.into_iter().next()?);
        Some(self.add(value, operation, inputs, fact))
    }

    /// What is known of an input of a new node.
    fn input(&self, at: Port) -> Option<Input<'_>> {
        let fact = match at.node.index().checked_sub(self.gather) {
            Some(new) => &self.nodes.get(new)?.1,
            None => &self.draft.facts[at.node.index()],
        };
        let output = fact.outputs.get(at.index as usize)?;
        let mut input = Input::new(output.element_type, &output.shape);
        input.value = match fact.known.first() {
            Some(Some(Known::Tensor(tensor))) => Some(tensor),
            _ if at.node.index() < self.gather => self.draft.value(at),
            _ => None,
        };
        Some(input)
    }

    fn add(&mut self, value: Port, operation: Operation, inputs: &[Port], fact: Fact) -> Port {
        let [gather, of] = [self.gather, value.node.index()].map(|index| self.draft.node(index));
        let name = format!("{}/{}", gather.name(), of.name());
        let node = Node::of(&name, gather.opset(), operation, inputs);
        self.nodes.push((node, fact));
        port(self.gather + self.nodes.len() - 1)
    }
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
