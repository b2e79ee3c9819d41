//! StringTensorUnpack-15: a tensor of strings taken apart into begins, ends and symbols.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/type/string-tensor-unpack-15.html>
//!
//! Version `extension`, of the first tokenizers, says so in an attribute and also takes strings
//! packed into bytes: their count, all begins and the last end, then the symbols.

use serde::{Deserialize, Serialize};

#[cfg(feature = "tokenizers")]
use crate::kernel::scratch::try_zeroed;
use crate::op::{Input, Io, Op, OpError, Outputs, bail, ensure};
use crate::ops::strings::{Packed, Strings};
use crate::tensor::ElementType;
#[cfg(feature = "tokenizers")]
use crate::tensor::{PartialShape, Shape, Tensor};

/// Begins, ends and symbols of strings.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct StringTensorUnpack {}

fn only<'i, 'a>(inputs: &'i [Input<'a>]) -> Result<&'i Input<'a>, OpError> {
    match inputs {
        [data] => Ok(data),
        _ => bail!("expected 1 input (data), got {}", inputs.len()),
    }
}

fn unpack(io: Io<'_>) -> Result<(), OpError> {
    let mut packed = Packed::default();
    for string in io.inputs[0].as_strings()? {
        packed.push(string)?;
    }
    let tensors = packed.into_tensors(io.inputs[0].shape())?;
    io.outputs.clone_from_slice(&tensors);
    Ok(())
}

impl Op for StringTensorUnpack {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let data = only(inputs)?;
        let ty = data.element_type;
        ensure!(
            ty == ElementType::String || !ty.is_static(),
            "data must be strings, got {ty}"
        );
        Ok(Strings::outputs(&data.shape).into_iter().collect())
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        unpack(io)
    }
}

/// What the extension's operations can be asked for: the one way to take strings apart.
#[cfg(feature = "tokenizers")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    #[default]
    BeginsEnds,
}

/// Version `extension`.
#[cfg(feature = "tokenizers")]
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct StringTensorUnpackExtension {
    mode: Mode,
}

/// The strings packed into bytes.
#[cfg(feature = "tokenizers")]
fn unpack_bytes(io: Io<'_>) -> Result<(), OpError> {
    use byteorder::{ByteOrder, LittleEndian};

    let bytes = io.inputs[0].as_slice::<u8>()?;
    let (head, rest) = bytes.split_at_checked(4).unwrap_or_default();
    ensure!(
        head.len() == 4,
        "{} bytes hold no count of strings",
        bytes.len()
    );
    let count = usize::try_from(LittleEndian::read_i32(head)).ok();
    let size = count.and_then(|c| c.checked_add(1)?.checked_mul(4));
    let parts = size.and_then(|size| rest.split_at_checked(size));
    let Some((offsets, symbols)) = parts else {
        let count = LittleEndian::read_i32(head);
        bail!("{} bytes do not hold {count} strings", bytes.len());
    };
    let mut numbers = try_zeroed(offsets.len() / 4)?;
    LittleEndian::read_i32_into(offsets, &mut numbers);
    let mut packed = Packed::default();
    for (i, pair) in numbers.windows(2).enumerate() {
        let (begin, end) = (usize::try_from(pair[0]).ok(), usize::try_from(pair[1]).ok());
        let string = begin.zip(end).and_then(|(b, e)| symbols.get(b..e));
        let Some(string) = string else {
            bail!(
                "string {i} is at {} to {} of {} symbols",
                pair[0],
                pair[1],
                symbols.len()
            );
        };
        packed.push(string)?;
    }
    let shape = Shape::from([numbers.len() - 1]);
    let tensors: [Tensor; 3] = packed.into_tensors(&shape)?;
    io.outputs.clone_from_slice(&tensors);
    Ok(())
}

#[cfg(feature = "tokenizers")]
impl Op for StringTensorUnpackExtension {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let data = only(inputs)?;
        let shape = match data.element_type {
            ElementType::String => data.shape.clone().into_owned(),
            ElementType::U8 => {
                data.expect_1d("packed strings")?;
                PartialShape::of_rank(1)
            }
            ElementType::Dynamic => PartialShape::dynamic(),
            ty => bail!("data must be strings or u8, got {ty}"),
        };
        Ok(Strings::outputs(&shape).into_iter().collect())
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        match io.inputs[0].element_type() {
            ElementType::U8 => unpack_bytes(io),
            _ => unpack(io),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{dynamic, run_all};
    use crate::tensor::{Tensor, Text};

    fn strings(strings: &[&str], dims: &[usize]) -> Tensor {
        let texts = strings.iter().map(|&s| Text::from(s)).collect();
        Tensor::strings(dims, texts).expect("as many")
    }

    #[test]
    fn one_after_another() {
        let data = strings(&["Intel", "", "Оба", ""], &[2, 2]);
        let out = run_all(&StringTensorUnpack {}, std::slice::from_ref(&data)).expect("strings");
        assert_eq!(out[0], Tensor::new([2, 2], &[0i32, 5, 5, 11]).expect("4"));
        assert_eq!(out[1], Tensor::new([2, 2], &[5i32, 5, 11, 11]).expect("4"));
        assert_eq!(out[2], Tensor::vector("IntelОба".as_bytes()));
        for mask in 0..40 {
            assert!(
                dynamic(&StringTensorUnpack {}, std::slice::from_ref(&data), mask)
                    .contains(&[2, 2])
            );
        }
        let none = run_all(&StringTensorUnpack {}, &[strings(&[], &[0, 3])]).expect("none");
        assert_eq!(none[0].shape().to_vec(), [0, 3]);
        assert!(run_all(&StringTensorUnpack {}, &[Tensor::vector(&[1u8])]).is_err());
    }

    #[cfg(feature = "tokenizers")]
    #[test]
    fn packed_into_bytes() {
        let op = StringTensorUnpackExtension::default();
        let packed = |count: i32, offsets: &[i32], symbols: &[u8]| {
            let mut bytes = count.to_le_bytes().to_vec();
            offsets.iter().for_each(|o| bytes.extend(o.to_le_bytes()));
            bytes.extend_from_slice(symbols);
            run_all(&op, &[Tensor::vector(&bytes)])
        };
        let out = packed(2, &[0, 2, 5], b"abcde").expect("good");
        assert_eq!(out[1].as_slice::<i32>().expect("i32"), [2, 5]);
        assert_eq!(out[2].as_slice::<u8>().expect("u8"), b"abcde");
        assert_eq!(packed(0, &[0], b"").expect("none")[0].len(), 0);
        for (count, offsets) in [
            (-1, [0; 3]),
            (3, [0; 3]),
            (2, [0, 2, 9]),
            (2, [3, 2, 5]),
            (2, [-1, 2, 5]),
            (i32::MAX, [0; 3]),
        ] {
            assert!(
                packed(count, &offsets, b"abcde").is_err(),
                "{count} {offsets:?}"
            );
        }
        assert!(run_all(&op, &[Tensor::vector(&[1u8, 0])]).is_err());
    }
}
