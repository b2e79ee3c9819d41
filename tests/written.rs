//! Models that are written and read again are the same models.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

use ovir::graph::{Builder, Graph, Node, RtInfo};
use ovir::tensor::{ElementType, Tensor, Text};
use ovir::{CompileOptions, Kind, Model};

use crate::irs;
use crate::samples::{inputs, samples};
use crate::support::{each, project};

/// All that is to survive: layers with their attributes and names, edges, types and shapes, runtime
/// information, bodies. Ids and the order of layers are free.
fn essence(model: &Model) -> Vec<String> {
    let mut lines = vec![format!("model {:?}", model.name())];
    for terminal in model.inputs().iter().chain(model.outputs()) {
        lines.push(format!("terminal {:?}", terminal.names));
    }
    // For each graph, the way to it.
    let mut ways: HashMap<usize, String> = HashMap::from([(0, String::new())]);
    for (index, graph) in model.graphs().iter().enumerate() {
        for (_, node) in graph.nodes() {
            for body in node.bodies() {
                let way = ways.get(&index).cloned().unwrap_or_default();
                let way = match way.len() {
                    0..1000 => format!("{way}{}.{:?}/", node.name(), body.kind),
                    _ => way,
                };
                ways.insert(body.graph, way);
            }
        }
    }
    for (index, graph) in model.graphs().iter().enumerate() {
        let way = &ways[&index];
        lines.push(format!("{way} {}", information(graph.rt_info())));
        for (id, node) in graph.nodes() {
            let mut line = format!("{way} {}", layer(graph, node));
            for (output, inferred) in model.inferred_in(index, id).iter().enumerate() {
                write!(line, " -> {inferred}").expect("a string grows");
                let port = node.outputs().get(output);
                let input = graph.inputs().iter().find(|input| input.node == id);
                let names = input.map(|input| &input.names);
                if let Some(names) = names
                    .or(port.map(|port| &port.names))
                    .filter(|n| !n.is_empty())
                {
                    write!(line, "{:?}", sorted(names)).expect("a string grows");
                }
                let rt_info = port.map(|port| information(&port.rt_info));
                line += &rt_info.unwrap_or_default();
            }
            lines.push(line);
        }
    }
    lines[1..].sort();
    lines
}

fn sorted(names: &[String]) -> Vec<&String> {
    let mut names: Vec<_> = names.iter().collect();
    names.sort();
    names
}

fn information(info: &RtInfo) -> String {
    match info.is_empty() {
        true => String::new(),
        false => format!(" {info:?}"),
    }
}

fn layer(graph: &Graph, node: &Node) -> String {
    let mut line = format!(
        "{:?} {} {} {:?} {:?}",
        node.name(),
        node.type_name(),
        node.opset(),
        node.version(),
        node.attributes()
    );
    for (index, port) in node.inputs().iter().enumerate() {
        let name = graph.node(port.node).name();
        write!(line, " ({name:?} {})", port.index).expect("a string grows");
        let info = node.input_rt_info(index).map(information);
        line += &info.unwrap_or_default();
    }
    line += &information(node.rt_info());
    for body in node.bodies() {
        let ports = &body.ports;
        let back: Vec<_> = ports.back_edges.iter().collect();
        let entry = |e: &ovir::graph::PortMapEntry| format!("{:?} {:?}", e.slice, e.purpose);
        let inputs: Vec<_> = ports
            .inputs
            .iter()
            .map(|e| (e.external_port_id, entry(e)))
            .collect();
        let outputs: Vec<_> = ports.outputs.iter().map(entry).collect();
        write!(line, " {inputs:?} {outputs:?} {}", back.len()).expect("a string grows");
    }
    line
}

/// Writes a model, reads it again, and holds both against each other.
fn again(model: &Model) -> Model {
    let (document, weights) = model.to_ir().unwrap_or_else(|e| panic!("{e}"));
    let text = String::from_utf8(document.clone()).expect("UTF-8");
    let read = Model::from_bytes("written.xml", document.clone(), weights.clone());
    let read = read.unwrap_or_else(|e| panic!("{e}\n{text}"));
    let odd: Vec<_> = read
        .warnings()
        .iter()
        .filter(|warning| warning.error.kind() != Kind::Unsupported)
        .map(|warning| warning.error.to_string())
        .collect();
    assert!(odd.is_empty(), "{odd:#?}");
    let (before, after) = (essence(model), essence(&read));
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before, after);
    }
    assert_eq!(before.len(), after.len());
    let second = read.to_ir().unwrap_or_else(|e| panic!("{e}"));
    assert!(second.0 == document, "the second document differs");
    assert!(second.1 == weights, "the second file of constants differs");
    read
}

fn of_samples(folder: &str) {
    let cases = samples(folder).into_iter();
    each(cases, |path| {
        let model = Model::read(&path).unwrap_or_else(|e| panic!("{e}"));
        // A layer of a fragment has no version, and a fragment's names are its own.
        let model = match folder {
            "fragments" => once(&model),
            _ => model,
        };
        let read = again(&model);
        let given = inputs(&model, &path);
        let expected = model
            .evaluate(given.clone())
            .unwrap_or_else(|e| panic!("{e}"));
        let found = read.evaluate(given).unwrap_or_else(|e| panic!("{e}"));
        for ((name, expected), (found_name, found)) in expected.iter().zip(found.iter()) {
            assert_eq!(name, found_name);
            assert_eq!(expected.bytes(), found.bytes(), "{name}");
            assert_eq!(format!("{expected:?}"), format!("{found:?}"), "{name}");
        }
    });
}

fn once(model: &Model) -> Model {
    let (document, weights) = model.to_ir().unwrap_or_else(|e| panic!("{e}"));
    Model::from_bytes("once.xml", document, weights).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn documented_examples() {
    of_samples("ops");
}

#[test]
fn specification_fragments() {
    of_samples("fragments");
}

/// Every IR of the folder that the environment variable `OVIR_IRS` names.
#[test]
fn real_models() {
    let Some(folder) = std::env::var_os("OVIR_IRS") else {
        return;
    };
    let cases = irs::cases(Path::new(&folder)).into_iter();
    let cases = cases.map(|case| (case.display().to_string(), case));
    each(cases, |case| {
        let model = Model::read(case.join("model.xml")).unwrap_or_else(|e| panic!("{e}"));
        again(&model);
    });
}

/// Names, strings, packed types, empty tensors, constants with the same bytes, unknown sizes.
#[test]
fn odd_constants_and_names() {
    let mut graph = Builder::new();
    let x = graph.parameter(
        "a,b <&\"'> \t\n\u{1} 模",
        ElementType::F32,
        "?,1..4,..".parse().expect("a shape"),
    );
    graph.result("out,1", x);
    graph.result("same\\", x);
    let texts = ["", "a\0b", "模"].map(Text::from).to_vec();
    let packed = Tensor::zeros(ElementType::U3, [2, 5]).expect("zeros");
    let constants = [
        Tensor::strings([3, 1], texts).expect("three"),
        packed.clone(),
        packed,
        Tensor::zeros(ElementType::I4, [3]).expect("zeros"),
        Tensor::zeros(ElementType::Nf4, [0, 3]).expect("nothing"),
        Tensor::scalar(true),
        Tensor::new([2], &[f64::NAN, -0.0]).expect("two"),
    ];
    for (index, tensor) in constants.iter().enumerate() {
        let constant = graph.constant("c", tensor.clone());
        graph.result(&format!("c{index}"), constant);
    }
    let anything = graph.parameter(
        "anything",
        ElementType::Dynamic,
        "...".parse().expect("any"),
    );
    graph.result("anything out", anything);
    let model = graph.build("odd \"model\"").expect("a model");
    let read = once(&model);
    assert_eq!(read.name(), model.name());
    let names = |model: &Model| -> Vec<Vec<String>> {
        let all = model.inputs().iter().chain(model.outputs());
        all.map(|terminal| terminal.names.clone()).collect()
    };
    assert_eq!(names(&read), names(&model));
    again(&read);
    let inputs = || {
        [
            (
                0,
                Tensor::zeros(ElementType::F32, [1, 2, 3]).expect("zeros"),
            ),
            (1, Tensor::scalar(1u8)),
        ]
    };
    let (before, after) = (
        model.evaluate(inputs()).expect("evaluates"),
        read.evaluate(inputs()).expect("evaluates"),
    );
    for ((_, before), (_, after)) in before.iter().zip(after.iter()) {
        assert_eq!(format!("{before:?}"), format!("{after:?}"));
        assert_eq!(before.bytes(), after.bytes());
        assert_eq!(before.as_strings().ok(), after.as_strings().ok());
    }
}

const V10: &str = r#"<net name="old" version="10"><layers>
<layer id="7" name="x" type="Parameter" version="opset1"><data shape="1,2,1,1" element_type="f16"/>
<output><port id="0" precision="FP16" names="x_t"><dim>1</dim><dim>2</dim><dim>1</dim><dim>1</dim></port></output></layer>
<layer id="9" name="y" type="ReLU" version="opset1"><input><port id="0"/></input>
<output><port id="1" precision="FP16"/></output></layer>
<layer id="12" name="n" type="ShapeOf" version="opset3"><data output_type="i64"/><input><port id="0"/></input>
<output><port id="1" precision="I64" names="n_t"/></output></layer>
<layer id="3" name="r" type="Result" version="opset1"><input><port id="0"/></input></layer>
<layer id="4" name="s" type="Result" version="opset1"><input><port id="0"/></input></layer>
</layers><edges><edge from-layer="7" from-port="0" to-layer="9" to-port="0"/>
<edge from-layer="7" from-port="0" to-layer="12" to-port="0"/>
<edge from-layer="9" from-port="1" to-layer="3" to-port="0"/>
<edge from-layer="12" from-port="1" to-layer="4" to-port="0"/></edges>
<pre-process reference-layer-name="x"><channel id="0"><mean value="1.5"/></channel>
<channel id="1"><mean value="-3"/></channel></pre-process></net>"#;

#[test]
fn what_version_10_means_is_written() {
    let model = Model::from_bytes("old.xml", V10.into(), Vec::new()).expect("a model");
    let read = again(&model);
    assert_eq!(read.format().to_string(), "IR version 11");
    let names: Vec<_> = read.outputs().iter().map(|o| o.names.clone()).collect();
    assert_eq!(names, [vec!["y"], vec!["n_t", "n"]]);
    assert_eq!(read.inputs()[0].names, ["x_t", "x"]);
    let x = Tensor::new([1, 2, 1, 1], &[2f32, -5.0]).expect("two");
    for model in [&model, &read] {
        let outputs = model.evaluate([("x", x.clone())]).expect("evaluates");
        assert_eq!(outputs["y"].as_slice::<f32>().expect("f32"), [0.5, 0.0]);
        assert_eq!(outputs["n_t"].as_slice::<i32>().expect("i32"), [1, 2, 1, 1]);
    }
}

#[test]
fn unknown_layers_are_written_as_they_were_read() {
    let document = |attributes: &str| {
        format!(
            r#"<net name="m" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="2" element_type="f32"/>
<output><port id="0" precision="FP32"><dim>2</dim></port></output></layer>
<layer id="1" name="odd" type="Frobnicate" version="mine"><data {attributes}/><input><port id="0"/></input>
<output><port id="1" precision="I8" names="t"><dim>2</dim><dim>-1</dim></port></output></layer>
<layer id="2" name="r" type="Result" version="opset1"><input><port id="0"/></input></layer></layers>
<edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
<edge from-layer="1" from-port="1" to-layer="2" to-port="0"/></edges></net>"#
        )
    };
    let read = |text: String| Model::from_bytes("m.xml", text.into_bytes(), vec![0; 8]);
    let model = read(document("level='9' name='a&amp;b'")).expect("a model");
    let read_again = again(&model);
    assert_eq!(read_again.unsupported().len(), 1);
    let model = read(document("offset='0' size='8'")).expect("a model");
    let error = model.to_ir().expect_err("bytes that nobody understands");
    assert_eq!(error.kind(), Kind::Unsupported);
    assert!(error.to_string().contains("\"odd\""), "{error}");
}

#[test]
fn files_are_written_whole_or_not_at_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.xml");
    let sample = project("ir-samples/ops/movement/gather-8/example-7.xml");
    let model = Model::read(sample).expect("a model");
    model.write(&path).expect("written");
    let (document, weights) = model.to_ir().expect("written");
    let bytes = |name: &str| std::fs::read(folder.path().join(name)).expect("a file");
    assert_eq!(
        (bytes("model.xml"), bytes("model.bin")),
        (document, weights)
    );
    // A model may take the place of its own file.
    let own = Model::read(&path).expect("a model");
    own.write(&path).expect("written");
    again(&own);
    assert_eq!(std::fs::read_dir(folder.path()).expect("listed").count(), 2);
    for (wrong, message) in [
        ("nowhere/model.xml", "cannot write"),
        ("a.bin", "cannot write"),
    ] {
        let error = model.write(folder.path().join(wrong)).expect_err(wrong);
        assert_eq!(error.kind(), Kind::Io);
        assert!(error.to_string().contains(message), "{error}");
    }
    std::fs::create_dir(folder.path().join("taken.xml")).expect("a folder");
    model
        .write(folder.path().join("taken.xml"))
        .expect_err("a folder");
    let left: Vec<_> = std::fs::read_dir(folder.path()).expect("listed").collect();
    assert!(left.len() <= 4, "{left:?}");
}

#[cfg(feature = "onnx")]
#[test]
fn what_only_onnx_has_is_listed() {
    each(samples("onnx"), |path| {
        let model = Model::read(&path).unwrap_or_else(|e| panic!("{e}"));
        match model.to_ir() {
            Ok((document, weights)) => {
                let read = Model::from_bytes("w.xml", document, weights).expect("a model");
                again(&read);
            }
            Err(error) => {
                assert_eq!(error.kind(), Kind::Unsupported, "{error}");
                assert!(!error.details().is_empty(), "{error}");
            }
        }
    });
}

/// What is compiled keeps the model it came from, which can be written.
#[test]
fn compiling_changes_nothing_that_is_written() {
    let sample = project("ir-samples/ops/movement/gather-8/example-7.xml");
    let model = Model::read(sample).expect("a model");
    let before = model.to_ir().expect("written");
    model.compile(&CompileOptions::default()).expect("compiles");
    assert_eq!(model.to_ir().expect("written"), before);
}
