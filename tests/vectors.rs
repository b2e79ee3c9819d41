//! Vectors from the real runtime: one-operation models with inputs and outputs.

use std::fs::File;
use std::path::{Path, PathBuf};

use ovir::Model;
use ovir::tensor::ElementType;

use crate::support::{Tolerance, assert_close, each, files, project, read_npz};

/// Unpacks an archive of cases into a folder and gives the folder of each.
fn unpack(archive: &Path, into: &Path) -> Vec<(String, PathBuf)> {
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

/// Cases that record what the real runtime does where the document says something else, or where
/// it says nothing; each stands in `docs/deviations.md`.
const DEVIATIONS: &[(&str, &str)] = &[
    ("Convert-1", "f32-to-nf4"),
    ("ReduceSum-1", "f32-duplicate-axes*"),
    ("ScatterElementsUpdate-3", "f32-none-negative-index"),
];

fn deviates(operation: &str, case: &str) -> bool {
    DEVIATIONS.iter().any(|&(o, pattern)| {
        o == operation
            && match pattern.split_once('*') {
                Some((start, end)) => case.starts_with(start) && case.ends_with(end),
                None => case == pattern,
            }
    })
}

fn check(folder: &Path, operation: &str) {
    let model = Model::read(folder.join("model.xml")).unwrap_or_else(|e| panic!("{e}"));
    let types: Vec<ElementType> = (0..model.inputs().len())
        .map(|index| {
            model
                .input_type(index)
                .expect("an inferred input")
                .element_type
        })
        .collect();
    let inputs = read_npz(&folder.join("inputs.npz"), &types);
    let outputs = model
        .evaluate(inputs.into_iter().enumerate())
        .unwrap_or_else(|e| panic!("{e}"))
        .into_tensors();
    let types: Vec<ElementType> = outputs.iter().map(|t| t.element_type()).collect();
    let expected = read_npz(&folder.join("outputs.npz"), &types);
    // Documents leave the order of a sum, and so its last bit, open.
    let tolerance = match operation.split('-').next() {
        Some("ReduceSum" | "ScatterElementsUpdate" | "Divide") => 1.0,
        _ => 0.0,
    };
    let tolerance = Tolerance {
        ulps: tolerance,
        signed_zero: operation.starts_with("Convert"),
    };
    for (found, expected) in outputs.iter().zip(&expected) {
        assert_close(found, expected, tolerance);
    }
}

#[test]
fn agree_with_the_real_runtime() {
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let mut cases = Vec::new();
    for archive in files(&project("tests/vectors"), "zip") {
        let operation = archive
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let unpacked = unpack(&archive, &temporary.path().join(&operation));
        for (case, folder) in unpacked {
            cases.push((
                format!("{operation}/{case}"),
                (operation.clone(), case, folder),
            ));
        }
    }
    each(cases, |(operation, case, folder)| {
        if !deviates(&operation, &case) {
            check(&folder, &operation);
            return;
        }
        // A deviation that is none any more must leave the list.
        let agrees = std::panic::catch_unwind(|| check(&folder, &operation)).is_ok();
        assert!(
            !agrees,
            "{operation}/{case} agrees, though it is listed as a deviation"
        );
    });
}
