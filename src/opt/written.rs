//! Graphs that tests of passes write out, operation by operation.

use crate::graph::{Builder, Port};
use crate::tensor::Tensor;

#[derive(Default)]
pub(super) struct Written {
    pub(super) graph: Builder,
    pub(super) count: usize,
}

impl Written {
    pub(super) fn add(&mut self, kind: &str, attributes: &[(&str, &str)], inputs: &[Port]) -> Port {
        self.count += 1;
        let name = format!("{kind}{}", self.count);
        let opset = if kind == "SoftMax" {
            "opset8"
        } else {
            "opset13"
        };
        let node = self.graph.add(&name, kind, opset, attributes, inputs);
        node.expect("fits")
    }

    pub(super) fn number(&mut self, number: f32) -> Port {
        self.count += 1;
        let name = format!("number{}", self.count);
        self.graph.constant(&name, Tensor::scalar(number))
    }
}
