//! Tests of deformable convolutions.

use super::*;
use crate::ops::testing::run;
use crate::tensor::ElementType;

fn sampled(op: &DeformableConvolution, y: f32, x: f32) -> Vec<f32> {
    let data: Vec<f32> = (1..10u8).map(f32::from).collect();
    let data = Tensor::new([1, 1, 3, 3], &data).expect("nine");
    let offsets = [[y; 9], [x; 9]].concat();
    let offsets = Tensor::new([1, 2, 3, 3], &offsets).expect("18");
    let filters = Tensor::new([1, 1, 1, 1], &[1f32]).expect("one");
    let out = run(op, &[data, offsets, filters]).expect("samples");
    out.as_slice().expect("f32").to_vec()
}

#[test]
fn borders() {
    let first = DeformableConvolution {
        first: true,
        ..DeformableConvolution::default()
    };
    let nearest = DeformableConvolution::default();
    let zeros = DeformableConvolution {
        bilinear_interpolation_pad: true,
        ..nearest.clone()
    };
    let up = [2.5, 3.5, 4.5, 5.5, 6.5, 7.5];
    assert_eq!(sampled(&first, -0.5, 0.0), [&[0.0; 3][..], &up].concat());
    assert_eq!(
        sampled(&nearest, -0.5, 0.0),
        [&[1.0, 2.0, 3.0][..], &up].concat()
    );
    assert_eq!(
        sampled(&zeros, -0.5, 0.0),
        [&[0.5, 1.0, 1.5][..], &up].concat()
    );
    assert_eq!(
        sampled(&first, 0.5, 0.0),
        [&up[..], &[7.0, 8.0, 9.0]].concat()
    );
    assert_eq!(
        sampled(&nearest, 0.5, 0.0),
        [&up[..], &[7.0, 8.0, 9.0]].concat()
    );
    assert_eq!(
        sampled(&zeros, 0.5, 0.0),
        [&up[..], &[3.5, 4.0, 4.5]].concat()
    );
    for op in [&first, &nearest, &zeros] {
        let right = sampled(op, 0.0, 1.0);
        assert_eq!(right, [2.0, 3.0, 0.0, 5.0, 6.0, 0.0, 8.0, 9.0, 0.0]);
        assert_eq!(sampled(op, f32::NAN, 0.0), [0.0; 9]);
        assert_eq!(sampled(op, f32::MAX, f32::INFINITY), [0.0; 9]);
    }
}

/// Without offsets it is a convolution in groups; with a mask of twos, twice that.
#[test]
fn plain() {
    let numbers = |dims: &[usize], ty| {
        let values: Vec<i32> = (0..dims.iter().product())
            .map(|i: usize| (i * 7 % 5) as i32)
            .collect();
        let tensor = Tensor::new(dims, &values).expect("as many");
        crate::tensor::convert::convert(&tensor, ty).expect("numbers")
    };
    for ty in [ElementType::F32, ElementType::F16, ElementType::I32] {
        let (data, filters) = (numbers(&[2, 4, 5, 6], ty), numbers(&[6, 2, 3, 2], ty));
        let groups = numbers(&[6, 2, 3, 2], ty)
            .with_shape([2, 3, 2, 3, 2])
            .expect("as many");
        let plain = super::super::convolution::read_groups;
        let layer = LayerData {
            attributes: &[],
            weights: &crate::op::NoWeights,
        };
        let (plain, _) = plain(&layer).expect("no attribute is needed");
        let expected = run(&*plain, &[data.clone(), groups]).expect("sums");
        let op = DeformableConvolution {
            group: 2,
            deformable_group: 4,
            ..DeformableConvolution::default()
        };
        let offsets = Tensor::zeros(ty, [2, 4 * 12, 3, 5]).expect("small");
        let ones = crate::tensor::convert::convert(
            &Tensor::new([2, 24, 3, 5], &[1i32; 720]).expect("ones"),
            ty,
        );
        let inputs = [data, offsets, filters, ones.expect("numbers")];
        assert_eq!(run(&op, &inputs), Ok(expected.clone()), "{ty}");
        assert_eq!(run(&op, &inputs[..3]), Ok(expected), "{ty}");
    }
}

#[test]
fn shapes_that_do_not_fit() {
    let op = DeformableConvolution::default();
    let run = |dims: [[usize; 4]; 3]| {
        let inputs = dims.map(|d| Tensor::zeros(ElementType::F32, d).expect("small"));
        run(&op, &inputs)
    };
    let good = [[1, 2, 5, 5], [1, 18, 3, 3], [4, 2, 3, 3]];
    assert!(run(good).is_ok());
    assert!(run([[1, 2, 5, 5], [1, 17, 3, 3], [4, 2, 3, 3]]).is_err());
    assert!(run([[1, 2, 5, 5], [1, 18, 3, 4], [4, 2, 3, 3]]).is_err());
    assert!(run([[1, 2, 5, 5], [2, 18, 3, 3], [4, 2, 3, 3]]).is_err());
    assert!(run([[1, 3, 5, 5], [1, 18, 3, 3], [4, 2, 3, 3]]).is_err());
}
