//! Operations that sum floats: reductions, products, convolutions, normalisations.

use ovir::tensor::{ElementType, Tensor};

use super::catalogue::window;
use super::grow::{Draft, Grower, layer, list};
use super::recipe::{Layer, Step, Value};

fn axes_of(g: &mut Grower<'_>, value: Value) -> Value {
    let rank = g.dims(value).len();
    let axes = g.axes(rank);
    g.ints(&axes)
}

pub(super) fn reduce(g: &mut Grower<'_>) -> Draft {
    let kind = g.of(&[
        "ReduceSum",
        "ReduceMean",
        "ReduceProd",
        "ReduceL1",
        "ReduceL2",
    ]);
    let value = if g.one_in(4) {
        g.number()
    } else {
        g.float(0..=5)
    };
    let axes = axes_of(g, value);
    let keep = g.one_in(2);
    Some(layer(kind, &[value, axes]).with("keep_dims", keep))
}

pub(super) fn reduce_exactly(g: &mut Grower<'_>) -> Draft {
    let logical = g.one_in(3);
    let value = if logical { g.boolean() } else { g.number() };
    let kind = match logical {
        true => g.of(&["ReduceLogicalAnd", "ReduceLogicalOr"]),
        false => g.of(&["ReduceMax", "ReduceMin"]),
    };
    let axes = axes_of(g, value);
    let keep = g.one_in(2);
    Some(layer(kind, &[value, axes]).with("keep_dims", keep))
}

/// The other operand of a product, and whether it is transposed.
fn factor(g: &mut Grower<'_>, ty: ElementType, dims: &[usize], transposed: bool) -> (Value, bool) {
    let rank = dims.len();
    let depth = dims[if transposed && rank > 1 {
        rank - 2
    } else {
        rank - 1
    }];
    let columns = g.of(&[1, 2, 3, 5, 8, 16, 17, 33]);
    let turned = g.one_in(2);
    let mut shape = if turned {
        vec![columns, depth]
    } else {
        vec![depth, columns]
    };
    if rank > 2 && g.one_in(2) {
        let batch = if g.one_in(3) { 1 } else { dims[rank - 3] };
        shape.insert(0, batch);
    }
    (g.new_value(ty, &shape), turned)
}

pub(super) fn matmul(g: &mut Grower<'_>) -> Draft {
    let value = g.pick(
        |o, d| !d.is_empty() && o.element_type.is_float(),
        ElementType::F32,
        2,
    );
    let transposed = g.one_in(4);
    let (ty, dims) = (g.ty(value), g.dims(value));
    let (other, turned) = factor(g, ty, &dims, transposed);
    let made = layer("MatMul", &[value, other]);
    Some(
        made.with("transpose_a", transposed)
            .with("transpose_b", turned),
    )
}

/// A product with weights stored narrowly: Convert, maybe Subtract and Multiply, then MatMul.
pub(super) fn stored_weights(g: &mut Grower<'_>) -> Draft {
    let value = g.pick(
        |o, d| d.len() >= 2 && o.element_type == ElementType::F32,
        ElementType::F32,
        2,
    );
    let dims = g.dims(value);
    let (depth, columns) = (*dims.last()?, g.of(&[1, 4, 8, 17, 32]));
    let narrow = g.of(&[
        ElementType::F16,
        ElementType::Bf16,
        ElementType::I8,
        ElementType::U8,
        ElementType::I4,
        ElementType::U4,
    ]);
    let turned = g.one_in(2);
    let shape = if turned {
        [columns, depth]
    } else {
        [depth, columns]
    };
    let scales = if turned { [columns, 1] } else { [1, columns] };
    let weights = g.constant(narrow, &shape);
    let mut wide = g.push_layer(layer("Convert", &[weights]).with("destination_type", "f32"))?;
    if narrow.is_integer() && g.one_in(2) {
        let zero = g.constant(narrow, &scales);
        let zero = g.push_layer(layer("Convert", &[zero]).with("destination_type", "f32"))?;
        wide = g.push_layer(layer("Subtract", &[wide, zero]))?;
    }
    if narrow.is_integer() {
        let scale = g.constant(ElementType::F32, &scales);
        wide = g.push_layer(layer("Multiply", &[wide, scale]))?;
    }
    Some(
        layer("MatMul", &[value, wide])
            .with("transpose_a", false)
            .with("transpose_b", turned),
    )
}

pub(super) fn attention(g: &mut Grower<'_>) -> Draft {
    let ty = g.float_type();
    let (batch, heads, queries, keys) = (
        1 + g.below(2),
        1 + g.below(3),
        1 + g.below(9),
        1 + g.below(9),
    );
    let (size, out) = (g.of(&[1, 4, 8, 16]), g.of(&[1, 4, 8, 16]));
    let query = g.new_value(ty, &[batch, heads, queries, size]);
    let key = g.new_value(ty, &[batch, heads, keys, size]);
    let value = g.new_value(ty, &[batch, heads, keys, out]);
    let mut inputs = vec![query, key, value];
    if g.one_in(2) {
        let mask = if g.one_in(2) {
            ElementType::Boolean
        } else {
            ty
        };
        inputs.push(g.new_value(mask, &[queries, keys]));
    }
    let causal = g.one_in(2);
    Some(layer("ScaledDotProductAttention", &inputs).with("causal", causal))
}

/// Attention as exporters write it out.
pub(super) fn attention_by_parts(g: &mut Grower<'_>) -> Draft {
    let (heads, queries, size) = (1 + g.below(3), 1 + g.below(9), g.of(&[4, 8, 16]));
    let ty = ElementType::F32;
    let order = Tensor::vector(&[0i64, 2, 1, 3]);
    let split: [Option<Value>; 3] = std::array::from_fn(|_| {
        let value = g.new_value(ty, &[1, queries, heads, size]);
        let order = g.tensor(order.clone());
        g.push_layer(layer("Transpose", &[value, order]))
    });
    let [query, key, value] = split;
    let product = layer("MatMul", &[query?, key?]).with("transpose_b", true);
    let mut scores = g.push_layer(product)?;
    let scale = g.scalar(ty, 0.25);
    scores = g.push_layer(layer("Multiply", &[scores, scale]))?;
    if g.one_in(2) {
        let mask = g.new_value(ty, &[1, 1, queries, queries]);
        scores = g.push_layer(layer("Add", &[scores, mask]))?;
    }
    let shares = g.push_layer(layer("SoftMax", &[scores]).with("axis", -1))?;
    let joined = g.push_layer(layer("MatMul", &[shares, value?]))?;
    let order = g.tensor(order);
    Some(layer("Transpose", &[joined, order]))
}

/// An image of a few channels: one there is, or a new one.
fn image(g: &mut Grower<'_>) -> Value {
    let axes = g.of(&[2, 2, 2, 1, 3]);
    let ty = if g.one_in(4) {
        g.float_type()
    } else {
        ElementType::F32
    };
    let found = g.pick(
        |o, d| o.element_type == ElementType::F32 && (3..=5).contains(&d.len()),
        ElementType::F32,
        4,
    );
    if g.one_in(2) {
        return found;
    }
    let mut shape = vec![1 + g.below(2), g.of(&[1, 2, 3, 4, 8, 16])];
    shape.extend((0..axes).map(|_| 3 + g.below(7)));
    g.new_value(ty, &shape)
}

fn filter(g: &mut Grower<'_>, axes: usize) -> Vec<usize> {
    let size = g.of(&[1, 2, 3, 3]);
    vec![size; axes]
}

fn dilated(g: &mut Grower<'_>, made: Layer, axes: usize) -> Layer {
    let dilation = g.of(&[1, 1, 1, 2]);
    let made = window(g, made, axes);
    made.with("dilations", list(vec![dilation; axes]))
}

pub(super) fn convolution(g: &mut Grower<'_>) -> Draft {
    let value = image(g);
    let (ty, dims) = (g.ty(value), g.dims(value));
    let axes = dims.len() - 2;
    let outputs = g.of(&[1, 2, 4, 8, 16, 17]);
    let shape = [vec![outputs, dims[1]], filter(g, axes)].concat();
    let filters = if g.one_in(8) {
        g.new_value(ty, &shape)
    } else {
        g.constant(ty, &shape)
    };
    Some(dilated(g, layer("Convolution", &[value, filters]), axes))
}

pub(super) fn group_convolution(g: &mut Grower<'_>) -> Draft {
    let value = image(g);
    let (ty, dims) = (g.ty(value), g.dims(value));
    let axes = dims.len() - 2;
    let groups = if g.one_in(2) { dims[1] } else { 2 };
    if groups == 0 || !dims[1].is_multiple_of(groups) {
        return None;
    }
    let shape = [
        vec![groups, 1 + g.below(2), dims[1] / groups],
        filter(g, axes),
    ]
    .concat();
    let filters = g.constant(ty, &shape);
    Some(dilated(
        g,
        layer("GroupConvolution", &[value, filters]),
        axes,
    ))
}

pub(super) fn deconvolution(g: &mut Grower<'_>) -> Draft {
    let value = image(g);
    let (ty, dims) = (g.ty(value), g.dims(value));
    let axes = dims.len() - 2;
    let shape = [vec![dims[1], 1 + g.below(4)], filter(g, axes)].concat();
    let filters = g.constant(ty, &shape);
    Some(dilated(
        g,
        layer("ConvolutionBackpropData", &[value, filters]),
        axes,
    ))
}

pub(super) fn max_pool(g: &mut Grower<'_>) -> Draft {
    let value = image(g);
    let axes = g.dims(value).len() - 2;
    let kernel = list(filter(g, axes));
    let rounding = g.of(&["floor", "ceil", "ceil_torch"]);
    let made = layer("MaxPool", &[value])
        .with("kernel", kernel)
        .with("rounding_type", rounding);
    Some(dilated(g, made, axes))
}

pub(super) fn avg_pool(g: &mut Grower<'_>) -> Draft {
    let value = image(g);
    let axes = g.dims(value).len() - 2;
    let kernel = list(filter(g, axes));
    let rounding = g.of(&["floor", "ceil", "ceil_torch"]);
    let exclude = g.one_in(2);
    let made = layer("AvgPool", &[value])
        .with("kernel", kernel)
        .with("rounding_type", rounding);
    Some(window(g, made.with("exclude-pad", exclude), axes))
}

pub(super) fn softmax(g: &mut Grower<'_>) -> Draft {
    let value = g.float(1..=5);
    let kind = g.of(&["SoftMax", "LogSoftmax"]);
    let rank = g.dims(value).len();
    let axis = g.axis(rank);
    Some(layer(kind, &[value]).with("axis", axis))
}

pub(super) fn normalize(g: &mut Grower<'_>) -> Draft {
    let value = g.float(2..=4);
    let axes = axes_of(g, value);
    Some(match g.below(4) {
        0 | 1 => {
            let (variance, inside) = (g.one_in(2), g.of(&["inside_sqrt", "outside_sqrt"]));
            layer("MVN", &[value, axes])
                .with("normalize_variance", variance)
                .with("eps", 0.01)
                .with("eps_mode", inside)
        }
        2 => {
            let mode = g.of(&["add", "max"]);
            layer("NormalizeL2", &[value, axes])
                .with("eps", 0.01)
                .with("eps_mode", mode)
        }
        _ => layer("LRN", &[value, axes])
            .with("alpha", 0.01)
            .with("beta", 0.75)
            .with("bias", 1)
            .with("size", 3),
    })
}

pub(super) fn batch_norm(g: &mut Grower<'_>) -> Draft {
    let value = g.float(2..=4);
    let (ty, dims) = (g.ty(value), g.dims(value));
    let channels = [dims[1]];
    let [gamma, beta, mean] = std::array::from_fn(|_| g.constant(ty, &channels));
    let variance = g.push_layer(layer("Abs", &[mean]))?;
    Some(layer("BatchNormInference", &[value, gamma, beta, mean, variance]).with("epsilon", 0.01))
}

pub(super) fn interpolate(g: &mut Grower<'_>) -> Draft {
    let value = g.pick(
        |o, d| d.len() == 4 && o.element_type == ElementType::F32,
        ElementType::F32,
        4,
    );
    let sizes = [g.between(1, 9), g.between(1, 9)];
    let (sizes, axes) = (g.ints(&sizes), g.ints(&[2, 3]));
    // Modes that choose one element may choose another after rounding: the value is exact then.
    let mode = g.of(&["linear", "linear_onnx", "cubic"]);
    let place = g.of(&[
        "half_pixel",
        "align_corners",
        "asymmetric",
        "pytorch_half_pixel",
    ]);
    Some(
        layer("Interpolate", &[value, sizes, axes])
            .with("mode", mode)
            .with("shape_calculation_mode", "sizes")
            .with("coordinate_transformation_mode", place),
    )
}

pub(super) fn einsum(g: &mut Grower<'_>) -> Draft {
    let (equation, left, right) = g.of(&[
        ("ij,jk->ik", [3, 4], [4, 5]),
        ("ij,kj->ki", [3, 4], [5, 4]),
        ("ij,ij->i", [3, 4], [3, 4]),
        ("ij,ij->", [3, 4], [3, 4]),
        ("ij,j...->i...", [3, 4], [4, 2]),
    ]);
    let ty = g.float_type();
    let inputs = [g.new_value(ty, &left), g.new_value(ty, &right)];
    Some(layer("Einsum", &inputs).with("equation", equation))
}

pub(super) fn cell(g: &mut Grower<'_>) -> Draft {
    let (kind, gates) = g.of(&[("LSTMCell", 4), ("GRUCell", 3), ("RNNCell", 1)]);
    let ty = ElementType::F32;
    let (batch, input, hidden) = (1 + g.below(3), 1 + g.below(9), g.of(&[1, 2, 8]));
    let mut inputs = vec![
        g.new_value(ty, &[batch, input]),
        g.new_value(ty, &[batch, hidden]),
    ];
    if kind == "LSTMCell" {
        inputs.push(g.new_value(ty, &[batch, hidden]));
    }
    inputs.push(g.constant(ty, &[gates * hidden, input]));
    inputs.push(g.constant(ty, &[gates * hidden, hidden]));
    inputs.push(g.constant(ty, &[gates * hidden]));
    Some(layer(kind, &inputs).with("hidden_size", hidden))
}

impl Grower<'_> {
    /// A layer in the middle of a draft.
    fn push_layer(&mut self, mut layer: Layer) -> Option<Value> {
        layer.rounded = true;
        self.push_step(Step::Layer(layer))
    }
}
