//! GatherND against a naive definition.

use proptest::prelude::*;

use super::*;
use crate::ops::testing::{assert_picked, counted, dynamic, index, infer_dims, run, shape};
use crate::tensor::ElementType;
use crate::tensor::convert::convert;

fn op(batch_dims: i64, old: bool) -> GatherND {
    GatherND { batch_dims, old }
}

fn gather(
    op: &GatherND,
    data: &[usize],
    indices: (&[usize], &[i32]),
) -> Result<(String, Vec<i32>), OpError> {
    let count = data.iter().product::<usize>() as i32;
    let values: Vec<i32> = (1..=count).collect();
    let data = Tensor::new(data, &values).expect("its length");
    let indices = Tensor::new(indices.0, indices.1).expect("its length");
    let out = run(op, &[data, indices])?;
    Ok((out.shape().to_string(), out.as_slice::<i32>()?.to_vec()))
}

#[test]
fn document_examples() {
    for old in [true, false] {
        let both = |batch_dims, data: &[usize], indices: (&[usize], &[i32])| {
            gather(&op(batch_dims, old), data, indices).expect("fits")
        };
        assert_eq!(
            both(0, &[2, 2], (&[2, 2], &[0, 0, 1, 0])),
            ("[2]".into(), vec![1, 3])
        );
        assert_eq!(
            both(0, &[2, 2], (&[2, 1], &[1, 0])),
            ("[2,2]".into(), vec![3, 4, 1, 2])
        );
        assert_eq!(
            both(0, &[2, 2], (&[2, 1, 1], &[1, 0])),
            ("[2,1,2]".into(), vec![3, 4, 1, 2])
        );
        assert_eq!(
            both(1, &[2, 2], (&[2, 1], &[1, 0])),
            ("[2]".into(), vec![2, 3])
        );
        let slices = vec![5, 6, 7, 8, 13, 14, 15, 16];
        assert_eq!(
            both(1, &[2, 3, 4], (&[2, 1], &[1, 0])),
            ("[2,4]".into(), slices)
        );
        let six = both(2, &[2, 3, 4], (&[2, 3, 1, 1], &[1, 0, 2, 0, 2, 2]));
        let dims = if old { "[6,1]" } else { "[2,3,1]" };
        assert_eq!(six, (dims.into(), vec![2, 5, 11, 13, 19, 23]));
        let four = both(3, &[1, 2, 2, 4], (&[1, 2, 2, 1], &[1, 0, 3, 2]));
        let dims = if old { "[4]" } else { "[1,2,2]" };
        assert_eq!(four, (dims.into(), vec![2, 5, 12, 15]));
    }
}

#[test]
fn batches_are_broadcast() {
    let out = gather(&op(1, false), &[2, 3], (&[1, 1], &[1])).expect("fits");
    assert_eq!(out, ("[2]".into(), vec![2, 5]));
    let out = gather(&op(2, false), &[2, 1, 3], (&[1, 2, 1, 1], &[1, 2])).expect("fits");
    assert_eq!(out, ("[2,2,1]".into(), vec![2, 3, 5, 6]));
    let out = gather(&op(2, true), &[2, 1, 3], (&[1, 2, 1, 1], &[1, 2])).expect("fits");
    assert_eq!(out, ("[4,1]".into(), vec![2, 3, 5, 6]));
    assert!(gather(&op(1, false), &[2, 3], (&[3, 1], &[0; 3])).is_err());
}

#[test]
fn no_indices_give_all_the_data() {
    let out = gather(&op(0, false), &[2, 2], (&[2, 0], &[])).expect("fits");
    assert_eq!(out, ("[2,2,2]".into(), vec![1, 2, 3, 4, 1, 2, 3, 4]));
    let out = gather(&op(1, false), &[2, 2], (&[2, 3, 0], &[])).expect("fits");
    assert_eq!(out.1, [1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4]);
}

#[test]
fn indices_out_of_range() {
    let new = op(0, false);
    let data = &[2, 3];
    assert_eq!(
        gather(&new, data, (&[1, 2], &[-1, -3])).expect("fits").1,
        [4]
    );
    for (op, indices, message) in [
        (
            &new,
            [0, 0, 1, 3],
            "index 3 at [1, 1] is out of range for axis 1 of size 3, expected -3..3",
        ),
        (
            &new,
            [0, -4, 5, 3],
            "index -4 at [0, 1] is out of range for axis 1 of size 3, expected -3..3",
        ),
        (
            &new,
            [0, 0, -3, 9],
            "index -3 at [1, 0] is out of range for axis 0 of size 2, expected -2..2",
        ),
        (
            &GatherND { old: true, ..new },
            [0, 0, -1, 0],
            "index -1 at [1, 0] is out of range for axis 0 of size 2, expected 0..2",
        ),
    ] {
        let error = gather(op, data, (&[2, 2], &indices)).expect_err(message);
        assert_eq!(error.message, message);
    }
    let batched = gather(&op(1, false), data, (&[2, 1], &[0, 3])).expect_err("out of range");
    assert_eq!(
        batched.message,
        "index 3 at [1, 0] is out of range for axis 1 of size 3, expected -3..3"
    );
    let large = Tensor::new([1, 1], &[u64::MAX]).expect("one");
    let error = run(&new, &[counted(ElementType::F32, &[4]), large]).expect_err("out of range");
    assert!(
        error
            .message
            .starts_with("index 18446744073709551615 at [0, 0]")
    );
}

#[test]
fn shapes() {
    let infer = |op: &GatherND, data: &str, indices: &str| {
        let (data, indices) = (shape(data), shape(indices));
        let inputs = [
            Input::new(ElementType::F32, &data),
            Input::new(ElementType::I64, &indices),
        ];
        op.infer(&inputs).map(|o| o[0].shape.to_string())
    };
    let ok = |text: &str| Ok(text.to_owned());
    let (none, two, old) = (op(0, false), op(2, false), op(2, true));
    assert_eq!(
        infer(&none, "1000,256,10,15", "25,125,3"),
        ok("[25,125,15]")
    );
    assert_eq!(infer(&two, "30,2,100,35", "30,2,3,1"), ok("[30,2,3,35]"));
    assert_eq!(infer(&old, "30,2,100,35", "30,2,3,1"), ok("[60,3,35]"));
    assert_eq!(
        infer(&op(3, false), "1,64,64,320", "1,64,64,1,1"),
        ok("[1,64,64,1]")
    );
    assert_eq!(
        infer(&two, "?,2..5,7,8", "4,?,1..2,1"),
        ok("[4,2..5,1..2,8]")
    );
    assert_eq!(infer(&two, "?,2..5,7,8", "4,3,1..2,1"), ok("[4,3,1..2,8]"));
    assert_eq!(infer(&old, "?,2..5,7,8", "4,3,1..2,1"), ok("[12,1..2,8]"));
    assert_eq!(infer(&none, "4,5", "2,?"), ok("[...]"));
    assert_eq!(infer(&none, "...", "2,1"), ok("[...]"));
    for (op, data, indices) in [
        (&none, "4", "2,2"),
        (&two, "4,4,4", "4,4,2"),
        (&two, "4,4", "4,4,1"),
        (&two, "4,4,4", "4,1"),
        (&two, "...", "4,1"),
        (&op(-1, false), "4", "4"),
        (&none, "", "1"),
        (&none, "3", ""),
    ] {
        assert!(infer(op, data, indices).is_err(), "{data} {indices}");
    }
    let (data, indices) = (shape("4"), shape("1"));
    let inputs = [
        Input::new(ElementType::F32, &data),
        Input::new(ElementType::F32, &indices),
    ];
    assert!(none.infer(&inputs).is_err());
    let inputs = [
        Input::new(ElementType::F32, &data),
        Input::new(ElementType::U8, &indices),
    ];
    assert_eq!(infer_dims(&none, &inputs), "[]");
}

proptest! {
    #[test]
    fn like_its_definition(
        batch in prop::collection::vec(1usize..3, 0..3),
        places in prop::collection::vec(0usize..4, 0..3),
        sizes in prop::collection::vec(1usize..4, 0..4),
        slice in prop::collection::vec(0usize..4, 0..3),
        seed in any::<u64>(),
        old in any::<bool>(),
        ty in prop::sample::select(ElementType::ALL.to_vec()),
        mask in any::<u32>(),
        signed in prop::sample::select(vec![ElementType::I16, ElementType::I32, ElementType::I64]),
    ) {
        let data = [&batch[..], &sizes, &slice].concat();
        prop_assume!(batch.len() < data.len());
        let indices = [&batch[..], &places, &[sizes.len()]].concat();
        let count: usize = indices.iter().product();
        let values: Vec<i16> = (0..count)
            .map(|i| {
                let size = sizes[i % sizes.len()] as i16;
                let value = (seed.rotate_left(i as u32 * 11) % (2 * size as u64)) as i16 - size;
                if old { value.rem_euclid(size) } else { value }
            })
            .collect();
        let op = op(batch.len() as i64, old);
        let indices_tensor = Tensor::new(indices.as_slice(), &values).expect("its length");
        let indices_tensor = convert(&indices_tensor, signed).expect("integers");
        let inputs = [counted(ty, &data), indices_tensor];
        let out = run(&op, &inputs).expect("fits");
        let full: Shape = [&batch[..], &places, &slice].concat().into();
        let dims = if old && batch.len() > 1 {
            [&[batch.iter().product()], &places[..], &slice].concat()
        } else {
            full.to_vec()
        };
        prop_assert_eq!(&out.shape()[..], &dims[..]);
        let (strides, index_strides) = (inputs[0].shape().strides(), inputs[1].shape().strides());
        let lead = batch.len() + places.len();
        let source: Vec<usize> = index(&full)
            .map(|at| {
                let first: usize = at[..lead].iter().zip(&index_strides).map(|(i, s)| i * s).sum();
                let tuple = sizes.iter().enumerate().map(|(k, &size)| {
                    usize::try_from(values[first + k].rem_euclid(size as i16)).expect("small")
                });
                let place = at[..batch.len()].iter().copied().chain(tuple).chain(at[lead..].iter().copied());
                place.zip(&strides).map(|(i, s)| i * s).sum()
            })
            .collect();
        assert_picked(&inputs[0], &source, &out);
        prop_assert!(dynamic(&op, &inputs, mask).contains(out.shape()));
    }
}

/// Large enough to be written in pieces.
#[test]
fn large() {
    for (dims, count, inner) in [([700usize, 30], 200_000usize, 1usize), ([70, 30], 3000, 60)] {
        let len = dims[0] * dims[1] * inner;
        let data: Vec<u32> = (0..len as u32).collect();
        let data = Tensor::new([dims[0], dims[1], inner], &data).expect("its length");
        let values: Vec<i64> = (0..count)
            .flat_map(|i| [(i * 7 % dims[0]) as i64, -((i % dims[1]) as i64) - 1])
            .collect();
        let indices = Tensor::new([count, 2], &values).expect("its length");
        let out = run(&op(0, false), &[data, indices]).expect("fits");
        let expected = (0..count).flat_map(|i| {
            let place = i * 7 % dims[0] * dims[1] + dims[1] - 1 - i % dims[1];
            (place * inner..(place + 1) * inner).map(|x| x as u32)
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

/// A tuple may have more indices than are decoded at a time.
#[test]
fn many_axes() {
    let mut dims = vec![1usize; 1100];
    dims[3] = 2;
    dims[1099] = 3;
    let data = Tensor::new(dims.as_slice(), &[1u8, 2, 3, 4, 5, 6]).expect("six");
    let mut values = vec![0i64; 1100];
    values[3] = 1;
    values[1099] = -2;
    let indices = Tensor::vector(&values);
    let out = run(&op(0, false), &[data.clone(), indices]).expect("fits");
    assert_eq!(out.as_slice::<u8>().expect("u8"), [5]);
    values[1098] = 1;
    let error = run(&op(0, false), &[data, Tensor::vector(&values)]).expect_err("out of range");
    assert!(
        error
            .message
            .starts_with("index 1 at [1098] is out of range for axis 1098")
    );
}
