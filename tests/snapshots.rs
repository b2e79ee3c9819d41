//! Snapshots of models: what they see, what they let pass, what they name.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ovir::graph::Builder;
use ovir::tensor::{ElementType, Tensor};
use ovir::testing::{Bounds, GivenInput, Inputs, Options, RANDOM, Snapshot, assert_model_snapshot};
use ovir::{Limits, Model};
use proptest::prelude::*;

use crate::samples::{inputs, samples};
use crate::support::{each, project};

/// Blocks of the model below.
const BLOCKS: usize = 24;

/// Channels and the size of an image: in release builds the activations have more than 50 MB.
const SHAPE: [usize; 4] = match cfg!(debug_assertions) {
    true => [1, 8, 24, 24],
    false => [1, 16, 160, 160],
};

/// A model of many layers, whose scale in block `at` is `factor` times what it was.
fn net(at: Option<usize>, factor: f32) -> Model {
    let mut graph = Builder::new();
    let dims = SHAPE.map(|d| d.to_string()).join(",");
    let x = graph.parameter("x", ElementType::F32, dims.parse().expect("a shape"));
    let mut y = x;
    for block in 0..BLOCKS {
        let factor = match at {
            Some(at) if at != block => 1.0,
            _ => factor,
        };
        let name = |what: &str| format!("block{block}/{what}");
        let channels = 0..SHAPE[1];
        let scales: Vec<f32> = channels
            .map(|c| (1.0 + ((7 * block + 3 * c) % 11) as f32 / 13.0) * factor)
            .collect();
        let scale = Tensor::new([1, SHAPE[1], 1, 1], &scales).expect("scales");
        let scale = graph.constant(&name("scale"), scale);
        let scaled = graph
            .add(&name("mul"), "Multiply", "opset1", &[], &[y, scale])
            .expect("mul");
        let shift = graph.constant(&name("shift"), Tensor::scalar(-0.25f32));
        let shifted = graph
            .add(&name("add"), "Add", "opset1", &[], &[scaled, shift])
            .expect("add");
        y = graph
            .add(&name("tanh"), "Tanh", "opset1", &[], &[shifted])
            .expect("tanh");
        if block % 4 == 3 {
            y = graph
                .add(&name("skip"), "Add", "opset1", &[], &[y, x])
                .expect("skip");
        }
    }
    let axes = graph.constant("axes", Tensor::vector(&[2i64, 3]));
    let mean = graph
        .add("mean", "ReduceMean", "opset1", &[], &[y, axes])
        .expect("mean");
    graph.result("features", y);
    graph.result("mean", mean);
    graph.build("net").expect("a model")
}

fn record(model: &Model, options: &Options) -> Snapshot {
    let inputs = 0..model.inputs().len();
    let inputs: Vec<GivenInput> = inputs
        .map(|index| GivenInput::random(model, index, 5, &Limits::default()).expect("an input"))
        .collect();
    Snapshot::record(model, &inputs, options).expect("a snapshot")
}

fn traced() -> Options {
    let mut options = Options::default();
    options.trace = true;
    options
}

#[test]
fn last_bits_pass_and_the_first_layer_that_moved_is_named() {
    let old = record(&net(None, 1.0), &traced());
    let text = old.to_string();
    assert!(text.len() < 60_000, "{} bytes", text.len());
    let old: Snapshot = text.parse().expect("a snapshot");
    let options = Options::of(&old);
    let again = record(&net(None, 1.0), &options);
    assert_eq!(again.to_string(), text);
    // Every weight is another one, by its last bit.
    let near = record(&net(None, 1.0 + 1e-7), &options);
    assert_ne!(near.to_string(), text);
    let changes = old.changes(&near);
    assert!(changes.is_empty(), "{changes}");
    assert!(changes.compared >= 3 * BLOCKS);
    for block in [0, 13, BLOCKS - 1] {
        let changes = old.changes(&record(&net(Some(block), 1.001), &options));
        let first = changes.first().expect("a layer that moved");
        assert_eq!(first.name, format!("\"block{block}/mul\""));
        assert_eq!(
            (first.kind.as_str(), first.weights_changed),
            ("Multiply-1", Some(true))
        );
        assert_eq!(first.inputs, Some(Inputs::Same));
        let distance = first.relative_l2.expect("an estimate");
        assert!((3e-4..3e-3).contains(&distance), "{distance}");
        let text = changes.to_string();
        assert!(
            text.contains("its inputs are unchanged: its weights are other ones"),
            "{text}"
        );
    }
    let mut compiled = Options::of(&old);
    compiled.compiled = true;
    let changes = old.changes(&record(&net(None, 1.0), &compiled));
    assert!(changes.is_empty() && changes.compared == 0, "{changes}");
    let changes = old.changes(&record(&net(Some(BLOCKS - 2), 1.1), &compiled));
    assert!(!changes.outputs.is_empty() && changes.layers.is_empty());
}

#[test]
fn bounds_in_the_text_are_honoured() {
    let changed = record(&net(Some(3), 1.001), &traced());
    let text = record(&net(None, 1.0), &traced()).to_string();
    let default = text
        .lines()
        .find(|l| l.starts_with("tolerance"))
        .expect("a tolerance");
    let with = |lines: &str| {
        let edited = text
            .replace(default, lines)
            .parse::<Snapshot>()
            .expect("a snapshot");
        edited.changes(&changed)
    };
    assert!(!with(default).is_empty());
    assert!(with("tolerance relative-l2=1e-2 element=1e-1").is_empty());
    let changes = with(&format!("{default}\ntolerance \"block3/*\" skip"));
    assert_eq!(changes.first().expect("moved").name, "\"block4/mul\"");
    assert_eq!(changes.first().expect("moved").inputs, Some(Inputs::Same));
    let changes = with(&format!(
        "{default}\ntolerance \"block3/*\" relative-l2=0.5 element=0.5"
    ));
    assert!(matches!(changes.first().expect("moved").inputs, Some(Inputs::Within(d)) if d > 1e-4));
    assert!(
        with(&format!("{default}\ntolerance \"*\" skip"))
            .layers
            .is_empty()
    );
}

#[test]
fn ids_order_and_numbered_names_do_not_count() {
    let model = |swapped: bool, number: usize| {
        let mut graph = Builder::new();
        let x = graph.parameter("x", ElementType::F32, "2,3".parse().expect("a shape"));
        let unary = |graph: &mut Builder, kind: &str, number: usize| {
            let name = format!("{kind}_{number}");
            graph
                .add(&name, kind, "opset1", &[], &[x])
                .expect("a layer")
        };
        let (a, b) = if swapped {
            let b = unary(&mut graph, "Exp", number);
            (unary(&mut graph, "Tanh", number + 1), b)
        } else {
            let a = unary(&mut graph, "Tanh", number);
            (a, unary(&mut graph, "Exp", number + 7))
        };
        let name = format!("Add_{number}");
        let sum = graph
            .add(&name, "Add", "opset1", &[], &[a, b])
            .expect("a sum");
        graph.result("y", sum);
        graph.build("sums").expect("a model")
    };
    let [a, b] = [model(false, 3), model(true, 4711)].map(|m| record(&m, &traced()).to_string());
    assert_eq!(a, b);
    assert!(a.contains("#Add.1 Add-1 (#Tanh.1, #Exp.1)"), "{a}");
}

#[test]
fn structure_is_compared_as_text() {
    let model = |axes: &str, last: &str| {
        let mut graph = Builder::new();
        let x = graph.parameter("x", ElementType::F32, "2,3".parse().expect("a shape"));
        let y = graph
            .add("soft", "SoftMax", "opset8", &[("axis", axes)], &[x])
            .expect("softmax");
        let y = graph
            .add("last", last, "opset1", &[], &[y])
            .expect("a layer");
        graph.result("y", y);
        graph.build("softmax").expect("a model")
    };
    for full_layers in [0, 200] {
        let mut options = traced();
        options.full_layers = full_layers;
        let old = record(&model("1", "Exp"), &options);
        let changes = old.changes(&record(&model("0", "Exp"), &options));
        assert_eq!(changes.structure.len(), 2, "{changes}");
        assert!(
            changes.structure[0].starts_with("- \"soft\" SoftMax-8"),
            "{changes}"
        );
        assert!(
            changes.structure[1].starts_with("+ \"soft\" SoftMax-8"),
            "{changes}"
        );
        assert!(changes.layers.is_empty());
        let changes = old.changes(&record(&model("1", "Tanh"), &options));
        assert!(
            changes.structure.iter().all(|line| line.contains("last")),
            "{changes}"
        );
        if full_layers > 0 {
            assert!(
                old.to_string()
                    .contains("\"soft\" SoftMax-8 (\"x\") axis=1 -> f32[2,3]")
            );
        }
    }
}

#[test]
fn other_inputs_are_told_and_nothing_is_compared() {
    let model = net(None, 1.0);
    let old = record(&model, &traced());
    let other = GivenInput::random(&model, 0, 6, &Limits::default()).expect("an input");
    let new = Snapshot::record(&model, &[other], &traced()).expect("a snapshot");
    let changes = old.changes(&new);
    assert_eq!(changes.inputs.len(), 1);
    assert!(changes.layers.is_empty() && changes.outputs.is_empty());
    assert!(
        changes.to_string().contains("from `random:seed=5`"),
        "{changes}"
    );
}

#[test]
fn every_sample_has_a_snapshot_that_is_read_back() {
    each(
        samples("ops").into_iter().map(|s| (s.0.clone(), s)),
        |(_, path)| {
            let Ok(model) = Model::read(&path) else {
                return;
            };
            let given: Vec<GivenInput> = inputs(&model, &path)
                .into_iter()
                .map(|(name, tensor)| GivenInput {
                    index: model.find_input(&name).expect("an input"),
                    tensor,
                    source: "given".to_owned(),
                })
                .collect();
            for full_layers in [0, usize::MAX] {
                let mut options = traced();
                options.full_layers = full_layers;
                let snapshot = Snapshot::record(&model, &given, &options).expect("a snapshot");
                let text = snapshot.to_string();
                let read: Snapshot = text.parse().unwrap_or_else(|e| panic!("{e}\n{text}"));
                assert_eq!(read.to_string(), text);
                let changes = read.changes(&snapshot);
                assert!(changes.is_empty(), "{changes}\n{text}");
                options.compiled = true;
                let compiled = Snapshot::record(&model, &given, &options).expect("a snapshot");
                let changes = read.changes(&compiled);
                assert!(changes.is_empty(), "compiled: {changes}\n{text}");
            }
        },
    );
}

#[test]
fn what_cannot_be_read_is_told_by_line() {
    let text = record(&net(None, 1.0), &traced()).to_string();
    let lines: Vec<&str> = text.lines().collect();
    let at = |start: &str| {
        lines
            .iter()
            .position(|l| l.starts_with(start))
            .expect("a line")
    };
    for (line, new, message) in [
        (
            0,
            "ovir snapshot 2",
            "expected `ovir snapshot 1`, found `ovir snapshot 2`",
        ),
        (at("seed"), "seed x", "expected a seed, found `x`"),
        (
            at("tolerance"),
            "tolerance relative-l2=x",
            "`relative-l2=x` is no bound",
        ),
        (
            at("layers"),
            "layers some",
            "expected `full` or `hashed`, found `some`",
        ),
        (
            at("\"block2/add\""),
            "\"block2/add\" Add-1 (\"nobody\") -> f32[]",
            "no layer \"nobody\"",
        ),
        (
            at("\"block2/add\""),
            "\"block1/add\" Add-1 ()",
            "two layers \"block1/add\"",
        ),
        (
            at("\"block2/add\"") + 1,
            "  l2=1 max=two",
            "expected a number, found `max=two`",
        ),
        (
            at("output 1"),
            "output 2 \"mean\" f32[1]",
            "output 2 is out of order",
        ),
        (at("output 0") + 1, "  size=1", "unexpected `size`"),
    ] {
        let mut edited = lines.clone();
        edited[line] = new;
        let error = edited
            .join("\n")
            .parse::<Snapshot>()
            .expect_err(new)
            .to_string();
        assert!(
            error.starts_with(&format!("line {}: ", line + 1)),
            "{error}"
        );
        assert!(error.contains(message), "{error}");
    }
    assert!("".parse::<Snapshot>().is_err());
}

proptest! {
    #[test]
    fn no_text_is_too_odd_to_be_read(cut: prop::sample::Index, by in "[ -~\n\"#@^]{0,8}", len in 0usize..9) {
        let text = record(&small(1.0), &traced()).to_string();
        let at = cut.index(text.len());
        let end = (at + len).min(text.len());
        if text.is_char_boundary(at) && text.is_char_boundary(end) {
            let edited = format!("{}{by}{}", &text[..at], &text[end..]);
            if let Ok(read) = edited.parse::<Snapshot>() {
                let _ = read.changes(&read).to_string();
                let _ = read.to_string();
            }
        }
    }
}

fn small(factor: f32) -> Model {
    let mut graph = Builder::new();
    let x = graph.parameter("x", ElementType::F32, "2,3".parse().expect("a shape"));
    let scale = graph.constant("scale", Tensor::scalar(2.0 * factor));
    let y = graph
        .add("scaled", "Multiply", "opset1", &[], &[x, scale])
        .expect("a product");
    let axis = graph.constant("axis", Tensor::scalar(0i64));
    let y = graph.add(
        "halves",
        "Split",
        "opset1",
        &[("num_splits", "2")],
        &[y, axis],
    );
    let y = Builder::output(y.expect("halves"), 1);
    graph.result("y", y);
    graph.build("small").expect("a model")
}

#[test]
fn insta_keeps_what_is_near() {
    let mut settings = insta::Settings::new();
    settings.set_snapshot_path(project("snapshots/testing"));
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| {
        assert_model_snapshot!(small(1.0), RANDOM, name: "small", trace: true);
        assert_model_snapshot!(small(1.0 + 2e-7), RANDOM, name: "small", trace: true);
        let given = [(
            "x",
            Tensor::new([2, 3], &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0]).expect("six"),
        )];
        let bounds: Bounds = "1e-5".parse().expect("bounds");
        assert_model_snapshot!(small(1.0), given, name: "small-given", seed: 3, bounds: bounds);
    });
    // Insta does as it is told: then nothing fails.
    if std::env::var_os("INSTA_UPDATE").is_some() {
        return;
    }
    // A copy, so that what waits for review does not lie among the snapshots.
    let folder = tempfile::tempdir().expect("a folder");
    let (kept, copy) = (
        project("snapshots/testing/small.snap"),
        folder.path().join("small.snap"),
    );
    std::fs::copy(&kept, &copy).expect("a copy");
    let before = std::fs::read(&copy).expect("a snapshot");
    settings.set_snapshot_path(folder.path());
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        settings.bind(|| {
            assert_model_snapshot!(small(1.001), RANDOM, name: "small", trace: true);
        });
    }));
    assert!(outcome.is_err(), "a change of 1e-3 is told");
    assert_eq!(std::fs::read(&copy).expect("a snapshot"), before);
}
