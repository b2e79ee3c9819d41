//! FakeQuantize against the expression of its document.

use proptest::prelude::*;

use super::*;
use crate::ops::testing::{index, infer_dims, run, shape};
use crate::tensor::convert::convert;
use crate::tensor::{ElementType, Shape, Tensor};

fn op(levels: u32) -> FakeQuantize {
    FakeQuantize {
        levels,
        auto_broadcast: AutoBroadcast::Numpy,
        axis: 0,
    }
}

/// The expression of the document.
fn naive(x: f32, [low, high, out_low, out_high]: [f32; 4], levels: u32) -> f32 {
    if x <= low.min(high) {
        out_low
    } else if x > low.max(high) {
        out_high
    } else {
        let steps = (levels - 1) as f32;
        ((x - low) / (high - low) * steps).round_ties_even() / steps * (out_high - out_low)
            + out_low
    }
}

/// The element of a broadcast tensor at an index of the data.
fn at(tensor: &Tensor, index: &[usize]) -> f32 {
    let strides = tensor.shape().strides();
    let own = &index[index.len() - tensor.shape().rank()..];
    let axes = own.iter().zip(tensor.shape()).zip(&strides);
    let element: usize = axes
        .map(|((&i, &size), &stride)| if size == 1 { 0 } else { i * stride })
        .sum();
    tensor.as_slice::<f32>().expect("f32")[element]
}

#[test]
fn rounding_and_limits() {
    let limits = [0f32, 3.0, 10.0, 40.0].map(Tensor::scalar);
    let x = Tensor::vector(&[-1f32, 0.0, 0.5, 1.5, 2.4, 3.0, 3.1, f32::INFINITY, f32::NAN]);
    let inputs: Vec<Tensor> = std::iter::once(x).chain(limits).collect();
    let y = run(&op(4), &inputs).expect("numbers");
    let y = y.as_slice::<f32>().expect("f32");
    assert_eq!(y[..8], [10.0, 10.0, 10.0, 30.0, 30.0, 40.0, 40.0, 40.0]);
    assert!(y[8].is_nan());
    let binary = [0.5f32, 0.5, -1.0, 1.0].map(Tensor::scalar);
    let x = Tensor::vector(&[0.4f32, 0.5, 0.6]);
    let inputs: Vec<Tensor> = std::iter::once(x).chain(binary).collect();
    let y = run(&op(2), &inputs).expect("numbers");
    assert_eq!(y.as_slice::<f32>().expect("f32"), [-1.0, -1.0, 1.0]);
}

#[test]
fn inference() {
    let infer = |levels, shapes: [&str; 5]| {
        let shapes = shapes.map(shape);
        let inputs = shapes
            .each_ref()
            .map(|shape| Input::new(ElementType::F32, shape));
        op(levels)
            .infer(&inputs)
            .map(|_| infer_dims(&op(levels), &inputs))
    };
    let channels = ["1,64,1,1", "1,64,1,1", "", "1"];
    let with = |data| [data, channels[0], channels[1], channels[2], channels[3]];
    assert_eq!(infer(256, with("?,64,?,?")).as_deref(), Ok("[?,64,?,?]"));
    assert_eq!(infer(256, with("2,?,5,5")).as_deref(), Ok("[2,64,5,5]"));
    assert_eq!(infer(256, with("...")).as_deref(), Ok("[...]"));
    assert!(infer(256, with("2,3,5,5")).is_err());
    assert!(infer(256, with("2,1,5,5")).is_err());
    assert!(infer(1, with("2,64,5,5")).is_err());
    assert!(op(2).infer(&[]).is_err());
}

#[test]
fn paddles_rule() {
    let op = FakeQuantize {
        auto_broadcast: AutoBroadcast::Pdpd,
        axis: 1,
        ..op(2)
    };
    let x = Tensor::new([1, 2, 2], &[0.4f32, 0.6, 0.4, 0.6]).expect("four");
    let (low, one) = (Tensor::vector(&[0.5f32, 0.0]), Tensor::vector(&[1f32, 1.0]));
    let out_low = Tensor::vector(&[-1f32, -2.0]);
    let y = run(&op, &[x, low, one.clone(), out_low, one]).expect("numbers");
    assert_eq!(y.as_slice::<f32>().expect("f32"), [-1.0, -1.0, -2.0, 1.0]);
}

proptest! {
    #[test]
    fn agrees_with_the_document(
        dims in prop::collection::vec(1usize..4, 1..4),
        long in 0usize..4,
        masks in prop::array::uniform4(any::<u8>()),
        levels in prop_oneof![2u32..20, Just(256), Just(65_537), Just(65_538), Just(20_000_000)],
        backwards in any::<bool>(),
    ) {
        // Runs of all lengths around those that are worth a call.
        let mut dims = dims;
        let last = dims.len() - 1;
        dims[last] *= [1, 17, 301, 1_700][long];
        let limit = |mask: u8, base: f32| {
            let drop = usize::from(mask >> 4) % (dims.len() + 1);
            let own: Vec<usize> = dims.iter().enumerate().skip(drop)
                .map(|(i, &n)| if mask >> i & 1 == 1 { n } else { 1 }).collect();
            let values: Vec<f32> = (0..own.iter().product()).map(|i: usize| base + (i % 5) as f32 * 0.3).collect();
            Tensor::new(Shape::from(&own[..]), &values).expect("as many")
        };
        let [low, high] = if backwards { [0.7, -2.0] } else { [-2.0, 0.7] };
        let limits = [limit(masks[0], low), limit(masks[1], high), limit(masks[2], -1.0), limit(masks[3], 3.0)];
        let count: usize = dims.iter().product();
        let values: Vec<f32> = (0..count).map(|i| (i * 37 % 101) as f32 * 0.06 - 3.0).collect();
        let data = Tensor::new(Shape::from(&dims[..]), &values).expect("as many");
        let inputs: Vec<Tensor> = std::iter::once(data.clone()).chain(limits.clone()).collect();
        let out = run(&op(levels), &inputs).expect("fits");
        for (index, (&y, &x)) in index(data.shape()).zip(out.as_slice::<f32>().expect("f32").iter().zip(&values)) {
            let limits = limits.each_ref().map(|limit| at(limit, &index));
            prop_assert_eq!(y, naive(x, limits, levels));
        }
        let half: Vec<Tensor> = inputs.iter().map(|x| convert(x, ElementType::F64).expect("floats")).collect();
        prop_assert!(run(&op(levels), &half).is_ok());
    }
}
