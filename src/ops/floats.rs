//! Numerical operations in the type to compute in, whatever type their tensors hold.

use crate::op::OpError;
use crate::tensor::Tensor;
use crate::tensor::convert::{Compute, convert, convert_into};

/// Evaluates an expression with `$T` standing for the type to compute in: `f64` for tensors of
/// `f64`, `f32` for all others.
macro_rules! in_real {
    ($element_type:expr, $T:ident => $body:expr) => {
        if $element_type == $crate::tensor::ElementType::F64 {
            type $T = f64;
            $body
        } else {
            type $T = f32;
            $body
        }
    };
}

pub(super) use in_real;

/// A tensor in the type to compute in. Nothing is copied if it already is.
pub(super) fn real<T: Compute>(tensor: &Tensor) -> Result<Tensor, OpError> {
    Ok(convert(tensor, T::TYPE)?)
}

/// Fills a tensor with elements computed in `T`, which are narrowed if its own are narrower.
///
/// # Errors
/// Those of `f`, and when memory runs out.
pub(super) fn fill<T: Compute, R>(
    out: &mut Tensor,
    f: impl FnOnce(&mut [T]) -> Result<R, OpError>,
) -> Result<R, OpError> {
    if let Some(out) = T::native_mut(out.element_type(), out.bytes_mut()) {
        return f(out);
    }
    let mut wide = Tensor::zeros(T::TYPE, out.shape().clone())?;
    let result = f(wide.as_mut_slice()?)?;
    convert_into(&wide, out)?;
    Ok(result)
}
