//! The library as a user meets it.

use ovir::graph::{Builder, Known, Node};
use ovir::tensor::{ElementType, PartialShape, Tensor};
use ovir::{CancelToken, CompileOptions, Control, Kind, Limits, Model, Observer};

use crate::support::project;

fn shape(text: &str) -> PartialShape {
    text.parse().expect("a shape")
}

fn gather() -> Model {
    Model::read(project("ir-samples/ops/movement/gather-8/example-7.xml")).expect("a sample")
}

fn gather_inputs() -> [(&'static str, Tensor); 2] {
    [
        ("data", Tensor::vector(&[1i32, 2, 3, 4, 5])),
        ("indices", Tensor::vector(&[3i64, 10, -20])),
    ]
}

#[test]
fn inputs_and_outputs_go_by_name_and_by_position() {
    let model = gather();
    let by_name = model.evaluate(gather_inputs()).expect("a result");
    let inputs = gather_inputs().into_iter().map(|(_, tensor)| tensor);
    let by_index = model.evaluate(inputs.enumerate()).expect("a result");
    assert_eq!(by_name["output"], by_index[0]);
    assert_eq!(by_name["output"].as_slice::<i32>().expect("i32"), [4, 0, 0]);
    assert!(by_name.get("nothing").is_none());
    assert_eq!(
        by_name.iter().map(|(name, _)| name).collect::<Vec<_>>(),
        ["output"]
    );
}

#[test]
fn wrong_inputs_are_refused_by_name() {
    let model = gather();
    let [data, indices] = gather_inputs();
    let cases: [(Vec<(&str, Tensor)>, &str); 5] = [
        (vec![data.clone()], r#"no value for input "indices" i64[3]"#),
        (
            vec![data.clone(), ("index", indices.1.clone())],
            r#"there is no input "index"; the model has "data", "indices""#,
        ),
        (
            vec![data.clone(), data.clone(), indices.clone()],
            r#"input "data" is given twice"#,
        ),
        (
            vec![data.clone(), ("indices", Tensor::vector(&[3i32, 10, -20]))],
            r#"input "indices" takes i64[3], got i32[3]"#,
        ),
        (
            vec![data, ("indices", Tensor::vector(&[3i64]))],
            r#"input "indices" takes i64[3], got i64[1]"#,
        ),
    ];
    for (inputs, message) in cases {
        let error = model.evaluate(inputs).expect_err(message);
        assert_eq!(error.kind(), Kind::Input);
        assert_eq!(error.message(), message);
    }
}

#[test]
fn a_model_is_shared_by_threads() {
    fn shared<T: Send + Sync + Clone>(_: &T) {}
    let model = gather();
    shared(&model);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let outputs = model.evaluate(gather_inputs()).expect("a result");
                assert_eq!(outputs[0].as_slice::<i32>().expect("i32"), [4, 0, 0]);
            });
        }
    });
}

/// ShapeOf → Gather → Concat → Reshape, as converters write it for dynamic models.
fn flatten() -> Model {
    let mut graph = Builder::new();
    let x = graph.parameter("x", ElementType::F32, shape("?,3,1..8"));
    let sizes = graph
        .add(
            "sizes",
            "ShapeOf",
            "opset3",
            &[("output_type", "i64")],
            &[x],
        )
        .expect("ShapeOf");
    let zero = graph.constant("zero", Tensor::vector(&[0i64]));
    let axis = graph.constant("axis", Tensor::scalar(0i64));
    let batch = graph
        .add("batch", "Gather", "opset8", &[], &[sizes, zero, axis])
        .expect("Gather");
    let rest = graph.constant("rest", Tensor::vector(&[-1i64]));
    let target = graph
        .add(
            "target",
            "Concat",
            "opset1",
            &[("axis", "0")],
            &[batch, rest],
        )
        .expect("Concat");
    let y = graph
        .add(
            "y",
            "Reshape",
            "opset1",
            &[("special_zero", "false")],
            &[x, target],
        )
        .expect("Reshape");
    graph.result("flat", y);
    graph.build("flatten").expect("a model")
}

#[test]
fn shape_computations_resolve_on_dynamic_models() {
    let model = flatten();
    let x = model.graph().find("x").expect("x");
    let y = model.graph().find("y").expect("y");
    assert_eq!(model.inferred(y)[0].to_string(), "f32[?,3..24]");
    let batch = |node| model.inferred(node)[0].shape.dims().expect("a rank")[0].symbol();
    assert!(batch(x).is_some());
    assert_eq!(batch(x), batch(y), "the batch is known to be the same");
    let target = model.graph().find("target").expect("target");
    let Some(Known::Ranges(known)) = model.known(target, 0) else {
        panic!("the target is known in part");
    };
    assert_eq!(known[1].value(), Some(-1));
}

#[test]
fn reshape_infers_anew() {
    let model = flatten();
    let fixed = model
        .reshape([("x", shape("2,3,4"))])
        .expect("a fitting shape");
    assert_eq!(
        fixed.output_type(0).expect("an output").to_string(),
        "f32[2,12]"
    );
    assert_eq!(
        model.output_type(0).expect("an output").to_string(),
        "f32[?,3..24]"
    );
    let error = model
        .reshape([("z", shape("2"))])
        .expect_err("there is no z");
    assert_eq!(
        error.message(),
        r#"there is no input "z"; the model has "x""#
    );
    let x = Tensor::zeros(ElementType::F32, [2, 3, 4]).expect("a tensor");
    for model in [model, fixed] {
        let outputs = model.evaluate([("x", x.clone())]).expect("a result");
        assert_eq!(outputs[0].shape()[..], [2, 12]);
    }
}

#[test]
fn a_shape_that_does_not_fit_is_an_error_with_the_layer() {
    let mut graph = Builder::new();
    let x = graph.parameter("x", ElementType::F32, shape("?,2"));
    let y = graph.parameter("y", ElementType::F32, shape("?,2"));
    let sum = graph
        .add("sum", "Add", "opset1", &[], &[x, y])
        .expect("Add");
    graph.result("z", sum);
    let model = graph.build("sums").expect("a model");
    let error = model
        .reshape([("x", shape("3,2")), ("y", shape("4,2"))])
        .expect_err("3 and 4 do not broadcast");
    assert_eq!(error.kind(), Kind::Shape);
    let text = error.to_string();
    assert!(text.contains(r#""sum" (Add, opset1)"#), "{text}");
    assert!(text.ends_with("; inputs: f32[3,2], f32[4,2]"), "{text}");
}

#[test]
fn the_builder_refuses_what_it_does_not_know() {
    let mut graph = Builder::new();
    let x = graph.parameter("x", ElementType::F32, shape("2"));
    let error = graph
        .add("y", "Frobnicate", "opset1", &[], &[x])
        .expect_err("no such type");
    assert_eq!(error.kind(), Kind::Unsupported);
    let error = graph
        .add(
            "y",
            "Concat",
            "opset1",
            &[("axis", "0"), ("axes", "0")],
            &[x],
        )
        .expect_err("no `axes`");
    assert_eq!(error.message(), "there is no attribute `axes`");
}

/// Notes what it sees; can stop, or put zeros in place of one layer.
#[derive(Default)]
struct Spy {
    before: Vec<String>,
    after: Vec<String>,
    stop_at: Option<&'static str>,
    replace: Option<(&'static str, Vec<Tensor>)>,
}

impl Observer for Spy {
    fn before(&mut self, node: &Node, inputs: &[&Tensor]) -> Control {
        self.before
            .push(format!("{} {}", node.name(), inputs.len()));
        Control::Continue
    }

    fn after(&mut self, node: &Node, outputs: &[Tensor]) -> Control {
        self.after.push(format!("{} {:?}", node.name(), outputs));
        if self.stop_at == Some(node.name()) {
            return Control::Stop;
        }
        match &self.replace {
            Some((name, tensors)) if *name == node.name() => Control::Replace(tensors.clone()),
            _ => Control::Continue,
        }
    }
}

fn watched(spy: &mut Spy) -> ovir::Result<ovir::Outputs> {
    gather().evaluate_with(gather_inputs(), &Limits::default(), &mut [spy])
}

#[test]
fn observers_see_every_layer_and_change_nothing() {
    let mut spy = Spy::default();
    let outputs = watched(&mut spy).expect("a result");
    assert_eq!(outputs[0].as_slice::<i32>().expect("i32"), [4, 0, 0]);
    assert_eq!(spy.before.len(), gather().graph().nodes().len());
    assert!(
        spy.before.iter().any(|line| line == "Gather 3"),
        "{:?}",
        spy.before
    );
    assert!(
        spy.after.iter().any(|line| line == "Gather [i32[3]]"),
        "{:?}",
        spy.after
    );
}

#[test]
fn a_request_keeps_nothing_that_observers_see_twice() {
    let mut first = Spy::default();
    watched(&mut first).expect("a result");
    let mut request = gather().infer_request();
    for _ in 0..2 {
        let mut spy = Spy::default();
        request.infer(gather_inputs()).expect("a result");
        let outputs = request.infer_with(gather_inputs(), &Limits::default(), &mut [&mut spy]);
        let outputs = outputs.expect("a result");
        assert_eq!(outputs[0].as_slice::<i32>().expect("i32"), [4, 0, 0]);
        assert_eq!((&spy.before, &spy.after), (&first.before, &first.after));
    }
}

#[test]
fn observers_stop_and_replace() {
    let mut spy = Spy {
        stop_at: Some("Gather"),
        ..Spy::default()
    };
    let error = watched(&mut spy).expect_err("stopped");
    assert_eq!(error.kind(), Kind::Stopped);
    let mut spy = Spy {
        replace: Some(("Gather", vec![Tensor::vector(&[7i32, 8, 9])])),
        ..Spy::default()
    };
    let outputs = watched(&mut spy).expect("a result");
    assert_eq!(outputs[0].as_slice::<i32>().expect("i32"), [7, 8, 9]);
    for wrong in [
        vec![],
        vec![Tensor::vector(&[1f32, 2., 3.])],
        vec![Tensor::scalar(1i32)],
    ] {
        let mut spy = Spy {
            replace: Some(("Gather", wrong)),
            ..Spy::default()
        };
        assert_eq!(
            watched(&mut spy).expect_err("does not fit").kind(),
            Kind::Eval
        );
    }
}

#[test]
fn limits_hold_before_memory_is_taken() {
    let mut graph = Builder::new();
    let x = graph.parameter("x", ElementType::F32, shape(""));
    let target = graph.constant("target", Tensor::vector(&[200_000i64, 200_000]));
    let bomb = graph
        .add("bomb", "Broadcast", "opset3", &[], &[x, target])
        .expect("Broadcast");
    graph.result("y", bomb);
    let model = graph.build("bomb").expect("a model of a few bytes");
    let error = model
        .evaluate([("x", Tensor::scalar(1f32))])
        .expect_err("160 GB");
    assert_eq!(error.kind(), Kind::Limit);
    assert!(
        error.message().contains("needs 160000000000 bytes"),
        "{error}"
    );
}

/// The outputs of a layer are freed after their last use: a long chain of large tensors fits in
/// little memory.
#[test]
fn tensors_are_freed_after_their_last_use() {
    let mut graph = Builder::new();
    let mut value = graph.parameter("x", ElementType::F32, shape("1000000"));
    let one = graph.constant("one", Tensor::scalar(1f32));
    for step in 0..20 {
        let name = format!("step{step}");
        value = graph
            .add(&name, "Add", "opset1", &[], &[value, one])
            .expect("Add");
    }
    graph.result("y", value);
    let model = graph.build("chain").expect("a model");
    let x = Tensor::zeros(ElementType::F32, [1_000_000]).expect("a tensor");
    let mut limits = Limits::default();
    limits.live_bytes = 9_000_000;
    let outputs = model
        .evaluate_with([("x", x)], &limits, &mut [])
        .expect("two tensors of 4 MB at a time are enough");
    assert_eq!(outputs[0].as_slice::<f32>().expect("f32")[999_999], 20.0);
}

/// What is freed makes room for as much, not for more.
#[test]
fn freed_tensors_count_once() {
    let mut graph = Builder::new();
    let x = graph.parameter("x", ElementType::F32, shape("1000000"));
    let one = graph.constant("one", Tensor::scalar(1f32));
    let mut add = |name: &str, operation: &str, attributes: &[_], inputs: &[_]| {
        graph
            .add(name, operation, "opset1", attributes, inputs)
            .expect("fits its inputs")
    };
    let kept = add("kept", "Add", &[], &[x, one]);
    let mut value = x;
    for step in 0..8 {
        value = add(&format!("step{step}"), "Add", &[], &[value, one]);
    }
    let all = add("all", "Concat", &[("axis", "0")], &[kept, value]);
    graph.result("y", all);
    let model = graph.build("chain").expect("a model");
    let x = Tensor::zeros(ElementType::F32, [1_000_000]).expect("a tensor");
    let mut limits = Limits::default();
    let mut evaluate = |bytes| {
        limits.live_bytes = bytes;
        let outputs = model.evaluate_with([("x", x.clone())], &limits, &mut []);
        outputs.map(drop).map_err(|error| error.kind())
    };
    // Two tensors of 4 MB, and one of 8 that has the elements of both.
    assert_eq!(evaluate(16_000_000), Ok(()));
    assert_eq!(evaluate(15_999_999), Err(Kind::Limit));
}

#[test]
fn names_and_consumers_are_found() {
    let model = gather();
    assert_eq!(model.find_input("indices"), Some(1));
    assert_eq!(model.find_output("output"), Some(0));
    let graph = model.graph();
    let data = graph.find("data").expect("data");
    let consumers: Vec<_> = graph
        .consumers(data)
        .map(|(id, index)| (graph.node(id).name().to_owned(), index))
        .collect();
    assert_eq!(consumers, [("Gather".to_owned(), 0)]);
    assert_eq!(model.allowed_values(1), Some((-5, 4)));
    assert_eq!(model.allowed_values(0), None);
}

/// What consumers allow is found behind conversions and reshapes too.
#[test]
fn allowed_values_are_followed_through_conversions() {
    let mut graph = Builder::new();
    let indices = graph.parameter("indices", ElementType::I32, shape("1,3"));
    let wide = [("destination_type", "i64")];
    let wide = graph
        .add("wide", "Convert", "opset1", &wide, &[indices])
        .expect("Convert");
    let flat = graph
        .add("flat", "Squeeze", "opset1", &[], &[wide])
        .expect("Squeeze");
    let table = graph.constant("table", Tensor::vector(&[1f32, 2., 3., 4.]));
    let axis = graph.constant("axis", Tensor::scalar(0i64));
    let rows = graph
        .add("rows", "Gather", "opset8", &[], &[table, flat, axis])
        .expect("Gather");
    graph.result("y", rows);
    let model = graph.build("lookup").expect("a model");
    assert_eq!(model.allowed_values(0), Some((-4, 3)));
}

#[test]
fn limits_end_what_goes_on() {
    let path = project("ir-samples/ops/movement/gather-8/example-7.xml");
    let model = gather();
    let token = CancelToken::new();
    let mut limits = Limits::default();
    limits.cancel = Some(token.clone());
    let compiled = model
        .compile(&CompileOptions::default())
        .expect("it compiles");
    let evaluations = || {
        [model.infer_request(), compiled.infer_request()].map(|mut request| {
            request
                .infer_with(gather_inputs(), &limits, &mut [])
                .map(drop)
        })
    };
    assert!(evaluations().iter().all(Result::is_ok));
    token.cancel();
    for result in evaluations() {
        assert_eq!(result.expect_err("cancelled").kind(), Kind::Cancelled);
    }
    let kind = |limits: &Limits| {
        let read = Model::read_with(&path, limits).map(drop);
        read.and_then(|()| {
            model
                .evaluate_with(gather_inputs(), limits, &mut [])
                .map(drop)
        })
        .expect_err("a limit is reached")
        .kind()
    };
    let mut late = Limits::default();
    late.deadline = Some(std::time::Instant::now());
    assert_eq!(kind(&late), Kind::Deadline);
    let mut small = Limits::default();
    small.output_bytes = 11;
    assert_eq!(kind(&small), Kind::Limit);
    let mut flat = Limits::default();
    flat.rank = 0;
    assert_eq!(kind(&flat), Kind::Limit);
}

#[test]
fn bytes_are_held_to_the_limit_of_what_they_are() {
    let bytes = |path: &str| std::fs::read(project(path)).expect("a sample");
    let onnx = bytes("ir-samples/onnx/gather-nd-11/example-1-bool.onnx");
    let ir = bytes("ir-samples/ops/movement/gather-8/example-7.xml");
    let weights = bytes("ir-samples/ops/movement/gather-8/example-7.bin");
    let mut limits = Limits::default();
    limits.document_bytes = 10;
    let read = |name, bytes: &Vec<u8>, limits: &Limits| {
        Model::from_bytes_with(name, bytes.clone(), weights.clone(), limits).map_err(|e| e.kind())
    };
    assert!(read("m.onnx", &onnx, &limits).is_ok());
    assert_eq!(read("m.xml", &ir, &limits).err(), Some(Kind::Limit));
    limits.document_bytes = 1 << 20;
    limits.file_bytes = 10;
    assert_eq!(read("m.onnx", &onnx, &limits).err(), Some(Kind::Limit));
    assert!(read("m.xml", &ir, &limits).is_ok());
}
