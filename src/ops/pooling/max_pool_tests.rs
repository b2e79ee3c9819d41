//! Tests of the largest elements of windows.

use proptest::prelude::*;

use super::*;
use crate::ops::testing::{dynamic, run, run_all};

fn pool(kernel: &[i64], strides: &[i64], dilations: &[i64], pads: [&[i64]; 2]) -> MaxPool {
    MaxPool {
        kernel: kernel.to_vec(),
        strides: strides.to_vec(),
        dilations: dilations.to_vec(),
        pads_begin: pads[0].to_vec(),
        pads_end: pads[1].to_vec(),
        ..MaxPool::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The largest is in its window, nothing there is larger, and before it nothing is as large.
    #[test]
    fn definition(
        (planes, h, w) in (1usize..4, 1usize..7, 1usize..9),
        kernel in prop::collection::vec(1i64..4, 2),
        strides in prop::collection::vec(1i64..4, 2),
        dilations in prop::collection::vec(1i64..3, 2),
        pads in prop::collection::vec(0i64..2, 4),
        ceil in any::<bool>(),
        axis in -4i64..4,
        // Planes of short rows are folded at once, others row by row.
        wide in prop_oneof![Just(1usize), Just(9)],
        data in prop::collection::vec(-3i64..3, 3 * 6 * 8 * 9),
        mask in any::<u32>(),
    ) {
        let w = w * wide;
        let mut op = pool(&kernel, &strides, &dilations, [&pads[..2], &pads[2..]]);
        if ceil {
            op.rounding_type = Rounding::Ceil;
        }
        op.axis = axis;
        let data = Tensor::new([1, planes, h, w], &data[..planes * h * w]).expect("as many");
        let Ok(outputs) = run_all(&op, std::slice::from_ref(&data)) else { return Ok(()) };
        let x = data.as_slice::<i64>().expect("i64");
        let bound = op.bound(data.shape()).expect("small") as i64;
        let (out, indices) = (outputs[0].as_slice::<i64>(), outputs[1].as_slice::<i64>());
        let (out, indices) = (out.expect("i64"), indices.expect("i64"));
        for (at, index) in crate::ops::testing::index(outputs[0].shape()).enumerate() {
            let mut best = (i64::MIN, (index[1] * h * w) as i64);
            let mut any = false;
            for (ky, kx) in (0..kernel[0]).flat_map(|y| (0..kernel[1]).map(move |x| (y, x))) {
                let y = index[2] as i64 * strides[0] + ky * dilations[0] - pads[0];
                let x_ = index[3] as i64 * strides[1] + kx * dilations[1] - pads[1];
                if (0..h as i64).contains(&y) && (0..w as i64).contains(&x_) {
                    let place = (index[1] as i64 * h as i64 + y) * w as i64 + x_;
                    let value = x[place as usize];
                    if !any || value > best.0 {
                        best = (value, place);
                    }
                    any = true;
                }
            }
            prop_assert_eq!((out[at], indices[at]), (best.0, best.1 % bound));
        }
        let alone = op.first_outputs(1).expect("without indices");
        let alone = run(&*alone, std::slice::from_ref(&data)).expect("as with indices");
        prop_assert_eq!(&alone, &outputs[0]);
        prop_assert!(dynamic(&op, std::slice::from_ref(&data), mask).contains(outputs[0].shape()));
    }
}

#[test]
fn infinities_and_nan() {
    let op = pool(&[2], &[1], &[], [&[2], &[0]]);
    let (nan, low) = (f32::NAN, f32::NEG_INFINITY);
    let data = Tensor::new([1, 1, 5], &[low, nan, 1.0, nan, nan]).expect("five");
    let outputs = run_all(&op, std::slice::from_ref(&data)).expect("numbers");
    let expected = [low, low, low, 1.0, 1.0, low];
    assert_eq!(outputs[0].as_slice::<f32>(), Ok(&expected[..]));
    assert_eq!(outputs[1].as_slice::<i64>(), Ok(&[0, 0, 0, 2, 2, 3][..]));
    let one = MaxPoolOne {
        kernel: vec![2],
        pads_begin: vec![2],
        ..MaxPoolOne::default()
    };
    assert_eq!(
        run(&one, &[data]).expect("numbers").as_slice::<f32>(),
        Ok(&expected[..])
    );
}

#[test]
fn attributes() {
    let data = Tensor::new([1, 1, 5], &[1f32, 2.0, 3.0, 4.0, 5.0]).expect("five");
    let good = pool(&[2], &[], &[], [&[], &[]]);
    let ok = |op: &MaxPool| run_all(op, std::slice::from_ref(&data)).is_ok();
    assert!(ok(&good));
    let torch = MaxPool {
        rounding_type: Rounding::CeilTorch,
        ..good.clone()
    };
    assert!(!ok(&torch));
    assert!(ok(&MaxPool {
        torch: true,
        ..torch
    }));
    assert!(!ok(&MaxPool {
        kernel: vec![],
        ..good.clone()
    }));
    assert!(!ok(&MaxPool {
        kernel: vec![0],
        ..good.clone()
    }));
    assert!(!ok(&MaxPool {
        kernel: vec![2, 2],
        ..good.clone()
    }));
    assert!(!ok(&MaxPool {
        kernel: vec![6],
        ..good.clone()
    }));
    assert!(!ok(&MaxPool {
        axis: 3,
        ..good.clone()
    }));
    // Huge windows in huge pads are computed from what is there.
    let huge = MaxPool {
        kernel: vec![1 << 40],
        pads_begin: vec![1 << 40],
        strides: vec![1 << 40],
        ..good
    };
    let outputs = run_all(&huge, &[data]).expect("numbers");
    assert_eq!(outputs[0].as_slice::<f32>(), Ok(&[f32::NEG_INFINITY][..]));
}

#[test]
fn nothing_of_enormous_size() {
    let op = pool(&[2, 2], &[], &[], [&[], &[]]);
    let data = Tensor::zeros(ElementType::F32, [0, 1, 1 << 40, 1 << 40]).expect("empty");
    let outputs = run_all(&op, &[data]).expect("empty");
    assert_eq!(outputs[1].shape()[..], [0, 1, (1 << 40) - 1, (1 << 40) - 1]);
}
