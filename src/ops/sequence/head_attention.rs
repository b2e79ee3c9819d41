//! The attention of a compiled model: heads are read where they lie.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/sequence/scaled-dot-product-attention.html>

use std::borrow::Cow;

use smallvec::SmallVec;

use super::scaled_dot_product_attention::{Given, Inputs, attend, infer};
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure};
use crate::tensor::{PartialShape, Tensor};

/// The axes of an input in the order in which attention sees them.
pub(crate) type Order = SmallVec<[usize; 6]>;

/// ScaledDotProductAttention of inputs (queries, keys, values and maybe a mask) that are transposed
/// before it, and of an output that may be transposed after it; nothing is moved for that.
#[derive(Debug, Clone)]
pub(crate) struct HeadAttention {
    /// How queries, keys and values are transposed.
    pub(crate) orders: [Order; 3],
    /// Whether a query sees the keys up to its own place only.
    pub(crate) causal: bool,
    /// What scores are multiplied by, if it is not the inverse root of the length.
    pub(crate) scale: Option<f32>,
    /// Whether the last two dimensions but one of the output, heads and queries, are exchanged.
    pub(crate) side_by_side: bool,
}

impl HeadAttention {
    fn checked<'a, I>(&self, inputs: &'a [I]) -> Result<([&'a I; 3], Option<&'a I>), OpError> {
        match inputs {
            [query, key, value] => Ok(([query, key, value], None)),
            [query, key, value, mask] => Ok(([query, key, value], Some(mask))),
            _ => bail!("expected 3 or 4 inputs, got {}", inputs.len()),
        }
    }
}

/// A transposed shape; `None` if the order is of another rank.
fn transposed(shape: &PartialShape, order: &Order) -> Option<PartialShape> {
    match shape.dims() {
        None => Some(PartialShape::dynamic()),
        Some(dims) if dims.len() == order.len() => {
            Some(order.iter().map(|&axis| dims[axis]).collect())
        }
        Some(_) => None,
    }
}

fn given<'a>(tensor: &'a Tensor, order: &Order) -> Given<'a> {
    let (shape, strides) = (tensor.shape(), tensor.shape().strides());
    Given {
        tensor,
        shape: order.iter().map(|&axis| shape[axis]).collect(),
        strides: order.iter().map(|&axis| strides[axis]).collect(),
    }
}

impl Op for HeadAttention {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let (three, mask) = self.checked(inputs)?;
        let mut seen: SmallVec<[Input<'_>; 4]> = SmallVec::new();
        for (input, order) in three.into_iter().zip(&self.orders) {
            let Some(shape) = transposed(&input.shape, order) else {
                bail!(
                    "expected {} dimensions, got shape {}",
                    order.len(),
                    input.shape
                );
            };
            seen.push(Input {
                element_type: input.element_type,
                shape: Cow::Owned(shape),
                value: None,
                ranges: None,
            });
        }
        let output = infer(&Inputs {
            query: &seen[0],
            key: &seen[1],
            value: &seen[2],
            mask,
            scale: None,
            sink: None,
        })?;
        let mut shape = output.shape;
        if self.side_by_side
            && let Some(dims) = shape.dims_mut()
        {
            ensure!(
                dims.len() > 3,
                "expected at least 4 dimensions, got {}",
                dims.len()
            );
            let rank = dims.len();
            dims.swap(rank - 3, rank - 2);
        }
        Ok(Output::single(output.element_type, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let ([query, key, value], mask) = self.checked(io.inputs)?;
        let out = &mut io.outputs[0];
        if out.is_empty() {
            return Ok(());
        }
        let mut shape = out.shape().clone();
        let mut heads = 1;
        if self.side_by_side {
            let rank = shape.rank();
            shape.swap(rank - 3, rank - 2);
            heads = shape[rank - 3];
        }
        let [query_order, key_order, value_order] = &self.orders;
        let scale = self.scale.map(Tensor::scalar);
        let (mask, scale) = (
            mask.map(|mask| Given::whole(mask)),
            scale.as_ref().map(Given::whole),
        );
        let inputs = Inputs {
            query: &given(query, query_order),
            key: &given(key, key_order),
            value: &given(value, value_order),
            mask: mask.as_ref(),
            scale: scale.as_ref(),
            sink: None,
        };
        attend::<f32>(&inputs, self.causal, &shape, heads, out)
    }
}
