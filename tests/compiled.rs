//! Compiled models: that nothing is allocated twice, that threads and shapes do not matter, what
//! observers see.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use ovir::graph::{Builder, Node};
use ovir::tensor::{ElementType, Shape, Tensor};
use ovir::{CompileOptions, Control, Limits, Model, Observer};

use crate::memory::ALLOCATIONS;
use crate::support::{files, project, read_case, unpack};

/// What an evaluation of the same request allocates on this thread, once it has seen the shapes;
/// nothing if the inputs are refused.
fn allocations(model: &Model, inputs: &[Tensor]) -> Option<usize> {
    let compiled = model.compile(&CompileOptions::default()).expect("compiles");
    let mut request = compiled.infer_request();
    let mut infer = || {
        let given = inputs.iter().cloned().enumerate();
        request.infer(given).ok().map(drop)
    };
    for _ in 0..4 {
        infer()?;
    }
    let before = ALLOCATIONS.get();
    infer()?;
    Some(ALLOCATIONS.get() - before)
}

fn sample(path: &str) -> Model {
    Model::read(project("ir-samples").join(path)).expect("a sample")
}

#[test]
fn a_second_evaluation_allocates_nothing() {
    let gather = sample("ops/movement/gather-8/example-7.xml");
    let inputs = [
        Tensor::vector(&[1i32, 2, 3, 4, 5]),
        Tensor::vector(&[3i64, 10, -20]),
    ];
    assert_eq!(allocations(&gather, &inputs), Some(0), "Gather");
    let mut graph = Builder::new();
    let x = graph.parameter("x", ElementType::F32, "4,5".parse().expect("a shape"));
    let axes = graph.constant("axes", Tensor::vector(&[1i64]));
    let keep = [("keep_dims", "true")];
    let sum = graph
        .add("sum", "ReduceSum", "opset1", &keep, &[x, axes])
        .expect("fits");
    let share = graph
        .add("share", "Divide", "opset1", &[], &[x, sum])
        .expect("fits");
    let out = graph
        .add("out", "Exp", "opset1", &[], &[share])
        .expect("fits");
    graph.result("y", out);
    let model = graph.build("shares").expect("fits");
    let x = Tensor::new([4, 5], &[1.5f32; 20]).expect("twenty");
    assert_eq!(allocations(&model, &[x]), Some(0), "a chain");
}

/// Operations that allocate in every evaluation: what is found, what bodies are given, lists of the
/// pieces of an output that several threads write or more outputs than a few, numbers in other types.
const ALLOCATE: &[&str] = &[
    "AdaptiveAvgPool",
    "AdaptiveMaxPool",
    "BatchToSpace",
    "BinaryConvolution",
    "Bucketize",
    "CTCGreedyDecoderSeqLen",
    "CTCLoss",
    "Col2Im",
    "Convolution",
    "DFT",
    "DeformableConvolution",
    "DeformablePSROIPooling",
    "DetectionOutput",
    "Einsum",
    "EmbeddingBagOffsets",
    "EmbeddingBagOffsetsSum",
    "EmbeddingBagPacked",
    "EmbeddingBagPackedSum",
    "EmbeddingSegmentsSum",
    "ExperimentalDetectronDetectionOutput",
    "ExperimentalDetectronGenerateProposalsSingleImage",
    "ExperimentalDetectronROIFeatureExtractor",
    "ExperimentalDetectronTopKROIs",
    "FakeConvert",
    "GRN",
    "GRUSequence",
    "GatherTree",
    "GenerateProposals",
    "GridSample",
    "GroupConvolution",
    "I420toBGR",
    "I420toRGB",
    "IDFT",
    "IRDFT",
    "ISTFT",
    "If",
    "Interpolate",
    "Inverse",
    "LSTMSequence",
    "Loop",
    "MatrixNms",
    "MulticlassNms",
    "Multinomial",
    "NMSRotated",
    "NV12toBGR",
    "NV12toRGB",
    "NonMaxSuppression",
    "PSROIPooling",
    "Proposal",
    "RDFT",
    "RNNSequence",
    "ROIAlign",
    "ROIAlignRotated",
    "ROIPooling",
    "ReverseSequence",
    "STFT",
    "ScaledDotProductAttention",
    "SegmentMax",
    "SpaceToBatch",
    "SparseFillEmptyRows",
    "Split",
    "TensorIterator",
    "Unique",
    "VariadicSplit",
];

/// Parts of the names of cases that do: data that stays as it is is shared in place of the memory that was
/// kept, what depends on the elements of inputs is inferred anew, and many dimensions are kept apart.
const OTHERWISE: &[&str] = &["no-axes", "no-updates", "input", "to-rank"];

/// Whether elements are computed where they lie, and there are no more dimensions than usual.
fn usual(x: &Tensor) -> bool {
    use ElementType::{Boolean, F32, I32, I64};
    matches!(x.element_type(), Boolean | F32 | I32 | I64) && x.shape().rank() <= 5
}

#[test]
fn operations_allocate_nothing_again() {
    // A thread that does all the work.
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let alone = alone.expect("a thread");
    let (mut found, mut asked) = (BTreeMap::new(), 0);
    for archive in files(&project("tests/vectors"), "zip") {
        let name = archive.file_stem().expect("a name").to_string_lossy();
        let operation = name.split('-').next().unwrap_or_default().to_owned();
        if name.ends_with("-extension") || ALLOCATE.contains(&&*operation) {
            continue;
        }
        for (case, files) in unpack(&archive) {
            let Ok((model, inputs)) = read_case(&files, "model.xml") else {
                continue;
            };
            let floats = inputs.first().map(Tensor::element_type) == Some(ElementType::F32);
            if !floats || !inputs.iter().all(usual) || OTHERWISE.iter().any(|x| case.contains(x)) {
                continue;
            }
            let count = alone.install(|| allocations(&model, &inputs));
            asked += usize::from(count.is_some());
            if let Some(count @ 1..) = count {
                found.insert(format!("{name}/{case}"), count);
            }
        }
    }
    assert!(asked > 500, "{asked} cases");
    assert!(
        found.is_empty(),
        "{} cases allocate: {found:#?}",
        found.len()
    );
}

/// Layers of small tensors: a chain, one that is looked at twice, and two that share the elements of what
/// goes in, by their attributes and by their axes.
fn small_layers() -> Model {
    let mut graph = Builder::new();
    let x = graph.parameter("x", ElementType::F32, "2,3".parse().expect("a shape"));
    let none = graph.constant("none", Tensor::new([0], &[0i64; 0]).expect("empty"));
    let flat = graph.constant("flat", Tensor::vector(&[-1i64]));
    let mut add = |name: &str, op: &str, inputs: &[_]| {
        graph
            .add(name, op, "opset1", &[], inputs)
            .expect("fits its inputs")
    };
    let cos = add("cos", "Cos", &[x]);
    let flat = add("flat view", "Reshape", &[cos, flat]);
    let same = add("sum of nothing", "ReduceSum", &[cos, none]);
    let floor = add("floor", "Floor", &[same]);
    let atan = add("atan", "Atan", &[floor]);
    let rows = add("rows", "Subtract", &[atan, cos]);
    for (name, port) in [("a", flat), ("b", same), ("c", rows), ("d", cos)] {
        graph.result(name, port);
    }
    graph.build("small").expect("fits")
}

#[test]
fn small_tensors_stay_with_their_layers() {
    let model = small_layers();
    let compiled = model.compile(&CompileOptions::default()).expect("compiles");
    let mut request = compiled.infer_request();
    let mut kept = Vec::new();
    for round in 0..6u8 {
        let x: Vec<f32> = (0..6u8).map(|i| f32::from(i * 7 + round) - 11.5).collect();
        let x = Tensor::new([2, 3], &x).expect("six");
        let all = |outputs: ovir::Outputs| (0..4).map(|i| outputs[i].clone()).collect::<Vec<_>>();
        let outputs = all(request.infer([(0, x.clone())]).expect("evaluates"));
        let expected = all(model.evaluate([(0, x)]).expect("evaluates"));
        assert_eq!(outputs, expected, "round {round}");
        // Some outputs are looked at for longer than until the next evaluation.
        if round % 2 == 0 {
            kept.push((outputs, expected));
        }
    }
    for (outputs, expected) in kept {
        assert_eq!(outputs, expected, "later evaluations wrote to outputs");
    }
}

fn product(rows: &str) -> Model {
    let mut graph = Builder::new();
    let shape = format!("{rows},64").parse().expect("a shape");
    let x = graph.parameter("x", ElementType::F32, shape);
    let weights: Vec<f32> = (0..64 * 96)
        .map(|i: u16| f32::from(i % 13) / 8.0 - 0.7)
        .collect();
    let weights = Tensor::new([64, 96], &weights).expect("as many");
    let weights = graph.constant("weights", weights);
    let bias = Tensor::vector(&[0.25f32; 96]);
    let bias = graph.constant("bias", bias);
    let product = graph
        .add("product", "MatMul", "opset1", &[], &[x, weights])
        .expect("fits");
    let sum = graph
        .add("sum", "Add", "opset1", &[], &[product, bias])
        .expect("fits");
    let out = graph
        .add("out", "ReLU", "opset1", &[], &[sum])
        .expect("fits");
    graph.result("y", out);
    graph.build("product").expect("fits")
}

fn input(rows: usize) -> Tensor {
    let values: Vec<f32> = (0..rows * 64)
        .map(|i| (i % 17) as f32 / 16.0 - 0.4)
        .collect();
    Tensor::new(Shape::from([rows, 64]), &values).expect("as many")
}

fn infer(model: &Model, options: &CompileOptions, x: &Tensor) -> Tensor {
    let compiled = model.compile(options).expect("compiles");
    let outputs = compiled.infer_request().infer([(0, x.clone())]);
    outputs.expect("evaluates")[0].clone()
}

#[test]
fn threads_do_not_matter() {
    let (model, x) = (product("700"), input(700));
    let on = |threads: usize| {
        let mut options = CompileOptions::default();
        options.threads = NonZeroUsize::new(threads);
        infer(&model, &options, &x)
    };
    let one = on(1);
    assert_eq!(one, on(2));
    assert_eq!(one, on(5));
}

#[test]
fn one_request_sees_many_shapes() {
    let model = product("?");
    let mut options = CompileOptions::default();
    options.shapes = 2;
    let compiled = model.compile(&options).expect("compiles");
    let mut request = compiled.infer_request();
    // More sets of shapes than are kept, some seen again at once, some after the others.
    for rows in [3, 3, 1, 40, 3, 3, 40, 40, 1, 1, 1, 0, 0] {
        let x = input(rows);
        let expected = model.evaluate([("x", x.clone())]).expect("evaluates");
        let found = request.infer([("x", x)]).expect("evaluates");
        let (found, expected) = (found[0].as_slice::<f32>(), expected[0].as_slice::<f32>());
        for (a, b) in found.expect("f32").iter().zip(expected.expect("f32")) {
            assert!((a - b).abs() <= 1e-5 * b.abs().max(1.0), "{rows}: {a} {b}");
        }
    }
}

#[test]
fn outputs_outlive_the_next_evaluation() {
    let model = product("2");
    let compiled = model.compile(&CompileOptions::default()).expect("compiles");
    let mut request = compiled.infer_request();
    let first = request.infer([(0, input(2))]).expect("evaluates");
    let kept = first[0].as_slice::<f32>().expect("f32").to_vec();
    let zeros = Tensor::zeros(ElementType::F32, [2, 64]).expect("small");
    let second = request.infer([(0, zeros)]).expect("evaluates");
    assert_ne!(first[0], second[0]);
    assert_eq!(first[0].as_slice::<f32>().expect("f32"), kept);
}

#[derive(Default)]
struct Types(Vec<String>);

impl Observer for Types {
    fn after(&mut self, node: &Node, _: &[Tensor]) -> Control {
        self.0.push(node.type_name().to_owned());
        Control::Continue
    }
}

#[test]
fn observers_see_joined_layers() {
    let compiled = product("2")
        .compile(&CompileOptions::default())
        .expect("compiles");
    let mut types = Types::default();
    let mut request = compiled.infer_request();
    let given = [(0, input(2))];
    let outputs = request.infer_with(given, &Limits::default(), &mut [&mut types]);
    outputs.expect("evaluates");
    assert_eq!(types.0, ["Parameter", "Const", "MatMul+Add+ReLU", "Result"]);
}

#[test]
fn inputs_that_do_not_fit_are_named() {
    let gather = sample("ops/movement/gather-8/example-7.xml");
    let compiled = gather
        .compile(&CompileOptions::default())
        .expect("compiles");
    let given = [
        ("data", Tensor::vector(&[1i32])),
        ("indices", Tensor::vector(&[0i64])),
    ];
    let error = compiled
        .infer_request()
        .infer(given)
        .expect_err("another shape");
    assert!(error.to_string().contains("\"data\""), "{error}");
}
