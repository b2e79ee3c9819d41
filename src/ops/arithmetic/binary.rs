//! The shell around arithmetic functions of two inputs.

use std::fmt::{self, Debug};
use std::marker::PhantomData;
use std::ops;

use serde::{Deserialize, Serialize};

use crate::kernel::dispatch::{Lane, lane};
pub(super) use crate::kernel::modulo::Integer;
use crate::kernel::simd::vectorize_mut;
use crate::kernel::zip::{each_pair, each_repeated, zip, zip_repeated};
use crate::op::attrs::AutoBroadcastSpec;
use crate::op::{Elementwise, Input, Io, Op, OpError, Output, Outputs, Repeated, bail, ensure};
use crate::ops::elementwise::{self, infer_pair, infer_ranges, like_numpy, pair};
use crate::tensor::convert::{BLOCK, widen};
use crate::tensor::{Shape, Tensor, ValueRange};

/// A float that arithmetic is computed in.
pub(super) trait Float:
    Copy
    + PartialOrd
    + ops::Add<Output = Self>
    + ops::Sub<Output = Self>
    + ops::Mul<Output = Self>
    + ops::Div<Output = Self>
{
}

impl Float for f32 {}
impl Float for f64 {}

/// A function of two numbers, in floats, integers and intervals.
pub(super) trait Function: Debug + Default + Send + Sync + 'static {
    /// Whether it is the sum.
    const ADDS: bool = false;

    fn float<T: Float>(a: T, b: T) -> T;
    fn integer<T: Integer>(a: T, b: T) -> T;
    fn range(a: ValueRange, b: ValueRange) -> ValueRange;
}

/// An arithmetic operation that applies a function to each pair of elements.
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
        infer(inputs, self.broadcast)
    }

    fn infers_from(&self, _: usize) -> bool {
        false
    }

    fn eval(&self, mut io: Io<'_>) -> Result<(), OpError> {
        let (inputs, out) = pair(io.reborrow(), self.broadcast);
        let with_repeated = |elements: &[f32], repeated: Repeated<'_>, first, out: &mut [f32]| {
            self.compute_repeated(elements, repeated, first, out);
        };
        if !zip_repeated(inputs, out, &with_repeated) {
            eval::<F>(io, self.broadcast);
        }
        Ok(())
    }

    fn infer_value(&self, inputs: &[Input<'_>], output: &Output) -> Option<Vec<ValueRange>> {
        infer_ranges(inputs, output, self.broadcast, &F::range)
    }

    fn elementwise(&self) -> Option<&dyn Elementwise> {
        like_numpy(self, self.broadcast)
    }
}

impl<F: Function> Elementwise for Binary<F> {
    fn compute(&self, inputs: &[&[f32]], out: &mut [f32]) {
        each_pair(inputs[0], inputs[1], out, F::float);
    }

    fn takes_repeated(&self) -> bool {
        true
    }

    fn adds(&self) -> bool {
        F::ADDS
    }

    fn compute_repeated(
        &self,
        elements: &[f32],
        repeated: Repeated<'_>,
        repeated_first: bool,
        out: &mut [f32],
    ) {
        if repeated_first {
            each_repeated(
                elements,
                repeated,
                out,
                #[inline(always)]
                |b, a| F::float(a, b),
            );
        } else {
            each_repeated(
                elements,
                repeated,
                out,
                #[inline(always)]
                |a, b| F::float(a, b),
            );
        }
    }
}

pub(super) fn infer(inputs: &[Input<'_>], spec: AutoBroadcastSpec) -> Result<Outputs, OpError> {
    let (ty, shape) = infer_pair(inputs, spec)?;
    ensure!(
        ty.is_numeric() || !ty.is_static(),
        "the inputs must be numbers, got {ty}"
    );
    Ok(Output::single(ty, shape))
}

pub(super) fn eval<F: Function>(io: Io<'_>, spec: AutoBroadcastSpec) {
    let (inputs, out) = pair(io, spec);
    match lane(out.element_type()) {
        Some(Lane::F32) => zip(inputs, out, &|a, b, out| {
            each_pair(a, b, out, F::float::<f32>)
        }),
        Some(Lane::F64) => zip(inputs, out, &|a, b, out| {
            each_pair(a, b, out, F::float::<f64>)
        }),
        Some(Lane::I32) => zip(inputs, out, &|a, b, out| {
            each_pair(a, b, out, F::integer::<i32>)
        }),
        Some(Lane::I64) => zip(inputs, out, &|a, b, out| {
            each_pair(a, b, out, F::integer::<i64>)
        }),
        Some(Lane::U64) => zip(inputs, out, &|a, b, out| {
            each_pair(a, b, out, F::integer::<u64>)
        }),
        None => {}
    }
}

/// Refuses a division of integers by zero, which the documents leave undefined.
pub(super) fn refuse_zero(io: &Io<'_>) -> Result<(), OpError> {
    let divisor = io.inputs[1];
    if divisor.element_type().is_integer()
        && !io.outputs[0].is_empty()
        && let Some(index) = first_zero(divisor)
    {
        bail!(
            "division by zero: the divisor is 0{}",
            at(index, divisor.shape())
        );
    }
    Ok(())
}

fn first_zero(tensor: &Tensor) -> Option<usize> {
    let mut block = [0i64; BLOCK];
    let len = tensor.len();
    (0..len).step_by(BLOCK).find_map(|start| {
        let block = &mut block[..BLOCK.min(len - start)];
        widen(tensor, start, block);
        // The place takes longer to find than that there is none.
        let some = vectorize_mut(
            #[inline(always)]
            || block.iter().fold(false, |some, &x| some | (x == 0)),
        );
        if !some {
            return None;
        }
        Some(start + block.iter().position(|&x| x == 0)?)
    })
}

/// The place of an element, to end a sentence with.
fn at(index: usize, shape: &Shape) -> String {
    if shape.rank() == 0 {
        return String::new();
    }
    let strides = shape.strides();
    let place = strides
        .iter()
        .zip(shape)
        .map(|(stride, size)| index / stride % size);
    format!(" at {}", place.collect::<Shape>())
}
