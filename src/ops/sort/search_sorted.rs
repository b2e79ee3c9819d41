//! SearchSorted-15: where values would be inserted into sorted sequences.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/sort/search-sorted-15.html>
//!
//! The document calls the attribute `right`; files say `right_mode`. It does not say where NaN
//! belongs: before everything. A single sequence, of one dimension, may serve values of any shape.

use serde::{Deserialize, Serialize};

use crate::kernel::dispatch::{Lane, lane};
use crate::kernel::index::Index;
use crate::kernel::search::Search;
use crate::op::{
    Input, Io, Op, OpError, Output, Outputs, bail, ensure, expect_index_type, expect_indices_fit,
    merge_types,
};
use crate::tensor::{Dimension, ElementType, PartialShape, Tensor};

/// Where values would be inserted into sorted sequences.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct SearchSorted {
    #[serde(alias = "right")]
    right_mode: bool,
    output_type: ElementType,
}

impl Default for SearchSorted {
    fn default() -> Self {
        Self {
            right_mode: false,
            output_type: ElementType::I64,
        }
    }
}

/// The shape of the values, with what follows from that of the sequences.
fn shape(sorted: &PartialShape, values: &PartialShape) -> Result<PartialShape, OpError> {
    let Some(sequences) = sorted.dims() else {
        return Ok(values.clone());
    };
    ensure!(
        !sequences.is_empty(),
        "the sorted sequence is a scalar, expected at least one axis"
    );
    if sequences.len() == 1 {
        return Ok(values.clone());
    }
    let mut shape = match values.dims() {
        Some(_) => values.clone(),
        None => PartialShape::of_rank(sequences.len()),
    };
    let dims = shape.dims_mut().unwrap_or_default();
    ensure!(
        dims.len() == sequences.len(),
        "the sequences have shape {sorted}, the values {values}, expected the same rank or one sequence of one axis"
    );
    let outer = dims.len() - 1;
    for (axis, (dim, other)) in dims[..outer].iter_mut().zip(sequences).enumerate() {
        let Some(both): Option<Dimension> = dim.intersect(*other) else {
            bail!("dimension {axis} of the sequences is {other}, that of the values {dim}");
        };
        *dim = both;
    }
    Ok(shape)
}

impl SearchSorted {
    fn run<I: Index>(
        &self,
        sorted: &Tensor,
        values: &Tensor,
        out: &mut [I],
    ) -> Result<(), OpError> {
        let one = sorted.shape().rank() == 1;
        let last = values.shape().last().copied().unwrap_or(1);
        let search = Search {
            sorted,
            values,
            sequence: sorted.shape().last().copied().unwrap_or(0),
            row: if one { values.len() } else { last },
            right: self.right_mode,
        };
        match lane(values.element_type()) {
            Some(Lane::F32) => search.run::<f32, I>(out)?,
            Some(Lane::F64) => search.run::<f64, I>(out)?,
            Some(Lane::I32) => search.run::<i32, I>(out)?,
            Some(Lane::I64) => search.run::<i64, I>(out)?,
            Some(Lane::U64) => search.run::<u64, I>(out)?,
            None => bail!("expected numbers, got {}", values.element_type()),
        }
        Ok(())
    }
}

impl Op for SearchSorted {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [sorted, values] = inputs else {
            bail!("expected 2 inputs (sorted, values), got {}", inputs.len());
        };
        expect_index_type("output_type", self.output_type)?;
        let ty = merge_types(inputs)?;
        ensure!(
            ty.is_numeric() || !ty.is_static(),
            "the inputs must be numbers, got {ty}"
        );
        let shape = shape(&sorted.shape, &values.shape)?;
        Ok(Output::single(self.output_type, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [sorted, values] = io.inputs else {
            bail!("expected 2 inputs, got {}", io.inputs.len());
        };
        let longest = sorted.shape().last().copied().unwrap_or(0);
        expect_indices_fit(longest, self.output_type)?;
        let out = &mut io.outputs[0];
        if self.output_type == ElementType::I32 {
            self.run::<i32>(sorted, values, out.as_mut_slice()?)
        } else {
            self.run::<i64>(sorted, values, out.as_mut_slice()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::op::attrs::{Attr, read};
    use crate::ops::testing::{dynamic, infer_dims, run, shape};
    use crate::tensor::convert::{convert, to_i64};

    fn op(right_mode: bool) -> SearchSorted {
        SearchSorted {
            right_mode,
            ..SearchSorted::default()
        }
    }

    #[test]
    fn equal_values_and_nan() {
        let sorted = Tensor::vector(&[1f32, 2.0, 2.0, 5.0]);
        let values = Tensor::new([2, 3], &[2f32, f32::NAN, 9.0, 0.0, 5.0, 1.5]).expect("six");
        let places =
            |right| to_i64(&run(&op(right), &[sorted.clone(), values.clone()]).expect("fits"));
        assert_eq!(places(false), [1, 0, 4, 0, 3, 1]);
        assert_eq!(places(true), [3, 0, 4, 0, 4, 1]);
        let none = Tensor::new::<f32>([0], &[]).expect("empty");
        let out = run(&op(true), &[none, values]).expect("fits");
        assert_eq!(to_i64(&out), [0; 6]);
        let scalar = run(&op(false), &[sorted, Tensor::scalar(3f32)]).expect("fits");
        assert_eq!((scalar.shape().rank(), to_i64(&scalar)), (0, vec![3]));
    }

    #[test]
    fn names_of_the_attribute() {
        for name in ["right", "right_mode"] {
            let (op, unknown) =
                read::<SearchSorted>(&[Attr::new(name, "True")]).expect("a boolean");
            assert!(op.right_mode && unknown.is_empty());
        }
    }

    #[test]
    fn shapes() {
        let dims = |sorted: &str, values: &str| {
            let shapes = [sorted, values].map(shape);
            let inputs = shapes.each_ref().map(|s| Input::new(ElementType::F32, s));
            op(false).infer(&inputs).ok()?;
            Some(infer_dims(&op(false), &inputs))
        };
        assert_eq!(dims("?,3,7", "2,?,5").as_deref(), Some("[2,3,5]"));
        assert_eq!(dims("2,3,7", "...").as_deref(), Some("[2,3,?]"));
        assert_eq!(dims("7", "...").as_deref(), Some("[...]"));
        assert_eq!(dims("...", "2,?").as_deref(), Some("[2,?]"));
        assert_eq!(dims("7", "").as_deref(), Some("[]"));
        for (sorted, values) in [
            ("", "2"),
            ("2,7", ""),
            ("2,7", "3,5"),
            ("1,7", "2"),
            ("1,7", "2,2"),
        ] {
            assert_eq!(dims(sorted, values), None, "{sorted} {values}");
        }
        let (one, other) = (Tensor::vector(&[1f32]), Tensor::vector(&[1i32]));
        assert!(run(&op(false), &[one, other]).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn like_its_definition(
            outer in prop::collection::vec(0usize..4, 0..4),
            (sequence, count) in (0usize..6, 0usize..6),
            one in any::<bool>(),
            numbers in prop::collection::vec(0i64..8, 600),
            ty in prop::sample::select(vec![
                ElementType::I8, ElementType::U4, ElementType::I32, ElementType::I64, ElementType::U64,
                ElementType::U32, ElementType::F16, ElementType::F32, ElementType::F64,
            ]),
            right in any::<bool>(),
            narrow in any::<bool>(),
            mask in any::<u32>(),
        ) {
            let rows: usize = outer.iter().product();
            let sequences = if one { 1 } else { rows };
            let mut sorted = numbers[..sequences * sequence].to_vec();
            for sorted in sorted.chunks_mut(sequence.max(1)) {
                sorted.sort_unstable();
            }
            let values = &numbers[300..300 + rows * count];
            let sorted_shape = if one { vec![sequence] } else { [&outer[..], &[sequence]].concat() };
            let make = |shape: Vec<usize>, data: &[i64]| {
                convert(&Tensor::new(shape, data).expect("its length"), ty).expect("fits")
            };
            let inputs = [make(sorted_shape, &sorted), make([&outer[..], &[count]].concat(), values)];
            let op = SearchSorted {
                right_mode: right,
                output_type: if narrow { ElementType::I32 } else { ElementType::I64 },
            };
            let out = run(&op, &inputs).expect("fits");
            let expected: Vec<i64> = values
                .iter()
                .enumerate()
                .map(|(i, v)| {
                    let row = if one { 0 } else { i / count };
                    let keys = &sorted[row * sequence..][..sequence];
                    keys.iter().filter(|&k| k < v || (right && k == v)).count() as i64
                })
                .collect();
            prop_assert_eq!(to_i64(&out), expected);
            prop_assert!(dynamic(&op, &inputs, mask).contains(out.shape()));
        }
    }

    /// Large enough to be written in pieces.
    #[test]
    fn large() {
        let sorted: Vec<i32> = (0..300).collect();
        let values: Vec<i32> = (0..200_000).map(|i| i * 7 % 400 - 50).collect();
        let inputs = [Tensor::vector(&sorted), Tensor::vector(&values)];
        let out = run(&op(true), &inputs).expect("fits");
        let expected = values.iter().map(|&v| i64::from((v + 1).clamp(0, 300)));
        assert!(
            out.as_slice::<i64>()
                .expect("i64")
                .iter()
                .copied()
                .eq(expected)
        );
    }
}
