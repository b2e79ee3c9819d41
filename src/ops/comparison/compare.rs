//! The shell around comparisons of two inputs.
//!
//! Numbers are compared exactly, floats as IEEE 754 says: NaN is unequal to everything and in no
//! order. `false` is less than `true`; strings are compared by their bytes.

use std::fmt::{self, Debug};
use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use crate::kernel::dispatch::{Lane, lane};
use crate::kernel::zip::{each_pair, zip, zip_texts};
use crate::op::attrs::AutoBroadcastSpec;
use crate::op::{Input, Io, Op, OpError, Output, Outputs, ensure};
use crate::ops::elementwise::{infer_pair, pair, pair_ranges};
use crate::ops::interval;
use crate::tensor::convert::Compute;
use crate::tensor::{ElementType, ValueRange};

/// A relation of two elements.
pub(super) trait Relation: Debug + Default + Send + Sync + 'static {
    fn holds<T: PartialOrd>(a: &T, b: &T) -> bool;

    /// Whether it holds for all numbers of two ranges, or for none; `None` if for some.
    fn decided(a: ValueRange, b: ValueRange) -> Option<bool>;
}

/// An operation that tells for each pair of elements whether a relation holds.
#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(transparent, bound = "")]
pub(crate) struct Compare<R> {
    broadcast: AutoBroadcastSpec,
    #[serde(skip)]
    relation: PhantomData<R>,
}

impl<R: Relation> Debug for Compare<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(&format!("{:?}", R::default()))
            .field("auto_broadcast", &self.broadcast.auto_broadcast)
            .field("axis", &self.broadcast.axis)
            .finish()
    }
}

impl<R: Relation> Op for Compare<R> {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let (ty, shape) = infer_pair(inputs, self.broadcast)?;
        ensure!(!ty.is_complex(), "elements of {ty} cannot be compared");
        Ok(Output::single(ElementType::Boolean, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let ([a, b], out) = pair(io, self.broadcast);
        match lane(a.0.element_type()) {
            Some(Lane::F32) => zip([a, b], out, &each::<f32, R>),
            Some(Lane::F64) => zip([a, b], out, &each::<f64, R>),
            Some(Lane::I32) => zip([a, b], out, &each::<i32, R>),
            Some(Lane::I64) => zip([a, b], out, &each::<i64, R>),
            Some(Lane::U64) => zip([a, b], out, &each::<u64, R>),
            None => zip_texts([a, b], out, &|a, b| R::holds(a, b))?,
        }
        Ok(())
    }

    fn infer_value(&self, inputs: &[Input<'_>], output: &Output) -> Option<Vec<ValueRange>> {
        let ty = inputs.first()?.element_type;
        if !ty.is_integer() && ty != ElementType::Boolean {
            return None;
        }
        pair_ranges(inputs, output, self.broadcast, &|a, b| {
            let decided = R::decided(interval::of_type(a, ty), interval::of_type(b, ty));
            decided.map_or(interval::BOOLEAN, |holds| ValueRange::exact(holds.into()))
        })
    }
}

fn each<C: Compute, R: Relation>(a: &[C], b: &[C], out: &mut [bool]) {
    each_pair(
        a,
        b,
        out,
        #[inline(always)]
        |a, b| R::holds(&a, &b),
    );
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
