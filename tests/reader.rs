//! What documents may look like, and what they mean.

use std::fmt::Write;

use ovir::ir::Severity;
use ovir::tensor::{ElementType, Tensor, convert};
use ovir::{Depth, Kind, Limits, Model};

/// A layer with its ports: `(id, precision, names, dims)`.
fn ports(tag: &str, list: &[(u32, &str, &str, &[i64])]) -> String {
    let mut text = format!("<{tag}>");
    for (id, precision, names, dims) in list {
        write!(
            text,
            "<port id='{id}' precision='{precision}' names='{names}'>"
        )
        .expect("grows");
        for dim in *dims {
            write!(text, "<dim>{dim}</dim>").expect("grows");
        }
        text += "</port>";
    }
    text + &format!("</{tag}>")
}

pub(crate) fn layer(id: u32, name: &str, head: &str, data: &str, inside: &str) -> String {
    format!("<layer id='{id}' name='{name}' {head}><data {data}/>{inside}</layer>")
}

pub(crate) fn edge(from: (u32, u32), to: (u32, u32)) -> String {
    format!(
        "<edge from-layer='{}' from-port='{}' to-layer='{}' to-port='{}'/>",
        from.0, from.1, to.0, to.1
    )
}

pub(crate) fn net(version: u8, layers: &[String], edges: &[String], more: &str) -> String {
    format!(
        "<?xml version='1.0'?><net name='n' version='{version}'><layers>{}</layers><edges>{}</edges>{more}</net>",
        layers.concat(),
        edges.concat()
    )
}

/// An input that passes through `operation` to an output.
fn through(version: u8, ty: &str, precision: &str, dims: &[i64], operation: &str) -> String {
    let shape: Vec<_> = dims.iter().map(i64::to_string).collect();
    let data = format!("shape='{}' element_type='{ty}'", shape.join(","));
    net(
        version,
        &[
            layer(
                0,
                "in",
                "type='Parameter' version='opset1'",
                &data,
                &ports("output", &[(0, precision, "x,x\\,y", dims)]),
            ),
            layer(
                1,
                "op",
                operation,
                "",
                &(ports("input", &[(0, precision, "", dims)])
                    + &ports("output", &[(1, precision, "t", dims)])),
            ),
            layer(
                2,
                "out",
                "type='Result' version='opset1'",
                "",
                &ports("input", &[(0, precision, "", dims)]),
            ),
        ],
        &[edge((0, 0), (1, 0)), edge((1, 1), (2, 0))],
        "",
    )
}

const SQUEEZE: &str = "type='Squeeze' version='opset1'";

fn read(text: &str) -> Model {
    Model::from_bytes("m.xml", text.into(), Vec::new()).unwrap_or_else(|e| panic!("{e}"))
}

fn error(text: &str) -> ovir::Error {
    Model::from_bytes("m.xml", text.into(), Vec::new()).expect_err("a broken document")
}

#[test]
fn version_10_converts_inputs_and_outputs() {
    for (ty, precision, input, output) in [
        ("f16", "FP16", ElementType::F32, ElementType::F32),
        ("f32", "FP32", ElementType::F32, ElementType::F32),
        ("i64", "I64", ElementType::I64, ElementType::I32),
        ("u32", "U32", ElementType::U32, ElementType::I32),
        ("i32", "I32", ElementType::I32, ElementType::I32),
        ("u8", "U8", ElementType::U8, ElementType::F32),
        ("boolean", "BOOL", ElementType::Boolean, ElementType::F32),
    ] {
        let text = through(10, ty, precision, &[2, 3], SQUEEZE);
        let model = read(&text);
        assert_eq!(
            model.input_type(0).expect("an input").element_type,
            input,
            "{ty}"
        );
        assert_eq!(
            model.output_type(0).expect("an output").element_type,
            output,
            "{ty}"
        );
        let ones = Tensor::new([2, 3], &[1f32; 6]).expect("six ones");
        let x = convert::convert(&ones, input).expect("a number");
        let y = model.evaluate([("x", x)]).expect("a result");
        assert_eq!(
            y[0],
            convert::convert(&ones, output).expect("a number"),
            "{ty}"
        );
        let same = read(&text.replace("version='10'", "version='11'"));
        let declared = convert::convert(&ones, ty.parse().expect("a type")).expect("a number");
        let y = same.evaluate([("x", declared.clone())]).expect("a result");
        assert_eq!(y[0], declared, "version 11 converts nothing: {ty}");
    }
}

#[test]
fn names_of_inputs_and_outputs() {
    let text = through(11, "f32", "FP32", &[2], SQUEEZE);
    let model = read(&text);
    for name in ["x", "x,y", "in"] {
        assert_eq!(model.find_input(name), Some(0), "{name}");
    }
    for name in ["t", "out", "op"] {
        assert_eq!(model.find_output(name), Some(0), "{name}");
    }
    assert_eq!(model.outputs()[0].name(), "t");
    let named = text.replace("name='out'", "name='out' output_names='a,b\\,c'");
    let model = read(&named);
    assert_eq!(model.outputs()[0].names, ["a", "b,c"]);
    assert_eq!(
        model.find_output("t"),
        Some(0),
        "the producer's name still finds it"
    );
    let v10 = read(&named.replace("version='11'", "version='10'"));
    assert_eq!(
        v10.outputs()[0].names,
        ["t", "op"],
        "version 10 knows no output_names"
    );
    assert_eq!(v10.inputs()[0].names, ["x", "x,y", "in"]);
    let collision = read(&text.replace("names='t'", "names='x'"));
    assert_eq!(
        collision.outputs()[0].names,
        ["x_1"],
        "the input keeps its name"
    );
}

#[test]
fn legacy_means_are_subtracted() {
    let means = |values: &[&str]| {
        let mut text = String::from("<pre-process mean-precision='FP32'>");
        for (id, value) in values.iter().enumerate() {
            write!(
                text,
                "<channel id='{id}'><mean value='{value}'/><scale value='9'/></channel>"
            )
            .expect("grows");
        }
        text + "</pre-process></net>"
    };
    let text = through(10, "f32", "FP32", &[1, 2, 1, 2], SQUEEZE);
    let model = read(&text.replace("</net>", &means(&["1.5", "-1"])));
    let x = Tensor::new([1, 2, 1, 2], &[1f32, 2., 3., 4.]).expect("four");
    let y = model.evaluate([("x", x)]).expect("a result");
    assert_eq!(y[0].as_slice::<f32>().expect("f32"), [-0.5, 0.5, 4., 5.]);
    let wrong = error(&text.replace("</net>", &means(&["1.5"])));
    assert!(wrong.message().contains("expected 2 means"), "{wrong}");
}

#[test]
fn old_metadata_is_kept() {
    let more = "<meta_data><MO_version value='2021'/><cli_parameters><data_type value='FP32'/>\
                </cli_parameters></meta_data></net>";
    let model = read(&through(10, "f32", "FP32", &[2], SQUEEZE).replace("</net>", more));
    let info = model.graph().rt_info();
    assert_eq!(info.get(&["meta_data", "MO_version"]), Some("2021"));
    assert_eq!(
        info.get(&["meta_data", "cli_parameters", "data_type"]),
        Some("FP32")
    );
}

#[test]
fn what_is_not_known_is_accepted_and_warned_of() {
    let text = through(11, "f32", "FP32", &[2], SQUEEZE)
        .replace(
            "<data />",
            "<data Axis='1'/><statistics><min>0</min></statistics>",
        )
        .replace("<edges>", "<nothing/><edges>");
    let warnings: Vec<String> = read(&text)
        .warnings()
        .iter()
        .map(|p| p.error.message().to_owned())
        .collect();
    for phrase in [
        "attribute `Axis` is ignored",
        "element `statistics` is ignored",
        "element `nothing` is ignored",
    ] {
        assert!(
            warnings.iter().any(|w| w == phrase),
            "{phrase}: {warnings:?}"
        );
    }
}

#[test]
fn declared_shapes_are_hints() {
    let text = through(11, "f32", "FP32", &[2, 3], SQUEEZE).replace(
        "names='t'><dim>2</dim><dim>3</dim>",
        "names='t'><dim>6</dim>",
    );
    let model = read(&text);
    assert_eq!(
        model.output_type(0).expect("an output").to_string(),
        "f32[2,3]"
    );
    let warning = &model.warnings()[0];
    assert_eq!(warning.severity, Severity::Warning);
    assert_eq!(
        warning.error.message(),
        "output 0 is declared as f32[6], inferred as f32[2,3]"
    );
}

#[test]
fn text_may_come_in_many_forms() {
    let plain = through(11, "f32", "FP32", &[2], SQUEEZE);
    let variants = [
        plain.replace('\'', "\""),
        plain.replace("<dim>2</dim>", "<dim> <![CDATA[2]]> </dim>"),
        plain.replace("<dim>2</dim>", "<dim>&#50;</dim>"),
        plain.replace("<layers>", "<!-- c --><?pi?><layers>\r\n"),
        plain.replace("<?xml version='1.0'?>", "<!DOCTYPE net>"),
        plain.replace("name='in'", "name='a&lt;b&amp;&quot;&#x41;'"),
    ];
    for text in variants {
        assert_eq!(
            read(&text).output_type(0).expect("an output").to_string(),
            "f32[2]"
        );
    }
    let utf16: Vec<u8> = plain.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(Model::from_bytes("m.xml", utf16, Vec::new()).is_ok());
    for bad in [
        "name='a<b'",
        "name='a&b'",
        "name='&foo;'",
        "name='a' name='b'",
        "name='a\u{1}'",
    ] {
        let error = error(&plain.replace("name='in'", bad));
        assert_eq!(error.kind(), Kind::Xml, "{bad}: {error}");
        assert!(error.place().line_column.is_some());
    }
}

/// Every prefix of a document is refused, none makes it panic.
#[test]
fn truncated_documents_are_errors() {
    let text = through(11, "f32", "FP32", &[2], SQUEEZE);
    for end in 0..text.len() {
        assert_eq!(error(&text[..end]).kind(), Kind::Xml, "{end}");
    }
}

#[test]
fn ports_count_by_position() {
    let text = through(11, "f32", "FP32", &[2], SQUEEZE)
        .replace(
            "<port id='1' precision='FP32' names='t'>",
            "<port id='0' precision='FP32' names='t'>",
        )
        .replace(
            "from-layer='1' from-port='1'",
            "from-layer='1' from-port='0'",
        );
    let x = Tensor::vector(&[1f32, 2.]);
    let y = read(&text).evaluate([("x", x.clone())]).expect("a result");
    assert_eq!(y[0], x, "an id may stand on both sides");
}

#[test]
fn layers_that_nothing_needs_are_not_looked_at() {
    let dead = layer(
        9,
        "dead",
        "type='Gather' version='opset99'",
        "batch_dims='x'",
        "",
    );
    let text =
        through(11, "f32", "FP32", &[2], SQUEEZE).replace("</layers>", &format!("{dead}</layers>"));
    let model = read(&text);
    assert!(model.unsupported().is_empty());
    assert_eq!(
        model.warnings()[0].error.message(),
        "no output needs this layer"
    );
}

/// Bodies are read, and the layers in errors tell the way to them.
#[test]
fn bodies_are_graphs_of_the_model() {
    let body = |attributes: &str| {
        let layers = [
            layer(
                0,
                "a",
                "type='Parameter' version='opset1'",
                "shape='2' element_type='f32'",
                &ports("output", &[(0, "FP32", "", &[2])]),
            ),
            layer(
                1,
                "cat",
                "type='Concat' version='opset1'",
                attributes,
                &(ports("input", &[(0, "FP32", "", &[2])])
                    + &ports("output", &[(1, "FP32", "", &[2])])),
            ),
            layer(
                2,
                "r",
                "type='Result' version='opset1'",
                "",
                &ports("input", &[(0, "FP32", "", &[2])]),
            ),
        ];
        format!(
            "<layers>{}</layers><edges>{}{}</edges>",
            layers.concat(),
            edge((0, 0), (1, 0)),
            edge((1, 1), (2, 0))
        )
    };
    let looped = |attributes: &str| {
        let inside = format!(
            "<port_map><input external_port_id='0' internal_layer_id='0' axis='0' start='0' end='-1' \
             stride='1' part_size='1'/><output external_port_id='1' internal_layer_id='2'/></port_map>\
             <back_edges><edge from-layer='2' to-layer='0'/></back_edges><body>{}</body>",
            body(attributes)
        );
        through(
            11,
            "f32",
            "FP32",
            &[2],
            "type='TensorIterator' version='opset1'",
        )
        .replacen("<data />", &inside, 1)
    };
    let model = read(&looped("axis='0'"));
    assert_eq!(model.graphs().len(), 2);
    let holder = model.graph().find("op").expect("the loop");
    assert_eq!(model.graphs()[1].parent(), Some((0, holder)));
    let ports = &model.graph().node(holder).bodies()[0].ports;
    assert_eq!(ports.inputs[0].slice.expect("sliced").part_size, 1);
    assert_eq!(ports.back_edges.len(), 1);
    let wrong = error(&looped("axis='x'"));
    let text = wrong.to_string();
    assert!(
        text.contains(
            "\"op\" (TensorIterator, opset1) > layer 1 \"cat\" (Concat, opset1): attribute `axis`"
        ),
        "{text}"
    );
}

#[test]
fn size_and_depth_need_no_deep_stack() {
    let nested = format!("{}{}", "<a>".repeat(200_000), "</a>".repeat(200_000));
    let text = through(11, "f32", "FP32", &[2], SQUEEZE);
    read(&text.replace("<edges>", &format!("{nested}<edges>")));
    let deep = text.replace("</net>", &format!("<rt_info>{nested}</rt_info></net>"));
    assert_eq!(error(&deep).kind(), Kind::Limit);
    let bodies = "<layers><layer id='0' name='i' type='If' version='opset8'><then_body>";
    let deep = format!("<net name='n' version='11'>{}", bodies.repeat(20_000));
    assert_eq!(error(&deep).kind(), Kind::Limit);
    let mut few = Limits::default();
    few.layers = 2;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("m.xml");
    std::fs::write(&path, &text).expect("written");
    assert_eq!(
        Model::read_with(&path, &few)
            .expect_err("three layers")
            .kind(),
        Kind::Limit
    );
}

/// A chain of 50,000 layers is read, inferred, evaluated and dropped.
#[test]
fn long_chains() {
    let count = 50_000;
    let mut layers = vec![layer(
        0,
        "x",
        "type='Parameter' version='opset1'",
        "shape='2' element_type='f32'",
        &ports("output", &[(0, "FP32", "", &[2])]),
    )];
    let mut edges = Vec::new();
    for id in 1..=count {
        let inside =
            ports("input", &[(0, "FP32", "", &[2])]) + &ports("output", &[(0, "FP32", "", &[2])]);
        let kind = if id == count {
            "type='Result' version='opset1'"
        } else {
            SQUEEZE
        };
        layers.push(layer(id, &format!("l{id}"), kind, "", &inside));
        edges.push(edge((id - 1, 0), (id, 0)));
    }
    let x = Tensor::vector(&[1f32, 2.]);
    let y = read(&net(11, &layers, &edges, ""))
        .evaluate([("x", x.clone())])
        .expect("a result");
    assert_eq!(y[0], x);
}

#[test]
fn inspection_needs_no_weights() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("m.xml");
    let text = std::fs::read_to_string(crate::support::project(
        "ir-samples/ops/movement/gather-8/example-1.xml",
    ))
    .expect("a sample");
    std::fs::write(&path, text).expect("written");
    let inspection = Model::inspect(&path, Depth::Structure).expect("a readable file");
    assert_eq!(inspection.weights_bytes, None);
    let model = inspection.model.as_ref().expect("a well-formed document");
    assert_eq!(
        model.output_type(0).expect("an output").to_string(),
        "i32[3]"
    );
    assert_eq!(
        inspection.into_model().expect_err("no weights").kind(),
        Kind::Weights
    );
}
