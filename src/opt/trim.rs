//! Leaves out outputs that nobody reads.

use std::sync::Arc;

use super::draft::Draft;

/// Has each operation compute no more outputs than up to the last one that is read, if that saves work.
pub(super) fn trim(draft: &mut Draft) {
    let mut read = vec![0usize; draft.len()];
    for (_, node) in draft.graph.nodes() {
        for port in &node.inputs {
            let read = &mut read[port.node.index()];
            *read = (*read).max(port.index as usize + 1);
        }
    }
    for (index, &count) in read.iter().enumerate() {
        if count == 0 || count >= draft.facts[index].outputs.len() {
            continue;
        }
        if let Some(op) = draft.computes(index).and_then(|op| op.first_outputs(count)) {
            let node = draft.node(index);
            let (name, inputs) = (node.type_name().to_owned(), node.inputs.clone());
            draft.set(index, Arc::from(op), name, inputs);
            draft.graph.nodes[index].outputs.truncate(count);
            let fact = &mut draft.facts[index];
            fact.outputs.truncate(count);
            fact.known.truncate(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::graph::{Builder, Operation, Port};
    use crate::tensor::{ElementType, Shape, Tensor};
    use crate::{CompileOptions, Model};

    /// A pool whose values are read, and its indices if they are to be.
    fn model(indices: bool) -> Model {
        let mut graph = Builder::new();
        let x = graph.parameter("x", ElementType::F32, "1,2,6,7".parse().expect("a shape"));
        let attributes = [("kernel", "2,3"), ("strides", "1,2"), ("dilations", "1,1")];
        let pads = [("pads_begin", "0,1"), ("pads_end", "0,1")];
        let attributes = [&attributes[..], &pads].concat();
        let pool = graph.add("pool", "MaxPool", "opset8", &attributes, &[x]);
        let pool = pool.expect("fits");
        graph.result("y", pool);
        if indices {
            graph.result("i", Port { index: 1, ..pool });
        }
        graph.build("pool").expect("fits")
    }

    #[test]
    fn indices_are_computed_where_they_are_read() {
        let x: Vec<f32> = (0u16..84).map(|i| f32::from(i * 37 % 23)).collect();
        let x = Tensor::new(Shape::from([1, 2, 6, 7]), &x).expect("84");
        let both = model(true).evaluate([(0, x.clone())]).expect("evaluates");
        for indices in [false, true] {
            let options = CompileOptions::default();
            let compiled = model(indices).compile(&options).expect("compiles");
            let graph = compiled.compiled().graph();
            let pool = graph.nodes().find(|(_, node)| node.name() == "pool");
            let pool = pool.expect("it is there").1.operation();
            assert_eq!(matches!(pool, Operation::Known { .. }), indices);
            let found = compiled.infer_request().infer([(0, x.clone())]);
            let found = found.expect("evaluates");
            assert_eq!(found.iter().len(), 1 + usize::from(indices));
            for ((_, found), (_, expected)) in found.iter().zip(both.iter()) {
                assert!(found == expected, "{found:?} {expected:?}");
            }
        }
    }
}
