//! Packed tensors by their codes, one a byte.

use super::class::i4;
use crate::tensor::{ElementType, Shape, Tensor, TensorError, pack};

/// The elements of a packed tensor, one code a byte. Those of `i4` are not sign-extended: see
/// [`sign_extend_i4`].
///
/// # Panics
/// When the type is not packed.
pub(crate) fn codes(tensor: &Tensor) -> Vec<u8> {
    let ty = tensor.element_type();
    assert!(ty.is_packed(), "{ty} is not packed");
    let mut codes = vec![0; tensor.len()];
    pack::unpack(ty, tensor.bytes(), 0, &mut codes);
    codes
}

/// A packed tensor of these codes; high bits the type does not have are dropped, so `i4` may be
/// given sign-extended or not.
///
/// # Errors
/// When the number of codes is not the shape's, the type is not packed, or memory runs out.
pub(crate) fn from_codes(
    ty: ElementType,
    shape: impl Into<Shape>,
    codes: &[u8],
) -> Result<Tensor, TensorError> {
    if !ty.is_packed() {
        return Err(TensorError::ElementType {
            found: ty,
            expected: ElementType::U4,
        });
    }
    let mut tensor = Tensor::zeros(ty, shape)?;
    if tensor.len() != codes.len() {
        return Err(TensorError::Length {
            shape: tensor.shape().clone(),
            element_type: ty,
            expected: tensor.len(),
            found: codes.len(),
            unit: "elements",
        });
    }
    pack::pack(ty, codes, tensor.bytes_mut(), 0);
    Ok(tensor)
}

/// Turns the codes of an `i4` tensor into the bytes of an `i8` one.
pub(crate) fn sign_extend_i4(codes: &mut [u8]) {
    for code in codes {
        *code = i4(*code).cast_unsigned();
    }
}
