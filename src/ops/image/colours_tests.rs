//! Tests of conversions of colours, by a second reading of the documents.

use proptest::prelude::*;

use super::super::rgb_to_nv12::RgbToNv12;
use super::*;
use crate::ops::testing::{dynamic, infer_dims, run, run_all, shape};
use crate::tensor::convert::{convert, to_i64};

fn clip(x: f64) -> f64 {
    x.clamp(0.0, 255.0)
}

/// R, G and B by the formulas of the document.
fn rgb(y: f64, u: f64, v: f64) -> [f64; 3] {
    [
        clip(1.164 * (y - 16.0) + 1.596 * (v - 128.0)),
        clip(1.164 * (y - 16.0) - 0.813 * (v - 128.0) - 0.391 * (u - 128.0)),
        clip(1.164 * (y - 16.0) + 2.018 * (u - 128.0)),
    ]
}

/// Y, U and V by the formulas of the document.
fn yuv(r: f64, g: f64, b: f64) -> [f64; 3] {
    [
        clip(0.257 * r + 0.504 * g + 0.098 * b + 16.0),
        clip(-0.148 * r - 0.291 * g + 0.439 * b + 128.0),
        clip(0.439 * r - 0.368 * g - 0.071 * b + 128.0),
    ]
}

fn bytes(seed: u32, shape: &[usize]) -> Tensor {
    let len = shape.iter().product();
    let mut state = seed | 1;
    let data: Vec<u8> = (0..len)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .collect();
    Tensor::new(shape, &data).expect("as many")
}

/// The planes of separate inputs, one below the other.
fn stacked(planes: &[Tensor], [n, h, w]: [usize; 3]) -> Tensor {
    let mut all: Vec<u8> = Vec::new();
    for image in 0..n {
        for plane in planes {
            let plane = plane.as_slice::<u8>().expect("u8");
            let size = plane.len() / n;
            all.extend_from_slice(&plane[image * size..][..size]);
        }
    }
    Tensor::new([n, h / 2 * 3, w, 1], &all).expect("as many")
}

fn near(found: i64, expected: f64) -> bool {
    (found as f64 - expected).abs() <= 0.501
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn from_yuv(
        (n, h, w) in (1usize..3, 1usize..4, 1usize..4),
        i420 in any::<bool>(),
        blue_first in any::<bool>(),
        seed in any::<u32>(),
        mask in any::<u32>(),
    ) {
        let (h, w) = (2 * h, 2 * w);
        let format = if i420 { Format::I420 } else { Format::Nv12 };
        let op = YuvToRgb { format, red: if blue_first { 2 } else { 0 } };
        let mut planes = vec![bytes(seed, &[n, h, w, 1])];
        if i420 {
            planes.push(bytes(seed ^ 77, &[n, h / 2, w / 2, 1]));
            planes.push(bytes(seed ^ 99, &[n, h / 2, w / 2, 1]));
        } else {
            planes.push(bytes(seed ^ 77, &[n, h / 2, w / 2, 2]));
        }
        let out = run(&op, &planes).expect("planes");
        prop_assert_eq!(&out.shape()[..], [n, h, w, 3]);
        prop_assert!(dynamic(&op, &planes, mask).contains(out.shape()));
        let single = stacked(&planes, [n, h, w]);
        let of_one = run(&op, std::slice::from_ref(&single)).expect("one plane");
        prop_assert_eq!(of_one.bytes(), out.bytes());
        prop_assert!(dynamic(&op, &[single], mask).contains(out.shape()));
        let numbers: Vec<Vec<i64>> = planes.iter().map(to_i64).collect();
        for (i, pixel) in to_i64(&out).chunks(3).enumerate() {
            let (image, y, x) = (i / (h * w), i / w % h, i % w);
            let four = (image * h / 2 + y / 2) * (w / 2) + x / 2;
            let (u, v) = match format {
                Format::I420 => (numbers[1][four], numbers[2][four]),
                Format::Nv12 => (numbers[1][2 * four], numbers[1][2 * four + 1]),
            };
            let mut expected = rgb(numbers[0][i] as f64, u as f64, v as f64);
            if blue_first {
                expected.reverse();
            }
            prop_assert!(pixel.iter().zip(expected).all(|(&a, b)| near(a, b)), "{pixel:?} {expected:?}");
        }
        // Floats are the same before rounding.
        let floats: Vec<Tensor> = planes
            .iter()
            .map(|t| convert(t, ElementType::F32).expect("numbers"))
            .collect();
        let floats = run(&op, &floats).expect("planes");
        let floats = floats.as_slice::<f32>().expect("f32");
        prop_assert!(to_i64(&out).iter().zip(floats).all(|(&a, &b)| near(a, b.into())));
    }

    #[test]
    fn to_yuv(
        (n, h, w) in (1usize..3, 1usize..4, 1usize..4),
        blue_first in any::<bool>(),
        seed in any::<u32>(),
        mask in any::<u32>(),
    ) {
        let (h, w) = (2 * h, 2 * w);
        let image = bytes(seed, &[n, h, w, 3]);
        let red = if blue_first { 2 } else { 0 };
        let two = RgbToNv12 { single_plane: false, red };
        let one = RgbToNv12 { single_plane: true, red };
        let planes = run_all(&two, std::slice::from_ref(&image)).expect("an image");
        let single = run(&one, std::slice::from_ref(&image)).expect("an image");
        let all = stacked(&planes, [n, h, w]);
        prop_assert_eq!(all.bytes(), single.bytes());
        prop_assert!(dynamic(&one, std::slice::from_ref(&image), mask).contains(single.shape()));
        let pixels: Vec<[f64; 3]> = to_i64(&image)
            .chunks(3)
            .map(|p| {
                let [r, g, b] = if blue_first { [p[2], p[1], p[0]] } else { [p[0], p[1], p[2]] };
                yuv(r as f64, g as f64, b as f64)
            })
            .collect();
        let luma = to_i64(&planes[0]);
        prop_assert!(luma.iter().zip(&pixels).all(|(&y, pixel)| near(y, pixel[0])));
        for (i, uv) in to_i64(&planes[1]).chunks(2).enumerate() {
            let (image, y, x) = (i / (h / 2 * w / 2), i / (w / 2) % (h / 2), i % (w / 2));
            let at = |dy: usize, dx: usize| pixels[(image * h + 2 * y + dy) * w + 2 * x + dx];
            let four = [at(0, 0), at(0, 1), at(1, 0), at(1, 1)];
            for (channel, &found) in uv.iter().enumerate() {
                let mean = four.iter().map(|pixel| pixel[channel + 1].round()).sum::<f64>() / 4.0;
                prop_assert!((found as f64 - mean).abs() <= 0.76, "{found} {mean}");
            }
        }
        let floats = run(&one, &[convert(&image, ElementType::F64).expect("numbers")]).expect("an image");
        let floats = floats.as_slice::<f64>().expect("f64");
        prop_assert!(floats.iter().zip(to_i64(&single)).all(|(a, b)| (a - b as f64).abs() <= 1.01));
    }
}

/// What the runtime's own tests expect of pure colours.
#[test]
fn pure_colours() {
    let image = |pixel: [u8; 3]| Tensor::new([1, 2, 2, 3], &pixel.repeat(4)).expect("four pixels");
    let to = |red, pixel| {
        let op = RgbToNv12 {
            single_plane: true,
            red,
        };
        to_i64(&run(&op, &[image(pixel)]).expect("an image"))
    };
    assert_eq!(to(0, [255, 0, 0]), [82, 82, 82, 82, 90, 240]);
    assert_eq!(to(0, [0, 255, 0]), [145, 145, 145, 145, 54, 34]);
    assert_eq!(to(2, [255, 0, 0]), [41, 41, 41, 41, 240, 110]);
    let large = Tensor::new([1, 260, 262, 3], &[255u8, 0, 0].repeat(260 * 262)).expect("pixels");
    let op = RgbToNv12 {
        single_plane: true,
        red: 0,
    };
    let out = to_i64(&run(&op, &[large]).expect("an image"));
    assert!(out[..260 * 262].iter().all(|&y| y == 82));
    assert!(out[260 * 262..].chunks(2).all(|uv| uv == [90, 240]));
}

#[test]
fn shapes_that_do_not_fit() {
    let nv12 = YuvToRgb {
        format: Format::Nv12,
        red: 0,
    };
    let i420 = YuvToRgb {
        format: Format::I420,
        red: 0,
    };
    let of = |op: &YuvToRgb, shapes: &[&str]| {
        let shapes: Vec<PartialShape> = shapes.iter().map(|s| shape(s)).collect();
        let inputs: Vec<_> = shapes
            .iter()
            .map(|s| Input::new(ElementType::U8, s))
            .collect();
        op.infer(&inputs).ok().map(|o| o[0].shape.to_string())
    };
    assert_eq!(
        of(&nv12, &["1,720,640,1"]).as_deref(),
        Some("[1,480,640,3]")
    );
    assert_eq!(of(&i420, &["?,?,?,?"]).as_deref(), Some("[?,?,?,3]"));
    assert_eq!(
        of(&nv12, &["?,?,?,1", "3,4,5,2"]).as_deref(),
        Some("[3,8,10,3]")
    );
    assert_eq!(of(&nv12, &["..."]).as_deref(), Some("[?,?,?,3]"));
    for bad in [
        &["1,5,4,1"][..],
        &["1,6,3,1"],
        &["1,6,4,3"],
        &["6,4,1"],
        &["1,4,4,1", "1,2,2,1"],
        &["1,4,4,1", "2,2,2,2"],
        &["1,4,4,1", "1,4,2,2"],
        &["1,4,4,1", "1,2,2,2", "1,2,2,2"],
    ] {
        assert_eq!(of(&nv12, bad), None, "{bad:?}");
    }
    assert_eq!(of(&i420, &["1,4,4,1", "1,2,2,1"]), None);
    let back = shape("1,4,6,3");
    let image = Input::new(ElementType::F16, &back);
    let op = RgbToNv12::default();
    assert_eq!(infer_dims(&op, std::slice::from_ref(&image)), "[1,6,6,1]");
    let odd = shape("1,5,6,3");
    assert!(op.infer(&[Input::new(ElementType::F16, &odd)]).is_err());
    assert!(op.infer(&[Input::new(ElementType::I32, &back)]).is_err());
}
