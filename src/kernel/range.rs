//! Numbers at equal distances.

use crate::tensor::convert::{BLOCK, narrow};
use crate::tensor::{ElementType, Tensor};

/// Writes `start + i * step`, computed in `f64`.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)] // rounding is the purpose
pub(crate) fn floats(start: f64, step: f64, out: &mut Tensor) {
    let at = |i: usize| start + i as f64 * step;
    if out.element_type() == ElementType::F64 {
        fill(out, &at);
    } else {
        fill(out, &|i| at(i) as f32);
    }
}

/// Writes `start + i * step`, modulo the size of the type.
#[allow(clippy::cast_possible_wrap)] // modulo 2^64
pub(crate) fn integers(start: i64, step: i64, out: &mut Tensor) {
    fill(out, &|i| start.wrapping_add(step.wrapping_mul(i as i64)));
}

fn fill<C: crate::tensor::convert::Compute>(out: &mut Tensor, at: &dyn Fn(usize) -> C) {
    let mut block = [C::default(); BLOCK];
    for start in (0..out.len()).step_by(BLOCK) {
        let block = &mut block[..BLOCK.min(out.len() - start)];
        for (i, x) in block.iter_mut().enumerate() {
            *x = at(start + i);
        }
        narrow(block, out, start);
    }
}
