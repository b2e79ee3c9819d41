//! FuzeRagged: the strings of each row as one, from the beginning of the first to the end of the
//! last. RaggedTensorPack: only the elements of rows.
//!
//! <https://github.com/openvinotoolkit/openvino_tokenizers/blob/master/src/fuze.cpp>

use serde::{Deserialize, Serialize};

use super::ragged::{expect_inputs, expect_rows, row_outputs, rows};
use crate::kernel::scratch::try_collect;
use crate::op::{Input, Io, Op, OpError, Output, Outputs, ensure};
use crate::ops::strings::expect_ranges;
use crate::tensor::{ElementType, Tensor};

/// Rows of strings as strings; the symbols stay.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(super) struct FuzeRagged {}

impl Op for FuzeRagged {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        expect_inputs(inputs, &[4], "begins and ends of rows and of strings")?;
        expect_rows(inputs, 0)?;
        expect_ranges(&inputs[2], &inputs[3], &[ElementType::I32], "strings")?;
        Ok(row_outputs(&inputs[0]).into_iter().collect())
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let begins = io.inputs[2].as_slice::<i32>()?;
        let ends = io.inputs[3].as_slice::<i32>()?;
        ensure!(
            begins.len() == ends.len(),
            "{} begins and {} ends of strings",
            begins.len(),
            ends.len()
        );
        let rows = rows(io.inputs, 0, begins.len())?;
        // An empty row has the string at its place, as in the real runtime, or none behind the last.
        let begin = rows
            .iter()
            .map(|r| begins.get(r.start).copied().unwrap_or(0));
        let end = rows.iter().map(|r| {
            let last = r.start.max(r.end.saturating_sub(1));
            ends.get(last).copied().unwrap_or(0)
        });
        let (begin, end) = (try_collect(begin)?, try_collect(end)?);
        let shape = io.inputs[0].shape();
        io.outputs[0] = Tensor::new(shape.clone(), &begin)?;
        io.outputs[1] = Tensor::new(shape.clone(), &end)?;
        Ok(())
    }
}

/// The elements; what the rows are is lost.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(super) struct RaggedTensorPack {}

impl Op for RaggedTensorPack {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        expect_inputs(inputs, &[3], "rows, elements")?;
        expect_rows(inputs, 0)?;
        let elements = &inputs[2];
        let shape = elements.shape.clone().into_owned();
        Ok(Output::single(elements.element_type, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        io.outputs[0] = io.inputs[2].clone();
        Ok(())
    }
}
