//! Convert-1: the same elements in another type.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/type/convert-1.html>
//!
//! The rules, and what the document leaves undefined, stand in [`crate::tensor::convert`].

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure};
use crate::ops::interval;
use crate::tensor::convert::convert_into;
use crate::tensor::{ElementType, ValueRange};

#[derive(Debug, Clone, Deserialize, Serialize)]
pub(crate) struct Convert {
    #[serde(deserialize_with = "known_type")]
    destination_type: ElementType,
}

fn known_type<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ElementType, D::Error> {
    match ElementType::deserialize(deserializer)? {
        ElementType::Dynamic => Err(de::Error::custom("a type is needed, dynamic is none")),
        ty => Ok(ty),
    }
}

impl Op for Convert {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [input] = inputs else {
            bail!("expected 1 input, got {}", inputs.len());
        };
        infer(input, self.destination_type)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        Ok(convert_into(io.inputs[0], &mut io.outputs[0])?)
    }

    fn keeps_numbers(&self) -> bool {
        true
    }

    fn infer_value(&self, inputs: &[Input<'_>], output: &Output) -> Option<Vec<ValueRange>> {
        infer_ranges(inputs.first()?, output.element_type)
    }
}

/// The input in another type.
pub(super) fn infer(input: &Input<'_>, to: ElementType) -> Result<Outputs, OpError> {
    let from = input.element_type;
    let known = from.is_static() && to.is_static();
    ensure!(
        from == to || !known || from.class().is_some() && to.class().is_some(),
        "{from} cannot be converted to {to}"
    );
    Ok(Output::single(to, input.shape.clone().into_owned()))
}

/// What is known of the elements in another type.
pub(super) fn infer_ranges(input: &Input<'_>, to: ElementType) -> Option<Vec<ValueRange>> {
    if !to.is_integer() {
        return None;
    }
    let from = input.element_type;
    let convert = |&range| interval::fit(interval::of_type(range, from), to);
    Some(input.ranges()?.iter().map(convert).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::attrs::{self, Attr};
    use crate::tensor::PartialShape;

    #[test]
    fn the_type_is_needed() {
        let read = |attributes: &[Attr<'_>]| attrs::read::<Convert>(attributes);
        assert!(read(&[]).is_err());
        assert!(read(&[Attr::new("destination_type", "dynamic")]).is_err());
        assert!(read(&[Attr::new("destination_type", "float")]).is_err());
        assert!(read(&[Attr::new("destination_type", "I64")]).is_ok());
    }

    #[test]
    fn sizes_flow_through() {
        let op = |destination_type| Convert { destination_type };
        let range = |min, max| ValueRange {
            min,
            max,
            symbol: None,
        };
        let shape = PartialShape::from([2]);
        let known = [range(1, i64::MAX), range(3, 300)];
        let input = Input {
            ranges: Some(&known),
            ..Input::new(ElementType::I64, &shape)
        };
        let to = |ty| op(ty).infer_value(std::slice::from_ref(&input), &Output::new(ty, [2]));
        assert_eq!(to(ElementType::I32), Some(known.to_vec()));
        assert_eq!(to(ElementType::U8), Some(vec![ValueRange::UNKNOWN; 2]));
        assert_eq!(to(ElementType::F32), None);
        let text = Input::new(ElementType::String, &shape);
        let error = op(ElementType::F32).infer(&[text]).expect_err("text");
        assert_eq!(error.message, "string cannot be converted to f32");
        let complex = Input::new(ElementType::Complex64, &shape);
        assert!(
            op(ElementType::F32)
                .infer(std::slice::from_ref(&complex))
                .is_err()
        );
        assert!(op(ElementType::Complex128).infer(&[complex]).is_err());
    }
}
