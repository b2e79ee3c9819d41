//! Types that files lack, as the codes they are stored as.

use std::borrow::Cow;
use std::sync::Arc;

use super::IoError;
use crate::tensor::{ElementType, SharedBytes, Tensor, convert};

/// The type whose numbers stand for the codes of `ty` in a file; `None` for types that files have.
pub(crate) fn code_type(ty: ElementType) -> Option<ElementType> {
    use ElementType as E;
    match ty {
        E::Bf16 => Some(E::U16),
        E::I4 => Some(E::I8),
        E::U1 | E::U2 | E::U3 | E::U4 | E::U6 | E::Nf4 | E::F4e2m1 => Some(E::U8),
        E::F8e4m3 | E::F8e5m2 | E::F8e8m0 => Some(E::U8),
        _ => None,
    }
}

/// The tensor as codes, one element a number, or itself where files have its type.
pub(super) fn codes(tensor: &Tensor) -> Result<Tensor, IoError> {
    let ty = tensor.element_type();
    let Some(code) = code_type(ty) else {
        return Ok(tensor.clone());
    };
    if !ty.is_packed() {
        return Ok(tensor.reinterpret(code, tensor.shape().clone())?);
    }
    let mut codes = convert::codes(tensor);
    if ty == ElementType::I4 {
        convert::sign_extend_i4(&mut codes);
    }
    let bytes = SharedBytes::new(Arc::new(codes));
    Ok(Tensor::from_bytes(code, tensor.shape().clone(), bytes)?)
}

/// The tensor of type `ty` that the codes stand for.
pub(super) fn from_codes(codes: &Tensor, ty: ElementType) -> Result<Tensor, IoError> {
    if !ty.is_packed() {
        return Ok(codes.reinterpret(ty, codes.shape().clone())?);
    }
    let bytes = codes.bytes();
    let wrong = match ty {
        ElementType::I4 => bytes.iter().position(|&b| {
            let code = b.cast_signed();
            !(-8..=7).contains(&code)
        }),
        _ => bytes.iter().position(|&b| b >> ty.bits() != 0),
    };
    if let Some(index) = wrong {
        let (code, range) = match ty {
            ElementType::I4 => (i32::from(bytes[index].cast_signed()), "-8 to 7".to_owned()),
            _ => (
                i32::from(bytes[index]),
                format!("0 to {}", (1 << ty.bits()) - 1),
            ),
        };
        return Err(IoError::mismatch(format!(
            "{code} at element {index} is no code of {ty}, expected {range}"
        )));
    }
    Ok(convert::from_codes(ty, codes.shape().clone(), bytes)?)
}

/// The elements as files store them.
pub(super) fn little_endian(tensor: &Tensor) -> Cow<'_, [u8]> {
    let bytes = tensor.bytes();
    let width = tensor.element_type().swapped_bytes();
    if cfg!(target_endian = "little") || width <= 1 {
        return Cow::Borrowed(bytes);
    }
    let mut swapped = bytes.to_vec();
    swapped.chunks_exact_mut(width).for_each(<[u8]>::reverse);
    Cow::Owned(swapped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_there_and_back() {
        for ty in ElementType::ALL {
            let Some(code) = code_type(ty) else { continue };
            let count = 1 << ty.bits().min(8);
            let all: Vec<i64> = match ty {
                ElementType::I4 => (-8..8).collect(),
                _ => (0..count).collect(),
            };
            let mut numbers = Tensor::zeros(code, [all.len()]).expect("small");
            convert::narrow(&all, &mut numbers, 0);
            let tensor = from_codes(&numbers, ty).expect("all codes");
            assert_eq!(tensor.element_type(), ty);
            assert_eq!(codes(&tensor).expect("codes"), numbers, "{ty}");
        }
    }

    #[test]
    fn codes_out_of_range() {
        let error = from_codes(&Tensor::vector(&[1u8, 16]), ElementType::U4).expect_err("16");
        assert_eq!(
            error.to_string(),
            "16 at element 1 is no code of u4, expected 0 to 15"
        );
        assert!(from_codes(&Tensor::vector(&[-9i8]), ElementType::I4).is_err());
        assert!(from_codes(&Tensor::vector(&[-8i8, 7]), ElementType::I4).is_ok());
        assert!(from_codes(&Tensor::vector(&[8u8]), ElementType::U3).is_err());
    }
}
