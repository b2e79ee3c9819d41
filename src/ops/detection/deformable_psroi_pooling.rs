//! DeformablePSROIPooling-1: regions pooled by position, from bins that may be moved.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/detection/deformable-psroi-pooling-1.html>
//!
//! What the page leaves open is as in the runtime: the corners are rounded before they are scaled, a
//! region is at least a tenth of an element large, samples more than half an element outside of the
//! maps do not count. A region of image -1 ends the list, as Proposal writes it; what follows is
//! zero.

use serde::{Deserialize, Serialize};

use super::regions::{self, positive};
use crate::kernel::real::Real;
use crate::kernel::regions::{Maps, each};
use crate::kernel::scratch::try_copy;
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure, merge_types};
use crate::ops::floats::{fill, in_real, real};
use crate::tensor::Tensor;

/// How a bin becomes one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    BilinearDeformable,
}

/// Regions pooled by position, from bins that may be moved.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct DeformablePsRoiPooling {
    output_dim: i64,
    spatial_scale: f32,
    #[serde(default = "one")]
    group_size: i64,
    #[serde(default)]
    mode: Mode,
    #[serde(default = "one")]
    spatial_bins_x: i64,
    #[serde(default = "one")]
    spatial_bins_y: i64,
    #[serde(default = "whole")]
    trans_std: f32,
    #[serde(default = "one")]
    part_size: i64,
}

fn one() -> i64 {
    1
}

fn whole() -> f32 {
    1.0
}

/// The attributes, checked.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    out: usize,
    group: usize,
    /// Across and down.
    bins: [usize; 2],
    part: usize,
}

/// How far bins are moved: for each region, class, and direction (across, down) a square.
struct Offsets {
    values: Vec<f32>,
    classes: usize,
}

impl DeformablePsRoiPooling {
    fn sizes(&self) -> Result<Sizes, OpError> {
        Ok(Sizes {
            out: positive("output_dim", self.output_dim)?,
            group: positive("group_size", self.group_size)?,
            bins: [
                positive("spatial_bins_x", self.spatial_bins_x)?,
                positive("spatial_bins_y", self.spatial_bins_y)?,
            ],
            part: positive("part_size", self.part_size)?,
        })
    }

    /// How far a bin is moved, across and down, in parts of the region.
    fn moved(
        &self,
        sizes: Sizes,
        offsets: &Offsets,
        region: usize,
        [channel, row, column]: [usize; 3],
    ) -> [f32; 2] {
        let class = channel / (sizes.out / offsets.classes);
        let part = sizes.part;
        let (row, column) = (row * part / sizes.group, column * part / sizes.group);
        [0, 1].map(|direction| {
            let square = (region * offsets.classes + class) * 2 + direction;
            offsets.values[(square * part + row) * part + column] * self.trans_std
        })
    }

    fn region<T: Real>(
        &self,
        maps: &Maps<'_, T>,
        image: usize,
        roi: &[f32],
        sizes: Sizes,
        moved: impl Fn([usize; 3]) -> [f32; 2],
        out: &mut [T],
    ) {
        let scale = self.spatial_scale;
        let corner = |x: f32| x.round() * scale - 0.5;
        let (left, top) = (corner(roi[1]), corner(roi[2]));
        let width = (corner(roi[3].round() + 1.0) - left).max(0.1);
        let height = (corner(roi[4].round() + 1.0) - top).max(0.1);
        let group = sizes.group;
        let (bin_width, bin_height) = (width / group as f32, height / group as f32);
        let [across, down] = sizes.bins;
        // Inside or close enough.
        let inside = |x: f32, size: usize| {
            let near = x >= -0.5 && x <= size as f32 - 0.5;
            near.then(|| T::of(x.clamp(0.0, (size - 1) as f32).into()))
        };
        for (i, out) in out.iter_mut().enumerate() {
            let (channel, row, column) = (i / (group * group), i / group % group, i % group);
            let [dx, dy] = moved([channel, row, column]);
            let x = left + column as f32 * bin_width + dx * width;
            let y = top + row as f32 * bin_height + dy * height;
            let plane = maps.plane(image, i);
            let (mut sum, mut count) = (T::zero(), 0);
            for bin in 0..across * down {
                let y = y + (bin / across) as f32 * (bin_height / down as f32);
                let x = x + (bin % across) as f32 * (bin_width / across as f32);
                if let (Some(y), Some(x)) = (inside(y, maps.height()), inside(x, maps.width())) {
                    sum += plane.at(y, x);
                    count += 1;
                }
            }
            *out = match count {
                0 => T::zero(),
                count => sum / T::from_usize(count).unwrap_or_else(T::infinity),
            };
        }
    }

    fn check_offsets(&self, offsets: &Input<'_>, sizes: Sizes) -> Result<(), OpError> {
        let Some(dims) = offsets.shape.dims() else {
            return Ok(());
        };
        let squares = |dims: &[_]| -> bool {
            matches!(dims, &[_, _, h, w] if [h, w].iter().all(|d: &crate::tensor::Dimension| d.contains(sizes.part)))
        };
        ensure!(
            squares(dims),
            "the offsets must have shape [regions, 2 * classes, {part}, {part}] (part_size {part}), got {}",
            offsets.shape,
            part = sizes.part
        );
        if let Some(channels) = dims[1].value() {
            let fits = channels > 0
                && channels.is_multiple_of(2)
                && sizes.out.is_multiple_of(channels / 2);
            ensure!(
                fits,
                "the offsets have {channels} channels, expected 2 for each class, of which output_dim {} has as many channels each",
                sizes.out
            );
        }
        Ok(())
    }
}

fn offsets(tensor: Option<&&Tensor>) -> Result<Option<Offsets>, OpError> {
    let Some(tensor) = tensor else {
        return Ok(None);
    };
    let values = real::<f32>(tensor)?;
    Ok(Some(Offsets {
        values: try_copy(values.as_slice()?)?,
        classes: tensor.shape()[1] / 2,
    }))
}

impl Op for DeformablePsRoiPooling {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [maps, rois, rest @ ..] = inputs else {
            bail!(
                "expected 2 or 3 inputs (score maps, regions, offsets), got {}",
                inputs.len()
            );
        };
        ensure!(
            rest.len() < 2,
            "expected 2 or 3 inputs (score maps, regions, offsets), got {}",
            inputs.len()
        );
        let sizes = self.sizes()?;
        ensure!(
            self.spatial_scale > 0.0,
            "spatial_scale must be positive, got {}",
            self.spatial_scale
        );
        merge_types(inputs)?;
        let (ty, mut out) = regions::infer(maps, rois, 5, Some(sizes.out), [sizes.group; 2])?;
        if let Some(dims) = maps.shape.dims() {
            let needed = sizes.group.checked_mul(sizes.group);
            let needed = needed
                .and_then(|n| n.checked_mul(sizes.out))
                .unwrap_or(usize::MAX);
            ensure!(
                dims[1].contains(needed),
                "the score maps must have {needed} channels, {} for each of {group} by {group} bins, got {}",
                sizes.out,
                dims[1],
                group = sizes.group
            );
        }
        if let [offsets] = rest {
            self.check_offsets(offsets, sizes)?;
            if let Some(&[count, ..]) = offsets.shape.dims() {
                out[0] = match out[0].intersect(count) {
                    Some(count) => count,
                    None => bail!("there are {} regions, and offsets of {count}", out[0]),
                };
            }
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
        let offsets = offsets(io.inputs.get(2))?;
        let rois = real::<f32>(rois)?;
        let rois = rois.as_slice::<f32>()?;
        in_real!(data.element_type(), T => fill::<T, _>(out, |out| {
            let data = real::<T>(data)?;
            let maps = Maps::new(data.as_slice()?, shape);
            each(out, size, |i, out| {
                let Some(&image) = images.get(i) else {
                    return out.fill(0.0);
                };
                let moved = |bin| match &offsets {
                    Some(offsets) => self.moved(sizes, offsets, i, bin),
                    None => [0.0; 2],
                };
                self.region(&maps, image, &rois[i * 5..][..5], sizes, moved, out);
            });
            Ok(())
        }))
    }
}
