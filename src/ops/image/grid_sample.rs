//! GridSample-9: an image sampled at the points of a grid.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/image/grid-sample-9.html>
//!
//! With `align_corners` -1 and 1 are the centers of the border pixels, without it their outer edges;
//! this is what the runtime does and models need, though the page has it the other way round. Where
//! the result is an integer it is cut off.

use serde::{Deserialize, Serialize};

use super::coordinates::cubic_weights;
use crate::kernel::grid_sample::{NOWHERE, Nearest, Neighbours, Points, place, sample};
use crate::kernel::moving::move_elements;
use crate::kernel::real::Real;
use crate::kernel::scratch::{try_collect, try_collect_ok};
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure};
use crate::ops::floats::{fill, in_real};
use crate::tensor::convert::convert;
use crate::tensor::{Dimension, ElementType, PartialShape, Tensor};

/// How values between pixels are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    #[default]
    Bilinear,
    Bicubic,
    Nearest,
}

/// What lies around the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Padding {
    #[default]
    Zeros,
    Border,
    Reflection,
}

/// An image sampled at the points of a grid.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct GridSample {
    align_corners: bool,
    mode: Mode,
    padding_mode: Padding,
}

/// One axis of the image.
#[derive(Debug, Clone, Copy)]
struct Axis {
    size: i64,
    /// How far neighbouring pixels are apart, in elements.
    stride: usize,
    align_corners: bool,
    padding: Padding,
}

impl Axis {
    /// Where on the axis a point lies.
    fn coordinate<T: Real>(&self, x: T) -> T {
        let size = T::from_i64(self.size).unwrap_or_else(T::infinity);
        let half = T::of(0.5);
        if self.align_corners {
            (x + T::one()) * (size - T::one()) * half
        } else {
            ((x + T::one()) * size - T::one()) * half
        }
    }

    /// The place of a pixel.
    fn place<T: Real>(&self, at: T) -> usize {
        // No number is nowhere.
        let at = if at.is_nan() {
            i64::MIN
        } else {
            at.wide() as i64
        };
        let size = self.size;
        let inside = match self.padding {
            Padding::Zeros if (0..size).contains(&at) => at,
            Padding::Zeros => return NOWHERE,
            Padding::Border => at.clamp(0, size - 1),
            Padding::Reflection if self.align_corners => {
                let period = if size == 1 { 1 } else { 2 * (size - 1) };
                let at = (at % period).abs();
                if at >= size { period - at } else { at }
            }
            Padding::Reflection => {
                let at = at.rem_euclid(2 * size);
                if at >= size { 2 * size - 1 - at } else { at }
            }
        };
        usize::try_from(inside).map_or(NOWHERE, |at| at * self.stride)
    }

    fn linear<T: Real>(&self, x: T) -> Neighbours<T, 2> {
        let x = self.coordinate(x);
        let low = x.floor();
        Neighbours {
            places: [self.place(low), self.place(low + T::one())],
            weights: [T::one() - (x - low), x - low],
        }
    }

    fn cubic<T: Real>(&self, x: T) -> Neighbours<T, 4> {
        let x = self.coordinate(x);
        let low = x.floor();
        Neighbours {
            places: [-1.0, 0.0, 1.0, 2.0].map(|step| self.place(low + T::of(step))),
            weights: cubic_weights(x - low, T::of(-0.75)),
        }
    }

    /// The nearest pixel; of two the even one.
    fn nearest<T: Real>(&self, x: T) -> usize {
        let x = self.coordinate(x);
        let tie = (x - x.trunc()).abs() == T::of(0.5);
        let half = T::of(0.5);
        self.place(if tie {
            (x * half).round() * T::of(2.0)
        } else {
            x.round()
        })
    }
}

impl GridSample {
    /// Height and width of an image.
    fn axes(&self, shape: &[usize]) -> [Axis; 2] {
        let axis = |size: usize, stride| Axis {
            size: i64::try_from(size).unwrap_or(i64::MAX),
            stride,
            align_corners: self.align_corners,
            padding: self.padding_mode,
        };
        [axis(shape[2], shape[3]), axis(shape[3], 1)]
    }

    /// What `f` makes of each point of each image.
    fn points<G: Real, P>(
        &self,
        grid: &Tensor,
        shape: &[usize],
        f: impl Fn(&Axis, G) -> P,
    ) -> Result<Vec<Vec<[P; 2]>>, OpError> {
        let [height, width] = self.axes(shape);
        let grid = convert(grid, G::TYPE)?;
        let grid = grid.as_slice::<G>()?;
        let point = |point: &[G; 2]| [f(&height, point[1]), f(&width, point[0])];
        let images = grid.chunks_exact((grid.len() / shape[0]).max(1));
        try_collect_ok(images.map(|image| try_collect(image.as_chunks().0.iter().map(point))))
    }

    fn nearest(&self, data: &Tensor, grid: &Tensor, out: &mut Tensor) -> Result<(), OpError> {
        let shape = data.shape();
        let points = in_real!(grid.element_type(), G => {
            self.points::<G, usize>(grid, shape, |axis, x| axis.nearest(x))
        })?;
        let places =
            |points: Vec<[usize; 2]>| try_collect(points.into_iter().map(|[y, x]| place(y, x)));
        let nearest = Nearest {
            area: shape[2] * shape[3],
            planes: shape[1],
            points: try_collect_ok(points.into_iter().map(places))?,
        };
        move_elements(&nearest, &[data], std::slice::from_mut(out))
    }

    /// Samples weighted neighbours.
    fn weighted<T: Real, const N: usize>(
        data: &Tensor,
        points: &[Points<T, N>],
        out: &mut Tensor,
    ) -> Result<(), OpError> {
        let shape = data.shape();
        let (area, planes) = (shape[2] * shape[3], shape[1]);
        let data = convert(data, T::TYPE)?;
        fill::<T, _>(out, |out| {
            sample(data.as_slice()?, area, planes, points, out);
            Ok(())
        })
    }
}

impl Op for GridSample {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, grid] = inputs else {
            bail!("expected 2 inputs (data, grid), got {}", inputs.len());
        };
        let ty = data.element_type;
        ensure!(
            self.mode == Mode::Nearest || ty.is_numeric() || !ty.is_static(),
            "data must be numbers, got {ty}"
        );
        ensure!(
            grid.element_type.is_float() || !grid.element_type.is_static(),
            "the grid must be floats, got {}",
            grid.element_type
        );
        for (what, input) in [("data", data), ("the grid", grid)] {
            ensure!(
                input.rank().is_none_or(|rank| rank == 4),
                "{what} must have 4 dimensions, got shape {}",
                input.shape
            );
        }
        let unknown = [Dimension::dynamic(); 4];
        let image = data.shape.dims().unwrap_or(&unknown);
        let points = grid.shape.dims().unwrap_or(&unknown);
        ensure!(
            points[3].contains(2),
            "the grid must hold pairs in its last dimension, got shape {}",
            grid.shape
        );
        let Some(batch) = image[0].intersect(points[0]) else {
            bail!(
                "data has {} images, the grid is for {}",
                image[0],
                points[0]
            );
        };
        let out = PartialShape::from(&[batch, image[1], points[1], points[2]][..]);
        for size in &image[2..] {
            ensure!(
                size.max() != Some(0) || out.elements().min() == 0,
                "an image of shape {} has no pixels",
                data.shape
            );
        }
        Ok(Output::single(ty, out))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let ([data, grid], out) = ([io.inputs[0], io.inputs[1]], &mut io.outputs[0]);
        if out.is_empty() {
            return Ok(());
        }
        let wide = [data.element_type(), grid.element_type()].contains(&ElementType::F64);
        let ty = if wide {
            ElementType::F64
        } else {
            ElementType::F32
        };
        let shape = data.shape();
        match self.mode {
            Mode::Nearest => self.nearest(data, grid, out),
            Mode::Bilinear => in_real!(ty, T => {
                let points = self.points::<T, _>(grid, shape, |axis, x| axis.linear(x))?;
                Self::weighted::<T, 2>(data, &points, out)
            }),
            Mode::Bicubic => in_real!(ty, T => {
                let points = self.points::<T, _>(grid, shape, |axis, x| axis.cubic(x))?;
                Self::weighted::<T, 4>(data, &points, out)
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{infer_dims, run, shape};

    fn sampled(op: &GridSample, points: &[[f32; 2]]) -> Vec<f32> {
        // 0 1 2
        // 3 4 5
        let image: Vec<f32> = (0..6).map(|i| i as f32).collect();
        let image = Tensor::new([1, 1, 2, 3], &image).expect("six");
        let flat: Vec<f32> = points.iter().flatten().copied().collect();
        let grid = Tensor::new([1, 1, points.len(), 2], &flat).expect("pairs");
        let result = run(op, &[image, grid]).expect("good");
        result.as_slice().expect("f32").to_vec()
    }

    #[test]
    fn modes_and_paddings() {
        let op = |mode, padding_mode, align_corners| GridSample {
            align_corners,
            mode,
            padding_mode,
        };
        let corners = [[-1.0, -1.0], [1.0, 1.0], [0.0, 0.0], [0.5, -1.0]];
        let bilinear = |padding, align| sampled(&op(Mode::Bilinear, padding, align), &corners);
        assert_eq!(bilinear(Padding::Zeros, true), [0.0, 5.0, 2.5, 1.5]);
        assert_eq!(bilinear(Padding::Zeros, false), [0.0, 1.25, 2.5, 0.875]);
        assert_eq!(bilinear(Padding::Border, false), [0.0, 5.0, 2.5, 1.75]);
        assert_eq!(bilinear(Padding::Reflection, false), [0.0, 5.0, 2.5, 1.75]);
        // At columns -1, -2, 3, 4, -5 of the first row.
        let outside: Vec<[f32; 2]> = [-2.0, -3.0, 2.0, 3.0, -6.0].map(|x| [x, -1.0]).to_vec();
        let nearest = |padding| sampled(&op(Mode::Nearest, padding, true), &outside);
        assert_eq!(nearest(Padding::Zeros), [0.0; 5]);
        assert_eq!(nearest(Padding::Border), [0.0, 0.0, 2.0, 2.0, 0.0]);
        assert_eq!(nearest(Padding::Reflection), [1.0, 2.0, 1.0, 0.0, 1.0]);
        let outside: Vec<[f32; 2]> = [-4.0, -6.0, 4.0, 6.0, -12.0]
            .map(|x: f32| [x / 3.0, -0.5])
            .to_vec();
        let nearest = |padding| sampled(&op(Mode::Nearest, padding, false), &outside);
        assert_eq!(nearest(Padding::Reflection), [0.0, 1.0, 2.0, 1.0, 1.0]);
        // Ties go to even pixels, no numbers nowhere.
        let ties = [
            [-0.5, -1.0],
            [0.5, -1.0],
            [f32::NAN, -1.0],
            [0.0, f32::INFINITY],
        ];
        let result = sampled(&op(Mode::Nearest, Padding::Zeros, true), &ties);
        assert_eq!(result, [0.0, 2.0, 0.0, 0.0]);
        // A cubic through the centers.
        let centers = [[-1.0, -1.0], [0.0, -1.0], [1.0, 1.0], [f32::NAN, 0.0]];
        let result = sampled(&op(Mode::Bicubic, Padding::Border, true), &centers);
        assert_eq!(result[..3], [0.0, 1.0, 5.0]);
        assert!(result[3].is_nan());
    }

    #[test]
    fn batches_channels_and_types() {
        let image: Vec<i32> = (0..24).collect();
        let image = Tensor::new([2, 3, 2, 2], &image).expect("24");
        let grid = Tensor::new([2, 1, 1, 2], &[-1f32, 1.0, 0.0, 0.0]).expect("two pairs");
        let op = GridSample {
            align_corners: true,
            ..GridSample::default()
        };
        let result = run(&op, &[image.clone(), grid.clone()]).expect("good");
        // The left lower pixel of one, the middle of the other, 13.5, cut off.
        assert_eq!(result.as_slice::<i32>(), Ok(&[2, 6, 10, 13, 17, 21][..]));
        let nearest = GridSample {
            mode: Mode::Nearest,
            ..op
        };
        let result = run(&nearest, &[image, grid]).expect("good");
        assert_eq!(result.as_slice::<i32>(), Ok(&[2, 6, 10, 12, 16, 20][..]));
    }

    #[test]
    fn inference() {
        let op = GridSample::default();
        let f32 = ElementType::F32;
        let (data, grid) = (shape("?,8,?,?"), shape("2,20,4,2"));
        let inputs = [Input::new(f32, &data), Input::new(f32, &grid)];
        assert_eq!(infer_dims(&op, &inputs), "[2,8,20,4]");
        let unknown = shape("...");
        let inputs = [Input::new(f32, &data), Input::new(f32, &unknown)];
        assert_eq!(infer_dims(&op, &inputs), "[?,8,?,?]");
        for (data, grid) in [
            ("1,2,3,4", "2,3,3,2"),
            ("1,2,3,4", "1,3,3,3"),
            ("1,2,3", "1,3,3,2"),
            ("1,2,0,4", "1,3,3,2"),
        ] {
            let (data, grid) = (shape(data), shape(grid));
            let inputs = [Input::new(f32, &data), Input::new(f32, &grid)];
            assert!(op.infer(&inputs).is_err(), "{data} {grid}");
        }
    }
}
