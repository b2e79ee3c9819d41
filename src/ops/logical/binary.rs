//! The shell around logical functions of two booleans.

use std::fmt::{self, Debug};
use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use crate::kernel::zip::{each_pair, zip};
use crate::op::attrs::AutoBroadcastSpec;
use crate::op::{Input, Io, Op, OpError, Output, Outputs, ensure};
use crate::ops::elementwise::{self, infer_pair, pair, pair_ranges};
use crate::ops::interval;
use crate::tensor::{ElementType, ValueRange};

/// A function of two booleans.
pub(super) trait Function: Debug + Default + Send + Sync + 'static {
    fn apply(a: bool, b: bool) -> bool;
}

/// A logical operation that applies a function to each pair of elements.
#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(transparent, bound = "")]
pub(crate) struct Binary<F> {
    broadcast: AutoBroadcastSpec,
    #[serde(skip)]
    function: PhantomData<F>,
}

impl<F: Function> Debug for Binary<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        elementwise::debug::<F>(f, &self.broadcast)
    }
}

impl<F: Function> Op for Binary<F> {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let (ty, shape) = infer_pair(inputs, self.broadcast)?;
        expect_boolean(ty)?;
        Ok(Output::single(ElementType::Boolean, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let (inputs, out) = pair(io, self.broadcast);
        zip::<i32, bool>(inputs, out, &|a, b, out| {
            each_pair(
                a,
                b,
                out,
                #[inline(always)]
                |a, b| F::apply(a != 0, b != 0),
            );
        });
        Ok(())
    }

    fn infer_value(&self, inputs: &[Input<'_>], output: &Output) -> Option<Vec<ValueRange>> {
        pair_ranges(inputs, output, self.broadcast, &range::<F>)
    }
}

/// Checks that the elements are booleans (or not known).
pub(super) fn expect_boolean(ty: ElementType) -> Result<(), OpError> {
    ensure!(
        ty == ElementType::Boolean || !ty.is_static(),
        "the inputs must be boolean, got {ty}"
    );
    Ok(())
}

/// What is known of the result: `true` or `false` if it is that for all that the inputs may be.
fn range<F: Function>(a: ValueRange, b: ValueRange) -> ValueRange {
    let may_be = |r: ValueRange, x: bool| r.min <= i64::from(x) && i64::from(x) <= r.max;
    let mut results = [false; 2];
    for (x, y) in [(false, false), (false, true), (true, false), (true, true)] {
        if may_be(a, x) && may_be(b, y) {
            results[usize::from(F::apply(x, y))] = true;
        }
    }
    match results {
        [true, false] => ValueRange::exact(0),
        [false, true] => ValueRange::exact(1),
        _ => interval::BOOLEAN,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{logical_and::LogicalAnd, logical_or::LogicalOr, logical_xor::LogicalXor};
    use super::*;
    use crate::ops::testing::run;
    use crate::tensor::Tensor;

    fn table<F: Function>() -> Vec<bool> {
        let a = Tensor::new([2, 1], &[false, true]).expect("two");
        let b = Tensor::vector(&[false, true]);
        let out = run(&Binary::<F>::default(), &[a, b]).expect("booleans");
        assert_eq!(&out.shape()[..], [2, 2]);
        out.as_slice::<bool>().expect("booleans").to_vec()
    }

    #[test]
    fn tables_of_truth() {
        assert_eq!(table::<LogicalAnd>(), [false, false, false, true]);
        assert_eq!(table::<LogicalOr>(), [false, true, true, true]);
        assert_eq!(table::<LogicalXor>(), [false, true, true, false]);
        let numbers = [Tensor::scalar(1i32), Tensor::scalar(0i32)];
        let error = run(&Binary::<LogicalOr>::default(), &numbers).expect_err("numbers");
        assert_eq!(error.message, "the inputs must be boolean, got i32");
    }

    #[test]
    fn what_is_known() {
        let exact = ValueRange::exact;
        let any = interval::BOOLEAN;
        assert_eq!(range::<LogicalAnd>(exact(0), any), exact(0));
        assert_eq!(range::<LogicalAnd>(exact(1), any), any);
        assert_eq!(range::<LogicalOr>(any, exact(1)), exact(1));
        assert_eq!(range::<LogicalXor>(exact(1), exact(1)), exact(0));
        assert_eq!(range::<LogicalXor>(ValueRange::UNKNOWN, exact(1)), any);
    }
}
