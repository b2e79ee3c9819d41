//! Files that are read: regular ones alone, opened without waiting, and only where they may be.

mod temporary;

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Kind, Place};
use crate::limits::{Limits, Stop, Watch};

pub(crate) use temporary::Temporary;
#[cfg(feature = "cli")]
pub(crate) use temporary::remove_all as remove_temporary_files;

/// Opens a regular file, and tells its length.
///
/// Whatever else stands there, such as a folder, a device or a pipe that nobody writes to, is an
/// error and not waited for.
pub(crate) fn open(path: &Path) -> io::Result<(File, u64)> {
    // The kind is asked for before, because opening alone has effects on some devices, and of the
    // handle, because another file may stand there by then.
    regular(&std::fs::metadata(path)?)?;
    let file = without_waiting().open(path)?;
    let meta = file.metadata()?;
    regular(&meta)?;
    Ok((file, meta.len()))
}

/// Opens a regular file, or a pipe that the user himself named; a pipe has no length.
pub(crate) fn open_or_pipe(path: &Path) -> io::Result<(File, Option<u64>)> {
    if !is_pipe(&std::fs::metadata(path)?) {
        let (file, len) = open(path)?;
        return Ok((file, Some(len)));
    }
    let file = File::open(path)?;
    if !is_pipe(&file.metadata()?) {
        return Err(io::Error::other("not a regular file"));
    }
    Ok((file, None))
}

fn regular(meta: &Metadata) -> io::Result<()> {
    if meta.is_file() {
        return Ok(());
    }
    let what = match meta.is_dir() {
        true => "is a directory, expected a file",
        false => "not a regular file",
    };
    Err(io::Error::other(what))
}

// Miri knows neither flag.
#[cfg(all(unix, not(miri)))]
fn without_waiting() -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = OpenOptions::new();
    options
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    options
}

#[cfg(any(not(unix), miri))]
fn without_waiting() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    options
}

#[cfg(unix)]
fn is_pipe(meta: &Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&meta.file_type())
}

#[cfg(not(unix))]
fn is_pipe(_: &Metadata) -> bool {
    false
}

/// What tells one file from another that later stands under its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity(u64, u64);

impl Identity {
    #[cfg(unix)]
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        use std::os::unix::fs::MetadataExt;
        let meta = file.metadata()?;
        Ok(Self(meta.dev(), meta.ino()))
    }

    /// Nothing that the standard library knows of tells them.
    #[cfg(not(unix))]
    pub(crate) fn of(_: &File) -> io::Result<Self> {
        Ok(Self(0, 0))
    }
}

/// Why a file is not read.
#[derive(Debug)]
pub(crate) enum Unread {
    System(io::Error),
    /// It has so many bytes, or more, and may have so many.
    TooLarge(u64, u64),
    Memory(u64),
    Stopped(Stop),
}

impl std::fmt::Display for Unread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::System(error) => error.fmt(f),
            Self::TooLarge(found, limit) => write!(f, "has {found} bytes, the limit is {limit}"),
            Self::Memory(0) => f.write_str("there is no memory for it"),
            Self::Memory(bytes) => write!(f, "cannot allocate {bytes} bytes"),
            Self::Stopped(stop) => f.write_str(stop.message()),
        }
    }
}

impl Unread {
    /// The library's error; `what` has too many bytes.
    pub(crate) fn error(self, file: Arc<str>, what: &str) -> Error {
        let place = Place {
            file: Some(file),
            ..Place::default()
        };
        match self {
            Self::System(error) => Error::at(place, Kind::Io, error.to_string()),
            Self::Stopped(stop) => Error::at(place, stop.kind(), stop.message()),
            Self::TooLarge(..) => Error::at(place, Kind::Limit, format!("{what} {self}")),
            Self::Memory(_) => Error::at(place, Kind::Limit, self.to_string()),
        }
    }
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::OutOfMemory => Self::Memory(0),
            _ => Self::System(error),
        }
    }
}

/// A whole regular file of at most `limit` bytes.
pub(crate) fn read(path: &Path, limit: u64, limits: &Limits) -> Result<Vec<u8>, Unread> {
    let (mut file, len) = open(path)?;
    read_from(&mut file, Some(len), limit, limits)
}

/// Reads to the end, but never more than `limit` bytes. `expected` is what the system says there
/// is, which is too much to begin with if it is over the limit, and need not be true.
pub(crate) fn read_from(
    reader: &mut dyn Read,
    expected: Option<u64>,
    limit: u64,
    limits: &Limits,
) -> Result<Vec<u8>, Unread> {
    /// Between two looks at the time.
    const STEP: u64 = 16 << 20;
    let mut bytes = Vec::new();
    if let Some(len) = expected {
        if len > limit {
            return Err(Unread::TooLarge(len, limit));
        }
        // One more, so that the end is found without growing.
        let capacity = usize::try_from(len.saturating_add(1)).map_err(|_| Unread::Memory(len))?;
        let reserved = bytes.try_reserve_exact(capacity);
        reserved.map_err(|_| Unread::Memory(len))?;
    }
    let watch = Watch::of(limits);
    loop {
        watch.check().map_err(Unread::Stopped)?;
        let had = bytes.len() as u64;
        let more = STEP.min(limit.saturating_add(1).saturating_sub(had));
        let read = (&mut *reader).take(more).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Err(Unread::TooLarge(bytes.len() as u64, limit));
        }
        if read == 0 {
            return Ok(bytes);
        }
    }
}

/// Why a file that a model names is not to be used.
#[derive(Debug)]
pub(crate) enum Refused {
    System(io::Error),
    Outside,
}

/// The real path of a file that a model needs, unless links lead out of the model's folder. A model
/// that is a link itself has two folders: where it is named and where it lies.
pub(crate) fn of_model(model: &Path, path: &Path, limits: &Limits) -> Result<PathBuf, Refused> {
    if limits.allow_outside {
        return Ok(path.to_owned());
    }
    let real = path.canonicalize().map_err(Refused::System)?;
    let named = folder(model).canonicalize().map_err(Refused::System)?;
    if real.starts_with(named) {
        return Ok(real);
    }
    let lies = model.canonicalize().map_err(Refused::System)?;
    if real.starts_with(folder(&lies)) {
        return Ok(real);
    }
    Err(Refused::Outside)
}

/// The folder that holds a file.
pub(crate) fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
