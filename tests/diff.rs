//! What two models differ in: nothing where one is the other exported anew, and exactly what was
//! changed where something was.

use std::fs;

use ovir::Model;
use ovir::diff::{At, DiffOptions, ModelDiff, canonical, diff};
use ovir::graph::{Builder, Port};
use ovir::tensor::{ElementType, Tensor};

use crate::support::{each, files, project};

fn compare(a: &Model, b: &Model) -> ModelDiff {
    diff(a, b, &DiffOptions::default())
}

/// The document with other ids, layers in the opposite order, and names as tools make them.
fn exported_anew(document: &str) -> String {
    let (head, rest) = document.split_once("<layers>").expect("layers");
    let (layers, rest) = rest.split_once("</layers>").expect("layers");
    let (between, rest) = rest.split_once("<edges>").expect("edges");
    let (edges, tail) = rest.split_once("</edges>").expect("edges");
    let id = |id: &str| 7 * id.parse::<u64>().expect("an id") + 1000;
    let attribute = |text: &str, name: &str| {
        let start = text.find(&format!(" {name}=\"")).expect(name) + name.len() + 3;
        text[start..].split('"').next().expect(name).to_owned()
    };
    let replace = |text: &str, name: &str, value: &str| {
        let old = format!(" {name}=\"{}\"", attribute(text, name));
        text.replacen(&old, &format!(" {name}=\"{value}\""), 1)
    };
    let layers: Vec<String> = layers
        .split("<layer ")
        .skip(1)
        .map(|l| format!("<layer {l}"))
        .collect();
    let layers = layers.iter().rev().enumerate().map(|(count, layer)| {
        let old = attribute(layer, "id");
        let name = format!("{}_{count}", attribute(layer, "type"));
        replace(&replace(layer, "name", &name), "id", &id(&old).to_string())
    });
    let layers: String = layers.collect();
    let edges = edges.split("<edge ").skip(1).map(|edge| {
        let edge = format!("<edge {edge}");
        let (from, to) = (attribute(&edge, "from-layer"), attribute(&edge, "to-layer"));
        let edge = replace(&edge, "from-layer", &id(&from).to_string());
        replace(&edge, "to-layer", &id(&to).to_string())
    });
    let edges: Vec<String> = edges.collect();
    let edges: String = edges.into_iter().rev().collect();
    format!("{head}<layers>{layers}</layers>{between}<edges>{edges}</edges>{tail}")
}

#[test]
fn a_model_that_was_exported_anew_differs_in_nothing() {
    let samples = files(&project("ir-samples/ops"), "xml");
    let mut cases = Vec::new();
    for path in samples {
        let document = fs::read_to_string(&path).expect("a sample");
        // Bodies have layers of their own.
        let simple = document.matches("<layers>").count() == 1 && document.contains("<edges>");
        if simple && !document.contains("<layer\n") {
            let weights = fs::read(path.with_extension("bin")).unwrap_or_default();
            cases.push((path.display().to_string(), (document, weights)));
        }
    }
    assert!(cases.len() > 100, "{}", cases.len());
    each(cases, |(document, weights): (String, Vec<u8>)| {
        let anew = exported_anew(&document);
        let read =
            |text: String| Model::from_bytes("model.xml", text.into_bytes(), weights.clone());
        let (a, b) = (
            read(document).expect("a model"),
            read(anew).expect("a model"),
        );
        let found = compare(&a, &b);
        assert!(found.is_empty(), "{found:#?}");
        assert_eq!(found.matched, a.graph().nodes().len());
    });
}

/// A model of some size: blocks of a product with weights, a sum, and a branch that joins again.
/// Layers are named after what they are if `named`, or by a number.
struct Net {
    graph: Builder,
    named: bool,
    count: usize,
}

impl Net {
    fn new(named: bool) -> Self {
        Self {
            graph: Builder::new(),
            named,
            count: 0,
        }
    }

    fn name(&mut self, name: &str, ty: &str) -> String {
        self.count += 1;
        if self.named {
            name.to_owned()
        } else {
            format!("{ty}_{}", self.count)
        }
    }

    fn constant(&mut self, name: &str, tensor: Tensor) -> Port {
        let name = self.name(name, "Constant");
        self.graph.constant(&name, tensor)
    }

    fn add(&mut self, name: &str, ty: &str, attributes: &[(&str, &str)], inputs: &[Port]) -> Port {
        let name = self.name(name, ty);
        let layer = self.graph.add(&name, ty, "opset8", attributes, inputs);
        layer.expect("a layer")
    }

    fn block(&mut self, index: usize, x: Port, change: Change) -> Port {
        let seed = index as f32;
        let mut weights = [seed + 1.0, 2.0, 3.0, seed - 4.0];
        if change == Change::Weights {
            weights[1] += 0.5;
        }
        let weights = Tensor::new([2, 2], &weights).expect("four elements");
        let weights = self.constant(&format!("{index}/weights"), weights);
        let transpose = match change {
            Change::Attribute => "true",
            _ => "false",
        };
        let mut y = self.add(
            &format!("{index}/product"),
            "MatMul",
            &[("transpose_b", transpose)],
            &[x, weights],
        );
        if change == Change::Inserted {
            let mut inputs = vec![y];
            for name in ["low", "high", "out low", "out high"] {
                let bound = if name.ends_with("low") { -1f32 } else { 1.0 };
                inputs.push(self.constant(name, Tensor::scalar(bound)));
            }
            y = self.add("quantised", "FakeQuantize", &[("levels", "256")], &inputs);
        }
        let one = self.constant(&format!("{index}/one"), Tensor::scalar(1f32));
        let sum = self.add(&format!("{index}/sum"), "Add", &[], &[y, one]);
        let mut branch = sum;
        if change != Change::Removed {
            branch = self.add(&format!("{index}/relu"), "Relu", &[], &[sum]);
        }
        let other = if change == Change::Rewired { x } else { sum };
        self.add(&format!("{index}/join"), "Multiply", &[], &[branch, other])
    }

    fn model(named: bool, blocks: usize, changes: &[(usize, Change)]) -> Model {
        let mut net = Self::new(named);
        let mut x = net
            .graph
            .parameter("x", ElementType::F32, "?,2".parse().expect("a shape"));
        for index in 0..blocks {
            let change = changes.iter().find(|(at, _)| *at == index);
            x = net.block(
                index,
                x,
                change.map_or(Change::Nothing, |(_, change)| *change),
            );
        }
        net.graph.result("y", x);
        net.graph.build("net").expect("a model")
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Change {
    Nothing,
    Weights,
    Attribute,
    Inserted,
    Removed,
    Rewired,
}

fn name(model: &Model, at: At) -> String {
    let node = model.graphs()[at.graph].node(at.node);
    format!("{} {}", node.type_name(), node.name())
}

/// What was found, as counts: added, removed, changed, rewired, weights.
fn counts(found: &ModelDiff) -> [usize; 5] {
    assert!(found.inputs.is_empty() && found.outputs.is_empty());
    assert!(found.names.is_empty() && found.rt_info.is_empty());
    [
        found.added.len(),
        found.removed.len(),
        found.changed.len(),
        found.rewired.len(),
        found.weights.len(),
    ]
}

#[test]
fn one_change_is_found_as_that_change_alone() {
    // With names, and where names say nothing.
    for names in [(true, true), (true, false), (false, true)] {
        let plain = Net::model(names.0, 12, &[]);
        for (change, expected) in [
            (Change::Nothing, [0, 0, 0, 0, 0]),
            (Change::Weights, [0, 0, 0, 0, 1]),
            (Change::Attribute, [0, 0, 1, 0, 0]),
            (Change::Inserted, [1, 0, 0, 0, 0]),
            (Change::Removed, [0, 1, 0, 0, 0]),
            (Change::Rewired, [0, 0, 0, 1, 0]),
        ] {
            for at in [0, 5, 11] {
                let changed = Net::model(names.1, 12, &[(at, change)]);
                let found = compare(&plain, &changed);
                assert_eq!(
                    counts(&found),
                    expected,
                    "{names:?} {at} {change:?} {found:#?}"
                );
                let back = compare(&changed, &plain);
                let [added, removed, rest @ ..] = expected;
                let expected = [removed, added, rest[0], rest[1], rest[2]];
                assert_eq!(
                    counts(&back),
                    expected,
                    "{names:?} {at} {change:?} {back:#?}"
                );
            }
        }
    }
}

#[test]
fn changes_are_told_with_their_place() {
    let plain = Net::model(true, 12, &[]);
    let changes = [
        (2, Change::Inserted),
        (4, Change::Weights),
        (6, Change::Attribute),
        (8, Change::Removed),
        (9, Change::Rewired),
    ];
    let changed = Net::model(true, 12, &changes);
    let found = compare(&plain, &changed);
    assert_eq!(counts(&found), [1, 1, 1, 1, 1], "{found:#?}");
    let added = &found.added[0];
    assert_eq!(name(&changed, added.at), "FakeQuantize quantised");
    assert_eq!(added.constants, 4);
    let (from, to, input) = added.within.expect("an edge");
    let named = |node| name(&changed, At { graph: 0, node });
    assert_eq!(named(from.node), "MatMul 2/product");
    assert_eq!((named(to), input), ("Add 2/sum".to_owned(), 0));
    let removed = &found.removed[0];
    assert_eq!(name(&plain, removed.at), "ReLU 8/relu");
    let (_, to, _) = removed.within.expect("an edge");
    assert_eq!(name(&plain, At { graph: 0, node: to }), "Multiply 8/join");
    let attribute = (
        "transpose_b".to_owned(),
        Some("false".to_owned()),
        Some("true".to_owned()),
    );
    assert_eq!(found.changed[0].attributes, [attribute]);
    assert_eq!(found.rewired[0].input, 1);
    let distance = found.weights[0].distance.expect("numbers");
    assert_eq!((distance.max_abs, distance.differing), (0.5, 1));
    // The weights are 5, 2, 3, 0.
    let expected = 0.5 / 38f64.sqrt();
    assert!(
        (distance.relative_l2 - expected).abs() < 1e-12,
        "{distance:?}"
    );
    // Without names that say anything, the same is found.
    let found = compare(
        &Net::model(false, 12, &[]),
        &Net::model(false, 12, &changes),
    );
    assert_eq!(counts(&found), [1, 1, 1, 1, 1], "{found:#?}");
}

#[test]
fn other_weights_everywhere_and_a_layer_more_are_told_apart() {
    let all: Vec<_> = (0..12).map(|at| (at, Change::Weights)).collect();
    for named in [true, false] {
        let plain = Net::model(named, 13, &[]);
        let mut changes = all.clone();
        changes.push((12, Change::Inserted));
        let found = compare(&plain, &Net::model(false, 13, &changes));
        assert_eq!(counts(&found), [1, 0, 0, 0, 12], "{found:#?}");
        let quiet = DiffOptions {
            weights: false,
            ..DiffOptions::default()
        };
        let found = diff(&plain, &Net::model(named, 13, &changes), &quiet);
        assert_eq!(counts(&found), [1, 0, 0, 0, 0], "{found:#?}");
    }
}

#[test]
fn a_layer_after_every_product_is_told_as_that() {
    let all: Vec<_> = (0..12).map(|at| (at, Change::Inserted)).collect();
    for named in [true, false] {
        let plain = Net::model(named, 12, &[]);
        let found = compare(&plain, &Net::model(false, 12, &all));
        assert_eq!(counts(&found), [12, 0, 0, 0, 0], "{found:#?}");
    }
}

#[test]
fn inputs_and_outputs_are_told_as_such() {
    let make = |input: &str, output: &str, ty: ElementType, more: bool| {
        let mut graph = Builder::new();
        let x = graph.parameter(input, ty, "2".parse().expect("a shape"));
        let y = graph
            .add("exp", "Exp", "opset1", &[], &[x])
            .expect("a layer");
        if more {
            graph.result("more", x);
        }
        graph.result(output, y);
        graph.build("ends").expect("a model")
    };
    let plain = make("x", "y", ElementType::F32, false);
    let found = compare(&plain, &make("other", "y", ElementType::F32, false));
    let names = found.inputs[0].names.clone().expect("names");
    assert_eq!(names, (vec!["x".to_owned()], vec!["other".to_owned()]));
    assert_eq!(found.count(), 1, "{found:#?}");
    let found = compare(&plain, &make("x", "y", ElementType::F16, false));
    let types = found.inputs[0].types.clone().expect("types");
    assert_eq!(
        (types.0.to_string(), types.1.to_string()),
        ("f32[2]".into(), "f16[2]".into())
    );
    assert_eq!(
        (found.inputs.len(), found.outputs.len(), found.count()),
        (1, 1, 2)
    );
    let found = compare(&plain, &make("x", "y", ElementType::F32, true));
    assert_eq!(
        (found.outputs[0].first, found.outputs[0].second),
        (None, Some(0))
    );
    assert_eq!(found.count(), 1, "{found:#?}");
}

#[test]
fn bodies_are_compared_too() {
    for (sample, from, to) in [
        (
            "ops/condition/if-8/example-1",
            "type=\"Add\" version=\"opset1\"",
            "type=\"Subtract\" version=\"opset1\"",
        ),
        (
            "ops/infrastructure/loop-5/example-1",
            "name=\"sum\" type=\"Add\"",
            "name=\"sum\" type=\"Subtract\"",
        ),
    ] {
        let path = project(&format!("ir-samples/{sample}.xml"));
        let document = fs::read_to_string(&path).expect("a sample");
        assert!(document.contains(from), "{sample}");
        let weights = fs::read(path.with_extension("bin")).unwrap_or_default();
        let read =
            |text: String| Model::from_bytes("model.xml", text.into_bytes(), weights.clone());
        let a = read(document.clone()).expect("a model");
        let found = compare(&a, &a.clone());
        assert!(found.is_empty(), "{sample} {found:#?}");
        let count: usize = a.graphs().iter().map(|graph| graph.nodes().len()).sum();
        assert_eq!(found.matched, count);
        let b = read(document.replacen(from, to, 1)).expect("a model");
        let found = compare(&a, &b);
        let changed = found.changed.iter().map(|c| c.layer.second);
        let places: Vec<At> = changed.chain(found.added.iter().map(|l| l.at)).collect();
        assert_eq!(places.len(), 1, "{sample} {found:#?}");
        assert_ne!(places[0].graph, 0, "{sample} {found:#?}");
        assert!(found.rewired.is_empty(), "{sample} {found:#?}");
    }
}

#[test]
fn names_and_runtime_information_are_told_when_asked_for() {
    let (a, b) = (Net::model(true, 2, &[]), Net::model(false, 2, &[]));
    assert!(compare(&a, &b).is_empty());
    let options = DiffOptions {
        names: true,
        rt_info: true,
        ..DiffOptions::default()
    };
    let found = diff(&a, &b, &options);
    // All but the input and the output.
    assert_eq!(found.names.len(), a.graph().nodes().len() - 2);
    assert!(found.rt_info.is_empty() && found.count() == found.names.len());
}

#[test]
fn canonical_text_follows_from_the_structure() {
    let text = |changes: &[(usize, Change)]| canonical(&Net::model(false, 40, changes), true);
    let plain = text(&[]);
    let document = |name: &str| {
        let path = project(&format!("ir-samples/ops/movement/gather-8/{name}"));
        fs::read(path).expect("a sample")
    };
    let (xml, bin) = (document("example-7.xml"), document("example-7.bin"));
    let anew = exported_anew(std::str::from_utf8(&xml).expect("UTF-8"));
    let read = |xml: Vec<u8>| Model::from_bytes("m.xml", xml, bin.clone()).expect("a model");
    let (a, b) = (read(xml.clone()), read(anew.into_bytes()));
    // The names that were given are gone, so lines are compared without them.
    let shape = |model: &Model| {
        let text = canonical(model, true);
        let mut lines: Vec<_> = text
            .lines()
            .filter_map(|l| l.split("-> ").nth(1))
            .map(str::to_owned)
            .collect();
        lines.sort();
        lines
    };
    assert_eq!(shape(&a), shape(&b));
    // The names of layers around a changed one may follow from it; none further away do.
    for change in [
        Change::Weights,
        Change::Attribute,
        Change::Inserted,
        Change::Removed,
    ] {
        let changed = text(&[(3, change)]);
        let lines: std::collections::HashSet<&str> = plain.lines().collect();
        let new = changed.lines().filter(|line| !lines.contains(line)).count();
        assert!((1..=16).contains(&new), "{change:?}: {new} of {changed}");
    }
}

/// Time grows with the number of layers: this would take hours if it did with its square.
#[test]
fn models_of_many_layers_are_compared() {
    let blocks = 8_500;
    let plain = Net::model(false, blocks, &[]);
    assert!(plain.graph().nodes().len() > 50_000);
    let changes = [
        (1_000, Change::Inserted),
        (4_000, Change::Weights),
        (7_000, Change::Removed),
    ];
    let found = compare(&plain, &Net::model(false, blocks, &changes));
    assert_eq!(counts(&found), [1, 1, 0, 0, 1]);
}
