//! ROIAlign-3, -9: regions of feature maps pooled from samples between their elements.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/detection/roi-align-9.html>
//!
//! Only ROIAlign-9 has `aligned_mode`. Samples more than an element away from the maps are zero, as
//! the runtime has them; where `sampling_ratio` 0 leaves a bin without samples, so is the result.

use serde::{Deserialize, Serialize};

use super::regions;
use crate::kernel::real::Real;
use crate::kernel::regions::{Maps, Pooling, Sample, align, each};
use crate::kernel::scratch::{try_collect_ok, try_room};
use crate::op::{
    Input, Io, LayerData, Op, OpError, Output, Outputs, ReadResult, attrs, bail, ensure,
};
use crate::ops::floats::{fill, in_real, real};
use crate::tensor::convert::try_i64;
use crate::tensor::{Dimension, Tensor};

/// How samples are pooled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Avg,
    Max,
}

/// Where pixels lie in the coordinates of regions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum AlignedMode {
    #[default]
    Asymmetric,
    HalfPixelForNn,
    HalfPixel,
}

/// Regions pooled from samples.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct RoiAlign {
    pooled_h: i64,
    pooled_w: i64,
    sampling_ratio: i64,
    spatial_scale: f32,
    mode: Mode,
    #[serde(default)]
    aligned_mode: AlignedMode,
}

/// Reads ROIAlign-3.
pub(super) fn read_3(layer: &LayerData<'_>) -> ReadResult {
    let (op, unknown) = attrs::read::<RoiAlign>(layer.attributes)?;
    let aligned_mode = AlignedMode::Asymmetric;
    Ok((Box::new(RoiAlign { aligned_mode, ..op }), unknown))
}

/// The bins of regions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bins {
    /// Down and across.
    pub(super) pooled: [usize; 2],
    /// Samples of a bin in each direction; 0 for one an element.
    sampling_ratio: usize,
}

/// A region on the map: where its samples begin, and how large it is, down and across.
#[derive(Debug, Clone, Copy)]
pub(super) struct Region<T> {
    pub(super) start: [T; 2],
    pub(super) size: [T; 2],
}

/// The most samples that a region may have.
const MOST_SAMPLES: usize = 1 << 26;

impl Bins {
    pub(super) fn new(pooled_h: i64, pooled_w: i64, sampling_ratio: i64) -> Result<Self, OpError> {
        let Ok(sampling_ratio) = usize::try_from(sampling_ratio) else {
            bail!("sampling_ratio must not be negative, got {sampling_ratio}");
        };
        let pooled_h = regions::positive("pooled_h", pooled_h)?;
        let pooled_w = regions::positive("pooled_w", pooled_w)?;
        Ok(Self {
            pooled: [pooled_h, pooled_w],
            sampling_ratio,
        })
    }

    /// The samples of all bins, and how many a bin has. `place` gives the point of the map that a
    /// point of the box means.
    pub(super) fn samples<T: Real>(
        &self,
        maps: &Maps<'_, T>,
        region: Region<T>,
        place: impl Fn(T, T) -> (T, T),
    ) -> Result<(Vec<Sample<T>>, usize), OpError> {
        let number = |n: usize| T::from_usize(n).unwrap_or_else(T::infinity);
        let [bin_height, bin_width] = [0, 1].map(|i| region.size[i] / number(self.pooled[i]));
        let ratio = |bin: T| match self.sampling_ratio {
            0 => bin.ceil().max(T::zero()).to_usize().unwrap_or(usize::MAX),
            ratio => ratio,
        };
        let (down, across) = (ratio(bin_height), ratio(bin_width));
        let [pooled_h, pooled_w] = self.pooled;
        let mut all = [across, pooled_h, pooled_w].into_iter();
        let all = all.try_fold(down, usize::checked_mul);
        let Some(all) = all.filter(|&all| all <= MOST_SAMPLES) else {
            return Err(OpError::limit(format!(
                "a region of {} by {} elements has too many samples",
                region.size[0].wide(),
                region.size[1].wide()
            )));
        };
        let (step_down, step_across) = (bin_height / number(down), bin_width / number(across));
        let half = T::of(0.5);
        let mut samples = try_room(all)?;
        for bin in 0..pooled_h * pooled_w {
            let (row, column) = (bin / pooled_w, bin % pooled_w);
            for i in 0..down {
                let y = region.start[0] + number(row) * bin_height + step_down * (number(i) + half);
                for k in 0..across {
                    let x = region.start[1]
                        + number(column) * bin_width
                        + step_across * (number(k) + half);
                    let (y, x) = place(y, x);
                    samples.push(Sample::new(maps, y, x));
                }
            }
        }
        Ok((samples, down * across))
    }
}

/// Type and shape of what pools regions whose images are an input of their own.
pub(super) fn infer_aligned(
    inputs: &[Input<'_>],
    width: usize,
    pooled: [usize; 2],
) -> Result<Outputs, OpError> {
    let [maps, rois, batches] = inputs else {
        bail!(
            "expected 3 inputs (feature maps, regions, batch indices), got {}",
            inputs.len()
        );
    };
    let (ty, mut out) = regions::infer(maps, rois, width, None, pooled)?;
    batches.expect_integer("batch indices")?;
    batches.expect_1d("batch indices")?;
    if let Some(&[count]) = batches.shape.dims() {
        out[0] = match out[0].intersect(count) {
            Some(count) => count,
            None => bail!("there are {} regions and {count} batch indices", out[0]),
        };
    }
    Ok(Output::single(ty, &out[..]))
}

/// The numbers that batch indices may be.
pub(super) fn allowed_batches(inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
    let images: Dimension = *inputs.first()?.shape.dims()?.first()?;
    (index == 2).then_some((0, i64::try_from(images.min()).ok()? - 1))
}

/// Pools every region; `samples` gives those of one.
pub(super) fn run<T: Real>(
    inputs: &[&Tensor],
    width: usize,
    pooling: Pooling,
    out: &mut Tensor,
    samples: impl Fn(&Maps<'_, T>, &[T]) -> Result<(Vec<Sample<T>>, usize), OpError> + Sync,
) -> Result<(), OpError> {
    let (shape, out_shape) = (inputs[0].shape(), out.shape().clone());
    if out.is_empty() {
        return Ok(());
    }
    let [data, rois] = [real::<T>(inputs[0])?, real::<T>(inputs[1])?];
    let maps = Maps::new(data.as_slice()?, shape);
    let rois = rois.as_slice()?;
    let batches = try_i64(inputs[2])?.into_iter().enumerate();
    let images = batches.map(|(i, batch)| regions::image(i, batch as f64, shape[0]));
    let images = try_collect_ok(images)?;
    let failed = std::sync::Mutex::new(None);
    fill::<T, _>(out, |out| {
        each(
            out,
            out_shape[1..].iter().product(),
            |i, out| match samples(&maps, &rois[i * width..][..width]) {
                Ok((samples, count)) => align(&maps, images[i], &samples, count, pooling, out),
                Err(error) => {
                    if let Ok(mut failed) = failed.lock() {
                        *failed = Some(error);
                    }
                }
            },
        );
        Ok(())
    })?;
    match failed.into_inner() {
        Ok(Some(error)) => Err(error),
        _ => Ok(()),
    }
}

impl RoiAlign {
    fn bins(&self) -> Result<Bins, OpError> {
        Bins::new(self.pooled_h, self.pooled_w, self.sampling_ratio)
    }

    fn region<T: Real>(&self, roi: &[T]) -> Region<T> {
        let (half, scale) = (T::of(0.5), T::of(self.spatial_scale.into()));
        let place = |x: T| match self.aligned_mode {
            AlignedMode::Asymmetric => x * scale,
            AlignedMode::HalfPixelForNn => x * scale - half,
            AlignedMode::HalfPixel => (x + half) * scale - half,
        };
        let (left, top) = (place(roi[0]), place(roi[1]));
        let mut size = [place(roi[3]) - top, place(roi[2]) - left];
        if self.aligned_mode == AlignedMode::Asymmetric {
            size = size.map(|size| size.max(T::one()));
        }
        Region {
            start: [top, left],
            size,
        }
    }
}

impl Op for RoiAlign {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        ensure!(
            self.spatial_scale > 0.0,
            "spatial_scale must be positive, got {}",
            self.spatial_scale
        );
        infer_aligned(inputs, 4, self.bins()?.pooled)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let (bins, out) = (self.bins()?, &mut io.outputs[0]);
        let pooling = match self.mode {
            Mode::Avg => Pooling::Average,
            Mode::Max => Pooling::Maximum,
        };
        in_real!(out.element_type(), T => run::<T>(io.inputs, 4, pooling, out, |maps, roi| {
            bins.samples(maps, self.region(roi), |y, x| (y, x))
        }))
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        allowed_batches(inputs, index)
    }
}
