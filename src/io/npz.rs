//! NumPy's `.npz` archives: a zip of `.npy` files, read one entry at a time.

use std::collections::HashSet;
use std::io::{self, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

use super::value::list;
use super::zip_directory::{self, Guarded};
use super::{IoError, file, npy};
use crate::Limits;
use crate::files::Temporary;
use crate::tensor::{SharedBytes, Tensor};

/// Entries larger than this get the wide sizes of zip64.
const LARGE: usize = 1 << 31;

/// An open archive.
pub struct Archive {
    path: PathBuf,
    zip: ZipArchive<BufReader<Guarded>>,
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
        let (mut file, len) = file::open(path, limits)?;
        let start = zip_directory::check(&mut file, len)?;
        let (file, opened) = Guarded::new(file, start).map_err(|e| IoError::system("read", e))?;
        let zip = ZipArchive::new(BufReader::new(file)).map_err(zip_error)?;
        opened.store(true, Ordering::Relaxed);
        if zip.has_duplicate_names() {
            return Err(IoError::invalid("has two entries of one name"));
        }
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
        let bytes = file::read_limited(&mut entry, None, limit, &self.limits)?;
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
    let mut writer = Writer::create(path)?;
    for (name, tensor) in tensors {
        writer.add(name, tensor)?;
    }
    writer.finish()
}

/// An archive that is written entry by entry, and keeps no tensor. Nobody sees it before it is
/// finished; dropped before that, nothing is left of it.
pub struct Writer {
    path: PathBuf,
    zip: Option<ZipWriter<Sink>>,
    temporary: Option<Temporary>,
    dead: Arc<AtomicBool>,
    names: HashSet<String>,
}

impl Writer {
    /// Begins an archive.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn create(path: &Path) -> Result<Self, IoError> {
        let (file, temporary) = file::begin(path).map_err(|e| e.in_file(path))?;
        let dead = Arc::new(AtomicBool::new(false));
        let sink = Sink {
            out: io::BufWriter::with_capacity(1 << 16, file),
            at: 0,
            dead: Arc::clone(&dead),
        };
        Ok(Self {
            path: path.to_owned(),
            zip: Some(ZipWriter::new(sink)),
            temporary,
            dead,
            names: HashSet::new(),
        })
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Writes a tensor.
    ///
    /// # Errors
    /// When the file cannot be written, or the name is there already. Then the archive cannot be
    /// finished.
    pub fn add(&mut self, name: &str, tensor: &Tensor) -> Result<(), IoError> {
        let added = self.add_inner(name, tensor);
        added.map_err(|e| self.fail(e))
    }

    fn add_inner(&mut self, name: &str, tensor: &Tensor) -> Result<(), IoError> {
        let Some(zip) = &mut self.zip else {
            return Err(IoError::invalid("could not be written to before"));
        };
        if !self.names.insert(name.to_owned()) {
            return Err(IoError::invalid(format!(
                "two tensors have the name `{name}`"
            )));
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
        let started = zip.start_file(format!("{name}.npy"), options);
        started.map_err(|e| write_error(e).in_entry(name))?;
        npy::write_to(zip, tensor).map_err(|e| e.in_entry(name))
    }

    /// Ends the archive and puts it in its place.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(mut self) -> Result<(), IoError> {
        let Some(zip) = self.zip.take() else {
            return Err(self.fail(IoError::invalid("could not be written to before")));
        };
        let finished = zip.finish().map_err(write_error).and_then(|mut sink| {
            let flushed = sink.flush();
            flushed.map_err(|e| IoError::system("write", e))
        });
        let ended = finished.and_then(|()| file::end(self.temporary.take(), &self.path));
        ended.map_err(|e| self.fail(e))
    }

    /// Nothing more is written.
    fn fail(&mut self, error: IoError) -> IoError {
        self.dead.store(true, Ordering::Relaxed);
        self.zip = None;
        error.in_file(&self.path)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.dead.store(true, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Writer({}, {} entries)",
            self.path.display(),
            self.names.len()
        )
    }
}

/// What an archive is written to. After the first error it takes everything: an archive's writer
/// tries to finish when it is dropped, and complains on the terminal if it cannot.
struct Sink {
    out: io::BufWriter<std::fs::File>,
    at: u64,
    dead: Arc<AtomicBool>,
}

impl Sink {
    fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Relaxed)
    }

    fn try_to<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if result.is_err() {
            self.dead.store(true, Ordering::Relaxed);
        }
        result
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match self.is_dead() {
            true => bytes.len(),
            false => {
                let result = self.out.write(bytes);
                self.try_to(result)?
            }
        };
        self.at += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.is_dead() {
            return Ok(());
        }
        let result = self.out.flush();
        self.try_to(result)
    }
}

impl Seek for Sink {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        if !self.is_dead() {
            let result = self.out.seek(to);
            self.at = self.try_to(result)?;
        } else if let SeekFrom::Start(at) = to {
            self.at = at;
        }
        Ok(self.at)
    }
}

fn write_error(error: ZipError) -> IoError {
    match error {
        ZipError::Io(error) => IoError::system("write", error),
        error => IoError::invalid(format!("cannot write the archive: {error}")),
    }
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
