//! Files that are nothing but the elements, little-endian and packed as IR stores them.

use std::io::Write;
use std::path::Path;

use super::codes::little_endian;
use super::{IoError, file};
use crate::Limits;
use crate::tensor::{ElementType, Shape, Tensor};

/// Reads a file that has exactly the bytes of the type and shape.
///
/// # Errors
/// When the file cannot be read, has another length, or the type is string.
pub fn read(
    path: &Path,
    element_type: ElementType,
    shape: &Shape,
    limits: &Limits,
) -> Result<Tensor, IoError> {
    read_from(path, false, element_type, shape, limits)
}

/// As [`read`], from a pipe too if `pipe` says so. No more than the type and shape need is read.
pub(super) fn read_from(
    path: &Path,
    pipe: bool,
    element_type: ElementType,
    shape: &Shape,
    limits: &Limits,
) -> Result<Tensor, IoError> {
    let made = || {
        refuse_strings(element_type)?;
        let count = file::elements(limits, element_type, shape)?;
        let needed = element_type.storage_bytes(count).unwrap_or(usize::MAX);
        let bytes =
            file::read_exactly(path, needed as u64, pipe, limits).map_err(|found| match found {
                file::Mismatch::Error(error) => error,
                file::Mismatch::Length(found) => IoError::mismatch(format!(
                    "shape {shape} of {element_type} needs {needed} bytes, got {found}"
                )),
            })?;
        Ok(Tensor::from_bytes(element_type, shape.clone(), bytes)?)
    };
    made().map_err(|e: IoError| e.in_file(path))
}

/// Writes the elements and nothing else.
///
/// # Errors
/// When the file cannot be written, or the type is string.
pub fn write(path: &Path, tensor: &Tensor) -> Result<(), IoError> {
    refuse_strings(tensor.element_type()).map_err(|e| e.in_file(path))?;
    file::write(path, |out| {
        out.write_all(&little_endian(tensor))
            .map_err(|e| IoError::system("write", e))
    })
}

fn refuse_strings(ty: ElementType) -> Result<(), IoError> {
    match ty {
        ElementType::String => Err(IoError::unsupported(
            "a raw file cannot hold strings, use .npy or .npz",
        )),
        ElementType::Dynamic => Err(IoError::mismatch(
            "a raw file needs an element type, such as `f32[2,3]:raw:data.bin`",
        )),
        _ => Ok(()),
    }
}
