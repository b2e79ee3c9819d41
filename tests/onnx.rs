//! The ONNX project's own node tests: one-operator models with inputs and outputs.

use crate::support::{Tolerance, check_case, each, project, unpack};

#[test]
fn node_tests_of_onnx() {
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let cases = unpack(&project("tests/onnx/vectors.zip"), temporary.path());
    let cases = cases
        .into_iter()
        .map(|(name, folder)| (name.clone(), (name, folder)));
    each(cases, |(name, folder)| {
        // The order of a sum is open, and so are the last bits of a logarithm.
        let ulps = if name.starts_with("reduce") { 4.0 } else { 0.0 };
        let tolerance = Tolerance {
            ulps,
            signed_zero: true,
        };
        check_case(&folder, "model.onnx", tolerance);
    });
}
