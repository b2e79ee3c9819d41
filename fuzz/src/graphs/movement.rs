//! Operations that move elements, and those that find places.

use ovir::tensor::{ElementType, Tensor};

use super::grow::{Draft, Grower, layer, list};

pub(super) fn transpose(g: &mut Grower<'_>) -> Draft {
    let value = g.ranked(1);
    let rank = g.dims(value).len();
    let order = g.permutation(rank);
    let order = g.ints(&order);
    Some(layer("Transpose", &[value, order]))
}

pub(super) fn reshape(g: &mut Grower<'_>) -> Draft {
    let value = g.any();
    let mut dims: Vec<i64> = g.dims(value).iter().map(|&d| d as i64).collect();
    for _ in 0..=g.below(2) {
        let at = g.below(dims.len());
        match g.below(4) {
            0 if dims.len() > 1 => {
                let dim = dims.remove(at);
                let to = at.min(dims.len() - 1);
                dims[to] *= dim;
            }
            1 => dims.insert(at, 1),
            2 if !dims.is_empty() && dims[at] % 2 == 0 => {
                dims[at] /= 2;
                dims.insert(at, 2);
            }
            _ => dims = dims.into_iter().rev().collect(),
        }
    }
    let at = g.below(dims.len());
    if g.one_in(2) && !dims.is_empty() && !dims.contains(&0) {
        dims[at] = -1;
    }
    let target = g.ints(&dims);
    let zero = g.one_in(2);
    Some(layer("Reshape", &[value, target]).with("special_zero", zero))
}

pub(super) fn squeeze(g: &mut Grower<'_>) -> Draft {
    let value = g.pick(|_, d| d.contains(&1), ElementType::F32, 0);
    if g.one_in(3) {
        return Some(layer("Squeeze", &[value]));
    }
    let dims = g.dims(value);
    let axes: Vec<i64> = (0..dims.len())
        .filter(|&a| dims[a] == 1)
        .map(|a| a as i64)
        .collect();
    let axes = g.ints(&axes);
    Some(layer("Squeeze", &[value, axes]))
}

pub(super) fn unsqueeze(g: &mut Grower<'_>) -> Draft {
    let value = g.any();
    let rank = g.dims(value).len();
    let axis = g.axis(rank + 1);
    let axes = g.ints(&[axis]);
    Some(layer("Unsqueeze", &[value, axes]))
}

pub(super) fn concat(g: &mut Grower<'_>) -> Draft {
    let value = g.ranked(1);
    let (ty, dims) = (g.ty(value), g.dims(value));
    let axis = g.axis(dims.len());
    let at = axis.rem_euclid(dims.len() as i64) as usize;
    let mut inputs = vec![value];
    for _ in 0..g.below(3) {
        let mut shape = dims.clone();
        shape[at] = g.below(4);
        let other = g.pick(
            |o, d| {
                let others = |(i, (a, b)): (usize, (&usize, &usize))| i == at || a == b;
                o.element_type == ty
                    && d.len() == dims.len()
                    && d.iter().zip(&dims).enumerate().all(others)
            },
            ty,
            dims.len(),
        );
        let other = if g.one_in(2) {
            other
        } else {
            g.new_value(ty, &shape)
        };
        let place = g.below(inputs.len() + 1);
        inputs.insert(place, other);
    }
    Some(layer("Concat", &inputs).with("axis", axis))
}

pub(super) fn split(g: &mut Grower<'_>) -> Draft {
    let value = g.ranked(1);
    let dims = g.dims(value);
    let axis = g.axis(dims.len());
    let size = dims[axis.rem_euclid(dims.len() as i64) as usize];
    let parts = (1..=4)
        .filter(|&n| size.is_multiple_of(n))
        .collect::<Vec<usize>>();
    let parts = g.of(&parts);
    let axis = g.int(axis);
    Some(layer("Split", &[value, axis]).with("num_splits", parts))
}

pub(super) fn variadic_split(g: &mut Grower<'_>) -> Draft {
    let value = g.ranked(1);
    let dims = g.dims(value);
    let axis = g.axis(dims.len());
    let size = dims[axis.rem_euclid(dims.len() as i64) as usize] as i64;
    let first = g.between(0, size);
    let second = g.between(0, size - first);
    let last = if g.one_in(2) {
        -1
    } else {
        size - first - second
    };
    let (axis, lengths) = (g.int(axis), g.ints(&[first, second, last]));
    Some(layer("VariadicSplit", &[value, axis, lengths]))
}

pub(super) fn gather(g: &mut Grower<'_>) -> Draft {
    let value = g.ranked(1);
    let dims = g.dims(value);
    let at = g.below(dims.len());
    let rank = g.below(3);
    let shape = g.shape(rank);
    let indices = g.indices(&shape, dims[at], true)?;
    let axis = g.int(at as i64);
    let made = layer("Gather", &[value, indices, axis]);
    Some(made.with("batch_dims", 0))
}

pub(super) fn gather_elements(g: &mut Grower<'_>) -> Draft {
    let value = g.ranked(1);
    let dims = g.dims(value);
    let at = g.below(dims.len());
    let mut shape = dims.clone();
    shape[at] = 1 + g.below(5);
    let indices = g.indices(&shape, dims[at], false)?;
    Some(layer("GatherElements", &[value, indices]).with("axis", at))
}

pub(super) fn gather_nd(g: &mut Grower<'_>) -> Draft {
    let value = g.ranked(1);
    let dims = g.dims(value);
    let depth = 1 + g.below(dims.len());
    let size = dims[..depth].iter().copied().min().unwrap_or(0);
    let count = 1 + g.below(4);
    let indices = g.indices(&[count, depth], size, false)?;
    Some(layer("GatherND", &[value, indices]).with("batch_dims", 0))
}

pub(super) fn scatter_update(g: &mut Grower<'_>) -> Draft {
    let value = g.ranked(1);
    let (ty, dims) = (g.ty(value), g.dims(value));
    let at = g.below(dims.len());
    let mut shape = dims.clone();
    shape[at] = 1;
    let indices = g.indices(&[1], dims[at], false)?;
    let updates = g.new_value(ty, &shape);
    let axis = g.int(at as i64);
    Some(layer("ScatterUpdate", &[value, indices, updates, axis]))
}

pub(super) fn scatter_elements(g: &mut Grower<'_>) -> Draft {
    let value = g.pick(
        |o, d| !d.is_empty() && !o.element_type.is_packed(),
        ElementType::F32,
        2,
    );
    let (ty, dims) = (g.ty(value), g.dims(value));
    let at = g.below(dims.len());
    let mut shape = dims.clone();
    shape[at] = 1;
    let indices = g.indices(&shape, dims[at], false)?;
    let updates = g.new_value(ty, &shape);
    let axis = g.int(at as i64);
    let reduction = g.of(&["none", "sum", "prod", "min", "max"]);
    let initial = g.one_in(2);
    let made = layer("ScatterElementsUpdate", &[value, indices, updates, axis]);
    Some(
        made.with("reduction", reduction)
            .with("use_init_val", initial),
    )
}

pub(super) fn scatter_nd(g: &mut Grower<'_>) -> Draft {
    let value = g.ranked(1);
    let (ty, dims) = (g.ty(value), g.dims(value));
    let depth = 1 + g.below(dims.len());
    let size = dims[..depth].iter().copied().min().unwrap_or(0);
    let indices = g.indices(&[1, depth], size, false)?;
    let shape = [&[1], &dims[depth..]].concat();
    let updates = g.new_value(ty, &shape);
    Some(layer("ScatterNDUpdate", &[value, indices, updates]))
}

/// Starts, ends and steps of some axes, each within or a little beyond the axis.
fn ranges(g: &mut Grower<'_>, dims: &[usize], axes: &[i64]) -> [Vec<i64>; 3] {
    let mut all = [vec![], vec![], vec![]];
    for &axis in axes {
        let size = dims[axis as usize] as i64;
        let step = g.of(&[1, 1, 1, 2, -1, -2]);
        let (low, high) = (
            g.between(-size - 1, size + 1),
            g.between(-size - 1, size + 1),
        );
        for (list, number) in all.iter_mut().zip([low, high, step]) {
            list.push(number);
        }
    }
    all
}

pub(super) fn slice(g: &mut Grower<'_>) -> Draft {
    let value = g.ranked(1);
    let dims = g.dims(value);
    let axes = g.axes(dims.len());
    let ranges = ranges(g, &dims, &axes);
    let [start, stop, step] = ranges.map(|list| g.ints(&list));
    let axes = g.ints(&axes);
    Some(layer("Slice", &[value, start, stop, step, axes]))
}

pub(super) fn strided_slice(g: &mut Grower<'_>) -> Draft {
    let value = g.ranked(1);
    let dims = g.dims(value);
    let axes: Vec<i64> = (0..dims.len() as i64).collect();
    let ranges = ranges(g, &dims, &axes);
    let [begin, end, step] = ranges.map(|list| g.ints(&list));
    let mask = |g: &mut Grower<'_>, n: usize| {
        list(
            axes.iter()
                .map(|_| u8::from(g.one_in(n)))
                .collect::<Vec<_>>(),
        )
    };
    let (begins, ends) = (mask(g, 2), mask(g, 2));
    let (new, shrink, ellipsis) = (mask(g, 8), mask(g, 8), list(axes.iter().map(|_| 0)));
    Some(
        layer("StridedSlice", &[value, begin, end, step])
            .with("begin_mask", begins)
            .with("end_mask", ends)
            .with("new_axis_mask", new)
            .with("shrink_axis_mask", shrink)
            .with("ellipsis_mask", ellipsis),
    )
}

pub(super) fn tile(g: &mut Grower<'_>) -> Draft {
    let value = g.any();
    let rank = g.dims(value).len() + g.below(2);
    let repeats: Vec<i64> = (0..rank).map(|_| g.of(&[1, 1, 2, 3])).collect();
    let repeats = g.ints(&repeats);
    Some(layer("Tile", &[value, repeats]))
}

pub(super) fn broadcast(g: &mut Grower<'_>) -> Draft {
    let value = g.any();
    let mut target: Vec<i64> = g.dims(value).iter().map(|&d| d as i64).collect();
    for dim in &mut target {
        if *dim == 1 {
            *dim = g.between(1, 5);
        }
    }
    if g.one_in(2) {
        target.insert(0, 2);
    }
    let target = g.ints(&target);
    let mode = g.of(&["numpy", "bidirectional"]);
    Some(layer("Broadcast", &[value, target]).with("mode", mode))
}

pub(super) fn pad(g: &mut Grower<'_>) -> Draft {
    let value = g.ranked(1);
    let (ty, dims) = (g.ty(value), g.dims(value));
    let mode = g.of(&["constant", "edge", "reflect", "symmetric"]);
    let mut draw = || dims.iter().map(|_| g.between(-1, 2)).collect::<Vec<i64>>();
    let (begin, end) = (draw(), draw());
    let (begin, end) = (g.ints(&begin), g.ints(&end));
    let with = g.constant(ty, &[]);
    Some(layer("Pad", &[value, begin, end, with]).with("pad_mode", mode))
}

pub(super) fn reverse(g: &mut Grower<'_>) -> Draft {
    let value = g.ranked(1);
    let rank = g.dims(value).len();
    let axes = g.axes(rank);
    let axes = g.ints(&axes);
    Some(
        layer("Reverse", &[value, axes])
            .with("mode", "index")
            .of("opset1"),
    )
}

pub(super) fn roll(g: &mut Grower<'_>) -> Draft {
    let value = g.ranked(1);
    let rank = g.dims(value).len();
    let (shift, axis) = (g.between(-9, 9), g.axis(rank));
    let (shift, axis) = (g.ints(&[shift]), g.ints(&[axis]));
    Some(layer("Roll", &[value, shift, axis]))
}

pub(super) fn depth(g: &mut Grower<'_>) -> Draft {
    let value = g.pick(|_, d| d.len() >= 3, ElementType::F32, 4);
    let kind = g.of(&["DepthToSpace", "SpaceToDepth"]);
    let mode = g.of(&["blocks_first", "depth_first"]);
    let block = g.of(&[1, 2, 2, 2]);
    Some(
        layer(kind, &[value])
            .with("block_size", block)
            .with("mode", mode),
    )
}

pub(super) fn blocks(g: &mut Grower<'_>) -> Draft {
    let value = g.pick(|_, d| d.len() >= 2, ElementType::F32, 3);
    let dims = g.dims(value);
    let kind = g.of(&["BatchToSpace", "SpaceToBatch"]);
    let mut block = vec![1; dims.len()];
    let at = 1 + g.below(dims.len() - 1);
    block[at] = 2;
    let mut draw = || {
        (0..dims.len())
            .map(|i| if i == 0 { 0 } else { g.between(0, 1) })
            .collect::<Vec<_>>()
    };
    let (begin, end) = (draw(), draw());
    let lists = [block, begin, end].map(|list| g.ints(&list));
    Some(layer(kind, &[value, lists[0], lists[1], lists[2]]))
}

pub(super) fn shuffle(g: &mut Grower<'_>) -> Draft {
    let value = g.ranked(1);
    let dims = g.dims(value);
    let axis = g.axis(dims.len());
    let group = g.of(&[1, 2, 3, 4]);
    Some(
        layer("ShuffleChannels", &[value])
            .with("axis", axis)
            .with("group", group),
    )
}

pub(super) fn reverse_sequence(g: &mut Grower<'_>) -> Draft {
    let value = g.ranked(2);
    let dims = g.dims(value);
    let (batch, sequence) = if g.one_in(2) { (0, 1) } else { (1, 0) };
    let count = dims[batch];
    let lengths: Vec<i64> = (0..count)
        .map(|_| g.between(1, dims[sequence] as i64))
        .collect();
    let lengths = g.ints(&lengths);
    let made = layer("ReverseSequence", &[value, lengths]);
    Some(made.with("batch_axis", batch).with("seq_axis", sequence))
}

pub(super) fn shape_of(g: &mut Grower<'_>) -> Draft {
    let value = g.any();
    let ty = g.of(&["i64", "i32"]);
    Some(layer("ShapeOf", &[value]).with("output_type", ty))
}

pub(super) fn non_zero(g: &mut Grower<'_>) -> Draft {
    let value = g.any();
    let ty = g.of(&["i64", "i32"]);
    Some(layer("NonZero", &[value]).with("output_type", ty))
}

pub(super) fn top_k(g: &mut Grower<'_>) -> Draft {
    let value = g.pick(
        |o, d| !d.is_empty() && o.element_type.is_numeric(),
        ElementType::F32,
        2,
    );
    let dims = g.dims(value);
    let axis = g.axis(dims.len());
    let size = dims[axis.rem_euclid(dims.len() as i64) as usize];
    let k = g.between(0, size as i64);
    let k = g.int(k);
    let (mode, sort) = (g.of(&["max", "min"]), g.of(&["value", "index"]));
    let made = layer("TopK", &[value, k])
        .with("axis", axis)
        .with("mode", mode);
    Some(made.with("sort", sort).with("stable", sort == "value"))
}

pub(super) fn unique(g: &mut Grower<'_>) -> Draft {
    let value = g.any();
    let sorted = g.one_in(2);
    if g.one_in(2) {
        return Some(layer("Unique", &[value]).with("sorted", sorted));
    }
    let rank = g.dims(value).len();
    let axis = g.axis(rank);
    let axis = g.int(axis);
    Some(layer("Unique", &[value, axis]).with("sorted", sorted))
}

pub(super) fn one_hot(g: &mut Grower<'_>) -> Draft {
    let rank = g.below(3);
    let shape = g.shape(rank);
    let indices = g.indices(&shape, 5, true)?;
    let ty = g.element_type();
    let depth = g.between(1, 6);
    let depth = g.tensor(Tensor::scalar(depth));
    let (on, off) = (g.constant(ty, &[]), g.constant(ty, &[]));
    let axis = g.axis(rank + 1);
    Some(layer("OneHot", &[indices, depth, on, off]).with("axis", axis))
}

pub(super) fn bucketize(g: &mut Grower<'_>) -> Draft {
    let value = g.number();
    let buckets = g.tensor(Tensor::vector(&[-1.5f32, -0.5, 0.0, 0.25, 1.0]));
    let right = g.one_in(2);
    let made = layer("Bucketize", &[value, buckets]).with("output_type", "i64");
    Some(made.with("with_right_bound", right))
}
