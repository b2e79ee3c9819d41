//! The geometry of sliding windows that convolutions and poolings share: from attributes to the
//! sizes of outputs, and to the windows of a kernel.

use serde::{Deserialize, Serialize};
use smallvec::smallvec;

use crate::kernel::window::Axis;
use crate::op::{OpError, bail, ensure};
use crate::tensor::{Dimension, Few, PartialShape};

/// How pads are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AutoPad {
    /// They are given.
    #[default]
    Explicit,
    /// There is a window for every stride; an odd element is padded at the end.
    SameUpper,
    /// There is a window for every stride; an odd element is padded at the beginning.
    SameLower,
    /// There are none.
    Valid,
}

impl AutoPad {
    /// Whether the pads follow from the sizes.
    fn is_same(self) -> bool {
        matches!(self, Self::SameUpper | Self::SameLower)
    }
}

/// What becomes of a last window that is only partly there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Rounding {
    /// It is left out.
    #[default]
    Floor,
    /// It counts.
    Ceil,
    /// It counts, unless it begins behind the data.
    CeilTorch,
}

/// No attribute or size beyond this is computed with.
const MOST: i128 = 1 << 56;

/// The attributes of a sliding window, as given: one number for each axis, or none at all.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sliding<'a> {
    pub(super) strides: &'a [i64],
    pub(super) dilations: &'a [i64],
    pub(super) pads_begin: &'a [i64],
    pub(super) pads_end: &'a [i64],
    pub(super) auto_pad: AutoPad,
    pub(super) rounding: Rounding,
}

impl Sliding<'_> {
    /// The number of axes, if any attribute gives it.
    pub(super) fn rank(&self) -> Option<usize> {
        let lists = [self.strides, self.dilations, self.pads_begin, self.pads_end];
        lists.iter().map(|list| list.len()).find(|&len| len > 0)
    }

    /// The attributes of each axis.
    ///
    /// # Errors
    /// When one has another length than `rank`, or is out of its range.
    pub(super) fn axes(&self, rank: usize) -> Result<Few<Slide>, OpError> {
        let strides = numbers("strides", self.strides, rank, 1)?;
        let dilations = numbers("dilations", self.dilations, rank, 1)?;
        let mut begin: Few<i128> = smallvec![0; rank];
        let mut end: Few<i128> = smallvec![0; rank];
        if self.auto_pad == AutoPad::Explicit {
            begin = numbers("pads_begin", self.pads_begin, rank, 0)?;
            end = numbers("pads_end", self.pads_end, rank, 0)?;
        }
        let axes = (0..rank).map(|axis| Slide {
            axis,
            stride: strides[axis],
            dilation: dilations[axis],
            pads: [begin[axis], end[axis]],
            auto_pad: self.auto_pad,
            rounding: self.rounding,
        });
        Ok(axes.collect())
    }
}

/// A list of one number for each axis, all at least `least`; an empty one means `least`.
///
/// # Errors
/// When the list has another length, or a number is out of range.
pub(super) fn numbers(
    name: &str,
    list: &[i64],
    rank: usize,
    least: i64,
) -> Result<Few<i128>, OpError> {
    if list.is_empty() {
        return Ok(smallvec![i128::from(least); rank]);
    }
    ensure!(
        list.len() == rank,
        "{name} has {} numbers, expected {rank}, one for each spatial axis",
        list.len()
    );
    list.iter()
        .map(|&x| {
            ensure!(x >= least, "{name} has {x}, expected {least} or more");
            let x = i128::from(x);
            ensure!(x <= MOST, "{name} has {x}, expected at most {MOST}");
            Ok(x)
        })
        .collect()
}

/// How a window slides along one axis.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slide {
    axis: usize,
    stride: i128,
    dilation: i128,
    pads: [i128; 2],
    auto_pad: AutoPad,
    rounding: Rounding,
}

impl Slide {
    /// The elements from the first tap of a window to the last.
    fn extent(&self, kernel: usize) -> i128 {
        (kernel as i128 - 1).saturating_mul(self.dilation) + 1
    }

    /// The pads, before and behind, for an axis of `size` elements.
    fn pads(&self, size: usize, kernel: usize) -> [i128; 2] {
        if !self.auto_pad.is_same() {
            return self.pads;
        }
        let windows = (size as i128 + self.stride - 1) / self.stride;
        let reach = (windows - 1) * self.stride + self.extent(kernel);
        split(
            (reach - size as i128).max(0),
            self.auto_pad == AutoPad::SameUpper,
        )
    }

    /// The number of windows.
    fn output(&self, size: usize, kernel: usize) -> Result<usize, OpError> {
        ensure!(
            kernel > 0,
            "the kernel has no elements along axis {}",
            self.axis
        );
        if self.auto_pad.is_same() && size == 0 {
            return Ok(0);
        }
        let (extent, pads) = (self.extent(kernel), self.pads(size, kernel));
        let padded = size as i128 + pads[0] + pads[1];
        ensure!(
            extent <= padded,
            "the kernel spans {extent} elements of axis {}, expected at most {padded}",
            self.axis
        );
        ensure!(
            padded <= 2 * MOST,
            "axis {} has {padded} elements",
            self.axis
        );
        let rest = padded - extent;
        let mut windows = match self.rounding {
            Rounding::Floor => rest / self.stride + 1,
            Rounding::Ceil | Rounding::CeilTorch => (rest + self.stride - 1) / self.stride + 1,
        };
        let last = (windows - 1) * self.stride;
        if self.rounding == Rounding::CeilTorch && last >= size as i128 + pads[0] && windows > 1 {
            windows -= 1;
        }
        usize::try_from(windows).map_err(|_| OpError::limit("there are too many windows"))
    }

    /// The number of windows, as far as it is known.
    ///
    /// # Errors
    /// When there can be none.
    pub(super) fn infer(&self, size: Dimension, kernel: Dimension) -> Result<Dimension, OpError> {
        if let (Some(size), Some(kernel)) = (size.value(), kernel.value()) {
            return self.output(size, kernel).map(Dimension::fixed);
        }
        ensure!(
            kernel.max() != Some(0),
            "the kernel has no elements along axis {}",
            self.axis
        );
        if self.keeps(kernel) {
            return Ok(size);
        }
        let least_kernel = kernel.min().max(1);
        let most = match size.max() {
            Some(size) => Some(self.output(size, least_kernel)?),
            None => None,
        };
        let least_size = size.min();
        let least = match kernel.max() {
            // With pads that make up for the kernel, its size does not matter.
            None if self.auto_pad.is_same() => self.output(least_size, least_kernel),
            None => Ok(1),
            Some(kernel) => self.output(least_size, kernel),
        };
        // Where the smallest size has no window, some larger one has the first.
        Ok(Dimension::range(least.unwrap_or(1), most))
    }

    /// Whether there is a window for every element, whatever the size.
    fn keeps(&self, kernel: Dimension) -> bool {
        let [begin, end] = self.pads;
        let made_up = |kernel| begin + end == self.extent(kernel) - 1;
        self.stride == 1 && (self.auto_pad.is_same() || kernel.value().is_some_and(made_up))
    }

    /// The windows along an axis whose output was inferred.
    pub(super) fn resolve(&self, input: usize, kernel: usize, output: usize) -> Axis {
        let [pad, _] = self.pads(input, kernel);
        self.axis(input, kernel, output, pad)
    }

    fn axis(&self, input: usize, kernel: usize, output: usize, pad: i128) -> Axis {
        // All are at least zero and checked to be no more than `MOST`.
        let number = |x: i128| usize::try_from(x).unwrap_or(0);
        Axis {
            input,
            kernel,
            output,
            stride: number(self.stride),
            dilation: number(self.dilation),
            pad: number(pad),
        }
    }

    /// Whether anything is padded.
    pub(super) fn is_padded(&self, input: usize, kernel: usize) -> bool {
        self.pads(input, kernel) != [0, 0]
    }

    /// The size that windows of as many taps cover, before anything is cut off.
    fn reach(&self, windows: usize, kernel: usize) -> i128 {
        (windows as i128 - 1) * self.stride + self.extent(kernel)
    }

    /// The size that a transposed convolution gives, with `more` elements behind.
    fn back(&self, windows: usize, kernel: usize, more: i128) -> Result<usize, OpError> {
        ensure!(
            kernel > 0,
            "the kernel has no elements along axis {}",
            self.axis
        );
        if windows == 0 {
            return Ok(0);
        }
        let size = self.reach(windows, kernel) - self.pads[0] - self.pads[1] + more;
        ensure!(
            size >= 0,
            "the pads of axis {} are larger than the output",
            self.axis
        );
        match usize::try_from(size) {
            Ok(size) if i128::from(size as u64) <= MOST => Ok(size),
            _ => Err(OpError::limit("the output is too large")),
        }
    }

    /// The size that a transposed convolution gives, as far as it is known.
    ///
    /// # Errors
    /// When there can be none.
    pub(super) fn infer_back(
        &self,
        windows: Dimension,
        kernel: Dimension,
        more: i128,
    ) -> Result<Dimension, OpError> {
        ensure!(
            kernel.max() != Some(0),
            "the kernel has no elements along axis {}",
            self.axis
        );
        if let (Some(windows), Some(kernel)) = (windows.value(), kernel.value()) {
            return self.back(windows, kernel, more).map(Dimension::fixed);
        }
        let [begin, end] = self.pads;
        let made_up = |kernel| self.extent(kernel) - 1 - begin - end + more == 0;
        if self.stride == 1 && kernel.value().is_some_and(made_up) {
            return Ok(windows);
        }
        let most = match (windows.max(), kernel.max()) {
            (Some(windows), Some(kernel)) => Some(self.back(windows, kernel, more)?),
            _ => None,
        };
        let least = self.back(windows.min(), kernel.min().max(1), more);
        Ok(Dimension::range(least.unwrap_or(0), most))
    }

    /// The windows of the convolution that one to `size` elements is the transpose of. Pads are
    /// those given, or, if the `size` is, what makes up for it.
    pub(super) fn resolve_back(
        &self,
        size: usize,
        kernel: usize,
        windows: usize,
        given: Option<i128>,
    ) -> Axis {
        let pad = match given {
            None => self.pads[0],
            Some(more) => {
                let total = self.reach(windows, kernel) - size as i128 + more;
                split(total.max(0), self.auto_pad != AutoPad::SameUpper)[0]
            }
        };
        self.axis(size, kernel, windows, pad)
    }
}

/// A total of pads in two halves; an odd one is in the second if `upper`.
fn split(total: i128, upper: bool) -> [i128; 2] {
    let (small, large) = (total / 2, total - total / 2);
    if upper {
        [small, large]
    } else {
        [large, small]
    }
}

/// The spatial axes that the data, if its rank is known, and other lists say there are.
///
/// # Errors
/// When they differ, or the data has not one to three.
pub(super) fn spatial_rank(
    data: &PartialShape,
    others: &[(&str, Option<usize>)],
) -> Result<Option<usize>, OpError> {
    let mut found = None;
    if let Some(rank) = data.rank() {
        ensure!(
            (3..=5).contains(&rank),
            "data must have 3 to 5 dimensions, got shape {data}"
        );
        found = Some(rank - 2);
    }
    for &(name, rank) in others {
        let Some(rank) = rank else { continue };
        match found {
            None if (1..=3).contains(&rank) => found = Some(rank),
            None => bail!("{name} has {rank} spatial axes, expected 1 to 3"),
            Some(expected) if rank == expected => {}
            Some(expected) => bail!("{name} has {rank} spatial axes, expected {expected}"),
        }
    }
    Ok(found)
}

/// Evaluates an expression with `$T` standing for the type to compute in.
macro_rules! in_lane {
    ($element_type:expr, $T:ident => $body:expr) => {{
        use $crate::kernel::dispatch::{Lane, lane};
        match lane($element_type) {
            Some(Lane::F32) => {
                type $T = f32;
                $body
            }
            Some(Lane::F64) => {
                type $T = f64;
                $body
            }
            Some(Lane::I32) => {
                type $T = i32;
                $body
            }
            Some(Lane::I64) => {
                type $T = i64;
                $body
            }
            Some(Lane::U64) => {
                type $T = u64;
                $body
            }
            None => $crate::op::bail!("{} is not a type of numbers", $element_type),
        }
    }};
}

pub(super) use in_lane;

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
