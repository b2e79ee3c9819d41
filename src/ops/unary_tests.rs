//! Elementwise functions of one input: types, known values, corner cases.

use crate::op::attrs::Attr;
use crate::op::{Input, LayerData, NoWeights, Op, Output};
use crate::ops::testing::{infer_dims, run, shape};
use crate::tensor::convert::{convert, to_i64};
use crate::tensor::{ElementType, PartialShape, Tensor, ValueRange};

/// The newest version of an operation, as a layer with these attributes makes it.
fn op(name: &str, attributes: &[(&str, &str)]) -> Box<dyn Op> {
    let attributes: Vec<Attr<'_>> = attributes
        .iter()
        .map(|&(name, value)| Attr::new(name, value))
        .collect();
    let row = crate::ops::find_newest(name).expect("in the registry").def;
    let layer = LayerData {
        attributes: &attributes,
        weights: &NoWeights,
    };
    row.read(&layer).expect("good attributes").0
}

fn ints(ty: ElementType, values: &[i64]) -> Tensor {
    convert(&Tensor::vector(values), ty).expect("integers")
}

fn integers(name: &str, attributes: &[(&str, &str)], ty: ElementType, values: &[i64]) -> Vec<i64> {
    to_i64(&run(&*op(name, attributes), &[ints(ty, values)]).expect("numbers"))
}

fn floats(op: &dyn Op, inputs: &[&[f32]]) -> Vec<f32> {
    let inputs: Vec<Tensor> = inputs.iter().map(|x| Tensor::vector(x)).collect();
    let out = run(op, &inputs).expect("floats");
    out.as_slice::<f32>().expect("f32").to_vec()
}

#[test]
fn integers_have_definitions_of_their_own() {
    use ElementType::{I4, I8, I32, I64, U8, U32};
    for (name, expected) in [
        ("Abs", [128, 127, 0, 7]),
        ("Negative", [128, -127, 0, 7]),
        ("Sign", [-1, 1, 0, -1]),
        ("Floor", [-128, 127, 0, -7]),
        ("Ceiling", [-128, 127, 0, -7]),
        ("Round", [-128, 127, 0, -7]),
        ("ReLU", [0, 127, 0, 0]),
    ] {
        let values = [-128, 127, 0, -7];
        assert_eq!(integers(name, &[], I32, &values), expected, "{name}");
        assert_eq!(integers(name, &[], I64, &values), expected, "{name}");
        let wrapped = expected.map(|x| if x == 128 { -128 } else { x });
        assert_eq!(integers(name, &[], I8, &values), wrapped, "{name}");
    }
    assert_eq!(integers("Abs", &[], I4, &[-8, 7, -1]), [-8, 7, 1]);
    assert_eq!(integers("Abs", &[], I64, &[i64::MIN]), [i64::MIN]);
    let bounds = [("min", "-1.5"), ("max", "300.5")];
    assert_eq!(integers("Clamp", &bounds, I32, &[-7, 0, 400]), [-1, 0, 300]);
    assert_eq!(integers("Clamp", &bounds, U8, &[0, 255]), [0, 255]);
    let all = [("min", "-inf"), ("max", "1e30")];
    for ty in [I8, I64, U8, U32, ElementType::U64] {
        assert_eq!(integers("Clamp", &all, ty, &[0, 1, 100]), [0, 1, 100]);
    }
    let extremes = [i64::from(i8::MIN), 0, i64::from(i8::MAX)];
    assert_eq!(integers("Atanh", &[], I8, &[-2, 0, 1]), extremes);
}

#[test]
fn other_functions_of_integers_are_rounded() {
    use ElementType::{I8, I32, U64};
    assert_eq!(integers("Sqrt", &[], I32, &[4, 7, 9, 10]), [2, 3, 3, 3]);
    assert_eq!(
        integers("Tan", &[], I8, &[-2, -1, 0, 1, 2]),
        [2, -2, 0, 2, -2]
    );
    assert_eq!(integers("Tanh", &[], U64, &[0, 1, 5]), [0, 1, 1]);
    assert_eq!(integers("Acos", &[], I32, &[-1, 0, 1]), [3, 2, 0]);
    assert_eq!(integers("Log", &[], I32, &[1, 2, 100]), [0, 1, 5]);
}

#[test]
fn types_are_checked() {
    let dims: PartialShape = shape("2,?");
    for (name, ty, fits) in [
        ("Exp", ElementType::I32, false),
        ("Exp", ElementType::Bf16, true),
        ("Exp", ElementType::Dynamic, true),
        ("Negative", ElementType::U8, false),
        ("Abs", ElementType::Boolean, false),
        ("Sin", ElementType::String, false),
        ("Sin", ElementType::U4, true),
        ("ErfInv", ElementType::I64, false),
        ("Identity", ElementType::String, true),
    ] {
        let op = op(name, &[]);
        let outputs = op.infer(&[Input::new(ty, &dims)]);
        assert_eq!(outputs.is_ok(), fits, "{name} of {ty}");
        if let Ok(outputs) = outputs {
            assert_eq!(outputs[0], Output::new(ty, dims.clone()));
        }
        assert!(op.infer(&[]).is_err(), "{name}");
    }
}

#[test]
fn known_values_flow_through() {
    let dims = shape("2");
    let range = |min, max| ValueRange {
        min,
        max,
        symbol: None,
    };
    let ranges = [range(-3, 5), range(2, i64::MAX)];
    for (name, expected) in [
        ("Abs", [range(0, 5), range(2, i64::MAX)]),
        ("Negative", [range(-5, 3), range(i64::MIN, -2)]),
        ("Sign", [range(-1, 1), range(1, 1)]),
        ("Round", ranges),
        ("Floor", ranges),
        ("Ceiling", ranges),
        ("ReLU", [range(0, 5), range(2, i64::MAX)]),
        ("Clamp", [range(-2, 4), range(2, 4)]),
    ] {
        let attributes: &[(&str, &str)] = match name {
            "Clamp" => &[("min", "-2.5"), ("max", "4.5")],
            _ => &[],
        };
        let input = Input {
            ranges: Some(&ranges),
            ..Input::new(ElementType::I64, &dims)
        };
        let op = op(name, attributes);
        let output = Output::new(ElementType::I64, dims.clone());
        assert_eq!(
            op.infer_value(&[input], &output).as_deref(),
            Some(&expected[..]),
            "{name}"
        );
    }
}

#[test]
fn floats_of_every_width() {
    let x = Tensor::new([3, 2], &[-2f32, -0.5, 0.0, 0.5, 1.0, 3.0]).expect("six");
    for ty in [ElementType::F16, ElementType::Bf16, ElementType::F64] {
        let narrow = convert(&x, ty).expect("floats");
        for name in ["Exp", "Tanh", "Sign", "Floor", "Gelu", "Mish", "SoftPlus"] {
            let op = op(name, &[]);
            let expected = run(&*op, std::slice::from_ref(&x)).expect("f32");
            let got = run(&*op, std::slice::from_ref(&narrow)).expect("a float");
            let got = convert(&got, ElementType::F32).expect("a float");
            let (got, expected) = (got.as_slice::<f32>(), expected.as_slice::<f32>());
            for (a, b) in got.expect("f32").iter().zip(expected.expect("f32")) {
                assert!((a - b).abs() <= b.abs() / 200.0, "{name} of {ty}: {a} {b}");
            }
        }
    }
    let empty = Tensor::zeros(ElementType::F16, [2, 0]).expect("small");
    assert_eq!(run(&*op("Sin", &[]), &[empty]).expect("empty").len(), 0);
}

#[test]
fn ends_of_the_range() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let x = [nan, inf, -inf, 1e30, -1e30, -100.0, 100.0];
    for (name, expected) in [
        ("ReLU", [nan, inf, 0.0, 1e30, 0.0, 0.0, 100.0]),
        ("Sigmoid", [nan, 1.0, 0.0, 1.0, 0.0, 3.78e-44, 1.0]),
        ("Gelu", [nan, inf, nan, 1e30, 0.0, 0.0, 100.0]),
        ("Swish", [nan, inf, nan, 1e30, 0.0, -3.783_5e-42, 100.0]),
        ("Mish", [nan, inf, nan, 1e30, 0.0, -3.783_5e-42, 100.0]),
        ("HSwish", [nan, inf, nan, 1e30, 0.0, 0.0, 100.0]),
        ("HSigmoid", [nan, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0]),
        ("SoftPlus", [nan, inf, 0.0, 1e30, 0.0, 3.78e-44, 100.0]),
        ("Sign", [nan, 1.0, -1.0, 1.0, -1.0, -1.0, 1.0]),
        ("Round", [nan, inf, -inf, 1e30, -1e30, -100.0, 100.0]),
    ] {
        let got = floats(&*op(name, &[]), &[&x]);
        for (i, (&got, &want)) in got.iter().zip(&expected).enumerate() {
            let close = (got - want).abs() <= want.abs() * 1e-5;
            assert!(
                got == want || close || got.is_nan() && want.is_nan(),
                "{name}({}) is {got}, not {want}",
                x[i]
            );
        }
    }
    let halves = [-4.5, -1.9, -1.5, 0.5, 0.9, 1.5, 2.3, 2.5];
    assert_eq!(
        floats(
            &*op("Round", &[("mode", "half_away_from_zero")]),
            &[&halves]
        ),
        [-5.0, -2.0, -2.0, 1.0, 1.0, 2.0, 2.0, 3.0]
    );
    assert_eq!(
        floats(&*op("Round", &[]), &[&halves]),
        [-4.0, -2.0, -2.0, 0.0, 1.0, 2.0, 2.0, 2.0]
    );
}

/// More elements than one thread takes, the last of them in a part of its own.
#[test]
fn long_tensors() {
    let x: Vec<f32> = (0..140_001).map(|i| i as f32 * 0.3 - 21_000.0).collect();
    let y = floats(&*op("Sin", &[]), &[&x]);
    assert!((0..x.len()).step_by(97).chain([140_000]).all(|i| {
        let truth = f64::from(x[i]).sin();
        (f64::from(y[i]) - truth).abs() <= truth.abs() * 1e-7
    }));
}

#[test]
fn slopes() {
    let prelu = op("PReLU", &[]);
    let run = |data: &[usize], slope: &[usize]| {
        let count: usize = data.iter().product();
        let data = Tensor::new(data, &vec![-1f32; count]).expect("as many");
        let count: usize = slope.iter().product();
        let values: Vec<f32> = (0..count).map(|i| i as f32 + 1.0).collect();
        let slope = Tensor::new(slope, &values).expect("as many");
        let out = run(&*prelu, &[data, slope]).ok()?;
        Some(out.as_slice::<f32>().expect("f32").to_vec())
    };
    assert_eq!(run(&[3], &[]), Some(vec![-1.0; 3]));
    assert_eq!(run(&[3], &[1]), Some(vec![-1.0; 3]));
    assert_eq!(run(&[3], &[3]), Some(vec![-1.0, -2.0, -3.0]));
    assert_eq!(run(&[1, 2, 2], &[2]), Some(vec![-1.0, -1.0, -2.0, -2.0]));
    assert_eq!(
        run(&[1, 3, 2], &[2]),
        Some(vec![-1.0, -2.0, -1.0, -2.0, -1.0, -2.0])
    );
    assert_eq!(run(&[2], &[1, 1, 2]), Some(vec![-1.0, -2.0]));
    assert_eq!(run(&[2, 2], &[2, 1]), Some(vec![-1.0, -1.0, -2.0, -2.0]));
    assert_eq!(run(&[0, 2], &[2]), Some(vec![]));
    for (data, slope) in [(&[3][..], &[2][..]), (&[1, 2], &[3, 2]), (&[2], &[2, 2])] {
        assert_eq!(run(data, slope), None, "{data:?} {slope:?}");
    }
    let (data, slope) = (shape("?,?,3"), shape("?"));
    let inputs = [&data, &slope].map(|shape| Input::new(ElementType::F32, shape));
    assert_eq!(infer_dims(&*prelu, &inputs), "[?,?,3]");
}

#[test]
fn parameters() {
    let one = |x: f32| Tensor::vector(&[x]);
    let scalar = |x: f32| Tensor::scalar(x);
    let x = Tensor::vector(&[-1f32, 0.0, 2.0]);
    let f32s = |name, inputs: &[Tensor]| -> Option<Vec<f32>> {
        let out = run(&*op(name, &[]), inputs).ok()?;
        Some(out.as_slice().expect("f32").to_vec())
    };
    let hard = [x.clone(), scalar(0.5), scalar(0.25)];
    assert_eq!(f32s("HardSigmoid", &hard), Some(vec![0.0, 0.25, 1.0]));
    assert_eq!(
        f32s("HardSigmoid", &[x.clone(), one(0.5), scalar(0.25)]),
        None
    );
    let selu = f32s("Selu", &[x.clone(), one(2.0), one(3.0)]).expect("numbers");
    assert!((selu[0] - 6.0 * (-1f32).exp_m1()).abs() < 1e-6 && selu[1..] == [0.0, 6.0]);
    assert_eq!(f32s("Selu", &[x.clone(), x.clone(), one(3.0)]), None);
    let swish = f32s("Swish", &[x.clone(), scalar(2.0)]).expect("numbers");
    assert!((swish[2] - 2.0 / (1.0 + (-4f32).exp())).abs() < 1e-6);
    assert_eq!(f32s("Swish", &[x.clone(), one(2.0)]), None);
    let wrong = Tensor::scalar(2f64);
    assert_eq!(f32s("Swish", &[x, wrong]), None);
}
