//! StringTensorPack-15: a tensor of strings from begins, ends and symbols.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/type/string-tensor-pack-15.html>
//!
//! Version `extension`, of the first tokenizers, has an attribute that names this way.

use serde::{Deserialize, Serialize};

use crate::kernel::scratch::try_collect;
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail};
use crate::ops::strings::{Strings, expect_bytes, expect_ranges};
use crate::tensor::{ElementType, Tensor, Text};

/// Strings from their symbols.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct StringTensorPack {}

impl Op for StringTensorPack {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [begins, ends, symbols] = inputs else {
            let found = inputs.len();
            bail!("expected 3 inputs (begins, ends, symbols), got {found}");
        };
        let types = [ElementType::I32, ElementType::I64];
        expect_ranges(begins, ends, &types, "symbols")?;
        expect_bytes(symbols, "symbols")?;
        let Some(shape) = begins.shape.intersect(&ends.shape) else {
            let (begins, ends) = (&begins.shape, &ends.shape);
            bail!("begins and ends must have one shape, got {begins} and {ends}");
        };
        Ok(Output::single(ElementType::String, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let strings = Strings::of(io.inputs, 0)?;
        let texts = try_collect(strings.iter().map(Text::from))?;
        io.outputs[0] = Tensor::strings(io.inputs[0].shape().clone(), texts)?;
        Ok(())
    }
}

/// Version `extension`.
#[cfg(feature = "tokenizers")]
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct StringTensorPackExtension {
    mode: super::string_tensor_unpack::Mode,
}

#[cfg(feature = "tokenizers")]
impl Op for StringTensorPackExtension {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        StringTensorPack {}.infer(inputs)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        StringTensorPack {}.eval(io)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::OpErrorKind;
    use crate::ops::testing::{dynamic, elements, run};

    fn pack(begins: &[i64], ends: &[i64], symbols: &[u8]) -> Result<Vec<String>, OpError> {
        let inputs = [
            Tensor::vector(begins),
            Tensor::vector(ends),
            Tensor::vector(symbols),
        ];
        let out = run(&StringTensorPack {}, &inputs)?;
        for mask in 0..40 {
            assert!(dynamic(&StringTensorPack {}, &inputs, mask).contains(out.shape()));
        }
        Ok(elements(&out))
    }

    #[test]
    fn gaps_overlaps_and_nothing() {
        let out = pack(&[0, 8, 3, 2], &[1, 9, 3, 6], b"123456789").expect("good");
        assert_eq!(out, ["1", "9", "", "3456"]);
        assert!(pack(&[], &[], b"").expect("none").is_empty());
        assert_eq!(pack(&[0], &[0], b"").expect("empty"), [""]);
    }

    #[test]
    fn ranges_are_checked() {
        for (begin, end) in [(-1, 2), (0, 10), (5, 4), (i64::MIN, i64::MAX), (10, 10)] {
            assert!(
                pack(&[begin], &[end], b"123456789").is_err(),
                "{begin} {end}"
            );
        }
        assert!(pack(&[0, 1], &[1], b"12").is_err());
        let symbols = vec![b'x'; 1 << 16];
        let (begins, ends) = (vec![0; 40_000], vec![1 << 16; 40_000]);
        let error = pack(&begins, &ends, &symbols).expect_err("2.6 GB");
        assert_eq!(error.kind, OpErrorKind::Limit);
    }
}
