//! Long kernels end when the time is over, or when they are cancelled. Without the watch the debug
//! build would take minutes for each of these.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use ovir::graph::Node;
use ovir::tensor::{ElementType, Tensor};
use ovir::{CancelToken, CompileOptions, Control, Kind, Limits, Model, Observer};

const SOON: Duration = Duration::from_millis(5);

/// A layer of inputs of these shapes.
fn model(layer: &str, shapes: &[&str], outputs: usize) -> Model {
    let mut layers = String::new();
    let mut ports = String::new();
    let mut edges = String::new();
    for (id, shape) in shapes.iter().enumerate() {
        let (ty, shape) = shape.split_once(' ').expect("type and shape");
        layers += &format!(
            "<layer id='{id}' name='p{id}' type='Parameter' version='opset1'>\
             <data element_type='{ty}' shape='{shape}'/>\
             <output><port id='0' precision='FP32'/></output></layer>"
        );
        ports += &format!("<port id='{id}'/>");
        edges += &format!("<edge from-layer='{id}' from-port='0' to-layer='90' to-port='{id}'/>");
    }
    let (head, body) = layer.split_once('>').expect("a tag and its content");
    let out: String = (0..outputs)
        .map(|i| format!("<port id='{}' precision='FP32'/>", 50 + i))
        .collect();
    let text = format!(
        "<net name='m' version='11'><layers>{layers}<layer id='90' name='long' {head}>\
         <input>{ports}</input><output>{out}</output>{body}</layer>\
         <layer id='91' name='r' type='Result' version='opset1'><input><port id='0'/></input>\
         </layer></layers><edges>{edges}\
         <edge from-layer='90' from-port='50' to-layer='91' to-port='0'/></edges></net>"
    );
    Model::from_bytes("m.xml", text.into_bytes(), Vec::new()).expect("a model")
}

fn zeros(shape: &[usize]) -> Tensor {
    Tensor::zeros(ElementType::F32, shape).expect("a tensor")
}

/// Tells another thread that the layer of a model is evaluated.
struct Began(mpsc::Sender<()>);

impl Observer for Began {
    fn before(&mut self, node: &Node, _: &[&Tensor]) -> Control {
        if node.name() == "long" {
            let _ = self.0.send(());
        }
        Control::Continue
    }
}

/// Evaluates both ways under a deadline, and until it is cancelled.
fn ends(model: &Model, inputs: &[Tensor]) {
    let given = || inputs.iter().cloned().enumerate();
    let compiled = model.compile(&CompileOptions::default()).expect("compiles");
    for mut request in [model.infer_request(), compiled.infer_request()] {
        let mut limits = Limits::default();
        limits.deadline = Some(Instant::now() + SOON);
        let late = request.infer_with(given(), &limits, &mut []);
        assert_eq!(late.expect_err("it takes longer").kind(), Kind::Deadline);
        let token = CancelToken::new();
        limits.deadline = None;
        limits.cancel = Some(token.clone());
        let (began, begins) = mpsc::channel();
        let cancelled = std::thread::scope(|scope| {
            let token = &token;
            scope.spawn(move || {
                // An evaluation that ends before its layer drops the other side.
                let _ = begins.recv();
                std::thread::sleep(SOON);
                token.cancel();
            });
            request.infer_with(given(), &limits, &mut [&mut Began(began)])
        });
        let error = cancelled.expect_err("it takes longer");
        assert_eq!(error.kind(), Kind::Cancelled);
        assert!(error.to_string().contains("\"long\""), "{error}");
    }
}

#[test]
fn a_product() {
    let product = model(
        "type='MatMul' version='opset1'>",
        &["f32 2500,2500", "f32 2500,2500"],
        1,
    );
    ends(&product, &[zeros(&[2500, 2500]), zeros(&[2500, 2500])]);
}

#[test]
fn a_convolution() {
    let data = "<data strides='1,1' dilations='1,1' pads_begin='0,0' pads_end='0,0'/>";
    let layer = format!("type='Convolution' version='opset1'>{data}");
    let convolution = model(&layer, &["f32 1,64,300,300", "f32 128,64,5,5"], 1);
    ends(
        &convolution,
        &[zeros(&[1, 64, 300, 300]), zeros(&[128, 64, 5, 5])],
    );
}

#[test]
fn a_sort() {
    let data = "<data axis='1' mode='max' sort='value' index_element_type='i64'/>";
    let layer = format!("type='TopK' version='opset11'>{data}");
    let sort = model(&layer, &["f32 2000,3000", "i64 "], 2);
    ends(&sort, &[zeros(&[2000, 3000]), Tensor::scalar(2500i64)]);
}

#[test]
fn suppression() {
    let layer = "type='NonMaxSuppression' version='opset9'>\
                 <data box_encoding='corner' sort_result_descending='true' output_type='i64'/>";
    let shapes = ["f32 1,30000,4", "f32 1,1,30000", "i64 ", "f32 ", "f32 "];
    let boxes: Vec<f32> = (0..30_000u16)
        .flat_map(|i| [0.0, 2.0 * f32::from(i), 1.0, 2.0 * f32::from(i) + 1.0])
        .collect();
    let inputs = [
        Tensor::new([1, 30_000, 4], &boxes).expect("boxes"),
        Tensor::new([1, 1, 30_000], &[0.5f32; 30_000]).expect("scores"),
        Tensor::scalar(30_000i64),
        Tensor::scalar(0.5f32),
        Tensor::scalar(0.0f32),
    ];
    ends(&model(layer, &shapes, 3), &inputs);
}

#[test]
fn a_loop() {
    let body = "<port_map><input external_port_id='2' internal_layer_id='0'/>\
        <input external_port_id='1' internal_layer_id='1'/>\
        <output external_port_id='50' internal_layer_id='3'/>\
        <output external_port_id='-1' internal_layer_id='4' purpose='execution_condition'/>\
        </port_map><back_edges><edge from-layer='3' to-layer='0'/></back_edges><body><layers>\
        <layer id='0' name='x' type='Parameter' version='opset1'><data element_type='f32' shape='1'/>\
        <output><port id='0' precision='FP32'/></output></layer>\
        <layer id='1' name='go' type='Parameter' version='opset1'><data element_type='boolean' shape=''/>\
        <output><port id='0' precision='BOOL'/></output></layer>\
        <layer id='2' name='add' type='Add' version='opset1'><input><port id='0'/><port id='1'/>\
        </input><output><port id='2' precision='FP32'/></output></layer>\
        <layer id='3' name='r' type='Result' version='opset1'><input><port id='0'/></input></layer>\
        <layer id='4' name='c' type='Result' version='opset1'><input><port id='0'/></input></layer>\
        </layers><edges><edge from-layer='0' from-port='0' to-layer='2' to-port='0'/>\
        <edge from-layer='0' from-port='0' to-layer='2' to-port='1'/>\
        <edge from-layer='2' from-port='2' to-layer='3' to-port='0'/>\
        <edge from-layer='1' from-port='0' to-layer='4' to-port='0'/></edges></body>";
    let layer = format!("type='Loop' version='opset5'>{body}");
    let endless = model(&layer, &["i64 ", "boolean ", "f32 1"], 1);
    let inputs = [
        Tensor::scalar(-1i64),
        Tensor::scalar(true),
        Tensor::vector(&[1.0f32]),
    ];
    ends(&endless, &inputs);
}

/// Cancels a run before a layer is evaluated, which so is evaluated without any time.
struct CancelBefore {
    nth: usize,
    token: CancelToken,
}

impl Observer for CancelBefore {
    fn before(&mut self, _: &Node, _: &[&Tensor]) -> Control {
        match self.nth.checked_sub(1) {
            Some(rest) => self.nth = rest,
            None => self.token.cancel(),
        }
        Control::Continue
    }
}

/// Constants are not packed by halves: what was cut short is right the next time.
#[test]
fn weights_are_whole_after_a_deadline() {
    let path = crate::support::project("ir-samples");
    let mut tried = 0;
    for path in crate::support::files(&path, "xml") {
        let text = path.to_string_lossy().into_owned();
        let weighty = ["matmul", "convolution", "lstm"]
            .iter()
            .any(|name| text.contains(name));
        if !weighty {
            continue;
        }
        let Ok(model) = Model::read(&path) else {
            continue;
        };
        if model.inputs().len() != 1 {
            continue;
        }
        let ty = model.input_type(0).expect("an input").clone();
        let (Some(shape), ElementType::F32) = (ty.shape.to_shape(), ty.element_type) else {
            continue;
        };
        let values = vec![0.5f32; shape.elements().expect("few")];
        let input = Tensor::new(shape, &values).expect("a tensor");
        let Ok(expected) = model.evaluate([(0, input.clone())]) else {
            continue;
        };
        // Cancelled before the first layer, before the second, and so on, until the end is reached.
        for nth in 0.. {
            let compiled = model.compile(&CompileOptions::default()).expect("compiles");
            let mut request = compiled.infer_request();
            // What is large is packed by the second evaluation.
            let mut ended = false;
            for _ in 0..3 {
                let token = CancelToken::new();
                let mut limits = Limits::default();
                limits.cancel = Some(token.clone());
                let mut before = CancelBefore { nth, token };
                let given = [(0, input.clone())];
                let result = request.infer_with(given, &limits, &mut [&mut before]);
                ended |= result.is_err_and(|error| error.kind() == Kind::Cancelled);
            }
            if !ended {
                break;
            }
            let outputs = request.infer([(0, input.clone())]).expect("evaluates");
            for ((_, a), (_, b)) in outputs.iter().zip(expected.iter()) {
                if let (Ok(a), Ok(b)) = (a.as_slice::<f32>(), b.as_slice::<f32>()) {
                    let near =
                        |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-4 * b.abs().max(1.0) || a == b;
                    assert!(a.iter().zip(b).all(near), "{text}, before layer {nth}");
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 0, "no sample has weights");
}
