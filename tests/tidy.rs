//! What holds for the whole tree and no compiler checks.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{files, project};

fn sources() -> Vec<(PathBuf, String)> {
    let all = ["src", "tests"]
        .iter()
        .flat_map(|folder| files(&project(folder), "rs"));
    all.map(|path| {
        let text = fs::read_to_string(&path).expect("a readable source");
        let relative = path.strip_prefix(project("")).expect("inside the project");
        (relative.to_owned(), text)
    })
    .collect()
}

fn complain(found: &[String]) {
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn files_are_short_and_say_what_they_are() {
    let mut found = Vec::new();
    for (path, text) in sources() {
        let lines = text.lines().count();
        if lines > 520 {
            found.push(format!("{}: {lines} lines", path.display()));
        }
        if !text.starts_with("//!") {
            found.push(format!("{}: does not begin with //!", path.display()));
        }
    }
    complain(&found);
}

/// Layers depend one way; operations know neither files nor runs.
#[test]
fn layers_import_only_what_lies_below_them() {
    let below: &[(&str, &[&str])] = &[
        (
            "src/tensor",
            &[
                "op", "ops", "kernel", "graph", "ir", "onnx", "exec", "io", "cli", "model",
            ],
        ),
        (
            "src/kernel",
            &["ops", "graph", "ir", "onnx", "exec", "io", "cli", "model"],
        ),
        (
            "src/op",
            &["kernel", "ops", "ir", "onnx", "exec", "io", "cli", "model"],
        ),
        ("src/ops", &["ir", "onnx", "exec", "io", "cli", "model"]),
        ("src/graph", &["ir", "onnx", "exec", "io", "cli"]),
        ("src/opt", &["exec", "ir", "onnx", "io", "cli", "model"]),
        ("src/exec", &["ir", "onnx", "io", "cli"]),
        ("src/ir", &["onnx", "exec", "io", "cli"]),
        ("src/onnx", &["exec", "io", "cli", "model"]),
        ("src/io", &["cli"]),
        ("src/stats", &["cli", "testing"]),
        ("src/testing", &["cli"]),
        ("src/edit", &["cli"]),
        (
            "src/metrics",
            &[
                "op", "ops", "kernel", "graph", "ir", "onnx", "opt", "exec", "io", "edit",
                "compare", "diff", "draw", "stats", "testing", "cli", "model",
            ],
        ),
        ("src/compare", &["cli"]),
        ("src/draw", &["io", "cli", "compare", "testing"]),
        ("src/diff", &["io", "cli"]),
    ];
    let mut found = Vec::new();
    for (path, text) in sources() {
        for (folder, above) in below {
            if !path.starts_with(folder) {
                continue;
            }
            for (number, line) in text.lines().enumerate() {
                let code = line.split("//").next().unwrap_or_default();
                let imports = |module: &&&str| {
                    code.match_indices("crate::").any(|(at, _)| {
                        let rest = &code[at + "crate::".len()..];
                        let name: String = rest
                            .chars()
                            .take_while(|c| c.is_alphanumeric() || *c == '_')
                            .collect();
                        name == **module
                    })
                };
                if let Some(module) = above.iter().find(imports) {
                    found.push(format!("{}:{}: uses {module}", path.display(), number + 1));
                }
            }
        }
    }
    complain(&found);
}

#[test]
fn unsafe_code_stands_where_it_is_allowed_by_name() {
    // Files are mapped, f16 is converted and elements are gathered by instructions.
    let allowed = [
        "src/ir/weights.rs",
        "src/kernel/simd/gathers.rs",
        "src/tensor/simd/f16c.rs",
    ]
    .map(Path::new);
    let mut found = Vec::new();
    for (path, text) in sources() {
        let marked = text.contains("allow(unsafe_code)");
        if marked && path.starts_with("src") && !allowed.contains(&&*path) {
            found.push(path.display().to_string());
        }
    }
    complain(&found);
}

/// A closure that the compiler leaves a function of its own is compiled for the narrowest vectors.
#[test]
fn closures_are_inlined_where_vectors_are_meant() {
    let mut found = Vec::new();
    for (path, text) in sources() {
        let dense: String = text.split_whitespace().collect();
        let others = dense.replace("vectorize_mut(#[inline(always)]", "");
        let closure = ["vectorize(|", "vectorize(move|", "vectorize_mut("]
            .iter()
            .any(|call| others.contains(call));
        if closure && path.starts_with("src") {
            let path = path.display();
            found.push(format!("{path}: a closure that may not be inlined"));
        }
    }
    complain(&found);
}

#[test]
fn every_file_of_an_operation_has_a_row_and_every_row_is_documented() {
    let mut found = Vec::new();
    for folder in fs::read_dir(project("src/ops")).expect("the operations") {
        let folder = folder.expect("an entry").path();
        if !folder.is_dir() {
            continue;
        }
        let table = fs::read_to_string(folder.join("mod.rs")).expect("a table");
        for path in files(&folder, "rs") {
            let stem = path
                .file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            let text = fs::read_to_string(&path).expect("a readable source");
            let declares = text.contains("impl Op for") && path.parent() == Some(&folder);
            let shell = table.contains(&format!("mod {stem};"))
                && !table.contains(&format!("{stem}::"))
                && folder.file_name().is_some_and(|f| f != "infrastructure");
            if declares && shell && !text.contains("impl<") {
                found.push(format!("{}: no row in mod.rs", path.display()));
            }
            if declares && !text.contains("https://") {
                found.push(format!("{}: no link to its specification", path.display()));
            }
        }
    }
    complain(&found);
}

#[test]
fn every_snapshot_has_its_sample() {
    let samples: HashSet<PathBuf> = ["xml", "onnx"]
        .iter()
        .flat_map(|extension| files(&project("ir-samples"), extension))
        .map(|p| {
            p.strip_prefix(project("ir-samples"))
                .expect("inside")
                .with_extension("")
        })
        .collect();
    let mut found = Vec::new();
    for path in files(&project("snapshots"), "snap") {
        let name = path
            .strip_prefix(project("snapshots"))
            .expect("inside")
            .with_extension("");
        if !samples.contains(&name) && !name.starts_with("cli") && !name.starts_with("testing") {
            found.push(path.display().to_string());
        }
    }
    complain(&found);
}
