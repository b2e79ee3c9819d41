//! The bytes of constants: `model.bin`, mapped and not copied.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::op::{OpError, Weights, bail};
use crate::tensor::SharedBytes;

/// The file of constants beside a document, or the reason why it cannot be used.
#[derive(Debug, Clone)]
pub(crate) struct BinFile {
    name: String,
    bytes: Result<SharedBytes, String>,
}

impl BinFile {
    /// The path with its extension replaced by `.bin`.
    pub(crate) fn beside(document: &Path) -> PathBuf {
        document.with_extension("bin")
    }

    /// Maps a file. Nothing is read until a constant is looked at.
    pub(crate) fn open(path: &Path) -> Self {
        let name = path
            .file_name()
            .map_or_else(|| path.to_string_lossy(), |n| n.to_string_lossy())
            .into_owned();
        Self {
            name,
            bytes: map(path).map_err(|e| e.to_string()),
        }
    }

    /// Constants in memory.
    pub(crate) fn in_memory(bytes: Vec<u8>) -> Self {
        Self {
            name: "the weights".to_owned(),
            bytes: Ok(SharedBytes::new(Arc::new(bytes))),
        }
    }

    /// All the bytes, or why there are none.
    #[cfg(feature = "onnx")]
    pub(crate) fn into_bytes(self) -> Result<SharedBytes, String> {
        self.bytes
    }

    /// How many bytes there are.
    pub(crate) fn len(&self) -> Option<u64> {
        Some(self.bytes.as_ref().ok()?.len() as u64)
    }
}

impl Weights for BinFile {
    fn slice(&self, offset: u64, len: u64) -> Result<SharedBytes, OpError> {
        let name = &self.name;
        let bytes = match &self.bytes {
            Ok(bytes) => bytes,
            Err(error) => bail!("needs {len} bytes of {name} at {offset}: {error}"),
        };
        let range = usize::try_from(offset).ok().zip(usize::try_from(len).ok());
        match range.and_then(|(offset, len)| bytes.slice(offset, len)) {
            Some(slice) => Ok(slice),
            None => bail!(
                "needs {len} bytes of {name} at {offset}, the file has {}",
                bytes.len()
            ),
        }
    }
}

fn map(path: &Path) -> std::io::Result<SharedBytes> {
    // The kind is asked for first: opening a pipe would wait for a writer.
    let meta = std::fs::metadata(path)?;
    if !meta.is_file() {
        return Err(std::io::Error::other("not a regular file"));
    }
    if meta.len() == 0 {
        return Ok(SharedBytes::new(Arc::new(Vec::new())));
    }
    let file = std::fs::File::open(path)?;
    // SAFETY: the mapping is read-only and private to us. As with every mapped file, another
    // process that writes to it changes what is read here, and one that truncates it ends the
    // process with a signal: the documentation of `Model::read` says so.
    #[allow(unsafe_code)]
    let mapped = unsafe { memmap2::Mmap::map(&file)? };
    Ok(SharedBytes::new(Arc::new(mapped)))
}
