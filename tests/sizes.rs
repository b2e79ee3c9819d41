//! Arithmetic on sizes at the edges of `usize`: an error or the right number, never a panic.

use ovir::Kind;
use ovir::graph::{Builder, Port};
use ovir::tensor::{Dimension, ElementType, PartialShape, Shape, Tensor};
use proptest::prelude::*;

/// Sizes at which products, sums and casts go wrong.
const EDGES: &[usize] = &[
    0,
    1,
    2,
    (1 << 31) - 1,
    1 << 31,
    (1 << 31) + 1,
    (1 << 32) - 1,
    1 << 32,
    (1 << 32) + 1,
    1 << 62,
    usize::MAX / 2 - 1,
    usize::MAX / 2,
    usize::MAX / 2 + 1,
    usize::MAX - 1,
];

fn edge() -> impl Strategy<Value = usize> {
    prop::sample::select(EDGES)
}

fn dims(rank: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(edge(), rank)
}

/// Numbers that inputs of operations hold: sizes, and those with a sign.
fn number() -> impl Strategy<Value = i64> {
    let signed = |&edge: &usize| i64::try_from(edge).unwrap_or(i64::MAX);
    let high: Vec<i64> = EDGES.iter().map(signed).collect();
    let low = high.iter().map(|n| -n).chain([i64::MIN]);
    prop::sample::select(high.iter().copied().chain(low).collect::<Vec<_>>())
}

/// What inference says of an operation on parameters of these shapes and constants: the shape, or
/// the kind of the error; nothing if the shape is not known.
fn outcome(
    kind: &str,
    opset: &str,
    attributes: &[(&str, &str)],
    shapes: &[&[usize]],
    constants: &[Tensor],
) -> Result<Option<Shape>, Kind> {
    let mut graph = Builder::new();
    let mut inputs: Vec<Port> = Vec::new();
    for (number, shape) in shapes.iter().enumerate() {
        let shape: PartialShape = shape.iter().copied().collect();
        inputs.push(graph.parameter(&format!("p{number}"), ElementType::F32, shape));
    }
    for (number, tensor) in constants.iter().enumerate() {
        inputs.push(graph.constant(&format!("c{number}"), tensor.clone()));
    }
    let output = graph.add("op", kind, opset, attributes, &inputs);
    graph.result("y", output.map_err(|e| e.kind())?);
    let model = graph.build("sizes").map_err(|e| e.kind())?;
    Ok(model.output_type(0).and_then(|ty| ty.shape.to_shape()))
}

/// The shape, if there is one, with constants of integers.
fn infer(
    kind: &str,
    opset: &str,
    attributes: &[(&str, &str)],
    shapes: &[&[usize]],
    constants: &[&[i64]],
) -> Option<Shape> {
    let constants: Vec<Tensor> = constants.iter().map(|list| Tensor::vector(list)).collect();
    outcome(kind, opset, attributes, shapes, &constants).ok()?
}

/// The largest size there is.
const LARGEST: i128 = Dimension::LARGEST as i128;

/// `found` is what was computed without bounds, or nothing.
fn right(found: Option<Shape>, expected: &[i128]) {
    if let Some(found) = found {
        assert_eq!(wide(&found), expected);
        assert!(expected.iter().all(|&size| size <= LARGEST));
    }
}

/// `found` is what was computed without bounds, a limit if that is too large, or an error of shapes
/// if it is negative.
fn exactly(found: Result<Option<Shape>, Kind>, expected: &[i128]) {
    let all = |within: fn(&i128) -> bool| expected.iter().all(within);
    match found {
        Ok(Some(found)) => assert_eq!(wide(&found), expected),
        Ok(None) => panic!("no shape, expected {expected:?}"),
        Err(Kind::Limit) => assert!(!all(|&size| size <= LARGEST), "{expected:?}"),
        Err(Kind::Shape) => assert!(!all(|&size| size >= 0), "{expected:?}"),
        Err(kind) => panic!("{kind:?}, expected {expected:?}"),
    }
}

fn wide(dims: &[usize]) -> Vec<i128> {
    dims.iter().map(|&d| d as i128).collect()
}

/// Whether everything is far from the ends, so that an error would be wrong.
fn harmless(numbers: &[i128]) -> bool {
    numbers.iter().all(|&n| (0..1 << 62).contains(&n))
}

fn list(number: impl ToString) -> String {
    let number = number.to_string();
    format!("{number},{number}")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn elements_strides_and_bytes(dims in dims(0..6)) {
        let shape = Shape::from(dims.clone());
        let exact = dims.iter().try_fold(1u128, |n, &d| n.checked_mul(d as u128));
        let zero = dims.contains(&0);
        let expected = if zero { Some(0) } else { exact.and_then(|n| usize::try_from(n).ok()) };
        prop_assert_eq!(shape.elements(), expected);
        prop_assert_eq!(shape.strides().len(), dims.len());
        for ty in ElementType::ALL {
            let Some(count) = expected else { continue };
            let Some(bits) = (ty != ElementType::String && ty.is_static()).then(|| ty.bits()) else {
                prop_assert_eq!(ty.storage_bytes(count), None);
                continue;
            };
            let least = (count as u128 * bits as u128).div_ceil(8);
            match ty.storage_bytes(count) {
                Some(bytes) => prop_assert!((least..least + 3).contains(&(bytes as u128))),
                None => prop_assert!(least + 2 > usize::MAX as u128),
            }
            // Nothing of this size can be had, and asking for it is an error.
            if count > 1 << 40 && !zero {
                prop_assert!(Tensor::zeros(ty, shape.clone()).is_err());
            }
        }
    }

    #[test]
    fn concat_and_tile(a in edge(), b in edge(), repeats in number(), other in edge()) {
        let sum = a as i128 + b as i128;
        let found = infer("Concat", "opset1", &[("axis", "1")], &[&[other, a], &[other, b]], &[]);
        prop_assert!(found.is_some() || !harmless(&[sum, other as i128]));
        right(found, &[other as i128, sum]);
        let product = (a as i128).checked_mul(repeats.max(0).into());
        let found = infer("Tile", "opset1", &[], &[&[a, other]], &[&[repeats, 1]]);
        match product {
            Some(product) if harmless(&[product]) && repeats >= 0 => {
                right(found, &[product, other as i128]);
            }
            Some(product) => right(found, &[product, other as i128]),
            None => prop_assert!(found.is_none()),
        }
    }

    #[test]
    fn broadcasting(a in dims(1..4), b in dims(1..4)) {
        let rank = a.len().max(b.len());
        let at = |dims: &[usize], i: usize| (i + dims.len()).checked_sub(rank).map_or(1, |i| dims[i]);
        let both: Option<Vec<i128>> = (0..rank)
            .map(|i| match (at(&a, i), at(&b, i)) {
                (x, y) if x == y || y == 1 => Some(x as i128),
                (1, y) => Some(y as i128),
                _ => None,
            })
            .collect();
        let found = infer("Add", "opset1", &[], &[&a, &b], &[]);
        let possible = a.iter().chain(&b).all(|&size| size <= Dimension::LARGEST);
        prop_assert_eq!(found.is_some(), both.is_some() && possible);
        right(found, &both.unwrap_or_default());
        let target: Vec<i64> = b.iter().map(|&d| i64::try_from(d).unwrap_or(i64::MAX)).collect();
        let _ = infer("Broadcast", "opset3", &[("mode", "bidirectional")], &[&a], &[&target]);
        let _ = infer("Broadcast", "opset3", &[("mode", "numpy")], &[&a], &[&target]);
    }

    #[test]
    fn pads_and_slices(dims in dims(2), pads in prop::array::uniform4(number()), step in number()) {
        let size = |i: usize| dims[i] as i128 + i128::from(pads[i]) + i128::from(pads[i + 2]);
        let (begin, end) = (&pads[..2], &pads[2..]);
        for mode in ["constant", "edge", "reflect", "symmetric"] {
            let found = infer("Pad", "opset12", &[("pad_mode", mode)], &[&dims], &[begin, end]);
            right(found, &[size(0), size(1)]);
        }
        let _ = infer("Slice", "opset8", &[], &[&dims], &[begin, end, &[step, -1], &[1, 0]]);
        let masks = [("begin_mask", "0,0"), ("end_mask", "0,0"), ("shrink_axis_mask", "0,1")];
        let _ = infer("StridedSlice", "opset1", &masks, &[&dims], &[begin, end, &[step, 1]]);
        let _ = infer("Roll", "opset7", &[], &[&dims], &[begin, &[0, 1]]);
    }

    #[test]
    fn reshapes(dims in dims(1..4), target in prop::collection::vec(number(), 1..4), zero in any::<bool>()) {
        let zero = zero.to_string();
        let found = infer("Reshape", "opset1", &[("special_zero", &zero)], &[&dims], &[&target]);
        let exact = Shape::from(dims.clone()).elements();
        if let (Some(found), Some(count)) = (found, exact)
            && count as i128 <= LARGEST
        {
            prop_assert_eq!(found.elements(), Some(count));
        }
        let _ = infer("Unsqueeze", "opset1", &[], &[&dims], &[&target]);
        let _ = infer("Squeeze", "opset1", &[], &[&dims], &[&target]);
        let _ = infer("VariadicSplit", "opset1", &[], &[&dims], &[&target[..1], &target]);
    }

    #[test]
    fn windows(
        image in dims(2),
        kernel in edge(),
        stride in edge(),
        dilation in edge(),
        pad in edge(),
        ceil in any::<bool>(),
        auto in prop::sample::select(vec!["explicit", "same_upper", "valid"]),
    ) {
        let (strides, dilations, pads) = (list(stride), list(dilation), list(pad));
        let kernels = list(kernel);
        let shared = [
            ("strides", &*strides),
            ("pads_begin", &*pads),
            ("pads_end", &*pads),
            ("auto_pad", auto),
        ];
        let whole = [&[2, 3], &image[..]].concat();
        let rounding = if ceil { "ceil" } else { "floor" };
        let pool = [&shared[..], &[("kernel", &*kernels), ("rounding_type", rounding)]].concat();
        let _ = infer("AvgPool", "opset1", &[&pool[..], &[("exclude-pad", "true")]].concat(), &[&whole], &[]);
        let _ = infer("MaxPool", "opset8", &[&pool[..], &[("dilations", &*dilations)]].concat(), &[&whole], &[]);
        let convolution = [&shared[..], &[("dilations", &*dilations)]].concat();
        let found = infer("Convolution", "opset1", &convolution, &[&whole, &[4, 3, kernel, kernel]], &[]);
        if auto == "explicit" && [kernel, stride, dilation].iter().all(|&n| n > 0) {
            let reach = (kernel as i128 - 1).checked_mul(dilation as i128).map(|n| n + 1);
            let out = |size: usize| {
                let room = size as i128 + 2 * pad as i128 - reach?;
                (room >= 0).then_some(room / stride as i128 + 1)
            };
            if let (Some(height), Some(width)) = (out(image[0]), out(image[1])) {
                right(found, &[2, 4, height, width]);
            } else {
                prop_assert!(found.is_none());
            }
        }
        let back = &[3, 4, kernel, kernel];
        let _ = infer("ConvolutionBackpropData", "opset1", &convolution, &[&whole, back], &[]);
        let _ = infer("GroupConvolution", "opset1", &convolution, &[&whole, &[3, 1, 1, kernel, 1]], &[]);
        let sizes = [("sizes", &*kernels), ("strides", &*strides), ("rates", &*dilations), ("auto_pad", "valid")];
        let _ = infer("ExtractImagePatches", "opset3", &sizes, &[&whole], &[]);
    }

    #[test]
    fn too_large_is_a_limit(
        a in edge().prop_filter("a size", |&a| a <= Dimension::LARGEST),
        b in edge().prop_filter("a size", |&b| b <= Dimension::LARGEST),
        n in number(),
        m in number(),
        block in 1usize..4,
    ) {
        let (x, y, z, w) = (a as i128, b as i128, i128::from(n), i128::from(m));
        let (list, int) = (|n: i64| Tensor::vector(&[n]), Tensor::scalar::<i64>);
        exactly(outcome("Concat", "opset1", &[("axis", "0")], &[&[a], &[b]], &[]), &[x + y]);
        let pad = [("pad_mode", "constant")];
        exactly(outcome("Pad", "opset12", &pad, &[&[a]], &[list(n), list(m)]), &[x + z + w]);
        let attributes = [("output_type", "i64")];
        let range = [int(n), int(m), int(1)];
        exactly(outcome("Range", "opset4", &attributes, &[], &range), &[(w - z).max(0)]);
        let factor = block as i128;
        let blocks = [("block_size", &*block.to_string()), ("mode", "blocks_first")];
        let data = [1, block * block, a, b];
        let found = outcome("DepthToSpace", "opset1", &blocks, &[&data], &[]);
        exactly(found, &[1, 1, x * factor, y * factor]);
        if n < 0 || m < 0 {
            return Ok(());
        }
        exactly(outcome("Tile", "opset1", &[], &[&[a]], &[list(n)]), &[x * z]);
        exactly(outcome("Broadcast", "opset3", &[], &[&[1]], &[list(n)]), &[z]);
        let pads = |n: i64| Tensor::vector(&[0, n]);
        let space = [Tensor::vector(&[1i64, 1]), pads(n), pads(m)];
        exactly(outcome("SpaceToBatch", "opset2", &[], &[&[1, a]], &space), &[1, x + z + w]);
        let eye = [int(n), int(m), int(0)];
        let attributes = [("output_type", "f32")];
        exactly(outcome("Eye", "opset9", &attributes, &[], &eye), &[z, w]);
        if n > 0 {
            let hot = [list(0), int(n), int(1), int(0)];
            exactly(outcome("OneHot", "opset1", &[("axis", "-1")], &[], &hot), &[1, z]);
        }
    }

    #[test]
    fn blocks_and_channels(dims in dims(4), block in edge(), numbers in prop::array::uniform4(number())) {
        let block = block.to_string();
        for (kind, opset) in [("DepthToSpace", "opset1"), ("SpaceToDepth", "opset1")] {
            let attributes = [("block_size", &*block), ("mode", "blocks_first")];
            let _ = infer(kind, opset, &attributes, &[&dims], &[]);
        }
        for kind in ["BatchToSpace", "SpaceToBatch"] {
            let _ = infer(kind, "opset2", &[], &[&dims], &[&numbers, &[0, 1, 0, 1], &numbers]);
        }
        let _ = infer("ShuffleChannels", "opset3", &[("axis", "1"), ("group", &*block)], &[&dims], &[]);
        let _ = infer("Split", "opset1", &[("num_splits", &*block)], &[&dims], &[&[1]]);
        let _ = infer("TopK", "opset1", &[("axis", "0"), ("mode", "max"), ("sort", "value")], &[&dims], &[&numbers[..1]]);
        let found = infer("Transpose", "opset1", &[], &[&dims], &[&[3, 1, 2, 0]]);
        right(found, &wide(&[dims[3], dims[1], dims[2], dims[0]]));
        let gathered = infer("Gather", "opset8", &[], &[&dims], &[&[0, 1], &[2]]);
        right(gathered, &wide(&[dims[0], dims[1], 2, dims[3]]));
        let _ = infer("MatMul", "opset1", &[("transpose_b", "true")], &[&dims, &dims], &[]);
        let _ = infer("ReduceSum", "opset1", &[("keep_dims", "false")], &[&dims], &[&[1, 2]]);
        let _ = infer("Col2Im", "opset15", &[], &[&dims[..3]], &[&numbers[..2], &numbers[2..]]);
        let _ = infer("Interpolate", "opset11", &[("mode", "nearest"), ("shape_calculation_mode", "sizes")], &[&dims], &[&numbers[..2], &[2, 3]]);
    }
}
