//! Which type to compute in.

use crate::tensor::ElementType;

/// A type that arithmetic is computed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    /// `f32`, and every narrower float.
    F32,
    /// `f64`.
    F64,
    /// `i32`, and every integer of at most 16 bits, which it holds with room to spare.
    I32,
    /// `i64` and `u32`.
    I64,
    /// `u64`.
    U64,
}

/// The type to compute in; `None` for string, complex types and dynamic.
pub(crate) fn lane(ty: ElementType) -> Option<Lane> {
    match ty {
        ty if ty.class().is_none() => None,
        ElementType::F64 => Some(Lane::F64),
        ElementType::I64 | ElementType::U32 => Some(Lane::I64),
        ElementType::U64 => Some(Lane::U64),
        _ if ty.is_float() => Some(Lane::F32),
        _ => Some(Lane::I32),
    }
}
