//! MatMul-1 with a constant second input, which is packed when it is used: a large one at the second
//! time, so that a first result does not wait for what may never be used again.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/matrix/matmul-1.html>

use std::any::Any;
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::smallvec;

use super::matmul::{MatMul, Side};
use crate::kernel::gemm::{
    Compressed, How, Matrix, Nibbles, PackedNarrow, PackedRight, Right, made, product,
};
use crate::op::{Finish, Input, Io, Op, OpError, Outputs, Prepared, Shifted, bail};
use crate::ops::floats::{fill, real};
use crate::tensor::{ElementType, PartialShape, Tensor};

/// A product whose second input is known.
pub(super) struct Weights {
    op: MatMul,
    /// The type and shape of the second input.
    ty: ElementType,
    shape: PartialShape,
    /// Rows and columns of its matrix.
    size: [usize; 2],
    stored: Stored,
}

/// Elements from which on a matrix is packed at its second use.
const LARGE: usize = 1 << 18;

/// The second input.
#[allow(clippy::large_enum_variant)] // there are only so many operations
enum Stored {
    /// Of `f32`.
    Plain {
        weights: Tensor,
        /// Whether a product was computed.
        used: AtomicBool,
        packed: OnceLock<Option<PackedRight<f32>>>,
    },
    /// In a narrow type, with zero points and scales.
    Narrow {
        weights: Tensor,
        zero_point: Option<Tensor>,
        scale: Option<Tensor>,
        half: bool,
        /// For few rows, if they can be multiplied with the weights as they lie.
        direct: OnceLock<Option<Nibbles>>,
        packed: OnceLock<Option<PackedNarrow>>,
    },
}

/// What MatMul becomes if its second input is `(weights - zero_point) * scale`, converted to `f32`,
/// with the terms of a group put together by a Reshape if the weights have three dimensions. They
/// are of shape `[n, k]` or `[n, groups, size]` if the operation transposes them, else `[k, n]` or
/// `[groups, size, n]`, and stay in their type: u4, i4, u8, i8, f16 or bf16. Zero points and scales
/// are broadcast to them and are the same for all terms of a group.
///
/// With `half` all this is computed in `f16`, and converted then.
///
/// `None` if the operation or the weights are others. What is prepared takes input 0, of `f32`.
pub(crate) fn compressed(
    op: &dyn Op,
    weights: &Tensor,
    zero_point: Option<&Tensor>,
    scale: Option<&Tensor>,
    half: bool,
) -> Option<Prepared> {
    let op: &MatMul = (op as &dyn Any).downcast_ref()?;
    Weights::narrow(op, ElementType::F32, weights, [zero_point, scale], half)?.prepared()
}

impl Weights {
    /// Weights in the type of the first input.
    pub(super) fn plain(op: &MatMul, weights: &Tensor) -> Option<Self> {
        let [batch @ .., rows, columns] = &weights.shape()[..] else {
            return None;
        };
        if batch.iter().any(|&size| size != 1) || weights.is_empty() {
            return None;
        }
        let matrix = weights.with_shape([*rows, *columns]).ok()?;
        let mut plain = match weights.element_type() {
            ElementType::F32 => {
                let (k, n) = match op.transpose_b {
                    true => (*columns, *rows),
                    false => (*rows, *columns),
                };
                Self {
                    op: op.clone(),
                    ty: ElementType::F32,
                    shape: PartialShape::dynamic(),
                    size: [k, n],
                    stored: Stored::Plain {
                        used: AtomicBool::new(matrix.len() < LARGE),
                        weights: matrix,
                        packed: OnceLock::new(),
                    },
                }
            }
            ty @ (ElementType::F16 | ElementType::Bf16) => {
                Self::narrow(op, ty, &matrix, [None, None], false)?
            }
            _ => return None,
        };
        plain.shape = PartialShape::from(weights.shape());
        Some(plain)
    }

    fn narrow(
        op: &MatMul,
        ty: ElementType,
        weights: &Tensor,
        [zero_point, scale]: [Option<&Tensor>; 2],
        half: bool,
    ) -> Option<Self> {
        let compressed = Compressed {
            weights,
            zero_point,
            scale,
            by_columns: op.transpose_b,
            half,
        };
        let [k, n] = compressed.size()?;
        let shape = if op.transpose_b { [n, k] } else { [k, n] };
        (k > 0 && n > 0).then(|| Self {
            op: op.clone(),
            ty,
            shape: PartialShape::from(shape),
            size: [k, n],
            stored: Stored::Narrow {
                weights: weights.clone(),
                zero_point: zero_point.cloned(),
                scale: scale.cloned(),
                half,
                direct: OnceLock::new(),
                packed: OnceLock::new(),
            },
        })
    }

    pub(super) fn prepared(self) -> Option<Prepared> {
        Some(Prepared {
            op: Box::new(self),
            inputs: smallvec![0],
        })
    }

    /// Calls `f` with the matrix, for so many rows of the other. Elements of `f32` give the same sums
    /// whether they are packed or not.
    fn with_right<R>(
        &self,
        rows: usize,
        f: impl FnOnce(Right<'_, f32>) -> Result<R, OpError>,
    ) -> Result<R, OpError> {
        let [k, n] = self.size;
        match &self.stored {
            Stored::Plain {
                weights,
                used,
                packed,
            } => {
                let data: &[f32] = weights.as_slice()?;
                let matrix = match self.op.transpose_b {
                    true => Matrix::new(data, n, k).transposed(),
                    false => Matrix::new(data, k, n),
                };
                // Fresh memory for a large matrix costs more than packing it on the way once.
                if !used.swap(true, Ordering::Relaxed) {
                    return f(Right::Panels(&matrix));
                }
                let pack = || {
                    let packed = PackedRight::new(matrix);
                    weights.release();
                    packed
                };
                match made(packed, pack).and_then(Option::as_ref) {
                    Some(packed) => f(Right::Packed(packed)),
                    None => Err(no_memory()),
                }
            }
            Stored::Narrow {
                weights,
                zero_point,
                scale,
                half,
                direct,
                packed,
            } => {
                let compressed = Compressed {
                    weights,
                    zero_point: zero_point.as_ref(),
                    scale: scale.as_ref(),
                    by_columns: self.op.transpose_b,
                    half: *half,
                };
                if rows <= Nibbles::most_rows() {
                    match made(direct, || Nibbles::new(compressed)) {
                        Some(Some(direct)) => return f(Right::Panels(direct)),
                        Some(None) => {}
                        None => return Err(no_memory()),
                    }
                }
                let pack = || {
                    let packed = PackedNarrow::new(compressed);
                    weights.release();
                    packed
                };
                match made(packed, pack) {
                    Some(Some(packed)) => f(Right::Panels(packed)),
                    Some(None) => bail!("the weights cannot be packed"),
                    None => Err(no_memory()),
                }
            }
        }
    }

    fn evaluate(&self, io: Io<'_>, finish: Option<Finish<'_>>) -> Result<(), OpError> {
        let (a, out) = (io.inputs[0], &mut io.outputs[0]);
        if out.is_empty() {
            return Ok(());
        }
        let [k, n] = self.size;
        let Some(side) = Side::first(a.shape(), self.op.transpose_a) else {
            bail!("a scalar cannot be multiplied");
        };
        let wide = real::<f32>(a)?;
        let data: &[f32] = wide.as_slice()?;
        // The rows of all matrices are one tall matrix, unless they are stored as columns.
        let turned = self.op.transpose_a && !side.is_vector();
        let rows = if turned { side.rows() } else { data.len() / k };
        let multiply = |out: &mut [f32], right: Right<'_, f32>| {
            for (i, out) in out.chunks_exact_mut(rows * n).enumerate() {
                let matrix = match turned {
                    true => side.matrix(data, i),
                    false => Matrix::new(data, rows, k),
                };
                let shifted = Shifted::new(finish, i * rows * n);
                let how = How {
                    finish: shifted.as_ref().map(Shifted::as_finish),
                    ..How::default()
                };
                product(matrix, right, out, how);
            }
            Ok(())
        };
        fill(out, |out: &mut [f32]| {
            self.with_right(rows, |right| multiply(out, right))
        })
    }
}

impl fmt::Debug for Weights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stored = match &self.stored {
            Stored::Plain { weights, .. } | Stored::Narrow { weights, .. } => weights,
        };
        f.debug_struct("Weights")
            .field("op", &self.op)
            .field("type", &stored.element_type())
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}

impl Op for Weights {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [a] = inputs else {
            bail!("expected 1 input, got {}", inputs.len());
        };
        self.op
            .infer(&[a.clone(), Input::new(self.ty, &self.shape)])
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
}

fn no_memory() -> OpError {
    OpError::limit("there is no memory for packed weights")
}

#[cfg(test)]
#[path = "weights_tests.rs"]
mod tests;
