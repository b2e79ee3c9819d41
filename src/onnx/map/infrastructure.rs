//! Constant and Identity.

use super::{Mapped, Mapping, Operator, Refusal, Result, row};
use crate::onnx::ops::{IDENTITY, Identity};
use crate::onnx::tensor;
use crate::op::Version;
use crate::ops;
use crate::ops::infrastructure::Const;
use crate::tensor::{Shape, Tensor, Text};

pub(super) const OPERATORS: &[Operator] = &[
    row(
        "Constant",
        &[1, 9, 11, 12, 13, 19, 21, 23, 24, 25],
        constant,
    ),
    row("Identity", &[1, 13, 14, 16, 19, 21, 23, 24, 25], identity),
];

fn constant(m: &mut Mapping<'_, '_>) -> Result<Mapped> {
    let [] = m.inputs([])?;
    let attributes = &m.attributes;
    let mut given: Vec<Const> = Vec::new();
    if let Some(value) = attributes.tensor("value")? {
        given.push(tensor::read(value, m.folder)?);
    }
    if m.version >= 11
        && let Some(value) = attributes.sparse_tensor("sparse_value")?
    {
        given.push(tensor::read_sparse(value, m.folder, m.limits)?);
    }
    if m.version >= 12 {
        let ints = attributes.ints("value_ints")?.map(Tensor::vector);
        let floats = attributes.floats("value_floats")?.map(Tensor::vector);
        let int = attributes.int("value_int")?.map(Tensor::scalar);
        let float = attributes.float("value_float")?.map(Tensor::scalar);
        let all = [ints, floats, int, float].into_iter().flatten();
        given.extend(all.map(Const::new));
        if let Some(text) = attributes.bytes("value_string")? {
            let text = Tensor::strings(Shape::scalar(), vec![Text::from(text)])?;
            given.push(Const::new(text));
        }
        if let Some(texts) = attributes.texts("value_strings")? {
            let texts: Vec<Text> = texts.map(Text::from).collect();
            given.push(Const::new(Tensor::strings([texts.len()], texts)?));
        }
    }
    let Some(value) = given.pop().filter(|_| given.is_empty()) else {
        let message = match given.len() {
            0 => "attribute `value` is missing".to_owned(),
            more => format!("expected one value, got {}", more + 1),
        };
        return Err(Refusal::attribute(message));
    };
    let resolved = ops::resolve("Const", "opset1").expect("opset1 has Const");
    Ok(Mapped::new(
        std::sync::Arc::new(value),
        resolved.def,
        Version::Opset(1),
        &[],
    ))
}

fn identity(m: &mut Mapping<'_, '_>) -> Result<Mapped> {
    let inputs = m.inputs(["input"])?;
    Ok(m.own(Identity {}, &IDENTITY, &inputs))
}
