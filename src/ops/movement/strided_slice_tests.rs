//! StridedSlice against a naive definition.

use proptest::prelude::*;

use super::*;
use crate::ops::movement::slicing::tests::python;
use crate::ops::testing::{assert_picked, counted, dynamic, index, infer_dims, run, shape};
use crate::tensor::{ElementType, Symbol, Tensor};

/// The masks in the order of the fields.
fn masked(masks: [&[i64]; 5]) -> StridedSlice {
    let [
        begin_mask,
        end_mask,
        new_axis_mask,
        shrink_axis_mask,
        ellipsis_mask,
    ] = masks.map(<[i64]>::to_vec);
    StridedSlice {
        begin_mask,
        end_mask,
        new_axis_mask,
        shrink_axis_mask,
        ellipsis_mask,
    }
}

fn slice(
    op: &StridedSlice,
    data: &[usize],
    begin: &[i64],
    end: &[i64],
    strides: &[i64],
) -> Result<Tensor, OpError> {
    let count: usize = data.iter().product();
    let values: Vec<i32> = (0..count as i32).collect();
    let data = Tensor::new(data, &values).expect("its length");
    run(
        op,
        &[
            data,
            Tensor::vector(begin),
            Tensor::vector(end),
            Tensor::vector(strides),
        ],
    )
}

fn dims(op: &StridedSlice, data: &[usize], begin: &[i64], end: &[i64], strides: &[i64]) -> String {
    slice(op, data, begin, end, strides).map_or_else(|e| e.message, |out| out.shape().to_string())
}

#[test]
fn document_examples() {
    let none = StridedSlice::default();
    let (begin, end, strides) = ([0, 1, 0, 1, 3, 3], [4, 4, 4, 4, 0, 0], [1, 1, 2, 2, -1, -2]);
    assert_eq!(
        dims(&none, &[4; 6], &begin, &end, &strides),
        "[4,3,2,2,3,2]"
    );
    assert_eq!(
        dims(&none, &[2, 3, 4], &[0; 3], &[2, 2, -1], &[1; 3]),
        "[2,2,3]"
    );
    let op = masked([&[0, 1, 1], &[1, 1, 1], &[0; 5], &[0; 2], &[0]]);
    assert_eq!(
        dims(&op, &[2, 3, 4], &[1, 1, 123], &[0, 0, 2], &[1, 1, -1]),
        "[1,3,4]"
    );
    let op = masked([&[0; 4], &[0; 4], &[1, 0, 1, 0], &[0; 4], &[0; 4]]);
    let out = dims(
        &op,
        &[2, 4],
        &[1234, 0, -1, 0],
        &[1234, 2, 9876, 4],
        &[132, 1, 241, 1],
    );
    assert_eq!(out, "[1,2,1,4]");
    let op = masked([&[0; 5], &[0; 5], &[0; 5], &[0, 1, 0, 0, 0], &[0; 5]]);
    let out = dims(
        &op,
        &[1, 2, 38, 64, 8],
        &[0; 5],
        &[1, 0, 38, 64, 8],
        &[1; 5],
    );
    assert_eq!(out, "[1,38,64,8]");
    let op = masked([&[0; 3], &[0; 3], &[0; 3], &[0; 3], &[0, 1, 0]]);
    let out = dims(&op, &[10, 2, 1, 3, 10], &[0; 3], &[4, 0, 5], &[1, -1, 1]);
    assert_eq!(out, "[4,2,1,3,5]");
    let op = masked([&[0, 0, 1, 1], &[1, 1, 0, 0], &[0, 0, 1], &[0], &[0, 1]]);
    let out = dims(
        &op,
        &[10, 2, 3, 10],
        &[2, 1, 10, 10],
        &[123, 1, 10, 5],
        &[1, -1, 1, 1],
    );
    assert_eq!(out, "[8,2,3,1,5]");
}

#[test]
fn as_numpy() {
    let none = StridedSlice::default();
    let take = |op: &StridedSlice, begin, end, step| {
        let out = slice(op, &[4], &[begin], &[end], &[step]).expect("fits");
        out.as_slice::<i32>().expect("i32").to_vec()
    };
    assert_eq!(take(&none, 1, 1, 1), [] as [i32; 0]);
    assert_eq!(take(&none, 1234, 1234, 1), [] as [i32; 0]);
    assert_eq!(take(&none, 1234, i64::MIN, -1), [3, 2, 1, 0]);
    // Unlike there, what lies before the first element is the first, even backwards.
    assert_eq!(take(&none, -9, -10, -1), [0]);
    assert_eq!(
        take(&masked([&[1], &[1], &[], &[], &[]]), 2, 2, -1),
        [3, 2, 1, 0]
    );
    assert_eq!(take(&masked([&[1], &[1], &[], &[], &[]]), 2, 2, 3), [0, 3]);
    let shrink = masked([&[], &[], &[], &[1], &[]]);
    for (begin, end, step, element) in [(-1, 0, 1, 3), (2, 2, -2, 2), (0, 1, 0, 0), (-4, 9, 1, 0)] {
        assert_eq!(take(&shrink, begin, end, step), [element]);
    }
    assert_eq!(take(&masked([&[1], &[], &[], &[1], &[]]), 2, 3, -1), [0]);
    let inputs = [
        counted(ElementType::U8, &[4]),
        Tensor::vector(&[1i8]),
        Tensor::vector(&[3u64]),
    ];
    assert_eq!(
        run(&none, &inputs)
            .expect("fits")
            .as_slice::<u8>()
            .expect("u8"),
        [2, 3]
    );
}

#[test]
fn one_mask_wins_over_another() {
    let ones: &[i64] = &[1];
    let all = masked([ones; 5]);
    assert_eq!(dims(&all, &[2, 3], &[0], &[1], &[1]), "[2,3]");
    let both = masked([&[], &[], ones, ones, &[]]);
    assert_eq!(dims(&both, &[2, 3], &[0], &[1], &[1]), "[1,2,3]");
}

#[test]
fn mistakes() {
    let none = StridedSlice::default();
    let shrink = masked([&[], &[], &[], &[0, 1], &[]]);
    for (op, data, begin, end, strides, message) in [
        (
            &none,
            &[4][..],
            &[0i64, 0][..],
            &[1i64, 1][..],
            &[1i64, 1][..],
            "2 axes are sliced, the data has 1",
        ),
        (
            &none,
            &[4, 4],
            &[0, 0],
            &[1, 1],
            &[1, 0],
            "element 1 of strides is 0",
        ),
        (
            &none,
            &[4, 4],
            &[0, 0],
            &[1],
            &[1],
            "begin has 2 elements, end 1",
        ),
        (
            &shrink,
            &[4, 3],
            &[0, 3],
            &[1, 4],
            &[1, 1],
            "element 1 of begin is 3, out of range for axis 1 of size 3",
        ),
        (
            &shrink,
            &[4, 3],
            &[0, -4],
            &[1, 4],
            &[1, 1],
            "element 1 of begin is -4, out of range",
        ),
        (
            &shrink,
            &[4, 0],
            &[0, 0],
            &[1, 4],
            &[1, 1],
            "element 1 of begin is 0, out of range",
        ),
        (
            &masked([&[2], &[], &[], &[], &[]]),
            &[4],
            &[0],
            &[1],
            &[1],
            "begin_mask holds 2",
        ),
        (
            &masked([&[], &[], &[], &[], &[1, 1]]),
            &[4],
            &[0],
            &[1],
            &[1],
            "ellipsis_mask holds 1 2 times",
        ),
    ] {
        let error = dims(op, data, begin, end, strides);
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn what_is_known_of_unknown_numbers() {
    let mut data = shape("?,8,2..5");
    let named = Dimension::dynamic().with_symbol(Some(Symbol(3)));
    data.dims_mut().expect("a rank")[0] = named;
    let f32 = Input::new(ElementType::F32, &data);
    let (three, some) = (shape("3"), shape("?"));
    let unknown = |shape| Input::new(ElementType::I64, shape);
    let none = StridedSlice::default();
    let inputs = [
        f32.clone(),
        unknown(&three),
        unknown(&three),
        unknown(&three),
    ];
    assert_eq!(infer_dims(&none, &inputs), "[?,..8,..5]");
    let inputs = [f32.clone(), unknown(&some), unknown(&some)];
    assert_eq!(infer_dims(&none, &inputs), "[?,..8,..5]");
    let shrink = masked([&[], &[], &[], &[0, 1], &[]]);
    assert_eq!(infer_dims(&shrink, &inputs), "[...]");
    let inputs = [f32.clone(), unknown(&three), unknown(&three)];
    assert_eq!(infer_dims(&shrink, &inputs), "[?,..5]");
    // A range of begin, and what stays as it is.
    let from = |min, max| ValueRange {
        min,
        max,
        symbol: None,
    };
    let ranges = [from(0, 0), from(1, 3), from(0, 0)];
    let begin = Input {
        ranges: Some(&ranges),
        ..unknown(&three)
    };
    let op = masked([&[], &[1, 1, 1], &[], &[], &[]]);
    let inputs = [f32, begin, unknown(&three)];
    let out = op.infer(&inputs).expect("fits");
    assert_eq!(out[0].shape.to_string(), "[?,5..7,2..5]");
    assert_eq!(out[0].shape.dims().expect("a rank")[0], named);
}

proptest! {
    /// Against slices of a list of places for each axis.
    #[test]
    fn like_its_definition(
        items in prop::collection::vec(
            // What happens, size, begin, end, stride, begin and end masked.
            (0..5, 0usize..4, -5i64..5, -5i64..5, prop::sample::select(vec![-2i64, -1, 1, 2]), any::<(bool, bool)>()),
            1..6,
        ),
        tail in prop::collection::vec(0usize..3, 0..3),
        ty in prop::sample::select(ElementType::ALL.to_vec()),
        mask in any::<u32>(),
    ) {
        let mut masks: [Vec<i64>; 5] = Default::default();
        let (mut data, mut taken, mut out_dims) = (vec![], vec![], vec![]);
        let mut kept = vec![];
        let mut ellipsis = false;
        let mut keep = |data: &mut Vec<usize>, taken: &mut Vec<Vec<usize>>, out: &mut Vec<usize>, size: usize| {
            kept.push(data.len());
            data.push(size);
            taken.push((0..size).collect());
            out.push(size);
        };
        for &(kind, size, begin, end, stride, (from, to)) in &items {
            let kind = if kind == 4 && ellipsis { 0 } else { kind };
            masks[0].push(from.into());
            masks[1].push(to.into());
            masks[2].push((kind == 2).into());
            masks[3].push((kind == 3).into());
            masks[4].push((kind == 4).into());
            match kind {
                2 => out_dims.push(1),
                3 => {
                    let size = size + 5;
                    let index = if from { 0 } else { begin };
                    data.push(size);
                    taken.push(vec![usize::try_from(index.rem_euclid(size as i64)).expect("small")]);
                }
                4 => {
                    ellipsis = true;
                    for &size in &tail {
                        keep(&mut data, &mut taken, &mut out_dims, size);
                    }
                }
                _ => {
                    let begin = match (from, stride < 0) {
                        (true, true) => -1,
                        (true, false) => 0,
                        (false, true) => begin.max(-(size as i64)),
                        _ => begin,
                    };
                    let end = match (to, stride < 0) {
                        (true, true) => i64::MIN,
                        (true, false) => i64::MAX,
                        _ => end,
                    };
                    let places = python(size, begin, end, stride);
                    data.push(size);
                    out_dims.push(places.len());
                    taken.push(places);
                }
            }
        }
        if !ellipsis {
            for &size in &tail {
                keep(&mut data, &mut taken, &mut out_dims, size);
            }
        }
        prop_assume!(data.iter().product::<usize>() < 20_000);
        let op = masked(masks.each_ref().map(Vec::as_slice));
        let list = |f: &dyn Fn(usize) -> i64| Tensor::vector(&(0..items.len()).map(f).collect::<Vec<_>>());
        let inputs = [
            counted(ty, &data),
            list(&|i| items[i].2),
            list(&|i| items[i].3),
            list(&|i| items[i].4),
        ];
        let out = run(&op, &inputs).expect("fits");
        prop_assert_eq!(&out.shape()[..], &out_dims[..]);
        // Counting through all that is taken visits the output in order.
        let counts: crate::tensor::Shape = taken.iter().map(Vec::len).collect();
        let strides = inputs[0].shape().strides();
        let source: Vec<usize> = index(&counts)
            .map(|at| at.iter().zip(&taken).zip(&strides).map(|((&i, t), s)| t[i] * s).sum())
            .collect();
        assert_picked(&inputs[0], &source, &out);
        prop_assert!(dynamic(&op, &inputs, mask).contains(out.shape()));
    }
}
