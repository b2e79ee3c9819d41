//! The transforms against the sums of their pages.

use proptest::prelude::*;
use rustfft::num_complex::Complex;

use super::*;
use crate::op::{Input, Op};
use crate::ops::testing::{dynamic, index, run, shape};
use crate::tensor::convert::convert;
use crate::tensor::{ElementType, Shape, Tensor, ValueRange};

fn numbers(seed: u64, dims: &[usize]) -> Tensor {
    let len: usize = dims.iter().product();
    let data: Vec<f64> = (0..len as u64)
        .map(|i| {
            ((seed.rotate_left(i as u32 * 7) ^ i.wrapping_mul(0x9E37_79B9)) % 1009) as f64 / 500.0
                - 1.0
        })
        .collect();
    Tensor::new(dims, &data).expect("its length")
}

/// The sum over `axes` for one index of the output: `x` gives the numbers.
fn sum(
    at: &[usize],
    axes: &[usize],
    lengths: &[usize],
    sign: f64,
    x: &dyn Fn(&[usize]) -> Complex<f64>,
) -> Complex<f64> {
    let space: Vec<usize> = lengths.to_vec();
    let mut total = Complex::new(0.0, 0.0);
    for j in index(&Shape::from(space.as_slice())) {
        let mut place = at.to_vec();
        let mut angle = 0.0;
        for ((&axis, &j), &n) in axes.iter().zip(&j).zip(lengths) {
            place[axis] = j;
            angle += (at[axis] * j) as f64 / n as f64;
        }
        total += x(&place) * Complex::from_polar(1.0, sign * std::f64::consts::TAU * angle);
    }
    total
}

#[derive(Debug, Clone)]
struct Case {
    dims: Vec<usize>,
    axes: Vec<usize>,
    /// -1 or a length for each of the axes, if they are given.
    sizes: Option<Vec<i64>>,
    negative: bool,
}

fn case() -> impl Strategy<Value = Case> {
    let dims = prop::collection::vec(1usize..5, 1..4);
    let sizes = prop::option::of(prop::collection::vec(-1i64..6, 3));
    (
        dims,
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        sizes,
        any::<bool>(),
    )
        .prop_map(|(dims, count, turn, sizes, negative)| {
            let rank = dims.len();
            let mut axes: Vec<usize> = (0..rank).collect();
            axes.rotate_left(turn.index(rank));
            axes.truncate(1 + count.index(rank));
            let sizes = sizes.map(|sizes| sizes[..axes.len()].to_vec());
            Case {
                dims,
                axes,
                sizes,
                negative,
            }
        })
}

impl Case {
    fn inputs(&self, data: Tensor) -> Vec<Tensor> {
        let rank = self.dims.len() as i64;
        let axes = self
            .axes
            .iter()
            .map(|&a| a as i64 - if self.negative { rank } else { 0 });
        let mut inputs = vec![data, Tensor::vector(&axes.collect::<Vec<_>>())];
        if let Some(sizes) = &self.sizes {
            inputs.push(Tensor::vector(sizes));
        }
        inputs
    }

    /// The lengths of the signals along the axes.
    fn lengths(&self, default: impl Fn(usize, bool) -> usize) -> Vec<usize> {
        let last = self.axes.len() - 1;
        let given = |i: usize| self.sizes.as_ref().and_then(|s| usize::try_from(s[i]).ok());
        let lengths = self.axes.iter().enumerate();
        lengths
            .map(|(i, &a)| given(i).unwrap_or_else(|| default(self.dims[a], i == last)))
            .collect()
    }
}

/// The number at a place, zero outside.
fn at(data: &[f64], dims: &[usize], place: &[usize], complex: bool) -> Complex<f64> {
    if place.iter().zip(dims).any(|(i, n)| i >= n) {
        return Complex::new(0.0, 0.0);
    }
    let i = place.iter().zip(dims).fold(0, |all, (i, n)| all * n + i);
    match complex {
        true => Complex::new(data[2 * i], data[2 * i + 1]),
        false => Complex::new(data[i], 0.0),
    }
}

fn check(
    op: &dyn Op,
    inputs: &[Tensor],
    ty: ElementType,
    mask: u32,
    expected: &dyn Fn(&[usize]) -> Vec<f64>,
) {
    let mut inputs = inputs.to_vec();
    inputs[0] = convert(&inputs[0], ty).expect("floats");
    let out = run(op, &inputs).expect("fits");
    assert!(dynamic(op, &inputs, mask).contains(out.shape()));
    let found = convert(&out, ElementType::F64).expect("floats");
    let found = found.as_slice::<f64>().expect("f64");
    let tolerance = match ty {
        ElementType::F64 => 1e-9,
        ElementType::F32 => 1e-3,
        _ => 0.3,
    };
    let parts = if out.len() == index(out.shape()).count() {
        1
    } else {
        2
    };
    for (i, place) in index(out.shape()).enumerate() {
        let expected = expected(&place);
        for (k, expected) in expected.iter().enumerate().take(parts) {
            assert!(
                (found[i + k] - expected).abs() < tolerance,
                "{place:?}: {} {expected}",
                found[i + k]
            );
        }
    }
}

fn types() -> impl Strategy<Value = ElementType> {
    prop::sample::select(vec![ElementType::F64, ElementType::F32, ElementType::F16])
}

/// The real or the imaginary part, as the last index says.
fn part(x: Complex<f64>, place: &[usize]) -> Vec<f64> {
    vec![if place.last() == Some(&0) { x.re } else { x.im }]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn complex(case in case(), inverse in any::<bool>(), ty in types(), seed in any::<u64>(), mask in any::<u32>()) {
        let mut dims = case.dims.clone();
        dims.push(2);
        let data = numbers(seed, &dims);
        let values = convert(&convert(&data, ty).expect("floats"), ElementType::F64).expect("floats");
        let values = values.as_slice::<f64>().expect("f64");
        let lengths = case.lengths(|n, _| n);
        let expected = |place: &[usize]| {
            let index = &place[..place.len() - 1];
            let sign = if inverse { 1.0 } else { -1.0 };
            let mut x = sum(index, &case.axes, &lengths, sign, &|p| at(values, &case.dims, p, true));
            if inverse {
                x /= lengths.iter().product::<usize>() as f64;
            }
            part(x, place)
        };
        let op: &dyn Op = if inverse { &dft::Idft {} } else { &dft::Dft {} };
        check(op, &case.inputs(data), ty, mask, &expected);
    }

    #[test]
    fn real(case in case(), ty in types(), seed in any::<u64>(), mask in any::<u32>()) {
        let data = numbers(seed, &case.dims);
        let values = convert(&convert(&data, ty).expect("floats"), ElementType::F64).expect("floats");
        let values = values.as_slice::<f64>().expect("f64");
        let lengths = case.lengths(|n, _| n);
        let expected = |place: &[usize]| {
            let index = &place[..place.len() - 1];
            part(sum(index, &case.axes, &lengths, -1.0, &|p| at(values, &case.dims, p, false)), place)
        };
        check(&rdft::Rdft {}, &case.inputs(data), ty, mask, &expected);
    }

    #[test]
    fn back_to_real(case in case(), ty in types(), seed in any::<u64>(), mask in any::<u32>()) {
        let mut dims = case.dims.clone();
        dims.push(2);
        let data = numbers(seed, &dims);
        let values = convert(&convert(&data, ty).expect("floats"), ElementType::F64).expect("floats");
        let values = values.as_slice::<f64>().expect("f64");
        let lengths = case.lengths(|n, last| if last { 2 * (n - 1) } else { n });
        prop_assume!(lengths.iter().all(|&n| n > 0));
        let (&last, others) = case.axes.split_last().expect("not empty");
        let (&length, other_lengths) = lengths.split_last().expect("not empty");
        let expected = |place: &[usize]| {
            // Along the other axes first, then the mirrored last one.
            let inner = |p: &[usize]| -> Complex<f64> {
                let k = p[last];
                let mut q = place.to_vec();
                q[last] = k.min(length - k);
                let x = sum(&q, others, other_lengths, 1.0, &|p| at(values, &case.dims, p, true));
                match () {
                    () if k == 0 || 2 * k == length => Complex::new(x.re, 0.0),
                    () if 2 * k < length => x,
                    () => x.conj(),
                }
            };
            let x = sum(place, &[last], &[length], 1.0, &inner);
            vec![x.re / lengths.iter().product::<usize>() as f64]
        };
        check(&rdft::Irdft {}, &case.inputs(data), ty, mask, &expected);
    }
}

#[test]
fn shapes() {
    let infer = |op: &dyn Op, data: &str, axes: Option<&[i64]>, sizes: Option<&[ValueRange]>| {
        let (data, count) = (shape(data), shape("2"));
        let axes = axes.map(Tensor::vector);
        let mut inputs = vec![
            Input::new(ElementType::F32, &data),
            Input::new(ElementType::I64, &count),
        ];
        if let Some(axes) = &axes {
            inputs[1] = Input::of(axes);
        }
        if let Some(sizes) = sizes {
            let mut input = Input::new(ElementType::I32, &count);
            input.ranges = Some(sizes);
            inputs.push(input);
        }
        op.infer(&inputs)
            .map(|o| o[0].to_string())
            .map_err(|e| e.message)
    };
    let (dft, rdft, irdft): (&dyn Op, &dyn Op, &dyn Op) =
        (&dft::Dft {}, &rdft::Rdft {}, &rdft::Irdft {});
    let ok = |text: &str| Ok(text.to_owned());
    assert_eq!(
        infer(dft, "1,320,320,2", None, None),
        ok("f32[1,320,320,2]")
    );
    assert_eq!(
        infer(rdft, "1,320,320", Some(&[1, 2]), None),
        ok("f32[1,320,161,2]")
    );
    assert_eq!(
        infer(irdft, "1,161,161,2", Some(&[1, 2]), None),
        ok("f32[1,161,320]")
    );
    assert_eq!(infer(rdft, "8,9", None, None), ok("f32[5..8,5..9,2]"));
    assert_eq!(infer(dft, "...", Some(&[0, -1]), None), ok("f32[...]"));
    let sizes = [
        ValueRange::exact(-1),
        ValueRange {
            min: 3,
            max: 8,
            symbol: None,
        },
    ];
    assert_eq!(
        infer(dft, "5,?,7,2", Some(&[2, 0]), Some(&sizes)),
        ok("f32[3..8,?,7,2]")
    );
    assert_eq!(
        infer(rdft, "5,?,7", Some(&[-3, -1]), Some(&sizes)),
        ok("f32[5,?,2..5,2]")
    );
    let wrong = |text: &str| Err(text.to_owned());
    assert_eq!(
        infer(dft, "5,7,2", Some(&[1, -1]), None),
        wrong("axis 1 is given twice")
    );
    assert_eq!(
        infer(dft, "5,7,2", Some(&[0, 2]), None),
        wrong("axis 2 is out of range for rank 2")
    );
    assert_eq!(
        infer(dft, "5,2", Some(&[0, 1]), None),
        wrong("there are 2 axes, expected at most 1")
    );
    assert_eq!(
        infer(dft, "5,3", Some(&[0]), None),
        wrong("data has shape [5,3], expected two dimensions or more, the last of size 2")
    );
    let sizes = [ValueRange::exact(-2), ValueRange::exact(1)];
    assert_eq!(
        infer(dft, "5,7,2", Some(&[0, 1]), Some(&sizes)),
        wrong("signal_size is -2, expected -1 or more")
    );
}

#[test]
fn nothing_to_transform() {
    let empty = |dims: &[usize]| Tensor::zeros(ElementType::F32, dims).expect("small");
    let axis = Tensor::vector(&[0i64]);
    let out = run(&rdft::Rdft {}, &[empty(&[0, 3]), axis.clone()]).expect("fits");
    assert_eq!(out.shape()[..], [1, 3, 2]);
    assert!(
        out.as_slice::<f32>()
            .expect("f32")
            .iter()
            .all(|&x| x == 0.0)
    );
    let out = run(&dft::Dft {}, &[empty(&[0, 3, 2]), axis.clone()]).expect("fits");
    assert!(out.is_empty());
    let out = run(
        &rdft::Irdft {},
        &[empty(&[0, 3, 2]), axis.clone(), Tensor::vector(&[4i64])],
    )
    .expect("fits");
    assert_eq!(out.as_slice::<f32>().expect("f32"), [0.0; 12]);
    let none = Tensor::new::<i64>([0], &[]).expect("its length");
    let out = run(&dft::Dft {}, &[numbers(3, &[2, 2]), none.clone()]).expect("fits");
    assert_eq!(out.as_slice::<f64>(), numbers(3, &[2, 2]).as_slice::<f64>());
    assert!(run(&rdft::Rdft {}, &[empty(&[2]), none]).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Frames of a signal are those of RDFT, and give the signal back.
    #[test]
    fn frames_and_back(
        (size, step, count, batch) in (1usize..7, 1usize..5, 1usize..5, 0usize..3),
        (rest, narrow) in (0usize..4, 0usize..4),
        transpose_frames in any::<bool>(),
        normalized in any::<bool>(),
        seed in any::<u64>(),
        mask in any::<u32>(),
    ) {
        let length = size + (count - 1) * step + rest.min(step - 1);
        let width = size.saturating_sub(narrow).max(1);
        let dims = if batch == 0 { vec![length] } else { vec![batch, length] };
        let signal = numbers(seed, &dims);
        let window: Vec<f64> = (0..width).map(|i| 0.5 + i as f64).collect();
        let scalar = |n: usize| Tensor::scalar(n as i64);
        let inputs = [signal.clone(), Tensor::vector(&window), scalar(size), scalar(step)];
        let stft = stft::Stft { transpose_frames };
        let out = run(&stft, &inputs).expect("fits");
        prop_assert!(dynamic(&stft, &inputs, mask).contains(out.shape()));
        let bins = size / 2 + 1;
        let places = if transpose_frames { [bins, count, 2] } else { [count, bins, 2] };
        prop_assert_eq!(&out.shape()[dims.len() - 1..], &places[..]);
        let x = signal.as_slice::<f64>().expect("f64");
        let left = (size - width) / 2;
        for (place, &found) in index(out.shape()).zip(out.as_slice::<f64>().expect("f64")) {
            let [.., a, b, _] = place[..] else { unreachable!() };
            let (k, frame) = if transpose_frames { (a, b) } else { (b, a) };
            let row = if batch == 0 { 0 } else { place[0] };
            let expected = (0..width).fold(Complex::new(0.0, 0.0), |sum, j| {
                let x = x[row * length + frame * step + left + j] * window[j];
                let angle = -std::f64::consts::TAU * (k * (left + j)) as f64 / size as f64;
                sum + Complex::from_polar(x, angle)
            });
            let expected = if place.last() == Some(&0) { expected.re } else { expected.im };
            prop_assert!((found - expected).abs() < 1e-9);
        }
        if !transpose_frames {
            return Ok(());
        }
        let istft = istft::Istft { center: false, normalized };
        let inputs = [out, inputs[1].clone(), inputs[2].clone(), inputs[3].clone(), scalar(length + 2)];
        let back = run(&istft, &inputs).expect("fits");
        prop_assert!(dynamic(&istft, &inputs, mask).contains(back.shape()));
        let back = back.as_slice::<f64>().expect("f64");
        let scale = if normalized { (size as f64).sqrt() } else { 1.0 };
        for (i, &found) in back.iter().enumerate() {
            let (row, at) = (i / (length + 2), i % (length + 2));
            let covered = (0..count).any(|k| (k * step + left..k * step + left + width).contains(&at));
            let expected = if covered { x[row * length + at] * scale } else { 0.0 };
            prop_assert!((found - expected).abs() < 1e-9, "{}: {} {}", i, found, expected);
        }
        // The same with half a frame left out at the beginning.
        let centered = istft::Istft { center: true, normalized };
        let half = run(&centered, &inputs[..4]).expect("fits");
        let expected = (count - 1) * step;
        prop_assert_eq!(half.shape()[half.shape().len() - 1], expected);
        for (i, &found) in half.as_slice::<f64>().expect("f64").iter().enumerate() {
            let (row, at) = (i / expected, i % expected);
            prop_assert_eq!(found, back[row * (length + 2) + size / 2 + at]);
        }
    }
}

#[test]
fn frame_errors() {
    let op = stft::Stft {
        transpose_frames: false,
    };
    let signal = numbers(1, &[8]);
    let stft = |window: usize, size: i64, step: i64| {
        let inputs = [
            signal.clone(),
            numbers(2, &[window]),
            Tensor::scalar(size),
            Tensor::scalar(step),
        ];
        run(&op, &inputs)
            .map(|out| out.shape().to_vec())
            .map_err(|e| e.message)
    };
    assert_eq!(stft(3, 8, 9), Ok(vec![1, 5, 2]));
    let wrong = |text: &str| Err(text.to_owned());
    assert_eq!(
        stft(3, 9, 1),
        wrong("frame_size is 9, expected at most 8, the length of the signal")
    );
    assert_eq!(
        stft(3, 2, 1),
        wrong("the window has 3 values, expected 1..2")
    );
    assert_eq!(
        stft(3, 4, 0),
        wrong("frame_step is 0, expected a positive number")
    );
    assert_eq!(
        stft(0, 4, 1),
        wrong("the window has 0 values, expected 1..4")
    );
    let op = istft::Istft {
        center: true,
        normalized: false,
    };
    let inputs = [
        numbers(1, &[3, 2, 2]),
        numbers(2, &[2]),
        Tensor::scalar(6i32),
        Tensor::scalar(1i32),
    ];
    let error = run(&op, &inputs).expect_err("too few results").message;
    assert_eq!(
        error,
        "data has 3 results for each frame, expected 4, as frame_size is 6"
    );
}
