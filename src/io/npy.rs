//! NumPy's `.npy` files.
//!
//! Types NumPy lacks are stored one element per entry as their codes: `bf16` as `uint16`, the
//! 8-bit and sub-byte types as `uint8`, `i4` as `int8`; [`adapt`](super::adapt()) turns codes back.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use super::codes::{codes, little_endian};
use super::npy_header::{Header, Kind};
use super::{IoError, file};
use crate::Limits;
use crate::tensor::{ElementType, Shape, SharedBytes, Tensor, Text};

/// Reads an `.npy` file: any byte order, C or Fortran order, versions 1 to 3.
///
/// # Errors
/// When the file cannot be read, is damaged, or holds what no tensor can: objects, structures,
/// extended floats, dates.
pub fn read(path: &Path, limits: &Limits) -> Result<Tensor, IoError> {
    parse(file::read(path, limits)?, limits).map_err(|e| e.in_file(path))
}

/// Reads the bytes of an `.npy` file. The elements are shared, not copied, where order and
/// alignment allow.
///
/// # Errors
/// As [`read`].
pub fn parse(bytes: SharedBytes, limits: &Limits) -> Result<Tensor, IoError> {
    let (header, start) = Header::parse(bytes.as_bytes())?;
    let ty = header.element_type();
    let shape = Shape::from(header.shape.clone());
    let count = file::elements(limits, ty, &shape)?;
    let expected = count.checked_mul(header.item_bytes).ok_or_else(|| {
        IoError::invalid(format!(
            "{} elements of {} are more than a file can hold",
            count, header.descr
        ))
    })?;
    let found = bytes.len() - start;
    if found != expected {
        return Err(IoError::invalid(format!(
            "an array {}{shape} needs {expected} bytes after the header, the file has {found}",
            header.descr
        )));
    }
    let data = bytes
        .slice(start, expected)
        .ok_or_else(|| IoError::invalid("the data ends early"))?;
    let data = if header.fortran && shape.rank() > 1 {
        let rows = to_row_major(data.as_bytes(), &shape, header.item_bytes)?;
        SharedBytes::new(Arc::new(rows))
    } else {
        data
    };
    decode(&header, ty, shape, data)
}

fn decode(
    header: &Header,
    ty: ElementType,
    shape: Shape,
    data: SharedBytes,
) -> Result<Tensor, IoError> {
    match header.kind {
        Kind::Unicode => {
            let chunks = chunks(data.as_bytes(), header.item_bytes, shape.elements());
            let mut texts = reserved(chunks.len())?;
            for item in chunks {
                texts.push(unicode(item, header.big_endian)?);
            }
            Ok(Tensor::strings(shape, texts)?)
        }
        Kind::Bytes => {
            let chunks = chunks(data.as_bytes(), header.item_bytes, shape.elements());
            let mut texts = reserved(chunks.len())?;
            texts.extend(chunks.map(|item| {
                let end = item.iter().rposition(|&b| b != 0).map_or(0, |i| i + 1);
                Text::from(&item[..end])
            }));
            Ok(Tensor::strings(shape, texts)?)
        }
        Kind::Number(_) if header.big_endian && header.item_bytes > 1 => {
            let mut swapped = reserved(data.len())?;
            swapped.extend_from_slice(data.as_bytes());
            swapped
                .chunks_exact_mut(ty.swapped_bytes())
                .for_each(<[u8]>::reverse);
            let swapped = SharedBytes::new(Arc::new(swapped));
            Ok(Tensor::from_bytes(ty, shape, swapped)?)
        }
        Kind::Number(_) => Ok(Tensor::from_bytes(ty, shape, data)?),
    }
}

/// Room for so many items.
fn reserved<T>(count: usize) -> Result<Vec<T>, IoError> {
    let mut room = Vec::new();
    let reserved = room.try_reserve_exact(count);
    reserved.map_err(|_| {
        let bytes = count.saturating_mul(size_of::<T>());
        IoError::limit(format!("cannot allocate {bytes} bytes"))
    })?;
    Ok(room)
}

/// The items of an array of strings, which may be 0 bytes wide.
fn chunks(data: &[u8], width: usize, count: Option<usize>) -> impl ExactSizeIterator<Item = &[u8]> {
    (0..count.unwrap_or(0)).map(move |i| &data[i * width..(i + 1) * width])
}

fn unicode(item: &[u8], big_endian: bool) -> Result<Text, IoError> {
    let points: Vec<u32> = item
        .as_chunks::<4>()
        .0
        .iter()
        .map(|&c| match big_endian {
            true => u32::from_be_bytes(c),
            false => u32::from_le_bytes(c),
        })
        .collect();
    let end = points.iter().rposition(|&c| c != 0).map_or(0, |i| i + 1);
    let text = points[..end]
        .iter()
        .map(|&c| {
            char::from_u32(c).ok_or_else(|| {
                IoError::invalid(format!("U+{c:04X} in a string is not a Unicode character"))
            })
        })
        .collect::<Result<String, _>>()?;
    Ok(Text::from(text.as_str()))
}

/// Elements stored first axis fastest, brought into the order last axis fastest.
fn to_row_major(data: &[u8], shape: &Shape, width: usize) -> Result<Vec<u8>, IoError> {
    let mut out = reserved(data.len())?;
    out.resize(data.len(), 0);
    if data.is_empty() {
        return Ok(out);
    }
    match width {
        1 => reorder(data, &mut out, shape, |to, from| to[0] = from[0], 1),
        2 => reorder(data, &mut out, shape, copy::<2>, 2),
        4 => reorder(data, &mut out, shape, copy::<4>, 4),
        8 => reorder(data, &mut out, shape, copy::<8>, 8),
        16 => reorder(data, &mut out, shape, copy::<16>, 16),
        _ => reorder(data, &mut out, shape, <[u8]>::copy_from_slice, width),
    }
    Ok(out)
}

fn copy<const N: usize>(to: &mut [u8], from: &[u8]) {
    if let (Some(to), Some(from)) = (to.first_chunk_mut::<N>(), from.first_chunk::<N>()) {
        *to = *from;
    }
}

/// Walks `out` row by row; a row's elements lie `step` bytes apart in `data`.
fn reorder(
    data: &[u8],
    out: &mut [u8],
    shape: &Shape,
    copy: impl Fn(&mut [u8], &[u8]),
    width: usize,
) {
    let (rows, row) = shape.split_at(shape.rank() - 1);
    // The product of all dimensions is the length of `data`, so no part of it overflows.
    let step = rows.iter().product::<usize>() * width;
    let mut index = vec![0usize; rows.len()];
    for out_row in out.chunks_exact_mut(row[0] * width) {
        let mut start = 0;
        for (&i, &dim) in index.iter().zip(rows).rev() {
            start = start * dim + i;
        }
        let sources = data[start * width..].chunks(step);
        for (to, from) in out_row.chunks_exact_mut(width).zip(sources) {
            copy(to, &from[..width]);
        }
        for (i, &dim) in index.iter_mut().zip(rows).rev() {
            *i += 1;
            if *i < dim {
                break;
            }
            *i = 0;
        }
    }
}

/// Writes an `.npy` file (version 1, C order, little endian).
///
/// # Errors
/// When the file cannot be written, or a string ends in NUL, which NumPy cannot tell from padding.
pub fn write(path: &Path, tensor: &Tensor) -> Result<(), IoError> {
    file::write(path, |out| write_to(out, tensor))
}

/// Writes the bytes of an `.npy` file.
///
/// # Errors
/// As [`write()`].
pub fn write_to(out: &mut dyn Write, tensor: &Tensor) -> Result<(), IoError> {
    if tensor.element_type() == ElementType::String {
        return write_strings(out, tensor);
    }
    let codes = codes(tensor)?;
    let descr = match codes.element_type() {
        ElementType::Boolean => "|b1",
        ElementType::I8 => "|i1",
        ElementType::U8 => "|u1",
        ElementType::I16 => "<i2",
        ElementType::U16 => "<u2",
        ElementType::F16 => "<f2",
        ElementType::I32 => "<i4",
        ElementType::U32 => "<u4",
        ElementType::F32 => "<f4",
        ElementType::I64 => "<i8",
        ElementType::U64 => "<u8",
        ElementType::F64 => "<f8",
        ElementType::Complex64 => "<c8",
        ElementType::Complex128 => "<c16",
        other => {
            return Err(IoError::unsupported(format!(
                "NumPy has no type for {other}"
            )));
        }
    };
    write_all(out, &Header::encode(descr, tensor.shape())?)?;
    write_all(out, &little_endian(&codes))
}

/// As `<U`, or, when a text is not UTF-8, all of them as `|S`.
fn write_strings(out: &mut dyn Write, tensor: &Tensor) -> Result<(), IoError> {
    let texts = tensor.as_strings()?;
    if let Some(index) = texts.iter().position(|t| t.last() == Some(&0)) {
        return Err(IoError::unsupported(format!(
            "string {index} ends in NUL, which NumPy takes for padding"
        )));
    }
    let unicode: Option<Vec<&str>> = texts.iter().map(|t| str::from_utf8(t).ok()).collect();
    let Some(strings) = unicode else {
        let width = texts.iter().map(|t| t.len()).max().unwrap_or(0).max(1);
        write_all(out, &Header::encode(&format!("|S{width}"), tensor.shape())?)?;
        for text in texts {
            write_all(out, text)?;
            pad(out, width - text.len())?;
        }
        return Ok(());
    };
    let lengths = strings.iter().map(|s| s.chars().count());
    let width = lengths.max().unwrap_or(0).max(1);
    write_all(out, &Header::encode(&format!("<U{width}"), tensor.shape())?)?;
    for text in strings {
        let mut left = width;
        for c in text.chars() {
            write_all(out, &u32::from(c).to_le_bytes())?;
            left -= 1;
        }
        pad(out, left * 4)?;
    }
    Ok(())
}

fn pad(out: &mut dyn Write, mut count: usize) -> Result<(), IoError> {
    while count > 0 {
        let part = count.min(256);
        write_all(out, &[0; 256][..part])?;
        count -= part;
    }
    Ok(())
}

fn write_all(out: &mut dyn Write, bytes: &[u8]) -> Result<(), IoError> {
    out.write_all(bytes)
        .map_err(|e| IoError::system("write", e))
}

#[cfg(test)]
#[path = "tests/npy.rs"]
mod tests;
