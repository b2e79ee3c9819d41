//! `ovir extract`, `reduce` and `edit` as a user meets them.

use std::path::{Path, PathBuf};

use ovir::graph::{Builder, Port};
use ovir::io::{npz, read_all};
use ovir::tensor::{ElementType, Tensor};
use ovir::{Limits, Model};

use crate::program::ovir;

/// What a call with this exit code prints, and what it says of an error.
fn call(arguments: &[&str], code: i32) -> (String, String) {
    let output = ovir(arguments);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let (out, err) = (text(output.stdout), text(output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}{err}");
    (out, err)
}

/// Calls that fail: more arguments, the exit code, and a phrase of the error. Nothing is written.
fn fail(arguments: &[&str], cases: &[(&[&str], i32, &str)], unwritten: &Path) {
    for (more, code, phrase) in cases {
        let (_, err) = call(&[arguments, more].concat(), *code);
        assert!(err.contains(phrase), "{more:?}: {err}");
        assert!(!unwritten.exists(), "{more:?}");
    }
}

fn json(arguments: &[&str]) -> serde_json::Value {
    let mut all = arguments.to_vec();
    all.push("--json");
    serde_json::from_str(&call(&all, 0).0).expect("JSON")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A chain of so many layers, two of which are Tanh, with weights in some.
fn chain(folder: &Path, layers: usize) -> PathBuf {
    let mut graph = Builder::new();
    let x = graph.parameter("x", ElementType::F32, "1,32".parse().expect("a shape"));
    let numbers: Vec<f32> = (0..32).map(|n| 1.0 + n as f32 / 64.0).collect();
    let weights = graph.constant("weights", Tensor::vector(&numbers));
    let unused = graph.constant("unused", Tensor::vector(&[7f32; 1000]));
    let mut value = x;
    for layer in 0..layers {
        let name = format!("layer{layer}");
        let (ty, inputs): (_, &[Port]) = match layer {
            _ if layer == layers / 3 => ("Tanh", &[value]),
            _ if layer == layers / 3 + 1 => ("Sigmoid", &[value]),
            _ if layer % 5 == 0 => ("Multiply", &[value, weights]),
            _ => ("Relu", &[value]),
        };
        let inputs = inputs.to_vec();
        value = graph
            .add(&name, ty, "opset1", &[], &inputs)
            .expect("a layer");
    }
    graph.result("y", value);
    let other = graph
        .add("other", "Relu", "opset1", &[], &[unused])
        .expect("a layer");
    graph.result("z", other);
    let path = folder.join("model.xml");
    let model = graph.build("chain").expect("a model");
    model.write(&path).expect("written");
    path
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn a_part_gives_what_the_whole_gives() {
    let home = folder();
    let model = chain(home.path(), 30);
    let (part, values) = (home.path().join("part.xml"), home.path().join("in.npz"));
    let arguments = [
        "extract",
        text(&model),
        "--from",
        "layer7",
        "--to",
        "layer16",
        "-o",
        text(&part),
        "--with-inputs",
        text(&values),
        "-i",
        "x=random:seed=3",
    ];
    let (out, _) = call(&arguments, 0);
    assert!(out.contains("layer6"), "{out}");
    assert!(
        out.contains(": 10 of 31 layers, 128 bytes of constants"),
        "{out}"
    );
    let found = json(&arguments);
    assert_eq!(found["schema"], "ovir.extract/1");
    assert_eq!(found["inputs"][0]["layer"], "layer6");
    assert_eq!(found["outputs"][0]["name"], "layer16");
    let dump = home.path().join("dump.npz");
    let eval = [
        "eval",
        text(&model),
        "-i",
        "x=random:seed=3",
        "--dump",
        "layer16",
        "--to",
        text(&dump),
    ];
    call(&eval, 0);
    let out = home.path().join("out.npz");
    call(
        &["eval", text(&part), "-i", text(&values), "-o", text(&out)],
        0,
    );
    let read = |path: &Path| read_all(path, &Limits::default()).expect("tensors");
    assert_eq!(read(&out)[0].1, read(&dump)[0].1);
    // A tensor by name, and the outputs that depend on it.
    let tensor = [
        "extract",
        text(&model),
        "--from",
        "layer20",
        "-o",
        text(&part),
    ];
    let found = json(&tensor);
    assert_eq!(found["outputs"].as_array().expect("a list").len(), 1);
}

#[test]
fn wrong_ends_of_a_part_are_told() {
    let home = folder();
    let model = chain(home.path(), 10);
    let part = home.path().join("part.xml");
    let cases: [(&[&str], i32, &str); 4] = [
        (
            &["--from", "layre7"],
            2,
            "no layer matches `layre7`; did you mean",
        ),
        (
            &["--from", "layer8", "--to", "layer2"],
            3,
            "no way leads from \"layer7\"",
        ),
        (&["--to", "layer2", "--with-inputs", "x.npy"], 2, ".npz"),
        (
            &["--to", "layer2", "--with-inputs", "x.npz", "-i", "y=1"],
            3,
            "no input \"y\"",
        ),
    ];
    fail(&["extract", text(&model), "-o", text(&part)], &cases, &part);
}

/// A command that fails where a model has a layer of a type.
fn fails_on(operation: &str) -> String {
    format!("! grep -q 'type=\"{operation}\"' {{}}")
}

#[cfg(unix)]
#[test]
fn a_fault_in_a_long_chain_is_found_in_few_checks() {
    let home = folder();
    let model = chain(home.path(), 1000);
    let result = home.path().join("result");
    let check = fails_on("Tanh");
    let arguments = [
        "reduce",
        text(&model),
        "-i",
        "x=random",
        "--check",
        &check,
        "-o",
        text(&result),
        "--json",
    ];
    let (out, err) = call(&arguments, 0);
    assert_eq!(err, "", "progress is for terminals");
    let found: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(
        (&found["layers"], &found["layers_before"]),
        (&1.into(), &1001.into())
    );
    assert!(found["checks"].as_u64().expect("a number") <= 25, "{found}");
    let part = Model::read(result.join("model.xml")).expect("a model");
    assert_eq!(part.graph().nodes().len(), 3);
    let read = |name: &str| read_all(&result.join(name), &Limits::default()).expect("tensors");
    let inputs = read("inputs.npz");
    let given = inputs
        .iter()
        .map(|(name, tensor)| (name.as_str(), tensor.clone()));
    let outputs = part.evaluate(given).expect("evaluates");
    assert_eq!(outputs[0], read("outputs.npz")[0].1);
    let readme = std::fs::read_to_string(result.join("README.md")).expect("a text");
    for phrase in ["Tanh", "grep -q", "ovir eval model.xml -i inputs.npz"] {
        assert!(readme.contains(phrase), "{phrase}: {readme}");
    }
}

#[cfg(unix)]
#[test]
fn layers_that_fail_together_stay_connected() {
    let home = folder();
    let model = chain(home.path(), 90);
    let result = home.path().join("result");
    // Both layers, or a crash of the command.
    let check = "if grep -q Tanh {} && grep -q Multiply {}; then kill -SEGV $$; fi; test -s {inputs} -a -s {outputs}";
    let arguments = [
        "reduce",
        text(&model),
        "-i",
        "x=random",
        "--check",
        check,
        "-o",
        text(&result),
        "--strip-weights",
    ];
    let (out, _) = call(&arguments, 0);
    assert!(out.starts_with("2 of 91 layers still fail"), "{out}");
    assert!(out.contains("noise now"), "{out}");
    let part = Model::read(result.join("model.xml")).expect("a model");
    let types: Vec<_> = part
        .graph()
        .nodes()
        .map(|(_, node)| node.type_name())
        .collect();
    assert!(
        types.contains(&"Tanh") && types.contains(&"Multiply"),
        "{types:?}"
    );
}

#[cfg(unix)]
#[test]
fn checks_that_cannot_be_used_are_told() {
    let home = folder();
    let model = chain(home.path(), 5);
    let result = home.path().join("result");
    let cases: [(&[&str], i32, &str); 5] = [
        (&["--check", "true"], 2, "`{}`"),
        (&["--check", "true {}"], 3, "there is nothing to reduce"),
        (&["--check", "ovir-no-such-program {}"], 3, "cannot be run"),
        (
            &["--check", "sleep 60; false {}", "--check-timeout", "200ms"],
            3,
            "--check-timeout",
        ),
        (&["--check", "false {}", "-i", "q=1"], 3, "no input \"q\""),
    ];
    let call = [
        "reduce",
        text(&model),
        "-i",
        "x=random",
        "-o",
        text(&result),
    ];
    fail(&call, &cases, &result.join("model.xml"));
}

#[test]
fn changes_are_proven_and_written() {
    let home = folder();
    let model = chain(home.path(), 12);
    let out = home.path().join("out.xml");
    let base = ["edit", text(&model), "-o", text(&out)];
    let edit = |more: &[&str]| json(&[&base[..], more].concat());
    let found = edit(&[]);
    assert_eq!(
        (&found["proven"], &found["written"]),
        (&true.into(), &true.into())
    );
    let bytes = |path: &Path| std::fs::read(path).expect("a file");
    assert_eq!(bytes(&out), bytes(&model), "nothing was changed");

    edit(&["--rename", "x=image", "--rename", "layer5=neck"]);
    let renamed = Model::read(&out).expect("a model");
    assert_eq!(renamed.inputs()[0].names, ["image"]);
    assert!(renamed.graph().find("neck").is_some() && renamed.graph().find("layer5").is_none());

    edit(&["--reshape", "x=?,32"]);
    let reshaped = Model::read(&out).expect("a model");
    assert_eq!(
        reshaped.input_type(0).expect("inferred").to_string(),
        "f32[?,32]"
    );

    let found = edit(&["--fold"]);
    assert_eq!(found["changes"][0], "layers computed ahead: 1");
    assert!(
        Model::read(&out)
            .expect("a model")
            .graph()
            .find("other")
            .is_some()
    );

    let found = edit(&["--precision", "f16"]);
    assert_eq!(found["changes"][0], "constants stored as f16: 2");
    let half = Model::read(&out).expect("a model");
    let widening = half.graph().find("weights").expect("a layer");
    let widening = half.graph().node(widening);
    assert_eq!(widening.type_name(), "Convert");
    assert_eq!(
        widening.rt_info().0[0].attribute("name"),
        Some("decompression")
    );
    assert!(half.graph().find("weights_compressed").is_some());
    let again = home.path().join("again.xml");
    let found = json(&["edit", text(&out), "-o", text(&again), "--precision", "f32"]);
    assert_eq!(found["changes"][0], "constants stored widened: 2");
    assert_eq!(found["outputs"][0]["differing"], 0);
}

#[test]
fn what_differs_is_not_written() {
    let home = folder();
    let model = chain(home.path(), 12);
    let out = home.path().join("out.xml");
    let odd = home.path().join("x.npz");
    let x = Tensor::new([1, 32], &[1.000_1f32; 32]).expect("a tensor");
    npz::write(&odd, [("x", &x)]).expect("written");
    let mut graph = Builder::new();
    let x = graph.parameter("x", ElementType::F32, "1,32".parse().expect("a shape"));
    let weights = graph.constant("w", Tensor::scalar(0.1f32));
    let y = graph
        .add("y", "Multiply", "opset1", &[], &[x, weights])
        .expect("a layer");
    graph.result("y", y);
    graph
        .build("m")
        .expect("a model")
        .write(&model)
        .expect("written");
    let strict = [
        "edit",
        text(&model),
        "-o",
        text(&out),
        "--precision",
        "f16",
        "--tolerance",
        "0",
        "-i",
        text(&odd),
    ];
    let (printed, _) = call(&strict, 1);
    assert!(
        printed.contains("DIFFERS") && printed.contains("nothing was written"),
        "{printed}"
    );
    assert!(!out.exists());
    let forced = [&strict[..], &["--force"]].concat();
    let (printed, _) = call(&forced, 1);
    assert!(printed.contains("wrote ") && out.exists(), "{printed}");
    let cases: [(&[&str], i32, &str); 4] = [
        (
            &["--rename", "weigth=v"],
            2,
            "there is no layer or tensor `weigth`",
        ),
        (&["--rename", "x=y"], 3, "\"y\" is taken"),
        (&["--reshape", "q=1"], 3, "no input \"q\""),
        (&["--precision", "f8"], 2, "f16"),
    ];
    for (more, code, phrase) in cases {
        let arguments = [&["edit", text(&model), "-o", text(&out)], more].concat();
        let (_, err) = call(&arguments, code);
        assert!(err.contains(phrase), "{more:?}: {err}");
    }
}
