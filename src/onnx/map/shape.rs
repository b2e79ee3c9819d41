//! Shape, Reshape, Squeeze, Unsqueeze.

use super::{Mapped, Mapping, Operator, Refusal, Result, registered, row};
use crate::graph::Port;
use crate::onnx::ops::Guard;
use crate::tensor::Tensor;

pub(super) const OPERATORS: &[Operator] = &[
    row("Reshape", &[1, 5, 13, 14, 19, 21, 23, 24, 25], reshape),
    row("Shape", &[1, 13, 15, 19, 21, 23, 24, 25], shape),
    row("Squeeze", &[1, 11, 13, 21, 23, 24, 25], squeeze),
    row("Unsqueeze", &[1, 11, 13, 21, 23, 24, 25], unsqueeze),
];

fn reshape(m: &mut Mapping<'_, '_>) -> Result<Mapped> {
    let inputs = if m.version < 5 {
        let [data] = m.inputs(["data"])?;
        m.attributes.ints("consumed_inputs")?;
        let Some(shape) = m.attributes.ints("shape")? else {
            return Err(Refusal::attribute("attribute `shape` is missing"));
        };
        [data, m.constant("shape", Tensor::vector(shape))]
    } else {
        m.inputs(["data", "shape"])?
    };
    let copies_zero = m.version < 14 || !m.attributes.flag("allowzero", false)?;
    let attributes = [("special_zero", &*copies_zero.to_string())];
    if copies_zero {
        return registered("Reshape", "opset1", &attributes, &inputs);
    }
    m.guarded(Guard::ZeroOrRest, "Reshape", "opset1", &attributes, &inputs)
}

fn shape(m: &mut Mapping<'_, '_>) -> Result<Mapped> {
    let [data] = m.inputs(["data"])?;
    let (mut start, mut end) = (0, None);
    if m.version >= 15 {
        start = m.attributes.int("start")?.unwrap_or(0);
        end = m.attributes.int("end")?;
    }
    let attributes = [("output_type", "i64")];
    if start == 0 && end.is_none() {
        return registered("ShapeOf", "opset3", &attributes, &[data]);
    }
    let all = m.helper("all", "ShapeOf", "opset3", &attributes, &[data])?;
    let start = m.constant("start", Tensor::vector(&[start]));
    let end = m.constant("end", Tensor::vector(&[end.unwrap_or(i64::MAX)]));
    let step = m.constant("step", Tensor::vector(&[1i64]));
    registered("Slice", "opset8", &[], &[all, start, end, step])
}

/// The axes: an attribute until version 13, then an input.
fn axes(m: &mut Mapping<'_, '_>) -> Result<(Port, Option<Port>)> {
    if m.version < 13 {
        let [data] = m.inputs(["data"])?;
        let axes = m.attributes.ints("axes")?;
        return Ok((
            data,
            axes.map(|axes| m.constant("axes", Tensor::vector(axes))),
        ));
    }
    let ([data], [axes]) = m.inputs_and(["data"], ["axes"])?;
    Ok((data, axes))
}

fn squeeze(m: &mut Mapping<'_, '_>) -> Result<Mapped> {
    match axes(m)? {
        (data, None) => registered("Squeeze", "opset1", &[], &[data]),
        (data, Some(axes)) => m.guarded(Guard::Ones, "Squeeze", "opset1", &[], &[data, axes]),
    }
}

fn unsqueeze(m: &mut Mapping<'_, '_>) -> Result<Mapped> {
    let (data, Some(axes)) = axes(m)? else {
        return Err(if m.version < 13 {
            Refusal::attribute("attribute `axes` is missing")
        } else {
            Refusal::structure("input 1 (axes) is missing")
        });
    };
    m.guarded(Guard::Distinct, "Unsqueeze", "opset1", &[], &[data, axes])
}
