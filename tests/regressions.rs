//! What fuzzing found, made small: each input goes the way of its target again.
//!
//! A file `tests/regressions/TARGET/NAME` is what `cargo fuzz run TARGET` was given.

use std::fs;

use crate::support::{each, project};

// A crate of its own elsewhere, where all of it is public.
#[allow(dead_code, unreachable_pub, clippy::print_stderr)]
#[path = "../fuzz/src/lib.rs"]
pub(crate) mod harness;

type Target = fn(&[u8]);

const TARGETS: &[(&str, Target)] = &[
    ("attributes", harness::paths::attributes),
    ("document", harness::paths::document),
    ("evaluate", harness::paths::evaluate),
    ("graphs", harness::graphs::check),
    ("onnx", harness::paths::onnx),
    ("shapes", harness::paths::shapes),
    ("strings", harness::paths::strings),
    ("tensors", harness::paths::tensors),
];

#[test]
fn what_fuzzing_found() {
    let mut cases = Vec::new();
    for folder in fs::read_dir(project("tests/regressions")).expect("the folder of finds") {
        let folder = folder.expect("an entry").path();
        let name = folder
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let target = TARGETS.iter().find(|(target, _)| *target == name);
        let (_, target) = target.unwrap_or_else(|| panic!("there is no target `{name}`"));
        for file in fs::read_dir(&folder).expect("a folder of a target") {
            let file = file.expect("an entry").path();
            let bytes = fs::read(&file).expect("a readable input");
            cases.push((file.display().to_string(), (target, bytes)));
        }
    }
    each(cases, |(target, bytes)| target(&bytes));
}

/// The generator makes graphs of many layers, and what it makes is computed alike in every way.
#[test]
fn random_graphs_are_the_same_compiled() {
    let mut layers = 0;
    let seeds = (0..60u64).map(|seed| (seed.to_string(), seed));
    each(seeds.clone(), |seed| harness::graphs::check(&noise(seed)));
    for (_, seed) in seeds {
        let graph = harness::graphs::graph(&noise(seed));
        layers += graph.map_or(0, |g| g.steps.len());
    }
    assert!(layers > 300, "{layers} steps in all");
}

/// Bytes that are the same on every machine.
pub(crate) fn noise(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut byte = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    (0..400).map(|_| byte()).collect()
}
