//! The ONNX project's own node tests: one-operator models with inputs and outputs.

use crate::support::{Tolerance, check_case, each, project, unpack};

#[test]
fn node_tests_of_onnx() {
    let cases = unpack(&project("tests/onnx/vectors.zip")).into_iter();
    let cases = cases.map(|(name, files)| (name.clone(), (name, files)));
    each(cases, |(name, files)| {
        // The order of a sum is open, and so are the last bits of a logarithm.
        let ulps = if name.starts_with("reduce") { 4.0 } else { 0.0 };
        let tolerance = Tolerance {
            ulps,
            signed_zero: true,
            ..Tolerance::default()
        };
        check_case(&files, "model.onnx", tolerance);
    });
}
