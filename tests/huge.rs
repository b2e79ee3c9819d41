//! Empty tensors of enormous dimensions: nothing may be multiplied without a check.

use ovir::graph::{Builder, Port};
use ovir::tensor::{ElementType, Tensor};

use crate::support::each;

const HUGE: usize = 1 << 40;

/// What follows the data as inputs of an operation.
enum More {
    Constant(Tensor),
    /// Another empty tensor of this shape.
    Empty(ElementType, &'static [usize]),
    Scalar(f32),
}

type Case = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
    Vec<More>,
);

fn cases() -> Vec<Case> {
    use More::{Constant, Empty, Scalar};
    let ints = |values: &[i64]| Constant(Tensor::vector(values));
    let int = |value: i64| Constant(Tensor::scalar(value));
    let shape: &'static [usize] = &[0, HUGE, HUGE];
    let index = ElementType::I64;
    vec![
        ("ReduceSum", "opset1", &[], vec![ints(&[1])]),
        (
            "ReduceMax",
            "opset1",
            &[("keep_dims", "true")],
            vec![ints(&[2])],
        ),
        ("ReduceMean", "opset1", &[], vec![ints(&[0])]),
        ("Gather", "opset8", &[], vec![ints(&[0, 1]), int(1)]),
        (
            "Gather",
            "opset8",
            &[],
            vec![Empty(index, &[0, HUGE]), int(2)],
        ),
        (
            "GatherElements",
            "opset6",
            &[("axis", "1")],
            vec![Empty(index, shape)],
        ),
        ("GatherND", "opset8", &[], vec![Empty(index, &[0, HUGE, 2])]),
        (
            "ScatterElementsUpdate",
            "opset12",
            &[],
            vec![Empty(index, shape), Empty(ElementType::F32, shape), int(1)],
        ),
        (
            "ScatterElementsUpdate",
            "opset12",
            &[("reduction", "sum")],
            vec![Empty(index, shape), Empty(ElementType::F32, shape), int(0)],
        ),
        ("Transpose", "opset1", &[], vec![ints(&[2, 0, 1])]),
        (
            "Concat",
            "opset1",
            &[("axis", "0")],
            vec![Empty(ElementType::F32, shape)],
        ),
        (
            "Concat",
            "opset1",
            &[("axis", "1")],
            vec![Empty(ElementType::F32, shape)],
        ),
        (
            "Broadcast",
            "opset3",
            &[],
            vec![ints(&[7, 0, HUGE as i64, HUGE as i64])],
        ),
        ("Tile", "opset1", &[], vec![ints(&[1, 1 << 20, 1 << 20])]),
        (
            "Pad",
            "opset12",
            &[("pad_mode", "constant")],
            vec![ints(&[0, 1, 1]), ints(&[0, 1, 1]), Scalar(0.0)],
        ),
        (
            "Slice",
            "opset8",
            &[],
            vec![ints(&[1]), ints(&[HUGE as i64]), ints(&[2]), ints(&[1])],
        ),
        (
            "StridedSlice",
            "opset1",
            &[("begin_mask", "1,1,1"), ("end_mask", "1,1,1")],
            vec![ints(&[0, 0, 0]), ints(&[0, 0, 0]), ints(&[1, -1, 3])],
        ),
        ("Split", "opset1", &[("num_splits", "2")], vec![int(1)]),
        ("VariadicSplit", "opset1", &[], vec![int(2), ints(&[1, -1])]),
        ("Reverse", "opset1", &[("mode", "index")], vec![ints(&[1])]),
        ("Roll", "opset7", &[], vec![ints(&[3]), ints(&[1])]),
        ("CumSum", "opset3", &[], vec![int(1)]),
        (
            "TopK",
            "opset11",
            &[("axis", "1"), ("mode", "max"), ("sort", "value")],
            vec![int(2)],
        ),
        ("NonZero", "opset3", &[], vec![]),
        ("Unique", "opset10", &[], vec![]),
        ("Unique", "opset10", &[], vec![int(1)]),
        (
            "Reshape",
            "opset1",
            &[("special_zero", "true")],
            vec![ints(&[0, -1])],
        ),
        ("Squeeze", "opset1", &[], vec![]),
        ("Unsqueeze", "opset1", &[], vec![ints(&[1])]),
        ("Add", "opset1", &[], vec![Empty(ElementType::F32, shape)]),
        ("Add", "opset1", &[], vec![Scalar(1.0)]),
        ("ShapeOf", "opset3", &[("output_type", "i64")], vec![]),
        ("Convert", "opset1", &[("destination_type", "f16")], vec![]),
        ("Convert", "opset1", &[("destination_type", "u4")], vec![]),
        (
            "Bucketize",
            "opset3",
            &[("output_type", "i64")],
            vec![Constant(Tensor::vector(&[1f32]))],
        ),
    ]
}

fn run((type_name, opset, attributes, more): Case) {
    let mut graph = Builder::new();
    let mut tensors = Vec::new();
    let mut add = |graph: &mut Builder, ty: ElementType, shape: &[usize]| -> Port {
        let tensor = Tensor::zeros(ty, shape).expect("no elements");
        let name = tensors.len().to_string();
        let port = graph.parameter(&name, ty, tensor.shape().into());
        tensors.push((name, tensor));
        port
    };
    let mut inputs = vec![add(&mut graph, ElementType::F32, &[0, HUGE, HUGE])];
    for (number, input) in more.into_iter().enumerate() {
        let name = format!("c{number}");
        inputs.push(match input {
            More::Constant(tensor) => graph.constant(&name, tensor),
            More::Scalar(value) => graph.constant(&name, Tensor::scalar(value)),
            More::Empty(ty, shape) => add(&mut graph, ty, shape),
        });
    }
    let output = graph
        .add("op", type_name, opset, attributes, &inputs)
        .expect("an operation");
    graph.result("y", output);
    // A refusal is as good as a result; only a panic is wrong.
    if let Ok(model) = graph.build("huge") {
        drop(model.evaluate(tensors));
    }
}

#[test]
fn empty_tensors_of_enormous_dimensions() {
    let named = |case: Case| (format!("{}-{}", case.0, case.1), case);
    each(cases().into_iter().map(named), run);
}
