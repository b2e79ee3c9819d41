//! CombineSegments: rows of several ragged tensors joined, and for each element the id of the
//! tensor it comes from.
//!
//! <https://github.com/openvinotoolkit/openvino_tokenizers/blob/master/src/combine_segments.cpp>

use serde::{Deserialize, Serialize};

use super::ragged::{Rows, expect_rows, limit_elements, line, rows};
use crate::kernel::scratch::try_room;
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure, merge_types};
use crate::tensor::{Dimension, ElementType, PartialShape, SharedBytes, Tensor};

/// Rows side by side. A tensor of one row gives it to every row of the others.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(super) struct CombineSegments {}

/// How many ragged tensors so many inputs are.
fn tensors(inputs: usize) -> Result<usize, OpError> {
    ensure!(
        inputs % 3 == 1 && inputs > 3,
        "expected begins, ends and elements of each tensor, and ids, got {inputs} inputs"
    );
    Ok(inputs / 3)
}

/// The shape of the rows: that of all tensors which are not known to have one row only.
fn row_shape(inputs: &[Input<'_>]) -> Result<PartialShape, OpError> {
    let begins = inputs.iter().step_by(3).take(inputs.len() / 3);
    let shapes: Vec<&PartialShape> = begins.map(|begins| &*begins.shape).collect();
    let many = |shape: &&&PartialShape| !shape.elements().contains(1);
    let mut several = shapes.iter().filter(many);
    if let Some(&first) = several.next() {
        return several.try_fold(first.clone(), |shape, other| {
            let both = shape.intersect(other);
            both.ok_or_else(|| {
                OpError::new(format!(
                    "rows of the tensors have shapes {shape} and {other}"
                ))
            })
        });
    }
    let single = |shape: &PartialShape| shape.elements() == Dimension::fixed(1);
    let mut ranked = shapes.iter().filter(|shape| shape.rank() != Some(0));
    let last = ranked.next_back();
    match last {
        None => Ok(PartialShape::scalar()),
        // Of single rows the last decides; a shape that is not known yet only by itself.
        Some(&last) if shapes.iter().all(|s| single(s)) => Ok(last.clone()),
        Some(&last) => Ok(match ranked.next_back() {
            None => last.clone(),
            Some(other) => match last.rank() {
                Some(rank) if ranked.chain([other]).all(|s| s.rank() == Some(rank)) => {
                    PartialShape::of_rank(rank)
                }
                _ => PartialShape::dynamic(),
            },
        }),
    }
}

impl Op for CombineSegments {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let count = tensors(inputs.len())?;
        let mut elements = Vec::new();
        for tensor in inputs[..3 * count].chunks_exact(3) {
            expect_rows(tensor, 0)?;
            tensor[2].expect_1d("elements")?;
            elements.push(tensor[2].clone());
        }
        let ty = merge_types(&elements)?;
        let ids = &inputs[3 * count];
        for ty in [ty, ids.element_type] {
            ensure!(
                !ty.is_packed() && ty != ElementType::String,
                "elements of {ty} are not supported"
            );
        }
        ensure!(
            ids.shape.elements().contains(count),
            "expected {count} ids, got shape {}",
            ids.shape
        );
        let shape = row_shape(inputs)?;
        let side = || Output::new(ElementType::I32, shape.clone());
        let (joined, of) = (line(ty), line(ids.element_type));
        Ok(smallvec::smallvec![
            side(),
            side(),
            joined,
            side(),
            side(),
            of
        ])
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let count = tensors(io.inputs.len())?;
        let ids = io.inputs[3 * count];
        ensure!(
            ids.len() == count,
            "expected {count} ids, got {}",
            ids.len()
        );
        let mut parts = Vec::with_capacity(count);
        for at in (0..3 * count).step_by(3) {
            let elements = io.inputs[at + 2];
            parts.push((rows(io.inputs, at, elements.len())?, elements));
        }
        let shape = io.outputs[0].shape().clone();
        let number = shape.elements().unwrap_or(0);
        let mut all = 0usize;
        for (rows, _) in &parts {
            ensure!(
                rows.len() == number || rows.len() == 1,
                "tensors of {} and {number} rows",
                rows.len()
            );
            let one = rows
                .iter()
                .fold(0usize, |sum, row| sum.saturating_add(row.len()));
            let times = if rows.len() == 1 { number } else { 1 };
            all = all.saturating_add(one.saturating_mul(times));
        }
        limit_elements(all)?;
        let width = |t: &Tensor| t.element_type().bits() / 8;
        let (wide, id_wide) = (width(parts[0].1), width(ids));
        let (mut joined, mut of) = (try_room(all * wide)?, try_room(all * id_wide)?);
        let mut ends = Rows::default();
        for row in 0..number {
            for ((rows, elements), id) in parts.iter().zip(ids.bytes().chunks_exact(id_wide)) {
                let row = if rows.len() == 1 {
                    &rows[0]
                } else {
                    &rows[row]
                };
                joined.extend_from_slice(&elements.bytes()[row.start * wide..row.end * wide]);
                row.clone().for_each(|_| of.extend_from_slice(id));
                ends.elements.extend(row.clone().map(|_| ()));
            }
            ends.end()?;
        }
        let (begins, ends, _) = ends.into_parts(&shape)?;
        let line = |bytes: Vec<u8>, ty| {
            let bytes = SharedBytes::new(std::sync::Arc::new(bytes));
            Tensor::from_bytes(ty, [all], bytes)
        };
        let joined = line(joined, parts[0].1.element_type())?;
        let of = line(of, ids.element_type())?;
        let [a, b, c, d, e, f] = io.outputs else {
            bail!("expected 6 outputs, got {}", io.outputs.len());
        };
        (*a, *b, *c) = (begins.clone(), ends.clone(), joined);
        (*d, *e, *f) = (begins, ends, of);
        Ok(())
    }
}
