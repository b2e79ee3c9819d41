//! What several test modules need.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ovir::io;
use ovir::tensor::{ElementType, SharedBytes, Tensor, convert};
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

/// The files of a case, by name.
pub(crate) type Case = BTreeMap<String, Vec<u8>>;

/// The cases of an archive, one folder each. They stay in memory: on a busy disk, thousands of
/// small files take longer than all the tests.
pub(crate) fn unpack(archive: &Path) -> BTreeMap<String, Case> {
    let bytes = std::fs::read(archive).expect("a readable archive");
    let mut cases: BTreeMap<String, Case> = BTreeMap::new();
    for (path, bytes) in unzip(&bytes) {
        let (case, file) = path.split_once('/').expect("a file in a case's folder");
        let case = cases.entry(case.to_owned()).or_default();
        case.insert(file.to_owned(), bytes);
    }
    cases
}

fn unzip(bytes: &[u8]) -> Case {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).expect("a zip archive");
    let mut files = Case::new();
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).expect("an entry");
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).expect("an entry's bytes");
        let name = entry.name().expect("a name").into_owned();
        files.insert(name, bytes);
    }
    files
}

/// The tensors of an .npz by index, as the element types given.
fn read_npz(bytes: &[u8], types: &[ElementType]) -> Vec<Tensor> {
    let mut entries = unzip(bytes);
    let mut tensors = Vec::new();
    for (index, &ty) in types.iter().enumerate() {
        let entry = entries.remove(&format!("{index}.npy"));
        let bytes = entry.unwrap_or_else(|| panic!("no entry {index}"));
        let tensor = io::npy::parse(SharedBytes::new(Arc::new(bytes)), &Limits::default());
        let tensor = tensor.expect("a readable .npy");
        tensors.push(io::adapt(&tensor, ty).expect("the type of the model"));
    }
    tensors
}

/// The model of a case, if it can be read, and its inputs.
pub(crate) fn read_case(case: &Case, model: &str) -> ovir::Result<(Model, Vec<Tensor>)> {
    let weights = case.get("model.bin").cloned().unwrap_or_default();
    let model = Model::from_bytes(model, case[model].clone(), weights)?;
    let types: Vec<ElementType> = (0..model.inputs().len())
        .map(|index| {
            let input = model.input_type(index).expect("an inferred input");
            input.element_type
        })
        .collect();
    let inputs = read_npz(&case["inputs.npz"], &types);
    Ok((model, inputs))
}

/// Evaluates the model of a case on its inputs and compares with its outputs.
pub(crate) fn check_case(case: &Case, model: &str, tolerance: Tolerance) {
    let (model, inputs) = read_case(case, model).unwrap_or_else(|e| panic!("{e}"));
    let outputs = model
        .evaluate(inputs.into_iter().enumerate())
        .unwrap_or_else(|e| panic!("{e}"))
        .into_tensors();
    let types: Vec<ElementType> = outputs.iter().map(|t| t.element_type()).collect();
    let expected = read_npz(&case["outputs.npz"], &types);
    for (found, expected) in outputs.iter().zip(&expected) {
        assert_close(found, expected, tolerance);
    }
}

/// How two tensors may differ.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tolerance {
    /// Relative, in units in the last place of the element type.
    pub(crate) ulps: f64,
    /// Relative to the largest finite element of the tensor.
    pub(crate) of_scale: f64,
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
    let finite = b.iter().filter(|b| b.is_finite());
    let scale = finite.fold(0f64, |scale, b| scale.max(b.abs()));
    for (at, (&a, &b)) in a.iter().zip(&b).enumerate() {
        let same = (a.is_nan() && b.is_nan())
            || (a == b && (!tolerance.signed_zero || a.is_sign_negative() == b.is_sign_negative()))
            || (a - b).abs() <= tolerance.ulps * epsilon * b.abs() + tolerance.of_scale * scale;
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
