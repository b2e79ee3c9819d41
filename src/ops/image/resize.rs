//! The evaluation that all versions of Interpolate share.

use super::coordinates::{
    Mode, NearestMode, Resized, Transformation, bicubic, each, few, normalized, triangle,
};
use crate::kernel::gather::OUTSIDE;
use crate::kernel::moving::move_elements;
use crate::kernel::pick::Pick;
use crate::kernel::real::Real;
use crate::kernel::resample::{Band, Direct, Pass, Taps, resample};
use crate::kernel::scratch::{Reused, reused_all};
use crate::op::{OpError, ensure};
use crate::ops::floats::{fill, in_real, real};
use crate::ops::interval::bounds;
use crate::tensor::convert::{convert, convert_into};
use crate::tensor::{ElementType, Few, Tensor};

/// How axes are resized.
#[derive(Debug, Clone, Copy)]
pub(super) struct Resize {
    pub(super) mode: Mode,
    pub(super) transformation: Transformation,
    pub(super) nearest_mode: NearestMode,
    pub(super) antialias: bool,
    pub(super) cube_coeff: f64,
}

/// One axis that is resized, padded or both.
#[derive(Debug, Clone, Copy)]
struct Axis {
    axis: usize,
    /// Its size and how many positions are put before it.
    size: usize,
    before: usize,
    /// The size with all padding, and the new size.
    padded: usize,
    to: usize,
    scale: Scale,
}

/// The factor of an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Scale {
    /// None: the axis is only padded.
    Kept,
    /// The quotient of the sizes.
    OfSizes,
    Given(f32),
}

impl Axis {
    fn resized<T: Real>(&self, transformation: Transformation) -> Resized<T> {
        let number = |n: usize| T::from_usize(n).unwrap_or_else(T::infinity);
        let scale = match self.scale {
            Scale::Kept => T::one(),
            Scale::OfSizes => number(self.to) / number(self.padded),
            Scale::Given(scale) => T::of(scale.into()),
        };
        Resized {
            from: self.padded,
            to: self.to,
            scale,
            transformation,
        }
    }

    /// The positions as they are.
    fn kept<T: Real>(&self) -> Result<Reused<Taps<T>>, OpError> {
        each((0..self.to).map(|at| few([(at as i64, T::one())])))
    }
}

impl Resize {
    /// Checks the axes.
    pub(super) fn check(&self, axes: &[usize]) -> Result<(), OpError> {
        let pillow = matches!(self.mode, Mode::BilinearPillow | Mode::BicubicPillow);
        ensure!(
            !pillow || axes.len() == 2,
            "the modes of Pillow resize 2 axes (height, width), got {}",
            axes.len()
        );
        Ok(())
    }

    /// Resizes the image to the shape of `out`. Without scales they are the quotients of sizes.
    pub(super) fn run(
        &self,
        image: &Tensor,
        axes: &[usize],
        scales: Option<&[f32]>,
        [begin, end]: &[Few<usize>; 2],
        out: &mut Tensor,
    ) -> Result<(), OpError> {
        if out.is_empty() {
            return Ok(());
        }
        let shape = image.shape();
        let axis = |axis: usize, scale: Scale| Axis {
            axis,
            size: shape[axis],
            before: begin[axis],
            padded: shape[axis] + begin[axis] + end[axis],
            to: out.shape()[axis],
            scale,
        };
        let resized = axes.iter().enumerate();
        let mut all: Few<Axis> = resized
            .map(|(i, &a)| axis(a, scales.map_or(Scale::OfSizes, |s| Scale::Given(s[i]))))
            .collect();
        let others = (0..shape.rank()).filter(|a| !axes.contains(a));
        all.extend(
            others
                .filter(|&a| begin[a] + end[a] > 0)
                .map(|a| axis(a, Scale::Kept)),
        );
        let ty = image.element_type();
        match self.mode {
            Mode::Nearest => self.nearest(image, &all, out),
            Mode::BilinearPillow | Mode::BicubicPillow if !ty.is_float() => {
                self.pillow_integers(image, &all, out)
            }
            _ if !ty.is_float() => self.integers(image, &all, out),
            _ => in_real!(ty, T => fill::<T, _>(out, |out| {
                let image = real::<T>(image)?;
                let passes = self.passes::<T>(&all, shape.rank())?;
                resample(image.as_slice()?, shape, &passes, &|_| (), out);
                Ok(())
            })),
        }
    }

    fn nearest(&self, image: &Tensor, axes: &[Axis], out: &mut Tensor) -> Result<(), OpError> {
        let mut positions: Few<Option<Reused<usize>>> =
            (0..image.shape().rank()).map(|_| None).collect();
        for axis in axes {
            let nearest = match axis.scale {
                Scale::Kept => reused_all((0i64..).take(axis.to))?,
                _ => axis
                    .resized::<f32>(self.transformation)
                    .nearest(self.nearest_mode)?,
            };
            let place = |at: i64| {
                let at = usize::try_from(at).ok()?.checked_sub(axis.before)?;
                (at < axis.size).then_some(at)
            };
            let places = nearest.iter().map(|&at| place(at).unwrap_or(OUTSIDE));
            let places = reused_all(places)?;
            let kept = axis.size == axis.to && places.iter().enumerate().all(|(i, &at)| i == at);
            positions[axis.axis] = (!kept).then_some(places);
        }
        let pick = Pick::new(image.shape(), positions)?;
        move_elements(&pick, &[image], std::slice::from_mut(out))
    }

    /// How narrow the triangles of mode `linear` are along each axis: shrinking spreads them, if
    /// aliasing is to be avoided.
    fn narrowness<T: Real>(&self, axes: &[Axis]) -> Few<T> {
        let scales = axes
            .iter()
            .map(|axis| axis.resized::<T>(self.transformation).scale);
        let scales: Few<T> = scales.collect();
        if self.antialias && scales.iter().any(|&scale| scale < T::one()) {
            scales
        } else {
            Few::from_elem(T::one(), axes.len())
        }
    }

    /// What each position of an axis is made of.
    fn taps<T: Real>(&self, axis: &Axis, narrowness: T) -> Result<Reused<Taps<T>>, OpError> {
        if axis.scale == Scale::Kept {
            return axis.kept();
        }
        let resized = axis.resized::<T>(self.transformation);
        match self.mode {
            Mode::Nearest => Ok(Reused::default()),
            Mode::Linear => resized.linear(narrowness),
            Mode::LinearOnnx => resized.linear_onnx(),
            Mode::Cubic => resized.cubic(T::of(self.cube_coeff)),
            Mode::BilinearPillow => resized.pillow(1.0, triangle),
            Mode::BicubicPillow => resized.pillow(2.0, |x| bicubic(x, self.cube_coeff)),
        }
    }

    fn passes<T: Real>(&self, axes: &[Axis], rank: usize) -> Result<Few<Pass<T>>, OpError> {
        let mut passes = Few::new();
        for (axis, narrowness) in axes.iter().zip(self.narrowness::<T>(axes)) {
            let taps = normalized_if(self.mode == Mode::Linear, self.taps(axis, narrowness)?);
            if axis.size == axis.to && is_identity(&taps, axis.before) {
                continue;
            }
            passes.push(Pass {
                axis: axis.axis,
                band: Band::new(&taps, axis.before, axis.size)?,
            });
        }
        Pass::order(&mut passes, rank);
        Ok(passes)
    }

    /// Integers, to the bit as the runtime computes them: in `f32`, all axes at once.
    fn integers(&self, image: &Tensor, axes: &[Axis], out: &mut Tensor) -> Result<(), OpError> {
        let narrowness = self.narrowness::<f32>(axes);
        let out_shape = out.shape().clone();
        let linear = self.mode == Mode::Linear;
        let direct = Direct {
            axes: axes
                .iter()
                .zip(&narrowness)
                .map(|(axis, &narrow)| Ok((axis.axis, self.taps(axis, narrow)?, axis.before)))
                .collect::<Result<_, OpError>>()?,
            scale: if linear {
                narrowness.iter().product()
            } else {
                1.0
            },
            mean: linear,
            shape: image.shape(),
            out_shape: &out_shape,
        };
        let image = convert(image, ElementType::F32)?;
        fill::<f32, _>(out, |out| {
            direct.run(image.as_slice()?, out);
            if linear {
                out.iter_mut().for_each(|x| *x = x.round());
            }
            Ok(())
        })
    }

    /// Integers as Pillow computes them: rounded and clipped after the width, and after the height.
    #[allow(clippy::cast_precision_loss)]
    fn pillow_integers(
        &self,
        image: &Tensor,
        axes: &[Axis],
        out: &mut Tensor,
    ) -> Result<(), OpError> {
        let (lowest, highest) = bounds(image.element_type());
        let (lowest, highest) = (lowest as f64, highest as f64);
        let mut passes = self.passes::<f64>(axes, image.shape().rank())?;
        passes.sort_by_key(|pass| pass.axis != axes[1].axis);
        let wide = convert(image, ElementType::F64)?;
        let mut result = Tensor::zeros(ElementType::F64, out.shape().clone())?;
        let finish = |out: &mut [f64]| {
            for x in out {
                *x = x.round().clamp(lowest, highest);
            }
        };
        let to = result.as_mut_slice()?;
        resample(wide.as_slice()?, image.shape(), &passes, &finish, to);
        Ok(convert_into(&result, out)?)
    }
}

fn normalized_if<T: Real>(condition: bool, taps: Reused<Taps<T>>) -> Reused<Taps<T>> {
    if condition { normalized(taps) } else { taps }
}

/// Whether every position is made of itself alone.
fn is_identity<T: Real>(taps: &[Taps<T>], before: usize) -> bool {
    before == 0
        && (0i64..).zip(taps).all(|(i, taps)| {
            taps.iter()
                .all(|&(at, weight)| at == i || weight == T::zero())
                && taps.iter().fold(T::zero(), |sum, &(_, w)| sum + w) == T::one()
        })
}
