//! Why a tensor cannot be read, written or made.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::{Kind, one_line, plain};
use crate::files::Unread;
use crate::tensor::TensorError;

/// What sort of problem an [`IoError`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum IoErrorKind {
    /// The system refused: no such file, no permission, no space.
    System,
    /// The bytes or the text are not what the format asks for.
    Invalid,
    /// A valid file with something that has no equivalent here.
    Unsupported,
    /// The tensor is not of the wanted type or shape.
    Mismatch,
    /// More bytes than allowed, or than there is memory for.
    Limit,
    /// It ended before it was done: [`Kind::Deadline`] or [`Kind::Cancelled`].
    Stopped(Kind),
}

/// Why a tensor cannot be read, written or made: the file, the entry in it, and the problem.
#[derive(Debug, thiserror::Error)]
pub struct IoError {
    file: Option<PathBuf>,
    entry: Option<String>,
    kind: IoErrorKind,
    message: String,
    #[source]
    source: Option<std::io::Error>,
}

impl IoError {
    fn new(kind: IoErrorKind, message: impl Into<String>) -> Self {
        Self {
            file: None,
            entry: None,
            kind,
            message: message.into(),
            source: None,
        }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(IoErrorKind::Invalid, message)
    }

    pub(super) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(IoErrorKind::Unsupported, message)
    }

    pub(super) fn mismatch(message: impl Into<String>) -> Self {
        Self::new(IoErrorKind::Mismatch, message)
    }

    pub(super) fn limit(message: impl Into<String>) -> Self {
        Self::new(IoErrorKind::Limit, message)
    }

    /// `doing` completes "cannot …".
    pub(super) fn system(doing: &str, source: std::io::Error) -> Self {
        Self {
            source: Some(source),
            ..Self::new(IoErrorKind::System, format!("cannot {doing}"))
        }
    }

    /// Names the file, unless one is named already.
    pub(super) fn in_file(mut self, path: &Path) -> Self {
        self.file.get_or_insert_with(|| path.to_owned());
        self
    }

    /// Names the entry of the file, unless one is named already.
    pub(super) fn in_entry(mut self, entry: &str) -> Self {
        self.entry.get_or_insert_with(|| entry.to_owned());
        self
    }

    /// What sort of problem it is.
    pub fn kind(&self) -> IoErrorKind {
        self.kind
    }

    /// The kind of the library's error, where reading a tensor for `what` failed.
    pub(crate) fn kind_for(&self, what: Kind) -> Kind {
        match self.kind {
            IoErrorKind::Limit => Kind::Limit,
            IoErrorKind::Unsupported => Kind::Unsupported,
            IoErrorKind::Stopped(kind) => kind,
            _ => what,
        }
    }

    /// The file it is about, if there is one.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }
}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}: ", plain(&file.to_string_lossy()))?;
        }
        if let Some(entry) = &self.entry {
            write!(f, "entry `{}`: ", plain(entry))?;
        }
        f.write_str(&one_line(&self.message))?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl From<Unread> for IoError {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::System(error) => Self::system("read", error),
            Unread::Stopped(stop) => Self::new(IoErrorKind::Stopped(stop.kind()), stop.message()),
            other => Self::limit(other.to_string()),
        }
    }
}

impl From<TensorError> for IoError {
    fn from(error: TensorError) -> Self {
        let kind = match error {
            TensorError::TooLarge(..) | TensorError::OutOfMemory(_) => IoErrorKind::Limit,
            _ => IoErrorKind::Mismatch,
        };
        Self::new(kind, error.to_string())
    }
}
