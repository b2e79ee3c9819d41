//! ReverseSequence-1: the beginning of each sequence of a batch in reverse order.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/movement/reverse-sequence-1.html>

use serde::{Deserialize, Serialize};

use crate::kernel::scratch::{try_collect_ok, try_zeroed};
use crate::kernel::{moving::move_elements, reverse_sequence};
use crate::op::{Input, Io, Moves, Op, OpError, Output, Outputs, bail, ensure, normalize_axis};
use crate::tensor::convert::{convert, try_i64, widen};
use crate::tensor::{Class, ElementType, PartialShape, Tensor};

/// The beginning of each sequence of a batch in reverse order.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct ReverseSequence {
    batch_axis: i64,
    seq_axis: i64,
}

impl Default for ReverseSequence {
    fn default() -> Self {
        Self {
            batch_axis: 0,
            seq_axis: 1,
        }
    }
}

impl ReverseSequence {
    /// The axes of the batch and of the sequences.
    fn axes(&self, rank: usize) -> Result<(usize, usize), OpError> {
        ensure!(rank >= 2, "the data has rank {rank}, expected 2 or more");
        let batch = normalize_axis(self.batch_axis, rank)?;
        let sequence = normalize_axis(self.seq_axis, rank)?;
        ensure!(
            batch != sequence,
            "batch_axis and seq_axis are both {batch}, expected two axes"
        );
        Ok((batch, sequence))
    }
}

/// The lengths, each at least 1 and at most `size`.
fn lengths(tensor: &Tensor, size: usize) -> Result<Vec<usize>, OpError> {
    let is_float = tensor.element_type().is_float();
    let values = if is_float {
        try_i64(&convert(tensor, ElementType::I64)?)?
    } else {
        try_i64(tensor)?
    };
    let mut floats = try_zeroed::<f64>(if is_float { values.len() } else { 0 })?;
    if is_float {
        widen(tensor, 0, &mut floats);
    }
    let check = |(i, value): (usize, i64)| {
        #[allow(clippy::cast_precision_loss)] // lengths are small
        if let Some(float) = floats.get(i).filter(|&&float| float != value as f64) {
            bail!("length {i} is {float}, expected a whole number");
        }
        match usize::try_from(value) {
            Ok(length) if (1..=size).contains(&length) => Ok(length),
            _ => bail!("length {i} is {value}, expected 1 to {size}, the size of seq_axis"),
        }
    };
    try_collect_ok(values.into_iter().enumerate().map(check))
}

impl Op for ReverseSequence {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, lengths] = inputs else {
            bail!(
                "expected 2 inputs (data, seq_lengths), got {}",
                inputs.len()
            );
        };
        ensure!(
            lengths.element_type.is_numeric() || !lengths.element_type.is_static(),
            "seq_lengths must be numbers, got {}",
            lengths.element_type
        );
        lengths.expect_1d("seq_lengths")?;
        let mut shape: PartialShape = data.shape.clone().into_owned();
        if let Some(dims) = shape.dims_mut() {
            let (batch, _) = self.axes(dims.len())?;
            if let Some([count]) = lengths.shape.dims() {
                let Some(size) = dims[batch].intersect(*count) else {
                    bail!(
                        "there are {count} seq_lengths for {} sequences, the size of axis {batch}",
                        dims[batch]
                    );
                };
                dims[batch] = size;
            }
        }
        Ok(Output::single(data.element_type, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [data, seq_lengths] = io.inputs else {
            bail!("expected 2 inputs, got {}", io.inputs.len());
        };
        let shape = data.shape();
        let (batch, sequence) = self.axes(shape.rank())?;
        let lengths = lengths(seq_lengths, shape[sequence])?;
        if data.is_empty() {
            return Ok(());
        }
        let (first, second) = (batch.min(sequence), batch.max(sequence));
        let kernel = reverse_sequence::ReverseSequence {
            first: shape[first],
            middle: shape[first + 1..second].iter().product(),
            second: shape[second],
            inner: shape[second + 1..].iter().product(),
            batch_first: batch < sequence,
            lengths,
        };
        move_elements(&kernel, &[data], io.outputs)
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        let (data, lengths) = (inputs.first()?, inputs.get(1)?);
        if index != 1 || lengths.element_type.class() == Some(Class::F32) {
            return None;
        }
        let dims = data.shape.dims()?;
        let (_, sequence) = self.axes(dims.len()).ok()?;
        Some((1, i64::try_from(dims[sequence].min()).ok()?))
    }

    fn moves(&self) -> Moves {
        Moves::Inputs(&[0])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ops::testing::{assert_picked, counted, dynamic, index, infer_dims, run, shape};

    #[test]
    fn lengths_are_checked() {
        let op = ReverseSequence::default();
        let data = counted(ElementType::U8, &[2, 3]);
        let reverse = |lengths: Tensor| {
            let out = run(&op, &[data.clone(), lengths])?;
            Ok::<_, OpError>(out.as_slice::<u8>()?.to_vec())
        };
        let expected = Ok(vec![2, 1, 3, 6, 5, 4]);
        assert_eq!(reverse(Tensor::vector(&[2i64, 3])), expected);
        assert_eq!(reverse(Tensor::vector(&[2f32, 3.0])), expected);
        assert_eq!(reverse(Tensor::vector(&[2u8, 3])), expected);
        let error = |lengths: Tensor| reverse(lengths).expect_err("refused").message;
        assert_eq!(
            error(Tensor::vector(&[0i32, 1])),
            "length 0 is 0, expected 1 to 3, the size of seq_axis"
        );
        assert_eq!(
            error(Tensor::vector(&[1i32, 4])),
            "length 1 is 4, expected 1 to 3, the size of seq_axis"
        );
        for wrong in [1.5, f32::NAN, f32::INFINITY, -1.0] {
            assert!(reverse(Tensor::vector(&[1.0, wrong])).is_err(), "{wrong}");
        }
        assert!(reverse(Tensor::vector(&[1i32])).is_err());
        assert!(reverse(Tensor::vector(&[true, true])).is_err());
        assert!(
            run(
                &op,
                &[counted(ElementType::U8, &[2]), Tensor::vector(&[1i64, 1])]
            )
            .is_err()
        );
        let same = ReverseSequence {
            batch_axis: 1,
            seq_axis: -1,
        };
        assert!(run(&same, &[data.clone(), Tensor::vector(&[1i64; 3])]).is_err());
        let (unknown, three) = (shape("?,5"), shape("3"));
        let inputs = [
            Input::new(ElementType::F32, &unknown),
            Input::new(ElementType::I32, &three),
        ];
        assert_eq!(infer_dims(&op, &inputs), "[3,5]");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn like_its_definition(
            dims in prop::collection::vec(0usize..5, 2..7),
            axes in any::<(prop::sample::Index, prop::sample::Index)>(),
            lengths in prop::collection::vec(1i64..9, 5),
            ty in prop::sample::select(ElementType::ALL.to_vec()),
            unknown in any::<u32>(),
        ) {
            let rank = dims.len();
            prop_assume!(dims.iter().product::<usize>() < 3000);
            let (batch, sequence) = (axes.0.index(rank), axes.1.index(rank));
            prop_assume!(batch != sequence && (dims[sequence] > 0 || dims[batch] == 0));
            let op = ReverseSequence { batch_axis: batch as i64, seq_axis: sequence as i64 - rank as i64 };
            let lengths: Vec<i64> = lengths[..dims[batch]]
                .iter()
                .map(|&l| l.min(dims[sequence] as i64))
                .collect();
            let inputs = [counted(ty, &dims), Tensor::vector(&lengths)];
            let out = run(&op, &inputs).expect("fits");
            let strides = inputs[0].shape().strides();
            let source: Vec<usize> = index(out.shape())
                .map(|mut at| {
                    let length = lengths[at[batch]] as usize;
                    if at[sequence] < length {
                        at[sequence] = length - 1 - at[sequence];
                    }
                    at.iter().zip(&strides).map(|(i, stride)| i * stride).sum()
                })
                .collect();
            assert_picked(&inputs[0], &source, &out);
            prop_assert!(dynamic(&op, &inputs, unknown).contains(out.shape()));
        }
    }
}
