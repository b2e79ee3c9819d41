//! ROIPooling-2: regions of feature maps pooled to a fixed size.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/detection/roi-pooling-1.html>
//!
//! Documented as ROIPooling-1. What the page leaves open is as in the runtime: in method `max` the
//! scaled corners are rounded and belong to the region, and a bin has every element it touches. A
//! region of image -1 ends the list, as Proposal writes it; what follows is zero.

use serde::{Deserialize, Serialize};

use super::regions;
use crate::kernel::real::Real;
use crate::kernel::regions::{Maps, Plane, each};
use crate::kernel::scratch::{or_refuse, try_collect};
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure};
use crate::ops::floats::{fill, in_real, real};

/// How a bin becomes one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Method {
    /// The largest element.
    #[default]
    Max,
    /// What lies at a point between elements.
    Bilinear,
}

/// Regions pooled to a fixed size.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct RoiPooling {
    pooled_h: i64,
    pooled_w: i64,
    spatial_scale: f32,
    #[serde(default)]
    method: Method,
    /// Two more attributes that the runtime writes, which say the same as `pooled_h` and `pooled_w`.
    #[serde(default, rename = "output_size", skip_serializing)]
    _output_size: Vec<i64>,
    #[serde(default, rename = "output_roi", skip_serializing)]
    _output_roi: Vec<i64>,
}

/// The elements of an axis that bin `bin` of `bins` has, where the region goes from `first` to `last`.
fn window<T: Real>(bin: usize, bins: usize, first: T, last: T, size: usize) -> [usize; 2] {
    let number = |n: usize| T::from_usize(n).unwrap_or_else(T::infinity);
    let step = (last - first + T::one()).max(T::one()) / number(bins);
    let clip = |x: T| (x + first).max(T::zero()).min(number(size)).to_usize();
    let from = clip((number(bin) * step).floor()).unwrap_or(0);
    let to = clip((number(bin + 1) * step).ceil()).unwrap_or(0);
    [from, to.max(from)]
}

/// The coordinate of a bin's point, where the region goes from `first` to `last` of an axis of
/// length 1; `None` outside of the map.
fn point<T: Real>(bin: usize, bins: usize, first: T, last: T, size: usize) -> Option<T> {
    let number = |n: usize| T::from_usize(n).unwrap_or_else(T::infinity);
    let end = number(size - 1);
    let x = if bins == 1 {
        T::of(0.5) * (first + last) * end
    } else if bin + 1 == bins {
        end * last
    } else {
        number(bin) * ((last - first) * end / number(bins - 1)) + first * end
    };
    (x >= T::zero() && x <= end).then_some(x)
}

impl RoiPooling {
    fn pooled(&self) -> Result<[usize; 2], OpError> {
        match [self.pooled_h, self.pooled_w].map(usize::try_from) {
            [Ok(height @ 1..), Ok(width @ 1..)] => Ok([height, width]),
            _ => bail!(
                "pooled_h and pooled_w must be positive, got {} and {}",
                self.pooled_h,
                self.pooled_w
            ),
        }
    }

    /// The value of a bin.
    fn pool<T: Real>(&self, plane: &Plane<'_, T>, windows: &[[usize; 2]; 2]) -> T {
        let [rows, columns] = *windows;
        if rows[0] == rows[1] || columns[0] == columns[1] {
            return T::zero();
        }
        let rows = plane.rows(rows, columns);
        rows.flatten().fold(T::min_value(), |max, &x| max.max(x))
    }

    fn region<T: Real>(
        &self,
        maps: &Maps<'_, T>,
        image: usize,
        roi: &[T],
        out: &mut [T],
        pooled: [usize; 2],
    ) {
        let [height, width] = pooled;
        let (rows, columns) = (maps.height(), maps.width());
        let [left, top, right, bottom] = match self.method {
            Method::Max => {
                [1, 2, 3, 4].map(|i| (roi[i] * T::of(self.spatial_scale.into())).round())
            }
            Method::Bilinear => [roi[1], roi[2], roi[3], roi[4]],
        };
        let down = (0..height).map(|i| window(i, height, top, bottom, rows));
        let across = (0..width).map(|i| window(i, width, left, right, columns));
        let ys = (0..height).map(|i| point(i, height, top, bottom, rows));
        let xs = (0..width).map(|i| point(i, width, left, right, columns));
        let (down, across) = (or_refuse(try_collect(down)), or_refuse(try_collect(across)));
        let (ys, xs) = (or_refuse(try_collect(ys)), or_refuse(try_collect(xs)));
        let (Some(down), Some(across), Some(ys), Some(xs)) = (down, across, ys, xs) else {
            return;
        };
        for (channel, out) in out.chunks_exact_mut(height * width).enumerate() {
            let plane = maps.plane(image, channel);
            for (i, out) in out.iter_mut().enumerate() {
                let (y, x) = (i / width, i % width);
                *out = match self.method {
                    Method::Max => self.pool(&plane, &[down[y], across[x]]),
                    Method::Bilinear => match (ys[y], xs[x]) {
                        (Some(y), Some(x)) => plane.at(y, x),
                        _ => T::zero(),
                    },
                };
            }
        }
    }
}

impl Op for RoiPooling {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [maps, rois] = inputs else {
            bail!(
                "expected 2 inputs (feature maps, regions), got {}",
                inputs.len()
            );
        };
        ensure!(
            self.spatial_scale > 0.0,
            "spatial_scale must be positive, got {}",
            self.spatial_scale
        );
        let (ty, out) = regions::infer(maps, rois, 5, None, self.pooled()?)?;
        Ok(Output::single(ty, &out[..]))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let ([data, rois], out) = ([io.inputs[0], io.inputs[1]], &mut io.outputs[0]);
        let (shape, pooled) = (data.shape(), self.pooled()?);
        if out.is_empty() {
            return Ok(());
        }
        let images = regions::images(rois, shape[0])?;
        let size = out.shape()[1..].iter().product();
        in_real!(data.element_type(), T => fill::<T, _>(out, |out| {
            let (data, rois) = (real::<T>(data)?, real::<T>(rois)?);
            let maps = Maps::new(data.as_slice()?, shape);
            let rois = rois.as_slice()?;
            each(out, size, |i, out| match images.get(i) {
                Some(&image) => self.region(&maps, image, &rois[i * 5..][..5], out, pooled),
                None => out.fill(0.0),
            });
            Ok(())
        }))
    }
}
