//! ScatterNDUpdate against a naive definition.

use proptest::prelude::*;

use super::*;
use crate::ops::testing::{counted, dynamic, elements, index, infer_dims, run, shape};
use crate::tensor::{Element, ElementType, Tensor};

fn op(reduction: Reduction) -> ScatterNDUpdate {
    ScatterNDUpdate {
        reduction,
        from_end: true,
    }
}

/// Scatters single elements into a line.
fn line<T: Element>(reduction: Reduction, data: &[T], indices: &[i32], updates: &[T]) -> Vec<T> {
    let inputs = [
        Tensor::vector(data),
        Tensor::new([indices.len(), 1], indices).expect("its length"),
        Tensor::vector(updates),
    ];
    let out = run(&op(reduction), &inputs).expect("fits");
    out.as_slice::<T>().expect("its type").to_vec()
}

#[test]
fn document_examples() {
    let eight = [1i64, 2, 3, 4, 5, 6, 7, 8];
    let out = line(Reduction::None, &eight, &[4, 3, 1, 7], &[9, 10, 11, 12]);
    assert_eq!(out, [1, 11, 3, 10, 9, 6, 7, 12]);
    let out = line(
        Reduction::None,
        &eight,
        &[4, 3, 1, 7, -2, -4],
        &[9, 10, 11, 12, 13, 14],
    );
    assert_eq!(out, [1, 11, 3, 10, 14, 6, 13, 12]);
    let data = Tensor::new([4, 2, 2], &[0u8; 16]).expect("sixteen");
    let indices = Tensor::new([2, 1], &[0i64, 2]).expect("two");
    let updates = Tensor::new([2, 2, 2], &[5u8, 6, 7, 8, 1, 2, 3, 4]).expect("eight");
    let out = run(&op(Reduction::None), &[data, indices, updates]).expect("fits");
    assert_eq!(
        out.as_slice::<u8>().expect("u8"),
        [5, 6, 7, 8, 0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0]
    );
    let (indices, updates) = ([0, 2, -3, -3, 0], [10., 20., 30., 40., 50.]);
    for (reduction, expected) in [
        (Reduction::None, [50f32, 40., 20., 4.]),
        (Reduction::Sum, [61., 72., 23., 4.]),
        (Reduction::Sub, [-59., -68., -17., 4.]),
        (Reduction::Prod, [500., 2400., 60., 4.]),
        (Reduction::Min, [1., 2., 3., 4.]),
        (Reduction::Max, [50., 40., 20., 4.]),
    ] {
        assert_eq!(
            line(reduction, &[1., 2., 3., 4.], &indices, &updates),
            expected
        );
    }
}

#[test]
fn booleans() {
    let data = [true, true, false, false, true, false];
    let (indices, updates) = ([0, 1, 1, 2, 2, 3], [true, true, true, true, true, false]);
    let reduce = |reduction| line(reduction, &data, &indices, &updates);
    let or = [true, true, true, false, true, false];
    let and = [true, true, false, false, true, false];
    assert_eq!(reduce(Reduction::Sum), or);
    assert_eq!(reduce(Reduction::Max), or);
    assert_eq!(reduce(Reduction::Prod), and);
    assert_eq!(reduce(Reduction::Min), and);
    assert_eq!(
        reduce(Reduction::Sub),
        [false, true, false, false, true, false]
    );
}

#[test]
fn exact_integers_and_not_a_number() {
    assert_eq!(line(Reduction::Sub, &[3u8], &[0, 0], &[2, 2]), [255]);
    assert_eq!(line(Reduction::Sum, &[i64::MAX], &[0], &[1]), [i64::MIN]);
    let large = [u64::MAX, 1];
    assert_eq!(
        line(Reduction::Max, &large, &[0, 1], &[1, u64::MAX]),
        [u64::MAX; 2]
    );
    let out = line(Reduction::Min, &[f32::NAN, 1.], &[0, 1], &[1., f32::NAN]);
    assert!(out[0].is_nan() && out[1] == 1.);
}

#[test]
fn one_update_needs_no_shape() {
    for shape in [&[][..], &[1], &[1, 1]] {
        let updates = Tensor::new(shape, &[7i32]).expect("one");
        let inputs = [
            Tensor::new([2, 2], &[1i32, 2, 3, 4]).expect("four"),
            Tensor::vector(&[1i64, -2]),
            updates,
        ];
        let out = run(&op(Reduction::None), &inputs).expect("fits");
        assert_eq!(out.as_slice::<i32>().expect("i32"), [1, 2, 7, 4]);
    }
}

#[test]
fn mistakes() {
    let i32 = |dims: &[usize]| counted(ElementType::I32, dims);
    let indices = |dims: &[usize], values: &[i64]| Tensor::new(dims, values).expect("its length");
    let old = ScatterNDUpdate::version_4();
    for (op, inputs, message) in [
        (
            &op(Reduction::None),
            [i32(&[2, 3]), indices(&[2, 2], &[0, 1, 1, 3]), i32(&[2])],
            "index 3 at [1, 1] is out of range for axis 1 of size 3, expected -3..3",
        ),
        (
            &old,
            [i32(&[2, 3]), indices(&[2, 2], &[0, 1, -1, 2]), i32(&[2])],
            "index -1 at [1, 0] is out of range for axis 0 of size 2, expected 0..2",
        ),
        (
            &old,
            [i32(&[2, 3]), indices(&[2, 1], &[0, 1]), i32(&[2])],
            "updates have shape [2], expected [2,3]",
        ),
        (
            &old,
            [i32(&[2]), indices(&[2, 2], &[0; 4]), i32(&[2])],
            "tuples of 2 indices are for more axes than the 1 of data",
        ),
        (
            &old,
            [i32(&[]), indices(&[0], &[]), i32(&[])],
            "the data is a scalar",
        ),
        (
            &old,
            [i32(&[2]), indices(&[], &[0]), i32(&[])],
            "indices are a scalar",
        ),
        (
            &old,
            [
                i32(&[2]),
                indices(&[1], &[0]),
                counted(ElementType::I64, &[]),
            ],
            "input 1 has elements of i64",
        ),
        (
            &op(Reduction::Sum),
            [
                counted(ElementType::String, &[2]),
                indices(&[1], &[0]),
                counted(ElementType::String, &[]),
            ],
            "elements of string cannot be reduced",
        ),
    ] {
        let error = run(op, &inputs).expect_err(message).message;
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn shapes() {
    let infer = |data: &str, indices: &str, updates: &str| {
        let shapes = [data, indices, updates].map(shape);
        let [data, indices, updates] = &shapes;
        let inputs = [
            Input::new(ElementType::F32, data),
            Input::new(ElementType::I32, indices),
            Input::new(ElementType::Dynamic, updates),
        ];
        infer_dims(&op(Reduction::Sum), &inputs)
    };
    assert_eq!(
        infer("1000,256,10,15", "25,125,3", "25,125,15"),
        "[1000,256,10,15]"
    );
    assert_eq!(infer("?,3", "?,1", "..."), "[?,3]");
    assert_eq!(infer("?,3", "?,?", "7"), "[?,3]");
    assert_eq!(infer("...", "4,1", "4"), "[...]");
}

proptest! {
    #[test]
    fn overwriting_like_its_definition(
        sizes in prop::collection::vec(1usize..4, 0..3),
        slice in prop::collection::vec(0usize..4, 0..3),
        places in prop::collection::vec(0usize..4, 0..3),
        seed in any::<u64>(),
        ty in prop::sample::select(ElementType::ALL.to_vec()),
        mask in any::<u32>(),
    ) {
        let dims = [&sizes[..], &slice].concat();
        prop_assume!(!dims.is_empty());
        let tuples = [&places[..], &[sizes.len()]].concat();
        let count: usize = tuples.iter().product();
        let values: Vec<i8> = (0..count)
            .map(|i| {
                let size = sizes[i % sizes.len()] as i8;
                (seed.rotate_left(i as u32 * 11) % (2 * size as u64)) as i8 - size
            })
            .collect();
        let inputs = [
            counted(ty, &dims),
            Tensor::new(tuples.as_slice(), &values).expect("its length"),
            counted(ty, &[&places[..], &slice].concat()),
        ];
        let op = op(Reduction::None);
        let out = run(&op, &inputs).expect("fits");
        let mut expected = elements(&inputs[0]);
        let (strides, index_strides) = (inputs[0].shape().strides(), inputs[1].shape().strides());
        for (at, update) in index(inputs[2].shape()).zip(elements(&inputs[2])) {
            let (of_tuple, rest) = at.split_at(places.len());
            let first: usize = of_tuple.iter().zip(&index_strides).map(|(i, s)| i * s).sum();
            let tuple = sizes.iter().enumerate().map(|(k, &size)| {
                usize::try_from(values[first + k].rem_euclid(size as i8)).expect("small")
            });
            let place: usize = tuple.chain(rest.iter().copied()).zip(&strides).map(|(i, s)| i * s).sum();
            expected[place] = update;
        }
        prop_assert_eq!(elements(&out), expected);
        prop_assert!(dynamic(&op, &inputs, mask).contains(out.shape()));
    }

    #[test]
    fn reducing_like_its_definition(
        rows in 1usize..4,
        slice in prop::sample::select(vec![1usize, 3, 700]),
        indices in prop::collection::vec(0i32..64, 0..7),
        reduction in prop::sample::select(vec![
            Reduction::Sum, Reduction::Sub, Reduction::Prod, Reduction::Min, Reduction::Max,
        ]),
        seed in any::<u64>(),
    ) {
        let indices: Vec<i32> = indices.iter().map(|i| i % rows as i32).collect();
        let value = |i: usize| (seed.rotate_left(i as u32 * 3) % 11) as i32 - 5;
        let data: Vec<i32> = (0..rows * slice).map(value).collect();
        let updates: Vec<i32> = (0..indices.len() * slice).map(|i| value(i + 5)).collect();
        let mut expected = data.clone();
        for (i, &update) in updates.iter().enumerate() {
            let out = &mut expected[indices[i / slice] as usize * slice + i % slice];
            *out = match reduction {
                Reduction::None => update,
                Reduction::Sum => *out + update,
                Reduction::Sub => *out - update,
                Reduction::Prod => out.wrapping_mul(update),
                Reduction::Min => update.min(*out),
                Reduction::Max => update.max(*out),
            };
        }
        let inputs = [
            Tensor::new([rows, slice], &data).expect("its length"),
            Tensor::new([indices.len(), 1], &indices).expect("its length"),
            Tensor::new([indices.len(), slice], &updates).expect("its length"),
        ];
        let out = run(&op(reduction), &inputs).expect("fits");
        prop_assert_eq!(out.as_slice::<i32>().expect("i32"), &expected);
    }
}
