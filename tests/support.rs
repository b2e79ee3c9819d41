//! What several test modules need.

use std::fmt::Write;
use std::fs::File;
use std::path::{Path, PathBuf};

use ovir::io;
use ovir::tensor::{ElementType, Tensor, convert};
use ovir::{Limits, Model};

/// A path inside the project.
pub(crate) fn project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// All files below a folder with this extension, in order.
pub(crate) fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{folder:?}: {e}"));
        for entry in entries {
            let path = entry.expect("a folder's entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Runs a check on every case and tells all that failed, not only the first.
pub(crate) fn each<T>(cases: impl IntoIterator<Item = (String, T)>, check: impl Fn(T)) {
    let mut failed = Vec::new();
    let mut count = 0;
    for (name, case) in cases {
        count += 1;
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(case)));
        if outcome.is_err() {
            failed.push(name);
        }
    }
    assert!(count > 0, "there is no case");
    assert!(
        failed.is_empty(),
        "{} of {count} cases failed:\n{}",
        failed.len(),
        failed.join("\n")
    );
}

/// Unpacks an archive of cases into a folder and gives the folder of each.
pub(crate) fn unpack(archive: &Path, into: &Path) -> Vec<(String, PathBuf)> {
    let file = File::open(archive).expect("a readable archive");
    let mut archive = zip::ZipArchive::new(file).expect("a zip archive");
    archive.extract(into).expect("an archive of cases");
    let mut cases: Vec<_> = std::fs::read_dir(into)
        .expect("the folder just made")
        .map(|entry| entry.expect("an entry").path())
        .map(|path| {
            (
                path.file_name()
                    .expect("a name")
                    .to_string_lossy()
                    .into_owned(),
                path,
            )
        })
        .collect();
    cases.sort();
    cases
}

/// The tensors of an .npz by index, as the element types given.
pub(crate) fn read_npz(path: &Path, types: &[ElementType]) -> Vec<Tensor> {
    let entries = io::read_all(path, &Limits::default()).expect("a readable .npz");
    let mut tensors = Vec::new();
    for (index, &ty) in types.iter().enumerate() {
        let name = index.to_string();
        let (_, tensor) = entries
            .iter()
            .find(|(n, _)| *n == name)
            .unwrap_or_else(|| panic!("no entry {name} in {path:?}"));
        tensors.push(io::adapt(tensor, ty).expect("the type of the model"));
    }
    tensors
}

/// Evaluates the model of a case's folder on its inputs and compares with its outputs.
pub(crate) fn check_case(folder: &Path, model: &str, tolerance: Tolerance) {
    let model = Model::read(folder.join(model)).unwrap_or_else(|e| panic!("{e}"));
    let types: Vec<ElementType> = (0..model.inputs().len())
        .map(|index| {
            let input = model.input_type(index).expect("an inferred input");
            input.element_type
        })
        .collect();
    let inputs = read_npz(&folder.join("inputs.npz"), &types);
    let outputs = model
        .evaluate(inputs.into_iter().enumerate())
        .unwrap_or_else(|e| panic!("{e}"))
        .into_tensors();
    let types: Vec<ElementType> = outputs.iter().map(|t| t.element_type()).collect();
    let expected = read_npz(&folder.join("outputs.npz"), &types);
    for (found, expected) in outputs.iter().zip(&expected) {
        assert_close(found, expected, tolerance);
    }
}

/// How two tensors may differ.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tolerance {
    /// Relative, in units in the last place of the element type.
    pub(crate) ulps: f64,
    /// Whether the sign of a zero counts.
    pub(crate) signed_zero: bool,
}

/// Panics with the first difference, if there is one.
pub(crate) fn assert_close(found: &Tensor, expected: &Tensor, tolerance: Tolerance) {
    assert_eq!(
        found.element_type(),
        expected.element_type(),
        "element type"
    );
    assert_eq!(found.shape(), expected.shape(), "shape");
    if !found.element_type().is_float() {
        assert!(
            found == expected,
            "found\n{}\nexpected\n{}",
            text(found),
            text(expected)
        );
        return;
    }
    let epsilon = epsilon(found.element_type());
    let (a, b) = (values(found), values(expected));
    for (at, (&a, &b)) in a.iter().zip(&b).enumerate() {
        let same = (a.is_nan() && b.is_nan())
            || (a == b && (!tolerance.signed_zero || a.is_sign_negative() == b.is_sign_negative()))
            || (a - b).abs() <= tolerance.ulps * epsilon * b.abs();
        assert!(
            same,
            "element {at}: found {a:?}, expected {b:?}\nfound\n{}\nexpected\n{}",
            text(found),
            text(expected)
        );
    }
}

fn values(tensor: &Tensor) -> Vec<f64> {
    let wide = convert::convert(tensor, ElementType::F64).expect("numbers");
    wide.as_slice::<f64>().expect("f64").to_vec()
}

/// The distance from 1 to the next number.
fn epsilon(ty: ElementType) -> f64 {
    match ty {
        ElementType::F64 => f64::EPSILON,
        ElementType::F32 => f32::EPSILON.into(),
        ElementType::F16 => 2f64.powi(-10),
        ElementType::Bf16 => 2f64.powi(-7),
        ElementType::F8e4m3 => 0.125,
        ElementType::F8e5m2 => 0.25,
        _ => 0.0,
    }
}

/// A tensor in full.
pub(crate) fn text(tensor: &Tensor) -> String {
    format!(
        "{tensor:?}\n{}",
        io::text::format(tensor, &io::text::Options::exact())
    )
}

/// The graph, one line a layer: id, name, operation with its attributes, inputs, inferred outputs.
pub(crate) fn describe(model: &Model) -> String {
    let mut out = String::new();
    let graph = model.graph();
    for (id, node) in graph.nodes() {
        let inputs: Vec<_> = node
            .inputs()
            .iter()
            .map(|port| {
                let name = graph.node(port.node).name();
                match port.index {
                    0 => name.to_owned(),
                    index => format!("{name}.{index}"),
                }
            })
            .collect();
        let outputs: Vec<_> = model.inferred(id).iter().map(ToString::to_string).collect();
        let attributes: Vec<_> = node
            .attributes()
            .into_iter()
            .map(|(name, value)| format!(" {name}={value}"))
            .collect();
        writeln!(
            out,
            "{} = {}-{}{} ({}) -> {}",
            node.name(),
            node.type_name(),
            node.version().map_or("?".to_owned(), |v| v.to_string()),
            attributes.concat(),
            inputs.join(", "),
            outputs.join(", ")
        )
        .expect("a string grows");
    }
    out
}
