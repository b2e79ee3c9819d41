//! `ovir snapshot` and `ovir stats` as a user meets them, and what `eval --dump` leaves alone.

use std::fs;
use std::path::Path;

use ovir::io::npz;
use ovir::{Limits, Model};
use serde_json::Value;

use crate::program::ovir_in as ovir;
use crate::support::project;

/// Squares, their squares, zeros, and zeros by zeros.
const POWERS: &str = r#"<?xml version="1.0"?>
<net name="powers" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="2,2" element_type="f32"/>
  <output><port id="0" precision="FP32" names="x"><dim>2</dim><dim>2</dim></port></output></layer>
<layer id="1" name="square" type="Multiply" version="opset1">
  <input><port id="0"/><port id="1"/></input>
  <output><port id="2" precision="FP32"><dim>2</dim><dim>2</dim></port></output></layer>
<layer id="2" name="fourth" type="MIDDLE" version="opset1">
  <input><port id="0"/><port id="1"/></input>
  <output><port id="2" precision="FP32"><dim>2</dim><dim>2</dim></port></output></layer>
<layer id="3" name="zero" type="Subtract" version="opset1">
  <input><port id="0"/><port id="1"/></input>
  <output><port id="2" precision="FP32"><dim>2</dim><dim>2</dim></port></output></layer>
<layer id="4" name="ratio" type="Divide" version="opset1">
  <input><port id="0"/><port id="1"/></input>
  <output><port id="2" precision="FP32"><dim>2</dim><dim>2</dim></port></output></layer>
<layer id="5" name="y" type="Result" version="opset1"><input><port id="0"/></input></layer>
<layer id="6" name="z" type="Result" version="opset1"><input><port id="0"/></input></layer>
</layers><edges>
<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
<edge from-layer="0" from-port="0" to-layer="1" to-port="1"/>
<edge from-layer="1" from-port="2" to-layer="2" to-port="0"/>
<edge from-layer="1" from-port="2" to-layer="2" to-port="1"/>
<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>
<edge from-layer="2" from-port="2" to-layer="3" to-port="1"/>
<edge from-layer="3" from-port="2" to-layer="4" to-port="0"/>
<edge from-layer="3" from-port="2" to-layer="4" to-port="1"/>
<edge from-layer="4" from-port="2" to-layer="5" to-port="0"/>
<edge from-layer="2" from-port="2" to-layer="6" to-port="0"/>
</edges></net>"#;

/// What a call prints, with its exit code.
fn run(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let output = ovir(folder, arguments);
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).expect("UTF-8");
    (output.status.code().expect("an exit code"), text)
}

fn json(folder: &Path, arguments: &[&str]) -> (i32, Value) {
    let output = ovir(folder, arguments);
    let value = serde_json::from_slice(&output.stdout).expect("JSON");
    (output.status.code().expect("an exit code"), value)
}

fn powers(folder: &Path, middle: &str) {
    let text = POWERS.replace("MIDDLE", middle);
    fs::write(folder.join("powers.xml"), text).expect("a model");
}

fn session(name: &str, text: &str) {
    let mut settings = insta::Settings::new();
    settings.set_snapshot_path(project("snapshots/cli"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn a_snapshot_is_recorded_tested_and_reviewed() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    powers(folder, "Multiply");
    let record = [
        "snapshot",
        "record",
        "powers.xml",
        "--trace",
        "-i",
        "x=[[1, 2], [3, 4]]",
    ];
    let (code, text) = run(folder, &record);
    assert_eq!(code, 0, "{text}");
    session("snapshot-record", &text);
    let snapshot = fs::read_to_string(folder.join("powers.ovir-snap")).expect("a snapshot");
    session("snapshot-text", &snapshot);
    assert_eq!(run(folder, &record).0, 0, "the same again");
    // The inputs are in the file.
    let (code, text) = run(folder, &["snapshot", "test", "powers.xml"]);
    assert_eq!(
        (code, text.as_str()),
        (0, "powers.xml: as recorded (4 layers, 2 outputs)\n")
    );
    assert_eq!(
        run(folder, &["snapshot", "test", "--compiled", "powers.xml"]).0,
        0
    );

    let (code, text) = run(folder, &["snapshot", "test", "powers.xml", "-i", "x=ones"]);
    assert_eq!(code, 1);
    assert!(
        text.contains("the inputs are not those of the snapshot"),
        "{text}"
    );
    powers(folder, "Add");
    let (code, text) = run(folder, &["snapshot", "test", "powers.xml"]);
    assert_eq!(code, 1);
    session("snapshot-test", &text);
    let pending = folder.join("powers.ovir-snap.new");
    assert!(pending.exists());
    let (code, report) = json(folder, &["snapshot", "test", "powers.xml", "--json"]);
    assert_eq!(
        (code, &report["models"][0]["status"]),
        (1, &Value::from("changed"))
    );
    assert_eq!(report["schema"], "ovir.snapshot/1");
    let (code, text) = run(folder, &["snapshot", "record", "powers.xml"]);
    assert_eq!(code, 1, "another snapshot stays: {text}");
    assert_eq!(
        fs::read_to_string(folder.join("powers.ovir-snap")).expect("a file"),
        snapshot
    );

    let (code, text) = run(folder, &["snapshot", "review"]);
    assert_eq!(code, 1);
    assert!(text.contains("1 wait: --accept or --reject"), "{text}");
    assert_eq!(run(folder, &["snapshot", "review", "--reject"]).0, 0);
    assert!(!pending.exists());
    assert_eq!(run(folder, &["snapshot", "test", "powers.xml"]).0, 1);
    let (code, text) = run(folder, &["snapshot", "review", "powers.xml", "--accept"]);
    assert_eq!((code, text.lines().last()), (0, Some("accepted")));
    assert_eq!(run(folder, &["snapshot", "test", "powers.xml"]).0, 0);
    let (_, text) = run(folder, &["snapshot", "review"]);
    assert_eq!(text, "no snapshot waits for review\n");
}

#[test]
fn what_is_wrong_with_a_snapshot_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    powers(folder, "Multiply");
    let (code, text) = run(folder, &["snapshot", "test", "powers.xml"]);
    assert_eq!(code, 3);
    assert!(
        text.contains("powers.xml has no snapshot powers.ovir-snap"),
        "{text}"
    );
    let (code, text) = run(
        folder,
        &["snapshot", "record", "powers.xml", "--tol", "tight"],
    );
    assert_eq!(code, 2);
    assert!(text.contains("`--tol tight`"), "{text}");
    let twice = ["snapshot", "record", "powers.xml", "powers.onnx"];
    assert_eq!(run(folder, &twice).0, 2);
    assert_eq!(
        run(
            folder,
            &["snapshot", "record", "powers.xml", "--to", "kept"]
        )
        .0,
        0
    );
    let file = folder.join("kept/powers.ovir-snap");
    let text = fs::read_to_string(&file).expect("a snapshot");
    fs::write(&file, text.replacen("seed 0", "sed 0", 1)).expect("a file");
    let (code, text) = run(folder, &["snapshot", "test", "powers.xml", "--to", "kept"]);
    assert_eq!(code, 3);
    assert!(
        text.contains("powers.ovir-snap: line 3: unexpected `sed`"),
        "{text}"
    );
}

#[test]
fn statistics_name_the_first_layer_without_numbers() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    powers(folder, "Multiply");
    let input = ["-i", "x=[[300, 2], [1e-5, 4]]"];
    let call = |more: &[&'static str]| [&["stats", "powers.xml"], &input[..], more].concat();
    let (code, text) = run(folder, &call(&[]));
    assert_eq!(code, 0, "{text}");
    session("stats", &text);
    let (code, text) = run(folder, &call(&["--emulate", "f16"]));
    assert_eq!(code, 0, "{text}");
    session("stats-f16", &text);
    let (_, report) = json(folder, &call(&["--emulate", "f16", "--json"]));
    session(
        "stats-json",
        &serde_json::to_string_pretty(&report).expect("JSON"),
    );
    assert_eq!(report["first_nan"]["name"], "ratio");
    assert_eq!(
        report["emulation"]["suggested"],
        serde_json::json!(["square", "fourth"])
    );
    let kept = ["--emulate", "f16", "--ignore", "square", "fourth", "--json"];
    let (_, report) = json(folder, &call(&kept));
    assert_eq!(report["emulation"]["outputs"][1]["difference"]["lost"], 0);
    let (code, text) = run(folder, &call(&["--layers", "squar"]));
    assert_eq!(code, 2);
    assert!(text.contains("did you mean `square`?"), "{text}");
    let (_, text) = run(
        folder,
        &call(&["--layers", "type:Divide", "--sort", "name"]),
    );
    assert!(!text.contains("\nsquare"), "{text}");
}

#[test]
fn dumping_all_tensors_changes_no_bit() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = project("ir-samples/ops/infrastructure");
    let models = crate::support::files(&model, "xml");
    let mut dumped = 0;
    for path in models
        .iter()
        .filter(|path| path.with_extension("inputs.json").exists())
    {
        if !Model::read(path).is_ok_and(|model| model.unsupported().is_empty()) {
            continue;
        }
        let path = path.to_string_lossy();
        let inputs = path.replace(".xml", ".inputs.json");
        let [plain, npz_too, npy_too] = [&[][..], &["tensors.npz"], &["tensors"]].map(|to| {
            let mut all = vec!["eval", &path, "-i", &inputs, "-o", "outputs.npz"];
            if let [to] = to {
                all.extend(["--dump", "*", "--to", to]);
            }
            let (code, text) = run(folder.path(), &all);
            assert_eq!(code, 0, "{text}");
            fs::read(folder.path().join("outputs.npz")).expect("outputs")
        });
        assert!(plain == npz_too && plain == npy_too, "{path}");
        let file = folder.path().join("tensors.npz");
        let archive = npz::Archive::open(&file, &Limits::default()).expect("an archive");
        dumped += archive.names().count();
    }
    assert!(dumped > 0, "nothing was dumped");
}
