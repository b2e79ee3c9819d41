//! The differences between versions, and the errors that the documents name.

use super::*;
use crate::Kind;
use crate::onnx::map::{FAMILIES, NEWEST_OPSET, find};
use crate::tensor::{Element, Shape, Tensor};

/// Evaluates one node: the first input is given, the others are initialisers.
fn run<T: Element>(
    opset: i64,
    op_type: &str,
    attributes: Vec<AttributeProto>,
    data: (&[usize], &[T]),
    others: &[TensorProto],
) -> Result<Tensor, Error> {
    let mut initializers = others.to_vec();
    let names: Vec<String> = (0..others.len()).map(|i| format!("i{i}")).collect();
    for (tensor, name) in initializers.iter_mut().zip(&names) {
        tensor.name.clone_from(name);
    }
    let inputs: Vec<&str> = std::iter::once("x")
        .chain(names.iter().map(String::as_str))
        .collect();
    let data = Tensor::new(Shape::from(data.0), data.1).expect("its length");
    let number = if T::TYPE == f32::TYPE { FLOAT } else { INT32 };
    // Neither shape nor rank is known before the evaluation.
    let x = ValueInfoProto {
        name: "x".to_owned(),
        r#type: Some(TypeProto {
            value: Some(TypeValue::Tensor(TensorType {
                elem_type: number,
                shape: None,
            })),
        }),
    };
    let graph = graph(
        node(op_type, &inputs, "y", attributes),
        vec![x],
        initializers,
    );
    let outputs = load(&model(opset, graph))?.evaluate([("x", data)])?;
    Ok(outputs[0].clone())
}

fn line(data: &[i32]) -> ([usize; 1], &[i32]) {
    ([data.len()], data)
}

#[test]
fn versions_are_those_of_the_opset() {
    for (_, rows) in FAMILIES {
        for row in *rows {
            assert!(row.versions.is_sorted(), "{}", row.name);
            assert!(i64::from(*row.versions.last().expect("one")) <= NEWEST_OPSET);
        }
    }
    let version = |name, opset| find(name, opset).map(|(_, version)| version);
    assert_eq!(version("GatherND", 10), None);
    assert_eq!(version("GatherND", 12), Some(12));
    assert_eq!(version("GatherND", 20), Some(13));
    assert_eq!(version("Scatter", 8), None);
    assert_eq!(version("Scatter", 10), Some(9));
    assert_eq!(version("Scatter", 17), Some(11));
    assert_eq!(version("ReduceSum", 12), Some(11));
    assert_eq!(version("Nothing", 12), None);
}

#[test]
fn what_the_documents_forbid_is_told() {
    let two = |numbers: &[i64]| int64s("", &[1, numbers.len() as i64], numbers);
    let square: (&[usize], &[i32]) = (&[2, 2], &[0, 1, 2, 3]);
    let batch = |n| vec![int("batch_dims", n)];
    let axis = |n| vec![int("axis", n)];
    let gather_nd = |attributes, indices| run(13, "GatherND", attributes, square, &[indices]);
    let scalar: (&[usize], &[i32]) = (&[], &[7]);
    for (result, message) in [
        (
            gather_nd(vec![], two(&[0, 1, 1])),
            "the last dimension of indices is 3, but data has 2 dimensions to index (rank 2, batch_dims 0)",
        ),
        (
            gather_nd(batch(1), int64s("", &[2, 2], &[0, 1, 0, 1])),
            "the last dimension of indices is 2, but data has 1 dimensions to index (rank 2, batch_dims 1)",
        ),
        (
            gather_nd(vec![], int64s("", &[1, 0], &[])),
            "the last dimension of indices is 0, expected 1..=2",
        ),
        (
            gather_nd(batch(1), int64s("", &[3, 1], &[0, 1, 0])),
            "batch dimension 0 is 2 in data and 3 in indices",
        ),
        (
            gather_nd(batch(2), int64s("", &[2, 2, 1], &[0; 4])),
            "batch_dims is 2, expected less than the rank of data, 2",
        ),
        (
            gather_nd(batch(1), int64s("", &[2], &[0, 0])),
            "batch_dims is 1, expected less than the rank of indices, 1",
        ),
        (
            gather_nd(batch(-1), two(&[0])),
            "batch_dims is -1, expected 0 or more",
        ),
        (
            gather_nd(vec![], int64s("", &[], &[0])),
            "indices is a scalar, expected rank 1 or more",
        ),
        (
            run(13, "GatherND", vec![], scalar, &[two(&[0])]),
            "data is a scalar, expected rank 1 or more",
        ),
        (
            gather_nd(vec![], two(&[0, 2])),
            "index 2 at [0, 1] is out of range for axis 1 of size 2",
        ),
        (
            gather_nd(vec![], two(&[-3, 0])),
            "index -3 at [0, 0] is out of range for axis 0 of size 2",
        ),
        (
            run(13, "Gather", axis(1), square, &[two(&[-3])]),
            "index -3 at [0, 0] is out of range for axis 1 of size 2, expected -2..2",
        ),
        (
            run(13, "Gather", axis(2), square, &[two(&[0])]),
            "axis 2 is out of range for rank 2",
        ),
        (
            run(13, "GatherElements", axis(0), square, &[two(&[2])]),
            "index 2 at [0, 0] is out of range for axis 0 of size 2, expected -2..2",
        ),
        (
            run(
                13,
                "GatherElements",
                axis(0),
                square,
                &[int64s("", &[1, 3], &[0; 3])],
            ),
            "dimension 1 of indices is 3, that of data 2: only along axis 0 it may be larger",
        ),
        (
            run(13, "Squeeze", vec![], square, &[int64s("", &[1], &[1])]),
            "axis 1 has dimension 2, only dimensions of 1 can be removed",
        ),
        (
            run(
                13,
                "Unsqueeze",
                vec![],
                square,
                &[int64s("", &[2], &[1, 1])],
            ),
            "axes must be distinct, got 1 twice",
        ),
        (
            run(
                14,
                "Reshape",
                vec![int("allowzero", 1)],
                square,
                &[int64s("", &[2], &[0, -1])],
            ),
            "the shape holds 0 and -1, with allowzero expected at most one of them",
        ),
        (
            run(
                6,
                "Add",
                vec![int("broadcast", 0)],
                square,
                &[TensorProto {
                    data_type: INT32,
                    int32_data: vec![1],
                    ..TensorProto::default()
                }],
            ),
            "shapes [2,2] and [] differ, and are not to be broadcast",
        ),
    ] {
        let error = result.expect_err(message).to_string();
        assert!(error.contains(message), "{error}\nexpected {message}");
        assert!(error.starts_with("m.onnx: layer 0 \"y\" ("), "{error}");
    }
}

#[test]
fn scatter_takes_its_bounds_and_reductions_from_its_version() {
    let (dims, data) = line(&[1, 2, 3, 4]);
    let int32s = |numbers: &[i32]| TensorProto {
        data_type: INT32,
        dims: vec![numbers.len() as i64],
        int32_data: numbers.to_vec(),
        ..TensorProto::default()
    };
    let scatter = |opset, op: &str, indices: &[i64], reduction: Option<&str>| {
        let indices = int64s("", &[indices.len() as i64], indices);
        let attributes = reduction.map(|name| text("reduction", name));
        let others = [indices, int32s(&[10, 20])];
        run(
            opset,
            op,
            attributes.into_iter().collect(),
            (&dims, data),
            &others,
        )
        .map(|y| y.as_slice::<i32>().expect("i32").to_vec())
    };
    for (opset, op) in [(9, "Scatter"), (11, "Scatter"), (18, "ScatterElements")] {
        let y = scatter(opset, op, &[-1, 0], None).expect("in range");
        assert_eq!(y, [20, 2, 3, 10]);
        for index in [4, -5] {
            let error = scatter(opset, op, &[0, index], None).expect_err("out of range");
            let message = format!("index {index} at [1] is out of range for axis 0 of size 4");
            assert!(error.message().starts_with(&message), "{error}");
            assert_eq!(error.kind(), Kind::Eval);
        }
    }
    for (reduction, expected) in [
        ("none", [1, 2, 20, 4]),
        ("add", [1, 2, 33, 4]),
        ("mul", [1, 2, 600, 4]),
        ("max", [1, 2, 20, 4]),
        ("min", [1, 2, 3, 4]),
    ] {
        let y = scatter(18, "ScatterElements", &[2, 2], Some(reduction));
        assert_eq!(y.expect(reduction), expected, "{reduction}");
    }
    for (opset, reduction, message) in [
        (
            16,
            "max",
            "attribute `reduction` is `max`, which is new in ai.onnx 18",
        ),
        (13, "add", "ScatterElements-13 has no attribute `reduction`"),
        (18, "mean", "expected one of none, add, mul, max, min"),
    ] {
        let error = scatter(opset, "ScatterElements", &[2, 2], Some(reduction));
        let error = error.expect_err(message);
        assert!(error.message().contains(message), "{error}");
        assert_eq!(error.kind(), Kind::Attribute);
    }
}

#[test]
fn reductions_over_no_axes() {
    let (dims, data) = ([2, 3], [1, -2, 3, -4, 5, -6]);
    let reduce = |opset, op: &str, attributes, axes: Option<&[i64]>| {
        let axes = axes.map(|axes| int64s("", &[axes.len() as i64], axes));
        let others: Vec<TensorProto> = axes.into_iter().collect();
        let y = run(opset, op, attributes, (&dims[..], &data[..]), &others).expect(op);
        format!("{}{:?}", y.shape(), y.as_slice::<i32>().expect("i32"))
    };
    let keep = |n| int("keepdims", n);
    let noop = || vec![int("noop_with_empty_axes", 1), keep(0)];
    for (opset, op, attributes, axes, expected) in [
        (1, "ReduceSum", vec![], None, "[1,1][-3]"),
        (11, "ReduceSum", vec![keep(0)], None, "[][-3]"),
        (
            11,
            "ReduceSum",
            vec![ints("axes", &[-1])],
            None,
            "[2,1][2, -5]",
        ),
        (13, "ReduceSum", vec![], None, "[1,1][-3]"),
        (13, "ReduceSum", vec![keep(0)], Some(&[][..]), "[][-3]"),
        (
            13,
            "ReduceSum",
            noop(),
            Some(&[]),
            "[2,3][1, -2, 3, -4, 5, -6]",
        ),
        (13, "ReduceSum", noop(), Some(&[0]), "[3][-3, 3, -3]"),
        (13, "ReduceL1", vec![], None, "[1,1][21]"),
        (18, "ReduceL1", noop(), None, "[2,3][1, 2, 3, 4, 5, 6]"),
        (
            18,
            "ReduceSumSquare",
            noop(),
            None,
            "[2,3][1, 4, 9, 16, 25, 36]",
        ),
        (18, "ReduceSumSquare", vec![], Some(&[1]), "[2,1][14, 77]"),
        (18, "ReduceMax", vec![keep(0)], Some(&[0]), "[3][1, 5, 3]"),
        (18, "ReduceMin", vec![keep(0)], None, "[][-6]"),
        (18, "ReduceProd", noop(), None, "[2,3][1, -2, 3, -4, 5, -6]"),
    ] {
        assert_eq!(
            reduce(opset, op, attributes, axes),
            expected,
            "{op}-{opset}"
        );
    }
    let scalar = run(13, "ReduceL2", vec![], (&[], &[-7]), &[]).expect("a number");
    assert_eq!(scalar, Tensor::scalar(7i32));
    let nothing: (&[usize], &[f32]) = (&[0, 2], &[]);
    for (op, expected) in [
        ("ReduceSum", 0.0),
        ("ReduceProd", 1.0),
        ("ReduceMax", f32::NEG_INFINITY),
        ("ReduceMin", f32::INFINITY),
        ("ReduceLogSum", f32::NEG_INFINITY),
        ("ReduceLogSumExp", f32::NEG_INFINITY),
        ("ReduceSumSquare", 0.0),
        ("ReduceL1", 0.0),
    ] {
        let axes = [int64s("", &[1], &[0])];
        let y = run(18, op, vec![keep(0)], nothing, &axes).expect(op);
        assert_eq!(y, Tensor::vector(&[expected; 2]), "{op}");
    }
    let large: (&[usize], &[f32]) = (&[3], &[1000.0, 1000.0, f32::NEG_INFINITY]);
    let y = run(18, "ReduceLogSumExp", vec![keep(0)], large, &[]).expect("a number");
    assert_eq!(y, Tensor::scalar(1000.0 + 2f32.ln()));
}

#[test]
fn shapes_cut_and_restored() {
    let (dims, data) = ([2, 1, 3], [0; 6]);
    let shape = |start: Option<i64>, end: Option<i64>| {
        let attributes = [("start", start), ("end", end)].into_iter();
        let attributes = attributes.filter_map(|(name, n)| Some(int(name, n?)));
        let y = run(
            15,
            "Shape",
            attributes.collect(),
            (&dims[..], &data[..]),
            &[],
        );
        y.expect("a shape").as_slice::<i64>().expect("i64").to_vec()
    };
    assert_eq!(shape(None, None), [2, 1, 3]);
    assert_eq!(shape(Some(-1), None), [3]);
    assert_eq!(shape(None, Some(-1)), [2, 1]);
    assert_eq!(shape(Some(1), Some(2)), [1]);
    assert_eq!(shape(Some(-10), Some(10)), [2, 1, 3]);
    assert_eq!(shape(Some(2), Some(1)), [0; 0]);
    assert_eq!(shape(None, Some(-7)), [0; 0]);
    let dims_of = |opset, op: &str, attributes, others: &[TensorProto]| {
        let y = run(opset, op, attributes, (&dims[..], &data[..]), others);
        y.expect(op).shape().to_string()
    };
    assert_eq!(dims_of(1, "Squeeze", vec![], &[]), "[2,3]");
    assert_eq!(
        dims_of(11, "Squeeze", vec![ints("axes", &[-2])], &[]),
        "[2,3]"
    );
    assert_eq!(
        dims_of(13, "Squeeze", vec![], &[int64s("", &[0], &[])]),
        "[2,1,3]"
    );
    assert_eq!(
        dims_of(11, "Unsqueeze", vec![ints("axes", &[4, 0])], &[]),
        "[1,2,1,3,1]"
    );
    assert_eq!(
        dims_of(1, "Reshape", vec![ints("shape", &[0, -1])], &[]),
        "[2,3]"
    );
    assert_eq!(
        dims_of(5, "Reshape", vec![], &[int64s("", &[1], &[-1])]),
        "[6]"
    );
    assert_eq!(dims_of(1, "Transpose", vec![], &[]), "[3,1,2]");
    assert_eq!(
        dims_of(1, "Transpose", vec![ints("perm", &[1, 0, 2])], &[]),
        "[1,2,3]"
    );
}

#[test]
fn old_broadcasting_and_division() {
    let data: (&[usize], &[f32]) = (&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let add = |axis: Option<i64>| {
        let mut attributes = vec![int("broadcast", 1), ints("consumed_inputs", &[0, 0])];
        attributes.extend(axis.map(|axis| int("axis", axis)));
        let y = run(
            1,
            "Add",
            attributes,
            data,
            &[floats("", &[2], &[10.0, 20.0])],
        );
        y.expect("numbers").as_slice::<f32>().expect("f32").to_vec()
    };
    assert_eq!(add(None), [11.0, 22.0, 13.0, 24.0]);
    assert_eq!(add(Some(0)), [11.0, 12.0, 23.0, 24.0]);
    let two = TensorProto {
        data_type: INT32,
        int32_data: vec![2],
        ..TensorProto::default()
    };
    let (dims, data) = line(&[7, -7]);
    let y = run(14, "Div", vec![], (&dims, data), &[two]).expect("numbers");
    assert_eq!(y, Tensor::vector(&[3i32, -3]));
    let one = run(1, "Cast", vec![text("to", "INT32")], (&[1], &[1.5f32]), &[]);
    assert_eq!(one.expect("a number"), Tensor::vector(&[1i32]));
}
