//! MatMul-1: products of matrices, batches of them, and vectors.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/matrix/matmul-1.html>
//!
//! Floats narrower than `f32` are summed in `f32` and rounded once; products of integers are exact
//! modulo the size of their type.

use serde::{Deserialize, Serialize};

use super::in_product;
use super::weights::Weights;
use crate::kernel::gemm::{Batch, Matrix, Narrow, Product, batches, multiply_narrow};
use crate::op::broadcast::broadcast;
use crate::op::{
    Finish, Input, Io, Op, OpError, Output, Outputs, Prepared, attrs, bail, ensure, merge_types,
};
use crate::ops::floats::{fill, real};
use crate::tensor::{Dimension, ElementType, PartialShape, Tensor};

/// Matrices of so many elements in a narrow type are not widened as a whole.
const PANELS: usize = 1 << 16;

/// Products of matrices.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct MatMul {
    pub(super) transpose_a: bool,
    pub(super) transpose_b: bool,
}

/// An input seen as matrices.
#[derive(Debug, Clone, Copy)]
pub(super) struct Side<'a, D> {
    batch: &'a [D],
    /// Rows and columns as they are stored.
    stored: [D; 2],
    transposed: bool,
    /// Whether a vector was made a matrix.
    vector: bool,
}

impl<'a, D: Copy + From<usize>> Side<'a, D> {
    /// The first input: a vector is a row.
    pub(super) fn first(dims: &'a [D], transposed: bool) -> Option<Self> {
        match *dims {
            [] => None,
            [size] => Some(Self::vector([1.into(), size])),
            [ref batch @ .., rows, columns] => Some(Self {
                batch,
                stored: [rows, columns],
                transposed,
                vector: false,
            }),
        }
    }

    /// The second input: a vector is a column.
    fn second(dims: &'a [D], transposed: bool) -> Option<Self> {
        match *dims {
            [size] => Some(Self::vector([size, 1.into()])),
            _ => Self::first(dims, transposed),
        }
    }

    fn vector(stored: [D; 2]) -> Self {
        Self {
            batch: &[],
            stored,
            transposed: false,
            vector: true,
        }
    }

    /// Whether the input is a vector.
    pub(super) fn is_vector(&self) -> bool {
        self.vector
    }

    pub(super) fn rows(&self) -> D {
        self.stored[usize::from(self.transposed)]
    }

    pub(super) fn columns(&self) -> D {
        self.stored[usize::from(!self.transposed)]
    }
}

impl Side<'_, usize> {
    fn size(&self) -> usize {
        self.stored[0] * self.stored[1]
    }

    /// Matrix `i` of those stored.
    pub(super) fn matrix<'d, T>(&self, data: &'d [T], i: usize) -> Matrix<'d, T> {
        let [rows, columns] = self.stored;
        let matrix = Matrix::new(&data[i * self.size()..][..self.size()], rows, columns);
        if self.transposed {
            matrix.transposed()
        } else {
            matrix
        }
    }

    /// Matrix `i` of those stored in a narrower type.
    fn narrow<'d>(&self, tensor: &'d Tensor, i: usize) -> Narrow<'d> {
        Narrow {
            ty: tensor.element_type(),
            bytes: tensor.bytes(),
            start: i * self.size(),
            rows: self.rows(),
            columns: self.columns(),
            by_columns: self.transposed,
        }
    }
}

/// The matrices to multiply, and how many there are.
struct Plan<'a> {
    a: Side<'a, usize>,
    b: Side<'a, usize>,
    a_batch: Batch,
    b_batch: Batch,
    count: usize,
}

impl MatMul {
    fn shape(&self, a: &PartialShape, b: &PartialShape) -> Result<PartialShape, OpError> {
        let least = |shape: &PartialShape| shape.rank().is_none_or(|rank| rank > 0);
        ensure!(
            least(a) && least(b),
            "the inputs must have at least one dimension, got shapes {a} and {b}"
        );
        let (Some(a_dims), Some(b_dims)) = (a.dims(), b.dims()) else {
            return Ok(PartialShape::dynamic());
        };
        let (Some(left), Some(right)) = (
            Side::first(a_dims, self.transpose_a),
            Side::second(b_dims, self.transpose_b),
        ) else {
            return Ok(PartialShape::dynamic());
        };
        let (columns, rows): (Dimension, Dimension) = (left.columns(), right.rows());
        ensure!(
            columns.compatible(rows),
            "shapes {a} and {b} cannot be multiplied: the first matrix has {columns} columns, the \
             second {rows} rows"
        );
        let batch = broadcast(
            &PartialShape::from(left.batch),
            &PartialShape::from(right.batch),
            attrs::AutoBroadcastSpec::default(),
        )?;
        let sizes = [
            (!left.vector).then(|| left.rows()),
            (!right.vector).then(|| right.columns()),
        ];
        let batch = batch.dims().unwrap_or_default().iter().copied();
        Ok(batch.chain(sizes.into_iter().flatten()).collect())
    }

    fn evaluate(&self, io: Io<'_>, finish: Option<Finish<'_>>) -> Result<(), OpError> {
        let (a, b, out) = (io.inputs[0], io.inputs[1], &mut io.outputs[0]);
        if out.is_empty() {
            return Ok(());
        }
        let shape = out.shape().clone();
        let plan = self.plan(a, b, &shape)?;
        let ty = a.element_type();
        if ty == ElementType::F32 {
            plan.run(a.as_slice()?, b.as_slice()?, out.as_mut_slice()?, finish);
            return Ok(());
        }
        if ty.is_float() && ty != ElementType::F64 && plan.b.size() >= PANELS {
            let a = real::<f32>(a)?;
            fill(out, |out| {
                plan.run_narrow(a.as_slice()?, b, out);
                Ok(())
            })?;
        } else {
            in_product!(ty, T => fill(out, |out| {
                let (a, b) = (real::<T>(a)?, real::<T>(b)?);
                plan.run::<T>(a.as_slice()?, b.as_slice()?, out, None);
                Ok(())
            }))?;
        }
        if let Some(finish) = finish {
            finish.part(0, out.as_mut_slice()?);
        }
        Ok(())
    }

    fn plan<'a>(&self, a: &'a Tensor, b: &'a Tensor, out: &[usize]) -> Result<Plan<'a>, OpError> {
        let (Some(mut a), Some(b)) = (
            Side::first(a.shape(), self.transpose_a),
            Side::second(b.shape(), self.transpose_b),
        ) else {
            bail!("a scalar cannot be multiplied");
        };
        let matrix_axes = usize::from(!a.vector) + usize::from(!b.vector);
        let mut batch = &out[..out.len().saturating_sub(matrix_axes)];
        if b.batch.iter().all(|&size| size == 1) && !a.transposed {
            // One matrix for all: the rows of all others are one tall matrix.
            a.stored[0] *= batch.iter().product::<usize>();
            a.batch = &[];
            batch = &[];
        }
        Ok(Plan {
            a_batch: Batch::new(a.batch, batch),
            b_batch: Batch::new(b.batch, batch),
            count: batch.iter().product(),
            a,
            b,
        })
    }
}

impl Plan<'_> {
    /// The elements of one matrix of the result.
    fn size(&self) -> usize {
        self.a.rows() * self.b.columns()
    }

    fn run<T: Product>(&self, a: &[T], b: &[T], out: &mut [T], finish: Option<Finish<'_, T>>) {
        batches(
            &|i| self.a.matrix(a, self.a_batch.at(i)),
            &|i| self.b.matrix(b, self.b_batch.at(i)),
            out,
            self.size(),
            finish,
        );
    }

    /// The second input is of floats narrower than `f32`.
    fn run_narrow(&self, a: &[f32], b: &Tensor, out: &mut [f32]) {
        for (i, out) in out
            .chunks_exact_mut(self.size())
            .take(self.count)
            .enumerate()
        {
            let a = self.a.matrix(a, self.a_batch.at(i));
            multiply_narrow(a, self.b.narrow(b, self.b_batch.at(i)), out);
        }
    }
}

impl Op for MatMul {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [a, b] = inputs else {
            bail!("expected 2 inputs, got {}", inputs.len());
        };
        let ty = merge_types(inputs)?;
        ensure!(
            ty.is_numeric() || !ty.is_static(),
            "the inputs must be numbers, got {ty}"
        );
        Ok(Output::single(ty, self.shape(&a.shape, &b.shape)?))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        self.evaluate(io, None)
    }

    fn finishes(&self) -> bool {
        true
    }

    fn eval_finishing(&self, io: Io<'_>, finish: Finish<'_>) -> Result<(), OpError> {
        self.evaluate(io, Some(finish))
    }

    fn prepare(&self, inputs: &[Input<'_>]) -> Option<Prepared> {
        let [a, b] = inputs else {
            return None;
        };
        let weights = b.value?;
        (a.element_type == weights.element_type())
            .then(|| Weights::plain(self, weights)?.prepared())
            .flatten()
    }
}

#[cfg(test)]
#[path = "matmul_tests.rs"]
mod tests;
