//! Searches with faults put into models, against the evaluator itself as a runtime.

use super::*;
use crate::compare::{Executed, Tap};
use crate::graph::Builder;
use crate::metrics::Tolerance;
use crate::tensor::ElementType;

/// A chain `x → scale → shift → relu → sum → out`, with a branch past it; `fault` changes one layer.
fn chain(fault: &str) -> Model {
    let pick = |name: &str, wrong: &'static str, right: &'static str| {
        if fault == name { wrong } else { right }
    };
    let mut graph = Builder::new();
    let x = graph.parameter("x", ElementType::F32, "2,8".parse().expect("a shape"));
    let weight = if fault == "weight" { 1.25f32 } else { 1.5 };
    let weight = graph.constant("weight", Tensor::scalar(weight));
    let one = graph.constant("one", Tensor::scalar(0.125f32));
    let mut add = |name: &str, kind: &str, attributes: &[(&str, &str)], inputs: &[_]| {
        graph
            .add(name, kind, "opset8", attributes, inputs)
            .expect("a layer")
    };
    let scale = add("scale", "Multiply", &[], &[x, weight]);
    let shift = add(
        "shift",
        pick("shift", "Subtract", "Add"),
        &[],
        &[scale, one],
    );
    let relu = add("relu", pick("relu", "Tanh", "ReLU"), &[], &[shift]);
    let clamp = [("min", "-1"), ("max", pick("clamp", "0.25", "2"))];
    let clamp = add("clamp", "Clamp", &clamp, &[relu]);
    let swapped = fault == "order";
    let ends = if swapped {
        [scale, clamp]
    } else {
        [clamp, scale]
    };
    let last = add("last", "Subtract", &[], &ends);
    graph.result("out", last);
    graph.build("chain").expect("a model")
}

fn input() -> [(usize, Tensor); 1] {
    let data: Vec<f32> = (0..16).map(|i| (i as f32 - 7.0) * 0.31).collect();
    [(0, Tensor::new([2, 8], &data).expect("16"))]
}

/// The evaluator as a runtime that fuses groups of layers; `broken` only where it fuses.
struct Fake {
    model: Model,
    groups: Vec<Vec<&'static str>>,
    broken: Option<&'static str>,
    asked: Vec<Vec<String>>,
}

impl Backend for Fake {
    fn title(&self) -> String {
        "fake".to_owned()
    }

    fn evaluate(
        &mut self,
        inputs: &[(String, Tensor)],
        taps: &[Tap],
        executed: bool,
    ) -> Result<Answer> {
        let limits = Limits::default();
        let inside = |tap: &Tap| {
            let group = self
                .groups
                .iter()
                .find(|group| group.contains(&tap.layer.as_str()));
            group.is_some_and(|group| group.last() != Some(&tap.layer.as_str()))
        };
        // A tensor from inside a group keeps it from fusing.
        let fused = !taps.iter().any(inside);
        let model = match self.broken.filter(|_| fused) {
            Some(fault) => chain(fault),
            None => self.model.clone(),
        };
        let given: Vec<(usize, Tensor)> =
            inputs.iter().map(|(_, t)| t.clone()).enumerate().collect();
        let keep = crate::compare::Keep {
            in_memory: u64::MAX,
            folder: None,
        };
        let run = Run::of_model(&model, &given, Some(&keep), &limits, &mut [])?;
        let layers = taps.iter().filter_map(|tap| {
            let mut named = run.layer(&tap.layer)?.clone();
            named.names = vec![tap.key.clone()];
            Some(named)
        });
        let layers = layers.collect();
        self.asked
            .push(taps.iter().map(|tap| tap.layer.clone()).collect());
        let groups = self.groups.iter().map(|group| Executed {
            layers: group.iter().map(|&name| name.to_owned()).collect(),
            ..Executed::default()
        });
        Ok(Answer {
            executed: if executed {
                groups.collect()
            } else {
                Vec::new()
            },
            run: Run::new("fake", run.outputs().to_vec(), layers),
            ..Answer::default()
        })
    }
}

fn suited(_: &str, a: ElementType, b: ElementType) -> Tolerance {
    Tolerance::suited(a, b)
}

fn against_model(model: &Model, other: &Model, everything: bool) -> Search {
    let limits = Limits::default();
    let keep = crate::compare::Keep {
        in_memory: u64::MAX,
        folder: None,
    };
    let run = Run::of_model(other, &input(), Some(&keep), &limits, &mut []).expect("a run");
    let reference = Reference::Saved(&run, Some(other));
    search(
        model,
        &input(),
        reference,
        &suited,
        everything,
        &limits,
        &mut [],
    )
    .expect("a search")
}

fn layer(search: &Search) -> &Blamed {
    match &search.verdict {
        Verdict::Layer(blamed) => blamed,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_fault_is_named_and_explained() {
    for (fault, name) in [
        ("weight", "scale"),
        ("shift", "shift"),
        ("relu", "relu"),
        ("clamp", "clamp"),
        ("order", "last"),
    ] {
        let found = against_model(&chain(fault), &chain(""), false);
        let blamed = layer(&found);
        assert_eq!(blamed.alone.layer.name, name, "{fault}");
        assert_eq!(found.wrong.len(), 1, "{fault}");
        assert!(!found.outputs.is_equal(), "{fault}");
        let why = &blamed.explanation;
        let told = match fault {
            "weight" => why.constants[0].0 == "weight",
            "shift" | "relu" => why.operations.is_some(),
            "clamp" => why.attributes[0].0 == "max",
            _ => why.inputs.len() == 2,
        };
        assert!(told, "{fault}: {why:?}");
        // Its inputs agree in the model's own run, its output does not.
        assert!(
            blamed
                .before
                .as_ref()
                .is_none_or(|before| before.compared.passes()),
            "{fault}"
        );
        let after = blamed.after.as_ref().expect("an output");
        assert!(!after.compared.passes(), "{fault}");
    }
    let found = against_model(&chain(""), &chain(""), false);
    assert!(matches!(found.verdict, Verdict::Equal) && found.compared == 0);
    let found = against_model(&chain(""), &chain(""), true);
    assert!(matches!(found.verdict, Verdict::Equal) && found.compared == 5);
}

#[test]
fn layers_of_other_names_pair_by_structure() {
    let mut graph = Builder::new();
    let x = graph.parameter("in", ElementType::F32, "2,8".parse().expect("a shape"));
    let a = graph
        .add("a", "Negative", "opset1", &[], &[x])
        .expect("a layer");
    let b = graph
        .add("b", "ReLU", "opset1", &[], &[a])
        .expect("a layer");
    let c = graph
        .add("c", "Sqrt", "opset1", &[], &[b])
        .expect("a layer");
    graph.result("y", c);
    let model = graph.build("one").expect("a model");
    let mut graph = Builder::new();
    let x = graph.parameter("x", ElementType::F32, "2,8".parse().expect("a shape"));
    let a = graph
        .add("first", "Negative", "opset1", &[], &[x])
        .expect("a layer");
    let b = graph
        .add("second", "ReLU", "opset1", &[], &[a])
        .expect("a layer");
    let c = graph
        .add("third", "Exp", "opset1", &[], &[b])
        .expect("a layer");
    graph.result("z", c);
    let other = graph.build("other").expect("a model");
    let found = pairs::layers(&model, &other);
    let names = |id: Option<NodeId>| id.map(|id| other.graph().node(id).name().to_owned());
    let named: Vec<_> = found.into_iter().map(names).collect();
    let some = |name: &str| Some(name.to_owned());
    assert_eq!(named[..3], [some("x"), some("first"), some("second")]);
    assert_eq!(named[3], None, "another type");
    let found = against_model(&model, &other, false);
    assert_eq!(
        found.wrong.len(),
        0,
        "the layer has no partner: {:?}",
        found.verdict
    );
}

#[test]
fn a_runtime_is_asked_only_for_what_survives_and_then_inside() {
    let groups = vec![vec!["scale", "shift", "relu"], vec!["clamp"], vec!["last"]];
    let limits = Limits::default();
    for (fault, name) in [
        ("shift", "shift"),
        ("weight", "scale"),
        ("relu", "relu"),
        ("clamp", "clamp"),
    ] {
        let mut fake = Fake {
            model: chain(""),
            groups: groups.clone(),
            broken: None,
            asked: Vec::new(),
        };
        let (model, other, given) = (chain(fault), chain(""), input());
        let reference = Reference::Runtime(&mut fake, &other, &given);
        let found =
            search(&model, &given, reference, &suited, false, &limits, &mut []).expect("a search");
        assert_eq!(layer(&found).alone.layer.name, name, "{fault}");
        assert_eq!(layer(&found).nodes.len(), 1, "{fault}");
        let fused = fault != "clamp";
        assert_eq!(fake.asked.len(), if fused { 3 } else { 2 }, "{fault}");
        assert!(fake.asked[0].is_empty());
        // `scale` is taken by `last` too, but is none of the group's results.
        assert_eq!(fake.asked[1], ["relu", "clamp", "last"], "{fault}");
        if fused {
            assert!(fake.asked[2].contains(&"shift".to_owned()), "{fault}");
        }
    }
}

#[test]
fn a_fault_of_the_fusion_is_told_from_one_of_a_layer() {
    let groups = vec![vec!["scale", "shift", "relu"], vec!["clamp"], vec!["last"]];
    let mut fake = Fake {
        model: chain(""),
        groups,
        broken: Some("shift"),
        asked: Vec::new(),
    };
    let (model, given) = (chain(""), input());
    let reference = Reference::Runtime(&mut fake, &model, &given);
    let limits = Limits::default();
    let found =
        search(&model, &given, reference, &suited, false, &limits, &mut []).expect("a search");
    let Verdict::Fused(blamed) = &found.verdict else {
        panic!("{:?}", found.verdict)
    };
    let names: Vec<&str> = blamed
        .nodes
        .iter()
        .map(|&id| model.graph().node(id).name())
        .collect();
    assert_eq!(names, ["scale", "shift", "relu"]);
}

#[test]
fn rounding_is_no_fault() {
    // The difference of nearly equal numbers, and a choice between them.
    let build = |nudge: f32| {
        let mut graph = Builder::new();
        let x = graph.parameter("x", ElementType::F32, "4".parse().expect("a shape"));
        let big = graph.constant("big", Tensor::scalar(4096f32 + nudge));
        let minus = graph.constant("minus", Tensor::scalar(-4096f32));
        let up = graph
            .add("up", "Add", "opset1", &[], &[x, big])
            .expect("a layer");
        let down = graph
            .add("down", "Add", "opset1", &[], &[up, minus])
            .expect("a layer");
        graph.result("y", down);
        graph.build("cancels").expect("a model")
    };
    let given = [(0, Tensor::vector(&[1e-3f32, 2e-3, 3e-3, 4e-3]))];
    let limits = Limits::default();
    let (model, other) = (build(0.0), build(0.0));
    let keep = crate::compare::Keep {
        in_memory: u64::MAX,
        folder: None,
    };
    let run = Run::of_model(&other, &given, Some(&keep), &limits, &mut []).expect("a run");
    // What another order of sums makes of it: `up` one unit off, `down` in no relation to it.
    let layers = run.layers().iter().map(|named| {
        let tensor = named.load(&limits).expect("in memory");
        let tensor = match named.name() {
            "down" => Tensor::vector(&[1.5e-3f32, 2e-3, 3e-3, 4e-3]),
            _ => tensor,
        };
        Named::new(named.name(), tensor)
    });
    let outputs = vec![Named::new(
        "y",
        Tensor::vector(&[1.5e-3f32, 2e-3, 3e-3, 4e-3]),
    )];
    let run = Run::new("other", outputs, layers.collect());
    let reference = Reference::Saved(&run, Some(&other));
    let found =
        search(&model, &given, reference, &suited, false, &limits, &mut []).expect("a search");
    assert!(
        matches!(found.verdict, Verdict::Grown),
        "{:?}",
        found.verdict
    );
    assert_eq!(found.explained.len(), 1);
    assert_eq!(found.explained[0].layer.name, "down");
}

#[test]
fn other_shapes_are_a_fault_of_their_layer() {
    let build = |axis: i64| {
        let mut graph = Builder::new();
        let x = graph.parameter("x", ElementType::F32, "2,3".parse().expect("a shape"));
        let axes = graph.constant("axes", Tensor::vector(&[axis]));
        let sum = graph
            .add("sum", "ReduceSum", "opset1", &[], &[x, axes])
            .expect("a layer");
        let relu = graph
            .add("relu", "ReLU", "opset1", &[], &[sum])
            .expect("a layer");
        graph.result("y", relu);
        graph.build("sums").expect("a model")
    };
    let given = [(
        0,
        Tensor::new([2, 3], &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0]).expect("six"),
    )];
    let limits = Limits::default();
    let keep = crate::compare::Keep {
        in_memory: u64::MAX,
        folder: None,
    };
    let other = build(1);
    let run = Run::of_model(&other, &given, Some(&keep), &limits, &mut []).expect("a run");
    let reference = Reference::Saved(&run, Some(&other));
    let found = search(
        &build(0),
        &given,
        reference,
        &suited,
        false,
        &limits,
        &mut [],
    )
    .expect("a search");
    assert_eq!(layer(&found).alone.layer.name, "sum");
    assert_eq!(layer(&found).explanation.constants[0].0, "axes");
    assert_eq!(found.wrong.len(), 1, "what follows is not clean");
}

#[test]
fn a_run_without_inner_tensors_is_an_error() {
    let limits = Limits::default();
    let outputs = vec![Named::new(
        "out",
        Tensor::zeros(ElementType::F32, [2, 8]).expect("zeros"),
    )];
    let run = Run::new("saved", outputs, Vec::new());
    let reference = Reference::Saved(&run, None);
    let error = search(
        &chain(""),
        &input(),
        reference,
        &suited,
        false,
        &limits,
        &mut [],
    );
    let error = error.expect_err("nothing to search").to_string();
    assert!(
        error.contains("has none of the model's inner tensors"),
        "{error}"
    );
}
