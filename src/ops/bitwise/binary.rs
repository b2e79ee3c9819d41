//! The shell around functions of the bits of two integers.

use std::fmt::{self, Debug};
use std::marker::PhantomData;
use std::ops::{BitAnd, BitOr, BitXor};

use serde::{Deserialize, Serialize};

use crate::kernel::dispatch::{Lane, lane};
use crate::kernel::zip::{each_pair, zip};
use crate::op::attrs::AutoBroadcastSpec;
use crate::op::{Input, Io, Op, OpError, Output, Outputs, ensure};
use crate::ops::elementwise::{self, infer_pair, pair};
use crate::tensor::ElementType;

/// An integer, as wide as its elements or wider.
pub(super) trait Bits:
    Copy + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self>
{
    /// Shifted to the left; zero if that is not within `bits`.
    fn left(self, by: Self, bits: u32) -> Self;
    /// Shifted to the right, the sign repeated; only signs if that is not within `bits`.
    fn right(self, by: Self, bits: u32) -> Self;
}

macro_rules! bits {
    ($($T:ty),+) => {
        $(impl Bits for $T {
            fn left(self, by: Self, bits: u32) -> Self {
                match u32::try_from(by) {
                    Ok(by) if by < bits => self.wrapping_shl(by),
                    _ => 0,
                }
            }

            fn right(self, by: Self, bits: u32) -> Self {
                match u32::try_from(by) {
                    Ok(by) if by < bits => self >> by,
                    // Half of the bits twice are all of them.
                    _ => self >> (Self::BITS / 2) >> (Self::BITS / 2 - 1) >> 1,
                }
            }
        })+
    };
}

bits!(i32, i64, u64);

/// A function of the bits of two integers.
pub(super) trait Function: Debug + Default + Send + Sync + 'static {
    /// Whether it is defined for booleans, too.
    const BOOLEAN: bool;

    /// The result, of which the lowest `bits` count.
    fn apply<T: Bits>(a: T, b: T, bits: u32) -> T;
}

/// A bitwise operation that applies a function to each pair of elements.
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
        expect_bits(ty, F::BOOLEAN)?;
        Ok(Output::single(ty, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let (inputs, out) = pair(io, self.broadcast);
        let ty = out.element_type();
        let bits = u32::try_from(ty.bits()).unwrap_or(u32::MAX);
        match lane(ty) {
            Some(Lane::I32) => zip(inputs, out, &|a, b, out| each::<i32, F>(a, b, out, bits)),
            Some(Lane::I64) => zip(inputs, out, &|a, b, out| each::<i64, F>(a, b, out, bits)),
            Some(Lane::U64) => zip(inputs, out, &|a, b, out| each::<u64, F>(a, b, out, bits)),
            _ => {}
        }
        Ok(())
    }
}

/// Checks that the elements have bits to work on (or are not known).
pub(super) fn expect_bits(ty: ElementType, boolean: bool) -> Result<(), OpError> {
    let or_boolean = if boolean { " or boolean" } else { "" };
    ensure!(
        ty.is_integer() || !ty.is_static() || boolean && ty == ElementType::Boolean,
        "the inputs must be integers{or_boolean}, got {ty}"
    );
    Ok(())
}

fn each<C: Bits, F: Function>(a: &[C], b: &[C], out: &mut [C], bits: u32) {
    each_pair(
        a,
        b,
        out,
        #[inline(always)]
        |a, b| F::apply(a, b, bits),
    );
}

#[cfg(test)]
#[path = "binary_tests.rs"]
mod tests;
