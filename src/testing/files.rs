//! Snapshots in files beside their models.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Snapshot;
use crate::error::{Error, Kind, Place, Result};
use crate::limits::Limits;
use crate::{files, io};

/// The extension of a snapshot's file.
pub const EXTENSION: &str = "ovir-snap";
/// What is added for one that waits for review.
const PENDING: &str = ".new";

impl Snapshot {
    /// The snapshot of a model: a file of the model's name beside it, or in a folder of its own.
    pub fn path_of(model: &Path, folder: Option<&Path>) -> PathBuf {
        let path = model.with_extension(EXTENSION);
        match (folder, path.file_name()) {
            (Some(folder), Some(name)) => folder.join(name),
            _ => path,
        }
    }

    /// The file beside a snapshot that waits for review.
    pub fn pending_of(snapshot: &Path) -> PathBuf {
        let mut name = snapshot.as_os_str().to_owned();
        name.push(PENDING);
        name.into()
    }

    /// The snapshot that a file is to replace, if it waits for review.
    pub fn of_pending(pending: &Path) -> Option<PathBuf> {
        let name = pending.to_str()?.strip_suffix(PENDING)?;
        let path = PathBuf::from(name);
        (path.extension()?.to_str()? == EXTENSION).then_some(path)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, or is no snapshot: then with the line.
    pub fn read(path: &Path, limits: &Limits) -> Result<Self> {
        let name: Arc<str> = path.to_string_lossy().into();
        let bytes = files::read(path, limits.document_bytes, limits);
        let bytes = bytes.map_err(|e| e.error(Arc::clone(&name), "the snapshot"))?;
        let place = Place {
            file: Some(name),
            ..Place::default()
        };
        let text = String::from_utf8(bytes);
        let text = text.map_err(|_| Error::at(place.clone(), Kind::Input, "is not UTF-8 text"))?;
        text.parse()
            .map_err(|e: Error| Error::at(place, e.kind(), e.message()))
    }

    /// Writes a file, whole or not at all.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = self.to_string();
        let written = io::write_whole(path, |out| out.write_all(text.as_bytes()));
        written.map_err(|e| Error::new(Kind::Io, e.to_string()))
    }
}
