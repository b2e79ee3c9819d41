//! What convolutions share: batches, channels and groups of data and filters, and filters that are
//! constant.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::kernel::convolve::single::{Filters, Lying, Packed};
use crate::kernel::convolve::winograd::Kept;
use crate::kernel::dispatch::{Lane, lane};
use crate::kernel::gemm::made;
use crate::kernel::scratch::or_refuse;
use crate::op::{Finish, Input, Io, Op, OpError, Outputs, Prepared, bail, ensure, merge_types};
use crate::ops::floats::{fill, real};
use crate::tensor::{Dimension, ElementType, PartialShape, Tensor};

/// The common type of data and filters, which are numbers.
pub(super) fn numbers(inputs: &[Input<'_>]) -> Result<ElementType, OpError> {
    let ty = merge_types(inputs)?;
    ensure!(
        ty.is_numeric() || !ty.is_static(),
        "data and filters must be numbers, got {ty}"
    );
    Ok(ty)
}

/// The spatial axes of filters that have `others` axes before them.
pub(super) fn spatial(filters: &PartialShape, others: usize) -> Result<Option<usize>, OpError> {
    let Some(rank) = filters.rank() else {
        return Ok(None);
    };
    ensure!(
        rank > others,
        "filters must have at least {} dimensions, got shape {filters}",
        others + 1
    );
    Ok(Some(rank - others))
}

/// Dimension `axis`, of any size if the rank is not known.
pub(super) fn dim(shape: &PartialShape, axis: usize) -> Dimension {
    let dims = shape.dims().and_then(|dims| dims.get(axis));
    dims.copied().unwrap_or(Dimension::dynamic())
}

/// Checks that the data has the channels that `groups` groups of filters take.
pub(super) fn check_channels(
    data: &PartialShape,
    groups: Dimension,
    channels: Dimension,
) -> Result<(), OpError> {
    let found = dim(data, 1);
    ensure!(
        found.compatible(groups * channels),
        "data has {found} channels, expected {groups} groups of {channels}"
    );
    Ok(())
}

/// What is kept of filters that are constant.
#[derive(Debug, Default)]
pub(super) struct Constant {
    /// As the type to compute in, as long as they are read so.
    wide: Mutex<Option<Tensor>>,
    packed: OnceLock<Vec<Packed>>,
    transformed: Kept,
}

/// Filters in the type that they are stored in, and in the one to compute in if they were read so.
struct Stored<'a> {
    filters: &'a Tensor,
    wide: OnceLock<Option<Tensor>>,
}

impl Lying for Stored<'_> {
    fn elements(&self) -> Option<&[f32]> {
        if self.filters.element_type() == ElementType::F32 {
            return self.filters.as_slice().ok();
        }
        let wide = made(&self.wide, || or_refuse(real::<f32>(self.filters)));
        wide?.as_ref()?.as_slice().ok()
    }
}

impl Constant {
    fn wide(&self) -> MutexGuard<'_, Option<Tensor>> {
        self.wide.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// In how many ways the filters are kept beside how they lie.
    fn ways(&self) -> usize {
        usize::from(self.packed.get().is_some()) + self.transformed.ways()
    }
}

/// Computes in `f32`: `f` is given the elements of the data, the filters and the output.
pub(super) fn in_single(
    [data, stored]: [&Tensor; 2],
    constant: Option<&Constant>,
    out: &mut Tensor,
    f: impl FnOnce(&[f32], Filters<'_>, &mut [f32]),
) -> Result<(), OpError> {
    let kept = constant.and_then(|constant| constant.wide().clone());
    let lying = Stored {
        filters: stored,
        wide: kept.map_or_else(OnceLock::new, |wide| OnceLock::from(Some(wide))),
    };
    let ways = constant.map(Constant::ways);
    let data = real::<f32>(data)?;
    let filters = Filters {
        lying: &lying,
        packed: constant.map(|constant| &constant.packed),
        transformed: constant.map(|constant| &constant.transformed),
    };
    let data = data.as_slice()?;
    fill(out, |out| {
        f(data, filters, out);
        Ok(())
    })?;
    if let Some(constant) = constant {
        let mut kept = constant.wide();
        if Some(constant.ways()) > ways {
            // Another way was made of them, which is what is read from now on.
            *kept = None;
            stored.release();
        } else if kept.is_none() {
            *kept = lying.wide.into_inner().flatten();
        }
    }
    Ok(())
}

/// A convolution whose second input are filters.
pub(super) trait Filtered: Op + Clone {
    /// Evaluates it, with what is kept of its filters if they are constant.
    fn run(
        &self,
        inputs: &[&Tensor],
        constant: Option<&Constant>,
        out: &mut Tensor,
        finish: Option<Finish<'_>>,
    ) -> Result<(), OpError>;
}

/// A convolution with constant filters, which are packed at the first evaluation.
#[derive(Debug)]
struct WithFilters<C> {
    convolution: C,
    filters: Tensor,
    constant: Constant,
}

/// The convolution with its filters taken in, if they are constant.
pub(super) fn take_in<C: Filtered>(op: &C, inputs: &[Input<'_>]) -> Option<Prepared> {
    let [data, filters, ..] = inputs else {
        return None;
    };
    let filters = filters.value?;
    (lane(data.element_type) == Some(Lane::F32)).then(|| Prepared {
        op: Box::new(WithFilters {
            convolution: op.clone(),
            filters: filters.clone(),
            constant: Constant::default(),
        }),
        inputs: (0..inputs.len()).filter(|&input| input != 1).collect(),
    })
}

impl<C: Filtered> WithFilters<C> {
    fn run(&self, io: Io<'_>, finish: Option<Finish<'_>>) -> Result<(), OpError> {
        let ([data, others @ ..], [out]) = (io.inputs, io.outputs) else {
            bail!("expected 1 input or more, got {}", io.inputs.len());
        };
        let mut inputs = vec![*data, &self.filters];
        inputs.extend(others);
        self.convolution
            .run(&inputs, Some(&self.constant), out, finish)
    }
}

impl<C: Filtered> Op for WithFilters<C> {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, others @ ..] = inputs else {
            bail!("expected 1 input or more, got {}", inputs.len());
        };
        // Filters may be stored in a narrower type, as the model has them.
        let mut filters = Input::of(&self.filters);
        filters.element_type = data.element_type;
        let mut all = vec![data.clone(), filters];
        all.extend(others.iter().cloned());
        self.convolution.infer(&all)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        self.run(io, None)
    }

    fn finishes(&self) -> bool {
        true
    }

    fn eval_finishing(&self, io: Io<'_>, finish: Finish<'_>) -> Result<(), OpError> {
        self.run(io, Some(finish))
    }
}
