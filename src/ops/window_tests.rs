//! Tests of the geometry of windows.

use proptest::prelude::*;

use super::*;

fn slide(
    strides: &[i64],
    dilations: &[i64],
    pads: [i64; 2],
    auto_pad: AutoPad,
    r: Rounding,
) -> Slide {
    let sliding = Sliding {
        strides,
        dilations,
        pads_begin: &pads[..1],
        pads_end: &pads[1..],
        auto_pad,
        rounding: r,
    };
    sliding.axes(1).expect("good attributes")[0]
}

#[test]
fn documented_sizes() {
    use AutoPad::{Explicit, SameUpper, Valid};
    use Rounding::{Ceil, CeilTorch, Floor};
    for (size, kernel, stride, dilation, pads, auto_pad, rounding, expected) in [
        (128, 4, 2, 1, [9, 9], Valid, Floor, 63),
        (224, 5, 1, 1, [2, 2], Explicit, Floor, 224),
        (320, 3, 3, 2, [0, 0], Explicit, Floor, 106),
        (32, 5, 3, 1, [1, 1], Explicit, Floor, 10),
        (32, 5, 2, 2, [1, 1], Explicit, Floor, 13),
        (3, 2, 2, 1, [9, 9], Valid, Ceil, 2),
        (3, 2, 2, 1, [1, 1], Explicit, Ceil, 3),
        (3, 2, 2, 1, [1, 1], Explicit, CeilTorch, 2),
        (5, 3, 2, 1, [9, 9], SameUpper, Floor, 3),
        (5, 1, 3, 1, [9, 9], SameUpper, Floor, 2),
    ] {
        let slide = slide(&[stride], &[dilation], pads, auto_pad, rounding);
        assert_eq!(slide.output(size, kernel), Ok(expected), "{slide:?}");
    }
}

#[test]
fn attributes_out_of_range() {
    let good = Sliding {
        strides: &[1, 2],
        dilations: &[],
        pads_begin: &[],
        pads_end: &[0, 1],
        auto_pad: AutoPad::Explicit,
        rounding: Rounding::Floor,
    };
    assert!(good.axes(2).is_ok());
    assert!(good.axes(1).is_err());
    for strides in [&[0, 1], &[1, -1], &[i64::MAX, 1]] {
        assert!(Sliding { strides, ..good }.axes(2).is_err());
    }
    assert!(
        Sliding {
            pads_end: &[-1, 0],
            ..good
        }
        .axes(2)
        .is_err()
    );
    let kernel_too_large = slide(&[1], &[3], [0, 0], AutoPad::Explicit, Rounding::Floor);
    assert!(kernel_too_large.output(6, 3).is_err());
    assert!(kernel_too_large.output(usize::MAX / 4, 3).is_err());
}

fn auto_pad() -> impl Strategy<Value = AutoPad> {
    prop::sample::select(vec![
        AutoPad::Explicit,
        AutoPad::SameUpper,
        AutoPad::SameLower,
        AutoPad::Valid,
    ])
}

proptest! {
    /// The inferred interval holds the size of every axis it stands for, and no bound is loose.
    #[test]
    fn intervals_enclose(
        (min, more) in (0usize..8, 0usize..6),
        (kernel, other) in (1usize..4, 0usize..3),
        (stride, dilation) in (1i64..5, 1i64..4),
        pads in prop::array::uniform2(0i64..4),
        auto_pad in auto_pad(),
        rounding in prop::sample::select(vec![Rounding::Floor, Rounding::Ceil, Rounding::CeilTorch]),
    ) {
        let slide = slide(&[stride], &[dilation], pads, auto_pad, rounding);
        let pairs = (min..=min + more).flat_map(|s| (kernel..=kernel + other).map(move |k| (s, k)));
        let found: Vec<usize> = pairs.filter_map(|(s, k)| slide.output(s, k).ok()).collect();
        let size = Dimension::range(min, Some(min + more));
        let kernels = Dimension::range(kernel, Some(kernel + other));
        match slide.infer(size, kernels) {
            Err(_) => prop_assert!(found.is_empty()),
            Ok(inferred) => {
                for &size in &found {
                    prop_assert!(inferred.contains(size), "{inferred} {size}");
                }
                prop_assert_eq!(inferred.max(), found.iter().copied().max());
            }
        }
    }

    /// What a convolution makes of the size of its transpose is the size of the data.
    #[test]
    fn backwards(
        windows in 1usize..6,
        kernel in 1usize..4,
        (stride, dilation) in (1i64..5, 1i64..4),
        pads in prop::array::uniform2(0i64..3),
        more in 0i64..5,
    ) {
        let slide = slide(&[stride], &[dilation], pads, AutoPad::Explicit, Rounding::Floor);
        if let Ok(size) = slide.back(windows, kernel, i128::from(more)) {
            let inferred = slide.infer_back(
                Dimension::range(windows - 1, Some(windows + 1)),
                Dimension::fixed(kernel),
                i128::from(more),
            );
            prop_assert!(inferred.is_ok_and(|d| d.contains(size)));
            if more < stride {
                prop_assert!(slide.output(size, kernel).is_ok_and(|n| n == windows) || size == 0);
            }
        }
    }
}
