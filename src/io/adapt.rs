//! A tensor from a file as the type an input wants.

use super::IoError;
use super::codes::{code_type, from_codes};
use super::number::{self, integer_range};
use crate::tensor::{Class, ElementType, Tensor, convert};

/// Elements looked at together.
const BLOCK: usize = 512;

/// The tensor as the wanted type.
///
/// * `Dynamic` or the same type: the tensor itself.
/// * A type that files lack, from the numbers it is stored as: `bf16` from `u16`, the 8-bit and
///   sub-byte types from `u8`, `i4` from `i8`: these are codes.
/// * Integers to integers, to boolean and to floats, and floats to wider floats, if every value
///   stays what it is.
/// * Floats to `f32`, `f16`, `bf16`, rounded to nearest (NumPy makes `float64` where nobody asked
///   for it), if no finite value becomes infinite.
/// * Complex numbers to those of the other size, as their parts are.
///
/// # Errors
/// For everything else, and for values that do not fit.
pub fn adapt(tensor: &Tensor, wanted: ElementType) -> Result<Tensor, IoError> {
    let found = tensor.element_type();
    if wanted == found || wanted == ElementType::Dynamic {
        return Ok(tensor.clone());
    }
    if code_type(wanted) == Some(found) {
        return from_codes(tensor, wanted).map_err(|e| refuse(found, wanted, &e.to_string()));
    }
    if let (Some(parts), Some(part)) = (tensor.complex_parts(), wanted.part()) {
        let parts = adapt(&parts, part)
            .map_err(|_| refuse(found, wanted, "a part of an element is out of range"))?;
        return Ok(Tensor::from_complex_parts(&parts)?);
    }
    let mut out = Tensor::zeros(wanted, tensor.shape().clone())?;
    let problem = if found.is_integer() && (wanted.is_integer() || wanted == ElementType::Boolean) {
        integers(tensor, &mut out)
    } else if found.is_integer() && wanted.is_float() {
        exact_floats(tensor, &mut out)
    } else if found.is_float() && wanted.is_float() {
        floats(tensor, &mut out)
    } else {
        return Err(refuse(found, wanted, ""));
    };
    match problem {
        None => Ok(out),
        Some(problem) => Err(refuse(found, wanted, &problem)),
    }
}

fn refuse(found: ElementType, wanted: ElementType, problem: &str) -> IoError {
    let mut message = format!("{wanted} is wanted, the file has {}", numpy_name(found));
    if !problem.is_empty() {
        message.push_str(", and ");
        message.push_str(problem);
    } else if let Some(code) = code_type(wanted) {
        message.push_str(&format!(" (codes of {wanted} are {})", numpy_name(code)));
    }
    IoError::mismatch(message)
}

fn blocks(tensor: &Tensor) -> impl Iterator<Item = (usize, usize)> + use<> {
    let len = tensor.len();
    (0..len)
        .step_by(BLOCK)
        .map(move |start| (start, BLOCK.min(len - start)))
}

fn integers(tensor: &Tensor, out: &mut Tensor) -> Option<String> {
    let (min, max) = integer_range(out.element_type())?;
    let unsigned = tensor.element_type().class() == Some(Class::U64);
    let mut block = [0i64; BLOCK];
    for (start, len) in blocks(tensor) {
        let block = &mut block[..len];
        convert::widen(tensor, start, block);
        let value = |&x: &i64| match unsigned {
            true => i128::from(x.cast_unsigned()),
            false => i128::from(x),
        };
        if let Some(i) = block.iter().position(|x| !(min..=max).contains(&value(x))) {
            return Some(format!(
                "{} at element {} does not fit",
                value(&block[i]),
                start + i
            ));
        }
        convert::narrow(block, out, start);
    }
    None
}

/// Integers as floats, compared as integers.
fn exact_floats(tensor: &Tensor, out: &mut Tensor) -> Option<String> {
    let unsigned = tensor.element_type().class() == Some(Class::U64);
    let (mut block, mut doubles) = ([0i64; BLOCK], [0f64; BLOCK]);
    for (start, len) in blocks(tensor) {
        let (block, doubles) = (&mut block[..len], &mut doubles[..len]);
        convert::widen(tensor, start, block);
        convert::widen(tensor, start, doubles);
        number::write_floats(doubles, out, start);
        convert::widen(out, start, doubles);
        for (i, (&x, &y)) in block.iter().zip(&*doubles).enumerate() {
            let x = match unsigned {
                true => i128::from(x.cast_unsigned()),
                false => i128::from(x),
            };
            // A float without a fraction in this range is an i128 exactly.
            #[allow(clippy::cast_possible_truncation)]
            if y.fract() != 0.0 || y.abs() > 1e20 || y as i128 != x {
                return Some(format!("{x} at element {} has no exact equal", start + i));
            }
        }
    }
    None
}

fn floats(tensor: &Tensor, out: &mut Tensor) -> Option<String> {
    let ty = out.element_type();
    let rounds = matches!(ty, ElementType::F32 | ElementType::F16 | ElementType::Bf16);
    let (mut before, mut after) = ([0f64; BLOCK], [0f64; BLOCK]);
    for (start, len) in blocks(tensor) {
        let (before, after) = (&mut before[..len], &mut after[..len]);
        convert::widen(tensor, start, before);
        number::write_floats(before, out, start);
        convert::widen(out, start, after);
        for (i, (&x, &y)) in before.iter().zip(&*after).enumerate() {
            if let Some(error) = number::lost(x, y, ty) {
                return Some(format!("{error} (element {})", start + i));
            }
            if !rounds && x != y && !x.is_nan() {
                return Some(format!("{x} at element {} has no exact equal", start + i));
            }
        }
    }
    None
}

/// NumPy's name of a type, or ours where it has none.
pub(super) fn numpy_name(ty: ElementType) -> &'static str {
    use ElementType as E;
    match ty {
        E::Boolean => "bool",
        E::F16 => "float16",
        E::F32 => "float32",
        E::F64 => "float64",
        E::I8 => "int8",
        E::I16 => "int16",
        E::I32 => "int32",
        E::I64 => "int64",
        E::U8 => "uint8",
        E::U16 => "uint16",
        E::U32 => "uint32",
        E::U64 => "uint64",
        E::String => "strings",
        // Complex types have NumPy's names.
        other => other.name(),
    }
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;
    use crate::tensor::Element;

    fn error<T: Element>(values: &[T], wanted: ElementType) -> String {
        adapt(&Tensor::vector(values), wanted)
            .expect_err("does not fit")
            .to_string()
    }

    fn equal<T: Element, U: Element>(from: &[T], to: &[U]) {
        assert_eq!(
            adapt(&Tensor::vector(from), U::TYPE).expect("fits"),
            Tensor::vector(to)
        );
    }

    #[test]
    fn what_fits() {
        equal(&[1i64, -5], &[1i32, -5]);
        equal(&[1i64, 255], &[1u8, 255]);
        equal(&[u64::MAX], &[u64::MAX]);
        equal(&[1u8, 0], &[true, false]);
        equal(&[1i64 << 24, -3], &[16_777_216f32, -3.0]);
        equal(&[0.1f64, f64::INFINITY], &[0.1f32, f32::INFINITY]);
        equal(&[0.1f32], &[f16::from_f32(0.1)]);
        equal(&[f16::from_f32(0.1)], &[f64::from(f16::from_f32(0.1))]);
        equal(&[0x3f80u16], &[bf16::ONE]);
        equal(&[1.0f32], &[bf16::ONE]);
        let long = adapt(&Tensor::vector(&vec![7i64; 2000]), ElementType::U3);
        assert_eq!(long.expect("fits").len(), 2000);
        for (value, ty) in [(0.5f32, ElementType::F8e4m3), (1.5, ElementType::F4e2m1)] {
            assert!(adapt(&Tensor::scalar(value), ty).is_ok());
        }
    }

    #[test]
    fn what_does_not() {
        assert_eq!(
            error(&[1i64, 300], ElementType::U8),
            "u8 is wanted, the file has int64, and 300 at element 1 does not fit"
        );
        assert_eq!(
            error(&[1.0f32], ElementType::I32),
            "i32 is wanted, the file has float32"
        );
        assert_eq!(
            error(&[u64::MAX], ElementType::I64),
            "i64 is wanted, the file has uint64, and 18446744073709551615 at element 0 does not fit"
        );
        assert_eq!(
            error(&[(1i64 << 24) + 1], ElementType::F32),
            "f32 is wanted, the file has int64, and 16777217 at element 0 has no exact equal"
        );
        assert!(error(&[u64::MAX], ElementType::F64).contains("no exact equal"));
        assert_eq!(
            error(&[1e40f64], ElementType::F32).split(", and").next(),
            Some("f32 is wanted, the file has float64")
        );
        assert_eq!(
            error(&[0.3f32], ElementType::F8e4m3),
            "f8e4m3 is wanted, the file has float32, and 0.30000001192092896 at element 0 has no exact equal"
        );
        assert!(error(&[2u8], ElementType::Boolean).contains("does not fit"));
        assert!(error(&[true], ElementType::F32).contains("bool"));
        assert_eq!(
            error(&[true], ElementType::Nf4),
            "nf4 is wanted, the file has bool (codes of nf4 are uint8)"
        );
        assert!(error(&[16u8], ElementType::U4).contains("no code of u4"));
        let text = Tensor::strings([1], vec!["a".into()]).expect("one");
        assert!(adapt(&text, ElementType::F32).is_err());
    }
}
