//! Elementwise functions of one input.

use super::block::{Operand, blocks};
use crate::tensor::Tensor;
use crate::tensor::convert::{Compute, Native};

/// Computes `out` from the elements of `input`, which has its shape. `f` is given slices of equal
/// length.
pub(crate) fn map<C: Compute, O: Native>(
    input: &Tensor,
    out: &mut Tensor,
    f: &(dyn Fn(&[C], &mut [O]) + Sync),
) {
    let operand = Operand::new(input, 0, out.shape());
    blocks::<C, O, 1>(&[operand], out, &|[input], out| f(input, out));
}
