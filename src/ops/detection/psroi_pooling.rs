//! PSROIPooling-1: regions pooled from feature maps whose channels belong to places of the region.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/detection/psroi-pooling-1.html>
//!
//! What the page leaves open is as in the runtime. In mode `average` the corners are rounded before
//! they are scaled, the last belongs to the region, and each bin of each output channel has a channel
//! of its own. In mode `bilinear` each spatial bin has a group of `output_dim` channels. A region of
//! image -1 ends the list, as Proposal writes it; what follows is zero.

use serde::{Deserialize, Serialize};

use super::regions::{self, positive};
use crate::kernel::real::Real;
use crate::kernel::regions::{Maps, each};
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure};
use crate::ops::floats::{fill, in_real, real};

/// How a bin becomes one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    #[default]
    Average,
    Bilinear,
}

/// Regions pooled by position.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct PsRoiPooling {
    output_dim: i64,
    #[serde(default = "one")]
    group_size: i64,
    spatial_scale: f32,
    #[serde(default)]
    mode: Mode,
    #[serde(default = "one")]
    spatial_bins_x: i64,
    #[serde(default = "one")]
    spatial_bins_y: i64,
}

fn one() -> i64 {
    1
}

/// The attributes, checked.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    out: usize,
    group: usize,
    /// Across and down.
    bins: [usize; 2],
}

/// The elements of an axis between two coordinates.
fn window(from: f32, to: f32, size: usize) -> [usize; 2] {
    let from = (from.floor().max(0.0) as usize).min(size - 1);
    [from, (to.ceil().max(0.0) as usize).min(size).max(from)]
}

impl PsRoiPooling {
    fn sizes(&self) -> Result<Sizes, OpError> {
        Ok(Sizes {
            out: positive("output_dim", self.output_dim)?,
            group: positive("group_size", self.group_size)?,
            bins: [
                positive("spatial_bins_x", self.spatial_bins_x)?,
                positive("spatial_bins_y", self.spatial_bins_y)?,
            ],
        })
    }

    fn average<T: Real>(
        &self,
        maps: &Maps<'_, T>,
        image: usize,
        roi: &[f32],
        group: usize,
        out: &mut [T],
    ) {
        let scale = self.spatial_scale;
        let (left, top) = (roi[1].round() * scale, roi[2].round() * scale);
        let (right, bottom) = (
            (roi[3].round() + 1.0) * scale,
            (roi[4].round() + 1.0) * scale,
        );
        let (width, height) = ((right - left) / group as f32, (bottom - top) / group as f32);
        let bin = |from: f32, step: f32, i: usize, size| {
            window(from + i as f32 * step, from + (i + 1) as f32 * step, size)
        };
        for (channel, out) in out.iter_mut().enumerate() {
            let (row, column) = (channel / group % group, channel % group);
            let rows = bin(top, height, row, maps.height());
            let columns = bin(left, width, column, maps.width());
            let count = (rows[1] - rows[0]) * (columns[1] - columns[0]);
            let plane = maps.plane(image, channel);
            let sum = plane.rows(rows, columns).flatten();
            let sum = sum.fold(T::zero(), |sum, &x| sum + x);
            *out = match count {
                0 => T::zero(),
                count => sum / T::from_usize(count).unwrap_or_else(T::infinity),
            };
        }
    }

    fn bilinear<T: Real>(
        &self,
        maps: &Maps<'_, T>,
        image: usize,
        roi: &[f32],
        sizes: Sizes,
        out: &mut [T],
    ) {
        let [left, top, right, bottom] = [1, 2, 3, 4].map(|i| roi[i] * self.spatial_scale);
        let [across, down] = sizes.bins;
        let (width, height) = ((right - left) / across as f32, (bottom - top) / down as f32);
        let group = sizes.group;
        // Where sample `i` of `group` lies in a bin that begins at `from`.
        let point = |from: f32, step: f32, i: usize, size: usize| {
            let last = (size - 1) as f32;
            let x = if group > 1 {
                i as f32 * (step * last / (group - 1) as f32) + from * last
            } else {
                (from + from + step) * last / 2.0
            };
            (x >= 0.0 && x < size as f32).then_some(T::of(x.into()))
        };
        let number = T::from_usize(across * down).unwrap_or_else(T::infinity);
        for (i, out) in out.iter_mut().enumerate() {
            let (channel, row, column) = (i / (group * group), i / group % group, i % group);
            let mut sum = T::zero();
            for bin in 0..across * down {
                let y = top + (bin / across) as f32 * height;
                let x = left + (bin % across) as f32 * width;
                let y = point(y, height, row, maps.height());
                let x = point(x, width, column, maps.width());
                if let (Some(y), Some(x)) = (y, x) {
                    sum += maps.plane(image, bin * sizes.out + channel).at(y, x);
                }
            }
            *out = sum / number;
        }
    }
}

impl Op for PsRoiPooling {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [maps, rois] = inputs else {
            bail!(
                "expected 2 inputs (feature maps, regions), got {}",
                inputs.len()
            );
        };
        let sizes = self.sizes()?;
        ensure!(
            self.spatial_scale > 0.0,
            "spatial_scale must be positive, got {}",
            self.spatial_scale
        );
        let (ty, out) = regions::infer(maps, rois, 5, Some(sizes.out), [sizes.group; 2])?;
        let places = match self.mode {
            Mode::Average => [sizes.group, sizes.group],
            Mode::Bilinear => sizes.bins,
        };
        let needed = sizes
            .out
            .checked_mul(places[0])
            .and_then(|n| n.checked_mul(places[1]));
        if let (Some(dims), Some(needed)) = (maps.shape.dims(), needed) {
            ensure!(
                dims[1].contains(needed),
                "the feature maps must have {needed} channels, {} for each of {} by {} places, got {}",
                sizes.out,
                places[0],
                places[1],
                dims[1]
            );
        }
        Ok(Output::single(ty, &out[..]))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let ([data, rois], out) = ([io.inputs[0], io.inputs[1]], &mut io.outputs[0]);
        let (shape, sizes) = (data.shape(), self.sizes()?);
        if out.is_empty() {
            return Ok(());
        }
        let images = regions::images(rois, shape[0])?;
        let size = out.shape()[1..].iter().product();
        let rois = real::<f32>(rois)?;
        let rois = rois.as_slice::<f32>()?;
        in_real!(data.element_type(), T => fill::<T, _>(out, |out| {
            let data = real::<T>(data)?;
            let maps = Maps::new(data.as_slice()?, shape);
            each(out, size, |i, out| {
                let Some(&image) = images.get(i) else {
                    return out.fill(0.0);
                };
                let roi = &rois[i * 5..][..5];
                match self.mode {
                    Mode::Average => self.average(&maps, image, roi, sizes.group, out),
                    Mode::Bilinear => self.bilinear(&maps, image, roi, sizes, out),
                }
            });
            Ok(())
        }))
    }
}
