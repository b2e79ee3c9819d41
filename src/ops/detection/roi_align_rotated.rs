//! ROIAlignRotated-15: rotated regions of feature maps pooled from samples between their elements.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/detection/roi-align-rotated-15.html>

use serde::{Deserialize, Serialize};

use super::roi_align::{Bins, Region, allowed_batches, infer_aligned, run};
use crate::kernel::math;
use crate::kernel::regions::Pooling;
use crate::op::{Input, Io, Op, OpError, Outputs, ensure};
use crate::ops::floats::in_real;

/// Rotated regions pooled from samples.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct RoiAlignRotated {
    pooled_h: i64,
    pooled_w: i64,
    sampling_ratio: i64,
    spatial_scale: f32,
    #[serde(default)]
    clockwise_mode: bool,
}

impl Op for RoiAlignRotated {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        ensure!(
            self.spatial_scale > 0.0,
            "spatial_scale must be positive, got {}",
            self.spatial_scale
        );
        let bins = Bins::new(self.pooled_h, self.pooled_w, self.sampling_ratio)?;
        infer_aligned(inputs, 5, bins.pooled)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let bins = Bins::new(self.pooled_h, self.pooled_w, self.sampling_ratio)?;
        let out = &mut io.outputs[0];
        let pooling = Pooling::Average;
        in_real!(out.element_type(), T => run::<T>(io.inputs, 5, pooling, out, |maps, roi| {
            let (scale, half) = (self.spatial_scale as T, 0.5 as T);
            let (center_x, center_y) = (roi[0] * scale - half, roi[1] * scale - half);
            let size = [roi[3] * scale, roi[2] * scale];
            let angle = if self.clockwise_mode { -roi[4] } else { roi[4] };
            let (sin, cos) = (math::sin(angle), math::cos(angle));
            let region = Region {
                start: size.map(|size| -size * half),
                size,
            };
            bins.samples(maps, region, |y, x| {
                (y * cos - x * sin + center_y, y * sin + x * cos + center_x)
            })
        }))
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        allowed_batches(inputs, index)
    }
}
