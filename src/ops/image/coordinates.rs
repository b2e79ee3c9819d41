//! Where the positions of a resized axis lie on the axis before, and what they are made of.

use serde::{Deserialize, Serialize};

use crate::kernel::real::Real;
use crate::kernel::resample::Taps;
use crate::kernel::scratch::{Reused, reused_all, reused_room};
use crate::op::OpError;

/// How elements between elements are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mode {
    Nearest,
    Linear,
    LinearOnnx,
    Cubic,
    BilinearPillow,
    BicubicPillow,
}

/// Where a position lies on the axis before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Transformation {
    #[default]
    HalfPixel,
    PytorchHalfPixel,
    Asymmetric,
    TfHalfPixelForNn,
    AlignCorners,
}

/// How a coordinate becomes a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum NearestMode {
    #[default]
    RoundPreferFloor,
    RoundPreferCeil,
    Floor,
    Ceil,
    Simple,
}

/// An axis that is resized; its sizes count the padding.
#[derive(Debug, Clone, Copy)]
pub(super) struct Resized<T> {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) scale: T,
    pub(super) transformation: Transformation,
}

impl<T: Real> Resized<T> {
    /// The coordinate that a position lies at. An axis that keeps its size stays as it is.
    fn coordinate(&self, position: usize) -> T {
        let number = |n: usize| T::from_usize(n).unwrap_or_else(T::infinity);
        let (x, half) = (number(position), T::of(0.5));
        if self.from == self.to || self.scale == T::one() {
            return x;
        }
        match self.transformation {
            Transformation::HalfPixel => (x + half) / self.scale - half,
            Transformation::PytorchHalfPixel if self.to > 1 => (x + half) / self.scale - half,
            Transformation::Asymmetric => x / self.scale,
            Transformation::TfHalfPixelForNn => (x + half) / self.scale,
            Transformation::AlignCorners if self.to > 1 => {
                x * (number(self.from) - T::one()) / (number(self.to) - T::one())
            }
            Transformation::PytorchHalfPixel | Transformation::AlignCorners => T::zero(),
        }
    }

    fn last(&self) -> i64 {
        i64::try_from(self.from).map_or(i64::MAX, |size| size - 1)
    }

    fn taps(&self, f: impl Fn(T) -> Result<Taps<T>, OpError>) -> Result<Reused<Taps<T>>, OpError> {
        each((0..self.to).map(|i| f(self.coordinate(i))))
    }

    /// The nearest position of each.
    pub(super) fn nearest(&self, mode: NearestMode) -> Result<Reused<i64>, OpError> {
        let shrinks = self.scale < T::one();
        let half = T::of(0.5);
        let nearest = |x: T| match mode {
            NearestMode::RoundPreferFloor if x == x.trunc() + half => x.floor(),
            NearestMode::RoundPreferFloor | NearestMode::RoundPreferCeil => x.round(),
            NearestMode::Simple if !shrinks => x.trunc(),
            NearestMode::Ceil | NearestMode::Simple => x.ceil(),
            NearestMode::Floor => x.floor(),
        };
        let places = (0..self.to).map(|i| integer(nearest(self.coordinate(i))));
        reused_all(places.map(|at| at.clamp(0, self.last())))
    }

    /// The two neighbours.
    pub(super) fn linear_onnx(&self) -> Result<Reused<Taps<T>>, OpError> {
        let last = T::from_i64(self.last()).unwrap_or_else(T::infinity);
        self.taps(|x| {
            let x = x.min(last).max(T::zero());
            let low = integer(x).min(self.last());
            let high = (low + 1).min(self.last());
            if low == high {
                return few([(low, T::of(0.5)), (high, T::of(0.5))]);
            }
            let distance = |at: i64| (x - T::from_i64(at).unwrap_or(x)).abs();
            few([(low, distance(high)), (high, distance(low))])
        })
    }

    /// What lies under a triangle around the coordinate, which is `1 / narrowness` wide to either
    /// side. The weights do not add up to 1 yet.
    pub(super) fn linear(&self, narrowness: T) -> Result<Reused<Taps<T>>, OpError> {
        let reach = if self.scale > T::one() {
            2
        } else {
            integer((T::of(2.0) / narrowness).ceil())
        };
        self.taps(|x| {
            let middle = integer(x.round());
            let from = middle.saturating_sub(reach).max(0);
            let to = middle.saturating_add(reach).min(self.last());
            let taps = (from..=to).map(|at| {
                let distance = (narrowness * (x - T::from_i64(at).unwrap_or(x))).abs();
                (at, (T::one() - distance).max(T::zero()))
            });
            few(taps.filter(|&(_, weight)| weight > T::zero()))
        })
    }

    /// Four neighbours, by the cubic convolution with this parameter. Those outside are the nearest
    /// inside.
    pub(super) fn cubic(&self, a: T) -> Result<Reused<Taps<T>>, OpError> {
        self.taps(|x| {
            let low = x.floor();
            let weights = cubic_weights(x - low, a);
            let positions = (-1..).map(|i| integer(low).saturating_add(i));
            let taps = positions.map(|at| at.clamp(0, self.last())).zip(weights);
            few(taps)
        })
    }

    /// What lies under a function around the coordinate that is stretched as the axis shrinks, as
    /// Pillow resizes. The weights add up to 1.
    pub(super) fn pillow(
        &self,
        support: f64,
        f: impl Fn(f64) -> f64,
    ) -> Result<Reused<Taps<T>>, OpError> {
        let number = |n: i64| n as f64;
        let scale = number(self.last() + 1) / self.to as f64;
        let stretch = scale.max(1.0);
        let support = support * stretch;
        each((0..self.to).map(|i| {
            let center = (i as f64 + 0.5) * scale;
            let from = ((center - support + 0.5) as i64).max(0);
            let to = ((center + support + 0.5) as i64).min(self.last() + 1);
            let weight = |at| f((number(at) - center + 0.5) / stretch);
            let sum: f64 = (from..to).map(weight).sum();
            let sum = if sum == 0.0 { 1.0 } else { sum };
            few((from..to).map(|at| (at, T::of(weight(at) / sum))))
        }))
    }
}

/// What a position is made of.
pub(super) fn few<T>(items: impl IntoIterator<Item = (i64, T)>) -> Result<Taps<T>, OpError> {
    let mut taps = Taps::new();
    for item in items {
        if taps.len() == taps.capacity() {
            let grown = taps.try_reserve(1);
            grown.map_err(|_| OpError::limit("cannot allocate the weights of a position"))?;
        }
        taps.push(item);
    }
    Ok(taps)
}

/// What each position is made of.
pub(super) fn each<T>(
    taps: impl ExactSizeIterator<Item = Result<Taps<T>, OpError>>,
) -> Result<Reused<Taps<T>>, OpError> {
    let mut all = reused_room(taps.len())?;
    for taps in taps {
        all.push(taps?);
    }
    Ok(all)
}

/// The weights of the four neighbours of a coordinate that is `x` beyond the second.
pub(super) fn cubic_weights<T: Real>(x: T, a: T) -> [T; 4] {
    let n = T::of;
    let outer = |x: T| ((a * x - n(5.0) * a) * x + n(8.0) * a) * x - n(4.0) * a;
    let inner = |x: T| ((a + n(2.0)) * x - (a + n(3.0))) * x * x + n(1.0);
    [
        outer(x + n(1.0)),
        inner(x),
        inner(n(1.0) - x),
        outer(n(2.0) - x),
    ]
}

/// The function of Pillow's bilinear resizing, which reaches 1 to both sides.
pub(super) fn triangle(x: f64) -> f64 {
    (1.0 - x.abs()).max(0.0)
}

/// The function of Pillow's bicubic resizing, which reaches 2 to both sides.
pub(super) fn bicubic(x: f64, a: f64) -> f64 {
    match x.abs() {
        x if x < 1.0 => ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0,
        x if x < 2.0 => (((x - 5.0) * x + 8.0) * x - 4.0) * a,
        _ => 0.0,
    }
}

/// The integer that a whole number is; what no `i64` holds is its nearest end.
fn integer<T: Real>(x: T) -> i64 {
    x.wide() as i64
}

/// Makes the weights of each position add up to 1; without any, nothing is left.
pub(super) fn normalized<T: Real>(mut taps: Reused<Taps<T>>) -> Reused<Taps<T>> {
    for taps in taps.iter_mut() {
        let sum = taps
            .iter()
            .fold(T::zero(), |sum, &(_, weight)| sum + weight);
        if sum == T::zero() {
            taps.clear();
        }
        taps.iter_mut().for_each(|(_, weight)| *weight /= sum);
    }
    taps
}
