//! `.safetensors` files.
//!
//! Types the format lacks are stored as their codes, `i4` as `I8` and the others as `U8`, and the
//! file's metadata says so under `ovir.element_types`. Strings and `complex128` have no codes and
//! are refused.

use std::collections::BTreeMap;
use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use ::safetensors::tensor::{Dtype, Metadata};
use serde_json::{Map, json};

use super::codes::{codes, from_codes, little_endian};
use super::distinct::DistinctKeys;
use super::value::list;
use super::{IoError, file};
use crate::Limits;
use crate::tensor::{ElementType, Shape, SharedBytes, Tensor};

/// The key of the metadata: a JSON object from tensor names to element types.
const TYPES: &str = "ovir.element_types";
/// The limit of the format's own library.
const MAX_HEADER: usize = 100_000_000;

/// An open file; its tensors share the file's bytes.
#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    data: SharedBytes,
    metadata: Metadata,
    names: Vec<String>,
    /// Types that are stored as codes.
    types: BTreeMap<String, ElementType>,
    limits: Limits,
}

impl Archive {
    /// Reads a file.
    ///
    /// # Errors
    /// When the file cannot be read, or its header is not what the format asks for.
    pub fn open(path: &Path, limits: &Limits) -> Result<Self, IoError> {
        let bytes = file::read(path, limits)?;
        Self::parse(path, &bytes, limits).map_err(|e| e.in_file(path))
    }

    fn parse(path: &Path, bytes: &SharedBytes, limits: &Limits) -> Result<Self, IoError> {
        let all = bytes.as_bytes();
        let short = || IoError::invalid(format!("is cut off, it has {} bytes", all.len()));
        let (len, rest) = all.split_first_chunk::<8>().ok_or_else(short)?;
        let len = u64::from_le_bytes(*len);
        let header = usize::try_from(len)
            .ok()
            .filter(|&len| len <= MAX_HEADER)
            .ok_or_else(|| {
                IoError::invalid(format!(
                    "the header has {len} bytes, the format allows {MAX_HEADER}"
                ))
            })?;
        let text = rest.get(..header).ok_or_else(|| {
            IoError::invalid(format!(
                "the header has {header} bytes, the file has {} for it",
                rest.len()
            ))
        })?;
        if header as u64 > limits.document_bytes {
            return Err(IoError::limit(format!(
                "the header has {header} bytes, the limit is {}",
                limits.document_bytes
            )));
        }
        let wrong = |e| IoError::invalid(format!("the header is wrong: {e}"));
        serde_json::from_slice::<DistinctKeys>(text).map_err(wrong)?;
        let metadata: Metadata = serde_json::from_slice(text).map_err(wrong)?;
        let (expected, found) = (metadata.data_len(), rest.len() - header);
        if expected != found {
            return Err(IoError::invalid(format!(
                "the tensors need {expected} bytes, the file has {found}"
            )));
        }
        let types = match metadata.metadata().as_ref().and_then(|m| m.get(TYPES)) {
            None => BTreeMap::new(),
            Some(text) => serde_json::from_str(text)
                .map_err(|e| IoError::invalid(format!("metadata `{TYPES}`: {e}")))?,
        };
        Ok(Self {
            path: path.to_owned(),
            data: bytes.slice(8 + header, found).ok_or_else(short)?,
            names: metadata.offset_keys(),
            metadata,
            types,
            limits: limits.clone(),
        })
    }

    /// The names of the tensors, in the file's order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// One tensor.
    ///
    /// # Errors
    /// When there is no such tensor, or its type has no equivalent.
    pub fn read(&self, name: &str) -> Result<Tensor, IoError> {
        let result = match self.metadata.info(name) {
            Some(info) => self
                .tensor(name, info.dtype, &info.shape, info.data_offsets)
                .map_err(|e| e.in_entry(name)),
            None => {
                let names: Vec<&str> = self.names().collect();
                Err(IoError::invalid(format!(
                    "has no tensor `{}`, expected one of {}",
                    name.escape_debug(),
                    list(&names)
                )))
            }
        };
        result.map_err(|e| e.in_file(&self.path))
    }

    fn tensor(
        &self,
        name: &str,
        dtype: Dtype,
        shape: &[usize],
        (start, end): (usize, usize),
    ) -> Result<Tensor, IoError> {
        let ty = element_type(dtype).ok_or_else(|| {
            IoError::unsupported(format!("the type {dtype} of safetensors has no equivalent"))
        })?;
        let shape = Shape::from(shape);
        file::elements(&self.limits, ty, &shape)?;
        let bytes = end
            .checked_sub(start)
            .and_then(|len| self.data.slice(start, len))
            .ok_or_else(|| IoError::invalid("lies outside of the file"))?;
        let stored = Tensor::from_bytes(ty, shape, bytes)?;
        match self.types.get(name) {
            None => Ok(stored),
            Some(&wanted) if super::codes::code_type(wanted) == Some(ty) => {
                from_codes(&stored, wanted)
            }
            Some(wanted) => Err(IoError::invalid(format!(
                "the metadata calls it {wanted}, it is stored as {dtype}"
            ))),
        }
    }
}

fn element_type(dtype: Dtype) -> Option<ElementType> {
    use ElementType as E;
    Some(match dtype {
        Dtype::BOOL => E::Boolean,
        Dtype::F4 => E::F4e2m1,
        Dtype::U8 => E::U8,
        Dtype::I8 => E::I8,
        Dtype::F8_E5M2 => E::F8e5m2,
        Dtype::F8_E4M3 => E::F8e4m3,
        Dtype::F8_E8M0 => E::F8e8m0,
        Dtype::I16 => E::I16,
        Dtype::U16 => E::U16,
        Dtype::F16 => E::F16,
        Dtype::BF16 => E::Bf16,
        Dtype::I32 => E::I32,
        Dtype::U32 => E::U32,
        Dtype::F32 => E::F32,
        Dtype::F64 => E::F64,
        Dtype::C64 => E::Complex64,
        Dtype::I64 => E::I64,
        Dtype::U64 => E::U64,
        _ => return None,
    })
}

/// The type a tensor is stored as; `None` for those stored as codes.
fn dtype(ty: ElementType) -> Option<Dtype> {
    use ElementType as E;
    Some(match ty {
        E::Boolean => Dtype::BOOL,
        E::U8 => Dtype::U8,
        E::I8 => Dtype::I8,
        E::F8e5m2 => Dtype::F8_E5M2,
        E::F8e4m3 => Dtype::F8_E4M3,
        E::F8e8m0 => Dtype::F8_E8M0,
        E::I16 => Dtype::I16,
        E::U16 => Dtype::U16,
        E::F16 => Dtype::F16,
        E::Bf16 => Dtype::BF16,
        E::I32 => Dtype::I32,
        E::U32 => Dtype::U32,
        E::F32 => Dtype::F32,
        E::F64 => Dtype::F64,
        E::Complex64 => Dtype::C64,
        E::I64 => Dtype::I64,
        E::U64 => Dtype::U64,
        _ => return None,
    })
}

/// Writes a file. Wide types come first, so that every tensor is aligned; otherwise the order is
/// kept.
///
/// # Errors
/// When the file cannot be written, a name is there twice, or a tensor holds strings or
/// `complex128`.
pub fn write<'a>(
    path: &Path,
    tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>,
) -> Result<(), IoError> {
    let prepared = prepare(tensors).map_err(|e| e.in_file(path))?;
    file::write(path, |out| {
        let system = |e| IoError::system("write", e);
        let header = prepared.header.as_bytes();
        out.write_all(&(header.len() as u64).to_le_bytes())
            .and_then(|()| out.write_all(header))
            .map_err(system)?;
        for tensor in &prepared.tensors {
            out.write_all(&little_endian(tensor)).map_err(system)?;
        }
        Ok(())
    })
}

struct Prepared {
    header: String,
    tensors: Vec<Tensor>,
}

fn prepare<'a>(
    tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>,
) -> Result<Prepared, IoError> {
    let mut names = HashSet::new();
    let mut types = Map::new();
    let mut stored = Vec::new();
    for (name, tensor) in tensors {
        let ty = tensor.element_type();
        if name == "__metadata__" || !names.insert(name) {
            return Err(IoError::invalid(format!(
                "two tensors have the name `{name}`, or the format uses it itself"
            )));
        }
        if let Some(dtype) = dtype(ty) {
            stored.push((name, dtype, tensor.clone()));
        } else if let Some(code) = super::codes::code_type(ty).and_then(dtype) {
            types.insert(name.to_owned(), json!(ty.name()));
            stored.push((name, code, codes(tensor)?));
        } else {
            let message = format!("safetensors has no type for {ty}, use .npy or .npz");
            return Err(IoError::unsupported(message).in_entry(name));
        }
    }
    stored.sort_by_key(|(_, dtype, _)| std::cmp::Reverse(dtype.bitsize()));
    let mut header = Map::new();
    if !types.is_empty() {
        let types = serde_json::Value::Object(types).to_string();
        header.insert("__metadata__".to_owned(), json!({ TYPES: types }));
    }
    let mut offset = 0;
    for (name, dtype, tensor) in &stored {
        let end = offset + tensor.bytes().len();
        header.insert(
            (*name).to_owned(),
            json!({"dtype": dtype.to_string(), "shape": &**tensor.shape(), "data_offsets": [offset, end]}),
        );
        offset = end;
    }
    let mut header = serde_json::Value::Object(header).to_string();
    let padding = header.len().next_multiple_of(8) - header.len();
    header.extend(std::iter::repeat_n(' ', padding));
    Ok(Prepared {
        header,
        tensors: stored.into_iter().map(|(_, _, tensor)| tensor).collect(),
    })
}

#[cfg(test)]
#[path = "tests/safetensors.rs"]
mod tests;
