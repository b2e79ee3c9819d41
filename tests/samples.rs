//! Every file of `ir-samples/`: documented examples, specification fragments, broken files.
//!
//! A sample is a model with its inputs and, where the document prints them, its outputs. What it
//! gives is compared with the document first; the snapshot then keeps graph, shapes and values.

use std::path::{Path, PathBuf};

use ovir::io::{Value, Wanted, json, text};
use ovir::tensor::{PartialShape, Tensor};
use ovir::{CompileOptions, Error, Kind, Limits, Model, Outputs};

use insta::Snapshot;
use insta::internals::SnapshotContents;

use crate::support::{Tolerance, assert_close, describe, each, files, project};

/// The samples below a folder of `ir-samples`, by their path without the extension.
pub(crate) fn samples(folder: &str) -> Vec<(String, PathBuf)> {
    let root = project("ir-samples");
    let all = ["xml", "onnx"].map(|extension| files(&root.join(folder), extension));
    let all = all.into_iter().flatten();
    all.map(|path| {
        let name = path
            .strip_prefix(&root)
            .expect("below the root")
            .with_extension("");
        (name.to_string_lossy().replace('\\', "/"), path)
    })
    .collect()
}

/// Takes two texts for the same if they differ in the last digits of fractions only: what those are
/// depends on the processor. Widths of columns follow from them.
#[derive(Clone, Copy)]
struct Near;

impl insta::Comparator for Near {
    fn matches(&self, reference: &Snapshot, test: &Snapshot) -> bool {
        let text = |snapshot: &Snapshot| match snapshot.contents() {
            SnapshotContents::Text(text) => Some(text.to_string()),
            _ => None,
        };
        match (text(reference), text(test)) {
            (Some(a), Some(b)) => near(&a, &b),
            _ => false,
        }
    }

    fn dyn_clone(&self) -> Box<dyn insta::Comparator> {
        Box::new(*self)
    }
}

fn near(a: &str, b: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let separated = text
            .replace('[', " [ ")
            .replace(']', " ] ")
            .replace(',', " , ");
        separated.split_whitespace().map(str::to_owned).collect()
    };
    let (a, b) = (words(a), words(b));
    let same = |(a, b): (&String, &String)| {
        let fraction = |text: &str| text.contains(['.', 'e']);
        match (a.parse::<f64>(), b.parse::<f64>()) {
            _ if a == b => true,
            (Ok(x), Ok(y)) if fraction(a) || fraction(b) => (x - y).abs() <= 1e-5 * x.abs() + 1e-6,
            _ => false,
        }
    };
    a.len() == b.len() && a.iter().zip(&b).all(same)
}

#[test]
fn near_texts() {
    assert!(near("[1.0000001, 2  ]", "[1, 2]"));
    assert!(near("x f32[2]\n[1.25   , 2]", "x f32[2]\n[1.250001, 2]"));
    assert!(!near("[1.25, 2]", "[1.26, 2]"));
    assert!(!near("i64[1] [2]", "i64[1] [3]"));
    assert!(!near("[1.25]", "[1.25, 1.25]"));
}

fn snapshot(name: &str, text: &str) {
    let (folder, case) = name.rsplit_once('/').expect("a sample lies in a folder");
    let mut settings = insta::Settings::new();
    settings.set_snapshot_path(project("snapshots").join(folder));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_comparator(Box::new(Near));
    settings.bind(|| insta::assert_snapshot!(case, text));
}

/// The tensors of a sample's file beside it: for each name, what `wanted` says it is to be.
fn read_values(path: &Path) -> Option<Vec<(String, Value)>> {
    path.exists()
        .then(|| json::read(path, &Limits::default()).expect("readable values"))
}

pub(crate) fn inputs(model: &Model, path: &Path) -> Vec<(String, Tensor)> {
    let values = read_values(&path.with_extension("inputs.json")).unwrap_or_default();
    let load = |(name, value): (String, Value)| {
        let index = model
            .find_input(&name)
            .unwrap_or_else(|| panic!("no input {name}"));
        let tensor = value.load(&Wanted::by(model, index), &Limits::default());
        (name, tensor.expect("a value for the input"))
    };
    values.into_iter().map(load).collect()
}

/// The same, in the order of the model.
pub(crate) fn ordered(model: &Model, path: &Path) -> Vec<Tensor> {
    let named = inputs(model, path);
    let at = |index| {
        let mut found = named
            .iter()
            .filter(|(name, _)| model.find_input(name) == Some(index));
        found.next().expect("an input").1.clone()
    };
    (0..model.inputs().len()).map(at).collect()
}

/// Compares with the outputs that the document prints, or with their shapes.
fn compare_with_document(outputs: &Outputs, path: &Path) {
    let file = path.with_extension("outputs.json");
    let text = std::fs::read_to_string(&file).expect("documented outputs");
    let documented: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let documented = documented.as_object().expect("an object");
    assert_eq!(documented.len(), outputs.len(), "number of outputs");
    for (name, value) in documented {
        let found = outputs
            .get(name)
            .unwrap_or_else(|| panic!("no output {name}"));
        let only_shape = value.as_object().filter(|o| o.len() == 1);
        if let Some(shape) = only_shape.and_then(|o| o.get("shape")) {
            let shape: Vec<usize> = serde_json::from_value(shape.clone()).expect("a shape");
            assert_eq!(&found.shape()[..], shape, "shape of {name}");
            continue;
        }
        let wanted = Wanted {
            element_type: found.element_type(),
            shape: &PartialShape::dynamic(),
            range: None,
        };
        let values = read_values(&file).expect("documented outputs");
        let (_, value) = values
            .iter()
            .find(|(n, _)| n == name)
            .expect("the same file");
        let expected = value
            .load(&wanted, &Limits::default())
            .expect("documented values");
        // Documents print few digits.
        let near = Tolerance {
            ulps: 1.0,
            signed_zero: true,
            ..Tolerance::default()
        };
        assert_close(found, &expected, near);
    }
}

/// A compiled model means the same, on shapes it sees for the first time and when it knows them.
fn same_when_compiled(model: &Model, given: &[(String, Tensor)], expected: &Outputs) {
    let compiled = model.compile(&CompileOptions::default());
    let compiled = compiled.unwrap_or_else(|e| panic!("{e}"));
    let mut request = compiled.infer_request();
    for _ in 0..3 {
        request.reset();
        let found = request.infer(given.iter().cloned());
        let found = found.unwrap_or_else(|e| panic!("compiled: {e}"));
        for ((_, found), (_, expected)) in found.iter().zip(expected.iter()) {
            let near = Tolerance {
                ulps: 8.0,
                of_scale: 1e-6,
                ..Tolerance::default()
            };
            assert_close(found, expected, near);
        }
    }
}

fn check(folder: &str) {
    each(
        samples(folder)
            .into_iter()
            .map(|(name, path)| (name.clone(), (name, path))),
        |(name, path)| {
            let model = Model::read(&path).unwrap_or_else(|e| panic!("{e}"));
            let given = inputs(&model, &path);
            let mut report = format!("{}\n", describe(&model));
            for (name, tensor) in &given {
                report += &format!("input {name}: {tensor:?}\n");
            }
            let again: Vec<_> = given.to_vec();
            let outputs = model.evaluate(given).unwrap_or_else(|e| panic!("{e}"));
            compare_with_document(&outputs, &path);
            same_when_compiled(&model, &again, &outputs);
            for (name, tensor) in outputs.iter() {
                let values = text::format(tensor, &text::Options::default());
                report += &format!("output {name}: {tensor:?}\n{values}\n");
            }
            snapshot(&name, &report);
        },
    );
}

#[test]
fn documented_examples() {
    check("ops");
}

#[test]
fn documented_examples_of_onnx() {
    check("onnx");
}

#[test]
fn specification_fragments() {
    check("fragments");
}

/// The error of a broken sample, with the path as everybody sees it.
fn error_of(path: &Path) -> Error {
    match Model::read(path) {
        Err(error) => error,
        Ok(model) => {
            let given = inputs(&model, path);
            model
                .evaluate(given)
                .expect_err("a broken file cannot be evaluated")
        }
    }
}

#[test]
fn broken_files_fail_at_their_stage_with_a_clear_error() {
    each(
        samples("broken")
            .into_iter()
            .map(|(name, path)| (name.clone(), (name, path))),
        |(name, path)| {
            let error = error_of(&path);
            let stage = name.split('/').nth(1).expect("a stage");
            let kinds: &[Kind] = match stage {
                "xml" => &[Kind::Xml, Kind::Unsupported],
                "structure" => &[
                    Kind::Structure,
                    Kind::Attribute,
                    Kind::Shape,
                    Kind::Unsupported,
                ],
                "attribute" => &[Kind::Attribute, Kind::Structure],
                "weights" => &[Kind::Weights, Kind::Attribute],
                "shape" => &[Kind::Shape],
                "eval" => &[Kind::Eval, Kind::Shape],
                _ => panic!("unknown stage {stage}"),
            };
            assert!(kinds.contains(&error.kind()), "{:?}: {error}", error.kind());
            if stage == "eval" {
                Model::read(&path).expect("a file of this stage loads");
            }
            let root = project("ir-samples").to_string_lossy().into_owned();
            let text = error.to_string().replace(&root, "ir-samples");
            assert!(
                text.starts_with("ir-samples/broken/"),
                "no file named: {text}"
            );
            snapshot(&name, &text);
        },
    );
}
