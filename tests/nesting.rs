//! Bodies in bodies, ten thousand deep: read, inferred, evaluated, compiled and dropped in time that
//! grows with the file, on the small stack of a test's thread.

use std::fmt::Write;

use ovir::tensor::Tensor;
use ovir::{CompileOptions, Kind, Limits, Model};

const DEPTH: usize = 10_000;

/// A kind of layer that holds a net like the one it stands in.
struct Nest {
    /// The net up to the body, and from its end.
    head: String,
    tail: String,
    /// Parameters and results of the net.
    parameters: String,
    results: String,
    /// The ids of the value that goes through, the layer and the result.
    ids: [u32; 3],
}

fn parameter(id: u32, ty: &str, shape: &str) -> String {
    format!(
        "<layer id='{id}' name='p{id}' type='Parameter' version='opset1'>\
         <data element_type='{ty}' shape='{shape}'/><output><port id='0' precision='FP32'/></output></layer>"
    )
}

fn result(id: u32) -> String {
    format!(
        "<layer id='{id}' name='r{id}' type='Result' version='opset1'>\
         <input><port id='0'/></input></layer>"
    )
}

fn edge([from, port, to, input]: [u32; 4]) -> String {
    format!("<edge from-layer='{from}' from-port='{port}' to-layer='{to}' to-port='{input}'/>")
}

impl Nest {
    /// `inner` is the layer's content besides its ports and its nested body.
    fn new(kind: [&str; 3], parameters: [&str; 3], inner: &str, ids: [u32; 3]) -> Self {
        let [type_name, version, body] = kind;
        let parameters: String = parameters
            .iter()
            .filter(|p| !p.is_empty())
            .enumerate()
            .map(|(id, p)| {
                let (ty, shape) = p.split_once(' ').expect("type and shape");
                parameter(id as u32, ty, shape)
            })
            .collect();
        let [_, layer, out] = ids;
        let ports: String = (0..layer).map(|id| format!("<port id='{id}'/>")).collect();
        let mut edges: String = (0..layer).map(|id| edge([id, 0, layer, id])).collect();
        edges += &edge([layer, layer, out, 0]);
        let mut results = result(out);
        if type_name == "Loop" {
            results += &result(out + 1);
            edges += &edge([1, 0, out + 1, 0]);
        }
        let head = format!(
            "<layers>{parameters}<layer id='{layer}' name='nest' type='{type_name}' \
             version='{version}'><input>{ports}</input><output><port id='{layer}' precision='FP32'/></output>\
             {inner}<{body}>"
        );
        let tail = format!("</{body}></layer>{results}</layers><edges>{edges}</edges>");
        Self {
            head,
            tail,
            parameters,
            results,
            ids,
        }
    }

    fn ifs() -> Self {
        let other = format!(
            "<layers>{}{}</layers><edges>{}</edges>",
            parameter(0, "f32", "?"),
            result(1),
            edge([0, 0, 1, 0])
        );
        let inner = format!(
            "<then_port_map><input external_port_id='0' internal_layer_id='0'/>\
             <input external_port_id='1' internal_layer_id='1'/>\
             <output external_port_id='0' internal_layer_id='3'/></then_port_map>\
             <else_port_map><input external_port_id='1' internal_layer_id='0'/>\
             <output external_port_id='0' internal_layer_id='1'/></else_port_map>\
             <else_body>{other}</else_body>"
        );
        let kind = ["If", "opset8", "then_body"];
        Self::new(kind, ["boolean ", "f32 ?", ""], &inner, [1, 2, 3])
    }

    fn loops(shape: &str) -> Self {
        let inner = "<port_map><input external_port_id='0' internal_layer_id='0'/>\
             <input external_port_id='1' internal_layer_id='1'/>\
             <input external_port_id='2' internal_layer_id='2'/>\
             <output external_port_id='3' internal_layer_id='4'/>\
             <output external_port_id='-1' internal_layer_id='5' purpose='execution_condition'/>\
             </port_map><back_edges><edge from-layer='4' to-layer='2'/></back_edges>";
        let kind = ["Loop", "opset5", "body"];
        Self::new(kind, ["i64 ", "boolean ", shape], inner, [2, 3, 4])
    }

    fn iterators() -> Self {
        let inner = "<port_map><input axis='0' external_port_id='0' internal_layer_id='0'/>\
             <output axis='0' external_port_id='1' internal_layer_id='2'/></port_map>";
        let kind = ["TensorIterator", "opset1", "body"];
        Self::new(kind, ["f32 1", "", ""], inner, [0, 1, 2])
    }

    /// A document of so many bodies; the innermost applies `operation` to the value and itself.
    fn document(&self, depth: usize, operation: &str) -> String {
        let [value, layer, out] = self.ids;
        let mut text = String::from("<net name='m' version='11'>");
        text.push_str(&self.head.repeat(depth));
        let kept = if out == 4 {
            edge([1, 0, 5, 0])
        } else {
            String::new()
        };
        write!(
            text,
            "<layers>{}<layer id='{layer}' name='innermost' {operation}<input><port id='0'/>\
             <port id='1'/></input><output><port id='2' precision='FP32'/></output></layer>{}</layers>\
             <edges>{}{}{}{kept}</edges>",
            self.parameters,
            self.results,
            edge([value, 0, layer, 0]),
            edge([value, 0, layer, 1]),
            edge([layer, 2, out, 0]),
        )
        .expect("text");
        text.push_str(&self.tail.repeat(depth));
        text.push_str("</net>");
        text
    }
}

const ADD: &str = "type='Add' version='opset1'>";
const JOIN: &str = "type='Concat' version='opset1'><data axis='0'/>";

fn read(text: String) -> ovir::Result<Model> {
    Model::from_bytes("deep.xml", text.into_bytes(), Vec::new())
}

/// The value of the only output, evaluated and compiled.
fn both_ways(model: &Model, inputs: &[Tensor]) -> Vec<f32> {
    let given = || inputs.iter().cloned().enumerate();
    let outputs = model.evaluate(given()).expect("evaluates");
    let expected = outputs[0].as_slice::<f32>().expect("f32").to_vec();
    let compiled = model.compile(&CompileOptions::default());
    let mut request = compiled.expect("compiles").infer_request();
    for _ in 0..3 {
        let outputs = request.infer(given()).expect("evaluates");
        assert_eq!(outputs[0].as_slice::<f32>().expect("f32"), expected);
    }
    expected
}

/// The model after it was written; a second writing gives the same bytes.
fn written_and_read(model: &Model) -> Model {
    let (document, weights) = model.to_ir().expect("written");
    let read = Model::from_bytes("deep.xml", document.clone(), weights).expect("a model");
    assert_eq!(read.graphs().len(), model.graphs().len());
    assert!(read.to_ir().expect("written").0 == document);
    read
}

#[test]
fn if_in_if() {
    let model = read(Nest::ifs().document(DEPTH, ADD)).expect("a model");
    assert_eq!(model.graphs().len(), 2 * DEPTH + 1);
    let model = written_and_read(&model);
    let value = Tensor::vector(&[1.5f32, 2.0]);
    let taken = both_ways(&model, &[Tensor::scalar(true), value.clone()]);
    assert_eq!(taken, [3.0, 4.0]);
    let other = both_ways(&model, &[Tensor::scalar(false), value]);
    assert_eq!(other, [1.5, 2.0]);
}

#[test]
fn loop_in_loop() {
    let model = read(Nest::loops("f32 ?").document(DEPTH, ADD)).expect("a model");
    let trips = Tensor::scalar(1i64);
    let inputs = [trips, Tensor::scalar(true), Tensor::vector(&[0.5f32])];
    assert_eq!(both_ways(&model, &inputs), [1.0]);
}

/// Each body would be inferred some times for each time that the one around it is.
#[test]
fn states_that_grow_in_nested_loops() {
    for depth in [1, 2, 3, 50, DEPTH] {
        let model = read(Nest::loops("f32 1").document(depth, JOIN)).expect("a model");
        let inputs = |trips: i64| {
            let value = Tensor::vector(&[7.0f32]);
            [Tensor::scalar(trips), Tensor::scalar(true), value]
        };
        assert_eq!(both_ways(&model, &inputs(1)), [7.0, 7.0], "{depth}");
        if depth == 3 {
            assert_eq!(both_ways(&model, &inputs(2)), [7.0; 256]);
        }
        let shape = &model.output_type(0).expect("an output").shape;
        let rank = (depth < 50).then_some(1);
        assert!(rank.is_none() || shape.rank() == rank, "{depth}: {shape}");
    }
}

#[test]
fn iterator_in_iterator() {
    let model = read(Nest::iterators().document(DEPTH, ADD)).expect("a model");
    assert_eq!(both_ways(&model, &[Tensor::vector(&[4.0f32])]), [8.0]);
}

#[test]
fn errors_in_deep_bodies_are_short() {
    let text = Nest::ifs().document(DEPTH, "type='Gather' version='opset8'>");
    let error = read(text).expect_err("Gather takes three inputs");
    let text = error.to_string();
    assert!(
        text.contains(": … > layer 2 \"nest\" (If, opset8) > "),
        "{text}"
    );
    assert!(text.contains("\"innermost\" (Gather, opset8): "), "{text}");
    assert!(text.len() < 1000, "{text}");
}

/// Each port without a precision is an error, in each of so many layers.
#[test]
fn many_errors_in_deep_bodies_are_few() {
    let text = Nest::ifs()
        .document(DEPTH, ADD)
        .replace("precision='FP32'", "");
    let error = read(text).expect_err("ports have a precision");
    assert_eq!(error.kind(), Kind::Structure);
}

#[test]
fn deeper_than_allowed_is_an_error() {
    let text = Nest::ifs().document(DEPTH + 1, ADD);
    let error = read(text).expect_err("too deep");
    assert_eq!(error.kind(), Kind::Limit);
    assert!(error.message().contains("deeper than 10000"), "{error}");
    assert!(Limits::untrusted().nesting < DEPTH);
}
