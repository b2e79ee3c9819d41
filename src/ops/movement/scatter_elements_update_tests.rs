//! ScatterElementsUpdate against a naive definition.

use proptest::prelude::*;

use super::*;
use crate::ops::testing::{assert_picked, counted, dynamic, index, run};
use crate::tensor::Tensor;

#[path = "scatter_elements_update_threads_tests.rs"]
mod threads;

fn scatter(
    reduction: Reduction,
    use_init_val: bool,
    data: Tensor,
    indices: Tensor,
    updates: Tensor,
    axis: i64,
) -> Result<Tensor, OpError> {
    let op = ScatterElementsUpdate {
        reduction,
        use_init_val,
        from_end: true,
    };
    run(&op, &[data, indices, updates, Tensor::vector(&[axis])])
}

fn line(
    reduction: Reduction,
    init: bool,
    data: &[i32],
    indices: &[i64],
    updates: &[i32],
) -> Vec<i32> {
    let [data, updates] = [data, updates].map(Tensor::vector);
    let out = scatter(reduction, init, data, Tensor::vector(indices), updates, 0).expect("fits");
    out.as_slice::<i32>().expect("i32").to_vec()
}

#[test]
fn document_examples() {
    let updates = [10i32, 20, 30, 40, 70, 60];
    let data = [2, 3, 4, 6];
    let sum = line(Reduction::Sum, true, &data, &[1, 0, 0, -2, -1, 2], &updates);
    assert_eq!(sum, [52, 13, 104, 76]);
    let sum = line(Reduction::Sum, false, &data, &[1, 0, 0, 2, 3, 2], &updates);
    assert_eq!(sum, [50, 10, 100, 70]);
    let (f32, i32) = (ElementType::F32, ElementType::I32);
    for (reduction, fill, indices, expected) in [
        (
            Reduction::None,
            0,
            [1, 2, 0, 3],
            [0, 11, 12, 0, 13, 0, 0, 14],
        ),
        (Reduction::Sum, 1, [1, 1, 0, 3], [1, 24, 1, 1, 14, 1, 1, 15]),
        (
            Reduction::Prod,
            2,
            [1, 1, 0, 3],
            [2, 264, 2, 2, 26, 2, 2, 28],
        ),
    ] {
        let data = Tensor::new([3, 4], &[fill; 12]).expect("twelve");
        let indices = Tensor::new([2, 2], &indices).expect("four");
        let updates = Tensor::new([2, 2], &[11i32, 12, 13, 14]).expect("four");
        let out = scatter(reduction, true, data, indices, updates, 1).expect("fits");
        let got = out.as_slice::<i32>().expect("i32");
        assert_eq!((&got[..8], &got[8..]), (&expected[..], &[fill; 4][..]));
    }
    let zeros = |ty, dims: &[usize]| Tensor::zeros(ty, dims).expect("memory");
    let small = &[125, 20, 7, 6];
    let data = zeros(f32, &[1000, 256, 7, 7]);
    let out = scatter(
        Reduction::None,
        true,
        data.clone(),
        zeros(i32, small),
        zeros(f32, small),
        0,
    );
    assert_eq!(out.expect("fits"), data);
}

#[test]
fn reductions() {
    let indices = &[0, 0, 1, -1];
    let cases = [
        (Reduction::Min, true, [-7, 1, 9, 4]),
        (Reduction::Min, false, [-7, 8, 9, 4]),
        (Reduction::Max, true, [5, 8, 9, 5]),
        (Reduction::Max, false, [3, 8, 9, 4]),
        (Reduction::Mean, true, [0, 4, 9, 4]),
        (Reduction::Mean, false, [-2, 8, 9, 4]),
        (Reduction::Prod, false, [-21, 8, 9, 4]),
        (Reduction::None, false, [-7, 8, 9, 4]),
    ];
    for (reduction, init, expected) in cases {
        let got = line(reduction, init, &[5, 1, 9, 5], indices, &[3, -7, 8, 4]);
        assert_eq!(got, expected, "{reduction:?} {init}");
    }
}

#[test]
fn exact_integers_and_wrapping() {
    let wrapped = |reduction| {
        let [data, updates] = [&[200u8], &[100u8]].map(|x| Tensor::vector(x));
        let out =
            scatter(reduction, true, data, Tensor::vector(&[0u64]), updates, 0).expect("fits");
        out.as_slice::<u8>().expect("u8")[0]
    };
    assert_eq!(wrapped(Reduction::Sum), 44);
    assert_eq!(wrapped(Reduction::Prod), 32);
    assert_eq!(wrapped(Reduction::Mean), 150);
    let mean = |data: Tensor, updates: Tensor| {
        scatter(
            Reduction::Mean,
            true,
            data,
            Tensor::vector(&[0i64, 0]),
            updates,
            0,
        )
        .expect("fits")
    };
    let out = mean(
        Tensor::vector(&[i64::MIN]),
        Tensor::vector(&[i64::MIN, i64::MIN + 2]),
    );
    assert_eq!(out, Tensor::vector(&[i64::MIN]));
    let out = mean(
        Tensor::vector(&[u64::MAX]),
        Tensor::vector(&[u64::MAX - 1, u64::MAX]),
    );
    assert_eq!(out, Tensor::vector(&[u64::MAX - 1]));
}

#[test]
fn booleans() {
    let run = |reduction, init| {
        let data = Tensor::vector(&[true, false, true, false]);
        let updates = Tensor::vector(&[false, true, false, true, true]);
        let indices = Tensor::vector(&[0i32, 0, 2, 3, 3]);
        scatter(reduction, init, data, indices, updates, 0)
            .map(|out| out.as_slice::<bool>().expect("bool").to_vec())
    };
    assert_eq!(run(Reduction::Sum, true), Ok(vec![true, false, true, true]));
    assert_eq!(
        run(Reduction::Sum, false),
        Ok(vec![true, false, false, true])
    );
    assert_eq!(run(Reduction::Prod, true), Ok(vec![false; 4]));
    assert_eq!(
        run(Reduction::Prod, false),
        Ok(vec![false, false, false, true])
    );
    assert_eq!(run(Reduction::Min, true), run(Reduction::Prod, true));
    assert_eq!(run(Reduction::Max, false), run(Reduction::Sum, false));
    let error = run(Reduction::Mean, true).expect_err("no mean");
    assert_eq!(error.message, "reduction mean is not defined for boolean");
}

#[test]
fn floats() {
    let floats = |reduction, init, data: &[f32], indices: &[i64], updates: &[f32]| {
        let [data, updates] = [data, updates].map(Tensor::vector);
        let out =
            scatter(reduction, init, data, Tensor::vector(indices), updates, 0).expect("fits");
        out.as_slice::<f32>().expect("f32").to_vec()
    };
    // The neutral elements are infinities: they never show where there is an update.
    let inf = f32::INFINITY;
    assert_eq!(
        floats(Reduction::Min, false, &[1.0, 2.0], &[0], &[inf]),
        [inf, 2.0]
    );
    assert_eq!(
        floats(Reduction::Max, false, &[1.0, 2.0], &[0], &[-inf]),
        [-inf, 2.0]
    );
    assert!(floats(Reduction::Max, true, &[1.0], &[0], &[f32::NAN])[0].is_nan());
    assert_eq!(
        floats(Reduction::Mean, true, &[1.0, 2.0], &[0, 0], &[2.0, 4.5]),
        [2.5, 2.0]
    );
}

#[test]
fn half_floats_round_once() {
    let f16 = half::f16::from_f32;
    let data = Tensor::vector(&[f16(2048.0), f16(1.0)]);
    let updates = Tensor::vector(&[f16(1.0); 4]);
    let out = scatter(
        Reduction::Sum,
        true,
        data,
        Tensor::vector(&[0u8; 4]),
        updates,
        0,
    );
    assert_eq!(out.expect("fits"), Tensor::vector(&[f16(2052.0), f16(1.0)]));
}

#[test]
fn indices_out_of_range() {
    let attempt = |indices: Tensor| {
        let data = Tensor::new([2, 3], &[0i32; 6]).expect("six");
        let updates = Tensor::zeros(ElementType::I32, indices.shape().clone()).expect("small");
        scatter(Reduction::None, true, data, indices, updates, 1)
            .expect_err("out of range")
            .message
    };
    let at = |values: &[i64; 4]| Tensor::new([2, 2], values).expect("four");
    assert_eq!(
        attempt(at(&[0, 1, 2, 3])),
        "index 3 at [1, 1] is out of range for axis 1 of size 3, expected -3..3"
    );
    assert!(attempt(at(&[0, -4, 9, 3])).starts_with("index -4 at [0, 1] "));
    let huge = Tensor::new([1, 1], &[u64::MAX]).expect("one");
    assert!(attempt(huge).starts_with("index 18446744073709551615 at [0, 0]"));
    let data = Tensor::vector(&[1i32, 2]);
    let inputs = [
        data.clone(),
        Tensor::vector(&[-1i64]),
        Tensor::vector(&[9i32]),
        Tensor::scalar(0i64),
    ];
    let error = run(&ScatterElementsUpdate::version_3(), &inputs).expect_err("negative");
    assert!(error.message.ends_with("size 2, expected 0..2"), "{error}");
    let empty = Tensor::vector::<i32>(&[]);
    let one = Tensor::vector(&[1i32]);
    let error = scatter(
        Reduction::None,
        true,
        empty,
        Tensor::vector(&[0i64]),
        one,
        0,
    );
    assert!(error.is_err());
}

#[test]
fn shapes_that_do_not_fit() {
    for (data, indices, updates, axis) in [
        (&[3usize, 4][..], &[2usize, 2][..], &[2usize, 3][..], 0i64),
        (&[3, 4], &[2], &[2], 0),
        (&[3, 4], &[4, 2], &[4, 2], 1),
        (&[3, 4], &[2, 2], &[2, 2], 2),
        (&[], &[], &[], 0),
    ] {
        let zeros = |ty, dims: &[usize]| Tensor::zeros(ty, dims).expect("small");
        let (i32, f32) = (ElementType::I32, ElementType::F32);
        let out = scatter(
            Reduction::None,
            true,
            zeros(f32, data),
            zeros(i32, indices),
            zeros(f32, updates),
            axis,
        );
        assert!(out.is_err(), "{data:?} {indices:?} {updates:?} {axis}");
    }
}

#[test]
fn empty_tensors_of_huge_dimensions() {
    let huge = usize::MAX / 2 - 1;
    let zeros = |ty, dims: &[usize]| Tensor::zeros(ty, dims).expect("no elements");
    let (i64, f32) = (ElementType::I64, ElementType::F32);
    for (data, indices) in [(&[0, huge, huge], &[0, 3, 3]), (&[2, 3, 3], &[0, huge, 3])] {
        let data = zeros(f32, data);
        for reduction in [Reduction::None, Reduction::Mean] {
            let [indices, updates] = [i64, f32].map(|ty| zeros(ty, indices));
            let out = scatter(reduction, true, data.clone(), indices, updates, 1);
            assert_eq!(out, Ok(data.clone()));
        }
        let axis = Tensor::scalar(0i64);
        let none = Tensor::vector::<i64>(&[]);
        if data.is_empty() {
            let gather = super::super::gather::Gather::default();
            let out = run(&gather, &[data.clone(), none.clone(), axis]).expect("fits");
            assert_eq!(out.shape().to_string(), data.shape().to_string());
            let transpose = super::super::transpose::Transpose {};
            assert!(run(&transpose, &[data, none]).expect("fits").is_empty());
        }
    }
}

/// Data and updates of any rank, where the updates may be longer along the axis.
fn shapes() -> impl Strategy<Value = (Vec<usize>, Vec<usize>, usize)> {
    (1usize..5)
        .prop_flat_map(|rank| {
            let dims = prop::collection::vec(1usize..5, rank);
            (dims.clone(), dims, 0..rank, 0usize..8)
        })
        .prop_map(|(data, updates, axis, along)| {
            let mut updates: Vec<usize> =
                data.iter().zip(updates).map(|(&d, u)| u.min(d)).collect();
            updates[axis] = along;
            (data, updates, axis)
        })
}

proptest! {
    #[test]
    fn overwriting_like_its_definition(
        (data, updates, axis) in shapes(),
        seed in any::<u64>(),
        ty in prop::sample::select(ElementType::ALL.to_vec()),
        mask in any::<u32>(),
    ) {
        let (data, indices) = (counted(ty, &data), some_indices(&updates, data[axis], seed));
        // Updates differ from the data: they are taken from the end of a longer line.
        let long = counted(ty, &[data.len() + indices.len()]);
        let strides = data.shape().strides();
        let mut source: Vec<usize> = (0..data.len()).collect();
        let values = indices.as_slice::<i16>().expect("i16");
        for (k, at) in index(indices.shape()).enumerate() {
            source[place(&at, values[k], axis, data.shape(), &strides)] = data.len() + k;
        }
        let all: Vec<i64> = (data.len() as i64..(data.len() + indices.len()) as i64).collect();
        let pick = super::super::gather::Gather::default();
        let updates_shape = indices.shape().clone();
        let updates = run(&pick, &[long.clone(), Tensor::vector(&all), Tensor::scalar(0i64)])
            .expect("fits").with_shape(updates_shape).expect("its length");
        let inputs = [data, indices, updates, Tensor::scalar(axis as i64)];
        let op = ScatterElementsUpdate::default();
        let out = run(&op, &inputs).expect("fits");
        assert_picked(&long, &source, &out);
        prop_assert!(dynamic(&op, &inputs, mask).contains(out.shape()));
    }

    #[test]
    fn reducing_like_its_definition(
        (dims, updates, axis) in shapes(),
        seed in any::<u64>(),
        reduction in prop::sample::select(vec![
            Reduction::Sum, Reduction::Prod, Reduction::Min, Reduction::Max, Reduction::Mean,
        ]),
        init in any::<bool>(),
        narrow in any::<bool>(),
    ) {
        let len: usize = dims.iter().product();
        let data: Vec<i64> = (0..len as i64).map(|i| i * 5 % 13 - 6).collect();
        let indices = some_indices(&updates, dims[axis], seed);
        let updates: Vec<i64> = (0..indices.len() as i64).map(|i| i * 7 % 11 - 5).collect();
        let mut met: Vec<Vec<i64>> = data.iter().map(|&x| if init { vec![x] } else { vec![] }).collect();
        let shape = crate::tensor::Shape::from(dims.as_slice());
        let values = indices.as_slice::<i16>().expect("i16");
        let mut touched = vec![false; len];
        for (k, at) in index(indices.shape()).enumerate() {
            let place = place(&at, values[k], axis, &shape, &shape.strides());
            met[place].push(updates[k]);
            touched[place] = true;
        }
        let expected: Vec<i64> = met.iter().enumerate().map(|(i, met)| {
            let all = met.iter().copied();
            match reduction {
                _ if !touched[i] => data[i],
                Reduction::Prod => all.fold(1, i64::wrapping_mul),
                Reduction::Min => all.min().expect("some"),
                Reduction::Max => all.max().expect("some"),
                Reduction::Mean => all.sum::<i64>().div_euclid(met.len() as i64),
                _ => all.sum(),
            }
        }).collect();
        let axis = axis as i64;
        if narrow {
            let narrow = |x: &[i64]| x.iter().map(|&x| x as i8).collect::<Vec<_>>();
            let data = Tensor::new(shape, &narrow(&data)).expect("its length");
            let updates = Tensor::new(indices.shape().clone(), &narrow(&updates)).expect("its length");
            let out = scatter(reduction, init, data, indices, updates, axis).expect("fits");
            prop_assert_eq!(out.as_slice::<i8>().expect("i8"), narrow(&expected));
        } else {
            let data = Tensor::new(shape, &data).expect("its length");
            let updates = Tensor::new(indices.shape().clone(), &updates).expect("its length");
            let out = scatter(reduction, init, data, indices, updates, axis).expect("fits");
            prop_assert_eq!(out.as_slice::<i64>().expect("i64"), expected);
        }
    }
}

fn some_indices(dims: &[usize], size: usize, seed: u64) -> Tensor {
    let len: usize = dims.iter().product();
    let mut state = seed | 1;
    let values: Vec<i16> = (0..len)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            ((state >> 40) as usize % (2 * size)) as i16 - size as i16
        })
        .collect();
    Tensor::new(dims, &values).expect("its length")
}

fn place(at: &[usize], value: i16, axis: usize, data: &[usize], strides: &[usize]) -> usize {
    let size = data[axis] as i16;
    let value = if value < 0 { value + size } else { value } as usize;
    let along = at.iter().zip(strides).enumerate();
    along
        .map(|(i, (&at, &stride))| stride * if i == axis { value } else { at })
        .sum()
}

/// Many updates in several pieces, more than are decoded at a time.
#[test]
fn large() {
    for (dims, updates, axis) in [
        ([40usize, 60, 90], [40usize, 1500, 90], 1usize),
        ([40, 60, 90], [33, 60, 700], 2),
        ([400, 600, 3], [900, 500, 2], 0),
    ] {
        let len: usize = dims.iter().product();
        let data: Vec<i64> = (0..len as i64).collect();
        let indices = some_indices(&updates, dims[axis], 99);
        let count = indices.len() as i64;
        let updates: Vec<i64> = (0..count).map(|i| i * 31 % 1001).collect();
        let data = Tensor::new(dims, &data).expect("its length");
        let (shape, strides) = (data.shape().clone(), data.shape().strides());
        let values = indices.as_slice::<i16>().expect("i16");
        let updates = Tensor::new(indices.shape().clone(), &updates).expect("its length");
        let out = scatter(
            Reduction::Sum,
            true,
            data.clone(),
            indices.clone(),
            updates.clone(),
            axis as i64,
        );
        let mut sums = data.as_slice::<i64>().expect("i64").to_vec();
        let add = updates.as_slice::<i64>().expect("i64");
        for (k, at) in index(indices.shape()).enumerate() {
            sums[place(&at, values[k], axis, &shape, &strides)] += add[k];
        }
        assert_eq!(out.expect("fits").as_slice::<i64>().expect("i64"), sums);
    }
}

/// Elements that no update meets stay, whatever number marks them in between.
#[test]
fn marks_among_the_updates() {
    let (low, high) = (f32::NEG_INFINITY, f32::INFINITY);
    let attempt = |reduction, updates: [f32; 6]| {
        let data = Tensor::vector(&[5f32, -0.0, 7.0, 8.0]);
        let indices = Tensor::vector(&[0i32, -4, 0, 2, 2, 2]);
        let out = scatter(reduction, false, data, indices, Tensor::vector(&updates), 0);
        let out = out.expect("fits");
        let bits = out.as_slice::<f32>().expect("f32").iter();
        bits.map(|x| x.to_bits()).collect::<Vec<_>>()
    };
    let bits = |values: [f32; 4]| values.map(f32::to_bits).to_vec();
    let zeros = [-0.0, -0.0, -0.0, 1.0, -1.0, 2.0];
    assert_eq!(attempt(Reduction::Sum, zeros), bits([0.0, -0.0, 2.0, 8.0]));
    let plain = [1.0, 2.0, 3.0, 1.5, -1.0, 2.0];
    assert_eq!(attempt(Reduction::Sum, plain), bits([6.0, -0.0, 2.5, 8.0]));
    let ends = [low, low, low, 1.0, high, 2.0];
    assert_eq!(attempt(Reduction::Max, ends), bits([low, -0.0, high, 8.0]));
    assert_eq!(attempt(Reduction::Max, plain), bits([3.0, -0.0, 2.0, 8.0]));
    let ends = [high, high, high, 1.0, low, 2.0];
    assert_eq!(attempt(Reduction::Min, ends), bits([high, -0.0, low, 8.0]));
}
