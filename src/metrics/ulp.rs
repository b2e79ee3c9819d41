//! Units in the last place: how many numbers of a type lie between two of them.

use half::{bf16, f16};

use crate::tensor::ElementType as E;
use crate::tensor::float;

/// The type in which the distance of two floats is counted: the narrower one, and of two as wide the
/// one with fewer bits of fraction. `None` unless both are floats whose numbers lie in the order of
/// their bits.
pub fn ulp_type(a: E, b: E) -> Option<E> {
    let rank = |ty| match ty {
        E::F64 => Some(5),
        E::F32 => Some(4),
        E::F16 => Some(3),
        E::Bf16 => Some(2),
        E::F8e4m3 => Some(1),
        E::F8e5m2 => Some(0),
        _ => None,
    };
    let (x, y) = (rank(a)?, rank(b)?);
    Some(if x < y { a } else { b })
}

/// The position of a number, rounded to the type, among all numbers of the type; zeros have one.
#[allow(clippy::cast_possible_truncation)] // rounding is the purpose
pub(super) fn position(ty: E, x: f64) -> i64 {
    let (bits, sign) = match ty {
        E::F64 => (x.to_bits(), 63),
        E::F32 => (u64::from((x as f32).to_bits()), 31),
        E::F16 => (u64::from(f16::from_f64(x).to_bits()), 15),
        E::Bf16 => (u64::from(bf16::from_f64(x).to_bits()), 15),
        E::F8e4m3 => (u64::from(float::to_f8e4m3(x as f32)), 7),
        _ => (u64::from(float::to_f8e5m2(x as f32)), 7),
    };
    let size = (bits & ((1 << sign) - 1)).cast_signed();
    if bits >> sign == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_apart() {
        let up = f64::from(f32::from_bits(1.0f32.to_bits() + 1));
        assert_eq!(position(E::F32, up) - position(E::F32, 1.0), 1);
        assert_eq!(position(E::F16, up) - position(E::F16, 1.0), 0);
        assert_eq!(position(E::F32, 0.0), position(E::F32, -0.0));
        let tiny = f64::from(f32::from_bits(1));
        assert_eq!(position(E::F32, tiny) - position(E::F32, -tiny), 2);
        let half = f16::from_bits(0x3c01).to_f64();
        assert_eq!(position(E::F16, half) - position(E::F16, 1.0), 1);
        assert_eq!(position(E::Bf16, 1.0078125) - position(E::Bf16, 1.0), 1);
        assert_eq!(
            position(E::F64, 1.0 + f64::EPSILON),
            position(E::F64, 1.0) + 1
        );
        assert_eq!(position(E::F8e4m3, 1.125) - position(E::F8e4m3, 1.0), 1);
        assert_eq!(position(E::F8e5m2, 1.25) - position(E::F8e5m2, 1.0), 1);
    }

    #[test]
    fn the_narrower_type_counts() {
        assert_eq!(ulp_type(E::F32, E::F16), Some(E::F16));
        assert_eq!(ulp_type(E::Bf16, E::F16), Some(E::Bf16));
        assert_eq!(ulp_type(E::F64, E::F32), Some(E::F32));
        assert_eq!(ulp_type(E::F32, E::I32), None);
    }
}
