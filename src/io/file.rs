//! Whole files: read under a limit, written at once or not at all.

use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::IoError;
use super::temporary::Temporary;
use crate::Limits;
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

/// Reads a file.
pub(super) fn read(path: &Path, limits: &Limits) -> Result<SharedBytes, IoError> {
    read_inner(path, limits).map_err(|error| error.in_file(path))
}

fn read_inner(path: &Path, limits: &Limits) -> Result<SharedBytes, IoError> {
    let (mut file, len) = open(path, limits)?;
    let mut bytes = Vec::new();
    // A device or a pipe has length 0 and is read until it ends, or the limit is reached.
    let expected = usize::try_from(len).map_err(|_| too_large(len, limits.file_bytes))?;
    bytes
        .try_reserve_exact(expected)
        .map_err(|_| IoError::limit(format!("cannot allocate {len} bytes")))?;
    read_limited(&mut file, limits.file_bytes, &mut bytes)?;
    Ok(SharedBytes::new(Arc::new(bytes)))
}

/// Opens a file that is not larger than allowed, and tells its length.
pub(super) fn open(path: &Path, limits: &Limits) -> Result<(File, u64), IoError> {
    let file = File::open(path).map_err(|e| IoError::system("open the file", e))?;
    let metadata = file
        .metadata()
        .map_err(|e| IoError::system("open the file", e))?;
    if metadata.is_dir() {
        return Err(IoError::invalid("is a directory, expected a file"));
    }
    if metadata.len() > limits.file_bytes {
        return Err(too_large(metadata.len(), limits.file_bytes));
    }
    Ok((file, metadata.len()))
}

fn too_large(found: u64, limit: u64) -> IoError {
    IoError::limit(format!("has {found} bytes, the limit is {limit}"))
}

/// Reads to the end, but never more than `limit` bytes.
pub(super) fn read_limited(
    reader: &mut dyn Read,
    limit: u64,
    out: &mut Vec<u8>,
) -> Result<(), IoError> {
    let read = reader
        .take(limit.saturating_add(1))
        .read_to_end(out)
        .map_err(|e| IoError::system("read", e))?;
    if read as u64 > limit {
        return Err(IoError::limit(format!(
            "has more bytes than the limit of {limit}"
        )));
    }
    Ok(())
}

/// Writes a file beside the target and renames it, so that nobody ever sees half of it.
///
/// A target that is no regular file, such as a pipe, is written to directly.
pub(super) fn write(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<File>) -> Result<(), IoError>,
) -> Result<(), IoError> {
    let special = fs::metadata(path).is_ok_and(|m| !m.is_file());
    let result = if special {
        File::create(path)
            .map_err(|e| IoError::system("write", e))
            .and_then(|file| fill(file, content))
    } else {
        write_beside(path, content)
    };
    result.map_err(|error| error.in_file(path))
}

fn write_beside(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<File>) -> Result<(), IoError>,
) -> Result<(), IoError> {
    let (file, temporary) = create_beside(path).map_err(|e| IoError::system("write", e))?;
    fill(file, content)?;
    let renamed = temporary.rename(path);
    renamed.map_err(|e| IoError::system("write", e))
}

fn fill(
    file: File,
    content: impl FnOnce(&mut BufWriter<File>) -> Result<(), IoError>,
) -> Result<(), IoError> {
    let mut writer = BufWriter::with_capacity(1 << 16, file);
    content(&mut writer)?;
    writer.flush().map_err(|e| IoError::system("write", e))
}

fn create_beside(path: &Path) -> std::io::Result<(File, Temporary)> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().ok_or(std::io::ErrorKind::InvalidInput)?;
    loop {
        let mut temporary = std::ffi::OsString::from(".");
        temporary.push(name);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        temporary.push(format!(".{}-{number}.tmp", std::process::id()));
        let temporary = path.with_file_name(temporary);
        match Temporary::create(temporary) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            created => return created,
        }
    }
}
