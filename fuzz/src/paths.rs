//! The ways from bytes of a stranger into the crate. Each ends with a result or an error; what is
//! wrong is a panic, an abort, a hang, or a message of more than one line.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ovir::io::{self, Random, Value, Wanted};
use ovir::tensor::{ElementType, PartialShape, Shape, SharedBytes, Tensor};
use ovir::{CompileOptions, Depth, Limits, Model, ops};

/// What stands between a document and its weights.
pub const WEIGHTS: &[u8] = b"\n<!--weights-->\n";

/// Tight limits: what is larger takes time, and finds no more.
pub fn limits() -> Limits {
    let mut limits = Limits::untrusted();
    limits.document_bytes = 1 << 20;
    limits.file_bytes = 1 << 20;
    limits.layers = 2000;
    limits.nesting = 16;
    limits.rank = 12;
    limits.tensor_bytes = 1 << 20;
    limits.live_bytes = 1 << 23;
    limits.output_bytes = 1 << 22;
    limits.loop_trips = 1000;
    limits.deadline = Some(Instant::now() + Duration::from_secs(1));
    limits
}

/// An error's text goes to terminals and logs.
fn one_line(text: &str) {
    assert!(
        !text.chars().any(char::is_control),
        "a message of several lines, or with control characters: {text:?}"
    );
}

fn told<T, E: std::fmt::Display>(result: Result<T, E>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            one_line(&error.to_string());
            None
        }
    }
}

/// An IR document without weights: every problem is found, at both depths.
pub fn document(bytes: &[u8]) {
    for depth in [Depth::Structure, Depth::Inference] {
        let found = Model::inspect_bytes("m.xml", bytes.to_vec(), Vec::new(), depth, &limits());
        if let Some(found) = told(found) {
            for problem in &found.problems {
                one_line(problem.error.message());
                one_line(&problem.error.place().to_string());
            }
        }
    }
}

/// One layer, from text: `Type opset`, then its inputs as `f32 2,3; i64 ?`, then its attributes as
/// they stand in a document. A type that does not exist stands for one of the registry.
pub fn attributes(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.splitn(3, '\n');
    let mut next = || lines.next().unwrap_or_default();
    let (layer, inputs, data) = (next(), next(), next());
    let (name, opset) = layer.split_once(' ').unwrap_or((layer, ""));
    let known = ops::resolve(name, opset).is_some();
    let sum = bytes
        .iter()
        .take(4)
        .fold(0, |n, &b| n * 31 + usize::from(b));
    let all: Vec<_> = ops::supported().map(|(_, def)| def.name).collect();
    let (name, opset) = match known {
        true => (name, opset),
        false => (all[sum % all.len()], ""),
    };
    let mut ports = String::new();
    for (id, input) in inputs
        .split(';')
        .filter(|i| !i.trim().is_empty())
        .take(9)
        .enumerate()
    {
        let (ty, shape) = input.trim().split_once(' ').unwrap_or((input.trim(), ""));
        let dims = shape.split(',').filter(|d| !d.is_empty());
        let dims: String = dims.map(|d| format!("<dim>{d}</dim>")).collect();
        ports += &format!("<port id='{id}' precision='{ty}'>{dims}</port>");
    }
    let text = format!(
        "<layer id='0' name='l' type='{name}' version='{opset}'><data {data}/>\
         <input>{ports}</input><output><port id='9'/></output></layer>"
    );
    evaluated(told(Model::from_bytes_with(
        "m.xml",
        text.into_bytes(),
        Vec::new(),
        &limits(),
    )));
}

/// A shape's text: what is read is printed, and read again as the same.
pub fn shapes(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (one, other) = text.split_once(';').unwrap_or((&text, "?"));
    let parse = |text: &str| told(text.parse::<PartialShape>());
    let Some(shape) = parse(one) else { return };
    let printed = shape.to_string();
    assert_eq!(parse(&printed).as_ref(), Some(&shape), "{printed}");
    let elements = shape.elements();
    if let Some(exact) = shape.to_shape() {
        assert!(shape.contains(&exact));
        assert!(exact.elements().is_none_or(|n| elements.contains(n)));
        for ty in ElementType::ALL {
            let _ = exact.elements().and_then(|n| ty.storage_bytes(n));
        }
    }
    let Some(other) = parse(other) else { return };
    let both = shape.intersect(&other);
    assert_eq!(both, other.intersect(&shape));
    if let Some(both) = both {
        assert_eq!(both.intersect(&shape).as_ref(), Some(&both));
    }
}

/// A constant of strings; the first byte tells how many there are to be.
pub fn strings(bytes: &[u8]) {
    let Some((&count, weights)) = bytes.split_first() else {
        return;
    };
    let shape = match count >> 6 {
        0 => String::new(),
        1 => format!("{}", count & 63),
        2 => format!("{},{}", count >> 3 & 7, count & 7),
        _ => format!("1,{},1", usize::from(count & 63) << 40),
    };
    let text = format!(
        "<net name='n' version='11'><layers><layer id='0' name='c' type='Const' version='opset1'>\
         <data element_type='string' shape='{shape}' offset='0' size='{}'/>\
         <output><port id='0' precision='STRING'/></output></layer>\
         <layer id='1' name='r' type='Result' version='opset1'><input><port id='0'/></input></layer>\
         </layers><edges><edge from-layer='0' from-port='0' to-layer='1' to-port='0'/></edges></net>",
        weights.len()
    );
    let model = Model::from_bytes_with("m.xml", text.into_bytes(), weights.to_vec(), &limits());
    evaluated(told(model));
}

/// A file of tensors, or the text of one. The first byte chooses the reader, the second what is
/// wanted.
pub fn tensors(bytes: &[u8]) {
    let [reader, wanted, rest @ ..] = bytes else {
        return;
    };
    let limits = limits();
    let types = ElementType::ALL;
    let element_type = types[usize::from(*wanted) % types.len()];
    let shape: PartialShape = match wanted % 3 {
        0 => PartialShape::dynamic(),
        1 => PartialShape::of_rank(2),
        _ => [usize::from(wanted / 8)].into(),
    };
    let wanted = Wanted {
        element_type,
        shape: &shape,
        range: None,
    };
    let in_file = |extension: &str| {
        let folder = Path::new("/dev/shm");
        let mut builder = tempfile::Builder::new();
        builder.suffix(extension);
        let file = match folder.is_dir() {
            true => builder.tempfile_in(folder),
            false => builder.tempfile(),
        };
        let mut file = file.expect("a temporary file");
        file.write_all(rest).expect("room for a temporary file");
        if let Some(tensors) = told_in(io::read_all(file.path(), &limits)) {
            tensors.iter().for_each(|(_, tensor)| shown(tensor));
        }
    };
    match reader % 6 {
        0 => {
            let read = |bytes: Vec<u8>| io::npy::parse(SharedBytes::new(Arc::new(bytes)), &limits);
            if let Some(tensor) = told_in(read(rest.to_vec())) {
                shown(&tensor);
                let mut written = Vec::new();
                if io::npy::write_to(&mut written, &tensor).is_ok() {
                    let again = read(written).expect("what was written is read");
                    assert!(
                        io::adapt(&again, tensor.element_type()).is_ok(),
                        "{tensor:?}"
                    );
                }
                let _ = told_in(io::adapt(&tensor, element_type));
            }
        }
        1 => in_file(".npz"),
        2 => in_file(".safetensors"),
        3 => in_file(".npy"),
        4 => {
            for (_, value) in told_in(io::json::parse(rest)).into_iter().flatten() {
                loaded(&value, &wanted, &limits);
            }
        }
        _ => {
            if let Some(value) = told_in(Value::parse(&String::from_utf8_lossy(rest))) {
                loaded(&value, &wanted, &limits);
            }
        }
    }
}

/// Messages of readers of tensors may show what they read: only the result counts.
fn told_in<T>(result: Result<T, io::IoError>) -> Option<T> {
    result.map_err(|error| error.to_string()).ok()
}

fn loaded(value: &Value, wanted: &Wanted<'_>, limits: &Limits) {
    // The names of files are the caller's own.
    if value.file().is_none()
        && let Some(tensor) = told_in(value.load(wanted, limits))
    {
        shown(&tensor);
    }
}

fn shown(tensor: &Tensor) {
    let _ = io::text::format(tensor, &io::text::Options::default());
}

/// An ONNX model: read, inferred, evaluated, compiled.
pub fn onnx(bytes: &[u8]) {
    evaluated(told(Model::from_bytes_with(
        "m.onnx",
        bytes.to_vec(),
        Vec::new(),
        &limits(),
    )));
}

/// A document and its weights: read, inferred, evaluated, compiled.
pub fn evaluate(bytes: &[u8]) {
    let at = bytes.windows(WEIGHTS.len()).position(|w| w == WEIGHTS);
    let (document, weights) = match at {
        Some(at) => (&bytes[..at], &bytes[at + WEIGHTS.len()..]),
        None => (bytes, &[][..]),
    };
    let (document, weights) = (document.to_vec(), weights.to_vec());
    evaluated(told(Model::from_bytes_with(
        "m.xml",
        document,
        weights,
        &limits(),
    )));
}

/// Evaluates a model on small random inputs, as it is and compiled.
fn evaluated(model: Option<Model>) {
    let Some(model) = model else { return };
    let Some(inputs) = inputs(&model) else { return };
    let with_index = || inputs.iter().cloned().enumerate();
    let _ = told_lines(model.evaluate_with(with_index(), &limits(), &mut []));
    let mut options = CompileOptions::default();
    options.folded_bytes = 1 << 20;
    let Some(compiled) = told_lines(model.compile(&options)) else {
        return;
    };
    let mut request = compiled.infer_request();
    for _ in 0..2 {
        let _ = told_lines(request.infer_with(with_index(), &limits(), &mut []));
    }
}

/// As [`told`], for errors that may have further lines.
fn told_lines<T>(result: ovir::Result<T>) -> Option<T> {
    result
        .map_err(|error| {
            one_line(error.message());
            error.details().iter().for_each(|line| one_line(line));
            one_line(&error.place().to_string());
        })
        .ok()
}

/// Small inputs that a model takes.
fn inputs(model: &Model) -> Option<Vec<Tensor>> {
    let mut inputs = Vec::new();
    for index in 0..model.inputs().len() {
        let wanted = model.input_type(index)?;
        let dims = match wanted.shape.dims() {
            Some(dims) => dims
                .iter()
                .map(|d| d.min().max(d.max().map_or(2, |m| m.min(2))))
                .collect(),
            None => Shape::from([2, 3]),
        };
        let ty = match wanted.element_type {
            ElementType::Dynamic => ElementType::F32,
            ty => ty,
        };
        let random = Random {
            seed: index as u64,
            min: None,
            max: None,
        };
        inputs.push(told_in(random.fill(
            ty,
            &dims,
            model.allowed_values(index),
            &limits(),
        ))?);
    }
    Some(inputs)
}
