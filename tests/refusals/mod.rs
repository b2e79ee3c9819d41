//! Evaluations of every operation, each of which is refused one allocation: an error, never the end of
//! the process.

mod families;

use ovir::graph::Builder;
use ovir::tensor::{ElementType, Tensor};
use ovir::{CompileOptions, InferRequest, Kind, Model, Outputs, Result};

use families::{families, floats};

use crate::memory::refusing;
use crate::samples::{ordered, samples};
use crate::support::{Tolerance, assert_close, each, files, project, read_case, unpack};

/// Smaller allocations are granted: those bounded by ranks, names, messages and the number of layers, and
/// the state of a generator of random numbers.
const SMALLEST: usize = 2560;

/// Evaluates as often as there are such allocations, without one after the other of them. Tells how
/// many there are. What refused evaluations leave must not spoil the next.
fn refuse_each<P: Send>(
    expected: &Outputs,
    near: Tolerance,
    prepare: impl Fn() -> P,
    evaluate: impl Fn(&mut P) -> Result<Outputs> + Sync,
) -> usize {
    let same = |found: &Outputs| {
        for ((_, found), (_, expected)) in found.iter().zip(expected.iter()) {
            assert_close(found, expected, near);
        }
    };
    for count in 0.. {
        let mut prepared = prepare();
        // What another thread allocates is not refused; a new one has no memory of before.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let pool = pool.expect("a thread");
        let found = || refusing(count, SMALLEST, || evaluate(&mut prepared));
        let (found, refused) = pool.install(found);
        match found {
            Err(error) => {
                assert!(refused, "{error}");
                assert_eq!(error.kind(), Kind::Limit, "{error}");
                same(&evaluate(&mut prepared).expect("there is memory"));
            }
            Ok(found) => same(&found),
        }
        if !refused {
            return count;
        }
    }
    unreachable!("evaluations end")
}

fn check(model: &Model, inputs: &[Tensor]) -> usize {
    let given = || inputs.iter().cloned().enumerate();
    // Some cases are of errors.
    let Ok(expected) = model.evaluate(given()) else {
        return 0;
    };
    let near = Tolerance::default();
    refuse_each(&expected, near, || (), |()| model.evaluate(given()))
}

fn check_samples(folder: &str) {
    each(samples(folder), |path| {
        let model = Model::read(&path).unwrap_or_else(|e| panic!("{e}"));
        check(&model, &ordered(&model, &path));
    });
}

#[test]
fn of_documented_examples() {
    check_samples("ops");
    check_samples("onnx");
    check_samples("fragments");
}

#[test]
fn of_vectors_of_the_real_runtime() {
    let mut cases = Vec::new();
    for archive in files(&project("tests/vectors"), "zip") {
        let operation = archive.file_stem().expect("a name").to_string_lossy();
        if operation.ends_with("-extension") {
            continue;
        }
        for (case, folder) in unpack(&archive) {
            cases.push((format!("{operation}/{case}"), folder));
        }
    }
    each(cases, |case| {
        if let Ok((model, inputs)) = read_case(&case, "model.xml") {
            check(&model, &inputs);
        }
    });
}

#[test]
fn of_operations_that_take_memory_of_their_own() {
    let cases = families().into_iter();
    each(
        cases
            .enumerate()
            .map(|(i, case)| (format!("{i} {}", case.0), case)),
        |case| {
            let (type_name, opset, attributes, inputs) = case;
            let mut graph = Builder::new();
            let ports: Vec<_> = inputs
                .iter()
                .enumerate()
                .map(|(i, t)| match t.element_type() {
                    // Shapes follow from these.
                    ElementType::I64 => graph.constant(&format!("x{i}"), t.clone()),
                    ty => graph.parameter(&format!("x{i}"), ty, t.shape().into()),
                })
                .collect();
            let made = graph.add("op", type_name, opset, attributes, &ports);
            graph.result("y", made.unwrap_or_else(|e| panic!("{e}")));
            let model = graph.build("m").unwrap_or_else(|e| panic!("{e}"));
            let floats = inputs
                .iter()
                .filter(|t| t.element_type() != ElementType::I64);
            let inputs: Vec<Tensor> = floats.cloned().collect();
            let count = check(&model, &inputs);
            assert!(count > 1, "{type_name} takes {count} pieces of memory");
        },
    );
}

/// Weights that are packed, or transformed, when a compiled model is evaluated.
#[test]
fn of_compiled_models_that_keep_weights() {
    const PADDED: &[(&str, &str)] = &[
        ("strides", "1,1"),
        ("dilations", "1,1"),
        ("pads_begin", "1,1"),
        ("pads_end", "1,1"),
    ];
    let cases: [(_, &[_], _, _); 5] = [
        ("MatMul", &[], floats(&[40, 90]), floats(&[90, 70])),
        (
            "Convolution",
            PADDED,
            floats(&[1, 40, 20, 20]),
            floats(&[36, 40, 3, 3]),
        ),
        (
            "Convolution",
            PADDED,
            floats(&[2, 24, 9, 9]),
            floats(&[80, 24, 5, 5]),
        ),
        (
            "Convolution",
            PADDED,
            floats(&[1, 130, 9, 9]),
            floats(&[140, 130, 1, 1]),
        ),
        (
            "ConvolutionBackpropData",
            PADDED,
            floats(&[1, 30, 9, 9]),
            floats(&[30, 20, 4, 4]),
        ),
    ];
    let cases = cases.into_iter().enumerate();
    each(
        cases.map(|(i, case)| (format!("{i} {}", case.0), case)),
        |case| {
            let (type_name, attributes, data, weights) = case;
            let mut graph = Builder::new();
            let x = graph.parameter("x", ElementType::F32, data.shape().into());
            let w = graph.constant("w", weights);
            let y = graph.add("y", type_name, "opset1", attributes, &[x, w]);
            graph.result("out", y.unwrap_or_else(|e| panic!("{e}")));
            let model = graph.build("m").unwrap_or_else(|e| panic!("{e}"));
            let given = || [(0, data.clone())];
            let expected = model.evaluate(given()).unwrap_or_else(|e| panic!("{e}"));
            let near = Tolerance {
                ulps: 8.0,
                of_scale: 1e-5,
                ..Tolerance::default()
            };
            let prepare = || {
                let compiled = model.compile(&CompileOptions::default()).expect("compiles");
                compiled.infer_request()
            };
            let count = refuse_each(&expected, near, prepare, |request: &mut InferRequest| {
                // Some weights are packed by the second evaluation.
                drop(request.infer(given())?);
                request.infer(given())
            });
            assert!(count > 1, "{type_name} takes {count} pieces of memory");
        },
    );
}
