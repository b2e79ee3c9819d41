//! Files that are no good model, and files that want too much.

use proptest::prelude::*;

use super::*;
use crate::onnx::proto::StringStringEntryProto;
use crate::{Kind, Limits};

fn identity() -> GraphProto {
    graph(
        node("Identity", &["x"], "y", vec![]),
        vec![value("x", FLOAT, &["2"])],
        vec![],
    )
}

#[test]
fn nodes_that_make_no_graph() {
    let changed = |change: fn(&mut GraphProto)| {
        let mut graph = identity();
        change(&mut graph);
        refused(&model(13, graph))
    };
    for (error, expected) in [
        (
            changed(|g| g.node[0].input[0] = "nothing".to_owned()),
            r#"layer 0 "y" (Identity, ai.onnx 13): input 0 is "nothing", which is no input, initialiser or output of a node"#,
        ),
        (
            changed(|g| g.node[0].input[0] = "y".to_owned()),
            r#"layer 0 "y" (Identity, ai.onnx 13): the node needs its own output"#,
        ),
        (
            changed(|g| g.node[0].input.clear()),
            r#"layer 0 "y" (Identity, ai.onnx 13): input 0 (input) is missing"#,
        ),
        (
            changed(|g| g.node[0].input = vec![String::new(), "x".to_owned()]),
            r#"layer 0 "y" (Identity, ai.onnx 13): expected at most 1 inputs (input), got 2"#,
        ),
        (
            changed(|g| g.node[0].output.push("z".to_owned())),
            r#"layer 0 "y" (Identity, ai.onnx 13): expected 1 output, got 2"#,
        ),
        (
            changed(|g| g.node.push(g.node[0].clone())),
            r#"layer 1 "y" (Identity, ai.onnx 13): the value "y" is defined twice"#,
        ),
        (
            changed(|g| g.input.push(g.input[0].clone())),
            r#"the value "x" is defined twice"#,
        ),
        (
            changed(|g| g.output[0].name = "z".to_owned()),
            r#"output "z" is the output of no node"#,
        ),
        (
            changed(|g| g.node[0].attribute.push(int("axis", 1))),
            r#"layer 0 "y" (Identity, ai.onnx 13): Identity-1 has no attribute `axis`"#,
        ),
        (
            changed(|g| g.node[0] = node("Transpose", &["x"], "y", vec![int("perm", 0)])),
            "layer 0 \"y\" (Transpose, ai.onnx 13): attribute `perm` is INT, expected INTS",
        ),
        (
            changed(|g| g.node[0] = node("Concat", &["x"], "y", vec![])),
            r#"layer 0 "y" (Concat, ai.onnx 13): attribute `axis` is missing"#,
        ),
        (
            changed(|g| {
                g.initializer = vec![floats("w", &[3], &[1.0])];
                g.node[0] = node("Add", &["x", "w"], "y", vec![]);
            }),
            r#"layer 2 "w" (Const): f32[3] needs 3 numbers, float_data has 1"#,
        ),
        (
            changed(|g| g.input[0] = value("x", 18, &["2"])),
            r#"input "x" is a tensor of elements of float8e4m3fnuz, which is not supported"#,
        ),
    ] {
        let expected = expected.replace("Identity-1 ", "Identity-13 ");
        assert_eq!(error, format!("m.onnx: {expected}"));
    }
}

#[test]
fn bytes_that_are_no_model() {
    for (bytes, expected) in [
        (&b""[..], "there is no graph in it"),
        (
            b"hello",
            "the broken field 13 of ModelProto begins at byte 2",
        ),
        (b"<net/>", "the broken field 7"),
        (b"\xff", "a broken field of ModelProto"),
        (
            &[0x3a, 0xff, 0xff, 0xff, 0xff, 0x0f],
            "the broken field 7 of ModelProto begins at byte 0",
        ),
        (
            &[0x3a, 0x02, 0x0a, 0x05],
            "the broken field 1 of GraphProto begins at byte 2",
        ),
        (&[0x00], "a field 0 of ModelProto begins at byte 0"),
        // A name that is not UTF-8.
        (&[0x3a, 0x03, 0x12, 0x01, 0xff], "invalid string value"),
    ] {
        let error = Model::from_bytes("m.onnx", bytes.to_vec(), Vec::new());
        let error = error.expect_err(expected);
        assert_eq!(error.kind(), Kind::Onnx);
        let message = error.message();
        assert!(
            message.starts_with("the file is not an ONNX model: "),
            "{message}"
        );
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn graphs_in_graphs_do_not_overflow_the_stack() {
    // A field of the model, then node, attribute and graph in turn, 10 000 deep.
    let mut bytes: Vec<u8> = Vec::new();
    let mut tags = [0x32u8, 0x2a, 0x0a].into_iter().cycle();
    let mut message: Vec<u8> = Vec::new();
    for _ in 0..9_999 {
        let tag = tags.next().expect("endless");
        let mut outer = vec![tag];
        prost::encoding::encode_varint(message.len() as u64, &mut outer);
        outer.extend_from_slice(&message);
        message = outer;
    }
    bytes.push(0x3a);
    prost::encoding::encode_varint(message.len() as u64, &mut bytes);
    bytes.extend_from_slice(&message);
    let error = Model::from_bytes("m.onnx", bytes, Vec::new()).expect_err("too deep");
    assert_eq!(error.kind(), Kind::Onnx);
}

#[test]
fn limits_hold_before_anything_is_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("m.onnx");
    let mut limits = Limits::default();
    let mut read = |graph: GraphProto, layers| {
        std::fs::write(&path, model(13, graph).encode_to_vec()).expect("written");
        limits.layers = layers;
        Model::read_with(&path, &limits)
    };
    assert!(read(identity(), 2).is_ok());
    let error = read(identity(), 1).expect_err("a node and an input");
    assert_eq!(error.kind(), Kind::Limit);
    // Messages of two bytes.
    let mut graph = identity();
    graph.node[0].attribute = vec![AttributeProto::default(); 1000];
    let error = read(graph, 10).expect_err("too many");
    assert_eq!(error.kind(), Kind::Limit);
    assert!(
        error.message().contains("more than 160 messages"),
        "{error}"
    );
    limits.layers = 100;
    limits.file_bytes = 10;
    let error = Model::read_with(&path, &limits).expect_err("too long");
    assert_eq!(error.kind(), Kind::Limit);
}

fn sample() -> Vec<u8> {
    let mut weights = floats("w", &[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    weights.external_data = vec![StringStringEntryProto::default()];
    let branch = AttributeProto {
        g: Some(Box::new(identity())),
        ..attribute("body", 5)
    };
    let graph = GraphProto {
        node: vec![
            node("Gather", &["w", "i"], "a", vec![int("axis", 1)]),
            node("Add", &["a", "x"], "b", vec![]),
            node("ReduceSum", &["b", "axes"], "c", vec![int("keepdims", 0)]),
            node("Loop", &["c"], "d", vec![branch]),
            node("Reshape", &["c", "axes"], "e", vec![text("t", "u")]),
        ],
        input: vec![value("x", FLOAT, &["n", "2"]), value("i", INT64, &["2"])],
        output: vec![named("c"), named("d"), named("e")],
        initializer: vec![weights, int64s("axes", &[1], &[-1])],
        ..GraphProto::default()
    };
    model(13, graph).encode_to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_bytes_give_a_model_or_an_error(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        end in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = sample();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Some(end) = end {
            bytes.truncate(end.index(bytes.len()));
        }
        if let Err(error) = Model::from_bytes("m.onnx", bytes, Vec::new()) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}
