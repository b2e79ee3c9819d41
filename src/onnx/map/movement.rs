//! Gather, GatherElements, GatherND, Scatter, ScatterElements, ScatterND, Concat, Transpose.
//!
//! Indices out of range are errors in all of them. Versions that do not speak of negative indices
//! take them as later ones do: counted from the end.

use super::{Mapped, Mapping, Operator, Refusal, Result, registered, resolve, row};
use crate::onnx::ops::{GATHER_ELEMENTS, GatherElements, Guard};
use crate::tensor::Tensor;

pub(super) const OPERATORS: &[Operator] = &[
    row("Concat", &[1, 4, 11, 13], concat),
    row("Gather", &[1, 11, 13], gather),
    row("GatherElements", &[11, 13], gather_elements),
    row("GatherND", &[11, 12, 13], gather_nd),
    row("Scatter", &[9, 11], scatter),
    row("ScatterElements", &[11, 13, 16, 18], scatter_elements),
    row("ScatterND", &[11, 13, 16, 18], scatter_nd),
    row("Transpose", &[1, 13, 21, 23, 24, 25], transpose),
];

fn concat(m: &mut Mapping<'_, '_>) -> Result<Mapped> {
    let axis = match m.attributes.int("axis")? {
        Some(axis) => axis,
        None if m.version == 1 => 1,
        None => return Err(Refusal::attribute("attribute `axis` is missing")),
    };
    let mut inputs = Vec::with_capacity(m.inputs.len());
    for (index, input) in m.inputs.iter().enumerate() {
        let missing = || Refusal::structure(format!("input {index} is missing"));
        inputs.push(input.ok_or_else(missing)?);
    }
    registered("Concat", "opset1", &[("axis", &axis.to_string())], &inputs)
}

fn gather(m: &mut Mapping<'_, '_>) -> Result<Mapped> {
    let [data, indices] = m.inputs(["data", "indices"])?;
    let axis = m.attributes.int("axis")?.unwrap_or(0);
    let along = m.constant("axis", Tensor::scalar(axis));
    let guard = Guard::Along(axis);
    m.guarded(guard, "Gather", "opset8", &[], &[data, indices, along])
}

fn gather_elements(m: &mut Mapping<'_, '_>) -> Result<Mapped> {
    let inputs = m.inputs(["data", "indices"])?;
    let axis = m.attributes.int("axis")?.unwrap_or(0);
    let op = GatherElements {
        axis,
        inner: resolve("GatherElements", "opset6", &[("axis", &axis.to_string())])?,
        slice: resolve("Slice", "opset8", &[])?,
    };
    Ok(m.own(op, &GATHER_ELEMENTS, &inputs))
}

fn gather_nd(m: &mut Mapping<'_, '_>) -> Result<Mapped> {
    let inputs = m.inputs(["data", "indices"])?;
    let batch_dims = match m.version {
        11 => 0,
        _ => m.attributes.int("batch_dims")?.unwrap_or(0),
    };
    // The guard has the better message for what is out of range.
    let attributes = [("batch_dims", &*batch_dims.to_string())];
    let guard = Guard::Tuples {
        batch_dims,
        least: 1,
    };
    m.guarded(guard, "GatherND", "opset8", &attributes, &inputs)
}

fn scatter(m: &mut Mapping<'_, '_>) -> Result<Mapped> {
    if m.version >= 11 {
        let message = "Scatter is deprecated since ai.onnx 11, ScatterElements does the same";
        m.warnings.push(message.to_owned());
    }
    scatter_elements(m)
}

fn scatter_elements(m: &mut Mapping<'_, '_>) -> Result<Mapped> {
    let [data, indices, updates] = m.inputs(["data", "indices", "updates"])?;
    let axis = m.attributes.int("axis")?.unwrap_or(0);
    let reduction = reduction(m)?;
    let axis = m.constant("axis", Tensor::scalar(axis));
    registered(
        "ScatterElementsUpdate",
        "opset12",
        &[("reduction", reduction)],
        &[data, indices, updates, axis],
    )
}

fn scatter_nd(m: &mut Mapping<'_, '_>) -> Result<Mapped> {
    let inputs = m.inputs(["data", "indices", "updates"])?;
    let attributes = [("reduction", reduction(m)?)];
    let guard = Guard::Tuples {
        batch_dims: 0,
        least: 0,
    };
    m.guarded(guard, "ScatterNDUpdate", "opset15", &attributes, &inputs)
}

/// The registry's name of a reduction: since version 16 sums and products, since 18 extremes.
fn reduction(m: &Mapping<'_, '_>) -> Result<&'static str> {
    if m.version < 16 {
        return Ok("none");
    }
    let name = m.attributes.text("reduction")?.unwrap_or("none");
    match name {
        "none" => Ok("none"),
        "add" => Ok("sum"),
        "mul" => Ok("prod"),
        "max" | "min" if m.version < 18 => Err(Refusal::attribute(format!(
            "attribute `reduction` is `{name}`, which is new in ai.onnx 18"
        ))),
        "max" => Ok("max"),
        "min" => Ok("min"),
        other => Err(Refusal::attribute(format!(
            "attribute `reduction` is `{}`, expected one of none, add, mul, max, min",
            crate::error::plain(other)
        ))),
    }
}

fn transpose(m: &mut Mapping<'_, '_>) -> Result<Mapped> {
    let [data] = m.inputs(["data"])?;
    let order = m.attributes.ints("perm")?.unwrap_or_default();
    let order = m.constant("perm", Tensor::vector(order));
    registered("Transpose", "opset1", &[], &[data, order])
}
