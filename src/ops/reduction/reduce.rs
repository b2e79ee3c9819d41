//! What the operations of the category share: two inputs, `keep_dims`, and the way from a
//! [`Reduction`] to an operation.

use std::fmt::{self, Debug};
use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use super::axes;
use crate::kernel::reduce::{Folds, reduce};
use crate::op::{Input, Io, Op, OpError, Output, Outputs, allowed_axes, bail, ensure};
use crate::tensor::{ElementType, Tensor, ValueRange, convert};

/// What distinguishes one reduction from the others.
pub(super) trait Reduction: Debug + Default + Send + Sync + 'static {
    /// How elements are folded.
    const FOLDS: Folds;

    /// What the data must be, for messages.
    const EXPECTED: &'static str = "numbers";

    /// Whether the data may have this type.
    fn accepts(ty: ElementType) -> bool {
        ty.is_numeric()
    }

    /// What is known of the reduction of two elements of an integer type.
    fn fold_ranges(_ty: ElementType, _a: ValueRange, _b: ValueRange) -> ValueRange {
        ValueRange::UNKNOWN
    }

    /// What is known of the reduction of no elements, if that can be told.
    const EMPTY_RANGE: Option<ValueRange> = None;
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
        let axes = convert::to_i64(axes);
        if axes.is_empty() {
            *output = Tensor::clone(data);
            return Ok(());
        }
        let mask = axes::mask(&axes, data.shape().rank())?;
        reduce(data, &mask, &F::FOLDS, output);
        Ok(())
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        (index == 1).then(|| allowed_axes(inputs.first()?.rank()))?
    }

    fn infer_value(&self, inputs: &[Input<'_>], output: &Output) -> Option<Vec<ValueRange>> {
        let [data, axes] = inputs else {
            return None;
        };
        let ty = data.element_type;
        let shape = data.shape.to_shape()?;
        let mask = axes::mask(&axes.ints()?, shape.rank()).ok()?;
        let values = data.ranges()?;
        let mut results = vec![None; output.shape.elements().value()?];
        let mut strides = vec![0usize; shape.rank()];
        let mut stride = 1usize;
        for axis in (0..shape.rank()).rev() {
            if !mask[axis] {
                strides[axis] = stride;
                stride = stride.checked_mul(shape[axis])?;
            }
        }
        for (i, &value) in values.iter().enumerate() {
            let mut rest = i;
            let mut target = 0;
            for axis in (0..shape.rank()).rev() {
                target += rest % shape[axis] * strides[axis];
                rest /= shape[axis];
            }
            let result: &mut Option<ValueRange> = results.get_mut(target)?;
            *result = Some(match *result {
                None => value,
                Some(so_far) => F::fold_ranges(ty, so_far, value),
            });
        }
        results.into_iter().map(|r| r.or(F::EMPTY_RANGE)).collect()
    }
}
