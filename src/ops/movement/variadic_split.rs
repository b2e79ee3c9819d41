//! VariadicSplit-1: the data cut along an axis into parts of given sizes.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/movement/variadic-split-1.html>

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::slicing::numbers;
use super::split::{pieces_along, split_along};
use crate::op::{
    Input, Io, Moves, Op, OpError, Output, Outputs, allowed_axes, any_axis, axis_of, bail, ensure,
    normalize_axis,
};
use crate::tensor::{Dimension, PartialShape, Tensor, ValueRange};

/// The data in parts of given sizes.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(super) struct VariadicSplit {}

/// What an element of the split lengths says.
#[derive(Debug, Clone, Copy)]
enum Length {
    /// A size.
    Size(Dimension),
    /// What the others leave: -1, or a number that must be as much.
    Rest,
}

fn length(i: usize, range: ValueRange, rest_elsewhere: bool) -> Result<Length, OpError> {
    ensure!(
        range.max >= -1,
        "element {i} of split_lengths is {}, expected -1 or a size",
        range.max
    );
    Ok(
        if range.value() == Some(-1) || (range.min < 0 && !rest_elsewhere) {
            Length::Rest
        } else {
            let min = range.min.max(0);
            Length::Size(ValueRange { min, ..range }.to_dimension())
        },
    )
}

/// What is left of a size when `taken` is taken; `None` if that is more.
fn left(size: Dimension, taken: Dimension) -> Option<Dimension> {
    if taken.value() == Some(0) {
        return Some(size);
    }
    let least = taken.max().map_or(0, |max| size.min().saturating_sub(max));
    match size.max() {
        Some(max) => Some(Dimension::range(least, Some(max.checked_sub(taken.min())?))),
        None => Some(Dimension::range(least, None)),
    }
}

/// The sizes that an axis of size `size` is split into.
fn sizes(axis: usize, size: Dimension, lengths: &[ValueRange]) -> Result<Vec<Dimension>, OpError> {
    let rests = lengths
        .iter()
        .filter(|range| range.value() == Some(-1))
        .count();
    ensure!(
        rests <= 1,
        "split_lengths holds -1 {rests} times, expected at most once"
    );
    let lengths: Vec<Length> = lengths
        .iter()
        .enumerate()
        .map(|(i, &range)| length(i, range, rests == 1))
        .collect::<Result<_, _>>()?;
    let least = |length: &Length| match *length {
        Length::Size(size) => size,
        Length::Rest => Dimension::range(0, size.max()),
    };
    let total = |lengths: &[Length]| {
        let zero = Dimension::fixed(0);
        lengths.iter().map(least).fold(zero, |sum, size| sum + size)
    };
    let all = total(&lengths);
    ensure!(
        all.compatible(size),
        "split_lengths add up to {all}, axis {axis} has size {size}"
    );
    // The sums before and behind each length, so that many lengths take no quadratic time.
    let sums = |lengths: &mut dyn Iterator<Item = &Length>| -> Vec<Dimension> {
        let zero = Dimension::fixed(0);
        let mut sum = zero;
        let next = |length| {
            let with = sum + least(length);
            std::mem::replace(&mut sum, with)
        };
        lengths.map(next).collect()
    };
    let before = sums(&mut lengths.iter());
    let behind = sums(&mut lengths.iter().rev());
    let one = |i: usize| {
        if let Length::Size(own) = lengths[i]
            && own.is_static()
        {
            return Some(own);
        }
        let rest = left(size, before[i] + behind[lengths.len() - 1 - i])?;
        match lengths[i] {
            Length::Rest => Some(rest),
            Length::Size(own) => own.intersect(rest),
        }
    };
    (0..lengths.len())
        .map(|i| {
            one(i).ok_or_else(|| {
                OpError::new(format!(
                    "split_lengths leave nothing of axis {axis} of size {size} for element {i}"
                ))
            })
        })
        .collect()
}

impl Op for VariadicSplit {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, axis, lengths] = inputs else {
            bail!(
                "expected 3 inputs (data, axis, split_lengths), got {}",
                inputs.len()
            );
        };
        let axis = axis.int_scalar("axis")?;
        let ty = data.element_type;
        // Without lengths there is no telling how many outputs there are.
        let Some(lengths) = numbers(lengths, "split_lengths")? else {
            return Ok(Outputs::new());
        };
        let Some(dims) = data.shape.dims() else {
            return Ok(
                smallvec::smallvec![Output::new(ty, PartialShape::dynamic()); lengths.len()],
            );
        };
        let axis = axis
            .map(|axis| normalize_axis(axis, dims.len()))
            .transpose()?;
        let Some(axis) = axis else {
            let split = |axis: usize| sizes(axis, dims[axis], &lengths);
            let of_axis: Vec<_> = (0..dims.len()).map(split).collect();
            let part = |i: usize, axis: usize| {
                let mut part = dims.to_vec();
                part[axis] = of_axis[axis].as_ref().map_err(OpError::clone)?[i];
                Ok(part)
            };
            let any = |i| Ok(Output::new(ty, any_axis(dims, |axis| part(i, axis))?));
            return (0..lengths.len()).map(any).collect();
        };
        let output = |size: Dimension| {
            let mut part = dims.to_vec();
            part[axis] = size;
            Output::new(ty, part.as_slice())
        };
        let sizes = sizes(axis, dims[axis], &lengths)?;
        Ok(sizes.into_iter().map(output).collect())
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [data, axis, _] = io.inputs else {
            bail!("expected 3 inputs, got {}", io.inputs.len());
        };
        let axis = axis_of(axis, data.shape().rank())?;
        split_along(data, axis, io.outputs)
    }

    fn pieces(&self, inputs: &[&Tensor], outputs: &[Output]) -> Option<SmallVec<[usize; 4]>> {
        pieces_along(inputs.first()?, inputs.get(1)?, outputs)
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        (index == 1).then(|| allowed_axes(inputs.first()?.rank()))?
    }

    fn moves(&self) -> Moves {
        Moves::Inputs(&[0])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ops::testing::{counted, run_all, shape};
    use crate::tensor::{ElementType, Symbol, Tensor};

    fn split(dims: &[usize], axis: i64, lengths: &[i64]) -> Result<Vec<String>, OpError> {
        let data = counted(ElementType::F16, dims);
        let inputs = [data, Tensor::scalar(axis), Tensor::vector(lengths)];
        let parts = run_all(&VariadicSplit {}, &inputs)?;
        Ok(parts.iter().map(|t| t.shape().to_string()).collect())
    }

    #[test]
    fn document_examples() {
        let dims = &[6, 2, 3];
        let parts = split(dims, 0, &[1, 2, 3]).expect("fits");
        assert_eq!(parts, ["[1,2,3]", "[2,2,3]", "[3,2,3]"]);
        let parts = split(dims, -3, &[-1, 2]).expect("fits");
        assert_eq!(parts, ["[4,2,3]", "[2,2,3]"]);
    }

    #[test]
    fn mistakes() {
        assert_eq!(split(&[4], 0, &[-1, 4]).expect("fits"), ["[0]", "[4]"]);
        assert_eq!(split(&[0], 0, &[]).expect("fits"), [""; 0]);
        for (dims, lengths, message) in [
            (
                &[4usize][..],
                &[-1i64, -1][..],
                "split_lengths holds -1 2 times",
            ),
            (
                &[4],
                &[1, 2],
                "split_lengths add up to 3, axis 0 has size 4",
            ),
            (
                &[4],
                &[-1, 5],
                "split_lengths add up to 5..9, axis 0 has size 4",
            ),
            (&[4], &[6, -2], "element 1 of split_lengths is -2"),
            (&[4], &[], "split_lengths add up to 0"),
            (&[], &[1], "axis 0 is out of range"),
        ] {
            let error = split(dims, 0, lengths).expect_err(message).message;
            assert!(error.starts_with(message), "{error}");
        }
    }

    /// The shapes inferred for data of one dimension, and lengths in `..` for unknown.
    fn infer(data: &str, lengths: &[ValueRange]) -> Vec<String> {
        let data = shape(data);
        let count = shape(&lengths.len().to_string());
        let axis = Tensor::scalar(0i32);
        let lengths = Input {
            ranges: Some(lengths),
            ..Input::new(ElementType::I64, &count)
        };
        let inputs = [
            Input::new(ElementType::F32, &data),
            Input::of(&axis),
            lengths,
        ];
        let outputs = VariadicSplit {}.infer(&inputs).expect("fits");
        outputs.iter().map(|o| o.shape.to_string()).collect()
    }

    #[test]
    fn what_is_known_of_unknown_lengths() {
        let exact = ValueRange::exact;
        let unknown = ValueRange::UNKNOWN;
        let upto = |max| ValueRange {
            min: 0,
            max,
            symbol: None,
        };
        assert_eq!(infer("7", &[exact(2), unknown]), ["[2]", "[5]"]);
        assert_eq!(infer("5..7", &[exact(2), exact(-1)]), ["[2]", "[3..5]"]);
        assert_eq!(infer("?", &[exact(2), exact(-1)]), ["[2]", "[?]"]);
        assert_eq!(
            infer("9", &[upto(3), upto(4), exact(-1)]),
            ["[..3]", "[..4]", "[2..9]"]
        );
        assert_eq!(
            infer("9", &[upto(3), unknown, unknown]),
            ["[..3]", "[..9]", "[..9]"]
        );
        assert_eq!(infer("9", &[upto(3), upto(7)]), ["[2..3]", "[6..7]"]);
        assert_eq!(infer("...", &[exact(1), unknown]), ["[...]", "[...]"]);
        let size = Dimension::dynamic().with_symbol(Some(Symbol(1)));
        assert_eq!(left(size, Dimension::fixed(0)), Some(size));
        let (data, some) = (shape("3,7"), shape("?"));
        let i64 = Input::new(ElementType::I64, &some);
        let inputs = [
            Input::new(ElementType::F32, &data),
            i64.clone(),
            i64.clone(),
        ];
        assert!(VariadicSplit {}.infer(&inputs).expect("fits").is_empty());
        let lengths = Tensor::vector(&[1i64, -1]);
        let inputs = [
            Input::new(ElementType::F32, &data),
            i64,
            Input::of(&lengths),
        ];
        let outputs = VariadicSplit {}.infer(&inputs).expect("fits");
        assert_eq!(outputs[1].shape.to_string(), "[2..3,6..7]");
    }

    proptest! {
        #[test]
        fn parts_make_up_the_whole(
            outer in 1usize..3,
            inner in 0usize..3,
            sizes in prop::collection::vec(0usize..4, 1..5),
            rest in prop::option::of(0usize..5),
            ty in prop::sample::select(ElementType::ALL.to_vec()),
        ) {
            let total: usize = sizes.iter().sum();
            let data = counted(ty, &[outer, total, inner]);
            let mut lengths: Vec<i64> = sizes.iter().map(|&n| n as i64).collect();
            if let Some(length) = rest.and_then(|i| lengths.get_mut(i)) {
                *length = -1;
            }
            let inputs = [data.clone(), Tensor::scalar(-2i64), Tensor::vector(&lengths)];
            let parts = run_all(&VariadicSplit {}, &inputs).expect("fits");
            let whole = super::super::concat::tests::beside(&parts, 1);
            prop_assert_eq!(whole, data);
        }
    }
}
