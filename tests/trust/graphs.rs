//! Graphs that are long, wide, or have more paths than can be walked. Test threads have small
//! stacks, and work that grows with the square would not end.

use ovir::graph::{Builder, Port};
use ovir::tensor::{ElementType, Tensor};
use ovir::{CompileOptions, Model};

/// Evaluates, compiles, evaluates that and drops all.
fn whole_way(model: Model, expected: &[f32]) {
    let x = || [("x", Tensor::vector(&[1f32, 2.]))];
    let last = |outputs: ovir::Outputs| {
        let tensors = outputs.into_tensors();
        let last = tensors.last().expect("an output");
        last.as_slice::<f32>().expect("f32")[..expected.len()].to_vec()
    };
    assert_eq!(last(model.evaluate(x()).expect("a result")), expected);
    let compiled = model.compile(&CompileOptions::default()).expect("compiled");
    let mut request = compiled.infer_request();
    for _ in 0..2 {
        assert_eq!(last(request.infer(x()).expect("a result")), expected);
    }
}

fn start() -> (Builder, Port) {
    let mut graph = Builder::new();
    let x = graph.parameter("x", ElementType::F32, "2".parse().expect("a shape"));
    (graph, x)
}

fn add(graph: &mut Builder, name: &str, of: &str, inputs: &[Port]) -> Port {
    let attributes: &[(&str, &str)] = if of == "Concat" {
        &[("axis", "0")]
    } else {
        &[]
    };
    graph
        .add(name, of, "opset1", attributes, inputs)
        .expect("an operation")
}

#[test]
fn chains_of_50_000_layers() {
    let (mut graph, x) = start();
    // Operations that join, and ones that only pass elements on.
    let mut last = x;
    for number in 0..50_000 {
        let of = ["ReLU", "Squeeze", "Abs"][number % 3];
        last = add(&mut graph, &format!("l{number}"), of, &[last]);
    }
    graph.result("y", last);
    whole_way(graph.build("chain").expect("a model"), &[1., 2.]);
}

#[test]
fn one_output_with_20_000_consumers() {
    let (mut graph, x) = start();
    for number in 0..20_000 {
        let y = add(&mut graph, &format!("l{number}"), "Negative", &[x]);
        graph.result(&format!("y{number}"), y);
    }
    whole_way(graph.build("wide").expect("a model"), &[-1., -2.]);
}

#[test]
fn two_to_the_60_paths() {
    let (mut graph, mut x) = start();
    for number in 0..60 {
        x = add(&mut graph, &format!("l{number}"), "Add", &[x, x]);
    }
    graph.result("y", x);
    let power = 2f32.powi(60);
    whole_way(graph.build("paths").expect("a model"), &[power, 2. * power]);
    // The same of what is known ahead.
    let (mut graph, x) = start();
    let mut shape = graph
        .add("s", "ShapeOf", "opset3", &[], &[x])
        .expect("an operation");
    for number in 0..60 {
        shape = add(&mut graph, &format!("l{number}"), "Add", &[shape, shape]);
    }
    graph.result("y", shape);
    let model = graph.build("known").expect("a model");
    let y = model
        .evaluate([("x", Tensor::vector(&[1f32, 2.]))])
        .expect("a result");
    assert_eq!(y[0].as_slice::<i64>().expect("i64"), [1i64 << 61]);
}

#[test]
fn concat_of_5_000_inputs() {
    let (mut graph, x) = start();
    let doubled = add(&mut graph, "d", "Add", &[x, x]);
    let inputs: Vec<Port> = (0..5000)
        .map(|i| if i % 2 == 0 { x } else { doubled })
        .collect();
    let y = add(&mut graph, "cat", "Concat", &inputs);
    graph.result("y", y);
    whole_way(graph.build("many").expect("a model"), &[1., 2., 2., 4.]);
}

/// Documents as long, with edges in the worst order.
#[test]
fn documents_of_50_000_layers() {
    let mut layers = String::new();
    let mut edges = Vec::new();
    let count = 50_000;
    for id in 0..=count {
        let (of, data) = match id {
            0 => ("Parameter", "<data shape='2' element_type='f32'/>"),
            _ if id == count => ("Result", ""),
            _ => ("ReLU", ""),
        };
        layers += &format!(
            "<layer id='{id}' name='l{id}' type='{of}' version='opset1'>{data}<input>\
             <port id='0'/></input><output><port id='1' precision='FP32'/></output></layer>"
        );
        if id > 0 {
            edges.push(format!(
                "<edge from-layer='{}' from-port='1' to-layer='{id}' to-port='0'/>",
                id - 1
            ));
        }
    }
    let layers = layers
        .replacen("<input><port id='0'/></input>", "", 1)
        .replace("name='l0'", "name='x'");
    edges.reverse();
    let text = format!(
        "<net name='n' version='11'><layers>{layers}</layers><edges>{}</edges></net>",
        edges.concat()
    )
    .replace(
        "version='opset1'><input><port id='0'/></input><output><port id='1' precision='FP32'/></output></layer></layers>",
        "version='opset1'><input><port id='0'/></input></layer></layers>",
    );
    let model = Model::from_bytes("long.xml", text.into_bytes(), Vec::new());
    whole_way(model.unwrap_or_else(|e| panic!("{e}")), &[1., 2.]);
}

/// A split into 50,000 outputs, all of which are put together again, and every tensor has the same
/// name, but for one that has 100,000 names.
#[test]
fn layers_of_50_000_ports() {
    let count = 50_000;
    let many: Vec<String> = (0..100_000).map(|n| format!("n{n}")).collect();
    let list = |from: usize| -> String {
        let port = |id: usize| format!("<port id='{}' precision='FP32' names='same'/>", from + id);
        (0..count).map(port).collect()
    };
    let edges: String = (0..count)
        .rev()
        .map(|n| {
            let from = n + 7;
            format!("<edge from-layer='3' from-port='{from}' to-layer='4' to-port='{n}'/>")
        })
        .collect();
    let text = format!(
        "<net name='n' version='11'><layers>\
         <layer id='0' name='x' type='Parameter' version='opset1'><data shape='2' element_type='f32'/>\
         <output><port id='0' precision='FP32' names='x'/></output></layer>\
         <layer id='1' name='c' type='Const' version='opset1'>\
         <data shape='' element_type='i64' offset='0' size='8'/>\
         <output><port id='0' precision='I64' names='{}'/></output></layer>\
         <layer id='2' name='t' type='Tile' version='opset1'><input><port id='0'/><port id='1'/></input>\
         <output><port id='2' precision='FP32' names='same'/></output></layer>\
         <layer id='5' name='r' type='Const' version='opset1'>\
         <data shape='1' element_type='i64' offset='8' size='8'/>\
         <output><port id='0' precision='I64'/></output></layer>\
         <layer id='3' name='s' type='Split' version='opset1'><data num_splits='{count}'/>\
         <input><port id='0'/><port id='1'/></input><output>{}</output></layer>\
         <layer id='4' name='j' type='Concat' version='opset1'><data axis='0'/>\
         <input>{}</input><output><port id='{count}' precision='FP32' names='same'/></output></layer>\
         <layer id='6' name='y' type='Result' version='opset1'><input><port id='0'/></input></layer>\
         </layers><edges><edge from-layer='0' from-port='0' to-layer='2' to-port='0'/>\
         <edge from-layer='5' from-port='0' to-layer='2' to-port='1'/>\
         <edge from-layer='2' from-port='2' to-layer='3' to-port='0'/>\
         <edge from-layer='1' from-port='0' to-layer='3' to-port='1'/>\
         <edge from-layer='4' from-port='{count}' to-layer='6' to-port='0'/>{edges}</edges></net>",
        many.join(","),
        list(7),
        list(0)
    );
    let weights = [0i64, count as i64 / 2].map(i64::to_le_bytes).concat();
    let model = Model::from_bytes("wide.xml", text.into_bytes(), weights);
    let model = model.unwrap_or_else(|e| panic!("{e}"));
    let name = &model.outputs()[0].names[0];
    assert_eq!(*name, format!("same_{}", count + 1));
    whole_way(model, &[1., 2., 1., 2.]);
}
