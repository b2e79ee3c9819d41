//! What every drawing keeps to, whatever the names in the model are.

use quick_xml::Reader;
use quick_xml::events::Event;

use super::*;
use crate::graph::Builder;
use crate::tensor::{ElementType, Tensor};

/// Names that mean something in one of the languages, or to a terminal.
const HOSTILE: &[&str] = &[
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"]; evil [label=\"x",
    "a\\\"b\\",
    "]]> <!-- & &lt; %%{init: {}}%%",
    "end\nclick p0_0 href \"javascript:alert(1)\"",
    "x\u{0}\u{1b}[31m\u{202e}\u{2028}\u{fffe}\u{e0041}",
    "`**b**` #quot; ]] }} )) |",
    "",
];

/// A chain of additions whose layers have these names.
fn chain(names: &[&str]) -> Model {
    let mut graph = Builder::new();
    let shape = "2,3".parse().expect("a shape");
    let mut value = graph.parameter(names.first().unwrap_or(&"x"), ElementType::F32, shape);
    for name in names {
        let one = graph.constant(name, Tensor::scalar(1.5f32));
        value = graph
            .add(name, "Add", "opset1", &[], &[value, one])
            .expect("an addition");
    }
    graph.result("y", value);
    graph
        .build(names.last().unwrap_or(&"model"))
        .expect("a model")
}

/// A model of blocks that are alike: each a product, an addition of what was before and another
/// operation.
fn blocks(count: usize) -> Model {
    let mut graph = Builder::new();
    let mut x = graph.parameter("x", ElementType::F32, "4,4".parse().expect("a shape"));
    for block in 0..count {
        let w = graph.constant(
            "w",
            Tensor::zeros(ElementType::F32, [4usize, 4]).expect("zeros"),
        );
        let mut add = |name: &str, ty: &str, attributes: &[(&str, &str)], inputs: &[_]| {
            let name = format!("net/block_{block}/{name}/{ty}");
            graph
                .add(&name, ty, "opset4", attributes, inputs)
                .expect("a layer")
        };
        let flags = [("transpose_a", "false"), ("transpose_b", "false")];
        let product = add("fc", "MatMul", &flags, &[x, w]);
        let act = add("act", "ReLU", &[], &[product]);
        let sum = add("sum", "Add", &[], &[act, x]);
        let tanh = add("out", "Tanh", &[], &[sum]);
        x = add("gate", "Multiply", &[], &[tanh, act]);
    }
    graph.result("y", x);
    graph.build("blocks").expect("a model")
}

fn unfolded() -> Options {
    Options {
        fold: false,
        ..Options::default()
    }
}

/// Reads a document, and gives the names of its elements.
fn read_xml(document: &str) -> Vec<String> {
    let mut reader = Reader::from_str(document);
    reader.config_mut().check_end_names = true;
    let mut names = Vec::new();
    loop {
        match reader.read_event().expect("well-formed XML") {
            Event::Eof => break,
            Event::Start(tag) | Event::Empty(tag) => {
                for attribute in tag.attributes() {
                    attribute.expect("a well-formed attribute");
                }
                names.push(tag.name().as_ref().to_owned());
            }
            _ => {}
        }
    }
    names
}

#[test]
fn documents_are_well_formed_and_hostile_names_are_text() {
    let model = chain(HOSTILE);
    let drawing = Drawing::of(&model, &Options::default());
    let svg = drawing.svg();
    let names = read_xml(&svg);
    let allowed = ["svg", "title", "style", "rect", "g", "text", "path"];
    for name in names {
        assert!(allowed.contains(&&*name), "{name}");
    }
    // No character that XML cannot hold, and nothing hidden.
    assert!(!svg.chars().any(|c| c != '\n' && crate::error::is_hidden(c)));

    let html = drawing.html();
    assert_eq!(html.matches("</script>").count(), 2);
    assert_eq!(html.matches("<script").count(), 2);
    assert!(!html.contains("<img"));
    let data = html.split("id=\"data\">").nth(1).expect("data");
    let data = data.split("</script>").next().expect("an end");
    let data: serde_json::Value = serde_json::from_str(data).expect("JSON");
    let layers = data["scenes"][0]["layers"].as_array().expect("layers");
    let hostile = layers.iter().any(|layer| layer["name"] == HOSTILE[0]);
    assert!(hostile, "{data}");
    assert!(
        !html.contains("http://") || html.matches("http://").count() == 1,
        "only the name of SVG"
    );

    let dot = drawing.dot();
    for line in dot.lines() {
        // Quotes stand in pairs once those that are escaped are away.
        let bare = line.replace("\\\\", "").replace("\\\"", "");
        assert_eq!(bare.matches('"').count() % 2, 0, "{line}");
    }
    assert_eq!(dot.matches("\n}").count(), 1);

    let mermaid = drawing.mermaid();
    assert!(!mermaid.contains("<script") && !mermaid.contains("href \""));
    for line in mermaid.lines() {
        assert!(!line.trim_start().starts_with("click"), "{line}");
        assert!(line.matches('"').count() % 2 == 0, "{line}");
        assert!(!line.contains("%%{"), "{line}");
    }
}

#[test]
fn blocks_that_repeat_are_drawn_once() {
    let model = blocks(12);
    let drawing = Drawing::of(&model, &Options::default());
    let summary = drawing.summary();
    let block = Block {
        title: "net.block_0…11".to_owned(),
        copies: 12,
        layers: 5,
    };
    assert_eq!(summary.blocks, [block]);
    assert_eq!(
        (summary.boxes, summary.constants, summary.left_out),
        (3, 12, 0)
    );
    let svg = drawing.svg();
    assert!(svg.contains("net.block_0…11  ×12"));
    assert!(svg.contains("from the copy before") && svg.contains("to the next copy"));
    let all = Drawing::of(&model, &unfolded()).summary();
    assert_eq!((all.boxes, all.blocks.len()), (2 + 12 * 5, 0));
    let options = Options {
        constants: true,
        ..unfolded()
    };
    assert_eq!(Drawing::of(&model, &options).summary().boxes, 2 + 12 * 6);
}

#[test]
fn bytes_are_equal_from_run_to_run() {
    let model = blocks(9);
    let draw = || {
        let drawing = Drawing::of(&model, &Options::default());
        [
            drawing.svg(),
            drawing.html(),
            drawing.dot(),
            drawing.mermaid(),
        ]
    };
    assert_eq!(draw(), draw());
}

#[test]
fn layers_that_are_left_out_leave_dashed_lines() {
    let model = blocks(2);
    let keep = model.graphs().iter().map(|graph| {
        let kept = graph.nodes().map(|(_, node)| node.type_name() == "MatMul");
        kept.collect()
    });
    let options = Options {
        keep: Some(keep.collect()),
        ..Options::default()
    };
    let drawing = Drawing::of(&model, &options);
    let summary = drawing.summary();
    assert_eq!((summary.boxes, summary.left_out), (2, 10));
    assert!(
        drawing
            .svg()
            .contains("<g class=\"w far\" data-f=\"0\" data-t=\"1\">")
    );
    assert!(drawing.dot().contains("style=dashed"));
}

#[test]
fn layers_that_compute_a_shape_are_one_box() {
    let mut graph = Builder::new();
    let x = graph.parameter("x", ElementType::F32, "?,3,4".parse().expect("a shape"));
    let shape = graph.add(
        "shape",
        "ShapeOf",
        "opset3",
        &[("output_type", "i64")],
        &[x],
    );
    let zero = graph.constant("zero", Tensor::vector(&[0i64]));
    let axis = graph.constant("axis", Tensor::scalar(0i64));
    let shape = shape.expect("a shape");
    let first = graph.add("first", "Gather", "opset8", &[], &[shape, zero, axis]);
    let rest = graph.constant("rest", Tensor::vector(&[12i64]));
    let parts = [first.expect("a gather"), rest];
    let target = graph.add("target", "Concat", "opset1", &[("axis", "0")], &parts);
    let flags = [("special_zero", "false")];
    let inputs = [x, target.expect("a concat")];
    let flat = graph.add("flat", "Reshape", "opset1", &flags, &inputs);
    graph.result("y", flat.expect("a reshape"));
    let model = graph.build("shapes").expect("a model");
    let drawing = Drawing::of(&model, &Options::default());
    let summary = drawing.summary();
    assert_eq!(
        (summary.boxes, summary.shapes, summary.constants),
        (4, 3, 3)
    );
    // What is in it has a panel of its own.
    assert_eq!(drawing.panels.len(), 2);
    assert_eq!(drawing.panels[1].vertices.len(), 4);
}

#[test]
fn measured_numbers_are_coloured() {
    let model = chain(&["a", "b", "c"]);
    let count = model.graph().nodes().len();
    let mut values = vec![None; count];
    for (id, node) in model.graph().nodes() {
        if node.type_name() == "Add" {
            values[id.index()] = Some(match node.name() {
                "a" => 1.0,
                "b" => 100.0,
                _ => f64::NAN,
            });
        }
    }
    let measured = Measured {
        what: Quantity::Range,
        values: vec![values],
    };
    let options = Options {
        color: Color::Measured(measured.clone()),
        facts: vec![measured],
        ..Options::default()
    };
    let drawing = Drawing::of(&model, &options);
    let svg = drawing.svg();
    for class in ["\"h0\"", "\"h8\"", "\"hn\"", "\"v\""] {
        assert!(svg.contains(class), "{class}");
    }
    assert!(svg.contains("largest absolute value:") && svg.contains(">NaN<"));
    assert!(drawing.html().contains("\"measured\":[\"100\"]"));
}

#[test]
fn long_models_need_no_deep_stack() {
    let names = vec!["layer"; 50_000];
    let model = chain(&names);
    let drawing = Drawing::of(&model, &Options::default());
    let summary = drawing.summary();
    assert_eq!((summary.blocks.len(), summary.boxes), (1, 3));
    assert_eq!(summary.blocks[0].copies, 50_000);
    assert_eq!(Drawing::of(&model, &unfolded()).summary().boxes, 50_002);
}

#[test]
fn snapshots_of_a_small_model() {
    let model = chain(&["first", "second/Add_1"]);
    let drawing = Drawing::of(&model, &Options::default());
    let mut settings = insta::Settings::new();
    settings.set_snapshot_path("snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let svg = drawing.svg();
    let svg = svg.replace(svg::STYLE, "");
    settings.bind(|| {
        insta::assert_snapshot!("chain.svg", svg);
        insta::assert_snapshot!("chain.dot", drawing.dot());
        insta::assert_snapshot!("chain.mmd", drawing.mermaid());
    });
}

#[test]
fn the_script_of_a_page_is_the_one_it_allows() {
    use sha2::{Digest, Sha256};
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for group in Sha256::digest(html::SCRIPT.as_bytes()).chunks(3) {
        let mut bits = 0u32;
        for at in 0..3 {
            bits = bits << 8 | u32::from(group.get(at).copied().unwrap_or(0));
        }
        for at in 0..4 {
            let index = (bits >> (18 - 6 * at)) & 63;
            encoded.push(if at > group.len() {
                '='
            } else {
                char::from(LETTERS[index as usize])
            });
        }
    }
    assert_eq!(html::SCRIPT_HASH, encoded, "write this into html.rs");
    assert!(!html::SCRIPT.contains("innerHTML"));
}
