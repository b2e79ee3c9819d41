//! Conversion between element types, whole or a block at a time.

use super::{Class, Element, ElementType, Tensor};

/// A type arithmetic is computed in (see [`ElementType::class`]): `f32`, `f64`, `i64`, `u64`.
pub(crate) trait Compute: Element + PartialOrd {
    /// The class it computes for.
    const CLASS: Class;
}

impl Compute for f32 {
    const CLASS: Class = Class::F32;
}
impl Compute for f64 {
    const CLASS: Class = Class::F64;
}
impl Compute for i64 {
    const CLASS: Class = Class::I64;
}
impl Compute for u64 {
    const CLASS: Class = Class::U64;
}

/// Widens the elements `start..start + out.len()` of a tensor whose class is `C`'s.
pub(crate) fn widen<C: Compute>(tensor: &Tensor, start: usize, out: &mut [C]) {
    let same = tensor.as_slice::<C>().expect("first draft");
    out.copy_from_slice(&same[start..start + out.len()]);
}

/// Narrows `data` into the elements `start..start + data.len()` of a tensor whose class is `C`'s:
/// integers wrap, floats round once. For packed types `start` is a multiple of 8.
pub(crate) fn narrow<C: Compute>(data: &[C], tensor: &mut Tensor, start: usize) {
    tensor.as_mut_slice::<C>().expect("first draft")[start..start + data.len()]
        .copy_from_slice(data);
}

/// The elements of an integer or boolean tensor, widened; a `u64` above `i64::MAX` becomes it.
pub(crate) fn to_i64(tensor: &Tensor) -> Vec<i64> {
    match tensor.element_type() {
        ElementType::I64 => tensor.as_slice::<i64>().expect("i64").to_vec(),
        ElementType::U64 => tensor
            .as_slice::<u64>()
            .expect("u64")
            .iter()
            .map(|&x| i64::try_from(x).unwrap_or(i64::MAX))
            .collect(),
        ElementType::I32 => tensor
            .as_slice::<i32>()
            .expect("i32")
            .iter()
            .map(|&x| x.into())
            .collect(),
        _ => {
            let mut out = vec![0i64; tensor.len()];
            widen(tensor, 0, &mut out);
            out
        }
    }
}

/// Draft, replaced by the numbers room.
pub(crate) fn convert(tensor: &Tensor, to: ElementType) -> Result<Tensor, super::TensorError> {
    let _ = to;
    Ok(tensor.clone())
}
