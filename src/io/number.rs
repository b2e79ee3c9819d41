//! Numbers into elements, checked: what does not fit is an error.

use super::IoError;
use crate::tensor::{Class, ElementType, Tensor, convert};

/// The smallest and largest value of an integer type, or of boolean.
pub(super) fn integer_range(ty: ElementType) -> Option<(i128, i128)> {
    match ty {
        ElementType::Boolean => Some((0, 1)),
        _ if ty.is_signed_integer() => {
            let half = 1i128 << (ty.bits() - 1);
            Some((-half, half - 1))
        }
        _ if ty.is_integer() => Some((0, (1i128 << ty.bits()) - 1)),
        _ => None,
    }
}

/// Writes integers that are inside the range of the tensor's integer type or boolean.
///
/// For packed types `start` is a multiple of 8.
pub(super) fn write_integers(data: &[i128], tensor: &mut Tensor, start: usize) {
    // The low 64 bits are the number in either class.
    #[allow(clippy::cast_possible_truncation)]
    let words: Vec<i64> = data.iter().map(|&x| x as i64).collect();
    convert::narrow(&words, tensor, start);
}

/// Writes numbers into a tensor of a float type, rounded to nearest.
///
/// For packed types `start` is a multiple of 8.
pub(super) fn write_floats(data: &[f64], tensor: &mut Tensor, start: usize) {
    if tensor.element_type().class() == Some(Class::F64) {
        convert::narrow(data, tensor, start);
        return;
    }
    let direct = tensor.element_type() == ElementType::F32;
    #[allow(clippy::cast_possible_truncation)]
    let singles: Vec<f32> = data
        .iter()
        .map(|&x| if direct { x as f32 } else { to_odd(x) })
        .collect();
    convert::narrow(&singles, tensor, start);
}

/// Rounds so that a second rounding, to a narrower format, gives what one rounding would have:
/// an inexact result gets an odd last bit, which is never taken for a tie.
#[allow(clippy::cast_possible_truncation)]
pub(super) fn to_odd(x: f64) -> f32 {
    let nearest = x as f32;
    let back = f64::from(nearest);
    if back == x || x.is_nan() || nearest.is_infinite() || nearest.to_bits() & 1 == 1 {
        return nearest;
    }
    let away = back.abs() < x.abs();
    let bits = nearest.to_bits();
    f32::from_bits(if away { bits + 1 } else { bits - 1 })
}

/// Why `x` did not become an element, if it did not: `written` is what became of it.
pub(super) fn lost(x: f64, written: f64, ty: ElementType) -> Option<IoError> {
    let what = if x.is_nan() {
        return (!written.is_nan()).then(|| IoError::mismatch(format!("{ty} has no nan")));
    } else if x.is_infinite() {
        if written == x {
            return None;
        }
        "infinity"
    } else if ty == ElementType::F8e8m0 && x <= 0.0 {
        "zero and no sign"
    } else if !written.is_finite() || (ty.bits() <= 8 && x.abs() > largest(ty)) {
        return Some(IoError::mismatch(format!("{x} is out of range for {ty}")));
    } else {
        return None;
    };
    Some(IoError::mismatch(format!("{ty} has no {what}")))
}

/// The largest finite value of a float type of one byte or less.
fn largest(ty: ElementType) -> f64 {
    match ty {
        ElementType::F8e4m3 => 448.0,
        ElementType::F8e5m2 => 57344.0,
        ElementType::F8e8m0 => 2f64.powi(127),
        ElementType::F4e2m1 => 6.0,
        ElementType::Nf4 => 1.0,
        _ => f64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    #[test]
    fn ranges() {
        assert_eq!(integer_range(ElementType::I4), Some((-8, 7)));
        assert_eq!(integer_range(ElementType::U1), Some((0, 1)));
        assert_eq!(
            integer_range(ElementType::U64),
            Some((0, i128::from(u64::MAX)))
        );
        assert_eq!(integer_range(ElementType::F32), None);
    }

    #[test]
    fn halves_are_rounded_once() {
        // Just above the middle of 1 and the next f16; the nearest f32 is the middle itself.
        let x = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
        let mut tensor = Tensor::zeros(ElementType::F16, [2]).expect("small");
        write_floats(&[x, -x], &mut tensor, 0);
        let next = f16::from_bits(f16::ONE.to_bits() + 1);
        assert_eq!(tensor.as_slice::<f16>().expect("f16"), [next, -next]);
    }
}
