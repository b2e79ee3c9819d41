//! The page of all operations is true: `OVIR_UPDATE=1 cargo test` writes it anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use ovir::Model;
use ovir::tensor::ElementType;

use crate::support::{files, project, unpack};

/// Compares a file with what it should be, or writes it.
fn hold(path: &Path, expected: &str) {
    if std::env::var_os("OVIR_UPDATE").is_some() {
        fs::write(path, expected).expect("a writable file");
    }
    let found = fs::read_to_string(path).unwrap_or_default();
    assert!(
        found == expected,
        "{} is out of date: run the tests once with OVIR_UPDATE=1",
        path.display()
    );
}

#[test]
fn the_page_of_operations_is_what_the_command_prints() {
    let output = Command::new(env!("CARGO_BIN_EXE_ovir"))
        .args(["ops", "--markdown"])
        .output()
        .expect("the command runs");
    let page = String::from_utf8(output.stdout).expect("UTF-8");
    hold(&project("docs/operations.md"), &page);
}

fn attribute<'d>(layer: &'d str, name: &str) -> Option<&'d str> {
    let start = layer.find(&format!(" {name}=\""))? + name.len() + 3;
    layer[start..].split('"').next()
}

/// The document with Parameters and constants of another element type in place of those of the
/// first Parameter's; such constants are zeros, which stand in the weights at `zeros`.
fn retyped(document: &str, ty: ElementType, zeros: usize) -> Option<String> {
    let is = |layer: &str, wanted: &str| attribute(layer, "type") == Some(wanted);
    let mut layers = document.split("<layer");
    let first = layers.find(|layer| is(layer, "Parameter"))?;
    let old = attribute(first, "element_type")?;
    let layers = document.split("<layer").map(|layer| {
        if attribute(layer, "element_type") != Some(old) {
            return layer.to_owned();
        }
        let parameter = is(layer, "Parameter");
        if !parameter && !is(layer, "Const") {
            return layer.to_owned();
        }
        let from = format!("element_type=\"{old}\"");
        let mut layer = layer.replacen(&from, &format!("element_type=\"{ty}\""), 1);
        if !parameter && ty.name() != old {
            let sizes = attribute(&layer, "shape").unwrap_or_default().split(',');
            let count: usize = sizes
                .filter_map(|d| d.trim().parse::<usize>().ok())
                .product();
            let bytes = ty.storage_bytes(count).unwrap_or(0);
            for (name, value) in [("offset", zeros), ("size", bytes)] {
                let now = attribute(&layer, name).unwrap_or_default().to_owned();
                layer = layer.replacen(
                    &format!(" {name}=\"{now}\""),
                    &format!(" {name}=\"{value}\""),
                    1,
                );
            }
        }
        layer
    });
    Some(layers.collect::<Vec<_>>().join("<layer"))
}

/// The types that inference takes, in words where there are some.
fn in_words(accepted: &BTreeSet<usize>) -> String {
    let all: Vec<ElementType> = ElementType::ALL.into_iter().collect();
    let is = |f: &dyn Fn(ElementType) -> bool| {
        (0..all.len()).all(|i| f(all[i]) == accepted.contains(&i))
    };
    let complex = |ty| matches!(ty, ElementType::Complex64 | ElementType::Complex128);
    if is(&|_| true) {
        return "any, complex numbers too".to_owned();
    }
    if is(&|ty| !complex(ty)) {
        return "any".to_owned();
    }
    if is(&|ty| ty != ElementType::String && !complex(ty)) {
        return "any but string".to_owned();
    }
    if is(&|ty| ty.is_integer() || ty == ElementType::Boolean) {
        return "integers, boolean".to_owned();
    }
    if is(&ElementType::is_numeric) {
        return "numbers".to_owned();
    }
    if is(&|ty| ty.is_numeric() || ty == ElementType::Boolean) {
        return "numbers, boolean".to_owned();
    }
    if is(&ElementType::is_float) {
        return "floats".to_owned();
    }
    if is(&|ty| ty.is_integer()) {
        return "integers".to_owned();
    }
    let names: Vec<String> = accepted.iter().map(|&i| all[i].to_string()).collect();
    names.join(", ")
}

#[test]
fn element_types_are_what_inference_takes() {
    let mut lines = BTreeMap::new();
    for archive in files(&project("tests/vectors"), "zip") {
        let operation = archive
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let mut accepted: BTreeSet<usize> = BTreeSet::new();
        let mut asked = 0;
        for case in unpack(&archive).into_values() {
            let document = String::from_utf8_lossy(&case["model.xml"]).into_owned();
            let mut weights = case.get("model.bin").cloned().unwrap_or_default();
            let zeros = weights.len().next_multiple_of(64);
            weights.resize(zeros + (1 << 16), 0);
            for (index, ty) in ElementType::ALL.into_iter().enumerate() {
                let Some(document) = retyped(&document, ty, zeros) else {
                    continue;
                };
                let model = Model::from_bytes("m.xml", document.into_bytes(), weights.clone());
                if model.is_ok_and(|model| model.unsupported().is_empty()) {
                    accepted.insert(index);
                }
            }
            asked += 1;
            if asked == 2 {
                break;
            }
        }
        if !accepted.is_empty() {
            lines.insert(operation, in_words(&accepted));
        }
    }
    let text: String = lines
        .iter()
        .map(|(key, types)| format!("{key}: {types}\n"))
        .collect();
    hold(&project("src/cli/element_types.txt"), &text);
}
