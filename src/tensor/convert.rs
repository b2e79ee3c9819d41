//! Conversion between element types, whole or a block at a time.
//!
//! [`widen`] and [`narrow`] are how everything else computes on element types it has no code for:
//! a block of elements in the type of their class, and back. [`convert_into`] converts between any
//! two types but strings, by one rule for each pair of kinds:
//!
//! | from | to | rule |
//! |---|---|---|
//! | integer, boolean | integer | modulo 2^N |
//! | integer, boolean | float | nearest, ties to even |
//! | float | integer | towards zero; what is out of range becomes the nearest bound, NaN becomes 0 |
//! | float | float | nearest, ties to even; see [`super::float`] for the small formats |
//! | any | boolean | whether it is not zero (NaN is not) |
//!
//! A float narrower than `f32` is always reached through `f32`.

use bytemuck::AnyBitPattern;
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use rayon::prelude::*;

use super::{Class, Element, ElementType, Shape, Tensor, TensorError, float, pack};
use ElementType as E;

/// Elements converted at a time: a few pages of the widest type, so that they stay in cache.
pub(crate) const BLOCK: usize = 512;

/// A type arithmetic is computed in (see [`ElementType::class`]): `f32`, `f64`, `i64`, `u64`.
pub(crate) trait Compute: Element + PartialOrd + bytemuck::Pod {
    /// The class it computes for.
    const CLASS: Class;

    /// Widens the elements `start..start + out.len()` of a type.
    fn widen_bytes(ty: ElementType, bytes: &[u8], start: usize, out: &mut [Self]);

    /// Narrows `data` into the elements `start..start + data.len()` of a type.
    fn narrow_bytes(data: &[Self], ty: ElementType, bytes: &mut [u8], start: usize);
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

fn view<T: AnyBitPattern>(bytes: &[u8], start: usize, len: usize) -> &[T] {
    // Every tensor is aligned for its type.
    &bytemuck::cast_slice(bytes)[start..start + len]
}

fn view_mut<T: bytemuck::Pod>(bytes: &mut [u8], start: usize, len: usize) -> &mut [T] {
    &mut bytemuck::cast_slice_mut(bytes)[start..start + len]
}

fn read<T: AnyBitPattern, C>(bytes: &[u8], start: usize, out: &mut [C], f: impl Fn(T) -> C) {
    let data = view::<T>(bytes, start, out.len());
    for (out, &x) in out.iter_mut().zip(data) {
        *out = f(x);
    }
}

fn write<C: Copy, T: bytemuck::Pod>(
    data: &[C],
    bytes: &mut [u8],
    start: usize,
    f: impl Fn(C) -> T,
) {
    let out = view_mut::<T>(bytes, start, data.len());
    for (out, &x) in out.iter_mut().zip(data) {
        *out = f(x);
    }
}

/// Reads a type of one byte or less by its codes.
fn read_codes<C>(ty: ElementType, bytes: &[u8], start: usize, out: &mut [C], f: impl Fn(u8) -> C) {
    if !ty.is_packed() {
        return read(bytes, start, out, f);
    }
    let mut codes = [0; BLOCK];
    for (block, out) in out.chunks_mut(BLOCK).enumerate() {
        let codes = &mut codes[..out.len()];
        pack::unpack(ty, bytes, start + block * BLOCK, codes);
        for (out, &code) in out.iter_mut().zip(codes.iter()) {
            *out = f(code);
        }
    }
}

/// Writes a type of one byte or less by its codes.
fn write_codes<C: Copy>(
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
        for (code, &x) in codes.iter_mut().zip(data) {
            *code = f(x);
        }
        pack::pack(ty, codes, bytes, start + block * BLOCK);
    }
}

const fn i4(code: u8) -> i8 {
    (code << 4).cast_signed() >> 4
}

/// Reads every integer type and boolean by one cast, which the compiler vectorises for each type.
macro_rules! read_integers {
    ($ty:expr, $bytes:expr, $start:expr, $out:expr, $C:ty) => {{
        let (ty, bytes, start, out) = ($ty, $bytes, $start, $out);
        match ty {
            E::I8 => read(bytes, start, out, |x: i8| x as $C),
            E::I16 => read(bytes, start, out, |x: i16| x as $C),
            E::I32 => read(bytes, start, out, |x: i32| x as $C),
            E::I64 => read(bytes, start, out, |x: i64| x as $C),
            E::U16 => read(bytes, start, out, |x: u16| x as $C),
            E::U32 => read(bytes, start, out, |x: u32| x as $C),
            E::U64 => read(bytes, start, out, |x: u64| x as $C),
            E::I4 => read_codes(ty, bytes, start, out, |code| i4(code) as $C),
            E::Boolean | E::U8 | E::U1 | E::U2 | E::U3 | E::U4 | E::U6 => {
                read_codes(ty, bytes, start, out, |code| code as $C);
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
            E::I16 | E::U16 => write(data, bytes, start, |x| x as u16),
            E::I32 | E::U32 => write(data, bytes, start, |x| x as u32),
            E::I64 | E::U64 => write(data, bytes, start, |x| x as u64),
            E::Boolean => write(data, bytes, start, |x| u8::from(x != 0)),
            E::I8 | E::U8 | E::I4 | E::U1 | E::U2 | E::U3 | E::U4 | E::U6 => {
                write_codes(data, ty, bytes, start, |x| x as u8);
            }
            _ => unreachable!("integers cannot be narrowed to {ty}"),
        }
    }};
}

#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)] // rounding is the purpose
impl Compute for f32 {
    const CLASS: Class = Class::F32;

    fn widen_bytes(ty: ElementType, bytes: &[u8], start: usize, out: &mut [f32]) {
        match ty {
            E::F32 => out.copy_from_slice(view(bytes, start, out.len())),
            E::F16 => view::<f16>(bytes, start, out.len()).convert_to_f32_slice(out),
            E::Bf16 => read(bytes, start, out, |x: u16| {
                f32::from_bits(u32::from(x) << 16)
            }),
            E::F64 => read(bytes, start, out, |x: f64| x as f32),
            _ => match float::values(ty) {
                Some(values) => read_codes(ty, bytes, start, out, |c| values[usize::from(c)]),
                None => read_integers!(ty, bytes, start, out, f32),
            },
        }
    }

    fn narrow_bytes(data: &[f32], ty: ElementType, bytes: &mut [u8], start: usize) {
        match ty {
            E::F32 => view_mut(bytes, start, data.len()).copy_from_slice(data),
            E::F16 => view_mut::<f16>(bytes, start, data.len()).convert_from_f32_slice(data),
            E::Bf16 => view_mut::<bf16>(bytes, start, data.len()).convert_from_f32_slice(data),
            E::F8e4m3 => write(data, bytes, start, float::to_f8e4m3),
            E::F8e5m2 => write(data, bytes, start, float::to_f8e5m2),
            E::F8e8m0 => write(data, bytes, start, float::to_f8e8m0),
            E::F4e2m1 => write_codes(data, ty, bytes, start, float::to_f4e2m1),
            E::Nf4 => write_codes(data, ty, bytes, start, float::to_nf4),
            _ => unreachable!("f32 cannot be narrowed to {ty}"),
        }
    }
}

#[allow(clippy::cast_precision_loss, clippy::cast_lossless)]
impl Compute for f64 {
    const CLASS: Class = Class::F64;

    fn widen_bytes(ty: ElementType, bytes: &[u8], start: usize, out: &mut [f64]) {
        match ty {
            E::F64 => out.copy_from_slice(view(bytes, start, out.len())),
            E::F32 => read(bytes, start, out, |x: f32| x.into()),
            _ if ty.is_float() => {
                let mut block = [0f32; BLOCK];
                for (i, out) in out.chunks_mut(BLOCK).enumerate() {
                    let block = &mut block[..out.len()];
                    f32::widen_bytes(ty, bytes, start + i * BLOCK, block);
                    for (out, &x) in out.iter_mut().zip(block.iter()) {
                        *out = x.into();
                    }
                }
            }
            _ => read_integers!(ty, bytes, start, out, f64),
        }
    }

    fn narrow_bytes(data: &[f64], ty: ElementType, bytes: &mut [u8], start: usize) {
        debug_assert_eq!(ty, E::F64);
        view_mut(bytes, start, data.len()).copy_from_slice(data);
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_lossless,
    clippy::cast_sign_loss,
    clippy::unnecessary_cast
)] // wrapping is the purpose
impl Compute for i64 {
    const CLASS: Class = Class::I64;

    fn widen_bytes(ty: ElementType, bytes: &[u8], start: usize, out: &mut [i64]) {
        read_integers!(ty, bytes, start, out, i64);
    }

    fn narrow_bytes(data: &[i64], ty: ElementType, bytes: &mut [u8], start: usize) {
        write_integers!(data, ty, bytes, start);
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_lossless,
    clippy::cast_sign_loss,
    clippy::unnecessary_cast
)]
impl Compute for u64 {
    const CLASS: Class = Class::U64;

    fn widen_bytes(ty: ElementType, bytes: &[u8], start: usize, out: &mut [u64]) {
        read_integers!(ty, bytes, start, out, u64);
    }

    fn narrow_bytes(data: &[u64], ty: ElementType, bytes: &mut [u8], start: usize) {
        write_integers!(data, ty, bytes, start);
    }
}

/// Writes floats as integers, towards zero and saturating as Rust's cast does, or as boolean.
macro_rules! write_truncated {
    ($data:expr, $ty:expr, $bytes:expr) => {{
        let (data, ty, bytes) = ($data, $ty, $bytes);
        match ty {
            E::Boolean => write(data, bytes, 0, |x| u8::from(x != 0.0)),
            E::I8 => write(data, bytes, 0, |x| x as i8),
            E::I16 => write(data, bytes, 0, |x| x as i16),
            E::I32 => write(data, bytes, 0, |x| x as i32),
            E::I64 => write(data, bytes, 0, |x| x as i64),
            E::U8 => write(data, bytes, 0, |x| x as u8),
            E::U16 => write(data, bytes, 0, |x| x as u16),
            E::U32 => write(data, bytes, 0, |x| x as u32),
            E::U64 => write(data, bytes, 0, |x| x as u64),
            E::I4 => write_codes(data, ty, bytes, 0, |x| (x as i8).clamp(-8, 7) as u8),
            _ => {
                let largest = u8::MAX >> (8 - ty.bits());
                write_codes(data, ty, bytes, 0, |x| (x as u8).min(largest));
            }
        }
    }};
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn truncate_f32(data: &[f32], ty: ElementType, bytes: &mut [u8]) {
    write_truncated!(data, ty, bytes);
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn truncate_f64(data: &[f64], ty: ElementType, bytes: &mut [u8]) {
    write_truncated!(data, ty, bytes);
}

/// The same elements in another type, by the rules of this module.
///
/// # Errors
/// When one type is string and the other is not, or memory runs out.
pub fn convert(tensor: &Tensor, ty: ElementType) -> Result<Tensor, TensorError> {
    if tensor.element_type() == ty {
        return Ok(tensor.clone());
    }
    let mut out = Tensor::zeros(ty, tensor.shape().clone())?;
    convert_into(tensor, &mut out)?;
    Ok(out)
}

/// Writes the elements of a tensor into another of as many elements, by the rules of this module.
///
/// # Errors
/// When one type is string and the other is not, or the number of elements differs.
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
    let Some(part) = to.storage_bytes(PART) else {
        return Err(TensorError::ElementType {
            found: from,
            expected: to,
        });
    };
    if from == to {
        out.bytes_mut().copy_from_slice(bytes);
        return Ok(());
    }
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
        parts.enumerate().for_each(convert);
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

/// The elements of an integer or boolean tensor, widened; a `u64` above `i64::MAX` becomes it.
pub(crate) fn to_i64(tensor: &Tensor) -> Vec<i64> {
    let mut out = vec![0i64; tensor.len()];
    if tensor.element_type() == E::U64 {
        read(tensor.bytes(), 0, &mut out, |x: u64| {
            i64::try_from(x).unwrap_or(i64::MAX)
        });
    } else {
        widen(tensor, 0, &mut out);
    }
    out
}

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
            expected: E::U4,
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numeric() -> impl Iterator<Item = ElementType> {
        ElementType::ALL.into_iter().filter(|ty| *ty != E::String)
    }

    /// A tensor of every bit pattern of a type of up to 16 bits.
    fn every_pattern(ty: ElementType) -> Tensor {
        let count = if ty == E::Boolean {
            2
        } else {
            1usize << ty.bits()
        };
        let byte = |code: usize| u8::try_from(code & 0xff).expect("a byte");
        if ty.is_packed() {
            let codes: Vec<u8> = (0..count).map(byte).collect();
            return from_codes(ty, [count], &codes).expect("one element a code");
        }
        let mut tensor = Tensor::zeros(ty, [count]).expect("small");
        let bytes = tensor.bytes_mut();
        for (code, element) in bytes.chunks_exact_mut(ty.bits() / 8).enumerate() {
            let code = [byte(code), byte(code >> 8)];
            element.copy_from_slice(&code[..element.len()]);
        }
        tensor
    }

    fn there_and_back<C: Compute>(tensor: &Tensor) -> Tensor {
        let mut wide = vec![C::default(); tensor.len()];
        widen(tensor, 0, &mut wide);
        let mut back = Tensor::zeros(tensor.element_type(), tensor.shape().clone()).expect("small");
        narrow(&wide, &mut back, 0);
        back
    }

    #[test]
    fn every_pattern_survives_widening() {
        for ty in numeric().filter(|ty| ty.bits() <= 16) {
            let tensor = every_pattern(ty);
            if !ty.is_float() {
                assert_eq!(there_and_back::<i64>(&tensor), tensor, "{ty}");
                assert_eq!(there_and_back::<u64>(&tensor), tensor, "{ty}");
                for wide in [E::I64, E::U64, E::F32, E::F64] {
                    let there = convert(&tensor, wide).expect("numbers");
                    assert_eq!(convert(&there, ty).expect("numbers"), tensor, "{ty} {wide}");
                }
                continue;
            }
            let back = there_and_back::<f32>(&tensor);
            let values = |t: &Tensor| {
                let mut out = vec![0f64; t.len()];
                widen(t, 0, &mut out);
                out
            };
            for (i, (a, b)) in values(&tensor).into_iter().zip(values(&back)).enumerate() {
                let same = a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
                assert!(same, "{ty} {i:#x}: {a} became {b}");
            }
        }
    }

    #[test]
    fn a_part_widens_and_narrows_like_the_whole() {
        for ty in numeric().filter(|ty| ty.bits() <= 8 && ty.class() == Some(Class::I64)) {
            let numbers: Vec<i64> = (0..1300).map(|i| i * 37 - 700).collect();
            let mut whole = Tensor::zeros(ty, [numbers.len()]).expect("small");
            narrow(&numbers, &mut whole, 0);
            let mut parts = Tensor::zeros(ty, [numbers.len()]).expect("small");
            for (i, part) in numbers.chunks(264).enumerate() {
                narrow(part, &mut parts, i * 264);
            }
            assert_eq!(parts, whole, "{ty}");
            let mut all = vec![0i64; numbers.len()];
            widen(&whole, 0, &mut all);
            for start in [1, 7, 8, 511, 513] {
                let mut some = vec![0i64; 700];
                widen(&whole, start, &mut some);
                assert_eq!(some, all[start..start + 700], "{ty}");
            }
        }
    }

    fn f32s(values: &[f32], ty: ElementType) -> Tensor {
        convert(&Tensor::vector(values), ty).expect("numbers")
    }

    #[test]
    fn floats_truncate_and_saturate() {
        let values = [
            1.9,
            -1.9,
            300.0,
            -300.0,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
            3e9,
        ];
        assert_eq!(
            f32s(&values, E::I8).as_slice::<i8>().expect("i8"),
            [1, -1, 127, -128, 127, -128, 0, 127]
        );
        assert_eq!(
            f32s(&values, E::U8).as_slice::<u8>().expect("u8"),
            [1, 0, 255, 0, 255, 0, 0, 255]
        );
        assert_eq!(codes(&f32s(&values, E::I4)), [1, 15, 7, 8, 7, 8, 0, 7]);
        assert_eq!(codes(&f32s(&values, E::U6)), [1, 0, 63, 0, 63, 0, 0, 63]);
        assert_eq!(codes(&f32s(&values, E::U1)), [1, 0, 1, 0, 1, 0, 0, 1]);
        assert_eq!(
            f32s(&values, E::I32).as_slice::<i32>().expect("i32"),
            [1, -1, 300, -300, i32::MAX, i32::MIN, 0, i32::MAX]
        );
        assert_eq!(
            f32s(&[0.0, -0.0, 0.2, f32::NAN], E::Boolean)
                .as_slice::<bool>()
                .expect("boolean"),
            [false, false, true, true]
        );
    }

    #[test]
    fn integers_wrap() {
        let numbers = Tensor::vector(&[-1i64, 300, i64::MIN, 128, 256]);
        let to = |ty| convert(&numbers, ty).expect("numbers");
        assert_eq!(
            to(E::U8).as_slice::<u8>().expect("u8"),
            [255, 44, 0, 128, 0]
        );
        assert_eq!(
            to(E::I8).as_slice::<i8>().expect("i8"),
            [-1, 44, 0, -128, 0]
        );
        assert_eq!(
            to(E::U64).as_slice::<u64>().expect("u64"),
            [u64::MAX, 300, 1 << 63, 128, 256]
        );
        assert_eq!(
            to(E::Boolean).as_slice::<bool>().expect("boolean"),
            [true; 5]
        );
        assert_eq!(codes(&to(E::U4)), [15, 12, 0, 0, 0]);
        let mut i4 = codes(&to(E::I4));
        sign_extend_i4(&mut i4);
        assert_eq!(i4, [0xff, 0xfc, 0, 0, 0]);
        let large = Tensor::vector(&[u64::MAX, 5]);
        assert_eq!(to_i64(&large), [i64::MAX, 5]);
        assert_eq!(
            convert(&large, E::F32)
                .expect("numbers")
                .as_slice::<f32>()
                .expect("f32"),
            [18_446_744_073_709_551_615.0, 5.0]
        );
    }

    #[test]
    fn strings_stay_strings() {
        let text = Tensor::strings([1], vec!["a".into()]).expect("one string");
        assert_eq!(convert(&text, E::String).expect("the same"), text);
        assert!(convert(&text, E::F32).is_err());
        assert!(convert(&Tensor::scalar(1f32), E::String).is_err());
        assert!(convert(&Tensor::scalar(1f32), E::Dynamic).is_err());
    }

    #[test]
    fn codes_must_fit_the_shape() {
        assert!(from_codes(E::U4, [3], &[1, 2]).is_err());
        assert!(from_codes(E::U8, [2], &[1, 2]).is_err());
    }

    proptest! {
        /// Long tensors are converted in parts; each element is converted as if it were alone.
        #[test]
        fn parts_agree(seed in any::<u32>(), extra in 0usize..600) {
            let numbers: Vec<i32> = (0..PART + extra)
                .map(|i| u32::try_from(i).expect("small").wrapping_mul(seed | 1).cast_signed() >> 16)
                .collect();
            let tensor = Tensor::vector(&numbers);
            for ty in [E::U3, E::F16, E::U8, E::I64] {
                let whole = convert(&tensor, ty).expect("numbers");
                let back = convert(&whole, E::F64).expect("numbers");
                let back = back.as_slice::<f64>().expect("f64");
                for i in [0, 511, 512, PART - 1, PART, PART + extra - 1] {
                    let Some(&number) = numbers.get(i) else { continue };
                    let alone = convert(&Tensor::scalar(number), ty).expect("a number");
                    let alone = convert(&alone, E::F64).expect("a number");
                    prop_assert_eq!(back[i], alone.as_slice::<f64>().expect("f64")[0]);
                }
            }
        }
    }
}
