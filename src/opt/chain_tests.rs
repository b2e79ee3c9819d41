//! Chains beside the layers they stand for.

use proptest::prelude::*;

use super::*;
use crate::graph::{Builder, Operation, Port};
use crate::tensor::ElementType;
use crate::{CompileOptions, Model};

fn numbered(shape: &[usize], seed: usize) -> Tensor {
    let len = shape.iter().product();
    #[allow(clippy::cast_precision_loss)]
    let values: Vec<f32> = (0..len)
        .map(|i: usize| ((i * 37 + seed * 11) % 23) as f32 / 3.0 - 2.5)
        .collect();
    Tensor::new(Shape::from(shape), &values).expect("fits")
}

/// A compiled model gives the very bits that the layers give one by one.
fn check(model: &Model, inputs: &[Tensor], joined: usize) {
    let given = || inputs.iter().cloned().enumerate();
    let expected = model.evaluate(given()).expect("evaluates");
    let compiled = model.compile(&CompileOptions::default()).expect("compiles");
    let nodes = compiled.compiled().graph().nodes().len();
    assert_eq!(nodes, joined, "{:?}", compiled.compiled().graph());
    let mut request = compiled.infer_request();
    for _ in 0..2 {
        let found = request.infer(given()).expect("evaluates");
        for ((_, found), (_, expected)) in found.iter().zip(expected.iter()) {
            assert!(found == expected, "{found:?} {expected:?}");
        }
    }
}

/// The names of the layers that several became.
fn joined(model: &Model) -> Vec<String> {
    let compiled = model.compile(&CompileOptions::default()).expect("compiles");
    let nodes = compiled.compiled().graph().nodes();
    let kinds = nodes.map(|(_, node)| node.type_name().to_owned());
    kinds.filter(|kind| kind.contains('+')).collect()
}

fn add(graph: &mut Builder, kind: &str, inputs: &[Port]) -> Port {
    let name = format!("{kind}{inputs:?}");
    graph.add(&name, kind, "opset1", &[], inputs).expect("fits")
}

#[test]
fn values_used_twice() {
    let mut graph = Builder::new();
    let x = graph.parameter("x", ElementType::F32, "5,700".parse().expect("a shape"));
    let gate = add(&mut graph, "Sigmoid", &[x]);
    let product = add(&mut graph, "Multiply", &[x, gate]);
    let sum = add(&mut graph, "Add", &[product, gate]);
    let twice = add(&mut graph, "Multiply", &[sum, sum]);
    graph.result("y", twice);
    let model = graph.build("gates").expect("fits");
    check(&model, &[numbered(&[5, 700], 1)], 3);
}

#[test]
fn values_that_are_needed_elsewhere_are_kept() {
    let mut graph = Builder::new();
    let x = graph.parameter("x", ElementType::F32, "3,4".parse().expect("a shape"));
    let inner = add(&mut graph, "Exp", &[x]);
    let outer = add(&mut graph, "Negative", &[inner]);
    let last = add(&mut graph, "Abs", &[outer]);
    graph.result("inner", inner);
    graph.result("y", last);
    let model = graph.build("two outputs").expect("fits");
    check(&model, &[numbered(&[3, 4], 2)], 5);
}

#[test]
fn open_shapes() {
    let mut graph = Builder::new();
    let x = graph.parameter("x", ElementType::F32, "?,8".parse().expect("a shape"));
    let y = graph.parameter("y", ElementType::F32, "8".parse().expect("a shape"));
    let sum = add(&mut graph, "Add", &[x, y]);
    let out = add(&mut graph, "ReLU", &[sum]);
    graph.result("y", out);
    let model = graph.build("open").expect("fits");
    for rows in [3, 700] {
        check(&model, &[numbered(&[rows, 8], 3), numbered(&[8], 4)], 4);
    }
}

/// Two products that are added up: each has its own bias, and the last the sum as well.
#[test]
fn heads_keep_their_own_steps() {
    let mut graph = Builder::new();
    let x = graph.parameter("x", ElementType::F32, "4,6".parse().expect("a shape"));
    let mut side = |name: &str, seed: usize, function: &str| {
        let mut constant = |kind: &str, shape: &[usize]| {
            let name = format!("{name} {kind}");
            graph.constant(&name, numbered(shape, seed))
        };
        let (weights, bias) = (constant("weights", &[6, 5]), constant("bias", &[5]));
        let product = add(&mut graph, "MatMul", &[x, weights]);
        let biased = add(&mut graph, "Add", &[product, bias]);
        add(&mut graph, function, &[biased])
    };
    let sides = [side("a", 1, "ReLU"), side("b", 2, "Abs")];
    let sum = add(&mut graph, "Multiply", &sides);
    let out = add(&mut graph, "Negative", &[sum]);
    graph.result("y", out);
    let model = graph.build("sides").expect("fits");
    assert_eq!(
        joined(&model),
        ["MatMul+Add+ReLU", "MatMul+Add+Abs+Multiply+Negative"]
    );
    check(&model, &[numbered(&[4, 6], 3)], 6);
}

/// Products of rows that are reshaped to a batch of these, as models have them that were traced: what follows is done
/// to the product, in the shape that it is given, unless somebody else looks at it.
#[test]
fn reshaped_heads() {
    for looked_at in [false, true] {
        let mut graph = Builder::new();
        let shape = |text: &str| text.parse().expect("a shape");
        let x = graph.parameter("x", ElementType::F32, shape("6,4"));
        let beside = graph.parameter("beside", ElementType::F32, shape("2,1,5"));
        let weights = graph.constant("weights", numbered(&[4, 5], 1));
        let to = graph.constant("to", Tensor::vector(&[2_i64, 3, 5]));
        let product = add(&mut graph, "MatMul", &[x, weights]);
        let special = [("special_zero", "false")];
        let batch = graph.add("batch", "Reshape", "opset1", &special, &[product, to]);
        let batch = batch.expect("fits");
        let sum = add(&mut graph, "Add", &[batch, beside]);
        let out = add(&mut graph, "ReLU", &[sum]);
        if looked_at {
            graph.result("rows", product);
        }
        graph.result("y", out);
        let model = graph.build("reshaped").expect("fits");
        let expected = if looked_at {
            "Add+ReLU"
        } else {
            "MatMul+Add+ReLU"
        };
        assert_eq!(joined(&model), [expected]);
        let inputs = [numbered(&[6, 4], 2), numbered(&[2, 1, 5], 3)];
        check(&model, &inputs, if looked_at { 8 } else { 4 });
    }
}

proptest! {
    /// Inputs of any shape that is broadcast, in blocks that begin anywhere.
    #[test]
    fn operands_are_broadcast(
        dims in prop::collection::vec((1usize..6, any::<bool>()), 0..6),
        drop in 0usize..4,
        inner in prop::sample::select(vec![1usize, 3, 700, 1500]),
        cut in 1usize..2000,
    ) {
        let out: Vec<usize> = dims.iter().map(|d| d.0).chain([inner]).collect();
        let own: Vec<usize> = dims
            .iter()
            .map(|&(size, kept)| if kept { size } else { 1 })
            .chain([if cut % 3 == 0 { 1 } else { inner }])
            .skip(drop.min(dims.len()))
            .collect();
        let tensor = numbered(&own, 5);
        let shape = Shape::from(&out[..]);
        let operand = Operand::new(&tensor, &shape).expect("f32");
        let (values, strides) = (tensor.as_slice::<f32>().expect("f32"), tensor.shape().strides());
        let missing = out.len() - own.len();
        let naive = |index: usize| {
            let mut from = 0;
            for (axis, &size) in own.iter().enumerate().filter(|(_, size)| **size > 1) {
                from += index / shape.strides()[axis + missing] % size * strides[axis];
            }
            values[from]
        };
        let len: usize = out.iter().product();
        let mut at = 0;
        while at < len {
            let now = cut.min(len - at);
            let mut block = vec![f32::NAN; now];
            operand.fill(at, &mut block);
            let found = operand.slice(at, now).unwrap_or(&block);
            for (i, &x) in found.iter().enumerate() {
                prop_assert_eq!(x, naive(at + i));
            }
            at += now;
        }
    }
}

/// An operation of so many inputs.
fn op(kind: &str, attributes: &[(&str, &str)], inputs: usize) -> Arc<dyn Op> {
    let mut graph = Builder::new();
    let x = graph.parameter("x", ElementType::F32, "3".parse().expect("a shape"));
    let node = graph.add("it", kind, "opset13", attributes, &vec![x; inputs]);
    graph.result("y", node.expect("fits"));
    let model = graph.build("one").expect("fits");
    let mut nodes = model.graph().nodes().map(|(_, node)| node);
    let node = nodes.find(|node| node.name == "it");
    match &node.expect("is there").operation {
        Operation::Known { op, .. } => Arc::clone(op),
        other => panic!("{other:?}"),
    }
}

/// Sums of the head and so many inputs, and a function if it has a name.
fn sums(inputs: usize, function: &str) -> Chain {
    let mut steps: Vec<Step> = Vec::new();
    let before = |at: usize| at.checked_sub(1).map_or(Arg::Head, Arg::Step);
    for k in 0..inputs {
        let mut args: SmallVec<[Arg; 3]> = SmallVec::from_slice(&[before(k), Arg::Input(k)]);
        args.rotate_left(k % 2);
        let op = op("Add", &[], 2);
        steps.push(Step { op, args });
    }
    if !function.is_empty() {
        let attributes: &[_] = match function {
            "Clamp" => &[("min", "-1"), ("max", "1.5")],
            "Elu" => &[("alpha", "0.5")],
            "Gelu" => &[("approximation_mode", "tanh")],
            _ => &[],
        };
        steps.push(Step {
            op: op(function, attributes, 1),
            args: SmallVec::from_slice(&[before(inputs)]),
        });
    }
    Chain::new(steps)
}

const FUNCTIONS: [&str; 10] = [
    "ReLU", "HSwish", "HSigmoid", "Swish", "Sigmoid", "Tanh", "Gelu", "Clamp", "Elu", "Mish",
];

#[test]
fn sums_are_one_loop() {
    let out = Shape::from(&[2, 5, 100][..]);
    for (shapes, done) in [
        (&[&[1, 5, 1][..]][..], 1000),
        (&[&[2, 5, 1]], 1000),
        (&[&[1]], 1000),
        (&[&[100]], 1000),
        (&[&[2, 5, 100]], 1000),
        (&[&[5, 1], &[2, 5, 100]], 1000),
        (&[&[1], &[100]], 1000),
        (&[], 1000),
        (&[&[2, 1, 1]], 1000),
        (&[&[2, 1, 100]], 1000),
        // To add the numbers first would round otherwise.
        (&[&[2, 5, 100], &[5, 1]], 0),
    ] {
        let tensors: Vec<Tensor> = shapes.iter().map(|shape| numbered(shape, 3)).collect();
        let tensors: Vec<&Tensor> = tensors.iter().collect();
        for function in FUNCTIONS.into_iter().chain([""]) {
            let chain = sums(shapes.len(), function);
            if chain.steps.is_empty() {
                continue;
            }
            let operands = chain.operands(&tensors, &out).expect("f32");
            let mut part = vec![0.5; 1000];
            let sums = chain.sums.as_ref().expect("sums");
            assert_eq!(
                sums.run(&operands, 0, &mut part),
                done,
                "{shapes:?} {function}"
            );
        }
    }
    assert!(sums(3, "ReLU").sums.is_none());
    assert!(sums(1, "Floor").sums.is_none());
}

/// What is added to a result of these sizes, of one of six shapes.
fn operand([batch, channels, plane]: [usize; 3], kind: usize) -> Tensor {
    let shapes = [
        vec![1],
        vec![channels, 1],
        vec![batch, channels, 1],
        vec![plane],
        vec![channels, plane],
        vec![batch, 1, plane],
    ];
    numbered(&shapes[kind], kind)
}

#[test]
fn pieces_are_one_loop() {
    let sizes = [2, 5, 100];
    let out = Shape::from(&sizes[..]);
    let all = || numbered(&sizes, 3);
    // Whether half rows of channels are, and whether whole images are.
    for (tensors, rows, images) in [
        (vec![operand(sizes, 1)], true, false),
        (vec![operand(sizes, 2)], true, false),
        (vec![operand(sizes, 3)], true, false),
        (vec![operand(sizes, 4)], false, true),
        (vec![all()], true, true),
        (vec![operand(sizes, 1), all()], true, false),
        (vec![operand(sizes, 2), operand(sizes, 3)], true, false),
        (vec![], true, true),
        // To add the numbers first would round otherwise.
        (vec![all(), operand(sizes, 1)], false, false),
    ] {
        let chain = sums(tensors.len(), "ReLU");
        let tensors: Vec<&Tensor> = tensors.iter().collect();
        let operands = chain.operands(&tensors, &out).expect("f32");
        let sums = chain.sums.as_ref().expect("sums");
        let mut elements = vec![0.5; 1000];
        let pieces = elements[500..].chunks_mut(100).map(|row| &mut row[20..70]);
        let done = sums.run_pieces(&operands, 520, 100, &mut pieces.collect::<Vec<_>>());
        assert_eq!(done.is_some(), rows, "{tensors:?}");
        let mut pieces: Vec<_> = elements.chunks_mut(500).collect();
        let done = sums.run_pieces(&operands, 0, 500, &mut pieces);
        assert_eq!(done.is_some(), images, "{tensors:?}");
    }
}

proptest! {
    /// One loop gives the very bits of one operation after the other, whether elements come in parts that
    /// follow each other or in pieces of rows.
    #[test]
    fn sums_like_steps(
        [batch, channels] in [1usize..4, 1usize..20],
        plane in prop::sample::select(vec![1usize, 7, 16, 49, 64, 100, 1500]),
        kinds in prop::collection::vec(0usize..6, 0..3),
        function in prop::sample::select(FUNCTIONS.into_iter().chain([""]).collect::<Vec<_>>()),
        cut in 1usize..5000,
        together in 1usize..12,
    ) {
        prop_assume!(!kinds.is_empty() || !function.is_empty());
        let sizes = [batch, channels, plane];
        let tensors: Vec<Tensor> = kinds.iter().map(|&kind| operand(sizes, kind)).collect();
        let tensors: Vec<&Tensor> = tensors.iter().collect();
        let out = Shape::from(&sizes[..]);
        let mut chain = sums(kinds.len(), function);
        let head = numbered(&sizes, 9);
        let mut head = head.as_slice::<f32>().expect("f32").to_vec();
        // What stays what it is where nothing is added.
        head[0] = -0.0;
        let run = |chain: &Chain, in_pieces: bool| {
            let operands = chain.operands(&tensors, &out).expect("f32");
            let mut found = head.clone();
            if in_pieces {
                for (i, rows) in found.chunks_mut(together * plane).enumerate() {
                    let at = i * together * plane;
                    let middle = cut % plane;
                    let halves = rows.chunks_mut(plane).map(|row| row.split_at_mut(middle));
                    let (mut left, mut right): (Vec<_>, Vec<_>) = halves.unzip();
                    chain.run_pieces(&operands, at, plane, &mut left);
                    chain.run_pieces(&operands, at + middle, plane, &mut right);
                }
            } else {
                for (i, part) in found.chunks_mut(cut).enumerate() {
                    chain.run(&operands, i * cut, part);
                }
            }
            found.into_iter().map(f32::to_bits).collect::<Vec<_>>()
        };
        let (parts, pieces) = (run(&chain, false), run(&chain, true));
        chain.sums = None;
        let expected = run(&chain, false);
        prop_assert_eq!(&parts, &expected);
        prop_assert_eq!(&pieces, &expected);
    }
}
