//! Loading and the core operations, through the library's front door.
//!
//! ```text
//! cargo bench
//! ```

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use ovir::graph::{Builder, Port};
use ovir::tensor::{ElementType, PartialShape, Tensor};
use ovir::{Model, io};

fn main() {
    divan::main();
}

fn random(ty: ElementType, shape: &[usize], range: Option<(i64, i64)>) -> Tensor {
    let value = io::Value::parse("random:seed=1").expect("a value");
    let shape: PartialShape = shape.iter().copied().collect();
    let wanted = io::Wanted {
        element_type: ty,
        shape: &shape,
        range,
    };
    value
        .load(&wanted, &ovir::Limits::default())
        .expect("random elements")
}

/// A model of one operation over these inputs.
fn model(
    inputs: &[Tensor],
    make: impl FnOnce(&mut Builder, &[Port]) -> Port,
) -> (Model, Vec<Tensor>) {
    let mut graph = Builder::new();
    let ports: Vec<Port> = inputs
        .iter()
        .enumerate()
        .map(|(i, t)| graph.parameter(&i.to_string(), t.element_type(), t.shape().into()))
        .collect();
    let output = make(&mut graph, &ports);
    graph.result("y", output);
    (graph.build("bench").expect("a model"), inputs.to_vec())
}

/// Times an evaluation. Of the inputs `touched` bytes are read; all of them for `None`.
fn evaluate(
    bencher: Bencher<'_, '_>,
    touched: Option<usize>,
    (model, inputs): (Model, Vec<Tensor>),
) {
    let run = || {
        let inputs = inputs.iter().cloned().enumerate();
        model.evaluate(inputs).expect("a result")
    };
    let outputs = run();
    let all = || inputs.iter().map(Tensor::byte_len).sum();
    let read: usize = touched.unwrap_or_else(all);
    let written: usize = outputs.iter().map(|(_, t)| t.byte_len()).sum();
    bencher
        .counter(BytesCount::new(read + written))
        .bench(|| black_box(run()));
}

/// Rows of an embedding table.
#[divan::bench(args = [ElementType::F32, ElementType::F16, ElementType::I8])]
fn gather_embedding(bencher: Bencher<'_, '_>, ty: ElementType) {
    let table = random(ty, &[30_000, 768], None);
    let rows = random(ElementType::I64, &[8, 128], Some((0, 29_999)));
    evaluate(
        bencher,
        Some(8 * 128 * 768 * ty.bits() / 8),
        model(&[table, rows], |graph, inputs| {
            let axis = graph.constant("axis", Tensor::scalar(0i64));
            let inputs = [inputs[0], inputs[1], axis];
            graph
                .add("y", "Gather", "opset8", &[], &inputs)
                .expect("Gather")
        }),
    );
}

/// Columns, one element at a time.
#[divan::bench]
fn gather_last_axis(bencher: Bencher<'_, '_>) {
    let data = random(ElementType::F32, &[4096, 1024], None);
    let columns = random(ElementType::I64, &[512], Some((0, 1023)));
    evaluate(
        bencher,
        Some(4096 * 512 * 4),
        model(&[data, columns], |graph, inputs| {
            let axis = graph.constant("axis", Tensor::scalar(1i64));
            let inputs = [inputs[0], inputs[1], axis];
            graph
                .add("y", "Gather", "opset8", &[], &inputs)
                .expect("Gather")
        }),
    );
}

/// Documented example 6 of ScatterElementsUpdate-12, in every reduction.
#[divan::bench(args = ["none", "sum", "prod", "min", "max", "mean"])]
fn scatter_elements(bencher: Bencher<'_, '_>, reduction: &str) {
    let data = random(ElementType::F32, &[1000, 256, 7, 7], None);
    let indices = random(ElementType::I64, &[125, 20, 7, 6], Some((-1000, 999)));
    let updates = random(ElementType::F32, &[125, 20, 7, 6], None);
    evaluate(
        bencher,
        None,
        model(&[data, indices, updates], |graph, inputs| {
            let axis = graph.constant("axis", Tensor::vector(&[0i64]));
            let inputs = [inputs[0], inputs[1], inputs[2], axis];
            let attributes = [("reduction", reduction)];
            graph
                .add(
                    "y",
                    "ScatterElementsUpdate",
                    "opset12",
                    &attributes,
                    &inputs,
                )
                .expect("ScatterElementsUpdate")
        }),
    );
}

/// Pairs of elements, the second of which are broadcast: as many, one, one a channel, one a column.
#[divan::bench(args = ["64,128,56,56", "", "128,1,1", "56", "64,128,56,1"])]
fn add_broadcast(bencher: Bencher<'_, '_>, shape: &str) {
    let sizes = shape.split(',').filter_map(|size| size.parse().ok());
    let inputs = [
        random(ElementType::F32, &[64, 128, 56, 56], None),
        random(ElementType::F32, &sizes.collect::<Vec<_>>(), None),
    ];
    evaluate(
        bencher,
        None,
        model(&inputs, |graph, inputs| {
            graph.add("y", "Add", "opset1", &[], inputs).expect("Add")
        }),
    );
}

/// Images with their three channels last, less a mean for each.
#[divan::bench(args = [ElementType::F32, ElementType::F16])]
fn subtract_channels_last(bencher: Bencher<'_, '_>, ty: ElementType) {
    let inputs = [random(ty, &[8, 512, 512, 3], None), random(ty, &[3], None)];
    evaluate(
        bencher,
        None,
        model(&inputs, |graph, inputs| {
            graph
                .add("y", "Subtract", "opset1", &[], inputs)
                .expect("Subtract")
        }),
    );
}

/// Powers with a usual exponent, and with another.
#[divan::bench(args = [2.0, 0.5, 2.5])]
fn power(bencher: Bencher<'_, '_>, exponent: f32) {
    let data = random(ElementType::F32, &[1 << 22], None);
    evaluate(
        bencher,
        None,
        model(&[data], |graph, inputs| {
            let exponent = graph.constant("exponent", Tensor::scalar(exponent));
            graph
                .add("y", "Power", "opset1", &[], &[inputs[0], exponent])
                .expect("Power")
        }),
    );
}

/// 64 MB over the first, the last, and all axes.
#[divan::bench(args = [&[0i64][..], &[1], &[0, 1]])]
fn reduce_sum(bencher: Bencher<'_, '_>, axes: &[i64]) {
    let data = random(ElementType::F32, &[4096, 4096], None);
    evaluate(
        bencher,
        None,
        model(&[data], |graph, inputs| {
            let axes = graph.constant("axes", Tensor::vector(axes));
            let inputs = [inputs[0], axes];
            graph
                .add("y", "ReduceSum", "opset1", &[], &inputs)
                .expect("ReduceSum")
        }),
    );
}

/// The smallest model: what a call costs.
#[divan::bench]
fn one_small_operation(bencher: Bencher<'_, '_>) {
    let x = random(ElementType::F32, &[4], None);
    evaluate(
        bencher,
        None,
        model(&[x.clone(), x], |graph, inputs| {
            graph.add("y", "Add", "opset1", &[], inputs).expect("Add")
        }),
    );
}

/// A document of about 5 MB and 10,000 layers.
fn document() -> String {
    use std::fmt::Write;

    let port = |id: usize, names: &str| {
        let dims = "\n          <dim>1</dim>\n          <dim>64</dim>\n          <dim>56</dim>";
        format!("\n        <port id=\"{id}\" precision=\"FP32\"{names}>{dims}\n        </port>")
    };
    let mut text =
        String::from("<?xml version=\"1.0\"?>\n<net name=\"chain\" version=\"11\">\n  <layers>\n");
    write!(
        text,
        "    <layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\">\n      \
         <data shape=\"1,64,56\" element_type=\"f32\"/>\n      <output>{}\n      </output>\n    </layer>\n",
        port(0, "")
    )
    .expect("a string grows");
    let count = 9_999;
    for id in 1..count {
        write!(
            text,
            "    <layer id=\"{id}\" name=\"model/block.{id}/add\" type=\"Add\" version=\"opset1\">\n      \
             <data auto_broadcast=\"numpy\"/>\n      <input>{}{}\n      </input>\n      <output>{}\n      </output>\n    </layer>\n",
            port(0, ""),
            port(1, ""),
            port(2, &format!(" names=\"t{id}\""))
        )
        .expect("a string grows");
    }
    write!(
        text,
        "    <layer id=\"{count}\" name=\"y\" type=\"Result\" version=\"opset1\">\n      <input>{}\n      </input>\n    </layer>\n  </layers>\n  <edges>\n",
        port(0, "")
    )
    .expect("a string grows");
    for id in 1..=count {
        let from = if id == 1 { 0 } else { 2 };
        for to in 0..=usize::from(id < count) {
            writeln!(
                text,
                "    <edge from-layer=\"{}\" from-port=\"{from}\" to-layer=\"{id}\" to-port=\"{to}\"/>",
                id - 1
            )
            .expect("a string grows");
        }
    }
    text.push_str("  </edges>\n</net>\n");
    text
}

#[divan::bench]
fn load_ten_thousand_layers(bencher: Bencher<'_, '_>) {
    let document = document();
    bencher.counter(BytesCount::new(document.len())).bench(|| {
        let text = document.clone().into_bytes();
        black_box(Model::from_bytes("chain.xml", text, Vec::new()).expect("a model"))
    });
}
