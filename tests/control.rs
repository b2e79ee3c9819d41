//! Loops, branches and variables: what vectors of the real runtime cannot show.

use ovir::tensor::{ElementType, Tensor};
use ovir::{CompileOptions, Control, Kind, Limits, Model, Observer};

fn model(layers: &str, edges: &str) -> ovir::Result<Model> {
    let text =
        format!("<net name='m' version='11'><layers>{layers}</layers><edges>{edges}</edges></net>");
    Model::from_bytes("m.xml", text.into_bytes(), Vec::new())
}

fn parameter(id: u32, name: &str, ty: &str, shape: &str) -> String {
    format!(
        "<layer id='{id}' name='{name}' type='Parameter' version='opset1'>\
         <data element_type='{ty}' shape='{shape}'/><output><port id='0' precision='FP32'/></output></layer>"
    )
}

fn layer(id: u32, of: &str, data: &str, inputs: usize) -> String {
    let (type_name, version) = of.split_once('-').expect("type and version");
    let ports: String = (0..inputs).map(|i| format!("<port id='{i}'/>")).collect();
    let output = if type_name == "Result" {
        String::new()
    } else {
        format!("<output><port id='{inputs}' precision='FP32'/></output>")
    };
    format!(
        "<layer id='{id}' name='l{id}' type='{type_name}' version='opset{version}'>\
         <data {data}/><input>{ports}</input>{output}</layer>"
    )
}

fn edges(list: &[[u32; 4]]) -> String {
    let edge = |[from, port, to, input]: &[u32; 4]| {
        format!("<edge from-layer='{from}' from-port='{port}' to-layer='{to}' to-port='{input}'/>")
    };
    list.iter().map(edge).collect()
}

/// Doubles a state `n` times; the sum of the state and the number of each iteration comes out as
/// well, one beside the other.
fn doubling(condition: &str) -> Model {
    doubling_of(condition, "2", "?")
}

/// The same for a state of another shape.
fn doubling_of(condition: &str, shape: &str, state: &str) -> Model {
    let body = format!(
        "<body><layers>{}{}{}{}{}{}{}{}</layers><edges>{}</edges></body>",
        parameter(0, "state", "i64", state),
        parameter(1, "iteration", "i64", ""),
        parameter(2, "go", "boolean", ""),
        layer(3, "Add-1", "", 2),
        layer(4, "Add-1", "", 2),
        layer(5, "Result-1", "", 1),
        layer(6, "Result-1", "", 1),
        layer(7, "Result-1", "", 1),
        edges(&[
            [0, 0, 3, 0],
            [0, 0, 3, 1],
            [0, 0, 4, 0],
            [1, 0, 4, 1],
            [3, 2, 5, 0],
            [4, 2, 6, 0],
            [2, 0, 7, 0],
        ])
    );
    let ports = "<port_map>\
        <input external_port_id='2' internal_layer_id='0'/>\
        <input external_port_id='-1' internal_layer_id='1' purpose='current_iteration'/>\
        <input external_port_id='1' internal_layer_id='2'/>\
        <output external_port_id='3' internal_layer_id='5'/>\
        <output axis='0' external_port_id='4' internal_layer_id='6'/>\
        <output external_port_id='-1' internal_layer_id='7' purpose='execution_condition'/>\
        </port_map><back_edges><edge from-layer='5' to-layer='0'/></back_edges>";
    let looped = format!(
        "<layer id='3' name='loop' type='Loop' version='opset5'>{ports}<input><port id='0'/>\
         <port id='1'/><port id='2'/></input><output><port id='3' precision='I64'/><port id='4' precision='I64'/></output>{body}</layer>"
    );
    let layers = format!(
        "{}{}{}{looped}{}{}",
        parameter(0, "trips", "i64", ""),
        parameter(1, "go", condition, ""),
        parameter(2, "x", "i64", shape),
        layer(4, "Result-1", "", 1),
        layer(5, "Result-1", "", 1),
    );
    let edges = edges(&[
        [0, 0, 3, 0],
        [1, 0, 3, 1],
        [2, 0, 3, 2],
        [3, 3, 4, 0],
        [3, 4, 5, 0],
    ]);
    model(&layers, &edges).expect("a model")
}

fn run(model: &Model, trips: i64, go: bool, limits: &Limits) -> ovir::Result<Vec<Vec<i64>>> {
    let inputs = [
        ("trips", Tensor::scalar(trips)),
        ("go", Tensor::scalar(go)),
        ("x", Tensor::vector(&[1i64, 3])),
    ];
    let outputs = model.evaluate_with(inputs, limits, &mut [])?;
    let ints = |t: &Tensor| t.as_slice::<i64>().expect("i64").to_vec();
    Ok(outputs.iter().map(|(_, t)| ints(t)).collect())
}

#[test]
fn a_loop_runs_as_often_as_it_is_told() {
    let model = doubling("boolean");
    let limits = Limits::default();
    let once = run(&model, 1, true, &limits).expect("evaluates");
    assert_eq!(once, [vec![2, 6], vec![1, 3]]);
    let thrice = run(&model, 3, true, &limits).expect("evaluates");
    assert_eq!(thrice, [vec![8, 24], vec![1, 3, 3, 7, 6, 14]]);
    // Without an iteration the state is what it began as, and nothing is put together.
    for (trips, go) in [(0, true), (3, false)] {
        let never = run(&model, trips, go, &limits).expect("evaluates");
        assert_eq!(never, [vec![1, 3], vec![]]);
    }
}

#[test]
fn without_an_iteration_sizes_follow_from_the_inputs() {
    let model = doubling_of("boolean", "1,6..9", "1,6..9");
    let inputs = || {
        [
            ("trips", Tensor::scalar(0i64)),
            ("go", Tensor::scalar(true)),
            ("x", Tensor::new([1, 7], &[1i64; 7]).expect("seven")),
        ]
    };
    let compiled = model.compile(&CompileOptions::default()).expect("compiles");
    for mut request in [model.infer_request(), compiled.infer_request()] {
        // The second evaluation knows the shapes.
        for _ in 0..3 {
            let outputs = request.infer(inputs()).expect("evaluates");
            assert_eq!(outputs[0].shape()[..], [1, 7]);
            assert_eq!(outputs[1].shape()[..], [0, 7]);
        }
    }
}

#[test]
fn a_loop_without_end_meets_the_limit() {
    let model = doubling("boolean");
    let mut limits = Limits::default();
    limits.loop_trips = 20;
    let error = run(&model, -1, true, &limits).expect_err("no end");
    assert_eq!(error.kind(), Kind::Limit);
    assert_eq!(
        error.message(),
        "the loop has not ended after 20 iterations, the limit"
    );
    let error = run(&model, 21, true, &limits).expect_err("too many");
    assert_eq!(error.kind(), Kind::Limit);
    assert!(run(&model, 20, true, &limits).is_ok());
}

#[test]
fn a_condition_is_boolean() {
    let model = doubling("f32");
    let inputs = [
        ("trips", Tensor::scalar(1i64)),
        ("go", Tensor::scalar(1f32)),
        ("x", Tensor::vector(&[1i64, 3])),
    ];
    assert!(model.evaluate(inputs).is_ok(), "numbers are true or false");
}

#[test]
fn observers_see_the_layers_of_bodies() {
    #[derive(Default)]
    struct Log(Vec<String>);
    impl Observer for Log {
        fn enter(&mut self, node: &ovir::graph::Node, _: &ovir::graph::Body, iteration: u64) {
            self.0.push(format!("{} {iteration}", node.name()));
        }

        fn leave(&mut self, _: &ovir::graph::Node, _: &ovir::graph::Body, _: u64) {
            self.0.push("end".to_owned());
        }

        fn after(&mut self, node: &ovir::graph::Node, _: &[Tensor]) -> Control {
            if node.type_name() == "Add" {
                self.0.push(node.name().to_owned());
            }
            Control::Continue
        }
    }
    let mut log = Log::default();
    let inputs = [
        ("trips", Tensor::scalar(2i64)),
        ("go", Tensor::scalar(true)),
        ("x", Tensor::vector(&[1i64, 3])),
    ];
    let model = doubling("boolean");
    model
        .evaluate_with(inputs, &Limits::default(), &mut [&mut log])
        .expect("evaluates");
    let once = ["l3", "l4", "end"];
    assert_eq!(log.0, [&["loop 0"][..], &once, &["loop 1"], &once].concat());
}

#[test]
fn a_port_map_must_fit() {
    let body = format!(
        "<body><layers>{}{}</layers><edges>{}</edges></body>",
        parameter(0, "x", "f32", "1"),
        layer(1, "Result-1", "", 1),
        edges(&[[0, 0, 1, 0]])
    );
    let looped = |ports: &str| {
        let layers = format!(
            "{}<layer id='1' name='ti' type='TensorIterator' version='opset1'><port_map>{ports}\
             </port_map><input><port id='0'/></input><output><port id='1' precision='FP32'/></output>{body}</layer>{}",
            parameter(0, "x", "f32", "3"),
            layer(2, "Result-1", "", 1)
        );
        model(&layers, &edges(&[[0, 0, 1, 0], [1, 1, 2, 0]]))
    };
    let output = "<output external_port_id='1' internal_layer_id='1'/>";
    for (ports, expected) in [
        ("", "has no value from outside"),
        (
            "<input external_port_id='3' internal_layer_id='0'/>",
            "the port map names input 3, the layer has 1",
        ),
        (
            "<input external_port_id='0' internal_layer_id='7'/>",
            "the port map names Parameter 7, the body has none",
        ),
        (
            "<input external_port_id='0' internal_layer_id='0'/>",
            "no input is cut into parts",
        ),
        (
            "<input axis='0' start='0' end='5' external_port_id='0' internal_layer_id='0'/>",
            "end 5 is outside axis 0 of size 3",
        ),
        (
            "<input axis='0' part_size='2' stride='2' external_port_id='0' internal_layer_id='0'/>",
            "3 elements cannot be cut into parts of 2",
        ),
        (
            "<input axis='1' external_port_id='0' internal_layer_id='0'/>",
            "axis 1 is out of range for rank 1",
        ),
    ] {
        let error = looped(&format!("{ports}{output}")).expect_err(ports);
        assert!(error.to_string().contains(expected), "{error}");
        assert!(error.to_string().starts_with("m.xml:1:"), "{error}");
    }
}

/// The sum of all inputs so far, beginning with `start`.
fn running_sum(initial: bool) -> ovir::Result<Model> {
    let variable = "variable_id='sum' variable_type='f32' variable_shape='?,2'";
    let layers = format!(
        "{}{}{}{}{}{}",
        parameter(0, "x", "f32", "1,2"),
        parameter(5, "start", "f32", "1,2"),
        layer(1, "ReadValue-6", variable, usize::from(initial)),
        layer(2, "Add-1", "", 2),
        layer(3, "Assign-6", "variable_id='sum'", 1),
        layer(4, "Result-1", "", 1),
    );
    let mut list = vec![
        [0, 0, 2, 0],
        [1, u32::from(initial), 2, 1],
        [2, 2, 3, 0],
        [2, 2, 4, 0],
    ];
    if initial {
        list.push([5, 0, 1, 0]);
    }
    model(&layers, &edges(&list))
}

#[test]
fn variables_live_in_a_request() {
    let model = running_sum(true).expect("a model");
    let variables = model.variables();
    assert_eq!(variables.len(), 1);
    assert_eq!(variables[0].id, "sum");
    assert_eq!(variables[0].inferred.element_type, ElementType::F32);
    let row = |a: f32, b: f32| Tensor::new([1, 2], &[a, b]).expect("two");
    let given = || [("x", row(1.0, 2.0)), ("start", row(10.0, 20.0))];
    let mut request = model.infer_request();
    assert_eq!(request.variable("sum"), None);
    for times in 1..=3u8 {
        let times = f32::from(times);
        let outputs = request.infer(given()).expect("evaluates");
        let sum = row(10.0 + times, 20.0 + 2.0 * times);
        assert_eq!(outputs[0], sum);
        assert_eq!(request.variable("sum"), Some(&sum));
    }
    // Another request, and the model itself, begin anew.
    assert_eq!(
        model.evaluate(given()).expect("evaluates")[0],
        row(11.0, 22.0)
    );
    request.set_variable("sum", row(0.5, 0.5)).expect("fits");
    assert_eq!(request.infer(given()).expect("evaluates")[0], row(1.5, 2.5));
    request.reset();
    assert_eq!(
        request.infer(given()).expect("evaluates")[0],
        row(11.0, 22.0)
    );
    // What fails leaves the variables as they were.
    assert!(request.infer([("x", row(1.0, 2.0))]).is_err());
    assert_eq!(request.variable("sum"), Some(&row(11.0, 22.0)));
    let error = request
        .set_variable("sum", Tensor::scalar(1f32))
        .expect_err("a scalar");
    assert_eq!(error.message(), "variable \"sum\" is f32[?,2], got f32[]");
    let error = request
        .set_variable("total", row(0.0, 0.0))
        .expect_err("unknown");
    assert_eq!(
        error.message(),
        "there is no variable \"total\"; the model has \"sum\""
    );
}

#[test]
fn a_variable_without_initial_value_is_empty() {
    let model = running_sum(false).expect("a model");
    let row = |a: f32, b: f32| Tensor::new([1, 2], &[a, b]).expect("two");
    let given = [("x", row(1.0, 2.0)), ("start", row(0.0, 0.0))];
    let outputs = model.evaluate(given).expect("evaluates");
    assert_eq!(&**outputs[0].shape(), [0, 2]);
}

#[test]
fn an_assign_that_nobody_reads_is_an_error() {
    let layers = format!(
        "{}{}{}",
        parameter(0, "x", "f32", "1,2"),
        layer(1, "Assign-6", "variable_id='sum'", 1),
        layer(2, "Result-1", "", 1),
    );
    let error = model(&layers, &edges(&[[0, 0, 1, 0], [0, 0, 2, 0]])).expect_err("no ReadValue");
    assert!(
        error
            .message()
            .contains("no ReadValue reads variable \"sum\""),
        "{error}"
    );
}

/// Version 10 converts outputs, so that the layers behind them move.
#[test]
fn bodies_know_their_layer_when_it_moves() {
    let body = format!(
        "<layers>{}{}</layers><edges>{}</edges>",
        parameter(0, "a", "i64", "2"),
        layer(1, "Result-1", "", 1),
        edges(&[[0, 0, 1, 0]])
    );
    let ports = "<input external_port_id='1' internal_layer_id='0'/>\
                 <output external_port_id='2' internal_layer_id='1'/>";
    let branches = ["then", "else"].map(|branch| {
        format!(
            "<{branch}_port_map>{ports}</{branch}_port_map><{branch}_body>{body}</{branch}_body>"
        )
    });
    let layers = format!(
        "{}{}{}<layer id='3' name='if' type='If' version='opset8'><input><port id='0'/><port id='1'/>\
         </input><output><port id='2' precision='I64'/></output>{}</layer>{}",
        parameter(0, "x", "i64", "2"),
        parameter(1, "go", "boolean", ""),
        layer(2, "Result-1", "", 1),
        branches.concat(),
        layer(4, "Result-1", "", 1),
    );
    let edges = edges(&[[0, 0, 2, 0], [1, 0, 3, 0], [0, 0, 3, 1], [3, 2, 4, 0]]);
    let text =
        format!("<net name='m' version='10'><layers>{layers}</layers><edges>{edges}</edges></net>");
    let model = Model::from_bytes("m.xml", text.into_bytes(), Vec::new()).expect("a model");
    assert_eq!(model.graphs().len(), 3);
    for body in &model.graphs()[1..] {
        let (graph, node) = body.parent().expect("a layer holds it");
        assert_eq!(model.graphs()[graph].node(node).type_name(), "If");
    }
    let x = Tensor::vector(&[1i64, 2]);
    let y = model.evaluate([("x", x), ("go", Tensor::scalar(true))]);
    assert_eq!(y.expect("evaluates")[1], Tensor::vector(&[1i32, 2]));
}
