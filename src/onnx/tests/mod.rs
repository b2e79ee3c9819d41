//! Small models made in code, and what becomes of them.

mod errors;
mod graph;
mod operators;
mod tensors;

use prost::Message;
use prost::bytes::Bytes;

use super::proto::{
    AttributeProto, Dim, DimValue, GraphProto, ModelProto, NodeProto, OperatorSetIdProto,
    TensorProto, TensorShapeProto, TensorType, TypeProto, TypeValue, ValueInfoProto,
};
use crate::{Error, Model};

const FLOAT: i32 = 1;
const INT32: i32 = 6;
const INT64: i32 = 7;

/// An attribute; `type` is one of the numbers of `AttributeType`.
fn attribute(name: &str, kind: i32) -> AttributeProto {
    AttributeProto {
        name: name.to_owned(),
        r#type: kind,
        ..AttributeProto::default()
    }
}

fn int(name: &str, i: i64) -> AttributeProto {
    AttributeProto {
        i,
        ..attribute(name, 2)
    }
}

fn text(name: &str, text: &str) -> AttributeProto {
    AttributeProto {
        s: Bytes::copy_from_slice(text.as_bytes()),
        ..attribute(name, 3)
    }
}

fn ints(name: &str, ints: &[i64]) -> AttributeProto {
    AttributeProto {
        ints: ints.to_vec(),
        ..attribute(name, 7)
    }
}

fn node(
    op_type: &str,
    inputs: &[&str],
    output: &str,
    attributes: Vec<AttributeProto>,
) -> NodeProto {
    NodeProto {
        op_type: op_type.to_owned(),
        input: inputs.iter().map(|&name| name.to_owned()).collect(),
        output: vec![output.to_owned()],
        attribute: attributes,
        ..NodeProto::default()
    }
}

/// A value: dimensions that are no numbers are names.
fn value(name: &str, elem_type: i32, dims: &[&str]) -> ValueInfoProto {
    let dim = |dim: &&str| Dim {
        value: Some(match dim.parse() {
            Ok(size) => DimValue::Value(size),
            Err(_) => DimValue::Param((*dim).to_owned()),
        }),
    };
    let shape = TensorShapeProto {
        dim: dims.iter().map(dim).collect(),
    };
    let ty = TensorType {
        elem_type,
        shape: Some(shape),
    };
    ValueInfoProto {
        name: name.to_owned(),
        r#type: Some(TypeProto {
            value: Some(TypeValue::Tensor(ty)),
        }),
    }
}

/// A value of which only the name is known.
fn named(name: &str) -> ValueInfoProto {
    ValueInfoProto {
        name: name.to_owned(),
        r#type: None,
    }
}

fn int64s(name: &str, dims: &[i64], numbers: &[i64]) -> TensorProto {
    TensorProto {
        name: name.to_owned(),
        data_type: INT64,
        dims: dims.to_vec(),
        int64_data: numbers.to_vec(),
        ..TensorProto::default()
    }
}

fn floats(name: &str, dims: &[i64], numbers: &[f32]) -> TensorProto {
    TensorProto {
        name: name.to_owned(),
        data_type: FLOAT,
        dims: dims.to_vec(),
        float_data: numbers.to_vec(),
        ..TensorProto::default()
    }
}

fn opset(domain: &str, version: i64) -> OperatorSetIdProto {
    OperatorSetIdProto {
        domain: domain.to_owned(),
        version,
    }
}

/// A model of one opset.
fn model(version: i64, graph: GraphProto) -> ModelProto {
    ModelProto {
        ir_version: 8,
        opset_import: vec![opset("", version)],
        graph: Some(graph),
        ..ModelProto::default()
    }
}

/// A graph of one node, with the values it takes and initialisers for the rest.
fn graph(
    node: NodeProto,
    inputs: Vec<ValueInfoProto>,
    initializer: Vec<TensorProto>,
) -> GraphProto {
    GraphProto {
        output: vec![named(&node.output[0])],
        node: vec![node],
        input: inputs,
        initializer,
        ..GraphProto::default()
    }
}

fn load(model: &ModelProto) -> Result<Model, Error> {
    Model::from_bytes("m.onnx", model.encode_to_vec(), Vec::new())
}

/// The message of the error that keeps a model from loading.
fn refused(model: &ModelProto) -> String {
    load(model).expect_err("a refusal").to_string()
}
