//! Tests of operations on blocks, each against its inverse or the document's steps.

use proptest::prelude::*;

use super::super::blocks::Mode;
use super::super::depth_to_space::DepthToSpace;
use super::super::space_to_batch::SpaceToBatch;
use super::super::space_to_depth::SpaceToDepth;
use super::*;
use crate::ops::testing::{
    assert_picked, counted, dynamic, elements, index, infer_dims, run, shape,
};
use crate::tensor::{ElementType, Tensor};

fn list(values: &[usize]) -> Tensor {
    Tensor::vector(&values.iter().map(|&x| x as i64).collect::<Vec<_>>())
}

/// Where the elements of an output that SpaceToBatch makes come from, by the definition.
fn space_to_batch(dims: &[usize], block: &[usize], begin: &[usize], out: &[usize]) -> Vec<usize> {
    let batch = dims[0];
    let strides = crate::tensor::Shape::from(dims).strides();
    index(&out.iter().copied().collect())
        .map(|at| {
            let (mut blocks, mut from) = (at[0] / batch, at[0] % batch * strides[0]);
            for axis in (1..dims.len()).rev() {
                let inside = blocks % block[axis];
                blocks /= block[axis];
                let Some(place) = (at[axis] * block[axis] + inside).checked_sub(begin[axis]) else {
                    return usize::MAX;
                };
                if place >= dims[axis] {
                    return usize::MAX;
                }
                from += place * strides[axis];
            }
            from
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn to_the_batch_and_back(
        batch in 0usize..3,
        axes in prop::collection::vec((1usize..4, 1usize..4, 0usize..3), 1..4),
        ty in prop::sample::select(ElementType::ALL.to_vec()),
        mask in any::<u32>(),
    ) {
        // Of each axis: the size of blocks, how many, and how many elements are padded at the front.
        let mut dims = vec![batch];
        let mut block = vec![1];
        let mut begin = vec![0];
        let mut end = vec![0];
        for (b, n, pad) in axes {
            let front = pad.min(b * n);
            let back = (b * n - front).min(1);
            dims.push(b * n - front - back);
            block.push(b);
            begin.push(front);
            end.push(back);
        }
        let data = counted(ty, &dims);
        let lists = [list(&block), list(&begin), list(&end)];
        let all = |data: &Tensor| -> Vec<Tensor> {
            std::iter::once(data.clone()).chain(lists.clone()).collect()
        };
        let out = run(&SpaceToBatch::default(), &all(&data)).expect("divides");
        assert_picked(&data, &space_to_batch(&dims, &block, &begin, out.shape()), &out);
        prop_assert!(dynamic(&SpaceToBatch::default(), &all(&data), mask).contains(out.shape()));
        let back = run(&BatchToSpace::default(), &all(&out)).expect("as it was");
        prop_assert_eq!(back.shape(), data.shape());
        prop_assert_eq!(elements(&back), elements(&data));
        prop_assert!(dynamic(&BatchToSpace::default(), &all(&out), mask).contains(back.shape()));
    }

    #[test]
    fn to_the_depth_and_back(
        outer in (0usize..3, 1usize..4),
        space in prop::collection::vec(0usize..3, 1..4),
        side in 1usize..3,
        depth_first in any::<bool>(),
        mask in any::<u32>(),
    ) {
        let mode = if depth_first { Mode::DepthFirst } else { Mode::BlocksFirst };
        let block_size = side as i64;
        let mut dims = vec![outer.0, outer.1];
        dims.extend(space.iter().map(|size| size * side));
        let data = counted(ElementType::I32, &dims);
        let there = SpaceToDepth { block_size, mode };
        let inputs = [data.clone()];
        let out = run(&there, &inputs).expect("divides");
        let strides = data.shape().strides();
        let source: Vec<usize> = index(out.shape())
            .map(|at| {
                let blocks = side.pow(space.len() as u32);
                let (depth, mut inside) = match mode {
                    Mode::BlocksFirst => (at[1] % outer.1, at[1] / outer.1),
                    Mode::DepthFirst => (at[1] / blocks, at[1] % blocks),
                };
                let mut from = at[0] * strides[0] + depth * strides[1];
                for axis in (2..dims.len()).rev() {
                    from += (at[axis] * side + inside % side) * strides[axis];
                    inside /= side;
                }
                from
            })
            .collect();
        assert_picked(&data, &source, &out);
        prop_assert!(dynamic(&there, &inputs, mask).contains(out.shape()));
        let op = DepthToSpace { block_size, mode };
        let inputs = [out];
        let back = run(&op, &inputs).expect("as it was");
        prop_assert_eq!(back.shape(), data.shape());
        prop_assert_eq!(elements(&back), elements(&data));
        prop_assert!(dynamic(&op, &inputs, mask).contains(back.shape()));
    }
}

#[test]
fn documented_shapes() {
    let data = counted(ElementType::F32, &[48, 3, 3, 1, 3]);
    let block = list(&[1, 2, 4, 3, 1]);
    let crops = list(&[0, 0, 1, 0, 0]);
    let out = run(
        &BatchToSpace::default(),
        &[data, block.clone(), crops.clone(), crops.clone()],
    );
    assert_eq!(out.expect("divides").shape()[..], [2, 6, 10, 3, 3]);
    let data = counted(ElementType::F32, &[2, 6, 10, 3, 3]);
    let out = run(
        &SpaceToBatch::default(),
        &[data, block, crops.clone(), crops],
    );
    assert_eq!(out.expect("divides").shape()[..], [48, 3, 3, 1, 3]);
}

#[test]
fn what_does_not_fit() {
    let data = counted(ElementType::F32, &[4, 3]);
    let bad = [
        ([2, 2], [0, 0], [0, 0]),
        ([1, 3], [0, 0], [0, 0]),
        ([1, 0], [0, 0], [0, 0]),
        ([1, 2], [1, 0], [0, 0]),
        ([1, 2], [0, -1], [0, 0]),
        ([1, 2], [0, 4], [0, 3]),
    ];
    for (block, begin, end) in bad {
        let lists = [block, begin, end].map(|list: [i64; 2]| Tensor::vector(&list));
        let [block, begin, end] = lists;
        assert!(run(&BatchToSpace::default(), &[data.clone(), block, begin, end]).is_err());
    }
    let all = [data, list(&[1, 2]), list(&[0, 0]), list(&[0, 0])];
    let error = run(&SpaceToBatch::default(), &all).expect_err("3 is odd");
    assert_eq!(
        error.message,
        "axis 1, of size 3 with pads, cannot be divided into blocks of 2"
    );
}

#[test]
fn intervals() {
    let data = shape("6..,?,4");
    let known = [list(&[1, 2, 1]), list(&[0, 0, 0]), list(&[0, 3, 0])];
    let mut inputs = vec![Input::new(ElementType::F32, &data)];
    inputs.extend(known.iter().map(Input::of));
    assert_eq!(infer_dims(&BatchToSpace::default(), &inputs), "[3..,?,4]");
    assert_eq!(
        infer_dims(&SpaceToBatch::default(), &inputs),
        "[12..,2..,4]"
    );
    let three = shape("3");
    for input in &mut inputs[1..] {
        *input = Input::new(ElementType::I64, &three);
    }
    assert_eq!(infer_dims(&BatchToSpace::default(), &inputs), "[1..,?,?]");
    inputs[0] = Input::new(ElementType::F32, &three);
    assert!(BatchToSpace::default().infer(&inputs).is_err());
    let depth = shape("2,5..13,?");
    let input = [Input::new(ElementType::F32, &depth)];
    let op = DepthToSpace {
        block_size: 4,
        mode: Mode::DepthFirst,
    };
    assert_eq!(infer_dims(&op, &input), "[2,2..3,?]");
}
