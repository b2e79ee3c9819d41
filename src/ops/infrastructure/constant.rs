//! Constant-1: a tensor stored in the model. IR writes the type as `Const`.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/infrastructure/constant-1.html>

use std::sync::OnceLock;

use byteorder::{ByteOrder, LittleEndian};
use serde::{Deserialize, Serialize};

use crate::op::attrs::{self, AttrError};
use crate::op::{
    Input, Io, LayerData, Op, OpError, Output, Outputs, ReadError, ReadResult, Stored, bail, ensure,
};
use crate::tensor::{ElementType, PartialShape, Shape, SharedBytes, Tensor, Text};

/// A tensor stored in the model. Its bytes are looked at when the tensor is first asked for.
#[derive(Debug, Serialize)]
pub(crate) struct Const {
    element_type: ElementType,
    shape: Vec<usize>,
    #[serde(skip)]
    bytes: Option<Stored>,
    #[serde(skip)]
    tensor: OnceLock<Result<Tensor, OpError>>,
}

impl Const {
    /// A constant that is in memory already.
    pub(crate) fn new(tensor: Tensor) -> Self {
        Self {
            element_type: tensor.element_type(),
            shape: tensor.shape().to_vec(),
            bytes: None,
            tensor: OnceLock::from(Ok(tensor)),
        }
    }

    /// A constant whose bytes are stored somewhere, as [`Tensor::from_bytes`] takes them. They are
    /// looked at when the tensor is first asked for.
    pub(crate) fn stored(element_type: ElementType, shape: Vec<usize>, bytes: Stored) -> Self {
        Self {
            element_type,
            shape,
            bytes: Some(bytes),
            tensor: OnceLock::new(),
        }
    }

    /// The element type and shape.
    pub(crate) fn output(&self) -> Output {
        let shape: PartialShape = self.shape.iter().copied().collect();
        Output::new(self.element_type, shape)
    }

    /// The tensor.
    ///
    /// # Errors
    /// When its bytes are not those of the shape.
    pub(crate) fn tensor(&self) -> Result<&Tensor, OpError> {
        self.tensor
            .get_or_init(|| {
                let bytes = match &self.bytes {
                    Some(stored) => stored.get()?,
                    None => empty(),
                };
                let shape = Shape::from(self.shape.as_slice());
                match self.element_type {
                    ElementType::String => {
                        let strings = unpack_strings(bytes.as_bytes(), &shape)?;
                        Ok(Tensor::strings(shape, strings)?)
                    }
                    ty => Ok(Tensor::from_bytes(ty, shape, bytes)?),
                }
            })
            .as_ref()
            .map_err(Clone::clone)
    }
}

/// The bytes of a constant as a `.bin` file has them.
pub(crate) enum Bytes<'c> {
    Stored(SharedBytes),
    InMemory(&'c [u8]),
    Made(Vec<u8>),
}

impl Bytes<'_> {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Stored(bytes) => bytes.as_bytes(),
            Self::InMemory(bytes) => bytes,
            Self::Made(bytes) => bytes,
        }
    }
}

impl Const {
    /// The bytes as a `.bin` file has them: those that were read, or else those of the tensor.
    ///
    /// # Errors
    /// When they are not there any more, or there are more strings than the format can count.
    pub(crate) fn stored_bytes(&self) -> Result<Bytes<'_>, OpError> {
        if let Some(stored) = &self.bytes {
            return Ok(Bytes::Stored(stored.get()?));
        }
        let tensor = self.tensor()?;
        if let Ok(strings) = tensor.as_strings() {
            return Ok(Bytes::Made(pack_strings(strings)?));
        }
        let width = self.element_type.swapped_bytes();
        if cfg!(target_endian = "big") && width > 1 {
            let mut bytes = tensor.bytes().to_vec();
            bytes.chunks_exact_mut(width).for_each(<[u8]>::reverse);
            return Ok(Bytes::Made(bytes));
        }
        Ok(Bytes::InMemory(tensor.bytes()))
    }
}

fn empty() -> SharedBytes {
    SharedBytes::new(std::sync::Arc::new(Vec::new()))
}

impl Op for Const {
    fn infer(&self, _inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        Ok(smallvec::smallvec![self.output()])
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        io.outputs[0] = self.tensor()?.clone();
        Ok(())
    }

    fn constant(&self) -> Option<Result<&Tensor, OpError>> {
        Some(self.tensor())
    }

    fn is_constant(&self) -> bool {
        true
    }
}

#[derive(Deserialize)]
struct Attributes {
    element_type: ElementType,
    shape: Vec<i64>,
    offset: u64,
    size: u64,
}

/// Reads the layer and finds its bytes, without looking at them.
pub(super) fn read(layer: &LayerData<'_>) -> ReadResult {
    let offset_of = |name: &str| layer.attributes.iter().find(|a| a.name == name);
    let error = |name: &str, message: String| AttrError {
        message: format!("attribute `{name}`: {message}"),
        offset: offset_of(name).map(|a| a.offset),
    };
    if offset_of("value").is_some() {
        let message = "a constant's elements are stored in the .bin file, not in the document";
        return Err(error("value", message.to_owned()).into());
    }
    let (attributes, unknown) = attrs::read::<Attributes>(layer.attributes)?;
    let ty = attributes.element_type;
    if !ty.is_static() {
        return Err(error("element_type", "a constant cannot be dynamic".to_owned()).into());
    }
    let shape = attributes
        .shape
        .iter()
        .map(|&d| usize::try_from(d))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|_| error("shape", "a constant's dimensions are all known".to_owned()))?;
    let too_large = || error("shape", "the number of elements is too large".to_owned());
    let count = Shape::from(shape.as_slice())
        .elements()
        .ok_or_else(too_large)?;
    let needed = match ty {
        ElementType::String => attributes.size,
        _ => ty
            .storage_bytes(count)
            .and_then(|n| u64::try_from(n).ok())
            .filter(|&n| i64::try_from(n).is_ok())
            .ok_or_else(too_large)?,
    };
    if attributes.size < needed {
        let message = format!(
            "{ty}{} needs {needed} bytes, got {}",
            Shape::from(shape),
            attributes.size
        );
        return Err(error("size", message).into());
    }
    let stored = |size| layer.weights.stored(attributes.offset, size);
    // All that is declared is to be there, even where less is needed.
    let bytes = stored(attributes.size).and_then(|all| match needed < attributes.size {
        true => stored(needed),
        false => Ok(all),
    });
    let constant = Const::stored(ty, shape, bytes.map_err(ReadError::Weights)?);
    Ok((Box::new(constant), unknown))
}

/// What [`unpack_strings`] takes apart.
fn pack_strings(strings: &[Text]) -> Result<Vec<u8>, OpError> {
    let number = |n: usize| {
        i32::try_from(n).map_err(|_| OpError::limit("a block of strings has at most 2 GiB"))
    };
    let mut block = Vec::new();
    block.extend(number(strings.len())?.to_le_bytes());
    let mut end = 0usize;
    block.extend(number(end)?.to_le_bytes());
    for text in strings {
        end = end.saturating_add(text.len());
        block.extend(number(end)?.to_le_bytes());
    }
    strings.iter().for_each(|text| block.extend(&**text));
    Ok(block)
}

/// A block of strings: i32 count N, N+1 i32 offsets into the characters that follow, characters.
fn unpack_strings(block: &[u8], shape: &Shape) -> Result<Vec<Text>, OpError> {
    let expected = shape.elements().unwrap_or(usize::MAX);
    ensure!(
        block.len() >= 8,
        "a block of strings needs at least 8 bytes, got {}",
        block.len()
    );
    let count = usize::try_from(LittleEndian::read_i32(block)).unwrap_or(usize::MAX);
    ensure!(
        count == expected,
        "shape {shape} needs {expected} strings, the block has {}",
        LittleEndian::read_i32(block)
    );
    let header = count
        .checked_add(2)
        .and_then(|n| n.checked_mul(4))
        .filter(|&n| n <= block.len());
    let Some(header) = header else {
        bail!(
            "the offsets of {count} strings do not fit in {} bytes",
            block.len()
        );
    };
    let (table, characters) = block.split_at(header);
    let mut offsets = table[4..].chunks_exact(4).map(LittleEndian::read_i32);
    let mut start = offsets.next().unwrap_or(0);
    let mut strings = Vec::with_capacity(count);
    for (i, end) in offsets.enumerate() {
        let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
        let Some(text) = range.and_then(|(start, end)| characters.get(start..end)) else {
            bail!(
                "string {i} lies at {start}..{end}, the block has {} characters",
                characters.len()
            );
        };
        strings.push(Text::from(text));
        start = end;
    }
    Ok(strings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn string_blocks() {
        let block: Vec<u8> = [3i32, 0, 2, 2, 8]
            .iter()
            .flat_map(|n| n.to_le_bytes())
            .chain("abxyz€".bytes())
            .collect();
        let strings = unpack_strings(&block, &Shape::from([3])).expect("a good block");
        assert_eq!(
            strings,
            [Text::from("ab"), Text::from(""), Text::from("xyz€")]
        );
        assert_eq!(pack_strings(&strings).as_ref(), Ok(&block));
        assert_eq!(
            unpack_strings(&[0; 8], &Shape::from([0])).expect("an empty tensor"),
            []
        );
        for end in 0..block.len() {
            assert!(
                unpack_strings(&block[..end], &Shape::from([3])).is_err(),
                "{end}"
            );
        }
        let huge = [i32::MAX.to_le_bytes(), [0; 4]].concat();
        assert!(unpack_strings(&huge, &Shape::from([i32::MAX as usize])).is_err());
    }
}
