//! Conversion between element types, whole or a block at a time.
//!
//! `widen` and `narrow` are how everything else computes on element types it has no code for:
//! a block of elements in the type of their class, and back. `convert_into` converts between any
//! two types but strings and complex numbers, by one rule for each pair of kinds:
//!
//! | from | to | rule |
//! |---|---|---|
//! | integer, boolean | integer | modulo 2^N |
//! | integer, boolean | float | nearest, ties to even |
//! | float | integer | towards zero, then modulo 2^N; see below for what is beyond 32 or 64 bits |
//! | float | float | nearest, ties to even; see [`super::float`] for the small formats |
//! | any | boolean | whether it is not zero (NaN is not) |
//!
//! A float narrower than `f32` is always reached through `f32`.
//!
//! The specification leaves floats outside an integer type undefined; these rules are what the
//! real runtime shows on x86. Integers of up to 32 bits are reached through `i32`, where NaN and
//! whatever does not fit become the lowest number, so that narrower types become 0. `i64` likewise
//! becomes its lowest number. `u32` and `u64` become 2^(N-1) for NaN and what is below the signed
//! type of their size, and 0 for what is above their own range.

mod class;
mod codes;
mod half;

use rayon::prelude::*;

#[cfg(test)]
pub(crate) use class::to_i64;
pub(crate) use class::{BLOCK, Compute, Native, few_i64, narrow, one_i64, try_i64, widen};
use class::{view, view_mut, write, write_codes};
pub(crate) use codes::{codes, from_codes, sign_extend_i4};
pub(crate) use half::wide;

use super::{ElementType, Tensor, TensorError};
use crate::limits::Share;
use ElementType as E;

/// The low 32 bits of a whole number of less than 2^51: what is added moves them to the end of the
/// mantissa. Casts would not be vectorised.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // the purpose
fn low_bits(x: f64) -> u32 {
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    (x + SHIFT).to_bits() as u32
}

/// The low 64 bits of a whole number from -2^63 up to 2^64.
#[inline(always)]
fn all_bits(x: f64) -> u64 {
    const TWO_32: f64 = 4_294_967_296.0;
    let high = (x / TWO_32).floor();
    u64::from(low_bits(high)) << 32 | u64::from(low_bits(x - high * TWO_32))
}

/// Writes floats as integers (see the module), or as boolean.
macro_rules! truncate {
    ($name:ident, $C:ty) => {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_possible_wrap
        )] // wrapping is the purpose
        fn $name(data: &[$C], ty: ElementType, bytes: &mut [u8]) {
            const TWO_31: $C = 2_147_483_648.0;
            const TWO_63: $C = 9_223_372_036_854_775_808.0;
            /// The whole part of a number, of `low` below it and for NaN, of 0 from `high` on.
            #[inline(always)]
            fn within(x: $C, low: $C, high: $C) -> f64 {
                let y = if x >= low { x } else { low };
                let y = if x >= high { 0.0 } else { y };
                y.trunc().into()
            }
            #[inline(always)]
            fn to_i32(x: $C) -> i32 {
                let x = if x < TWO_31 { x } else { -TWO_31 };
                low_bits(within(x, -TWO_31, TWO_31)) as i32
            }
            #[inline(always)]
            fn to_i64(x: $C) -> i64 {
                let x = if x < TWO_63 { x } else { -TWO_63 };
                all_bits(within(x, -TWO_63, TWO_63)) as i64
            }
            #[inline(always)]
            fn to_u32(x: $C) -> u32 {
                low_bits(within(x, -TWO_31, 2.0 * TWO_31))
            }
            #[inline(always)]
            fn to_u64(x: $C) -> u64 {
                all_bits(within(x, -TWO_63, 2.0 * TWO_63))
            }
            match ty {
                E::Boolean => write(
                    data,
                    bytes,
                    0,
                    #[inline(always)]
                    |x| u8::from(x != 0.0),
                ),
                E::I32 => write(data, bytes, 0, to_i32),
                E::I64 => write(data, bytes, 0, to_i64),
                E::U32 => write(data, bytes, 0, to_u32),
                E::U64 => write(data, bytes, 0, to_u64),
                E::I16 | E::U16 => write(
                    data,
                    bytes,
                    0,
                    #[inline(always)]
                    |x| to_i32(x) as u16,
                ),
                _ => write_codes(
                    data,
                    ty,
                    bytes,
                    0,
                    #[inline(always)]
                    |x| to_i32(x) as u8,
                ),
            }
        }
    };
}

truncate!(truncate_f32, f32);
truncate!(truncate_f64, f64);

/// The same elements in another type, by the rules of this module.
///
/// # Errors
/// When one type is string or complex and the other is another, or memory runs out.
pub fn convert(tensor: &Tensor, ty: ElementType) -> Result<Tensor, TensorError> {
    if tensor.element_type() == ty {
        return Ok(tensor.clone());
    }
    let mut out = Tensor::zeros(ty, tensor.shape().clone())?;
    convert_into(tensor, &mut out)?;
    Ok(out)
}

/// Writes the elements of a tensor into another of as many elements, by the rules of this module.
/// Ends with anything in it when the time is over.
///
/// # Errors
/// When one type is string or complex and the other is another, or the number of elements
/// differs.
pub(crate) fn convert_into(tensor: &Tensor, out: &mut Tensor) -> Result<(), TensorError> {
    let (from, to, len) = (tensor.element_type(), out.element_type(), tensor.len());
    if len != out.len() {
        return Err(TensorError::Length {
            shape: out.shape().clone(),
            element_type: to,
            expected: out.len(),
            found: len,
            unit: "elements",
        });
    }
    if from == E::String {
        out.as_mut_strings()?.clone_from_slice(tensor.as_strings()?);
        return Ok(());
    }
    let bytes = tensor.bytes();
    if from == to {
        out.bytes_mut().copy_from_slice(bytes);
        return Ok(());
    }
    let part = to.storage_bytes(PART);
    let Some(part) = part.filter(|_| from.class().is_some() && to.class().is_some()) else {
        return Err(TensorError::ElementType {
            found: from,
            expected: to,
        });
    };
    let convert = |(i, out): (usize, &mut [u8])| {
        let start = i * PART;
        convert_part(from, bytes, start, PART.min(len - start), to, out);
    };
    if len <= PART {
        out.bytes_mut()
            .chunks_mut(part)
            .enumerate()
            .for_each(convert);
    } else {
        let parts = out.bytes_mut().par_chunks_mut(part);
        parts.enumerate().share(convert);
    }
    Ok(())
}

/// Elements one thread converts at a time; whole bytes in every type.
const PART: usize = 1 << 16;

/// Converts the elements `start..start + len` of one type to the first of another.
fn convert_part(
    from: ElementType,
    bytes: &[u8],
    start: usize,
    len: usize,
    to: ElementType,
    out: &mut [u8],
) {
    match to {
        E::F64 => f64::widen_bytes(from, bytes, start, view_mut(out, 0, len)),
        E::F32 => f32::widen_bytes(from, bytes, start, view_mut(out, 0, len)),
        _ if to.is_float() => blocks::<f32>(from, bytes, start, len, &mut |block, at| {
            f32::narrow_bytes(block, to, out, at);
        }),
        _ if from == E::F64 => blocks::<f64>(from, bytes, start, len, &mut |block, at| {
            truncate_f64(block, to, after(out, to, at));
        }),
        _ if from.is_float() => blocks::<f32>(from, bytes, start, len, &mut |block, at| {
            truncate_f32(block, to, after(out, to, at));
        }),
        _ => blocks::<i64>(from, bytes, start, len, &mut |block, at| {
            i64::narrow_bytes(block, to, out, at);
        }),
    }
}

/// The bytes from element `at` on, a multiple of a block.
fn after(bytes: &mut [u8], ty: ElementType, at: usize) -> &mut [u8] {
    &mut bytes[at / 8 * ty.bits()..]
}

/// Widens the elements `start..start + len` block by block.
fn blocks<C: Compute>(
    from: ElementType,
    bytes: &[u8],
    start: usize,
    len: usize,
    f: &mut dyn FnMut(&[C], usize),
) {
    if from == C::TYPE {
        return f(view(bytes, start, len), 0);
    }
    let mut block = [C::default(); BLOCK];
    for at in (0..len).step_by(BLOCK) {
        let block = &mut block[..BLOCK.min(len - at)];
        C::widen_bytes(from, bytes, start + at, block);
        f(block, at);
    }
}

#[cfg(test)]
mod tests;
