//! The attention of a compiled model: heads are read where they lie.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/sequence/scaled-dot-product-attention.html>

use std::borrow::Cow;

use smallvec::SmallVec;

use super::scaled_dot_product_attention::{Given, Inputs, attend, infer};
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure};
use crate::tensor::{Dimension, PartialShape, Tensor};

/// The axes of a value in another order.
pub(crate) type Order = SmallVec<[usize; 6]>;

/// How attention sees a tensor that was transposed, and of which dimensions of one came or went: nothing is
/// moved for that.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// For each dimension, the axis of the tensor; none for a dimension of one that the tensor has not. An axis that is
    /// none of these is of one element.
    axes: SmallVec<[Option<usize>; 6]>,
    /// The rank of the tensor.
    rank: usize,
}

impl Seen {
    /// A tensor of this rank as it is.
    pub(crate) fn whole(rank: usize) -> Self {
        Self {
            axes: (0..rank).map(Some).collect(),
            rank,
        }
    }

    /// With the last two dimensions exchanged.
    pub(crate) fn with_columns_as_rows(mut self) -> Self {
        if let Some(second) = self.axes.len().checked_sub(2) {
            self.axes.swap(second, second + 1);
        }
        self
    }

    /// The same dimensions of the tensor that was transposed to this one; `None` if that is of another rank.
    pub(crate) fn before_transpose(&self, order: &[usize]) -> Option<Self> {
        let axes = self.axes.iter().map(|axis| axis.map(|axis| order[axis]));
        (order.len() == self.rank).then(|| Self {
            axes: axes.collect(),
            rank: self.rank,
        })
    }

    /// The same dimensions of the tensor that was reshaped from the dimensions `from` to those of this one, `to`;
    /// `None` if more has changed than dimensions of one.
    pub(crate) fn before_reshape(&self, from: &[Dimension], to: &[Dimension]) -> Option<Self> {
        let one = |dim: &Dimension| dim.value() == Some(1);
        let mut long = (0..from.len()).filter(|&axis| !one(&from[axis]));
        let mut axes: SmallVec<[Option<usize>; 6]> = SmallVec::new();
        for dim in to {
            axes.push(match one(dim) {
                true => None,
                false => Some(long.next().filter(|&axis| from[axis].is_same(*dim))?),
            });
        }
        let fits = long.next().is_none() && to.len() == self.rank;
        fits.then(|| Self {
            axes: self.axes.iter().map(|&axis| axes[axis?]).collect(),
            rank: from.len(),
        })
    }

    /// The shape that is seen; `None` if the tensor's is of another rank.
    fn of(&self, shape: &PartialShape) -> Option<PartialShape> {
        let Some(dims) = shape.dims() else {
            return Some(PartialShape::dynamic());
        };
        let axes = self.axes.iter();
        let seen = axes.map(|axis| axis.map_or(Dimension::from(1), |axis| dims[axis]));
        (dims.len() == self.rank).then(|| seen.collect())
    }

    /// A tensor as it is seen.
    fn given<'a>(&self, tensor: &'a Tensor) -> Given<'a> {
        let (shape, strides) = (tensor.shape(), tensor.shape().strides());
        let axes = self.axes.iter();
        Given {
            tensor,
            shape: axes
                .clone()
                .map(|axis| axis.map_or(1, |axis| shape[axis]))
                .collect(),
            strides: axes
                .map(|axis| axis.map_or(0, |axis| strides[axis]))
                .collect(),
        }
    }
}

/// ScaledDotProductAttention of inputs (queries, keys, values and maybe a mask) that are seen in another way
/// than they lie, and of an output that may be transposed after it.
#[derive(Debug, Clone)]
pub(crate) struct HeadAttention {
    /// How queries, keys and values are seen.
    pub(crate) seen: [Seen; 3],
    /// Whether a query sees the keys up to its own place only.
    pub(crate) causal: bool,
    /// What scores are multiplied by, if it is not the inverse root of the length.
    pub(crate) scale: Option<f32>,
    /// How the output is transposed, if it is: the heads of a query come to lie side by side. Dimensions of one aside,
    /// heads and queries, the last two dimensions but one, are exchanged and no others.
    pub(crate) side_by_side: Option<Order>,
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

impl Op for HeadAttention {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let (three, mask) = self.checked(inputs)?;
        let mut seen: SmallVec<[Input<'_>; 4]> = SmallVec::new();
        for (input, way) in three.into_iter().zip(&self.seen) {
            let Some(shape) = way.of(&input.shape) else {
                bail!(
                    "expected {} dimensions, got shape {}",
                    way.rank,
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
        if let Some(order) = &self.side_by_side
            && let Some(dims) = shape.dims()
        {
            let (rank, expected) = (dims.len(), order.len());
            ensure!(
                rank == expected,
                "expected {expected} dimensions, got {rank}"
            );
            shape = order.iter().map(|&axis| dims[axis]).collect();
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
        if let Some(order) = &self.side_by_side {
            for (&axis, &dim) in order.iter().zip(out.shape().iter()) {
                shape[axis] = dim;
            }
            heads = shape[order.len() - 3];
        }
        let [query_seen, key_seen, value_seen] = &self.seen;
        let scale = self.scale.map(Tensor::scalar);
        let (mask, scale) = (
            mask.map(|mask| Given::whole(mask)),
            scale.as_ref().map(Given::whole),
        );
        let inputs = Inputs {
            query: &query_seen.given(query),
            key: &key_seen.given(key),
            value: &value_seen.given(value),
            mask: mask.as_ref(),
            scale: scale.as_ref(),
            sink: None,
        };
        attend::<f32>(&inputs, self.causal, &shape, heads, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Symbol;

    fn dims(text: &str) -> Vec<Dimension> {
        let dims = text
            .split_whitespace()
            .map(|dim| match dim.strip_prefix('s') {
                Some(symbol) => {
                    let symbol = Symbol(symbol.parse().expect("a number"));
                    Dimension::dynamic().with_symbol(Some(symbol))
                }
                None => Dimension::from(dim.parse::<usize>().expect("a size")),
            });
        dims.collect()
    }

    #[test]
    fn dimensions_of_one_come_and_go() {
        let axes = |from, to| {
            let to = dims(to);
            let seen = Seen::whole(to.len()).before_reshape(&dims(from), &to)?;
            assert_eq!(seen.rank, dims(from).len());
            Some(seen.axes.to_vec())
        };
        let came = Some(vec![None, Some(0), Some(1), Some(2)]);
        assert_eq!(axes("12 197 64", "1 12 197 64"), came);
        assert_eq!(axes("12 1 64 1", "12 64"), Some(vec![Some(0), Some(2)]));
        assert_eq!(axes("s1 5", "s1 1 5"), Some(vec![Some(0), None, Some(1)]));
        assert_eq!(axes("s1 5", "s2 1 5"), None);
        assert_eq!(axes("12 64", "64 12"), None);
        assert_eq!(axes("12 64", "12 4 16"), None);
        assert_eq!(axes("12 4 16", "12 64"), None);
        assert_eq!(axes("3 2", "3"), None);
        assert_eq!(axes("3", "3 2"), None);
    }

    #[test]
    fn a_tensor_is_seen_through_moves() {
        // [7, 3, 5] was transposed to [3, 7, 5], got a dimension of one, and its last two were exchanged.
        let to = dims("1 3 7 5");
        let seen = Seen::whole(4).with_columns_as_rows();
        let seen = seen.before_reshape(&dims("3 7 5"), &to).expect("fits");
        let seen = seen.before_transpose(&[1, 0, 2]).expect("fits");
        assert!(seen.before_transpose(&[0, 1, 2, 3]).is_none());
        let shape: PartialShape = dims("7 3 5").into_iter().collect();
        let expected: PartialShape = dims("1 3 5 7").into_iter().collect();
        assert_eq!(seen.of(&shape), Some(expected));
        assert_eq!(seen.of(&dims("7 3").into_iter().collect()), None);
        let tensor = Tensor::zeros(crate::tensor::ElementType::F32, [7, 3, 5]).expect("small");
        let given = seen.given(&tensor);
        assert_eq!(given.shape[..], [1, 3, 5, 7]);
        assert_eq!(given.strides[..], [0, 5, 1, 15]);
    }
}
