//! EqualStr and StringToHashBucket: numbers from strings.
//!
//! <https://github.com/openvinotoolkit/openvino_tokenizers/blob/master/src/equal_str.cpp>

use serde::{Deserialize, Serialize};

use super::ragged::expect_inputs;
use crate::kernel::scratch::try_collect;
use crate::kernel::tokenizer::hash::hash64;
use crate::op::{Input, Io, Op, OpError, Output, Outputs, ensure};
use crate::ops::strings::Strings;
use crate::tensor::{Dimension, ElementType, PartialShape, Tensor};

/// Whether strings are equal: 1 or 0.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(super) struct EqualStr {}

/// As many as the longer list, or none if either has none.
fn paired(a: usize, b: usize) -> usize {
    if a == 0 || b == 0 { 0 } else { a.max(b) }
}

impl Op for EqualStr {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        expect_inputs(inputs, &[6], "strings, strings")?;
        Strings::expect(inputs, 0, "strings")?;
        Strings::expect(inputs, 3, "strings")?;
        let count = |i: usize| inputs[i].shape.elements().value();
        let both = count(0)
            .zip(count(3))
            .map(|(a, b)| Dimension::fixed(paired(a, b)));
        let shape = PartialShape::from_iter([both.unwrap_or(Dimension::dynamic())]);
        Ok(Output::single(ElementType::I32, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let (a, b) = (Strings::of(io.inputs, 0)?, Strings::of(io.inputs, 3)?);
        // Past its end, a list has its first string.
        let at = |strings: &Strings<'_>, i| if i < strings.len() { i } else { 0 };
        let count = paired(a.len(), b.len());
        let equal = (0..count).map(|i| i32::from(a.get(at(&a, i)) == b.get(at(&b, i))));
        let equal = try_collect(equal)?;
        io.outputs[0] = Tensor::new([count], &equal)?;
        Ok(())
    }
}

/// Which of some buckets a string falls into.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct StringToHashBucket {
    num_buckets: i64,
}

impl Op for StringToHashBucket {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        expect_inputs(inputs, &[3], "begins, ends, symbols")?;
        Strings::expect(inputs, 0, "strings")?;
        let buckets = self.num_buckets;
        ensure!(
            buckets > 0,
            "num_buckets is {buckets}, expected more than 0"
        );
        let shape = inputs[0].shape.clone().into_owned();
        Ok(Output::single(ElementType::I64, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let strings = Strings::of(io.inputs, 0)?;
        let buckets = self.num_buckets.unsigned_abs().max(1);
        // Less than the number of buckets, which is an i64.
        let bucket = |string| (hash64(string) % buckets).cast_signed();
        let found: Vec<i64> = strings.iter().map(bucket).collect();
        io.outputs[0] = Tensor::new(io.inputs[0].shape().clone(), &found)?;
        Ok(())
    }
}
