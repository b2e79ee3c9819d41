//! Weights that stay as they are stored, beside the same in `f32`.

use super::*;
use crate::graph::{Builder, Port};
use crate::opt::fold::fold;
use crate::tensor::Shape;
use crate::tensor::convert::convert;
use crate::{CompileOptions, Model};

/// Numbers that `f16` and `bf16` have.
fn numbered(ty: ElementType, shape: &[usize], seed: usize) -> Tensor {
    let len: usize = shape.iter().product();
    let values: Vec<f32> = (0..len)
        .map(|i| ((i * 37 + seed * 11) % 23) as f32 / 4.0 - 2.5)
        .collect();
    let tensor = Tensor::new(Shape::from(shape), &values).expect("fits");
    convert(&tensor, ty).expect("memory")
}

type Attributes = [(&'static str, &'static str)];

/// A convolution of an input of any size with filters, which are widened if they are not of `f32`.
fn convolution(kind: &str, attributes: &Attributes, channels: usize, filters: Tensor) -> Model {
    let mut graph = Builder::new();
    let shape = format!("?,{channels},?,?").parse().expect("a shape");
    let x = graph.parameter("x", ElementType::F32, shape);
    let narrow = filters.element_type() != ElementType::F32;
    let mut filters = graph.constant("filters", filters);
    if narrow {
        let to = [("destination_type", "f32")];
        let wide = graph.add("wide", "Convert", "opset1", &to, &[filters]);
        filters = wide.expect("fits");
    }
    let y = graph.add("y", kind, "opset1", attributes, &[x, filters]);
    graph.result("result", y.expect("fits"));
    graph.build("convolution").expect("fits")
}

/// Every way to convolve, for shapes that are not all convolved the same way, each twice.
#[test]
fn filters_of_convolutions() {
    const PLAIN: &Attributes = &[
        ("strides", "1,1"),
        ("pads_begin", "1,1"),
        ("pads_end", "1,1"),
        ("dilations", "1,1"),
    ];
    const APART: &Attributes = &[
        ("strides", "3,3"),
        ("pads_begin", "0,0"),
        ("pads_end", "0,0"),
        ("dilations", "1,1"),
    ];
    let cases: [(&str, &Attributes, usize, &[usize]); 7] = [
        ("Convolution", PLAIN, 40, &[40, 40, 3, 3]),
        ("Convolution", APART, 40, &[48, 40, 1, 1]),
        ("Convolution", APART, 3, &[7, 3, 5, 5]),
        ("GroupConvolution", PLAIN, 9, &[9, 1, 1, 3, 3]),
        ("GroupConvolution", PLAIN, 8, &[2, 6, 4, 3, 3]),
        ("ConvolutionBackpropData", APART, 5, &[5, 7, 3, 3]),
        ("GroupConvolutionBackpropData", PLAIN, 6, &[2, 3, 4, 3, 3]),
    ];
    for (kind, attributes, channels, filters) in cases {
        for ty in [ElementType::F16, ElementType::Bf16] {
            let narrow = numbered(ty, filters, 1);
            let wide = convert(&narrow, ElementType::F32).expect("memory");
            let models = [narrow, wide].map(|f| convolution(kind, attributes, channels, f));
            let options = CompileOptions {
                folded_bytes: 0,
                ..CompileOptions::default()
            };
            let mut requests = models.map(|model| {
                let compiled = model.compile(&options).expect("compiles");
                let nodes = compiled.compiled().graph().nodes().len();
                assert_eq!(nodes, 3, "{kind}: {:?}", compiled.compiled().graph());
                compiled.infer_request()
            });
            for size in [[14, 15], [14, 15], [5, 5], [30, 33], [14, 15]] {
                let x = numbered(ElementType::F32, &[2, channels, size[0], size[1]], 3);
                let [found, expected] = requests.each_mut().map(|request| {
                    let outputs = request.infer([(0, x.clone())]).expect("evaluates");
                    outputs.iter().next().expect("one").1.clone()
                });
                assert!(found == expected, "{kind} {filters:?}, {ty}, {size:?}");
            }
        }
    }
}

/// The product takes its weights as they are, and nobody needs the layer that widens them; the other result
/// is known when its layers were computed.
fn product_and_constant() -> Model {
    let mut graph = Builder::new();
    let x = graph.parameter("x", ElementType::F32, "2,64".parse().expect("a shape"));
    let to = &[("destination_type", "f32")];
    let sides = &[("transpose_a", "false"), ("transpose_b", "false")];
    let stored = [5, 6].map(|seed| numbered(ElementType::F16, &[64, 64], seed));
    let [weights, other] = stored;
    let weights = graph.constant("weights", weights);
    let other = graph.constant("other", other);
    let mut add = |name: &str, kind: &str, attributes: &Attributes, inputs: &[Port]| {
        let added = graph.add(name, kind, "opset1", attributes, inputs);
        added.expect("fits")
    };
    let weights = add("wide", "Convert", to, &[weights]);
    let product = add("product", "MatMul", sides, &[x, weights]);
    let other = add("other_wide", "Convert", to, &[other]);
    let known = add("known", "Exp", &[], &[other]);
    graph.result("y", product);
    graph.result("z", known);
    graph.build("product").expect("fits")
}

#[test]
fn only_what_is_needed_is_computed_ahead() {
    // As much as the two layers of the other result take.
    let options = CompileOptions {
        folded_bytes: 2 * 4 * 64 * 64,
        ..CompileOptions::default()
    };
    let compiled = product_and_constant().compile(&options).expect("compiles");
    let graph = compiled.compiled().graph();
    let kinds: Vec<&str> = graph.nodes().map(|(_, node)| node.type_name()).collect();
    assert_eq!(kinds, ["Parameter", "MatMul", "Const", "Result", "Result"]);
}

#[test]
fn what_was_computed_on_the_way_is_forgotten() {
    let model = product_and_constant();
    let mut draft = Draft::all(model.graphs(), model.facts())
        .next()
        .expect("one");
    weights(&mut draft);
    fold(&mut draft, &mut (1 << 20), &|_| false);
    let sizes = |name: &str| {
        let (id, _) = draft
            .graph
            .nodes()
            .find(|(_, node)| node.name() == name)
            .expect(name);
        draft.value(port(id.index())).map(Tensor::len)
    };
    let all = ["weights", "other", "other_wide", "known"].map(sizes);
    assert_eq!(all, [Some(4096), Some(4096), Some(0), Some(4096)]);
}
