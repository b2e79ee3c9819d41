//! The types arithmetic is computed in, and every other type seen through them.

use bytemuck::{AnyBitPattern, Pod};

use super::half;
use crate::tensor::simd::vectorize_mut;
use crate::tensor::{Element, ElementType, Few, Tensor, TensorError, float, pack};
use ElementType as E;

/// Elements converted at a time: a few pages of the widest type, so that they stay in cache.
pub(crate) const BLOCK: usize = 512;

/// A Rust type whose slices can be narrowed into tensors.
pub(crate) trait Native: Copy + Default + Send + Sync + 'static {
    /// The elements themselves, if a tensor of this type holds them as they are.
    fn native_mut(ty: ElementType, bytes: &mut [u8]) -> Option<&mut [Self]>;

    /// Narrows `data` into the elements `start..start + data.len()` of a type.
    fn narrow_bytes(data: &[Self], ty: ElementType, bytes: &mut [u8], start: usize);
}

/// A type arithmetic is computed in: `f32`, `f64`, `i64`, `u64` for their classes (see
/// [`ElementType::class`]), and `i32`, which is enough for integers of 16 bits or fewer.
pub(crate) trait Compute: Native + Element + Pod + PartialOrd {
    /// Widens the elements `start..start + out.len()` of a type.
    fn widen_bytes(ty: ElementType, bytes: &[u8], start: usize, out: &mut [Self]);

    /// The elements themselves, if a tensor of this type holds them as they are.
    fn native(ty: ElementType, bytes: &[u8]) -> Option<&[Self]> {
        (ty == Self::TYPE).then(|| bytemuck::cast_slice(bytes))
    }
}

/// Widens the elements `start..start + out.len()` of a tensor whose class is `C`'s.
///
/// Beyond the class, floats accept every numeric type and boolean, rounding once to nearest, and
/// integers accept every integer and boolean, modulo 2^64.
pub(crate) fn widen<C: Compute>(tensor: &Tensor, start: usize, out: &mut [C]) {
    C::widen_bytes(tensor.element_type(), tensor.bytes(), start, out);
}

/// Narrows `data` into the elements `start..start + data.len()` of a tensor whose class is `C`'s:
/// integers wrap, floats round once to nearest (see [`super::float`] for f8e5m2), boolean is
/// whether the number is not zero.
///
/// For packed types `start` is a multiple of 8, and so is the end, unless it is the tensor's. `i64`
/// and `u64` accept each other's types, modulo 2^64.
pub(crate) fn narrow<C: Compute>(data: &[C], tensor: &mut Tensor, start: usize) {
    C::narrow_bytes(data, tensor.element_type(), tensor.bytes_mut(), start);
}

pub(super) fn view<T: AnyBitPattern>(bytes: &[u8], start: usize, len: usize) -> &[T] {
    // Every tensor is aligned for its type.
    &bytemuck::cast_slice(bytes)[start..start + len]
}

pub(super) fn view_mut<T: Pod>(bytes: &mut [u8], start: usize, len: usize) -> &mut [T] {
    &mut bytemuck::cast_slice_mut(bytes)[start..start + len]
}

/// Writes a function of each number, in a loop for the vectors of the machine.
#[inline(always)]
fn each<A: Copy, B>(data: &[A], out: &mut [B], f: impl Fn(A) -> B) {
    vectorize_mut(
        #[inline(always)]
        || {
            for (out, &x) in out.iter_mut().zip(data) {
                *out = f(x);
            }
        },
    );
}

#[inline(always)]
fn read<T: AnyBitPattern, C>(bytes: &[u8], start: usize, out: &mut [C], f: impl Fn(T) -> C) {
    each(view::<T>(bytes, start, out.len()), out, f);
}

#[inline(always)]
pub(super) fn write<C: Copy, T: Pod>(
    data: &[C],
    bytes: &mut [u8],
    start: usize,
    f: impl Fn(C) -> T,
) {
    each(data, view_mut::<T>(bytes, start, data.len()), f);
}

/// Reads a type of one byte or less by its codes.
#[inline(always)]
fn read_codes<C>(ty: ElementType, bytes: &[u8], start: usize, out: &mut [C], f: impl Fn(u8) -> C) {
    if !ty.is_packed() {
        return read(bytes, start, out, f);
    }
    let mut codes = [0; BLOCK];
    for (block, out) in out.chunks_mut(BLOCK).enumerate() {
        let codes = &mut codes[..out.len()];
        pack::unpack(ty, bytes, start + block * BLOCK, codes);
        each(codes, out, &f);
    }
}

/// Writes a type of one byte or less by its codes.
#[inline(always)]
pub(super) fn write_codes<C: Copy>(
    data: &[C],
    ty: ElementType,
    bytes: &mut [u8],
    start: usize,
    f: impl Fn(C) -> u8,
) {
    if !ty.is_packed() {
        return write(data, bytes, start, f);
    }
    let mut codes = [0; BLOCK];
    for (block, data) in data.chunks(BLOCK).enumerate() {
        let codes = &mut codes[..data.len()];
        each(data, codes, &f);
        pack::pack(ty, codes, bytes, start + block * BLOCK);
    }
}

pub(super) const fn i4(code: u8) -> i8 {
    (code << 4).cast_signed() >> 4
}

/// Reads every integer type and boolean by one cast, which the compiler vectorises for each type.
macro_rules! read_integers {
    ($ty:expr, $bytes:expr, $start:expr, $out:expr, $C:ty) => {{
        let (ty, bytes, start, out) = ($ty, $bytes, $start, $out);
        match ty {
            E::I8 => read(
                bytes,
                start,
                out,
                #[inline(always)]
                |x: i8| x as $C,
            ),
            E::I16 => read(
                bytes,
                start,
                out,
                #[inline(always)]
                |x: i16| x as $C,
            ),
            E::I32 => read(
                bytes,
                start,
                out,
                #[inline(always)]
                |x: i32| x as $C,
            ),
            E::I64 => read(
                bytes,
                start,
                out,
                #[inline(always)]
                |x: i64| x as $C,
            ),
            E::U16 => read(
                bytes,
                start,
                out,
                #[inline(always)]
                |x: u16| x as $C,
            ),
            E::U32 => read(
                bytes,
                start,
                out,
                #[inline(always)]
                |x: u32| x as $C,
            ),
            E::U64 => read(
                bytes,
                start,
                out,
                #[inline(always)]
                |x: u64| x as $C,
            ),
            E::I4 => read_codes(
                ty,
                bytes,
                start,
                out,
                #[inline(always)]
                |code| i4(code) as $C,
            ),
            E::Boolean | E::U8 | E::U1 | E::U2 | E::U3 | E::U4 | E::U6 => {
                read_codes(
                    ty,
                    bytes,
                    start,
                    out,
                    #[inline(always)]
                    |code| code as $C,
                );
            }
            _ => unreachable!("{ty} cannot be widened to {}", stringify!($C)),
        }
    }};
}

/// Writes every integer type and boolean by one wrapping cast.
macro_rules! write_integers {
    ($data:expr, $ty:expr, $bytes:expr, $start:expr) => {{
        let (data, ty, bytes, start) = ($data, $ty, $bytes, $start);
        match ty {
            E::I16 | E::U16 => write(
                data,
                bytes,
                start,
                #[inline(always)]
                |x| x as u16,
            ),
            E::I32 | E::U32 => write(
                data,
                bytes,
                start,
                #[inline(always)]
                |x| x as u32,
            ),
            E::I64 | E::U64 => write(
                data,
                bytes,
                start,
                #[inline(always)]
                |x| x as u64,
            ),
            E::Boolean => write(
                data,
                bytes,
                start,
                #[inline(always)]
                |x| u8::from(x != 0),
            ),
            E::I8 | E::U8 | E::I4 | E::U1 | E::U2 | E::U3 | E::U4 | E::U6 => {
                write_codes(
                    data,
                    ty,
                    bytes,
                    start,
                    #[inline(always)]
                    |x| x as u8,
                );
            }
            _ => unreachable!("integers cannot be narrowed to {ty}"),
        }
    }};
}

/// Implements the parts of [`Native`] and [`Compute`] that differ in the type only.
macro_rules! compute {
    ($C:ty, $TYPE:expr, $narrow:expr, $widen:expr) => {
        impl Native for $C {
            fn native_mut(ty: ElementType, bytes: &mut [u8]) -> Option<&mut [Self]> {
                (ty == $TYPE).then(|| bytemuck::cast_slice_mut(bytes))
            }

            fn narrow_bytes(data: &[$C], ty: ElementType, bytes: &mut [u8], start: usize) {
                $narrow(data, ty, bytes, start);
            }
        }

        impl Compute for $C {
            fn widen_bytes(ty: ElementType, bytes: &[u8], start: usize, out: &mut [$C]) {
                $widen(ty, bytes, start, out);
            }
        }
    };
}

compute!(f32, E::F32, narrow_f32, widen_f32);
compute!(f64, E::F64, narrow_f64, widen_f64);
compute!(i32, E::I32, narrow_i32, widen_i32);
compute!(i64, E::I64, narrow_i64, widen_i64);
compute!(u64, E::U64, narrow_u64, widen_u64);

impl Native for bool {
    fn native_mut(_: ElementType, _: &mut [u8]) -> Option<&mut [bool]> {
        None
    }

    fn narrow_bytes(data: &[bool], ty: ElementType, bytes: &mut [u8], start: usize) {
        debug_assert_eq!(ty, E::Boolean);
        write(data, bytes, start, u8::from);
    }
}

#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)] // rounding is the purpose
fn widen_f32(ty: ElementType, bytes: &[u8], start: usize, out: &mut [f32]) {
    match ty {
        E::F32 => out.copy_from_slice(view(bytes, start, out.len())),
        E::F16 => half::widen(view(bytes, start, out.len()), out),
        E::Bf16 => read(
            bytes,
            start,
            out,
            #[inline(always)]
            |x: u16| f32::from_bits(u32::from(x) << 16),
        ),
        E::F64 => read(
            bytes,
            start,
            out,
            #[inline(always)]
            |x: f64| x as f32,
        ),
        _ => match float::values(ty) {
            Some(values) => read_codes(
                ty,
                bytes,
                start,
                out,
                #[inline(always)]
                |c| values[usize::from(c)],
            ),
            None => read_integers!(ty, bytes, start, out, f32),
        },
    }
}

fn narrow_f32(data: &[f32], ty: ElementType, bytes: &mut [u8], start: usize) {
    match ty {
        E::F32 => view_mut(bytes, start, data.len()).copy_from_slice(data),
        E::F16 => half::narrow_slice(data, view_mut(bytes, start, data.len())),
        E::Bf16 => write(data, bytes, start, to_bf16),
        E::F8e4m3 => write(data, bytes, start, float::to_f8e4m3),
        E::F8e5m2 => write(data, bytes, start, float::to_f8e5m2),
        E::F8e8m0 => write(data, bytes, start, float::to_f8e8m0),
        E::F4e2m1 => write_codes(data, ty, bytes, start, float::to_f4e2m1),
        E::Nf4 => write_codes(data, ty, bytes, start, float::to_nf4),
        _ => unreachable!("f32 cannot be narrowed to {ty}"),
    }
}

#[allow(clippy::cast_precision_loss, clippy::cast_lossless)]
fn widen_f64(ty: ElementType, bytes: &[u8], start: usize, out: &mut [f64]) {
    match ty {
        E::F64 => out.copy_from_slice(view(bytes, start, out.len())),
        E::F32 => read(
            bytes,
            start,
            out,
            #[inline(always)]
            |x: f32| x.into(),
        ),
        _ if ty.is_float() => {
            let mut block = [0f32; BLOCK];
            for (i, out) in out.chunks_mut(BLOCK).enumerate() {
                let block = &mut block[..out.len()];
                widen_f32(ty, bytes, start + i * BLOCK, block);
                each(block, out, f64::from);
            }
        }
        _ => read_integers!(ty, bytes, start, out, f64),
    }
}

/// The bits of a bf16, in a loop the compiler vectorises.
#[inline(always)]
fn to_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    let even = bits.wrapping_add(0x7fff + (bits >> 16 & 1));
    let kept = if x.is_nan() { bits | 0x0040_0000 } else { even };
    (kept >> 16) as u16
}

fn narrow_f64(data: &[f64], ty: ElementType, bytes: &mut [u8], start: usize) {
    debug_assert_eq!(ty, E::F64);
    view_mut(bytes, start, data.len()).copy_from_slice(data);
}

/// Integers as the type `$C`, both ways, modulo its size.
macro_rules! integers {
    ($C:ty, $widen:ident, $narrow:ident) => {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_possible_wrap,
            clippy::cast_lossless,
            clippy::cast_sign_loss,
            clippy::unnecessary_cast
        )] // wrapping is the purpose
        fn $widen(ty: ElementType, bytes: &[u8], start: usize, out: &mut [$C]) {
            read_integers!(ty, bytes, start, out, $C);
        }

        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_lossless,
            clippy::cast_sign_loss,
            clippy::unnecessary_cast
        )]
        fn $narrow(data: &[$C], ty: ElementType, bytes: &mut [u8], start: usize) {
            write_integers!(data, ty, bytes, start);
        }
    };
}

integers!(i32, widen_i32, narrow_i32);
integers!(i64, widen_i64, narrow_i64);
integers!(u64, widen_u64, narrow_u64);

/// The elements of an integer or boolean tensor, widened; a `u64` above `i64::MAX` becomes it.
///
/// # Errors
/// When there is no memory for them.
pub(crate) fn try_i64(tensor: &Tensor) -> Result<Few<i64>, TensorError> {
    let (len, mut out) = (tensor.len(), Few::new());
    out.try_reserve_exact(len)
        .map_err(|_| TensorError::OutOfMemory(len.saturating_mul(size_of::<i64>())))?;
    out.resize(len, 0);
    widen_to_i64(tensor, &mut out);
    Ok(out)
}

/// As [`try_i64`], for tests.
#[cfg(test)]
pub(crate) fn to_i64(tensor: &Tensor) -> Vec<i64> {
    try_i64(tensor).expect("memory").into_vec()
}

/// As [`try_i64`], of a tensor that has few.
pub(crate) fn few_i64(tensor: &Tensor) -> Few<i64> {
    let mut out = Few::from_elem(0, tensor.len());
    widen_to_i64(tensor, &mut out);
    out
}

/// As [`try_i64`], of a tensor of one element.
pub(crate) fn one_i64(tensor: &Tensor) -> Option<i64> {
    // What nearly all are, without a look at every type.
    if let Some(all) = i64::native(tensor.element_type(), tensor.bytes()) {
        return match all {
            [one] => Some(*one),
            _ => None,
        };
    }
    let mut out = [0];
    (tensor.len() == 1).then(|| widen_to_i64(tensor, &mut out))?;
    Some(out[0])
}

fn widen_to_i64(tensor: &Tensor, out: &mut [i64]) {
    if tensor.element_type() == E::U64 {
        read(
            tensor.bytes(),
            0,
            out,
            #[inline(always)]
            |x: u64| i64::try_from(x).unwrap_or(i64::MAX),
        );
    } else {
        widen(tensor, 0, out);
    }
}
