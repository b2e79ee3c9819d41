//! The same bits whatever vectors the machine has, and how far results are apart without that promise.
//!
//! A machine pretends to be a lesser one for a whole process: each kind of vectors has its own.

use std::path::Path;
use std::process::{Command, Stdio};

use ovir::graph::Builder;
use ovir::tensor::{ElementType, Tensor, convert};
use ovir::{CompileOptions, Kind, Limits, Model, Outputs};

use super::threads::random;
use crate::regressions::{harness, noise};
use crate::samples;

/// What the machine pretends to have; the last stands for all it has.
const VECTORS: [&str; 3] = ["portable", "avx2", "widest"];

/// Where a process writes its results.
const FILE: &str = "OVIR_TEST_RESULTS";

/// What results with other vectors may be apart, of the largest element of a tensor. The same is said in
/// `docs/security.md`.
const BOUND: f64 = 1e-5;

/// The bound of an element type: two roundings where it is narrow; nothing for what is no float.
fn bound(ty: ElementType) -> f64 {
    match ty {
        ElementType::F32 | ElementType::F64 => BOUND,
        ElementType::F16 => 1e-3,
        ElementType::Bf16 => 8e-3,
        ty if ty.is_float() => 0.25,
        _ => 0.0,
    }
}

/// A layer of a case: its inputs are variable, or constant.
struct Case {
    layer: (&'static str, &'static str),
    attributes: &'static [(&'static str, &'static str)],
    inputs: Vec<(bool, Tensor)>,
}

const WINDOW: &[(&str, &str)] = &[
    ("strides", "1,1"),
    ("dilations", "1,1"),
    ("pads_begin", "1,1"),
    ("pads_end", "1,1"),
];

/// Cases long enough for tiles, panels and blocks of every kernel that is written for vectors.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |layer, attributes, inputs: &[(bool, Tensor)]| {
        cases.push(Case {
            layer,
            attributes,
            inputs: inputs.to_vec(),
        });
    };
    let wide = |seed, shape: &[usize]| {
        let tensor = random(seed, shape);
        convert::convert(&tensor, ElementType::F64).expect("floats")
    };
    // Products: few rows, dots, tiles, more terms than a block.
    for [m, k, n] in [[1, 300, 65], [3, 70, 33], [9, 130, 21], [37, 700, 40]] {
        let (a, b, t) = (random(1, &[m, k]), random(2, &[k, n]), random(3, &[n, k]));
        let turned = &[("transpose_b", "true")];
        for constant in [false, true] {
            add(
                ("MatMul", "opset1"),
                &[],
                &[(false, a.clone()), (constant, b.clone())],
            );
            add(
                ("MatMul", "opset1"),
                turned,
                &[(false, a.clone()), (constant, t.clone())],
            );
        }
        add(
            ("MatMul", "opset1"),
            &[],
            &[(false, wide(1, &[m, k])), (false, wide(2, &[k, n]))],
        );
    }
    // Convolutions: direct, by Winograd's algorithm, by products, of planes that fill no vector.
    for (channels, filters, size, side) in [
        (3, 4, 21, 3),
        (32, 32, 10, 3),
        (16, 20, 9, 5),
        (32, 64, 7, 1),
        (48, 40, 5, 3),
    ] {
        let x = random(4, &[1, channels, size, size]);
        let w = random(5, &[filters, channels, side, side]);
        add(
            ("Convolution", "opset1"),
            WINDOW,
            &[(false, x.clone()), (true, w)],
        );
        let w = random(6, &[channels, 1, 1, side, side]);
        add(
            ("GroupConvolution", "opset1"),
            WINDOW,
            &[(false, x.clone()), (true, w)],
        );
        let w = random(7, &[channels, 4, side, side]);
        add(
            ("ConvolutionBackpropData", "opset1"),
            WINDOW,
            &[(false, x), (true, w)],
        );
    }
    let heads = |seed| (false, random(seed, &[1, 2, 33, 20]));
    let attention = ("ScaledDotProductAttention", "opset13");
    add(
        attention,
        &[("causal", "true")],
        &[heads(8), heads(9), heads(10)],
    );
    let rows = || (false, random(11, &[5, 300]));
    let axis = |axis: i64| (true, Tensor::vector(&[axis]));
    for kind in [
        "ReduceSum",
        "ReduceMean",
        "ReduceL2",
        "ReduceProd",
        "ReduceMax",
    ] {
        add((kind, "opset4"), &[], &[rows(), axis(1)]);
        add((kind, "opset4"), &[], &[rows(), axis(0)]);
        add(
            (kind, "opset4"),
            &[],
            &[(false, wide(11, &[5, 300])), axis(1)],
        );
    }
    add(("SoftMax", "opset8"), &[("axis", "1")], &[rows()]);
    add(("LogSoftmax", "opset5"), &[("axis", "0")], &[rows()]);
    add(
        ("MVN", "opset6"),
        &[
            ("normalize_variance", "true"),
            ("eps", "1e-5"),
            ("eps_mode", "inside_sqrt"),
        ],
        &[rows(), axis(1)],
    );
    let signal = |tensor: Tensor| (false, tensor);
    for shape in [[3, 60, 2], [2, 97, 2]] {
        add(
            ("DFT", "opset7"),
            &[],
            &[signal(random(12, &shape)), axis(1)],
        );
        add(("DFT", "opset7"), &[], &[signal(wide(12, &shape)), axis(1)]);
        add(
            ("RDFT", "opset9"),
            &[],
            &[signal(random(12, &shape)), axis(1)],
        );
    }
    for kind in [
        "Exp", "Tanh", "Sigmoid", "Erf", "Sin", "Cos", "Atan", "Sinh", "SoftPlus", "Gelu",
    ] {
        let opset = if kind == "Gelu" { "opset7" } else { "opset5" };
        add((kind, opset), &[], &[rows()]);
        add((kind, opset), &[], &[(false, wide(13, &[5, 300]))]);
    }
    let positive = |seed| (false, random(seed, &[300]));
    add(("Power", "opset1"), &[], &[positive(14), positive(15)]);
    cases
}

/// Every model there is to compare.
fn models() -> Vec<(String, Model, Vec<Tensor>)> {
    let mut models = Vec::new();
    for (name, path) in samples::samples("ops") {
        let model = Model::read(&path).unwrap_or_else(|e| panic!("{e}"));
        let inputs = samples::ordered(&model, &path);
        models.push((name, model, inputs));
    }
    for seed in 0..40 {
        if let Some(recipe) = harness::graphs::graph(&noise(seed)) {
            let model = recipe.build(true).unwrap_or_else(|e| panic!("{e}"));
            models.push((format!("graph {seed}"), model, recipe.inputs()));
        }
    }
    for (number, case) in cases().into_iter().enumerate() {
        let mut graph = Builder::new();
        let mut given = Vec::new();
        let ports: Vec<_> = case
            .inputs
            .into_iter()
            .enumerate()
            .map(|(index, (constant, tensor))| {
                let name = format!("x{index}");
                if constant {
                    return graph.constant(&name, tensor);
                }
                given.push(tensor.clone());
                graph.parameter(&name, tensor.element_type(), tensor.shape().into())
            })
            .collect();
        let (kind, opset) = case.layer;
        let layer = graph.add("layer", kind, opset, case.attributes, &ports);
        graph.result("y", layer.unwrap_or_else(|e| panic!("{e}")));
        let model = graph
            .build("case")
            .unwrap_or_else(|e| panic!("{kind}: {e}"));
        models.push((format!("case {number} {kind}"), model, given));
    }
    models
}

/// An output: floats as `f64`, each NaN the same; all else as its bytes.
#[derive(Debug, PartialEq)]
struct Found {
    name: String,
    /// What it may be apart; 0 if it holds no floats.
    bound: f64,
    bytes: Vec<u8>,
}

fn record(all: &mut Vec<Found>, name: &str, outputs: ovir::Result<Outputs>) {
    // Some random graphs are refused by a limit, or by their values.
    let tensors = match outputs {
        Ok(outputs) => outputs.into_tensors(),
        Err(error) => vec![Tensor::vector(error.message().as_bytes())],
    };
    for (index, tensor) in tensors.iter().enumerate() {
        let float = tensor.element_type().is_float();
        let bytes = match tensor.as_strings() {
            Ok(strings) => format!("{strings:?}").into_bytes(),
            Err(_) if float => {
                let wide = convert::convert(tensor, ElementType::F64).expect("floats");
                let all = wide.as_slice::<f64>().expect("f64");
                let one = |x: &f64| if x.is_nan() { f64::NAN } else { *x };
                all.iter().flat_map(|x| one(x).to_le_bytes()).collect()
            }
            Err(_) => tensor.bytes().to_vec(),
        };
        let name = format!("{name}, output {index}");
        let bound = bound(tensor.element_type());
        all.push(Found { name, bound, bytes });
    }
}

/// Outputs under limits, evaluated and compiled.
fn results(limits: &Limits) -> Vec<Found> {
    let mut all = Vec::new();
    for (name, model, inputs) in models() {
        let given = || inputs.iter().cloned().enumerate();
        let evaluated = model.evaluate_with(given(), limits, &mut []);
        record(&mut all, &name, evaluated);
        let mut options = CompileOptions::default();
        options.limits = limits.clone();
        let compiled = model.compile(&options).unwrap_or_else(|e| panic!("{e}"));
        let mut request = compiled.infer_request();
        for time in ["first", "second"] {
            request.reset();
            let found = request.infer_with(given(), limits, &mut []);
            record(&mut all, &format!("{name}, compiled, {time}"), found);
        }
    }
    all
}

fn limits(deterministic: bool) -> Limits {
    let mut limits = Limits::default();
    limits.deterministic = deterministic;
    limits
}

/// What [`any_vectors`] has other processes do.
#[test]
#[ignore = "needs a file to write to"]
fn writes_results() {
    let file = std::env::var_os(FILE).expect("a file");
    let mut bytes = Vec::new();
    for deterministic in [true, false] {
        for found in results(&limits(deterministic)) {
            let name = found.name.as_bytes();
            for number in [
                u64::from(deterministic),
                name.len() as u64,
                found.bound.to_bits(),
                found.bytes.len() as u64,
            ] {
                bytes.extend(number.to_le_bytes());
            }
            bytes.extend(name);
            bytes.extend(&found.bytes);
        }
    }
    std::fs::write(file, bytes).expect("a file that can be written");
}

/// The results of a process: deterministic ones, and the others.
fn read(path: &Path) -> [Vec<Found>; 2] {
    let bytes = std::fs::read(path).expect("results");
    let mut rest = &bytes[..];
    let mut take = |count: usize| {
        let (taken, left) = rest.split_at(count);
        rest = left;
        taken.to_vec()
    };
    let mut results = [Vec::new(), Vec::new()];
    let mut left = bytes.len();
    while left > 0 {
        let [deterministic, name, bound, count] = [(); 4].map(|()| {
            let number = take(8).try_into().expect("eight bytes");
            u64::from_le_bytes(number)
        });
        let [name, count] = [name, count].map(|n| usize::try_from(n).expect("a count"));
        results[usize::from(deterministic == 0)].push(Found {
            name: String::from_utf8(take(name)).expect("a name"),
            bound: f64::from_bits(bound),
            bytes: take(count),
        });
        left -= 32 + name + count;
    }
    results
}

/// The greatest difference, of the greatest element; infinite where not all are floats or finite alike.
fn apart(a: &Found, b: &Found) -> f64 {
    if a == b {
        return 0.0;
    }
    if a.bound == 0.0 || a.bytes.len() != b.bytes.len() {
        return f64::INFINITY;
    }
    let floats = |found: &Found| -> Vec<f64> {
        let all = found.bytes.as_chunks::<8>().0;
        all.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect()
    };
    let (a, b) = (floats(a), floats(b));
    let (mut error, mut scale) = (0f64, 0f64);
    for (&a, &b) in a.iter().zip(&b) {
        if a.to_bits() == b.to_bits() || a == b {
            scale = scale.max(if a.is_finite() { a.abs() } else { 0.0 });
        } else if a.is_finite() && b.is_finite() {
            scale = scale.max(a.abs());
            error = error.max((a - b).abs());
        } else {
            return f64::INFINITY;
        }
    }
    if error > 0.0 { error / scale } else { 0.0 }
}

#[test]
fn any_vectors() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = std::env::current_exe().expect("this program");
    let file = |vectors: &str| folder.path().join(vectors);
    // All at the same time.
    let started = VECTORS.map(|vectors| {
        let test = format!("{}::writes_results", module_path!());
        let (_, test) = test.split_once("::").expect("a path in this crate");
        let mut command = Command::new(&program);
        command.args([test, "--exact", "--ignored"]);
        command.env("OVIR_VECTORS", vectors);
        command.env(FILE, file(vectors)).stdout(Stdio::piped());
        (vectors, command.spawn().expect("this program starts"))
    });
    let [portable, narrow, widest] = started.map(|(vectors, process)| {
        let done = process.wait_with_output().expect("this program ends");
        let said = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success(), "{vectors}: {said}");
        read(&file(vectors))
    });
    assert!(portable[0].len() > 1000, "{} results", portable[0].len());
    let mut beyond = Vec::new();
    for other in [&narrow, &widest] {
        let wrong: Vec<_> = portable[0]
            .iter()
            .zip(&other[0])
            .filter(|(a, b)| a != b)
            .map(|(a, b)| format!("{} {}: {:e}", a.name, b.name, apart(a, b)))
            .collect();
        assert!(wrong.is_empty(), "not the same:\n{}", wrong.join("\n"));
        assert_eq!(portable[0].len(), other[0].len());
        assert_eq!(portable[1].len(), other[1].len());
        for (a, b) in portable[1].iter().zip(&other[1]) {
            let apart = apart(a, b);
            if apart > a.bound {
                beyond.push(format!("{}: {apart:e}", a.name));
            }
        }
    }
    assert!(beyond.is_empty(), "too far apart:\n{}", beyond.join("\n"));
}

/// Weights are packed for the machine by a model that was not compiled to be deterministic.
#[test]
fn compiled_models_are_deterministic_or_refuse() {
    let mut graph = Builder::new();
    let x = graph.parameter("x", ElementType::F32, "9,130".parse().expect("a shape"));
    let w = graph.constant("w", random(1, &[130, 40]));
    let product = graph.add("product", "MatMul", "opset1", &[], &[x, w]);
    graph.result("y", product.expect("fits"));
    let model = graph.build("product").expect("fits");
    let given = || [(0, random(2, &[9, 130]))];
    let compiled = |deterministic| {
        let mut options = CompileOptions::default();
        options.limits = limits(deterministic);
        model.compile(&options).expect("compiles").infer_request()
    };
    let error = compiled(false).infer_with(given(), &limits(true), &mut []);
    let error = error.expect_err("it was compiled for this machine");
    assert_eq!(error.kind(), Kind::Unsupported);
    // The choice of the compilation holds where an evaluation says nothing.
    let bits = |found: ovir::Result<Outputs>| found.expect("evaluates")[0].bytes().to_vec();
    let chosen = bits(compiled(true).infer_with(given(), &limits(true), &mut []));
    assert_eq!(bits(compiled(true).infer(given())), chosen);
}
