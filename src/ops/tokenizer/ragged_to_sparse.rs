//! RaggedToSparse and RaggedToRagged: other ways to say what rows are made of.
//!
//! <https://github.com/openvinotoolkit/openvino_tokenizers/blob/master/src/ragged_to_sparse.cpp>

use serde::{Deserialize, Serialize};

use super::ragged::{expect_inputs, expect_rows, index, rows};
use crate::kernel::scratch::try_room;
use crate::op::{Input, Io, Op, OpError, Output, Outputs, ensure};
use crate::ops::strings::expect_type;
use crate::tensor::{Dimension, ElementType, PartialShape, Tensor};

/// Row and column of each element.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(super) struct RaggedToSparse {}

impl Op for RaggedToSparse {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        expect_inputs(inputs, &[2], "begins and ends of rows")?;
        expect_rows(inputs, 0)?;
        let shape = PartialShape::from_iter([Dimension::dynamic(), Dimension::fixed(2)]);
        Ok(Output::single(ElementType::I32, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        // How many elements there are is not known here; the limit of rows that overlap holds.
        let rows = rows(io.inputs, 0, i32::MAX as usize)?;
        let count = rows
            .iter()
            .fold(0usize, |sum, row| sum.saturating_add(row.len()));
        super::ragged::limit_elements(count)?;
        let mut places = try_room(2 * count)?;
        for (row, columns) in (0..).zip(&rows) {
            for column in 0..index(columns.len())? {
                places.extend([row, column]);
            }
        }
        io.outputs[0] = Tensor::new([count, 2], &places)?;
        Ok(())
    }
}

/// Begins and ends of rows, from the row of each element.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(super) struct RaggedToRagged {}

impl Op for RaggedToRagged {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        expect_inputs(inputs, &[2], "rows of elements, number of rows")?;
        for (input, what) in inputs.iter().zip(["rows", "the number of rows"]) {
            expect_type(input, ElementType::I32, what)?;
        }
        let count = inputs[1].size_scalar("the number of rows")?;
        let side = || Output::new(ElementType::I32, PartialShape::from_iter([count]));
        Ok(smallvec::smallvec![side(), side()])
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let rows = io.inputs[0].as_slice::<i32>()?;
        ensure!(rows.is_sorted(), "rows must not descend");
        let first = rows.first().copied().unwrap_or(0);
        ensure!(first >= 0, "row {first} is negative");
        index(rows.len())?;
        let [begins, ends] = io.outputs else {
            return Err(OpError::new("expected 2 outputs"));
        };
        let (begins, ends) = (begins.as_mut_slice::<i32>()?, ends.as_mut_slice::<i32>()?);
        let mut at = 0;
        for ((row, begin), end) in (0..).zip(begins).zip(ends) {
            *begin = at as i32;
            at += rows[at..].iter().take_while(|&&r| r == row).count();
            *end = at as i32;
        }
        Ok(())
    }
}
