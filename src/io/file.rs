//! Whole files: read under a limit, written at once or not at all.

use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::Path;
use std::sync::Arc;

use super::IoError;
use crate::Limits;
use crate::files::{self, Temporary, Unread};
use crate::tensor::{ElementType, Shape, SharedBytes};

/// The number of elements of a tensor that is about to be made, if it may be.
pub(super) fn elements(limits: &Limits, ty: ElementType, shape: &Shape) -> Result<usize, IoError> {
    let too_large = || {
        IoError::limit(format!(
            "a tensor {ty}{shape} is larger than the limit of {} bytes",
            limits.tensor_bytes
        ))
    };
    let count = shape.elements().ok_or_else(too_large)?;
    let bytes = match ty {
        // A reference, a counter, a length and a few letters.
        ElementType::String => count.checked_mul(48),
        _ => ty.storage_bytes(count),
    };
    match bytes {
        Some(bytes) if bytes as u64 <= limits.tensor_bytes => Ok(count),
        _ => Err(too_large()),
    }
}

/// Reads a regular file.
pub(super) fn read(path: &Path, limits: &Limits) -> Result<SharedBytes, IoError> {
    let result = open(path, limits)
        .and_then(|(mut file, len)| read_limited(&mut file, Some(len), limits.file_bytes, limits));
    match result {
        Ok(bytes) => Ok(SharedBytes::new(Arc::new(bytes))),
        Err(error) => Err(error.in_file(path)),
    }
}

/// Why a file does not have the bytes that are wanted.
pub(super) enum Mismatch {
    Error(IoError),
    /// What is there: the number, or that it is more.
    Length(String),
}

impl From<IoError> for Mismatch {
    fn from(error: IoError) -> Self {
        Self::Error(error)
    }
}

/// Reads a file, or a pipe if `pipe` says so, that has exactly these many bytes.
pub(super) fn read_exactly(
    path: &Path,
    needed: u64,
    pipe: bool,
    limits: &Limits,
) -> Result<SharedBytes, Mismatch> {
    let (mut file, len) = match pipe {
        false => open(path, limits).map(|(file, len)| (file, Some(len)))?,
        true => files::open_or_pipe(path).map_err(|e| IoError::system("open the file", e))?,
    };
    // Files of the system say that they are empty.
    if let Some(found) = len.filter(|&found| found != needed && found > 0) {
        return Err(Mismatch::Length(found.to_string()));
    }
    if needed > limits.file_bytes {
        return Err(IoError::from(Unread::TooLarge(needed, limits.file_bytes)).into());
    }
    let mut start = Read::take(&mut file, needed.saturating_add(1));
    let bytes = read_limited(&mut start, len, u64::MAX, limits)?;
    match bytes.len() as u64 {
        found if found > needed => Err(Mismatch::Length("more".to_owned())),
        found if found < needed => Err(Mismatch::Length(found.to_string())),
        _ => Ok(SharedBytes::new(Arc::new(bytes))),
    }
}

/// Opens a regular file that is not larger than allowed, and tells its length.
pub(super) fn open(path: &Path, limits: &Limits) -> Result<(File, u64), IoError> {
    let (file, len) = files::open(path).map_err(|e| IoError::system("open the file", e))?;
    if len > limits.file_bytes {
        return Err(Unread::TooLarge(len, limits.file_bytes).into());
    }
    Ok((file, len))
}

/// Reads to the end, but never more than `limit` bytes.
pub(super) fn read_limited(
    reader: &mut dyn Read,
    expected: Option<u64>,
    limit: u64,
    limits: &Limits,
) -> Result<Vec<u8>, IoError> {
    Ok(files::read_from(reader, expected, limit, limits)?)
}

/// Writes a file beside the target and renames it, so that nobody ever sees half of it.
///
/// A target that is no regular file, such as a pipe, is written to directly.
pub(super) fn write(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<File>) -> Result<(), IoError>,
) -> Result<(), IoError> {
    let written = begin(path).and_then(|(file, temporary)| {
        fill(file, content)?;
        end(temporary, path)
    });
    written.map_err(|error| error.in_file(path))
}

/// A file to write to, and what makes the target of it if it is not the target itself.
pub(super) fn begin(path: &Path) -> Result<(File, Option<Temporary>), IoError> {
    let special = fs::metadata(path).is_ok_and(|m| !m.is_file());
    let created = match special {
        true => File::create(path).map(|file| (file, None)),
        false => Temporary::beside(path).map(|(file, temporary)| (file, Some(temporary))),
    };
    created.map_err(|e| IoError::system("write", e))
}

/// Puts a file that is whole in the target's place.
pub(super) fn end(temporary: Option<Temporary>, path: &Path) -> Result<(), IoError> {
    let renamed = temporary.map_or(Ok(()), |temporary| temporary.rename(path));
    renamed.map_err(|e| IoError::system("write", e))
}

fn fill(
    file: File,
    content: impl FnOnce(&mut BufWriter<File>) -> Result<(), IoError>,
) -> Result<(), IoError> {
    let mut writer = BufWriter::with_capacity(1 << 16, file);
    let written =
        content(&mut writer).and_then(|()| writer.flush().map_err(|e| IoError::system("write", e)));
    // What is left after an error is not tried again.
    let (file, _) = writer.into_parts();
    drop(file);
    written
}

#[cfg(test)]
#[path = "tests/file.rs"]
mod tests;
