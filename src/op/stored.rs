//! The bytes of a constant before anybody looks at them.

use std::fmt;
use std::sync::Arc;

use super::OpError;
use crate::tensor::SharedBytes;

/// Bytes that are at hand, or that are read from a file when they are asked for.
#[derive(Clone)]
pub enum Stored {
    /// In memory, or in a mapped file.
    Here(SharedBytes),
    /// In a file.
    There(Arc<dyn Fn() -> Result<SharedBytes, OpError> + Send + Sync>),
}

impl Stored {
    /// The bytes.
    ///
    /// # Errors
    /// When they are not in the file any more, or there is no memory for them.
    pub fn get(&self) -> Result<SharedBytes, OpError> {
        match self {
            Self::Here(bytes) => Ok(bytes.clone()),
            Self::There(read) => read(),
        }
    }
}

impl From<SharedBytes> for Stored {
    fn from(bytes: SharedBytes) -> Self {
        Self::Here(bytes)
    }
}

impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here(bytes) => bytes.fmt(f),
            Self::There(_) => f.write_str("bytes in a file"),
        }
    }
}
