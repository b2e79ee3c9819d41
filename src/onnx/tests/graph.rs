//! Names, order, sizes with names, and what is not known.

use super::*;
use crate::graph::Operation;
use crate::op::Version;
use crate::tensor::{ElementType, Tensor};
use crate::{Format, Kind};

#[test]
fn inputs_and_outputs_have_the_names_of_values() {
    let sum = NodeProto {
        name: "the/sum".to_owned(),
        ..node("Add", &["x", "w"], "y", vec![])
    };
    // The nodes stand in the wrong order, and an input has a value of its own.
    let graph = GraphProto {
        name: "g".to_owned(),
        node: vec![node("Mul", &["y", "y"], "z", vec![]), sum],
        input: vec![value("x", FLOAT, &["2"]), value("w", FLOAT, &["2"])],
        output: vec![named("z"), named("y"), named("w"), named("x")],
        initializer: vec![floats("w", &[2], &[10.0, 20.0])],
        ..GraphProto::default()
    };
    let model = load(&model(13, graph)).expect("a good model");
    assert_eq!(model.name(), "g");
    assert_eq!(
        *model.format(),
        Format::Onnx {
            ir_version: 8,
            opsets: vec![("ai.onnx".to_owned(), 13)],
        }
    );
    let names: Vec<&str> = model.inputs().iter().map(|t| t.name()).collect();
    assert_eq!(names, ["x"]);
    let outputs = model
        .evaluate([("x", Tensor::vector(&[1f32, 2.0]))])
        .expect("numbers");
    let found: Vec<(&str, &[f32])> = outputs
        .iter()
        .map(|(name, tensor)| (name, tensor.as_slice().expect("f32")))
        .collect();
    let expected: [(&str, &[f32]); 4] = [
        ("z", &[121.0, 484.0]),
        ("y", &[11.0, 22.0]),
        ("w", &[10.0, 20.0]),
        ("x", &[1.0, 2.0]),
    ];
    assert_eq!(found, expected);
    // A node without a name is called by its output.
    let nodes: Vec<String> = model.graph().nodes().map(|(_, n)| n.to_string()).collect();
    assert_eq!(nodes[2], r#"layer 1 "the/sum" (Add, ai.onnx 13)"#);
    assert_eq!(nodes[3], r#"layer 0 "z" (Mul, ai.onnx 13)"#);
    let sum = model.graph().find("the/sum").expect("the node");
    assert_eq!(model.graph().node(sum).version(), Some(Version::Opset(13)));
    assert!(model.warnings().is_empty(), "{:?}", model.warnings());
}

#[test]
fn sizes_of_one_name_are_one_size() {
    let graph = GraphProto {
        node: vec![
            node("Concat", &["a", "b"], "c", vec![int("axis", 1)]),
            node("Shape", &["c"], "s", vec![]),
            node("Reshape", &["d", "s"], "y", vec![]),
        ],
        input: vec![
            value("a", FLOAT, &["n", "k"]),
            value("b", FLOAT, &["n", "m"]),
            value("d", FLOAT, &["n", "?"]),
        ],
        output: vec![named("y")],
        ..GraphProto::default()
    };
    let model = load(&model(13, graph)).expect("a good model");
    let symbols = |t: &crate::op::Output| -> Vec<_> {
        let dims = t.shape.dims().expect("a rank").iter();
        dims.map(|d| d.symbol().expect("unknown sizes have symbols"))
            .collect()
    };
    let [a, b, d] = [0, 1, 2].map(|i| symbols(model.input_type(i).expect("typed")));
    assert_eq!((a[0], a[0]), (b[0], d[0]));
    assert!(a[1] != b[1] && b[1] != d[1] && a[1] != a[0]);
    let y = symbols(model.output_type(0).expect("typed"));
    assert_eq!(y[0], a[0]);
    // The size of the concatenation has no name: its symbol is none of theirs.
    assert!(![a, b, d].concat().contains(&y[1]));
}

#[test]
fn everything_unsupported_is_named_at_once() {
    let branch = GraphProto {
        node: vec![node("Relu", &["hidden"], "r", vec![])],
        output: vec![named("r")],
        ..GraphProto::default()
    };
    let branch = AttributeProto {
        g: Some(Box::new(branch)),
        ..attribute("then_branch", 5)
    };
    let custom = NodeProto {
        domain: "com.example".to_owned(),
        ..node("Twist", &["x", "", "x"], "t", vec![int("turns", 3)])
    };
    let graph = GraphProto {
        node: vec![
            node("Identity", &["x"], "hidden", vec![]),
            node("If", &["c"], "i", vec![branch]),
            custom,
            node("Add", &["i", "t"], "y", vec![]),
        ],
        input: vec![value("x", FLOAT, &["2"]), value("c", 9, &[])],
        output: vec![named("y")],
        value_info: vec![value("t", FLOAT, &["2"])],
        ..GraphProto::default()
    };
    let mut proto = model(17, graph);
    proto.opset_import.push(opset("com.example", 2));
    let model = load(&proto).expect("fit to be looked at");
    let unsupported: Vec<String> = model
        .unsupported()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        unsupported,
        [
            r#"layer 1 "i" (If, ai.onnx 17)"#,
            r#"layer 2 "t" (Twist, com.example 2)"#
        ]
    );
    // What only a branch takes is needed.
    let hidden = model.graph().find("hidden").expect("it is kept");
    let branch = model.graph().find("i").expect("it is there");
    assert!(hidden < branch);
    let twist = model
        .graph()
        .node(model.graph().find("t").expect("it is there"));
    assert!(matches!(twist.operation(), Operation::Opaque { .. }));
    assert_eq!(twist.attributes(), [("turns".to_owned(), "3".to_owned())]);
    assert_eq!(
        model.output_type(0).map(ToString::to_string).as_deref(),
        Some("f32[...]")
    );
    let error = model
        .evaluate([
            ("x", Tensor::vector(&[1f32, 2.0])),
            ("c", Tensor::scalar(true)),
        ])
        .expect_err("unsupported");
    assert_eq!(error.kind(), Kind::Unsupported);
    assert_eq!(error.details().len(), 2);
}

#[test]
fn an_opset_to_come_is_not_guessed_at() {
    let graph = graph(
        node("Identity", &["x"], "y", vec![]),
        vec![value("x", FLOAT, &["2"])],
        vec![],
    );
    let model = load(&model(99, graph)).expect("fit to be looked at");
    let unsupported = model.unsupported();
    assert_eq!(
        unsupported[0].to_string(),
        r#"layer 0 "y" (Identity, ai.onnx 99)"#
    );
}

#[test]
fn old_files_name_no_opset() {
    let graph = graph(
        node("Identity", &["x"], "y", vec![]),
        vec![value("x", FLOAT, &["2"])],
        vec![],
    );
    let mut proto = model(1, graph);
    proto.opset_import.clear();
    assert!(refused(&proto).ends_with("the model imports no opset of ai.onnx"));
    proto.ir_version = 2;
    let model = load(&proto).expect("a good model");
    assert_eq!(
        model.format().to_string(),
        "ONNX IR version 2, opset ai.onnx 1"
    );
}

#[test]
fn what_nothing_needs_is_told() {
    let graph = GraphProto {
        node: vec![
            node("Identity", &["x"], "y", vec![]),
            node("Mul", &["x", "w"], "z", vec![]),
        ],
        input: vec![value("x", FLOAT, &["2"])],
        output: vec![value("y", FLOAT, &["3"])],
        initializer: vec![floats("w", &[], &[2.0])],
        ..GraphProto::default()
    };
    let model = load(&model(13, graph)).expect("a good model");
    let warnings: Vec<String> = model
        .warnings()
        .iter()
        .map(|p| p.error.to_string())
        .collect();
    assert_eq!(
        warnings,
        [
            r#"m.onnx: layer 1 "z" (Mul, ai.onnx 13): no output needs this node"#,
            r#"m.onnx: no output needs initialiser "w""#,
            r#"m.onnx: layer 0 "y" (Identity, ai.onnx 13): output 0 is declared as f32[3], inferred as f32[2]"#,
        ]
    );
}

#[test]
fn a_model_is_known_by_its_bytes() {
    let graph = graph(
        node("Identity", &["x"], "y", vec![]),
        vec![value("x", INT32, &["n"])],
        vec![],
    );
    let bytes = model(13, graph).encode_to_vec();
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["model.onnx", "MODEL.ONNX", "model", "model.xml"] {
        let path = folder.path().join(name);
        std::fs::write(&path, &bytes).expect("written");
        let model = Model::read(&path).expect("a good model");
        let x = model.input_type(0).expect("typed");
        assert_eq!(x.element_type, ElementType::I32);
        let error = model
            .evaluate([("x", Tensor::vector(&[1f32]))])
            .expect_err("another type");
        assert_eq!(error.kind(), Kind::Input);
    }
    // A document stays one, whatever it holds.
    for text in ["", " ", "hello", "\u{feff}<net/>", "<net"] {
        let error = Model::from_bytes("m", text.into(), Vec::new()).expect_err("no model");
        assert_ne!(error.kind(), Kind::Onnx, "{text}");
    }
}
