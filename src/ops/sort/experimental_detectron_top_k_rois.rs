//! ExperimentalDetectronTopKROIs-6: the regions of the highest probabilities.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/sort/experimental-detectron-top-krois-6.html>
//!
//! Regions of equal probability keep their order. Rows for which there is no region are zeros.

use serde::{Deserialize, Serialize};

use crate::kernel::suppression::rank;
use crate::op::{
    Input, Io, Op, OpError, Output, Outputs, bail, ensure, merge_types, same_dimension,
};
use crate::ops::floats::{fill, in_real, real};

/// The regions of the highest probabilities.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct ExperimentalDetectronTopKRois {
    max_rois: usize,
}

impl Op for ExperimentalDetectronTopKRois {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [rois, probabilities] = inputs else {
            bail!(
                "expected 2 inputs (rois, probabilities), got {}",
                inputs.len()
            );
        };
        rois.expect_float("the rois")?;
        let ty = merge_types(inputs)?;
        let [count, numbers] = rois.dims("the rois")?;
        let [others] = probabilities.dims("the probabilities")?;
        ensure!(
            numbers.contains(4),
            "a roi must have 4 numbers, got shape {}",
            rois.shape
        );
        same_dimension(count, others, "numbers of rois and probabilities")?;
        Ok(Output::single(ty, [self.max_rois, 4]))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        in_real!(io.inputs[0].element_type(), T => {
            let (rois, probabilities) = (real::<T>(io.inputs[0])?, real::<T>(io.inputs[1])?);
            let probabilities = probabilities.as_slice::<T>()?.iter().copied();
            let best = rank(probabilities, |_| true, self.max_rois)?;
            let (rois, _) = rois.as_slice::<T>()?.as_chunks::<4>();
            fill(&mut io.outputs[0], |out: &mut [T]| {
                out.fill(0.0);
                for (row, best) in out.chunks_exact_mut(4).zip(best) {
                    row.copy_from_slice(&rois[best.index]);
                }
                Ok(())
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::run;
    use crate::tensor::Tensor;

    #[test]
    fn fewer_and_more_than_asked() {
        let rois: Vec<f32> = (0..12u8).map(f32::from).collect();
        let inputs = [
            Tensor::new([3, 4], &rois).expect("three"),
            Tensor::vector(&[0.1f32, 0.3, 0.3]),
        ];
        let rows = |max_rois| {
            let op = ExperimentalDetectronTopKRois { max_rois };
            let out = run(&op, &inputs).expect("fits");
            let rows = out.as_slice::<f32>().expect("f32").chunks(4);
            rows.map(|row| row[1]).collect::<Vec<_>>()
        };
        assert_eq!(rows(2), [5.0, 9.0]);
        assert_eq!(rows(4), [5.0, 9.0, 1.0, 0.0]);
        assert_eq!(rows(0), [0f32; 0]);
    }
}
