//! Gather against a naive definition.

use proptest::prelude::*;

use super::*;
use crate::ops::testing::{assert_picked, counted, dynamic, index, infer_dims, run, shape};
use crate::tensor::convert::convert;
use crate::tensor::{ElementType, Tensor};

fn gather_8(batch_dims: i64) -> Gather {
    Gather {
        batch_dims,
        ..Gather::default()
    }
}

fn gather(data: &Tensor, indices: &Tensor, axis: i64, batch_dims: i64) -> Tensor {
    let inputs = [data.clone(), indices.clone(), Tensor::scalar(axis)];
    run(&gather_8(batch_dims), &inputs).expect("fits")
}

fn ints(tensor: &Tensor) -> &[i32] {
    tensor.as_slice().expect("i32")
}

#[test]
fn document_examples() {
    let five = Tensor::vector(&[1i32, 2, 3, 4, 5]);
    let pick = |indices: &[i64]| ints(&gather(&five, &Tensor::vector(indices), 0, 0)).to_vec();
    assert_eq!(pick(&[0, 0, 4]), [1, 1, 5]);
    assert_eq!(pick(&[0, -2, -1]), [1, 4, 5]);
    assert_eq!(pick(&[3, 10, -20]), [4, 0, 0]);

    let count = |dims: &[usize]| {
        let data: Vec<i32> = (1..=dims.iter().product::<usize>() as i32).collect();
        Tensor::new(dims, &data).expect("its length")
    };
    let data = count(&[2, 5]);
    let indices = Tensor::new([2, 3], &[0i32, 0, 4, 4, 0, 0]).expect("six");
    for batch_dims in [1, -1] {
        let out = gather(&data, &indices, 1, batch_dims);
        assert_eq!(out.shape().to_string(), "[2,3]");
        assert_eq!(ints(&out), [1, 1, 5, 10, 6, 6]);
    }
    let indices = [0i64, 0, 4, 4, 0, 0, 1, 2, 4, 4, 3, 2];
    let indices = Tensor::new([2, 2, 3], &indices).expect("twelve");
    let out = gather(&count(&[2, 2, 5]), &indices, 2, 2);
    assert_eq!(ints(&out), [1, 1, 5, 10, 6, 6, 12, 13, 15, 20, 19, 18]);
    let indices = Tensor::new([2, 3], &[1i64, 2, 4, 4, 3, 2]).expect("six");
    let out = gather(&count(&[2, 1, 5, 4]), &indices, 2, 1);
    assert_eq!(out.shape().to_string(), "[2,1,3,4]");
    let rows = [5, 9, 17, 37, 33, 29];
    let expected: Vec<i32> = rows.iter().flat_map(|&r| r..r + 4).collect();
    assert_eq!(ints(&out), expected);
}

#[test]
fn older_versions_do_not_count_from_the_end() {
    let five = Tensor::vector(&[1i32, 2, 3, 4, 5]);
    let indices = Tensor::vector(&[3i64, 10, -20, -1, 4]);
    let inputs = [five, indices, Tensor::vector(&[-1i8])];
    let out = run(&Gather::version_1(), &inputs).expect("fits");
    assert_eq!(ints(&out), [4, 0, 0, 0, 5]);
}

#[test]
fn index_types() {
    let data = Tensor::vector(&[10i32, 20, 30]);
    let pick = |indices: Tensor| ints(&gather(&data, &indices, 0, 0)).to_vec();
    let big = 1u64 << 63;
    assert_eq!(pick(Tensor::vector(&[2, big, u64::MAX, 0])), [30, 0, 0, 10]);
    let extremes = [i64::MIN, i64::MAX, -3, -4, 3];
    assert_eq!(pick(Tensor::vector(&extremes)), [0, 0, 10, 0, 0]);
    assert_eq!(pick(Tensor::vector(&[-1i8, -128])), [30, 0]);
    assert_eq!(pick(Tensor::vector(&[255u8, 1])), [0, 20]);
    assert_eq!(pick(Tensor::vector(&[u32::MAX, 1])), [0, 20]);
    let scalar = gather(&data, &Tensor::scalar(-1i16), 0, 0);
    assert_eq!((scalar.shape().rank(), ints(&scalar)), (0, &[30][..]));
    let floats = [data.clone(), Tensor::scalar(1f32), Tensor::scalar(0i64)];
    assert!(run(&Gather::default(), &floats).is_err());
}

#[test]
fn mistakes() {
    let f32 = ElementType::F32;
    for (data, indices, axis, batch_dims) in [
        (&[2usize, 5][..], &[2usize, 3][..], 2i64, 0i64),
        (&[2, 5], &[2, 3], -3, 0),
        (&[2, 5], &[2, 3], 0, 1),
        (&[2, 5], &[4, 3], 1, 1),
        (&[2, 5], &[2, 3], 1, 3),
        (&[2, 5], &[2, 3], 1, -3),
        (&[2, 5], &[2, 3], 1, i64::MIN),
        (&[], &[1], 0, 0),
    ] {
        let indices = Tensor::zeros(ElementType::I64, indices).expect("small");
        let inputs = [counted(f32, data), indices, Tensor::scalar(axis)];
        assert!(
            run(&gather_8(batch_dims), &inputs).is_err(),
            "{data:?} {axis} {batch_dims}"
        );
    }
    let axes = Tensor::vector(&[0i64, 1]);
    let inputs = [counted(f32, &[2]), Tensor::scalar(0i64), axes];
    assert!(run(&Gather::default(), &inputs).is_err());
}

#[test]
fn what_is_known_without_the_axis() {
    let (data, indices, one) = (shape("2..4,5,?"), shape("3,7"), shape("1"));
    let i64 = ElementType::I64;
    let inputs = |batch: bool| {
        let data = Input::new(ElementType::F32, &data);
        let indices = Input::new(i64, &indices);
        (
            gather_8(batch.into()),
            [data, indices, Input::new(i64, &one)],
        )
    };
    let (op, input) = inputs(false);
    assert_eq!(infer_dims(&op, &input), "[2..4,3..7,3..7,?]");
    let (op, input) = inputs(true);
    assert_eq!(infer_dims(&op, &input), "[3,5..7,?]");
}

proptest! {
    #[test]
    fn like_its_definition(
        (data, indices, axis, batch) in (0usize..3, 0usize..3, 0usize..3, 0usize..3).prop_flat_map(
            |(batch, outer, inner, more)| {
                let dims = |n| prop::collection::vec(0usize..4, n);
                (dims(batch), dims(outer), 0usize..6, dims(inner), dims(more)).prop_map(
                    |(batch, outer, axis, inner, more)| {
                        let at = batch.len() + outer.len();
                        let data = [&batch[..], &outer, &[axis], &inner].concat();
                        ([&batch[..], &more].concat(), data, at, batch.len())
                    },
                ).prop_map(|(indices, data, at, batch)| (data, indices, at, batch))
            },
        ),
        values in prop::collection::vec(-8i64..8, 81),
        ty in prop::sample::select(ElementType::ALL.to_vec()),
        negative in any::<(bool, bool)>(),
        mask in any::<u32>(),
    ) {
        let rank = data.len();
        let count: usize = indices.iter().product();
        prop_assume!(count <= values.len() && data.iter().product::<usize>() < 3000);
        let index_tensor = Tensor::new(indices.as_slice(), &values[..count]).expect("its length");
        let given = if negative.0 { axis as i64 - rank as i64 } else { axis as i64 };
        // A batch of all the indices' dimensions has no negative name.
        let batch_dims = if negative.1 && batch < indices.len() {
            batch as i64 - indices.len() as i64
        } else {
            batch as i64
        };
        prop_assume!(batch_dims.unsigned_abs() as usize <= rank);
        let op = gather_8(batch_dims);
        let inputs = [counted(ty, &data), index_tensor, Tensor::scalar(given)];
        let out = run(&op, &inputs).expect("fits");
        let more = indices.len() - batch;
        let (strides, index_strides) = (inputs[0].shape().strides(), inputs[1].shape().strides());
        let source: Vec<usize> = index(out.shape())
            .map(|at| {
                let of_index = [&at[..batch], &at[axis..axis + more]].concat();
                let place: usize = of_index.iter().zip(&index_strides).map(|(i, s)| i * s).sum();
                let size = data[axis] as i64;
                let value = values[place];
                let value = if value < 0 { value + size } else { value };
                if !(0..size).contains(&value) {
                    return usize::MAX;
                }
                let of_data = [&at[..axis], &[value as usize], &at[axis + more..]].concat();
                of_data.iter().zip(&strides).map(|(i, s)| i * s).sum()
            })
            .collect();
        assert_picked(&inputs[0], &source, &out);
        prop_assert!(dynamic(&op, &inputs, mask).contains(out.shape()));
    }
}

/// Large enough to be written in pieces.
#[test]
fn large() {
    for (outer, axis, inner, count) in [
        (1, 100, 300, 900),
        (1, 1000, 1, 200_000),
        (3, 50, 1, 90_000),
        (70, 20, 40, 60),
    ] {
        let data: Vec<u32> = (0..outer * axis * inner).collect();
        let dims = [outer, axis, inner].map(|n| n as usize);
        let data = Tensor::new(dims, &data).expect("its length");
        let indices: Vec<i32> = (0..count).map(|i| i * 37 % (axis as i32 + 3) - 2).collect();
        let out = gather(&data, &Tensor::vector(&indices), 1, 0);
        let expected = (0..outer).flat_map(|o| {
            let axis = axis as i32;
            indices.iter().flat_map(move |&i| {
                let i = if i < 0 { i + axis } else { i };
                (0..inner).map(move |k| {
                    if i < axis {
                        (o * axis as u32 + i as u32) * inner + k
                    } else {
                        0
                    }
                })
            })
        });
        assert!(
            out.as_slice::<u32>()
                .expect("u32")
                .iter()
                .copied()
                .eq(expected)
        );
    }
}

/// Elements that share bytes, whether an index means whole bytes or not.
#[test]
fn elements_smaller_than_a_byte() {
    use ElementType::{I4, U1, U2, U3, U4, U6};
    let indices = Tensor::new([2, 2], &[3i32, -1, 7, 0]).expect("four");
    for ty in [U1, U2, U3, U4, U6, I4] {
        for width in 1..=9 {
            let codes: Vec<u8> = (0..2 * 5 * width).map(|i| (i * i % 7 % 2) as u8).collect();
            let bytes = Tensor::new([2, 5, width], &codes).expect("its length");
            let packed = convert(&bytes, ty).expect("memory");
            for (axis, batch_dims) in [(1, 0), (1, 1), (0, 0), (2, 0)] {
                let expected = gather(&bytes, &indices, axis, batch_dims);
                let found = gather(&packed, &indices, axis, batch_dims);
                let found = convert(&found, ElementType::U8).expect("memory");
                assert!(found == expected, "{ty} {width} {axis} {batch_dims}");
            }
        }
    }
}
