//! The operations against their definitions.

use proptest::prelude::*;

use crate::op::attrs::Attr;
use crate::op::{Input, LayerData, NoWeights, Op};
use crate::ops::testing::{index, run, shape};
use crate::tensor::{ElementType, PartialShape, Tensor, convert};

fn make(name: &str, version: u8, attributes: &[(&'static str, &'static str)]) -> Box<dyn Op> {
    let attributes: Vec<Attr<'_>> = attributes.iter().map(|&(n, v)| Attr::new(n, v)).collect();
    let (row, _) = crate::ops::find(version, name).expect("registered");
    let layer = LayerData {
        attributes: &attributes,
        weights: &NoWeights,
    };
    row.read(&layer).expect("good attributes").0
}

fn values(tensor: &Tensor) -> Vec<f64> {
    let wide = convert::convert(tensor, ElementType::F64).expect("numbers");
    wide.as_slice::<f64>().expect("f64").to_vec()
}

fn close(a: &[f64], b: &[f64], bound: f64) {
    assert_eq!(a.len(), b.len());
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        let near = (a - b).abs() <= bound * b.abs().max(1.0) || (a.is_nan() && b.is_nan());
        assert!(near, "element {i}: {a} {b}");
    }
}

fn random(dims: &[usize], seed: u64) -> Tensor {
    let len = dims.iter().product::<usize>() as u64;
    let data: Vec<f32> = (0..len)
        .map(|i| (i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40)
        .map(|x| (x % 4096) as f32 / 512.0 - 3.0)
        .collect();
    Tensor::new(dims, &data).expect("its length")
}

/// For each element, the elements of its group.
fn groups(data: &Tensor, reduced: &[bool]) -> Vec<Vec<f64>> {
    let all = values(data);
    let places: Vec<Vec<usize>> = index(data.shape()).collect();
    let same = |a: &[usize], b: &[usize]| (0..a.len()).all(|i| reduced[i] || a[i] == b[i]);
    places
        .iter()
        .map(|at| {
            let members = places.iter().zip(&all).filter(|(other, _)| same(at, other));
            members.map(|(_, &x)| x).collect()
        })
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn groups_of_any_axes(
        dims in prop::collection::vec((1usize..4, any::<bool>()), 0..=5),
        seed in any::<u32>(),
        ty in 0usize..4,
    ) {
        let sizes: Vec<usize> = dims.iter().map(|d| d.0).collect();
        let reduced: Vec<bool> = dims.iter().map(|d| d.1).collect();
        let axes: Vec<i64> = (0..dims.len()).filter(|&i| reduced[i])
            .map(|i| if i % 2 == 0 { i as i64 } else { i as i64 - dims.len() as i64 })
            .collect();
        let ty = [ElementType::F32, ElementType::F64, ElementType::F16, ElementType::Bf16][ty];
        let bound = match ty { ElementType::F64 => 1e-12, ElementType::F32 => 1e-5, ElementType::F16 => 1e-3, _ => 1e-2 };
        let data = convert::convert(&random(&sizes, u64::from(seed)), ty).expect("numbers");
        let (all, groups) = (values(&data), groups(&data, &reduced));
        let inputs = [data, Tensor::vector(&axes)];
        let expect = |f: &dyn Fn(f64, &[f64]) -> f64| -> Vec<f64> {
            all.iter().zip(&groups).map(|(&x, group)| f(x, group)).collect()
        };
        let inside = make("MVN", 6, &[("eps", "0.01"), ("normalize_variance", "true"), ("eps_mode", "INSIDE_SQRT")]);
        close(&values(&run(&*inside, &inputs).expect("good")),
            &expect(&|x, g| (x - mean(g)) / (variance(g) + 0.01).sqrt()), bound);
        let outside = make("MVN", 6, &[("eps", "0.01"), ("normalize_variance", "true"), ("eps_mode", "outside_sqrt")]);
        // A standard deviation of zero and a mean that is not exact leave next to nothing over eps.
        close(&values(&run(&*outside, &inputs).expect("good")),
            &expect(&|x, g| (x - mean(g)) / (variance(g).sqrt() + 0.01)), bound);
        let only_mean = make("MVN", 6, &[("eps", "0.01"), ("normalize_variance", "false"), ("eps_mode", "inside_sqrt")]);
        close(&values(&run(&*only_mean, &inputs).expect("good")), &expect(&|x, g| x - mean(g)), bound);
        for mode in ["add", "max"] {
            let l2 = make("NormalizeL2", 1, &[("eps", "0.5"), ("eps_mode", mode)]);
            let squares = |g: &[f64]| g.iter().map(|x| x * x).sum::<f64>();
            close(&values(&run(&*l2, &inputs).expect("good")), &expect(&|x, g| match mode {
                _ if axes.is_empty() => f64::from(u8::from(x != 0.0)),
                "add" => x / (squares(g) + 0.5).sqrt(),
                _ => x / squares(g).max(0.5).sqrt(),
            }), bound);
        }
    }

    #[test]
    fn responses(
        dims in prop::collection::vec((1usize..6, any::<bool>()), 1..=4),
        size in 1usize..8,
        exponent in 0usize..2,
        seed in any::<u32>(),
    ) {
        let sizes: Vec<usize> = dims.iter().map(|d| d.0).collect();
        let axes: Vec<i64> = (0..dims.len()).filter(|&i| dims[i].1).map(|i| i as i64).collect();
        let data = random(&sizes, u64::from(seed));
        let (text, beta) = [("0.75", 0.75), ("1.3", 1.3)][exponent];
        let size_text: &'static str = ["1", "2", "3", "4", "5", "6", "7"][size - 1];
        let lrn = make("LRN", 1, &[("alpha", "0.5"), ("beta", text), ("bias", "2"), ("size", size_text)]);
        let all = values(&data);
        let places: Vec<Vec<usize>> = index(data.shape()).collect();
        let expected: Vec<f64> = places.iter().zip(&all).map(|(at, x)| {
            let near = |other: &[usize]| (0..at.len()).all(|i| {
                at[i].abs_diff(other[i]) <= if dims[i].1 { size / 2 } else { 0 }
            });
            let sum: f64 = places.iter().zip(&all).filter(|(p, _)| near(p)).map(|(_, x)| x * x).sum();
            x / (2.0 + 0.5 / (size as f64).powi(axes.len() as i32) * sum).powf(beta)
        }).collect();
        close(&values(&run(&*lrn, &[data, Tensor::vector(&axes)]).expect("good")), &expected, 1e-5);
    }
}

#[test]
fn long_rows_and_threads() {
    // Far from zero, the mean must be exact for the variance to be so.
    let dims = [40, 3, 700];
    let mut data = random(&dims, 7);
    for x in data.as_mut_slice::<f32>().expect("f32") {
        *x = 1e4 + *x * 0.125;
    }
    let op = make(
        "MVN",
        6,
        &[
            ("eps", "1e-9"),
            ("normalize_variance", "1"),
            ("eps_mode", "inside_sqrt"),
        ],
    );
    let result = run(&*op, &[data.clone(), Tensor::vector(&[-1i32])]).expect("good");
    for (data, result) in values(&data).chunks(700).zip(values(&result).chunks(700)) {
        let (mean, deviation) = (mean(data), variance(data).sqrt());
        let expected: Vec<f64> = data.iter().map(|x| (x - mean) / deviation).collect();
        close(result, &expected, 1e-6);
    }
    let op = make("NormalizeL2", 1, &[("eps", "1e-9"), ("eps_mode", "add")]);
    let result = run(&*op, &[data.clone(), Tensor::scalar(1i64)]).expect("good");
    let (data, result) = (values(&data), values(&result));
    for i in [0, 1, 2099, 2100 * 39 + 1399] {
        let (n, at) = (i / 2100, i % 700);
        let squares: f64 = (0..3).map(|c| data[n * 2100 + c * 700 + at].powi(2)).sum();
        close(&result[i..=i], &[data[i] / squares.sqrt()], 1e-6);
    }
}

#[test]
fn channels() {
    let data = random(&[2, 6, 5], 3);
    let part = |from: f32| -> Vec<f32> { (0..6).map(|i| from + i as f32 * 0.5).collect() };
    let [gamma, beta, means, variances] = [1.0, -2.0, 0.25, 0.5].map(part);
    let [g, b, m, v] = [&gamma, &beta, &means, &variances].map(|p| Tensor::vector(p));
    let expected: Vec<f64> = values(&data)
        .into_iter()
        .enumerate()
        .map(|(i, x)| {
            let c = i / 5 % 6;
            let [g, b, m, v] = [gamma[c], beta[c], means[c], variances[c]].map(f64::from);
            (x - m) / (v + 0.001).sqrt() * g + b
        })
        .collect();
    let attributes = [("epsilon", "0.001")];
    let five = make("BatchNormInference", 5, &attributes);
    let inputs = [data.clone(), g.clone(), b.clone(), m.clone(), v.clone()];
    close(
        &values(&run(&*five, &inputs).expect("good")),
        &expected,
        1e-6,
    );
    let one = make("BatchNormInference", 1, &attributes);
    let inputs = [g.clone(), b.clone(), data.clone(), m, v];
    close(
        &values(&run(&*one, &inputs).expect("good")),
        &expected,
        1e-6,
    );

    let op = make(
        "GroupNormalization",
        12,
        &[("num_groups", "3"), ("epsilon", "0.001")],
    );
    let result = run(&*op, &[data.clone(), g, b]).expect("good");
    let all = values(&data);
    let expected: Vec<f64> = all
        .iter()
        .enumerate()
        .map(|(i, x)| {
            let (c, group) = (i / 5 % 6, &all[i / 10 * 10..][..10]);
            (x - mean(group)) / (variance(group) + 0.001).sqrt() * f64::from(gamma[c])
                + f64::from(beta[c])
        })
        .collect();
    close(&values(&result), &expected, 1e-6);

    let grn = make("GRN", 1, &[("bias", "0.25")]);
    let expected: Vec<f64> = all
        .iter()
        .enumerate()
        .map(|(i, x)| {
            let squares: f64 = (0..6)
                .map(|c| all[i / 30 * 30 + c * 5 + i % 5].powi(2))
                .sum();
            x / (squares + 0.25).sqrt()
        })
        .collect();
    close(
        &values(&run(&*grn, &[data]).expect("good")),
        &expected,
        1e-6,
    );
}

#[test]
fn axes_of_the_second_version() {
    let data = random(&[2, 3, 4, 2], 5);
    let attributes = |name, value| {
        [
            ("eps", "0.1"),
            ("normalize_variance", "true"),
            (name, value),
        ]
    };
    for (name, value, axes) in [
        ("across_channels", "true", &[1i64, 2, 3][..]),
        ("across_channels", "false", &[2, 3]),
        ("reduction_axes", "0, -1", &[0, 3]),
    ] {
        let old = make("MVN", 2, &attributes(name, value));
        let new = make("MVN", 6, &attributes("eps_mode", "inside_sqrt"));
        let expected = run(&*new, &[data.clone(), Tensor::vector(axes)]).expect("good");
        assert_eq!(
            run(&*old, std::slice::from_ref(&data)).expect("good"),
            expected
        );
    }
    let twice = make("MVN", 2, &attributes("reduction_axes", "1,-3"));
    assert!(run(&*twice, &[data]).is_err());
}

#[test]
fn no_elements() {
    let data = Tensor::new::<f32>([0, 4, 3], &[]).expect("none");
    let four = Tensor::vector(&[1f32; 4]);
    let op = make(
        "MVN",
        6,
        &[
            ("eps", "1"),
            ("normalize_variance", "true"),
            ("eps_mode", "inside_sqrt"),
        ],
    );
    assert!(run(&*op, &[data.clone(), Tensor::vector(&[0i64, 1])]).is_ok());
    let op = make(
        "GroupNormalization",
        12,
        &[("num_groups", "2"), ("epsilon", "1")],
    );
    assert!(run(&*op, &[data.clone(), four.clone(), four.clone()]).is_ok());
    let op = make("BatchNormInference", 5, &[("epsilon", "1")]);
    let inputs = [data.clone(), four.clone(), four.clone(), four.clone(), four];
    assert!(run(&*op, &inputs).is_ok());
    let op = make(
        "LRN",
        1,
        &[("alpha", "1"), ("beta", "1"), ("bias", "1"), ("size", "3")],
    );
    assert!(run(&*op, &[data.clone(), Tensor::vector(&[1i64, 2])]).is_ok());
    assert!(run(&*op, &[data]).is_ok());
}

#[test]
fn inference() {
    let f32 = ElementType::F32;
    let infer = |op: &dyn Op, shapes: &[&str]| -> Result<String, String> {
        let shapes: Vec<PartialShape> = shapes.iter().map(|text| shape(text)).collect();
        let inputs: Vec<Input<'_>> = shapes.iter().map(|s| Input::new(f32, s)).collect();
        op.infer(&inputs)
            .map(|outputs| outputs[0].to_string())
            .map_err(|e| e.message)
    };
    let group = make(
        "GroupNormalization",
        12,
        &[("num_groups", "4"), ("epsilon", "1")],
    );
    assert_eq!(
        infer(&*group, &["?,?,7", "12", "?"]),
        Ok("f32[?,12,7]".into())
    );
    assert_eq!(infer(&*group, &["...", "12", "12"]), Ok("f32[...]".into()));
    assert_eq!(
        infer(&*group, &["1,10,7", "10", "10"]),
        Err("num_groups 4 does not divide the 10 channels".into())
    );
    assert_eq!(
        infer(&*group, &["1,8", "8", "7"]),
        Err("bias has 7 elements, expected one for each of the 8 channels".into())
    );
    assert!(infer(&*group, &["8", "8", "8"]).is_err());
    let grn = make("GRN", 1, &[("bias", "1")]);
    assert_eq!(infer(&*grn, &["?,2..4"]), Ok("f32[?,2..4]".into()));
    assert!(infer(&*grn, &["1,2,3,4,5"]).is_err());
    let l2 = make("NormalizeL2", 1, &[("eps", "1"), ("eps_mode", "add")]);
    let data = random(&[2, 3], 1);
    assert!(run(&*l2, &[data.clone(), Tensor::vector(&[1i64, -1])]).is_err());
    assert!(run(&*l2, &[data.clone(), Tensor::vector(&[2i64])]).is_err());
    let whole = Tensor::vector(&[1i32]);
    assert!(run(&*l2, &[whole, Tensor::vector(&[0i64])]).is_err());
}
