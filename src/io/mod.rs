//! Tensors in and out of files, as literals and at random, and as text to read.
//!
//! ```
//! use ovir::Limits;
//! use ovir::io::{Value, Wanted, text};
//! use ovir::tensor::{ElementType, PartialShape};
//!
//! let shape: PartialShape = "?,2".parse()?;
//! let wanted = Wanted { element_type: ElementType::F32, shape: &shape, range: None };
//! let tensor = Value::parse("[[1, 2.5], [3, 4]]")?.load(&wanted, &Limits::default())?;
//! let text = text::format(&tensor, &text::Options::default());
//! assert_eq!(text, "[[1  , 2.5],\n [3  , 4  ]]");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod adapt;
mod codes;
mod distinct;
mod error;
mod file;
#[cfg(feature = "cli")]
pub mod json;
mod literal;
pub mod npy;
mod npy_header;
pub mod npz;
mod number;
mod random;
pub mod raw;
pub mod safetensors;
pub mod text;
mod text_float;
mod value;
mod zip_directory;

use std::path::Path;

pub use adapt::adapt;
pub(crate) use codes::code_type;
pub use error::{IoError, IoErrorKind};
pub use random::Random;
pub(crate) use random::{Generator, input_seed};
pub use value::{Value, Wanted};

use crate::Limits;
use crate::tensor::Tensor;

/// Writes a file beside the target and renames it, so that nobody ever sees half of it.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn write_whole(
    path: &Path,
    content: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>,
) -> Result<(), IoError> {
    file::write(path, |out| {
        content(out).map_err(|e| IoError::system("write", e))
    })
}

/// Reads every tensor of an `.npy`, `.npz` or `.safetensors` file, in its order; that of an
/// `.npy` file has the file's name.
///
/// # Errors
/// When the file cannot be read, or has another extension.
pub fn read_all(path: &Path, limits: &Limits) -> Result<Vec<(String, Tensor)>, IoError> {
    let extension = path.extension().map(|e| e.to_ascii_lowercase());
    match extension.as_ref().and_then(|e| e.to_str()) {
        Some("npy") => {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            Ok(vec![(name.into_owned(), npy::read(path, limits)?)])
        }
        Some("npz") => {
            let mut archive = npz::Archive::open(path, limits)?;
            let names: Vec<String> = archive.names().map(str::to_owned).collect();
            collect(path, names, limits, |name| archive.read(name))
        }
        Some("safetensors") => {
            let archive = safetensors::Archive::open(path, limits)?;
            let names = archive.names().map(str::to_owned).collect();
            collect(path, names, limits, |name| archive.read(name))
        }
        _ => Err(
            IoError::unsupported("the extension is not .npy, .npz or .safetensors").in_file(path),
        ),
    }
}

/// The names of a file's entries: those given; one that is empty, or not the first of its kind, is
/// its number.
pub(crate) fn entry_names<'n>(given: impl Iterator<Item = &'n str>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (index, name) in given.enumerate() {
        let own = !name.is_empty() && !names.iter().any(|n| n == name);
        names.push(if own {
            name.to_owned()
        } else {
            index.to_string()
        });
    }
    names
}

/// Reads tensors as long as all of them together stay inside the limit.
fn collect(
    path: &Path,
    names: Vec<String>,
    limits: &Limits,
    mut read: impl FnMut(&str) -> Result<Tensor, IoError>,
) -> Result<Vec<(String, Tensor)>, IoError> {
    let mut total = 0u64;
    let mut tensors = Vec::new();
    for name in names {
        let tensor = read(&name)?;
        total = total.saturating_add(tensor.byte_len() as u64);
        if total > limits.live_bytes {
            return Err(IoError::limit(format!(
                "the tensors up to `{name}` have {total} bytes, the limit is {}",
                limits.live_bytes
            ))
            .in_file(path));
        }
        tensors.push((name, tensor));
    }
    Ok(tensors)
}
