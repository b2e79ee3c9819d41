//! Specification fragments: a document whose root is one `<layer>`, as the operation documents
//! print it. Its ports become inputs and outputs of a model.

use super::document::{Document, Edge, Layer, Port};
use crate::graph::RtInfo;
use crate::op::attrs::Attr;
use crate::tensor::ElementType;

/// Puts Parameters before the layer, and Results behind it.
///
/// Printed layers repeat port ids, or leave them out: ports are numbered by position. A port
/// without dimensions is a scalar; one without a precision takes any element type.
pub(super) fn complete(document: &mut Document<'_>) {
    let net = &mut document.nets[0];
    let Some(layer) = net.layers.first_mut() else {
        return;
    };
    layer.id = 0;
    for (index, port) in layer.inputs.iter_mut().enumerate() {
        port.id = index as u64;
    }
    let inputs = layer.inputs.len() as u64;
    for (index, port) in layer.outputs.iter_mut().enumerate() {
        port.id = inputs + index as u64;
    }
    if layer.name.is_empty() {
        layer.name = layer.type_name.clone();
    }
    let offset = layer.offset;
    let mut added = Vec::new();
    let mut edges = Vec::new();
    for (index, port) in layer.inputs.iter().enumerate() {
        let id = 1 + index as u64;
        let dims: Vec<_> = port.dims.iter().map(i64::to_string).collect();
        let ty = port.precision.unwrap_or(ElementType::Dynamic);
        let mut parameter = bare(offset, id, index, "Parameter");
        parameter.data = Some(vec![
            attribute("shape", dims.join(","), port.offset),
            attribute("element_type", ty.name().to_owned(), port.offset),
        ]);
        parameter.outputs = vec![output(port, ty)];
        added.push(parameter);
        edges.push(edge(offset, (id, 0), (0, index as u64)));
    }
    for (index, port) in layer.outputs.iter().enumerate() {
        let id = 1 + inputs + index as u64;
        let mut result = bare(offset, id, index, "Result");
        result.output_names = Some(index.to_string().into());
        result.inputs = vec![output(port, ElementType::Dynamic)];
        added.push(result);
        edges.push(edge(offset, (0, inputs + index as u64), (id, 0)));
    }
    net.layers.extend(added);
    net.edges.extend(edges);
}

fn attribute<'a>(name: &'static str, value: String, offset: usize) -> Attr<'a> {
    Attr {
        name,
        value: value.into(),
        offset,
    }
}

fn output<'a>(port: &Port<'a>, precision: ElementType) -> Port<'a> {
    Port {
        offset: port.offset,
        id: 0,
        precision: Some(precision),
        names: None,
        dims: port.dims.clone(),
        rt_info: RtInfo::default(),
    }
}

fn edge(offset: usize, from: (u64, u64), to: (u64, u64)) -> Edge {
    Edge {
        offset,
        from_layer: from.0,
        from_port: from.1,
        to_layer: to.0,
        to_port: to.1,
    }
}

fn bare<'a>(offset: usize, id: u64, index: usize, type_name: &'static str) -> Layer<'a> {
    let name = index.to_string().into();
    Layer::new(offset, id, name, type_name.into(), "opset1".into())
}
