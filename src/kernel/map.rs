//! Elementwise functions of one input.

use super::block::{Operand, blocks};
use super::simd::vectorize_mut;
use crate::tensor::Tensor;
use crate::tensor::convert::{Compute, Native};

/// Computes `out` from the elements of `input`, which has its shape. `f` is given slices of equal
/// length.
pub(crate) fn map<C: Compute, O: Native>(
    input: &Tensor,
    out: &mut Tensor,
    f: &(dyn Fn(&[C], &mut [O]) + Sync),
) {
    let operand = Operand::flat(input);
    blocks::<C, O, 1>(&[operand], out, &|[input], out| f(input, out));
}

/// Writes a function of each element, in a loop for the vectors of the machine: `f` and what it calls
/// should be inlined always: a closure with that attribute, not a function by its name.
#[inline(always)]
pub(crate) fn each<C: Copy, O>(x: &[C], out: &mut [O], f: impl Fn(C) -> O) {
    vectorize_mut(
        #[inline(always)]
        || {
            for (out, &x) in out.iter_mut().zip(x) {
                *out = f(x);
            }
        },
    );
}
