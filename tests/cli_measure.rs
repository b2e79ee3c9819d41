//! `ovir profile`, `ovir memory`, completions and manual pages as a user meets them.

use std::fs;

use serde_json::Value;

use crate::program::ovir;

const MODEL: &str = "docs/guide/models/classifier.xml";

fn ok(arguments: &[&str]) -> String {
    let output = ovir(arguments);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{told}");
    // Nobody looks: no bars.
    assert_eq!(told, "");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&ok(&[arguments, &["--json"]].concat())).expect("JSON")
}

#[test]
fn profile_counts_operations_of_layers_however_they_are_joined() {
    let of =
        |more: &[&str]| json(&[&["profile", MODEL, "-n", "2", "--threads", "1"], more].concat());
    let (compiled, plain) = (of(&[]), of(&["--evaluator"]));
    // Products of the three convolutions and the head; the rest is little.
    let products = 2 * (8 * 1024 * 27 + 16 * 256 * 72 + 16 * 256 * 144 + 160);
    for document in [&compiled, &plain] {
        assert_eq!(document["evaluations"], 2);
        let flops = document["flops"].as_u64().expect("a number");
        assert!(
            (products..products + products / 10).contains(&flops),
            "{flops}"
        );
        let layers = document["layers"].as_array().expect("layers");
        let sum: u64 = layers
            .iter()
            .filter_map(|layer| layer["time_ns"].as_u64())
            .sum();
        let total = document["time_ns"].as_u64().expect("a number");
        // Means are rounded down.
        assert!(
            sum <= total && sum + 2 * layers.len() as u64 >= total,
            "{sum} {total}"
        );
    }
    assert_eq!(compiled["flops"], plain["flops"]);
    assert_eq!(
        (&compiled["compiled"], &plain["compiled"]),
        (&true.into(), &false.into())
    );
    assert_eq!(plain["layers"].as_array().expect("layers").len(), 23);
    let first = |document: &Value| -> u64 {
        let layers = document["layers"].as_array().expect("layers");
        let conv = layers
            .iter()
            .find(|l| l["type"].as_str().is_some_and(|t| t.starts_with("Conv")));
        conv.expect("a convolution")["bytes"]
            .as_u64()
            .expect("bytes")
    };
    // Image, filters and result; joined with bias and Relu, the bias too.
    let bytes = 4 * (3 * 1024 + 8 * 27 + 8 * 1024);
    assert_eq!(first(&plain), bytes);
    assert_eq!(first(&compiled), bytes + 4 * 8);
}

#[test]
fn profile_counts_what_is_picked_of_a_table() {
    let sample = "ir-samples/ops/movement/gather-8/example-7.xml";
    let inputs = ["-i", "data=[1,2,3,4,5]", "-i", "indices=[3,10,-20]"];
    for more in [&[][..], &["--evaluator"]] {
        let document = json(&[&["profile", sample][..], &inputs, more].concat());
        let layers = document["layers"].as_array().expect("layers");
        let gather = layers.iter().find(|layer| layer["type"] == "Gather");
        // Three of five elements, the indices, the axis and the result.
        let bytes = 4 * 3 + 8 * 3 + 8 + 4 * 3;
        assert_eq!(gather.expect("the layer")["bytes"], bytes);
    }
}

#[test]
fn profile_writes_a_trace() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.json");
    let trace = path.to_str().expect("UTF-8");
    let printed = ok(&["profile", MODEL, "-n", "3", "--trace", trace, "--top", "1"]);
    assert!(printed.contains(&format!("\nwrote {trace}\n")), "{printed}");
    let document: Value = serde_json::from_slice(&fs::read(&path).expect("written")).expect("JSON");
    let events = document["traceEvents"].as_array().expect("events");
    let runs: Vec<_> = events
        .iter()
        .filter(|event| event["cat"] == "evaluation")
        .collect();
    assert_eq!(runs.len(), 3);
    let number = |event: &Value, key: &str| event[key].as_f64().expect("a number");
    for event in events {
        assert_eq!(event["ph"], "X");
        let within = runs.iter().any(|run| {
            let (start, end) = (
                number(event, "ts"),
                number(event, "ts") + number(event, "dur"),
            );
            start >= number(run, "ts") && end <= number(run, "ts") + number(run, "dur") + 1e-3
        });
        assert!(within, "{event}");
    }
    assert_eq!(ovir(&["profile", MODEL, "-n", "0"]).status.code(), Some(2));
    assert_eq!(ovir(&["profile", "nowhere.xml"]).status.code(), Some(3));
}

#[test]
fn memory_asks_for_what_it_needs() {
    let open = ["memory", MODEL, "--shape", "image=?,3,32,32"];
    let output = ovir(&open);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("open are \"image\" f32[?,3,32,32]"), "{told}");
    let image = ["-i", "image=docs/guide/models/image.npy"];
    let measured = json(&[&open[..], &image].concat());
    let counted = json(&["memory", MODEL]);
    assert_eq!(
        (&measured["measured"], &counted["measured"]),
        (&true.into(), &false.into())
    );
    assert_eq!(measured["peak_bytes"], counted["peak_bytes"]);
    let twice = json(&["memory", MODEL, "--shape", "image=2,3,32,32"]);
    assert_eq!(
        twice["peak_bytes"].as_u64(),
        counted["peak_bytes"].as_u64().map(|bytes| 2 * bytes)
    );
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = ok(&["completions", shell]);
        assert!(
            text.contains("inspect") && text.contains("no-warnings"),
            "{shell}"
        );
    }
    assert_eq!(ovir(&["completions", "bsh"]).status.code(), Some(2));
    let page = ok(&["man"]);
    assert!(
        page.contains(".TH ovir 1") && page.contains("ovir\\-eval(1)"),
        "{page}"
    );
    let folder = tempfile::tempdir().expect("a folder");
    let printed = ok(&["man", folder.path().to_str().expect("UTF-8")]);
    let count = fs::read_dir(folder.path()).expect("pages").count();
    assert!(
        printed.starts_with(&format!("wrote {count} pages")),
        "{printed}"
    );
    let page = fs::read_to_string(folder.path().join("ovir-check.1")).expect("a page");
    assert!(page.contains("no\\-warnings"), "{page}");
}

#[test]
fn misspelt_commands_and_options_are_told_with_what_is_meant() {
    let cases: [(&[&str], &str); 4] = [
        (&["inspct", MODEL], "'inspect'"),
        (&["eval", MODEL, "--pritn", "full"], "'--print'"),
        (&["eval", MODEL, "--print", "ful"], "'full'"),
        (&["diff", MODEL, MODEL, "--wieghts"], "'--weights'"),
    ];
    for (arguments, hint) in cases {
        let output = ovir(arguments);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(hint), "{arguments:?}: {told}");
    }
}
