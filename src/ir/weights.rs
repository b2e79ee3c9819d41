//! The bytes of constants: `model.bin`, mapped and not copied, or read piece by piece.

use std::collections::HashMap;
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::files::{self, Identity, Refused, Unread};
use crate::limits::Limits;
use crate::op::{OpError, Stored, Weights, bail};
#[cfg(not(miri))]
use crate::tensor::Mapped;
use crate::tensor::SharedBytes;

/// The file of constants beside a document, or the reason why it cannot be used.
#[derive(Debug, Clone)]
pub(crate) struct BinFile {
    name: Arc<str>,
    bytes: Result<Bytes, String>,
}

#[derive(Debug, Clone)]
enum Bytes {
    Shared(SharedBytes),
    Pieces(Arc<Pieces>),
}

impl BinFile {
    /// The file called as the document, with the extension `.bin`.
    pub(crate) fn beside(document: &Path, limits: &Limits) -> Self {
        let path = document.with_extension("bin");
        match files::of_model(document, &path, limits) {
            Ok(real) => Self::open_as(&path, &real, limits),
            Err(refused) => Self {
                name: file_name(&path),
                bytes: Err(match refused {
                    Refused::System(error) => error.to_string(),
                    Refused::Outside => "it is a link out of the model's folder".to_owned(),
                }),
            },
        }
    }

    /// Opens a file. Nothing is read until a constant is looked at.
    #[cfg(feature = "onnx")]
    pub(crate) fn open(path: &Path, limits: &Limits) -> Self {
        Self::open_as(path, path, limits)
    }

    fn open_as(path: &Path, real: &Path, limits: &Limits) -> Self {
        let name = file_name(path);
        let bytes = match limits.map {
            true => map(real).map(Bytes::Shared).map_err(|e| e.to_string()),
            false => Pieces::open(Arc::clone(&name), real, limits)
                .map(|pieces| Bytes::Pieces(Arc::new(pieces)))
                .map_err(|e| e.to_string()),
        };
        Self { name, bytes }
    }

    /// Constants in memory.
    pub(crate) fn in_memory(bytes: Vec<u8>) -> Self {
        Self {
            name: "the weights".into(),
            bytes: Ok(Bytes::Shared(SharedBytes::new(Arc::new(bytes)))),
        }
    }

    /// How many bytes there are.
    pub(crate) fn len(&self) -> Option<u64> {
        match self.bytes.as_ref().ok()? {
            Bytes::Shared(bytes) => Some(bytes.len() as u64),
            Bytes::Pieces(pieces) => Some(pieces.len),
        }
    }
}

fn file_name(path: &Path) -> Arc<str> {
    path.file_name()
        .map_or_else(|| path.to_string_lossy(), |n| n.to_string_lossy())
        .into()
}

impl Weights for BinFile {
    fn slice(&self, offset: u64, len: u64) -> Result<SharedBytes, OpError> {
        self.stored(offset, len)?.get()
    }

    fn stored(&self, offset: u64, len: u64) -> Result<Stored, OpError> {
        let name = &self.name;
        match &self.bytes {
            Err(error) => bail!("needs {len} bytes of {name} at {offset}: {error}"),
            Ok(Bytes::Shared(bytes)) => {
                let range = usize::try_from(offset).ok().zip(usize::try_from(len).ok());
                match range.and_then(|(offset, len)| bytes.slice(offset, len)) {
                    Some(slice) => Ok(slice.into()),
                    None => Err(too_short(name, offset, len, bytes.len() as u64)),
                }
            }
            Ok(Bytes::Pieces(pieces)) => {
                let end = offset.checked_add(len);
                if end.is_none_or(|end| end > pieces.len) {
                    return Err(too_short(name, offset, len, pieces.len));
                }
                let pieces = Arc::clone(pieces);
                Ok(Stored::There(Arc::new(move || pieces.read(offset, len))))
            }
        }
    }
}

fn too_short(name: &str, offset: u64, len: u64, found: u64) -> OpError {
    OpError::new(format!(
        "needs {len} bytes of {name} at {offset}, the file has {found}"
    ))
}

/// A file of which only what is needed is read, at the time it is needed. It is not kept open: a
/// model may have thousands of such files.
#[derive(Debug)]
struct Pieces {
    name: Arc<str>,
    path: PathBuf,
    identity: Identity,
    len: u64,
    limits: Limits,
    read: Mutex<Read>,
}

#[derive(Debug, Default)]
struct Read {
    /// Constants may share their bytes.
    seen: HashMap<(u64, u64), SharedBytes>,
    bytes: u64,
}

impl Pieces {
    fn open(name: Arc<str>, path: &Path, limits: &Limits) -> std::io::Result<Self> {
        let (file, len) = files::open(path)?;
        Ok(Self {
            name,
            path: path.to_owned(),
            identity: Identity::of(&file)?,
            len,
            limits: Limits {
                // What a constant is stays the same whoever asks for it first.
                deadline: None,
                cancel: None,
                ..limits.clone()
            },
            read: Mutex::default(),
        })
    }

    fn read(&self, offset: u64, len: u64) -> Result<SharedBytes, OpError> {
        let name = &self.name;
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = read.seen.get(&(offset, len)) {
            return Ok(bytes.clone());
        }
        if len > self.limits.tensor_bytes {
            return Err(OpError::limit(format!(
                "needs {len} bytes of {name}, the limit is {}",
                self.limits.tensor_bytes
            )));
        }
        let all = read.bytes.saturating_add(len);
        if all > self.limits.file_bytes {
            return Err(OpError::limit(format!(
                "the constants need {all} bytes of {name}, the limit is {}",
                self.limits.file_bytes
            )));
        }
        let context =
            |e: &dyn std::fmt::Display| format!("needs {len} bytes of {name} at {offset}: {e}");
        let found = self.read_now(offset, len).map_err(|unread| match unread {
            Unread::System(error) => OpError::new(context(&error)),
            other => OpError::limit(context(&other)),
        })?;
        let Some(bytes) = found else {
            bail!("needs {len} bytes of {name} at {offset}, another file is in its place now");
        };
        if bytes.len() as u64 != len {
            let found = offset.saturating_add(bytes.len() as u64);
            return Err(too_short(name, offset, len, found));
        }
        let bytes = SharedBytes::new(Arc::new(bytes));
        read.bytes = all;
        read.seen.insert((offset, len), bytes.clone());
        Ok(bytes)
    }

    /// What there is of these bytes; nothing if the file is not the one that was opened.
    fn read_now(&self, offset: u64, len: u64) -> Result<Option<Vec<u8>>, Unread> {
        let (mut file, _) = files::open(&self.path)?;
        if Identity::of(&file)? != self.identity {
            return Ok(None);
        }
        file.seek(SeekFrom::Start(offset))?;
        let mut piece = std::io::Read::take(file, len);
        files::read_from(&mut piece, Some(len), len, &self.limits).map(Some)
    }
}

/// A whole file: mapped, or read where the limits say so.
#[cfg(feature = "onnx")]
pub(crate) fn whole(path: &Path, limits: &Limits) -> Result<SharedBytes, Unread> {
    if !limits.map {
        let bytes = files::read(path, limits.file_bytes, limits)?;
        return Ok(SharedBytes::new(Arc::new(bytes)));
    }
    let bytes = map(path)?;
    match bytes.len() as u64 {
        found if found > limits.file_bytes => Err(Unread::TooLarge(found, limits.file_bytes)),
        _ => Ok(bytes),
    }
}

/// What Miri has for [`map`], which it cannot do: all else about mapped files is tested with it.
#[cfg(miri)]
fn map(path: &Path) -> std::io::Result<SharedBytes> {
    let (mut file, _) = files::open(path)?;
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut file, &mut bytes)?;
    Ok(SharedBytes::new(Arc::new(bytes)))
}

#[cfg(not(miri))]
struct File(memmap2::Mmap);

#[cfg(not(miri))]
impl AsRef<[u8]> for File {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(not(miri))]
impl Mapped for File {
    fn release(&self, range: std::ops::Range<usize>) {
        #[cfg(unix)]
        {
            let advice = memmap2::UncheckedAdvice::DontNeed;
            // SAFETY: the mapping is shared with its file and never written to, so that the same bytes are
            // read from there again. What else lies in the same pages is, too.
            #[allow(unsafe_code)]
            let _ = unsafe {
                self.0
                    .unchecked_advise_range(advice, range.start, range.len())
            };
        }
        #[cfg(not(unix))]
        let _ = range;
    }
}

#[cfg(not(miri))]
fn map(path: &Path) -> std::io::Result<SharedBytes> {
    let (file, len) = files::open(path)?;
    if len == 0 {
        return Ok(SharedBytes::new(Arc::new(Vec::new())));
    }
    // SAFETY: the mapping is read-only and private to us. As with every mapped file, another
    // process that writes to it changes what is read here, and one that truncates it ends the
    // process with a signal: the documentation of `Model::read` and of `Limits::map` says so.
    #[allow(unsafe_code)]
    let mapped = unsafe { memmap2::Mmap::map(&file)? };
    Ok(SharedBytes::mapped(Arc::new(File(mapped))))
}

#[cfg(test)]
#[path = "weights_tests.rs"]
mod tests;
