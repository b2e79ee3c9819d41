//! Which axes a Fourier transform is along, and how long its signals are.

use crate::op::{Input, OpError, bail, ensure, normalize_axis};
use crate::tensor::{Dimension, ElementType, Tensor, ValueRange};

/// The inputs of a transform.
pub(super) struct Inputs<'a, I> {
    pub(super) data: &'a I,
    axes: &'a I,
    signal_size: Option<&'a I>,
}

pub(super) fn inputs<I>(inputs: &[I]) -> Result<Inputs<'_, I>, OpError> {
    match inputs {
        [data, axes] => Ok(Inputs {
            data,
            axes,
            signal_size: None,
        }),
        [data, axes, signal_size] => Ok(Inputs {
            data,
            axes,
            signal_size: Some(signal_size),
        }),
        _ => bail!(
            "expected 2 or 3 inputs (data, axes, signal_size), got {}",
            inputs.len()
        ),
    }
}

/// Checks that elements are floats, or not known.
pub(super) fn expect_floats(what: &str, ty: ElementType) -> Result<(), OpError> {
    ensure!(
        ty.is_float() || ty == ElementType::Dynamic,
        "{what} must be floats, got {ty}"
    );
    Ok(())
}

/// The dimensions of complex data without the last, of which the parts are.
pub(super) fn complex_dims<'a>(data: &'a Input<'_>) -> Result<Option<&'a [Dimension]>, OpError> {
    match data.shape.dims() {
        None => Ok(None),
        Some([dims @ .., last]) if last.contains(2) && !dims.is_empty() => Ok(Some(dims)),
        Some(_) => bail!(
            "data has shape {}, expected two dimensions or more, the last of size 2",
            data.shape
        ),
    }
}

/// The length of signals along an axis, from what is known of it.
fn length(default: Dimension, given: Option<ValueRange>) -> Result<Dimension, OpError> {
    let Some(given) = given else {
        return Ok(default);
    };
    ensure!(
        given.max >= -1,
        "signal_size is {}, expected -1 or more",
        given.max
    );
    Ok(match given.value() {
        Some(-1) => default,
        _ if given.min >= 0 => given.to_dimension(),
        _ => default.union(given.to_dimension()),
    })
}

impl Inputs<'_, Input<'_>> {
    /// The dimensions of the output. `dims` are those of the data, `default` gives the length of
    /// signals where none is given, and `last` the dimension that the last axis gets from it.
    pub(super) fn infer(
        &self,
        dims: &[Dimension],
        default: impl Fn(Dimension, bool) -> Dimension,
        last: impl Fn(Dimension) -> Dimension,
    ) -> Result<Vec<Dimension>, OpError> {
        let count = self.check(dims.len())?;
        let sizes = match self.signal_size {
            None => vec![None; count.unwrap_or(0)],
            Some(sizes) => match sizes.ranges() {
                Some(ranges) => ranges.iter().map(|&range| Some(range)).collect(),
                None => vec![Some(ValueRange::UNKNOWN); count.unwrap_or(0)],
            },
        };
        let Some(axes) = self.axes.ints() else {
            // Any axis may be any of them, or none.
            let given = match self.signal_size {
                None => vec![None],
                Some(_) => vec![Some(ValueRange::UNKNOWN)],
            };
            let any = |&dim: &Dimension| -> Result<Dimension, OpError> {
                let mut any = dim;
                for given in &given {
                    any = any.union(length(default(dim, false), *given)?);
                    any = any.union(last(length(default(dim, true), *given)?));
                }
                Ok(any)
            };
            return dims.iter().map(any).collect();
        };
        let axes = distinct(&axes, dims.len())?;
        let mut out = dims.to_vec();
        for (i, &axis) in axes.iter().enumerate() {
            let is_last = i + 1 == axes.len();
            let given = sizes.get(i).copied().flatten();
            let length = length(default(dims[axis], is_last), given)?;
            out[axis] = if is_last { last(length) } else { length };
        }
        Ok(out)
    }

    /// Checks axes and signal_size as far as they can be without data.
    pub(super) fn check(&self, most: usize) -> Result<Option<usize>, OpError> {
        let axes = self.check_shapes()?;
        if let Some(count) = axes {
            ensure!(
                count <= most,
                "there are {count} axes, expected at most {most}"
            );
        }
        Ok(axes)
    }

    /// As [`Self::check`], without knowing the rank.
    pub(super) fn check_shapes(&self) -> Result<Option<usize>, OpError> {
        let axes = self.axes.rank_given("axes")?;
        let Some(signal_size) = self.signal_size else {
            return Ok(axes);
        };
        let sizes = signal_size.rank_given("signal_size")?;
        if let (Some(axes), Some(sizes)) = (axes, sizes) {
            ensure!(
                axes == sizes,
                "signal_size has {sizes} numbers, expected {axes}, one for each of the axes"
            );
        }
        Ok(axes.or(sizes))
    }
}

impl Inputs<'_, &Tensor> {
    /// The axes, and the length of signals along each, `None` where none is given.
    pub(super) fn known(&self, rank: usize) -> Result<Vec<(usize, Option<usize>)>, OpError> {
        let ints = |tensor: &Tensor| Input::of(tensor).ints().unwrap_or_default();
        let axes = distinct(&ints(self.axes), rank)?;
        let sizes = self.signal_size.map(|tensor| ints(tensor));
        let sizes = sizes.unwrap_or_else(|| smallvec::smallvec![-1; axes.len()]);
        let sizes = sizes.iter().map(|&size| usize::try_from(size).ok());
        Ok(axes.into_iter().zip(sizes).collect())
    }
}

/// The axes, none of them twice.
fn distinct(axes: &[i64], rank: usize) -> Result<Vec<usize>, OpError> {
    let mut seen = vec![false; rank];
    axes.iter()
        .map(|&axis| {
            let axis = normalize_axis(axis, rank)?;
            ensure!(!seen[axis], "axis {axis} is given twice");
            seen[axis] = true;
            Ok(axis)
        })
        .collect()
}
