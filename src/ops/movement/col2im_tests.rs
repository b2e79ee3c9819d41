//! Tests of Col2Im.

use proptest::prelude::*;

use super::*;
use crate::ops::testing::{dynamic, infer_dims, run, shape};
use crate::tensor::ElementType;
use crate::tensor::convert::to_i64;

fn pair(values: [usize; 2]) -> Tensor {
    Tensor::vector(&values.map(|x| x as i64))
}

fn both(values: [usize; 2]) -> Vec<i64> {
    values.iter().map(|&x| x as i64).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Every element of a block is added where the definition says, whatever its window.
    #[test]
    fn like_the_definition(
        image in [1usize..6, 1usize..6],
        kernel in [1usize..3, 1usize..4],
        strides in [1usize..4, 1usize..3],
        dilations in [1usize..3, 1usize..3],
        begin in [0usize..3, 0usize..3],
        end in [0usize..2, 0usize..2],
        channels in 1usize..3,
        batch in prop::option::of(0usize..3),
        mask in any::<u32>(),
    ) {
        let op = Col2Im {
            strides: both(strides),
            dilations: both(dilations),
            pads_begin: both(begin),
            pads_end: both(end),
        };
        let count = |axis: usize| {
            let reach = dilations[axis] * (kernel[axis] - 1) + 1;
            let padded = image[axis] + begin[axis] + end[axis];
            padded.checked_sub(reach).map_or(0, |rest| rest / strides[axis] + 1)
        };
        let (rows, columns) = (count(0), count(1));
        let elements = kernel[0] * kernel[1];
        let mut dims: Vec<usize> = batch.into_iter().collect();
        dims.extend([channels * elements, rows * columns]);
        let len: usize = dims.iter().product();
        let values: Vec<i32> = (0..len as i32).map(|i| i * 7 % 23 - 9).collect();
        let data = Tensor::new(&dims[..], &values).expect("as many");
        let inputs = [data, pair(image), pair(kernel)];
        let out = run(&op, &inputs).expect("blocks that fit");
        prop_assert!(dynamic(&op, &inputs, mask).contains(out.shape()));
        let planes = batch.unwrap_or(1) * channels;
        let mut expected = vec![0i64; planes * image[0] * image[1]];
        for (i, &value) in values.iter().enumerate() {
            let (i, column) = (i / columns, i % columns);
            let (i, row) = (i / rows, i % rows);
            let (i, x) = (i / kernel[1], i % kernel[1]);
            let (plane, y) = (i / kernel[0], i % kernel[0]);
            let y = (row * strides[0] + y * dilations[0]).wrapping_sub(begin[0]);
            let x = (column * strides[1] + x * dilations[1]).wrapping_sub(begin[1]);
            if y < image[0] && x < image[1] {
                expected[(plane * image[0] + y) * image[1] + x] += i64::from(value);
            }
        }
        prop_assert_eq!(to_i64(&out), expected);
    }
}

#[test]
fn documented_shapes() {
    let ones = |dims: &[usize]| Tensor::zeros(ElementType::I32, dims).expect("small");
    let sizes = |a, b| [pair([a, a]), pair([b, b])];
    let [size, kernel] = sizes(16, 2);
    let out = run(&Col2Im::default(), &[ones(&[3, 12, 225]), size, kernel]);
    assert_eq!(out.expect("fits").shape()[..], [3, 3, 16, 16]);
    let op = Col2Im {
        strides: vec![2, 2],
        dilations: vec![2, 2],
        pads_begin: vec![1, 1],
        pads_end: vec![1, 1],
    };
    let [size, kernel] = sizes(16, 3);
    // The document gives 25 blocks for this example, its formula 49.
    let out = run(&op, &[ones(&[1, 27, 49]), size, kernel]);
    assert_eq!(out.expect("fits").shape()[..], [1, 3, 16, 16]);
}

#[test]
fn what_does_not_fit() {
    let data = Tensor::zeros(ElementType::F32, [1, 12, 9]).expect("small");
    let try_out = |op: &Col2Im, image, kernel| run(op, &[data.clone(), pair(image), pair(kernel)]);
    let op = Col2Im::default();
    assert!(try_out(&op, [4, 4], [2, 2]).is_ok());
    let error = try_out(&op, [5, 4], [2, 2]).expect_err("12 blocks");
    assert_eq!(
        error.message,
        "data has 9 blocks, but 4 x 3 of them make up the image"
    );
    assert!(try_out(&op, [7, 3], [5, 1]).is_err(), "12 channels of 5");
    assert!(try_out(&op, [3, 3], [0, 1]).is_err());
    let bad = Col2Im {
        strides: vec![0, 1],
        ..Col2Im::default()
    };
    assert!(try_out(&bad, [4, 4], [2, 2]).is_err());
    let huge = Col2Im {
        pads_begin: vec![i64::MAX, i64::MAX],
        pads_end: vec![i64::MAX, i64::MAX],
        ..Col2Im::default()
    };
    assert!(try_out(&huge, [4, 4], [2, 2]).is_err());
    let (shape, two) = (shape("2,?,9"), shape("2"));
    let inputs = [
        Input::new(ElementType::F32, &shape),
        Input::new(ElementType::I64, &two),
        Input::new(ElementType::I64, &two),
    ];
    assert_eq!(infer_dims(&op, &inputs), "[2,?,?,?]");
}
