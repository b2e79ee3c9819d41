//! Models of few operations, and the two ways to evaluate them.

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use ovir::graph::{Builder, Port};
use ovir::tensor::{ElementType, PartialShape, Tensor};
use ovir::{CompileOptions, InferRequest, Limits, Model, io};

/// A way to evaluate a model.
pub(crate) trait Way {
    fn request(model: &Model) -> InferRequest;
}

/// Layer by layer, as the model is.
pub(crate) struct Evaluator;

/// What `Model::compile` makes of it.
pub(crate) struct Compiled;

impl Way for Evaluator {
    fn request(model: &Model) -> InferRequest {
        model.infer_request()
    }
}

impl Way for Compiled {
    fn request(model: &Model) -> InferRequest {
        let compiled = model.compile(&CompileOptions::default());
        compiled.expect("a compiled model").infer_request()
    }
}

pub(crate) fn random(ty: ElementType, shape: &[usize], range: Option<(i64, i64)>) -> Tensor {
    let value = io::Value::parse("random:seed=1").expect("a value");
    let shape: PartialShape = shape.iter().copied().collect();
    let wanted = io::Wanted {
        element_type: ty,
        shape: &shape,
        range,
    };
    value
        .load(&wanted, &Limits::default())
        .expect("random elements")
}

/// A model, its inputs, and what an evaluation goes through.
pub(crate) struct Case {
    model: Model,
    inputs: Vec<Tensor>,
    /// Bytes of the inputs that are read; all of them for `None`.
    read: Option<usize>,
    /// Multiplications and additions, where they are what takes time.
    operations: Option<usize>,
}

impl Case {
    /// A model of these inputs, made by `make`.
    pub(crate) fn new(inputs: &[Tensor], make: impl FnOnce(&mut Builder, &[Port]) -> Port) -> Self {
        let mut graph = Builder::new();
        let ports: Vec<Port> = inputs
            .iter()
            .enumerate()
            .map(|(i, t)| graph.parameter(&i.to_string(), t.element_type(), t.shape().into()))
            .collect();
        let output = make(&mut graph, &ports);
        graph.result("y", output);
        Self {
            model: graph.build("bench").expect("a model"),
            inputs: inputs.to_vec(),
            read: None,
            operations: None,
        }
    }

    /// One operation. `constants` are its inputs after those of the model.
    pub(crate) fn operation(
        [type_name, version]: [&str; 2],
        attributes: &[(&str, &str)],
        inputs: &[Tensor],
        constants: &[Tensor],
    ) -> Self {
        Self::new(inputs, |graph, ports| {
            let mut ports = ports.to_vec();
            for (index, tensor) in constants.iter().enumerate() {
                ports.push(graph.constant(&format!("constant {index}"), tensor.clone()));
            }
            let output = graph.add("y", type_name, version, attributes, &ports);
            output.expect("an operation")
        })
    }

    pub(crate) fn reads(self, bytes: usize) -> Self {
        Self {
            read: Some(bytes),
            ..self
        }
    }

    pub(crate) fn computes(self, operations: usize) -> Self {
        Self {
            operations: Some(operations),
            ..self
        }
    }

    /// Times evaluations of a request that is used again.
    pub(crate) fn bench<W: Way>(self, bencher: Bencher<'_, '_>) {
        let mut request = W::request(&self.model);
        let mut run = || {
            let inputs = self.inputs.iter().cloned().enumerate();
            request.infer(inputs).expect("a result")
        };
        // Prepares weights and memory.
        let outputs = run();
        let written: usize = outputs.iter().map(|(_, t)| t.byte_len()).sum();
        drop(outputs);
        let all = || self.inputs.iter().map(Tensor::byte_len).sum();
        let bytes = self.read.unwrap_or_else(all) + written;
        match self.operations {
            Some(operations) => bencher
                .counter(ItemsCount::new(operations))
                .bench_local(|| drop(black_box(run()))),
            None => bencher
                .counter(BytesCount::new(bytes))
                .bench_local(|| drop(black_box(run()))),
        }
    }
}
