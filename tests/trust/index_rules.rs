//! The rule of each operation for indices and axes is one rule: the same whether they are
//! constants, folded ahead or given, evaluated or compiled.

use std::collections::BTreeSet;

use ovir::graph::Builder;
use ovir::tensor::Tensor;
use ovir::{CompileOptions, Kind, Model, Outputs};

use super::indices::{Rule, axes, axis_attributes, indices};
use super::{limits, operation};

/// Around both ends of an axis, and where 64 bits end.
fn values(n: usize) -> Vec<i128> {
    let n = i128::try_from(n).expect("a small size");
    let mut values = vec![
        -n - 1,
        -n,
        n - 1,
        n,
        i64::MIN.into(),
        i64::MAX.into(),
        1 << 63,
        u64::MAX.into(),
    ];
    values.dedup();
    values
}

/// The outputs, or the exit code: inference and evaluation refuse with different kinds.
fn outcome(
    rule: &Rule,
    constant: &dyn Fn(usize) -> bool,
    compile: bool,
) -> Result<Vec<Tensor>, (u8, String)> {
    let (text, weights) = operation(rule.of, &rule.data, &rule.inputs, constant);
    let run = || {
        let model = Model::from_bytes("m.xml", text.into_bytes(), weights)?;
        let given = rule
            .inputs
            .iter()
            .enumerate()
            .filter(|&(i, _)| !constant(i));
        let given = given.map(|(_, tensor)| tensor.clone()).enumerate();
        if compile {
            let compiled = model.compile(&CompileOptions::default())?;
            return compiled
                .infer_request()
                .infer_with(given, &limits(), &mut []);
        }
        model.evaluate_with(given, &limits(), &mut [])
    };
    let result = run().map(Outputs::into_tensors);
    result.map_err(|e| (e.kind().exit_code(), e.to_string()))
}

/// What differs between the ways, or panics.
fn disagreement(rule: &Rule) -> Option<String> {
    let all = |_: usize| true;
    let none = |_: usize| false;
    let only = |i: usize| Some(i) == rule.index;
    let but = |i: usize| Some(i) != rule.index;
    let ways: [(&str, &dyn Fn(usize) -> bool); 4] = [
        ("given", &none),
        ("folded", &all),
        ("constant index", &only),
        ("constant data", &but),
    ];
    let mut first = None;
    for (name, constant) in ways {
        for compile in [false, true] {
            let way = format!("{name}{}", if compile { ", compiled" } else { "" });
            let run = std::panic::AssertUnwindSafe(|| outcome(rule, constant, compile));
            let Ok(found) = std::panic::catch_unwind(run) else {
                return Some(format!("{way}: panicked"));
            };
            let Some(expected) = &first else {
                if let Err((4, text)) = found {
                    return Some(text);
                }
                first = Some(found);
                continue;
            };
            let same = match (&found, expected) {
                (Ok(a), Ok(b)) => a == b,
                (Err(a), Err(b)) => a.0 == b.0,
                _ => false,
            };
            if !same {
                return Some(format!("{way}: {found:?}\n   given: {expected:?}"));
            }
        }
    }
    None
}

fn agree(rules: impl Iterator<Item = (String, Rule)>) {
    let mut found = Vec::new();
    let mut count = 0;
    for (name, rule) in rules {
        count += 1;
        if let Some(what) = disagreement(&rule) {
            found.push(format!("{} {} {name}: {what}", rule.of, rule.data));
        }
    }
    assert!(
        found.is_empty(),
        "{} of {count}:\n{}",
        found.len(),
        found.join("\n")
    );
}

#[test]
fn indices_mean_one_thing() {
    agree([0, 3].into_iter().flat_map(|n| {
        values(n).into_iter().flat_map(move |index| {
            let rules = indices(n, index).into_iter();
            rules.map(move |rule| (format!("index {index} of {n}"), rule))
        })
    }));
}

#[test]
fn axes_mean_one_thing() {
    agree([1, 2, 3].into_iter().flat_map(|n| {
        values(n).into_iter().flat_map(|index| {
            let rules = axes(index).into_iter().chain(axis_attributes(index));
            rules.map(move |rule| (format!("axis {index}"), rule))
        })
    }));
}

/// No operation with an attribute `axis` is missing above.
#[test]
fn every_operation_with_an_axis_is_here() {
    let here: BTreeSet<&str> = axis_attributes(0)
        .iter()
        .map(|rule| rule.of.split_once('-').expect("type and opset").0)
        .collect();
    let mut missing = BTreeSet::new();
    for (_, def) in ovir::ops::supported() {
        for &opset in def.opsets {
            let opset = format!("opset{opset}");
            let added = Builder::new().add("l", def.name, &opset, &[("axis", "0")], &[]);
            let unknown = added.is_err_and(|e| {
                assert_eq!(e.kind(), Kind::Attribute, "{e}");
                true
            });
            // MaxPool's axis only says what its second output counts from.
            if !unknown && def.name != "MaxPool" && !here.contains(def.name) {
                missing.insert(def.name);
            }
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}
