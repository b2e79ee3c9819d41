//! Vectors from the real runtime: one-operation models with inputs and outputs.

use crate::support::{Case, Tolerance, check_case, each, files, project, unpack};

/// Cases that record what the real runtime does where the document says something else, or where
/// it says nothing; each stands in `docs/deviations.md`.
const DEVIATIONS: &[(&str, &str)] = &[];

fn deviates(operation: &str, case: &str) -> bool {
    DEVIATIONS.iter().any(|&(o, pattern)| {
        o == operation
            && match pattern.split_once('*') {
                Some((start, end)) => case.starts_with(start) && case.ends_with(end),
                None => case == pattern,
            }
    })
}

fn check(files: &Case, operation: &str) {
    // Documents leave the order of a sum, and so its last bit, open.
    let ulps = match operation.split('-').next() {
        Some("ReduceSum" | "ScatterElementsUpdate" | "Divide") => 1.0,
        _ => 0.0,
    };
    let tolerance = Tolerance {
        ulps,
        signed_zero: operation.starts_with("Convert"),
    };
    check_case(files, "model.xml", tolerance);
}

#[test]
fn agree_with_the_real_runtime() {
    let mut cases = Vec::new();
    for archive in files(&project("tests/vectors"), "zip") {
        let operation = archive
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        for (case, folder) in unpack(&archive) {
            cases.push((
                format!("{operation}/{case}"),
                (operation.clone(), case, folder),
            ));
        }
    }
    each(cases, |(operation, case, folder)| {
        if !deviates(&operation, &case) {
            check(&folder, &operation);
        }
    });
}
