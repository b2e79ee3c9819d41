//! The command line as a user meets it: what it prints, where, and the exit code.

use std::path::{Path, PathBuf};
use std::process::Output;

use ovir::Limits;
use ovir::io::{npy, npz, read_all, safetensors};
use ovir::tensor::{ElementType, Tensor};

use crate::program::ovir;
use crate::support::project;

const GATHER: &str = "ir-samples/ops/movement/gather-8/example-7.xml";

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

/// What a successful call prints.
fn ok(arguments: &[&str]) -> String {
    let output = ovir(arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
    stdout(&output)
}

/// What a failing call says, on one channel, with its exit code.
fn fails(arguments: &[&str], code: i32) -> String {
    let output = ovir(arguments);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{text}");
    assert_eq!(stdout(&output), "", "nothing is printed before an error");
    text
}

fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::new();
    settings.set_snapshot_path(project("snapshots/cli"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

const INPUTS: [&str; 4] = ["-i", "data=[1,2,3,4,5]", "-i", "indices=[3,10,-20]"];

fn gather(more: &[&str]) -> Vec<&'static str> {
    let mut all = vec!["eval", GATHER];
    all.extend(INPUTS);
    all.extend(
        more.iter()
            .map(|&s| &*Box::leak(s.to_owned().into_boxed_str())),
    );
    all
}

#[test]
fn sessions() {
    snapshot("eval", &ok(&gather(&[])));
    snapshot("eval-json", &ok(&gather(&["--json"])));
    snapshot("inspect", &ok(&["inspect", GATHER, "--layers"]));
    snapshot(
        "inspect-json",
        &ok(&["inspect", GATHER, "--layers", "--json"]),
    );
    snapshot("check", &ok(&["check", GATHER]));
    snapshot("shapes", &ok(&["shapes", GATHER]));
    snapshot(
        "shapes-json",
        &ok(&["shapes", GATHER, "--json", "--shape", "data=5"]),
    );
    snapshot("ops", &ok(&["ops"]));
    for command in [
        "eval",
        "inspect",
        "check",
        "shapes",
        "diff",
        "bench",
        "profile",
        "memory",
        "ops",
        "completions",
        "man",
    ] {
        snapshot(&format!("help-{command}"), &ok(&["help", command]));
    }
}

#[test]
fn check_shows_every_problem_with_its_line() {
    let broken = "ir-samples/broken/attribute/boolean-misspelt.xml";
    let output = ovir(&["check", broken]);
    assert_eq!(output.status.code(), Some(1));
    snapshot("check-broken", &stdout(&output));
    let output = ovir(&["check", broken, "--json"]);
    assert_eq!(output.status.code(), Some(1));
    snapshot("check-broken-json", &stdout(&output));
    fails(&["check", "nowhere.xml"], 3);
}

#[test]
fn errors_have_their_exit_codes() {
    let bomb = "ir-samples/broken/structure/operation-not-in-opset.xml";
    let cases: [(&[&str], i32, &str); 9] = [
        (&["frobnicate"], 2, "unrecognized subcommand"),
        (&["eval", GATHER, "--pritn", "full"], 2, "--print"),
        (
            &["eval", GATHER, "-o", "x.txt"],
            2,
            "extension is not .npz, .npy or .safetensors",
        ),
        (&["eval", "nowhere.xml"], 3, "nowhere.xml: No such file"),
        (
            &["eval", GATHER, "-i", "dta=[1]"],
            3,
            "did you mean \"data\"?",
        ),
        (
            &["eval", GATHER, "-i", "data=[1,2,3,4,5]"],
            3,
            "no value for input \"indices\" i64[3]",
        ),
        (
            &["eval", GATHER, "-i", "data=[1.5,2,3,4,5]"],
            3,
            "input \"data\"",
        ),
        (&["eval", bomb], 4, "not supported"),
        (
            &["shapes", GATHER, "--shape", "data"],
            2,
            "expected NAME=DIMS",
        ),
    ];
    for (arguments, code, phrase) in cases {
        let text = fails(arguments, code);
        assert!(text.contains(phrase), "{arguments:?}: {text}");
    }
}

#[test]
fn every_unsupported_operation_is_named_at_once() {
    let text = fails(
        &[
            "eval",
            "ir-samples/broken/structure/operation-not-in-opset.xml",
        ],
        4,
    );
    assert!(text.contains("Mish (opset1): 1"), "{text}");
}

fn temporary() -> (tempfile::TempDir, impl Fn(&str) -> PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().to_owned();
    (folder, move |name: &str| path.join(name))
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn outputs_are_written_and_read_back() {
    let (_folder, at) = temporary();
    let expected = Tensor::vector(&[4i32, 0, 0]);
    for name in ["y.npz", "y.npy", "y.safetensors"] {
        let path = at(name);
        let printed = ok(&gather(&["-o", text(&path)]));
        assert_eq!(
            printed,
            format!("output: i32[3]\nwrote {}\n", path.display())
        );
        let read = read_all(&path, &Limits::default()).expect("what was written");
        assert_eq!(read[0].1, expected);
        if name != "y.npy" {
            assert_eq!(read[0].0, "output");
        }
    }
    let path = at("indexed.npz");
    ok(&gather(&[
        "-o",
        text(&path),
        "--by-index",
        "--print",
        "none",
    ]));
    let read = read_all(&path, &Limits::default()).expect("what was written");
    assert_eq!(read[0].0, "0");
}

#[test]
fn one_file_fills_all_inputs() {
    let (_folder, at) = temporary();
    let data = Tensor::vector(&[1i32, 2, 3, 4, 5]);
    let indices = Tensor::vector(&[3i64, 10, -20]);
    let by_name = at("named.npz");
    npz::write(&by_name, [("data", &data), ("indices", &indices)]).expect("written");
    let by_index = at("indexed.safetensors");
    safetensors::write(&by_index, [("0", &data), ("1", &indices)]).expect("written");
    let single = at("data.npy");
    npy::write(&single, &data).expect("written");
    let json = "ir-samples/ops/movement/gather-8/example-7.inputs.json";
    let expected = "output: i32[3]\n[4, 0, 0]\n";
    for file in [text(&by_name), text(&by_index), json] {
        assert_eq!(ok(&["eval", GATHER, "-i", file]), expected, "{file}");
    }
    let data = format!("data={}", single.display());
    assert_eq!(
        ok(&["eval", GATHER, "-i", &data, "-i", "1=[3,10,-20]"]),
        expected
    );
    // A later option wins.
    let all = ["eval", GATHER, "-i", json, "-i", "indices=[0,1,2]"];
    assert_eq!(ok(&all), "output: i32[3]\n[1, 2, 3]\n");
    let other = at("other.npz");
    npz::write(&other, [("x", &indices)]).expect("written");
    let text = fails(&["eval", GATHER, "-i", text(&other)], 3);
    assert!(
        text.contains("it has \"x\", the model takes \"data\", \"indices\""),
        "{text}"
    );
}

#[test]
fn random_indices_stay_in_range_and_repeat_with_their_seed() {
    let run = |seed: &str| {
        let indices = format!("indices=random:seed={seed}");
        ok(&["eval", GATHER, "-i", "data=[1,2,3,4,5]", "-i", &indices])
    };
    assert_eq!(run("7"), run("7"));
    let different = (0..20)
        .map(|seed| run(&seed.to_string()))
        .collect::<Vec<_>>();
    assert!(different.iter().any(|r| *r != different[0]));
    for printed in different {
        // Out of range would give a zero.
        assert!(!printed.contains(['0']), "{printed}");
    }
}

#[test]
fn inner_tensors_are_dumped_without_changing_a_result() {
    let (_folder, at) = temporary();
    let folder = at("dump");
    let arguments = [
        "--dump",
        "type:gather",
        "ind*",
        "axis",
        "--to",
        text(&folder),
    ];
    let printed = ok(&gather(&arguments));
    assert!(
        printed.starts_with("output: i32[3]\n[4, 0, 0]\n"),
        "{printed}"
    );
    assert!(printed.ends_with(&format!("dumped 3 tensors to {}\n", folder.display())));
    let read = |name: &str| npy::read(&folder.join(name), &Limits::default()).expect("dumped");
    assert_eq!(read("Gather.npy"), Tensor::vector(&[4i32, 0, 0]));
    assert_eq!(read("indices.npy"), Tensor::vector(&[3i64, 10, -20]));
    assert_eq!(read("axis.npy"), Tensor::scalar(0i64));
    let file = at("dump.npz");
    ok(&gather(&["--dump", "Gather", "--to", text(&file)]));
    let read = read_all(&file, &Limits::default()).expect("dumped");
    assert_eq!(read, [("Gather".to_owned(), Tensor::vector(&[4i32, 0, 0]))]);
    let nothing = fails(&gather(&["--dump", "Gahter", "--to", text(&file)]), 2);
    assert!(
        nothing.contains("no layer matches `Gahter`; did you mean `Gather`?"),
        "{nothing}"
    );
}

#[test]
fn variables_are_written_and_read_back() {
    let (_folder, path) = temporary();
    let file = path("state.npz");
    let model = "ir-samples/ops/infrastructure/assign-6/example-1.xml";
    let inputs = "ir-samples/ops/infrastructure/assign-6/example-1.inputs.json";
    let eval = ["eval", model, "-i", inputs];
    let first = ok(&[&eval[..], &["--state-output", text(&file)]].concat());
    let second = ok(&[&eval[..], &["--state", text(&file)]].concat());
    let after = |printed: &str, name: &str| {
        let start = printed.find(&format!("{name}: ")).expect("an output") + name.len();
        printed[start..].split("\nwrote").next().map(str::to_owned)
    };
    // What the first left in the variable is what the second finds there.
    let found = after(&second, "state").expect("text");
    let found = found.split("\nnew_value").next().expect("text");
    assert_eq!(
        Some(found.trim()),
        after(&first, "new_value").as_deref().map(str::trim)
    );
    let message = fails(&["eval", GATHER, "--state", text(&file)], 2);
    assert!(message.contains("the model has no variables"), "{message}");
    fails(&[&eval[..], &["--state", "nowhere.npz"]].concat(), 3);
}

#[test]
fn fragments_take_types_from_the_values() {
    let fragment = "ir-samples/fragments/movement/scatter-elements-update-12/layer-1.xml";
    let inputs = [
        "0=f32:[2,3,4,6]",
        "1=[1,0,0,-2,-1,2]",
        "2=f32:[10,20,30,40,70,60]",
        "3=[0]",
    ];
    let mut arguments = vec!["eval", fragment];
    for input in &inputs {
        arguments.extend(["-i", input]);
    }
    assert_eq!(ok(&arguments), "0: f32[4]\n[ 52,  13, 104,  76]\n");
}

/// A model of every type NumPy lacks, written and read as codes.
#[test]
fn types_that_numpy_lacks_pass_as_codes() {
    let (_folder, at) = temporary();
    for (ty, code) in [
        ("bf16", ElementType::U16),
        ("f8e4m3", ElementType::U8),
        ("f8e5m2", ElementType::U8),
        ("f8e8m0", ElementType::U8),
        ("u1", ElementType::U8),
        ("u2", ElementType::U8),
        ("u3", ElementType::U8),
        ("u4", ElementType::U8),
        ("u6", ElementType::U8),
        ("i4", ElementType::I8),
        ("nf4", ElementType::U8),
        ("f4e2m1", ElementType::U8),
    ] {
        let model = at("model.xml");
        std::fs::write(
            &model,
            format!(
                r#"<layer type="Squeeze"><input><port precision="{port}"><dim>1</dim><dim>3</dim>
                </port></input><output><port precision="{port}"/></output></layer>"#,
                port = ty
            ),
        )
        .expect("written");
        let codes = match code {
            ElementType::U16 => Tensor::new([1, 3], &[0x3f80u16, 0, 0x4000]),
            ElementType::I8 => Tensor::new([1, 3], &[-1i8, 0, 7]),
            _ => Tensor::new([1, 3], &[1u8, 0, 1]),
        };
        let codes = codes.expect("three codes");
        let (input, output) = (at("x.npy"), at("y.npy"));
        npy::write(&input, &codes).expect("written");
        let value = format!("0={}", input.display());
        ok(&["eval", text(&model), "-i", &value, "-o", text(&output)]);
        let read = npy::read(&output, &Limits::default()).expect("what was written");
        assert_eq!(read, codes.with_shape([3]).expect("three codes"), "{ty}");
    }
}

/// What `ovir bench` says in JSON of the example of Gather.
fn bench(more: &[&str]) -> serde_json::Value {
    let arguments = [&["bench", GATHER, "--json", "-i", INPUTS[1]], more].concat();
    serde_json::from_str(&ok(&arguments)).expect("JSON")
}

#[test]
fn bench_counts_and_times_evaluations() {
    let json = bench(&["-n", "3", "--threads", "2", "-i", INPUTS[3]]);
    let count = |json: &serde_json::Value, name: &str| json[name].as_u64();
    assert_eq!(count(&json, "threads"), Some(2));
    assert_eq!(count(&json, "layers"), Some(5));
    assert!(count(&json, "compiled_layers").is_some_and(|count| count <= 5));
    for name in ["read_ns", "compile_ns", "first_ns"] {
        assert!(count(&json, name).is_some_and(|ns| ns > 0), "{name}");
    }
    let times = |json: &serde_json::Value| -> Vec<u64> {
        let times = json["times_ns"].as_array().expect("a list");
        times.iter().filter_map(serde_json::Value::as_u64).collect()
    };
    let three = times(&json);
    assert_eq!(three.len(), 3);
    assert!(three.is_sorted());
    assert_eq!(count(&json, "median_ns"), Some(three[1]));
    assert_eq!(count(&json, "best_ns"), Some(three[0]));
    // An input without a value is random, and indices are drawn in range.
    assert_eq!(times(&bench(&["-n", "1"])).len(), 1);
    // No time is too short for a median.
    assert!(times(&bench(&["--seconds", "0"])).len() >= 5);
    // The evaluator compiles nothing.
    let json = bench(&["-n", "3", "--evaluator"]);
    assert!(json["compile_ns"].is_null() && json["compiled_layers"].is_null());
    assert_eq!(count(&json, "layers"), Some(5));
}

#[test]
fn threads_and_machines_do_not_matter() {
    let eval = |more: &[&str]| {
        let arguments = ["eval", GATHER, "--json", "-i", INPUTS[1], "-i", INPUTS[3]];
        ok(&[&arguments[..], more].concat())
    };
    let plain = eval(&[]);
    for more in [&["--threads", "1"][..], &["-t", "5"], &["--deterministic"]] {
        assert_eq!(eval(more), plain, "{more:?}");
    }
    // What `bench` compiles is evaluated as it was compiled.
    assert_eq!(bench(&["-n", "1", "--deterministic"])["layers"], 5);
}

#[test]
fn bench_prints_where_the_time_goes() {
    let printed = ok(&["bench", GATHER, "-n", "3"]);
    let (first, figures) = printed.split_once('\n').expect("lines");
    assert_eq!(first, GATHER);
    let names = figures.lines().filter_map(|line| line.split(' ').next());
    let names: Vec<_> = names.filter(|name| *name != "memory").collect();
    let expected = [
        "layers", "threads", "read", "compile", "first", "median", "runs",
    ];
    assert_eq!(names, expected);
    assert!(figures.contains("\nruns     3\n"), "{figures}");

    for more in [&["--layers"][..], &["--layers", "--evaluator"]] {
        let printed = ok(&[&["bench", GATHER, "-n", "3"], more].concat());
        let tables: Vec<_> = printed.split("\n\n").collect();
        let [_, operations, layers] = tables[..] else {
            panic!("{printed}");
        };
        assert!(operations.starts_with("operation "), "{operations}");
        assert!(layers.starts_with("layer "), "{layers}");
        let gather = |table: &str| table.lines().filter(|line| line.contains("Gather")).count();
        assert_eq!((gather(operations), gather(layers)), (1, 1), "{printed}");
        assert!(layers.contains(" i32[3] "), "{layers}");
        let shares = operations.lines().skip(1).map(|line| {
            let share = line
                .strip_suffix(" %")
                .and_then(|line| line.rsplit(' ').next());
            share
                .and_then(|share| share.parse().ok())
                .unwrap_or(f64::NAN)
        });
        let sum: f64 = shares.sum();
        assert!((99.0..101.0).contains(&sum), "{operations}");
    }
}

#[test]
fn bench_fails_as_other_commands_do() {
    let unsupported = "ir-samples/broken/structure/operation-not-in-opset.xml";
    let cases: [(&[&str], i32, &str); 9] = [
        (&[GATHER, "--layer"], 2, "--layers"),
        (&[GATHER, "-n", "0"], 2, "--runs"),
        (&[GATHER, "--threads", "0"], 2, "--threads"),
        (&[GATHER, "--seconds=-1"], 2, "--seconds"),
        (&[GATHER, "-n", "3", "--seconds", "1"], 2, "cannot be used"),
        (&[GATHER, "--layers", "--json"], 2, "cannot be used"),
        (&["nowhere.xml"], 3, "nowhere.xml: No such file"),
        (&[GATHER, "-i", "dta=[1]"], 3, "did you mean \"data\"?"),
        (&[unsupported], 4, "Mish (opset1): 1"),
    ];
    for (arguments, code, phrase) in cases {
        let text = fails(&[&["bench"], arguments].concat(), code);
        assert!(text.contains(phrase), "{arguments:?}: {text}");
    }
}
