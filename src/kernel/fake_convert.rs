//! Takes numbers to a narrow float and back.

use super::block::{Operand, blocks};
use crate::tensor::convert::{BLOCK, Compute, Native};
use crate::tensor::{ElementType, Tensor};

/// Computes `out` from the data, a scale and a shift, the latter two with the axis of the data where
/// they begin. `ty` is a float of one byte; numbers beyond `largest` become it.
pub(crate) fn fake_convert(
    data: &Tensor,
    parameters: [(&Tensor, usize); 2],
    (ty, largest): (ElementType, f32),
    out: &mut Tensor,
) {
    let shape = out.shape().clone();
    let [scale, shift] = parameters.map(|(tensor, at)| Operand::new(tensor, at, &shape));
    let operands = [Operand::new(data, 0, &shape), scale, shift];
    blocks::<f32, f32, 3>(&operands, out, &|[x, scale, shift], out| {
        for (((out, &x), &scale), &shift) in out.iter_mut().zip(x).zip(scale).zip(shift) {
            let y = x * scale - shift;
            let y = if y > largest { largest } else { y };
            *out = if y < -largest { -largest } else { y };
        }
        let mut codes = [0u8; BLOCK];
        for out in out.chunks_mut(BLOCK) {
            f32::narrow_bytes(out, ty, &mut codes, 0);
            f32::widen_bytes(ty, &codes, 0, out);
        }
        for ((out, &scale), &shift) in out.iter_mut().zip(scale).zip(shift) {
            *out = (*out + shift) / scale;
        }
    });
}
