//! Vectors from the real runtime: one-operation models with inputs and outputs.

use crate::support::{Case, Tolerance, check_case, each, files, project, unpack};

/// Cases that record what the real runtime does where the document says something else, or where
/// it says nothing; each stands in `docs/deviations.md`.
const DEVIATIONS: &[(&str, &str)] = &[
    ("Convert-1", "f32-to-nf4"),
    ("RandomUniform-8", "pytorch-bf16-range"),
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

/// Operations whose last bits depend on the order of a sum, or on how a function is computed, and
/// how far off they may be: in units in the last place, and relative to the tensor's largest element.
const ROUNDED: &[(&str, f64, f64)] = &[
    ("Divide", 1.0, 0.0),
    ("Power", 1.0, 0.0),
    ("ReduceSum", 1.0, 0.0),
    ("ScatterElementsUpdate", 1.0, 0.0),
];

fn check(files: &Case, operation: &str) {
    let name = operation.split('-').next().unwrap_or_default();
    let rounded = ROUNDED.iter().find(|(operation, ..)| *operation == name);
    let (_, ulps, of_scale) = rounded.copied().unwrap_or_default();
    let tolerance = Tolerance {
        ulps,
        of_scale,
        signed_zero: operation.starts_with("Convert-"),
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
