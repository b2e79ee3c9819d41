//! GroupedMatMul-17: products of matrices of which each group of rows has its own factor, as the
//! experts of a model have.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/matrix/grouped-matmul-17.html>
//!
//! The factors are stored transposed. An early draft of the document stored them plainly, and a
//! later one adds the bias; offsets and bias may be left out or empty. Rows behind the last group
//! are zero.

use serde::{Deserialize, Serialize};

use super::in_product;
use crate::kernel::gemm::{Matrix, Product, each};
use crate::kernel::scratch::try_room;
use crate::op::{
    Input, Io, Op, OpError, Output, Outputs, bail, ensure, expect_index_type, merge_types,
};
use crate::ops::floats::{fill, real};
use crate::tensor::convert::try_i64;
use crate::tensor::{Dimension, PartialShape, Tensor};

/// Products of groups of matrices.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(super) struct GroupedMatMul {}

/// Whether an optional input is given: it is there, and not an empty list.
fn given<'a, 'b>(input: Option<&'a Input<'b>>) -> Option<&'a Input<'b>> {
    let empty = PartialShape::from([0]);
    input.filter(|input| *input.shape != empty)
}

fn same(what: &str, a: Dimension, b: Dimension) -> Result<Dimension, OpError> {
    match a.intersect(b) {
        Some(both) => Ok(both),
        None => bail!("{what} differ: {a} and {b}"),
    }
}

/// The shape of the output, and the dimensions of the bias.
fn shapes(
    a: &PartialShape,
    b: &PartialShape,
    offsets: Option<&Input<'_>>,
) -> Result<(PartialShape, [Dimension; 2]), OpError> {
    let unknown = [Dimension::dynamic(); 2];
    let groups = match offsets.map(|offsets| offsets.shape.dims()) {
        Some(Some([groups])) => *groups,
        Some(Some(_)) => bail!("the offsets must be 1-D"),
        _ => Dimension::dynamic(),
    };
    let needed = || {
        ensure!(
            offsets.is_some(),
            "matrices of shapes {a} and {b} need offsets"
        );
        Ok(())
    };
    match (a.dims(), b.dims()) {
        (Some(&[rows, k_a]), Some(&[groups_b, columns, k_b])) => {
            needed()?;
            same("the columns of both inputs", k_a, k_b)?;
            let groups = same(
                "the groups of the offsets and the second input",
                groups,
                groups_b,
            )?;
            Ok(([rows, columns][..].into(), [groups, columns]))
        }
        (Some(&[groups_a, rows, k_a]), Some(&[groups_b, columns, k_b])) => {
            // Unless it may still turn out to be empty.
            ensure!(
                offsets.is_none_or(|_| groups.contains(0)),
                "matrices of shapes {a} and {b} need no offsets"
            );
            same("the columns of both inputs", k_a, k_b)?;
            let groups = same("the groups of both inputs", groups_a, groups_b)?;
            Ok(([groups, rows, columns][..].into(), [groups, columns]))
        }
        (Some(&[rows, tokens_a]), Some(&[columns, tokens_b])) => {
            needed()?;
            same("the columns of both inputs", tokens_a, tokens_b)?;
            Ok(([groups, rows, columns][..].into(), [groups, columns]))
        }
        (Some(dims), _) if !matches!(dims.len(), 2 | 3) => {
            bail!("the first input must have 2 or 3 dimensions, got shape {a}")
        }
        (_, Some(dims)) if !matches!(dims.len(), 2 | 3) => {
            bail!("the second input must have 2 or 3 dimensions, got shape {b}")
        }
        (Some(_), Some(_)) => bail!("shapes {a} and {b} do not go together"),
        _ => Ok((PartialShape::dynamic(), unknown)),
    }
}

impl Op for GroupedMatMul {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [a, b, rest @ ..] = inputs else {
            bail!("expected 2 to 4 inputs, got {}", inputs.len());
        };
        ensure!(
            rest.len() <= 2,
            "expected 2 to 4 inputs, got {}",
            inputs.len()
        );
        let (offsets, bias) = (given(rest.first()), given(rest.get(1)));
        let mut same_type = vec![a.clone(), b.clone()];
        same_type.extend(bias.cloned());
        let ty = merge_types(&same_type)?;
        ensure!(
            ty.is_numeric() || !ty.is_static(),
            "the inputs must be numbers, got {ty}"
        );
        if let Some(offsets) = offsets
            && offsets.element_type.is_static()
        {
            expect_index_type("the type of the offsets", offsets.element_type)?;
        }
        let (shape, expected) = shapes(&a.shape, &b.shape, offsets)?;
        if let Some(bias) = bias {
            let expected: PartialShape = expected[..].into();
            ensure!(
                bias.shape.compatible(&expected) || bias.shape.contains(&[0]),
                "the bias has shape {}, expected {expected}",
                bias.shape
            );
        }
        Ok(Output::single(ty, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let empty = |tensor: &&Tensor| tensor.shape()[..] == [0];
        let optional = |index: usize| io.inputs.get(index).copied().filter(|input| !empty(input));
        let offsets = optional(2).map(|offsets| try_i64(offsets)).transpose()?;
        let offsets = offsets.unwrap_or_default();
        let out = &mut io.outputs[0];
        in_product!(out.element_type(), T => {
            let (a, b) = (real::<T>(io.inputs[0])?, real::<T>(io.inputs[1])?);
            let bias = optional(3).map(real::<T>).transpose()?;
            let bias = match &bias {
                Some(bias) => Some(bias.as_slice::<T>()?),
                None => None,
            };
            fill(out, |out| grouped::<T>(&a, &b, &offsets, bias, out))
        })
    }
}

/// Where each group begins, and how many tokens it has.
fn groups(offsets: &[i64], tokens: usize) -> Result<Vec<(usize, usize)>, OpError> {
    let mut start = 0;
    let mut groups = try_room(offsets.len())?;
    for (i, &offset) in offsets.iter().enumerate() {
        let end = usize::try_from(offset).ok().filter(|&end| end <= tokens);
        let Some(end) = end.filter(|&end| end >= start) else {
            bail!("offset {i} is {offset}, expected {start} to {tokens}");
        };
        groups.push((start, end - start));
        start = end;
    }
    Ok(groups)
}

fn grouped<T: Product>(
    a: &Tensor,
    b: &Tensor,
    offsets: &[i64],
    bias: Option<&[T]>,
    out: &mut [T],
) -> Result<(), OpError> {
    let (a_data, b_data) = (a.as_slice::<T>()?, b.as_slice::<T>()?);
    out.fill(T::ZERO);
    let mut rest = out;
    let mut products = Vec::new();
    let columns = match (&a.shape()[..], &b.shape()[..]) {
        (&[tokens, k], &[_, columns, _]) => {
            for (i, (start, len)) in groups(offsets, tokens)?.into_iter().enumerate() {
                let own = take(&mut rest, len * columns);
                let rows = Matrix::new(&a_data[start * k..][..len * k], len, k);
                let factor = Matrix::new(&b_data[i * columns * k..], columns, k);
                products.push((rows, factor.transposed(), own));
            }
            columns
        }
        (&[groups, rows, k], &[_, columns, _]) => {
            for i in 0..groups {
                let own = take(&mut rest, rows * columns);
                let factor = Matrix::new(&b_data[i * columns * k..], columns, k);
                let rows = Matrix::new(&a_data[i * rows * k..], rows, k);
                products.push((rows, factor.transposed(), own));
            }
            columns
        }
        (&[rows, tokens], &[columns, _]) => {
            for (start, len) in groups(offsets, tokens)? {
                let own = take(&mut rest, rows * columns);
                let factor = some_columns(b, b_data, start, len).transposed();
                products.push((some_columns(a, a_data, start, len), factor, own));
            }
            columns
        }
        _ => bail!("the shapes do not go together"),
    };
    run(products, columns, bias);
    Ok(())
}

/// `len` columns of a matrix, from `start` on.
fn some_columns<'a, T>(matrix: &Tensor, data: &'a [T], start: usize, len: usize) -> Matrix<'a, T> {
    let (rows, columns) = (matrix.shape()[0], matrix.shape()[1]);
    let data = data.get(start..).unwrap_or_default();
    Matrix::with_strides(data, rows, len, [columns, 1])
}

/// Takes elements off the front.
fn take<'a, T>(rest: &mut &'a mut [T], len: usize) -> &'a mut [T] {
    let (own, others) = std::mem::take(rest).split_at_mut(len);
    *rest = others;
    own
}

/// Computes the products, and adds to every row of each its own bias.
fn run<T: Product>(
    mut products: Vec<(Matrix<'_, T>, Matrix<'_, T>, &mut [T])>,
    columns: usize,
    bias: Option<&[T]>,
) {
    let parts = products
        .iter_mut()
        .map(|(a, b, out)| (*a, *b, &mut **out))
        .collect();
    each(parts);
    if let Some(bias) = bias
        && columns > 0
    {
        for ((_, _, out), bias) in products.iter_mut().zip(bias.chunks_exact(columns)) {
            for row in out.chunks_exact_mut(columns) {
                for (x, &bias) in row.iter_mut().zip(bias) {
                    *x = x.plus(bias);
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "grouped_matmul_tests.rs"]
mod tests;
