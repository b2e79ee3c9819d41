//! Files of bad faith, made by code: each ends with the exit code and the message it should, and
//! whatever a file says, nothing panics, hangs or overflows.

mod attributes;
#[cfg(feature = "cli")]
mod binary;
mod bombs;
mod deterministic;
mod document;
mod edges;
mod graphs;
mod index_rules;
mod indices;
mod operations;
mod shapes;
mod structure;
mod tensor_files;
mod threads;
mod weights;

use std::path::Path;

use ovir::tensor::{ElementType, Tensor};
use ovir::{CompileOptions, Error, Limits, Model};

/// A small model that is right, one element a line.
const PLAIN: &str = r#"<?xml version="1.0"?>
<net name="n" version="11">
<layers>
<layer id="0" name="x" type="Parameter" version="opset1">
<data shape="2,3" element_type="f32"/>
<output><port id="0" precision="FP32" names="x"><dim>2</dim><dim>3</dim></port></output>
</layer>
<layer id="1" name="relu" type="ReLU" version="opset1">
<input><port id="0" precision="FP32"><dim>2</dim><dim>3</dim></port></input>
<output><port id="1" precision="FP32" names="y"><dim>2</dim><dim>3</dim></port></output>
</layer>
<layer id="2" name="out" type="Result" version="opset1">
<input><port id="0" precision="FP32"><dim>2</dim><dim>3</dim></port></input>
</layer>
</layers>
<edges>
<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
<edge from-layer="1" from-port="1" to-layer="2" to-port="0"/>
</edges>
</net>
"#;

/// The small model with changes; each must find its text.
fn edited(changes: &[(&str, &str)]) -> String {
    changes.iter().fold(PLAIN.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "no `{from}` to change");
        text.replacen(from, to, 1)
    })
}

/// What an error has to name besides the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    /// Nothing: the file as a whole is at fault.
    File,
    /// Line and column.
    Line,
    /// Line, column and layer.
    Layer,
}

/// A row of the table.
struct Bad {
    name: String,
    document: Vec<u8>,
    weights: Vec<u8>,
    inputs: Vec<Tensor>,
    code: u8,
    phrase: String,
    named: Named,
}

impl Bad {
    fn new(name: &str, document: impl Into<Vec<u8>>, code: u8, phrase: &str) -> Self {
        Self {
            name: name.to_owned(),
            document: document.into(),
            weights: Vec::new(),
            inputs: Vec::new(),
            code,
            phrase: phrase.to_owned(),
            named: Named::Line,
        }
    }

    fn weights(self, weights: Vec<u8>) -> Self {
        Self { weights, ..self }
    }

    fn named(self, named: Named) -> Self {
        Self { named, ..self }
    }
}

/// Limits for strangers' files, and few iterations: the tests run without optimization.
fn limits() -> Limits {
    let mut limits = Limits::untrusted();
    limits.loop_trips = 1000;
    limits
}

/// The whole way: read, inferred, evaluated, and the same compiled.
fn run(path: &Path, inputs: &[Tensor]) -> Result<Vec<Tensor>, Error> {
    let limits = limits();
    let model = Model::read_with(path, &limits)?;
    let given = || inputs.iter().cloned().enumerate();
    let plain = model.evaluate_with(given(), &limits, &mut []);
    let compiled = model
        .compile(&CompileOptions::default())
        .and_then(|c| c.infer_request().infer_with(given(), &limits, &mut []));
    match (&plain, &compiled) {
        (Err(a), Err(b)) => assert_eq!(a.kind(), b.kind(), "{a}\ncompiled: {b}"),
        _ => assert_eq!(plain.is_ok(), compiled.is_ok(), "{plain:?}\n{compiled:?}"),
    }
    plain.map(ovir::Outputs::into_tensors)
}

/// What is wrong with how a row ends; nothing if it ends as it should.
fn wrong(folder: &Path, bad: &Bad) -> Option<String> {
    let path = folder.join("m.xml");
    std::fs::write(&path, &bad.document).expect("written");
    std::fs::write(path.with_extension("bin"), &bad.weights).expect("written");
    let way = std::panic::AssertUnwindSafe(|| run(&path, &bad.inputs));
    let outcome = std::panic::catch_unwind(way);
    let error = match outcome {
        Err(_) => return Some("panicked".to_owned()),
        Ok(Ok(_)) => return Some("is accepted".to_owned()),
        Ok(Err(error)) => error,
    };
    ends_as_said(&error, bad)
}

fn ends_as_said(error: &Error, bad: &Bad) -> Option<String> {
    let text = error.to_string();
    let place = error.place();
    let has = |named| match named {
        Named::File => place.file.is_some(),
        Named::Line => place.line_column.is_some(),
        Named::Layer => place.line_column.is_some() && !place.layers.is_empty(),
    };
    let code = error.kind().exit_code();
    let right = code == bad.code
        && text.contains(&bad.phrase)
        && text.contains("m.xml")
        && has(Named::File)
        && has(bad.named)
        && text.lines().all(|line| line.chars().count() < 2000)
        && !text.chars().any(|c| c.is_control() && c != '\n');
    (!right).then(|| format!("ends with {code}: {text}"))
}

/// Runs every row and tells all that end in another way.
fn table(rows: impl IntoIterator<Item = Bad>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut count = 0;
    let mut found = Vec::new();
    for bad in rows {
        count += 1;
        if let Some(what) = wrong(folder.path(), &bad) {
            let Bad {
                name,
                code,
                phrase,
                named,
                ..
            } = &bad;
            found.push(format!(
                "{name}: {what}\n   expected {code} `{phrase}` {named:?}"
            ));
        }
    }
    assert!(
        found.is_empty(),
        "{} of {count}:\n{}",
        found.len(),
        found.join("\n")
    );
}

/// An operation between its inputs and a result, as a document and its weights; `constant` tells
/// which inputs are constants, the others are the model's. `of` is type and opset: `Gather-8`.
fn operation(
    of: &str,
    data: &str,
    inputs: &[Tensor],
    constant: impl Fn(usize) -> bool,
) -> (String, Vec<u8>) {
    let (type_name, opset) = of.split_once('-').expect("type and opset");
    let mut weights = Vec::new();
    let (mut layers, mut edges, mut ports) = (String::new(), String::new(), String::new());
    let last = inputs.len();
    for (id, tensor) in inputs.iter().enumerate() {
        let dims: Vec<String> = tensor.shape().iter().map(ToString::to_string).collect();
        let (shape, ty) = (dims.join(","), tensor.element_type());
        let (kind, more) = if constant(id) {
            let at = weights.len();
            weights.extend_from_slice(tensor.bytes());
            (
                "Const",
                format!("offset='{at}' size='{}'", tensor.byte_len()),
            )
        } else {
            ("Parameter", String::new())
        };
        layers += &format!(
            "<layer id='{id}' name='in{id}' type='{kind}' version='opset1'>\
             <data shape='{shape}' element_type='{ty}' {more}/>\
             <output><port id='0' precision='FP32'/></output></layer>\n"
        );
        edges +=
            &format!("<edge from-layer='{id}' from-port='0' to-layer='{last}' to-port='{id}'/>\n");
        ports += &format!("<port id='{id}'/>");
    }
    let result = last + 1;
    let text = format!(
        "<net name='n' version='11'>\n<layers>\n{layers}<layer id='{last}' name='op' \
         type='{type_name}' version='opset{opset}'><data {data}/><input>{ports}</input>\
         <output><port id='{last}' precision='FP32'/></output></layer>\n<layer id='{result}' name='out' \
         type='Result' version='opset1'><input><port id='0'/></input></layer>\n</layers>\n\
         <edges>\n{edges}<edge from-layer='{last}' from-port='{last}' to-layer='{result}' \
         to-port='0'/>\n</edges>\n</net>\n"
    );
    (text, weights)
}

fn floats(shape: &[usize]) -> Tensor {
    Tensor::zeros(ElementType::F32, shape).expect("a small tensor")
}

fn ints(values: &[i64]) -> Tensor {
    Tensor::vector(values)
}

fn int(value: i64) -> Tensor {
    Tensor::scalar(value)
}

/// Indices of a shape.
fn at(shape: &[usize], values: &[i64]) -> Tensor {
    Tensor::new(shape, values).expect("as many values as the shape says")
}
