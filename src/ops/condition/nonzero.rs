//! NonZero-3: the indices of the elements that are not zero.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/condition/nonzero-3.html>
//!
//! NaN is not zero, the zero of strings is the empty one, and the output for a scalar has no rows.

use serde::{Deserialize, Serialize};

use crate::kernel::non_zero::{count, indices};
use crate::op::{
    Input, Io, Op, OpError, Output, Outputs, bail, expect_index_type, expect_indices_fit,
};
use crate::tensor::{Dimension, ElementType, Tensor};

/// The indices of the elements that are not zero.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct NonZero {
    output_type: ElementType,
}

impl Default for NonZero {
    fn default() -> Self {
        Self {
            output_type: ElementType::I64,
        }
    }
}

impl Op for NonZero {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data] = inputs else {
            bail!("expected 1 input (data), got {}", inputs.len());
        };
        expect_index_type("output_type", self.output_type)?;
        let rank = data.rank().map_or(Dimension::dynamic(), Dimension::fixed);
        let found = match data.value {
            Some(value) => Dimension::fixed(count(value)),
            None => Dimension::range(0, data.shape.elements().max()),
        };
        Ok(Output::single(self.output_type, [rank, found].as_slice()))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [data] = io.inputs else {
            bail!("expected 1 input, got {}", io.inputs.len());
        };
        let longest = data.shape().iter().copied().max().unwrap_or(0);
        expect_indices_fit(longest, self.output_type)?;
        let out = &mut io.outputs[0];
        // Inference counts, where it is given the elements.
        let found = match out.shape()[..] {
            [_, found] => found,
            _ => {
                let found = count(data);
                *out = Tensor::zeros(self.output_type, [data.shape().rank(), found])?;
                found
            }
        };
        if self.output_type == ElementType::I32 {
            indices::<i32>(data, found, out.as_mut_slice()?);
        } else {
            indices::<i64>(data, found, out.as_mut_slice()?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ops::testing::{counted, elements, index, infer_dims, run, shape};
    use crate::tensor::convert::from_codes;
    use crate::tensor::{Text, convert};

    fn found(data: &Tensor) -> Vec<i64> {
        let out = run(&NonZero::default(), std::slice::from_ref(data)).expect("fits");
        convert::to_i64(&out)
    }

    #[test]
    fn what_zero_is() {
        let tiny = f32::from_bits(1);
        assert_eq!(found(&Tensor::vector(&[f32::NAN, -0.0, tiny, 0.0])), [0, 2]);
        assert_eq!(found(&Tensor::vector(&[-0.0f64, f64::NAN])), [1]);
        assert_eq!(found(&Tensor::vector(&[1u64 << 63, 0])), [0]);
        assert_eq!(found(&Tensor::vector(&[false, true])), [1]);
        let texts = vec![Text::from(""), Text::from("0")];
        assert_eq!(found(&Tensor::strings([2], texts).expect("two")), [1]);
        let four_bits = from_codes(ElementType::F4e2m1, [3], &[0, 8, 1]).expect("three");
        assert_eq!(found(&four_bits), [2]);
        let scalar = run(&NonZero::default(), &[Tensor::scalar(3f32)]).expect("fits");
        assert_eq!(scalar.shape().to_string(), "[0,1]");
    }

    #[test]
    fn shapes() {
        let op = NonZero {
            output_type: ElementType::I32,
        };
        let dims = |text: &str| infer_dims(&op, &[Input::new(ElementType::F32, &shape(text))]);
        assert_eq!(dims("2,3"), "[2,..6]");
        assert_eq!(dims("2,?"), "[2,?]");
        assert_eq!(dims("..."), "[?,?]");
        assert_eq!(dims("0,?"), "[2,0]");
        let wrong = NonZero {
            output_type: ElementType::F32,
        };
        assert!(run(&wrong, &[Tensor::scalar(1f32)]).is_err());
    }

    #[test]
    fn brings_its_own_tensor() {
        let data = Tensor::vector(&[0i8, 5, 0, 7]);
        let mut outputs = [Tensor::zeros(ElementType::I64, [0]).expect("small")];
        let io = Io {
            inputs: &[&data],
            outputs: &mut outputs,
        };
        NonZero::default().eval(io).expect("fits");
        assert_eq!(outputs[0].shape().to_string(), "[1,2]");
        assert_eq!(convert::to_i64(&outputs[0]), [1, 3]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn like_its_definition(
            dims in prop::collection::vec(0usize..5, 0..9),
            ty in prop::sample::select(vec![ElementType::Boolean, ElementType::I4, ElementType::U2]),
            narrow in any::<bool>(),
        ) {
            prop_assume!(dims.iter().product::<usize>() < 3000);
            let data = counted(ty, &dims);
            let output_type = if narrow { ElementType::I32 } else { ElementType::I64 };
            let out = run(&NonZero { output_type }, std::slice::from_ref(&data)).expect("fits");
            let zero = elements(&Tensor::zeros(ty, [1]).expect("small")).remove(0);
            let all: Vec<Vec<usize>> = index(data.shape())
                .zip(elements(&data))
                .filter(|(_, element)| *element != zero)
                .map(|(at, _)| at)
                .collect();
            let expected: Vec<i64> = (0..dims.len())
                .flat_map(|axis| all.iter().map(move |at| at[axis] as i64))
                .collect();
            prop_assert_eq!(&out.shape()[..], &[dims.len(), all.len()]);
            prop_assert_eq!(convert::to_i64(&out), expected);
        }
    }
}
