//! Interpolate against its definition.

use proptest::prelude::*;

use super::*;
use crate::ops::testing::{dynamic, index, infer_dims, run, shape};
use crate::tensor::{Shape, Symbol};

fn op(mode: Mode, calculation: Calculation, transformation: Transformation) -> Interpolate {
    Interpolate {
        mode,
        shape_calculation_mode: calculation,
        coordinate_transformation_mode: transformation,
        nearest_mode: NearestMode::default(),
        antialias: false,
        pads_begin: vec![0],
        pads_end: vec![0],
        cube_coeff: -0.75,
        both_inputs: false,
    }
}

const TRANSFORMATIONS: [Transformation; 5] = [
    Transformation::HalfPixel,
    Transformation::PytorchHalfPixel,
    Transformation::Asymmetric,
    Transformation::TfHalfPixelForNn,
    Transformation::AlignCorners,
];

const NEAREST: [NearestMode; 5] = [
    NearestMode::RoundPreferFloor,
    NearestMode::RoundPreferCeil,
    NearestMode::Floor,
    NearestMode::Ceil,
    NearestMode::Simple,
];

/// The coordinate as the page computes it.
fn coordinate(op: &Interpolate, i: usize, from: usize, to: usize, scale: f64) -> f64 {
    let x = i as f64;
    if from == to {
        return x;
    }
    match op.coordinate_transformation_mode {
        Transformation::HalfPixel => (x + 0.5) / scale - 0.5,
        Transformation::PytorchHalfPixel if to > 1 => (x + 0.5) / scale - 0.5,
        Transformation::PytorchHalfPixel => 0.0,
        Transformation::Asymmetric => x / scale,
        Transformation::TfHalfPixelForNn => (x + 0.5) / scale,
        Transformation::AlignCorners if to == 1 => 0.0,
        Transformation::AlignCorners => x * (from as f64 - 1.0) / (to as f64 - 1.0),
    }
}

/// Positions and weights of one axis, as the page computes them, over all of the padded axis and
/// beyond.
fn weights(
    op: &Interpolate,
    i: usize,
    from: usize,
    to: usize,
    scale: f64,
    antialias: bool,
) -> Vec<(i64, f64)> {
    let x = coordinate(op, i, from, to, scale);
    let last = from as i64 - 1;
    match op.mode {
        Mode::Linear => {
            let a = if antialias { scale } else { 1.0 };
            let r = if scale > 1.0 {
                2
            } else {
                (2.0 / a).ceil() as i64
            };
            let middle = x.round() as i64;
            (middle - r..=middle + r)
                .filter(|at| (0..=last).contains(at))
                .map(|at| (at, (1.0 - (a * (x - at as f64)).abs()).max(0.0)))
                .collect()
        }
        Mode::LinearOnnx => {
            let x = x.min(last as f64).max(0.0);
            let low = x.floor() as i64;
            let part = x - low as f64;
            vec![(low, 1.0 - part), ((low + 1).min(last), part)]
        }
        _ => {
            let (a, s, low) = (op.cube_coeff, x - x.floor(), x.floor() as i64);
            let coeff = [
                a * (s - 1.0) * (s - 1.0) * s,
                ((a + 2.0) * s - (a + 3.0)) * s * s + 1.0,
                (((-a - 2.0) * s + (2.0 * a + 3.0)) * s - a) * s,
                -a * s * s * (s - 1.0),
            ];
            let at = (-1..3).map(|k| (low + k).clamp(0, last));
            at.zip(coeff).collect()
        }
    }
}

fn get(data: &[f64], shape: &Shape, at: &[i64], begin: &[u64]) -> f64 {
    let mut place = 0;
    for ((&at, &size), &begin) in at.iter().zip(shape.iter()).zip(begin) {
        let at = at - begin as i64;
        if !(0..size as i64).contains(&at) {
            return 0.0;
        }
        place = place * size + at as usize;
    }
    data[place]
}

/// The whole operation by its definition: sums over all axes at once.
fn naive(
    op: &Interpolate,
    data: &Tensor,
    axes: &[usize],
    scales: Option<&[f64]>,
    out: &Shape,
) -> Vec<f64> {
    let shape = data.shape();
    let data = data.as_slice::<f64>().expect("f64");
    let rank = shape.rank();
    let begin: Vec<u64> = (0..rank)
        .map(|i| op.pads_begin.get(i).copied().unwrap_or(0))
        .collect();
    let padded: Vec<usize> = (0..rank)
        .map(|i| shape[i] + begin[i] as usize + op.pads_end.get(i).map_or(0, |&p| p as usize))
        .collect();
    let scale =
        |k: usize| scales.map_or_else(|| out[axes[k]] as f64 / padded[axes[k]] as f64, |s| s[k]);
    let antialias = op.antialias && (0..axes.len()).any(|k| scale(k) < 1.0);
    index(out)
        .map(|at| {
            let mut terms: Vec<(Vec<i64>, f64)> =
                vec![(at.iter().map(|&i| i as i64).collect(), 1.0)];
            for (k, &axis) in axes.iter().enumerate() {
                let taps = weights(op, at[axis], padded[axis], out[axis], scale(k), antialias);
                terms = terms
                    .into_iter()
                    .flat_map(|(place, weight)| {
                        taps.iter()
                            .map(move |&(at, w)| {
                                let mut place = place.clone();
                                place[axis] = at;
                                (place, weight * w)
                            })
                            .collect::<Vec<_>>()
                    })
                    .collect();
            }
            let sum: f64 = terms
                .iter()
                .map(|(place, w)| w * get(data, shape, place, &begin))
                .sum();
            let total: f64 = terms.iter().map(|(_, w)| w).sum();
            match op.mode {
                // Whether a point at the very edge of the triangle counts is a matter of rounding.
                Mode::Linear if total < 1e-9 => f64::NAN,
                Mode::Linear => sum / total,
                _ => sum,
            }
        })
        .collect()
}

fn random(dims: &[usize], seed: u64) -> Tensor {
    let len = dims.iter().product::<usize>() as u64;
    let data: Vec<f64> = (0..len)
        .map(|i| (i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40)
        .map(|x| (x % 4096) as f64 / 512.0 - 3.0)
        .collect();
    Tensor::new(dims, &data).expect("its length")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn agrees_with_the_definition(
        dims in prop::collection::vec((1usize..5, 1usize..8, any::<bool>(), 0u64..3, 0u64..3), 1..=3),
        mode in 0usize..3,
        transformation in 0usize..5,
        antialias: bool,
        pads: bool,
        seed in any::<u32>(),
    ) {
        let mode = [Mode::Linear, Mode::LinearOnnx, Mode::Cubic][mode];
        let mut op = op(mode, Calculation::Sizes, TRANSFORMATIONS[transformation]);
        op.antialias = antialias;
        if pads {
            op.pads_begin = dims.iter().map(|d| d.3).collect();
            op.pads_end = dims.iter().map(|d| d.4).collect();
        }
        let mut axes: Vec<usize> = (0..dims.len()).filter(|&i| dims[i].2).collect();
        axes.reverse();
        let sizes: Vec<i64> = axes.iter().map(|&a| dims[a].1 as i64).collect();
        let shape: Vec<usize> = dims.iter().map(|d| d.0).collect();
        let data = random(&shape, u64::from(seed));
        let list: Vec<i32> = axes.iter().map(|&a| a as i32).collect();
        let inputs = [data.clone(), Tensor::vector(&sizes), Tensor::vector(&list)];
        let result = run(&op, &inputs).expect("good");
        let expected = naive(&op, &data, &axes, None, result.shape());
        for (a, b) in result.as_slice::<f64>().expect("f64").iter().zip(&expected) {
            prop_assert!((a - b).abs() < 1e-9 || b.is_nan(), "{a} {b} {op:?}");
        }
        // In f32 the coordinates are, too.
        let narrow = [convert(&inputs[0], ElementType::F32).expect("numbers"), inputs[1].clone(), inputs[2].clone()];
        let result = run(&op, &narrow).expect("good");
        for (a, b) in result.as_slice::<f32>().expect("f32").iter().zip(&expected) {
            let near = (f64::from(*a) - b).abs() < 1e-4;
            prop_assert!(near || b.is_nan(), "{a} {b} {op:?}");
        }
    }

    #[test]
    fn nearest_agrees_with_the_definition(
        dims in prop::collection::vec((1usize..5, 1usize..9, any::<bool>(), 0u64..3, 0u64..3), 1..=4),
        nearest in 0usize..5,
        transformation in 0usize..5,
        pads: bool,
        seed in any::<u32>(),
    ) {
        let mut op = op(Mode::Nearest, Calculation::Sizes, TRANSFORMATIONS[transformation]);
        op.nearest_mode = NEAREST[nearest];
        if pads {
            op.pads_begin = dims.iter().map(|d| d.3).collect();
            op.pads_end = dims.iter().map(|d| d.4).collect();
        }
        let axes: Vec<usize> = (0..dims.len()).filter(|&i| dims[i].2).collect();
        let sizes: Vec<i64> = axes.iter().map(|&a| dims[a].1 as i64).collect();
        let shape: Vec<usize> = dims.iter().map(|d| d.0).collect();
        let data = random(&shape, u64::from(seed));
        let list: Vec<i64> = axes.iter().map(|&a| a as i64).collect();
        let result = run(&op, &[data.clone(), Tensor::vector(&sizes), Tensor::vector(&list)]).expect("good");
        let begin: Vec<u64> = (0..shape.len()).map(|i| op.pads_begin.get(i).copied().unwrap_or(0)).collect();
        let end: Vec<u64> = (0..shape.len()).map(|i| op.pads_end.get(i).copied().unwrap_or(0)).collect();
        for (at, x) in index(result.shape()).zip(result.as_slice::<f64>().expect("f64")) {
            let mut edge = false;
            let place: Vec<i64> = (0..shape.len()).map(|axis| {
                if !axes.contains(&axis) {
                    return at[axis] as i64;
                }
                let from = shape[axis] + (begin[axis] + end[axis]) as usize;
                let to = result.shape()[axis];
                let scale = f64::from(to as f32 / from as f32);
                let exact = coordinate(&op, at[axis], from, to, scale);
                let x = exact as f32;
                // On which side of an edge a rounded coordinate lies is open.
                let off = ((2.0 * exact).round() - 2.0 * exact).abs();
                edge |= off != 0.0 && off < 1e-4;
                let near = match op.nearest_mode {
                    NearestMode::RoundPreferFloor => (x - 0.5).ceil(),
                    NearestMode::RoundPreferCeil => (x + 0.5).floor(),
                    NearestMode::Floor => x.floor(),
                    NearestMode::Ceil => x.ceil(),
                    NearestMode::Simple if to < from => x.ceil(),
                    NearestMode::Simple => x.trunc(),
                };
                (near as i64).clamp(0, from as i64 - 1)
            }).collect();
            let expected = get(data.as_slice::<f64>().expect("f64"), data.shape(), &place, &begin);
            prop_assert!(*x == expected || edge, "{x} {expected} {op:?} {at:?}");
        }
    }

    #[test]
    fn less_knowledge_encloses(mask in any::<u32>()) {
        let data = random(&[1, 2, 3, 4], 1);
        let inputs = [data, Tensor::vector(&[7i64, 5]), Tensor::vector(&[2i64, 3])];
        let sizes = op(Mode::Nearest, Calculation::Sizes, Transformation::default());
        let whole = run(&sizes, &inputs).expect("good");
        prop_assert!(dynamic(&sizes, &inputs, mask).contains(whole.shape()));
        let inputs = [inputs[0].clone(), Tensor::vector(&[1.7f32, 0.7]), inputs[2].clone()];
        let scales = op(Mode::Nearest, Calculation::Scales, Transformation::default());
        let whole = run(&scales, &inputs).expect("good");
        prop_assert_eq!(whole.shape().to_vec(), vec![1, 2, 5, 2]);
        prop_assert!(dynamic(&scales, &inputs, mask).contains(whole.shape()));
    }
}

/// Large enough for threads, and every order of passes.
#[test]
fn large_images() {
    for (dims, axes, to) in [
        ([3usize, 70, 90], [1i64, 2], [100i64, 50]),
        ([90, 70, 3], [0, 1], [50, 100]),
        ([2, 120, 100], [2, 1], [90, 101]),
    ] {
        let data = random(&dims, 3);
        let inputs = [data.clone(), Tensor::vector(&to), Tensor::vector(&axes)];
        for mode in [Mode::LinearOnnx, Mode::Cubic] {
            let op = op(mode, Calculation::Sizes, Transformation::HalfPixel);
            let result = run(&op, &inputs).expect("good");
            let axes = axes.map(|a| a as usize);
            // Some elements of the whole.
            let few = result.as_slice::<f64>().expect("f64");
            let begin = [0; 3];
            let all: Vec<Vec<usize>> = index(result.shape()).collect();
            for i in (0..few.len()).step_by(997) {
                let at = &all[i];
                let mut sum = 0.0;
                let scale = |axis: usize| result.shape()[axis] as f64 / dims[axis] as f64;
                let taps = |axis: usize| {
                    weights(
                        &op,
                        at[axis],
                        dims[axis],
                        result.shape()[axis],
                        scale(axis),
                        false,
                    )
                };
                for (y, wy) in taps(axes[0]) {
                    for (x, wx) in taps(axes[1]) {
                        let mut place: Vec<i64> = at.iter().map(|&i| i as i64).collect();
                        place[axes[0]] = y;
                        place[axes[1]] = x;
                        sum += wy
                            * wx
                            * get(
                                data.as_slice::<f64>().expect("f64"),
                                data.shape(),
                                &place,
                                &begin,
                            );
                    }
                }
                assert!((few[i] - sum).abs() < 1e-9, "{dims:?} {i}");
            }
        }
    }
    let data = random(&[2, 300, 200], 5);
    let nearest = op(
        Mode::Nearest,
        Calculation::Scales,
        Transformation::Asymmetric,
    );
    let twice = Tensor::vector(&[2f32, 2.0]);
    let result = run(&nearest, &[data.clone(), twice, Tensor::vector(&[1i64, 2])]).expect("good");
    let (from, to) = (
        data.as_slice::<f64>().expect("f64"),
        result.as_slice::<f64>().expect("f64"),
    );
    for (i, x) in to.iter().enumerate() {
        let (n, y, x_at) = (i / 240_000, i / 400 % 600, i % 400);
        // Halves are rounded down.
        assert_eq!(*x, from[n * 60_000 + y / 2 * 200 + x_at / 2], "{i}");
    }
}

#[test]
fn integers_are_cut_off_or_rounded() {
    let data = Tensor::new([1, 2], &[10u8, 21]).expect("two");
    let inputs = |data: &Tensor| {
        [
            data.clone(),
            Tensor::vector(&[1i64, 4]),
            Tensor::vector(&[0i64, 1]),
        ]
    };
    let values = |mode| {
        let op = op(mode, Calculation::Sizes, Transformation::HalfPixel);
        let result = run(&op, &inputs(&data)).expect("good");
        result.as_slice::<u8>().expect("u8").to_vec()
    };
    // 10, 12.75, 18.25, 21.
    assert_eq!(values(Mode::LinearOnnx), [10, 12, 18, 21]);
    assert_eq!(values(Mode::Linear), [10, 13, 18, 21]);
    assert_eq!(values(Mode::BilinearPillow), [10, 13, 18, 21]);
    let signed = Tensor::new([1, 2], &[-128i8, 127]).expect("two");
    let op = op(
        Mode::BicubicPillow,
        Calculation::Sizes,
        Transformation::HalfPixel,
    );
    let result = run(&op, &inputs(&signed)).expect("good");
    assert_eq!(result.as_slice::<i8>().expect("i8")[0], -128, "clipped");
}

#[test]
fn inference() {
    let sizes = op(
        Mode::LinearOnnx,
        Calculation::Sizes,
        Transformation::default(),
    );
    let image = shape("?,3,2..8,?");
    let image = Input::new(ElementType::F32, &image);
    let axes = Tensor::vector(&[3i64, 2]);
    let two = PartialShape::from([2]);
    let mut new = Input::new(ElementType::I64, &two);
    assert_eq!(
        infer_dims(&sizes, &[image.clone(), new.clone(), Input::of(&axes)]),
        "[?,3,?,?]"
    );
    let symbol = Dimension::dynamic().with_symbol(Some(Symbol(3)));
    let ranges = [symbol.into(), ValueRange::exact(9)];
    new.ranges = Some(&ranges);
    let out = sizes
        .infer(&[image.clone(), new, Input::of(&axes)])
        .expect("good");
    assert_eq!(out[0].shape.to_string(), "[?,3,9,?]");
    assert_eq!(
        out[0].shape.dims().expect("a rank")[3].symbol(),
        Some(Symbol(3))
    );
    let scales = op(
        Mode::Nearest,
        Calculation::Scales,
        Transformation::default(),
    );
    let half = Tensor::vector(&[0.5f32, 2.0]);
    assert_eq!(
        infer_dims(
            &scales,
            &[image.clone(), Input::of(&half), Input::of(&axes)]
        ),
        "[?,3,4..16,?]"
    );
    let unknown = PartialShape::dynamic();
    let unknown = Input::new(ElementType::I64, &unknown);
    assert_eq!(
        infer_dims(&sizes, &[image.clone(), unknown.clone(), unknown.clone()]),
        "[?,?,?,?]"
    );
    let wrong = |op: &Interpolate, new: &Tensor, axes: &Tensor| {
        op.infer(&[image.clone(), Input::of(new), Input::of(axes)])
            .expect_err("wrong")
            .message
    };
    let five = Tensor::vector(&[5i64, 5]);
    assert_eq!(
        wrong(&sizes, &five, &Tensor::vector(&[2i64, -1])),
        "axis -1 is not in 0..4"
    );
    assert_eq!(
        wrong(&sizes, &five, &Tensor::vector(&[2i64, 2])),
        "axes must be different, got 2 twice"
    );
    assert_eq!(
        wrong(&sizes, &Tensor::vector(&[5i64, -5]), &axes),
        "sizes must not be negative, got -5"
    );
    assert_eq!(
        wrong(&scales, &Tensor::vector(&[0f32, 1.0]), &axes),
        "scales must be positive, got 0"
    );
    assert!(wrong(&scales, &five, &axes).contains("must be floats"));
    assert!(wrong(&sizes, &Tensor::vector(&[5i64]), &axes).contains("as many as the 2 axes"));
    let pillow = op(
        Mode::BilinearPillow,
        Calculation::Sizes,
        Transformation::default(),
    );
    assert!(wrong(&pillow, &Tensor::vector(&[5i64]), &Tensor::vector(&[1i64])).contains("2 axes"));
    let nothing = Tensor::new::<f32>([1, 0], &[]).expect("none");
    let both = Tensor::vector(&[0i64, 1]);
    assert!(run(&sizes, &[nothing.clone(), five, both.clone()]).is_err());
    assert!(run(&sizes, &[nothing, Tensor::vector(&[5i64, 0]), both]).is_ok());
}
