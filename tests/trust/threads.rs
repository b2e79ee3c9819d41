//! The same bits from many threads at once, and from any number of them.

use std::num::NonZeroUsize;

use ovir::graph::Builder;
use ovir::io::Random;
use ovir::tensor::{ElementType, Shape, Tensor};
use ovir::{CompileOptions, Limits, Model};

use crate::samples;

pub(super) fn random(seed: u64, shape: &[usize]) -> Tensor {
    let random = Random {
        seed,
        min: None,
        max: None,
    };
    random
        .fill(
            ElementType::F32,
            &Shape::from(shape),
            None,
            &Limits::default(),
        )
        .expect("random numbers")
}

/// Large enough for its work to be shared out: products, sums, exponentials.
fn large() -> (Model, Vec<Tensor>) {
    let mut graph = Builder::new();
    let x = graph.parameter("x", ElementType::F32, "1,8,64,64".parse().expect("a shape"));
    let w = graph.constant("w", random(1, &[8, 8, 3, 3]));
    let attributes = [
        ("strides", "1,1"),
        ("dilations", "1,1"),
        ("pads_begin", "1,1"),
        ("pads_end", "1,1"),
    ];
    let conv = graph
        .add("conv", "Convolution", "opset1", &attributes, &[x, w])
        .expect("a layer");
    let product = graph
        .add("mm", "MatMul", "opset1", &[], &[conv, x])
        .expect("a layer");
    let soft = graph
        .add("soft", "SoftMax", "opset8", &[("axis", "-1")], &[product])
        .expect("a layer");
    let axes = graph.constant("axes", Tensor::vector(&[0i64, 2, 3]));
    let sum = graph
        .add("sum", "ReduceSum", "opset1", &[], &[conv, axes])
        .expect("a layer");
    graph.result("soft", soft);
    graph.result("sum", sum);
    (
        graph.build("large").expect("a model"),
        vec![random(2, &[1, 8, 64, 64])],
    )
}

/// The large model, and documented samples of several kinds.
fn models() -> Vec<(Model, Vec<Tensor>)> {
    let mut models = vec![large()];
    let paths = samples::samples("ops");
    for (_, path) in paths.iter().step_by(paths.len().div_ceil(12)) {
        let model = Model::read(path).unwrap_or_else(|e| panic!("{e}"));
        let inputs = samples::ordered(&model, path);
        models.push((model, inputs));
    }
    models
}

fn bits(outputs: ovir::Result<ovir::Outputs>) -> Vec<Vec<u8>> {
    let tensors = outputs.unwrap_or_else(|e| panic!("{e}")).into_tensors();
    tensors
        .iter()
        .map(|t| match t.as_strings() {
            Ok(strings) => format!("{strings:?}").into_bytes(),
            Err(_) => t.bytes().to_vec(),
        })
        .collect()
}

#[test]
fn one_model_from_eight_threads() {
    for (model, inputs) in models() {
        let given = || inputs.iter().cloned().enumerate();
        let compiled = model.compile(&CompileOptions::default()).expect("compiled");
        let alone = bits(model.evaluate(given()));
        let alone_compiled = bits(compiled.infer_request().infer(given()));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let mut request = compiled.infer_request();
                    for _ in 0..3 {
                        assert_eq!(bits(model.evaluate(given())), alone);
                        request.reset();
                        assert_eq!(bits(request.infer(given())), alone_compiled);
                    }
                });
            }
        });
    }
}

#[test]
fn any_number_of_threads() {
    for (model, inputs) in models() {
        let given = || inputs.iter().cloned().enumerate();
        let with = |threads: usize| {
            let mut options = CompileOptions::default();
            options.threads = NonZeroUsize::new(threads);
            let compiled = model.compile(&options).expect("compiled");
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let plain = pool
                .expect("threads")
                .install(|| bits(model.evaluate(given())));
            (plain, bits(compiled.infer_request().infer(given())))
        };
        let one = with(1);
        for threads in [2, 3] {
            assert!(with(threads) == one, "{}: {threads} threads", model.name());
        }
    }
}
