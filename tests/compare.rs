//! `ovir compare` and `ovir bisect` as a user meets them. No runtime is needed.

use std::fs;
use std::path::Path;

use ovir::Limits;
use ovir::io::{npz, read_all};
use ovir::tensor::Tensor;
use serde_json::Value;

use crate::program::ovir_in as ovir;
use crate::support::project;

/// What a call prints, and where, with its exit code.
fn call(folder: &Path, arguments: &[&str], code: i32) -> (String, String) {
    let output = ovir(folder, arguments);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(
        output.status.code(),
        Some(code),
        "{arguments:?}\n{out}{error}"
    );
    (out, error)
}

fn json(folder: &Path, arguments: &[&str], code: i32) -> Value {
    let (out, error) = call(folder, arguments, code);
    assert_eq!(error, "");
    serde_json::from_str(&out).expect("JSON")
}

/// A chain of layers: `x` times a constant, a second constant added, an activation, a sum.
fn chain(scale: f32, activation: &str, names: [&str; 3]) -> String {
    let port = |id: u32, dims: &[u32]| {
        let dims: Vec<String> = dims.iter().map(|d| format!("<dim>{d}</dim>")).collect();
        format!(
            "<port id=\"{id}\" precision=\"FP32\">{}</port>",
            dims.concat()
        )
    };
    let x = [2u32, 3];
    let [mul, act, last] = names;
    let layer = |id: u32, name: &str, kind: &str, data: &str, inputs: u32, version: &str| {
        let inputs: Vec<String> = (0..inputs).map(|i| port(i, &x)).collect();
        let inputs = match inputs.is_empty() {
            true => String::new(),
            false => format!("<input>{}</input>", inputs.concat()),
        };
        let output = match kind {
            "Result" => String::new(),
            _ => format!("<output>{}</output>", port(9, &x)),
        };
        format!(
            "<layer id=\"{id}\" name=\"{name}\" type=\"{kind}\" version=\"{version}\">{data}{inputs}{output}</layer>\n"
        )
    };
    let shape = "<data shape=\"2,3\" element_type=\"f32\"/>";
    let clamp = format!("<data min=\"-10\" max=\"{scale}\"/>");
    let layers = [
        layer(0, "x", "Parameter", shape, 0, "opset1"),
        layer(1, mul, "Multiply", "", 2, "opset1"),
        layer(2, act, activation, "", 1, "opset1"),
        layer(3, "clamp", "Clamp", &clamp, 1, "opset1"),
        layer(4, last, "Add", "", 2, "opset1"),
        layer(5, "out", "Result", "", 1, "opset1"),
    ];
    let edges = [
        (0, 1, 0),
        (0, 1, 1),
        (1, 2, 0),
        (2, 3, 0),
        (3, 4, 0),
        (2, 4, 1),
        (4, 5, 0),
    ];
    let edges: Vec<String> = edges
        .iter()
        .map(|(from, to, at)| {
            format!(
                "<edge from-layer=\"{from}\" from-port=\"9\" to-layer=\"{to}\" to-port=\"{at}\"/>\n"
            )
        })
        .collect();
    format!(
        "<?xml version=\"1.0\"?>\n<net name=\"chain\" version=\"11\"><layers>\n{}</layers><edges>\n{}</edges></net>\n",
        layers.concat(),
        edges.concat()
    )
}

const NAMES: [&str; 3] = ["mul", "act", "last"];

/// A folder with `good.xml`, and models that differ from it in one layer.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: String| {
        fs::write(folder.path().join(name), text).expect("written");
    };
    write("good.xml", chain(2.0, "ReLU", NAMES));
    write("clamped.xml", chain(1.5, "ReLU", NAMES));
    write("tanh.xml", chain(2.0, "Tanh", NAMES));
    write("renamed.xml", chain(1.5, "ReLU", ["m", "a", "l"]));
    folder
}

const X: &str = "x=[[1,2,3],[-1,0.5,0.25]]";

#[test]
fn equal_models() {
    let folder = folder();
    let (out, error) = call(
        folder.path(),
        &["compare", "good.xml", "good.xml", "-i", X],
        0,
    );
    assert_eq!(error, "");
    assert!(out.contains("1 tensor is equal"), "{out}");
    let (out, _) = call(
        folder.path(),
        &["compare", "good.xml", "good.xml", "--per-layer"],
        0,
    );
    assert!(out.contains("random inputs: x f32[2,3]"), "{out}");
    let (out, _) = call(
        folder.path(),
        &["bisect", "good.xml", "--against", "good.xml", "-i", X],
        0,
    );
    assert!(out.contains("no difference"), "{out}");
}

#[test]
fn a_difference_is_told_with_its_numbers() {
    let folder = folder();
    let path = folder.path();
    let arguments = ["compare", "clamped.xml", "good.xml", "-i", X];
    let (out, _) = call(path, &arguments, 1);
    assert!(
        out.contains("DIFFERS") && out.contains("1 of 1 tensor differs"),
        "{out}"
    );
    assert!(out.contains("[0,1]: 5.5, expected 6"), "{out}");
    assert!(
        out.contains("the tightest that passes: --tol abs=5e-1,rel_l2="),
        "{out}"
    );
    // What is suggested passes.
    let at = out.find("--tol ").expect("a suggestion") + "--tol ".len();
    let tolerance = out[at..].lines().next().expect("a line");
    call(path, &[&arguments[..], &["--tol", tolerance]].concat(), 0);
    call(path, &[&arguments[..], &["--tol", "abs=0.4"]].concat(), 1);
    let found = json(
        path,
        &[&arguments[..], &["--json", "--per-layer"]].concat(),
        1,
    );
    assert_eq!(found["schema"], "ovir.compare/1");
    assert_eq!(found["equal"], false);
    let difference = &found["outputs"][0]["difference"];
    assert_eq!(difference["max_abs"], 0.5);
    assert_eq!(difference["differing"], 2);
    let names: Vec<&str> = found["layers"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|pair| pair["name"].as_str())
        .collect();
    assert_eq!(names, ["mul", "act", "clamp", "last"]);
    assert_eq!(found["layers"][1]["passes"], true);
    assert_eq!(found["layers"][2]["passes"], false);
}

#[test]
fn saved_runs_stand_for_models() {
    let folder = folder();
    let path = folder.path();
    call(
        path,
        &[
            "eval", "good.xml", "-i", X, "-o", "out.npz", "--dump", "*", "--to", "run.npz",
        ],
        0,
    );
    call(
        path,
        &["eval", "good.xml", "-i", X, "--dump", "*", "--to", "dump"],
        0,
    );
    call(path, &["compare", "good.xml", "out.npz", "-i", X], 0);
    call(path, &["compare", "out.npz", "good.xml", "-i", X], 0);
    call(path, &["compare", "clamped.xml", "out.npz", "-i", X], 1);
    call(
        path,
        &["compare", "good.xml", "dump", "-i", X, "--per-layer"],
        0,
    );
    for run in ["run.npz", "dump"] {
        // The run has the inputs too.
        let found = json(
            path,
            &["bisect", "clamped.xml", "--against", run, "--json"],
            1,
        );
        assert_eq!(found["blamed"]["layer"]["name"], "clamp", "{run}");
        assert_eq!(found["inputs"][0]["origin"], "saved", "{run}");
    }
    let error = call(
        path,
        &["bisect", "clamped.xml", "--against", "out.npz", "-i", X],
        3,
    )
    .1;
    assert!(
        error.contains("has none of the model's inner tensors"),
        "{error}"
    );
    call(path, &["compare", "run.npz", "dump"], 0);
}

#[test]
fn bisect_names_the_layer_and_writes_it() {
    let folder = folder();
    let path = folder.path();
    for (model, layer, why) in [
        ("clamped.xml", "clamp", "its max is 1.5 here and 2 there"),
        ("tanh.xml", "act", "it is Tanh-1 here and ReLU-1 there"),
        ("renamed.xml", "clamp", "its max is 1.5 here and 2 there"),
    ] {
        let arguments = [
            "bisect",
            model,
            "--against",
            "good.xml",
            "-i",
            X,
            "-o",
            "out",
        ];
        let (out, error) = call(path, &arguments, 1);
        assert_eq!(error, "");
        assert!(
            out.contains(&format!("\"{layer}\"")) && out.contains(why),
            "{out}"
        );
        assert!(
            out.contains("wrote a reproduction to out: it shows the difference"),
            "{out}"
        );
        let files = [
            "model.xml",
            "reference.xml",
            "inputs.npz",
            "outputs.npz",
            "expected.npz",
        ];
        assert!(
            files
                .iter()
                .all(|file| path.join("out").join(file).exists()),
            "{model}"
        );
        let readme = fs::read_to_string(path.join("out/README.md")).expect("a README");
        let commands = readme.lines().filter(|line| line.starts_with("ovir "));
        for (index, command) in commands.enumerate() {
            let arguments: Vec<&str> = command.split_whitespace().skip(1).collect();
            call(&path.join("out"), &arguments, i32::from(index > 0));
        }
    }
    let found = json(
        path,
        &[
            "bisect",
            "good.xml",
            "--against",
            "clamped.xml",
            "-i",
            X,
            "--json",
            "--isolated",
        ],
        1,
    );
    assert_eq!(found["schema"], "ovir.bisect/1");
    assert_eq!(found["verdict"], "layer");
    assert_eq!(found["wrong"].as_array().map(Vec::len), Some(1));
    assert_eq!(found["blamed"]["changed_attributes"][0]["name"], "max");
}

#[test]
fn tolerances_of_a_file() {
    let folder = folder();
    let path = folder.path();
    let write = |text: &str| fs::write(path.join("tol.toml"), text).expect("written");
    let arguments = [
        "compare",
        "clamped.xml",
        "good.xml",
        "-i",
        X,
        "--tolerances",
        "tol.toml",
    ];
    write("[\"ou*\"]\nabs = 0.6\n");
    call(path, &arguments, 0);
    write("[default]\nabs = 0.6\n[out]\nexact = true\n");
    call(path, &arguments, 1);
    write("[nothing]\nabs = 0.6\n");
    let error = call(path, &arguments, 2).1;
    assert!(
        error.contains("no tensor that was compared matches \"nothing\""),
        "{error}"
    );
    write("[last]\nabss = 0.6\n");
    let error = call(path, &arguments, 3).1;
    assert!(
        error.contains("tol.toml: section \"last\": there is no tolerance `abss`"),
        "{error}"
    );
}

#[test]
fn mistakes_are_told_on_one_line() {
    let folder = folder();
    let path = folder.path();
    for (arguments, code, part) in [
        (
            &["compare", "good.xml", "nowhere.xml"][..],
            3,
            "nowhere.xml",
        ),
        (&["compare", "good.xml", "nowhere.npz"], 3, "nowhere.npz"),
        (
            &["compare", "good.xml", "openvino"],
            2,
            "names no device; write openvino:CPU",
        ),
        (
            &["compare", "openvino:CPU", "openvino:GPU"],
            2,
            "a runtime needs a model",
        ),
        (
            &["compare", "good.xml", "good.xml", "-i", "y=1"],
            3,
            "there is no input \"y\"",
        ),
        (
            &[
                "compare",
                "good.xml",
                "openvino:CPU",
                "--python",
                "./no-python",
            ],
            6,
            "cannot run ./no-python",
        ),
        (
            &[
                "bisect",
                "good.xml",
                "--against",
                "openvino:CPU",
                "--python",
                "./no-python",
            ],
            6,
            "name a Python with --python",
        ),
    ] {
        let (out, error) = call(path, arguments, code);
        assert_eq!(out, "", "{arguments:?}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(error.contains(part), "{error}");
    }
    let error = call(
        path,
        &["compare", "good.xml", "good.xml", "--tol", "rell2=1"],
        2,
    )
    .1;
    assert!(
        error.contains("there is no tolerance `rell2`; there are abs, rel"),
        "{error}"
    );
}

#[test]
fn random_inputs_are_the_same_each_time_and_can_be_kept() {
    let folder = folder();
    let path = folder.path();
    let arguments = ["compare", "good.xml", "tanh.xml", "--json", "--save-inputs"];
    let first = json(path, &[&arguments[..], &["a.npz"]].concat(), 1);
    let second = json(path, &[&arguments[..], &["b.npz"]].concat(), 1);
    assert_eq!(first, second);
    assert_eq!(first["inputs"][0]["origin"], "random");
    let read = |name: &str| read_all(&path.join(name), &Limits::default()).expect("tensors");
    assert_eq!(read("a.npz"), read("b.npz"));
    assert_eq!(read("a.npz")[0].0, "x");
    let other = Tensor::new([2, 3], &[9f32; 6]).expect("six");
    npz::write(&path.join("c.npz"), [("x", &other)]).expect("written");
    let third = json(
        path,
        &["compare", "good.xml", "tanh.xml", "--json", "-i", "c.npz"],
        1,
    );
    assert_ne!(first["outputs"], third["outputs"]);
}

#[test]
fn random_inputs_of_one_shape_and_seed_are_not_equal() {
    let folder = folder();
    let path = folder.path();
    let model = project("ir-samples/ops/matrix/einsum-7/example-9.xml");
    let model = model.to_str().expect("UTF-8");
    let kept = |more: &[&str]| {
        let arguments = [
            "compare",
            model,
            model,
            "--save-inputs",
            "kept.npz",
            "--json",
        ];
        json(path, &[&arguments, more].concat(), 0);
        read_all(&path.join("kept.npz"), &Limits::default()).expect("tensors")
    };
    let kept_seven = kept(&["-i", "0=random:seed=7", "-i", "1=random:seed=7"]);
    let [(_, first), (_, second)] = kept_seven.as_slice() else {
        panic!("two inputs");
    };
    assert_eq!(first.shape(), second.shape());
    assert_ne!(first, second);
    // Nor those that nobody gave, nor of seeds whose difference is that of the positions.
    for more in [&[][..], &["-i", "0=random:seed=1", "-i", "1=random:seed=0"]] {
        let kept = kept(more);
        assert_ne!(kept[0].1, kept[1].1, "{more:?}");
    }
}
