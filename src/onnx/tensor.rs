//! The elements of a tensor, wherever the file keeps them.

use std::sync::Arc;

use prost::bytes::Bytes;

use super::external::Folder;
use super::problem::Refusal;
use super::proto::{EXTERNAL, SparseTensorProto, TensorProto};
use super::types;
use crate::error::Kind;
use crate::limits::Limits;
use crate::ops::infrastructure::Const;
use crate::tensor::{ElementType, Shape, SharedBytes, Tensor, Text};

/// Reads a tensor. Elements that lie ready as bytes are only pointed at.
///
/// # Errors
/// When the elements are not there, not as many as the shape has, or of a type there is no
/// element type for.
pub(super) fn read(tensor: &TensorProto, folder: &mut Folder) -> Result<Const, Refusal> {
    let ty = types::element_type(tensor.data_type)
        .map_err(|name| Refusal::unsupported(format!("elements of {name} are not supported")))?;
    if tensor.segment.is_some() {
        return Err(Refusal::weights("a segment of a tensor is not a tensor"));
    }
    let shape = shape(&tensor.dims)?;
    let count = shape.elements().ok_or_else(|| too_large(ty, &shape))?;
    let field = stored(tensor)?;
    if ty == ElementType::String {
        return Ok(Const::new(strings(tensor, field, shape)?));
    }
    let needed = ty
        .storage_bytes(count)
        .ok_or_else(|| too_large(ty, &shape))?;
    let bytes = match field {
        Field::External => folder.read(&tensor.external_data, needed as u64)?,
        // A tensor without elements has no data.
        Field::None if count == 0 => SharedBytes::new(Arc::new(Vec::new())).into(),
        Field::None => return Err(Refusal::weights(format!("{ty}{shape} has no data"))),
        Field::Raw => {
            let raw = &tensor.raw_data;
            if raw.len() != needed {
                let message = format!("{ty}{shape} needs {needed} bytes, got {}", raw.len());
                return Err(Refusal::weights(message));
            }
            SharedBytes::new(Arc::new(Bytes::clone(raw))).into()
        }
        field => typed(tensor, field, ty, &shape, count)?.into(),
    };
    Ok(Const::stored(ty, shape.to_vec(), bytes))
}

fn too_large(ty: ElementType, shape: &Shape) -> Refusal {
    Refusal::weights(format!("shape {shape} of {ty} is too large"))
}

fn shape(dims: &[i64]) -> Result<Shape, Refusal> {
    let size = |&dim: &i64| {
        usize::try_from(dim).map_err(|_| Refusal::weights(format!("dimension {dim} is negative")))
    };
    dims.iter().map(size).collect::<Result<Shape, Refusal>>()
}

/// Where a tensor's elements are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    None,
    External,
    Raw,
    Float,
    Int32,
    String,
    Int64,
    Double,
    Uint64,
}

impl Field {
    const fn name(self) -> &'static str {
        match self {
            Self::None => "nothing",
            Self::External => "external_data",
            Self::Raw => "raw_data",
            Self::Float => "float_data",
            Self::Int32 => "int32_data",
            Self::String => "string_data",
            Self::Int64 => "int64_data",
            Self::Double => "double_data",
            Self::Uint64 => "uint64_data",
        }
    }
}

/// The one field that holds elements.
fn stored(tensor: &TensorProto) -> Result<Field, Refusal> {
    let fields = [
        (Field::External, tensor.data_location == EXTERNAL),
        (Field::Raw, !tensor.raw_data.is_empty()),
        (Field::Float, !tensor.float_data.is_empty()),
        (Field::Int32, !tensor.int32_data.is_empty()),
        (Field::String, !tensor.string_data.is_empty()),
        (Field::Int64, !tensor.int64_data.is_empty()),
        (Field::Double, !tensor.double_data.is_empty()),
        (Field::Uint64, !tensor.uint64_data.is_empty()),
    ];
    let mut used = fields.iter().filter(|(_, used)| *used).map(|(f, _)| *f);
    let first = used.next().unwrap_or(Field::None);
    match used.next() {
        None => Ok(first),
        Some(second) => Err(Refusal::weights(format!(
            "the tensor has data in {} and in {}, expected one of them",
            first.name(),
            second.name()
        ))),
    }
}

fn strings(tensor: &TensorProto, field: Field, shape: Shape) -> Result<Tensor, Refusal> {
    if !matches!(field, Field::String | Field::None) {
        return Err(misplaced(ElementType::String, Field::String, field));
    }
    let texts: Vec<Text> = tensor
        .string_data
        .iter()
        .map(|s| Text::from(&**s))
        .collect();
    Ok(Tensor::strings(shape, texts)?)
}

fn misplaced(ty: ElementType, expected: Field, found: Field) -> Refusal {
    let (expected, found) = (expected.name(), found.name());
    Refusal::weights(format!(
        "the elements of {ty} are in {found}, expected {expected} or raw_data"
    ))
}

/// The elements that stand as numbers of the message, as bytes.
fn typed(
    tensor: &TensorProto,
    field: Field,
    ty: ElementType,
    shape: &Shape,
    count: usize,
) -> Result<SharedBytes, Refusal> {
    use ElementType as E;
    let expected = match ty {
        E::F32 | E::Complex64 => Field::Float,
        E::F64 | E::Complex128 => Field::Double,
        E::I64 => Field::Int64,
        E::U32 | E::U64 => Field::Uint64,
        _ => Field::Int32,
    };
    if field != expected {
        return Err(misplaced(ty, expected, field));
    }
    let have = match field {
        Field::Float => tensor.float_data.len(),
        Field::Double => tensor.double_data.len(),
        Field::Int64 => tensor.int64_data.len(),
        Field::Uint64 => tensor.uint64_data.len(),
        _ => tensor.int32_data.len(),
    };
    let numbers = match ty {
        // Numbers of less than a byte share one.
        _ if ty.is_packed() => ty.storage_bytes(count),
        E::Complex64 | E::Complex128 => count.checked_mul(2),
        _ => Some(count),
    };
    let numbers = numbers.unwrap_or(usize::MAX);
    if have != numbers {
        let name = field.name();
        return Err(Refusal::weights(format!(
            "{ty}{shape} needs {numbers} numbers, {name} has {have}"
        )));
    }
    let bytes: Vec<u8> = match ty {
        E::F32 | E::Complex64 => little_endian(&tensor.float_data, |x| x.to_le_bytes()),
        E::F64 | E::Complex128 => little_endian(&tensor.double_data, |x| x.to_le_bytes()),
        E::I64 => little_endian(&tensor.int64_data, |x| x.to_le_bytes()),
        E::U64 => little_endian(&tensor.uint64_data, |x| x.to_le_bytes()),
        E::I32 => little_endian(&tensor.int32_data, |x| x.to_le_bytes()),
        E::U32 => narrow(&tensor.uint64_data, ty, u32::to_le_bytes)?,
        _ if ty.bits() == 16 => {
            let fits =
                |x: i32| u16::try_from(x).or_else(|_| i16::try_from(x).map(i16::cast_unsigned));
            small(&tensor.int32_data, ty, |x| {
                fits(x).ok().map(u16::to_le_bytes)
            })?
        }
        _ => {
            let fits = |x: i32| u8::try_from(x).or_else(|_| i8::try_from(x).map(i8::cast_unsigned));
            small(&tensor.int32_data, ty, |x| {
                fits(x).ok().map(u8::to_le_bytes)
            })?
        }
    };
    Ok(SharedBytes::new(Arc::new(bytes)))
}

fn little_endian<T: Copy, const N: usize>(numbers: &[T], bytes: fn(T) -> [u8; N]) -> Vec<u8> {
    numbers.iter().flat_map(|&x| bytes(x)).collect()
}

fn narrow(numbers: &[u64], ty: ElementType, bytes: fn(u32) -> [u8; 4]) -> Result<Vec<u8>, Refusal> {
    let mut out = Vec::with_capacity(numbers.len().saturating_mul(4));
    for (i, &x) in numbers.iter().enumerate() {
        let x = u32::try_from(x).map_err(|_| unfit(i, x, ty))?;
        out.extend(bytes(x));
    }
    Ok(out)
}

/// The low bytes of numbers that stand for smaller ones, with or without sign, or for their bits.
fn small<const N: usize>(
    numbers: &[i32],
    ty: ElementType,
    bytes: impl Fn(i32) -> Option<[u8; N]>,
) -> Result<Vec<u8>, Refusal> {
    let mut out = Vec::with_capacity(numbers.len().saturating_mul(N));
    for (i, &x) in numbers.iter().enumerate() {
        out.extend(bytes(x).ok_or_else(|| unfit(i, x, ty))?);
    }
    Ok(out)
}

fn unfit(position: usize, number: impl std::fmt::Display, ty: ElementType) -> Refusal {
    Refusal::weights(format!(
        "number {position} is {number}, which is none of {ty}"
    ))
}

/// Reads a sparse tensor: zeros, but for some elements. Its indices are positions in the whole
/// tensor, or one row of coordinates for each element.
///
/// # Errors
/// As [`read`], when the indices do not belong to the shape, or when the tensor would be larger
/// than the limits allow.
pub(super) fn read_sparse(
    sparse: &SparseTensorProto,
    folder: &mut Folder,
    limits: &Limits,
) -> Result<Const, Refusal> {
    let (Some(values), Some(indices)) = (&sparse.values, &sparse.indices) else {
        return Err(Refusal::weights("a sparse tensor needs values and indices"));
    };
    let values = read(values, folder)?.tensor()?.clone();
    let indices = read(indices, folder)?.tensor()?.clone();
    let (ty, shape) = (values.element_type(), shape(&sparse.dims)?);
    let size = ty.bits() / 8;
    if ty.is_packed() || size == 0 {
        let message = format!("sparse tensors of {ty} are not supported");
        return Err(Refusal::unsupported(message));
    }
    let bytes = shape.elements().and_then(|n| ty.storage_bytes(n));
    if bytes.is_none_or(|n| n as u64 > limits.tensor_bytes) {
        let message = format!(
            "the sparse tensor {ty}{shape} is larger than the limit of one tensor, {} bytes",
            limits.tensor_bytes
        );
        return Err(Refusal::new(Kind::Limit, message));
    }
    let places = places(&indices, values.len(), &shape)?;
    let mut dense = Tensor::zeros(ty, shape)?;
    let out = dense.bytes_mut();
    for (value, place) in values.bytes().chunks_exact(size).zip(places) {
        out[place * size..][..size].copy_from_slice(value);
    }
    Ok(Const::new(dense))
}

/// The positions that the indices of a sparse tensor mean.
fn places(indices: &Tensor, count: usize, shape: &Shape) -> Result<Vec<usize>, Refusal> {
    let numbers = indices.as_slice::<i64>()?;
    let rank = shape.rank();
    let one_each = match **indices.shape() {
        [n] if n == count => true,
        [n, r] if n == count && r == rank => false,
        _ => {
            let found = indices.shape();
            let message =
                format!("the indices have shape {found}, expected [{count}] or [{count},{rank}]");
            return Err(Refusal::weights(message));
        }
    };
    let inside = |number: i64, size: usize| {
        let found = usize::try_from(number).ok().filter(|&n| n < size);
        found.ok_or_else(|| {
            Refusal::weights(format!(
                "index {number} is out of range, expected 0..{size}"
            ))
        })
    };
    if one_each {
        let len = shape.elements().unwrap_or(0);
        let places = numbers.iter().map(|&n| inside(n, len));
        return places.collect();
    }
    let strides = shape.strides();
    (0..count)
        .map(|i| {
            let row = &numbers[i * rank..][..rank];
            let axes = row.iter().zip(shape).zip(&strides);
            axes.map(|((&n, &size), stride)| Ok(inside(n, size)? * stride))
                .sum()
        })
        .collect()
}
