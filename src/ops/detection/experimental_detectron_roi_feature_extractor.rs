//! ExperimentalDetectronROIFeatureExtractor-6: regions pooled from the level of a pyramid of
//! feature maps that suits their size.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/detection/experimental-detectron-roi-feature-extractor-6.html>
//!
//! Levels beyond the pyramid's are its first or last. A region without area gives zeros. Features
//! and regions keep the order of the regions.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::roi_align::{Bins, Region};
use crate::kernel::real::Real;
use crate::kernel::regions::{Maps, Pooling, align};
use crate::limits::Share;
use crate::op::{
    Input, Io, Op, OpError, Output, Outputs, bail, ensure, merge_types, same_dimension,
};
use crate::ops::floats::{fill, in_real, real};
use crate::tensor::convert::convert_into;
use crate::tensor::{Dimension, Tensor};

/// Outputs with fewer elements stay on the calling thread.
const PART: usize = 1 << 14;

/// The size of the regions of level 2.
const CANONICAL_SIZE: f64 = 224.0;

/// Regions pooled from the level of a pyramid that suits their size.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct RoiFeatureExtractor {
    output_size: usize,
    sampling_ratio: i64,
    pyramid_scales: Vec<i64>,
    #[serde(default)]
    aligned: bool,
}

impl RoiFeatureExtractor {
    fn bins(&self) -> Result<Bins, OpError> {
        let size = i64::try_from(self.output_size).unwrap_or(i64::MAX);
        Bins::new(size, size, self.sampling_ratio)
    }

    /// The level of a region, unless it has no area.
    fn level<T: Real>([x0, y0, x1, y1]: [T; 4], levels: usize) -> Option<usize> {
        let area = ((x1 - x0) * (y1 - y0)).wide();
        // Each level is for regions twice as large.
        let mut size = CANONICAL_SIZE / 2.0;
        let mut level = 0;
        while level + 1 < levels && area.sqrt() >= size {
            (level, size) = (level + 1, size * 2.0);
        }
        (area > 0.0).then_some(level)
    }

    #[allow(clippy::cast_precision_loss)] // scales are small
    fn region<T: Real>(&self, roi: [T; 4], level: usize) -> Region<T> {
        let scale = T::one() / T::of(self.pyramid_scales[level] as f64);
        let offset = if self.aligned { T::of(0.5) } else { T::zero() };
        let [left, top, right, bottom] = roi.map(|x| x * scale - offset);
        Region {
            start: [top, left],
            size: [bottom - top, right - left].map(|size| size.max(T::one())),
        }
    }

    fn run<T: Real>(&self, inputs: &[&Tensor], outputs: &mut [Tensor]) -> Result<(), OpError> {
        let [features, regions] = outputs else {
            bail!("expected 2 outputs, got {}", outputs.len());
        };
        convert_into(inputs[0], regions)?;
        if features.is_empty() {
            return Ok(());
        }
        let (rois, bins) = (real::<T>(inputs[0])?, self.bins()?);
        let rois = rois.as_slice::<T>()?.as_chunks::<4>().0;
        let wide = inputs[1..].iter().map(|map| real::<T>(map));
        let wide = wide.collect::<Result<Vec<_>, _>>()?;
        let maps = wide
            .iter()
            .map(|map| Ok(Maps::new(map.as_slice()?, map.shape())));
        let maps = maps.collect::<Result<Vec<Maps<'_, T>>, OpError>>()?;
        let size = features.len() / rois.len();
        fill(features, |out: &mut [T]| {
            let one = |(i, out): (usize, &mut [T])| {
                let Some(level) = Self::level(rois[i], maps.len()) else {
                    out.fill(T::zero());
                    return Ok(());
                };
                let region = self.region(rois[i], level);
                let (samples, count) = bins.samples(&maps[level], region, |y, x| (y, x))?;
                align(&maps[level], 0, &samples, count, Pooling::Average, out);
                Ok(())
            };
            if out.len() < PART {
                return out.chunks_exact_mut(size).enumerate().try_for_each(one);
            }
            let parts = out.par_chunks_exact_mut(size).enumerate();
            parts.share_map(one).reduce(|| Ok(()), Result::and)
        })
    }
}

impl Op for RoiFeatureExtractor {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [rois, maps @ ..] = inputs else {
            bail!("expected regions and feature maps, got no inputs");
        };
        ensure!(
            !maps.is_empty() && maps.len() == self.pyramid_scales.len(),
            "there are {} feature maps and {} pyramid_scales",
            maps.len(),
            self.pyramid_scales.len()
        );
        ensure!(
            self.pyramid_scales.iter().all(|&scale| scale > 0),
            "pyramid_scales must be positive, got {:?}",
            self.pyramid_scales
        );
        self.bins()?;
        rois.expect_float("the inputs")?;
        let ty = merge_types(inputs)?;
        let [count, numbers] = rois.dims("the regions")?;
        ensure!(
            numbers.contains(4),
            "a region must have 4 numbers, got shape {}",
            rois.shape
        );
        let mut channels = Dimension::dynamic();
        for map in maps {
            let [images, of_map, height, width] = map.dims("a feature map")?;
            let empty = height.max() == Some(0) || width.max() == Some(0);
            ensure!(
                images.contains(1) && !empty,
                "a feature map must be of one image and not be empty, got shape {}",
                map.shape
            );
            channels = same_dimension(channels, of_map, "channels of the feature maps")?;
        }
        let side = Dimension::fixed(self.output_size);
        Ok(smallvec::smallvec![
            Output::new(ty, [count, channels, side, side].as_slice()),
            Output::new(ty, [count, Dimension::fixed(4)].as_slice()),
        ])
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        in_real!(io.inputs[0].element_type(), T => self.run::<T>(io.inputs, io.outputs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{infer_dims, run_all, shape};
    use crate::tensor::ElementType;

    #[test]
    fn levels() {
        let level = |side: f32, levels| {
            RoiFeatureExtractor::level([1.0, 1.0, 1.0 + side, 1.0 + side], levels)
        };
        let sides = [1.0, 111.0, 112.0, 223.0, 224.0, 448.0, 896.0, 9e3];
        let found = sides.map(|side| level(side, 4).expect("an area"));
        assert_eq!(found, [0, 0, 1, 1, 2, 3, 3, 3]);
        assert_eq!((level(0.0, 4), level(f32::NAN, 4)), (None, None));
    }

    fn op() -> RoiFeatureExtractor {
        RoiFeatureExtractor {
            output_size: 1,
            sampling_ratio: 0,
            pyramid_scales: vec![4, 8],
            aligned: false,
        }
    }

    #[test]
    fn each_from_its_level() {
        let map = |side: usize, value: f32| {
            let data = vec![value; side * side];
            Tensor::new([1, 1, side, side], &data).expect("square")
        };
        let rois = [
            8.0f32, 8.0, 128.0, 128.0, 3.0, 3.0, 3.0, 9.0, 4.0, 4.0, 8.0, 8.0,
        ];
        let rois = Tensor::new([3, 4], &rois).expect("12");
        let outputs = run_all(&op(), &[rois.clone(), map(32, 1.0), map(16, 2.0)]).expect("fits");
        assert_eq!(outputs[0].as_slice::<f32>().expect("f32"), [2.0, 0.0, 1.0]);
        assert_eq!(outputs[1].bytes(), rois.bytes());
    }

    #[test]
    fn shapes() {
        let shapes = ["?,4", "1,?,9,9", "1,3,?,5"].map(shape);
        let inputs = shapes.each_ref().map(|s| Input::new(ElementType::F32, s));
        assert_eq!(infer_dims(&op(), &inputs), "[?,3,1,1]");
        assert!(op().infer(&inputs[..2]).is_err());
        let empty = shape("1,3,0,5");
        let wrong = [
            inputs[0].clone(),
            inputs[1].clone(),
            Input::new(ElementType::F32, &empty),
        ];
        assert!(op().infer(&wrong).is_err());
    }
}
