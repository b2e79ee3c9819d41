//! NumPy's `.npz` archives: a zip of `.npy` files, read one entry at a time.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

use super::value::list;
use super::{IoError, file, npy};
use crate::Limits;
use crate::tensor::{SharedBytes, Tensor};

/// Entries larger than this get the wide sizes of zip64.
const LARGE: usize = 1 << 31;

/// An open archive.
pub struct Archive {
    path: PathBuf,
    zip: ZipArchive<BufReader<File>>,
    /// Names without `.npy`, and the entries' numbers, in the archive's order.
    entries: Vec<(String, usize)>,
    limits: Limits,
}

impl Archive {
    /// Opens an archive and reads its directory, no entry.
    ///
    /// # Errors
    /// When the file cannot be read or is no zip archive.
    pub fn open(path: &Path, limits: &Limits) -> Result<Self, IoError> {
        Self::open_inner(path, limits).map_err(|e| e.in_file(path))
    }

    fn open_inner(path: &Path, limits: &Limits) -> Result<Self, IoError> {
        let (file, _) = file::open(path, limits)?;
        let zip = ZipArchive::new(BufReader::new(file)).map_err(zip_error)?;
        let mut entries = Vec::new();
        for index in 0..zip.len() {
            let Some(Ok(name)) = zip.name_for_index(index) else {
                continue;
            };
            if let Some(name) = name.strip_suffix(".npy") {
                entries.push((name.to_owned(), index));
            }
        }
        Ok(Self {
            path: path.to_owned(),
            zip,
            entries,
            limits: limits.clone(),
        })
    }

    /// The names of the tensors, in the archive's order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(name, _)| name.as_str())
    }

    /// Reads one tensor; its name may be given with or without `.npy`.
    ///
    /// # Errors
    /// When there is no such entry, it is damaged, unpacks to more than the limit, or is no array
    /// a tensor can hold.
    pub fn read(&mut self, name: &str) -> Result<Tensor, IoError> {
        let found = self.entries.iter().find(|(n, _)| n == name).or_else(|| {
            let short = name.strip_suffix(".npy")?;
            self.entries.iter().find(|(n, _)| n == short)
        });
        let Some(&(_, index)) = found else {
            let names: Vec<&str> = self.names().collect();
            let message = format!("has no entry `{}`, expected one of {}", name, list(&names));
            return Err(IoError::invalid(message).in_file(&self.path));
        };
        self.read_index(index)
            .map_err(|e| e.in_entry(name).in_file(&self.path))
    }

    fn read_index(&mut self, index: usize) -> Result<Tensor, IoError> {
        let limit = self.limits.tensor_bytes;
        let mut entry = self.zip.by_index(index).map_err(zip_error)?;
        let declared = entry.size();
        if declared > limit {
            return Err(IoError::limit(format!(
                "unpacks to {declared} bytes, the limit is {limit}"
            )));
        }
        // The declared size reserves nothing: memory grows with what is really there.
        let mut bytes = Vec::new();
        file::read_limited(&mut entry, limit, &mut bytes)?;
        if bytes.len() as u64 != declared {
            return Err(IoError::invalid(format!(
                "unpacks to {} bytes, the archive says {declared}",
                bytes.len()
            )));
        }
        npy::parse(SharedBytes::new(Arc::new(bytes)), &self.limits)
    }
}

impl std::fmt::Debug for Archive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Archive({}, {:?})", self.path.display(), self.entries)
    }
}

/// Writes an archive as `numpy.savez` does: stored, in the given order. The same tensors give the
/// same bytes at any time.
///
/// # Errors
/// When the file cannot be written, or a name is there twice.
pub fn write<'a>(
    path: &Path,
    tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>,
) -> Result<(), IoError> {
    file::write(path, |out| {
        let mut zip = ZipWriter::new(out);
        let mut names = HashSet::new();
        for (name, tensor) in tensors {
            if !names.insert(name) {
                let message = format!("two tensors have the name `{name}`");
                return Err(IoError::invalid(message));
            }
            // Strings may take 4 bytes a character, all as wide as the widest.
            let bytes = match tensor.as_strings() {
                Err(_) => tensor.len().saturating_mul(8),
                Ok(texts) => {
                    let widest = texts.iter().map(|t| t.len()).max().unwrap_or(0);
                    widest.saturating_mul(texts.len()).saturating_mul(4)
                }
            };
            let options = SimpleFileOptions::default()
                .compression_method(CompressionMethod::Stored)
                .last_modified_time(DateTime::default())
                .unix_permissions(0o644)
                .large_file(bytes > LARGE);
            let entry = format!("{name}.npy");
            zip.start_file(entry, options)
                .map_err(|e| zip_error(e).in_entry(name))?;
            npy::write_to(&mut zip, tensor).map_err(|e| e.in_entry(name))?;
        }
        let out = zip.finish().map_err(zip_error)?;
        out.flush().map_err(|e| IoError::system("write", e))
    })
}

fn zip_error(error: ZipError) -> IoError {
    match error {
        ZipError::Io(error) => IoError::system("read the archive", error),
        ZipError::UnsupportedArchive(what) => {
            IoError::unsupported(format!("the archive needs something else: {what}"))
        }
        error => IoError::invalid(format!("is no sound zip archive: {error}")),
    }
}

#[cfg(test)]
#[path = "tests/npz.rs"]
mod tests;
