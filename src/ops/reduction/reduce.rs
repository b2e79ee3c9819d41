//! What the operations of the category share: two inputs, `keep_dims`, and the way from a
//! [`Reduction`] to an operation.

use std::fmt::{self, Debug};
use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use super::axes;
use crate::kernel::reduce::{Folds, reduce};
use crate::kernel::scratch::try_vec;
use crate::op::{Input, Io, Op, OpError, Output, Outputs, allowed_axes, bail, ensure};
use crate::ops::interval;
use crate::tensor::convert::narrow;
use crate::tensor::{Class, ElementType, Tensor, ValueRange, convert};

/// What distinguishes one reduction from the others.
pub(super) trait Reduction: Debug + Default + Send + Sync + 'static {
    /// How elements are folded.
    const FOLDS: Folds;

    /// What the data must be, for messages.
    const EXPECTED: &'static str = "numbers";

    /// How intervals of integers are folded, if that is worth knowing.
    const RANGES: Option<Ranges> = None;

    /// Whether the data may have this type.
    fn accepts(ty: ElementType) -> bool {
        ty.is_numeric()
    }
}

/// A reduction of intervals.
pub(super) struct Ranges {
    /// The reduction of no elements of a type.
    pub(super) nothing: fn(ElementType) -> i64,
    /// The reduction of two elements.
    pub(super) fold: fn(ElementType, ValueRange, ValueRange) -> ValueRange,
    /// The result from what as many elements were folded to.
    pub(super) finish: fn(ValueRange, usize) -> ValueRange,
}

/// Reduces `data` over `axes`.
#[derive(Clone, Deserialize, Serialize)]
#[serde(default, bound = "F: Reduction")]
pub(super) struct Reduce<F> {
    keep_dims: bool,
    #[serde(skip)]
    reduction: PhantomData<F>,
}

impl<F> Default for Reduce<F> {
    fn default() -> Self {
        Self {
            keep_dims: false,
            reduction: PhantomData,
        }
    }
}

impl<F: Reduction> Debug for Reduce<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = format!("Reduce{:?}", F::default());
        f.debug_struct(&name)
            .field("keep_dims", &self.keep_dims)
            .finish()
    }
}

impl<F: Reduction> Op for Reduce<F> {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, axes] = inputs else {
            bail!("expected 2 inputs, got {}", inputs.len());
        };
        let ty = data.element_type;
        ensure!(
            F::accepts(ty) || !ty.is_static(),
            "data must be {}, got {ty}",
            F::EXPECTED
        );
        Ok(Output::single(ty, axes::infer(data, axes, self.keep_dims)?))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let ([data, axes], [output]) = (io.inputs, io.outputs) else {
            bail!("expected 2 inputs, got {}", io.inputs.len());
        };
        let axes = convert::few_i64(axes);
        if axes.is_empty() {
            *output = Tensor::clone(data);
            return Ok(());
        }
        let mask = axes::mask(&axes, data.shape().rank())?;
        if let (true, Some(nothing)) = (data.is_empty(), nothing::<F>(data.element_type())) {
            narrow(&try_vec(nothing, output.len())?, output, 0);
            return Ok(());
        }
        reduce(data, &mask, &F::FOLDS, output);
        Ok(())
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        (index == 1).then(|| allowed_axes(inputs.first()?.rank()))?
    }

    fn infer_value(&self, inputs: &[Input<'_>], output: &Output) -> Option<Vec<ValueRange>> {
        let ([data, axes], Some(how)) = (inputs, F::RANGES) else {
            return None;
        };
        let ty = data.element_type;
        let shape = data.shape.to_shape()?;
        let mask = axes::mask(&axes.ints()?, shape.rank()).ok()?;
        let values = data.ranges()?;
        let mut results = vec![None; output.shape.elements().value()?];
        let count = shape.iter().zip(&mask).filter(|(_, reduced)| **reduced);
        let count = count.map(|(size, _)| *size).product();
        let mut strides = vec![0usize; shape.rank()];
        let mut stride = 1usize;
        for axis in (0..shape.rank()).rev() {
            if !mask[axis] {
                strides[axis] = stride;
                stride = stride.checked_mul(shape[axis])?;
            }
        }
        for (i, &value) in values.iter().enumerate() {
            let value = interval::of_type(value, ty);
            let mut rest = i;
            let mut target = 0;
            for axis in (0..shape.rank()).rev() {
                target += rest % shape[axis] * strides[axis];
                rest /= shape[axis];
            }
            let result: &mut Option<ValueRange> = results.get_mut(target)?;
            *result = Some(match *result {
                None => value,
                Some(so_far) => (how.fold)(ty, so_far, value),
            });
        }
        let results = results.into_iter().map(|result| match result {
            Some(result) => (how.finish)(result, count),
            None => ValueRange::exact((how.nothing)(ty)),
        });
        Some(results.collect())
    }
}

/// What no integers are reduced to, where accumulators are too wide to know the answer.
fn nothing<F: Reduction>(ty: ElementType) -> Option<i64> {
    let how = F::RANGES.filter(|_| ty.bits() < 64 && ty.class() == Some(Class::I64))?;
    Some((how.nothing)(ty))
}
