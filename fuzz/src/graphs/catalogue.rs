//! The operations that graphs are made of, and functions of one value.

use ovir::tensor::ElementType;

use super::grow::{Draft, Grower, layer, list};
use super::{binary, bodies, movement, sums};

/// What an operation makes of rounding errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rounding {
    /// It passes them on.
    Smooth,
    /// It may make them large: it is given exact values only.
    Jumps,
    /// It makes some: it sums floats.
    Sums,
}

pub(super) type Row = (Rounding, fn(&mut Grower<'_>) -> Draft);

pub(super) const CATALOGUE: &[Row] = {
    use Rounding::{Jumps, Smooth, Sums};
    &[
        (Smooth, smooth),
        (Smooth, smooth),
        (Smooth, smooth),
        (Jumps, jumping),
        (Jumps, jumping),
        (Smooth, with_numbers),
        (Jumps, convert),
        (Jumps, cumulate),
        (Jumps, quantize),
        (Smooth, binary::arithmetic),
        (Smooth, binary::arithmetic),
        (Smooth, binary::arithmetic),
        (Jumps, binary::divisions),
        (Jumps, binary::compare),
        (Smooth, binary::logical),
        (Smooth, binary::bitwise),
        (Smooth, binary::select),
        (Smooth, binary::prelu),
        (Smooth, movement::transpose),
        (Smooth, movement::transpose),
        (Smooth, movement::reshape),
        (Smooth, movement::reshape),
        (Smooth, movement::squeeze),
        (Smooth, movement::unsqueeze),
        (Smooth, movement::concat),
        (Smooth, movement::split),
        (Smooth, movement::variadic_split),
        (Smooth, movement::gather),
        (Smooth, movement::gather_elements),
        (Smooth, movement::gather_nd),
        (Smooth, movement::scatter_update),
        (Smooth, movement::scatter_elements),
        (Smooth, movement::scatter_nd),
        (Smooth, movement::slice),
        (Smooth, movement::strided_slice),
        (Smooth, movement::tile),
        (Smooth, movement::broadcast),
        (Smooth, movement::pad),
        (Smooth, movement::reverse),
        (Smooth, movement::roll),
        (Smooth, movement::depth),
        (Smooth, movement::blocks),
        (Smooth, movement::shuffle),
        (Smooth, movement::reverse_sequence),
        (Smooth, movement::shape_of),
        (Jumps, movement::non_zero),
        (Jumps, movement::top_k),
        (Jumps, movement::unique),
        (Jumps, movement::one_hot),
        (Jumps, movement::bucketize),
        (Jumps, bodies::branches),
        (Jumps, bodies::loops),
        (Sums, sums::reduce),
        (Sums, sums::reduce),
        (Jumps, sums::reduce_exactly),
        (Sums, sums::matmul),
        (Sums, sums::matmul),
        (Sums, sums::stored_weights),
        (Sums, sums::stored_weights),
        (Sums, sums::attention),
        (Sums, sums::attention_by_parts),
        (Sums, sums::convolution),
        (Sums, sums::convolution),
        (Sums, sums::group_convolution),
        (Sums, sums::deconvolution),
        (Smooth, sums::max_pool),
        (Sums, sums::avg_pool),
        (Sums, sums::softmax),
        (Sums, sums::normalize),
        (Sums, sums::batch_norm),
        (Sums, sums::interpolate),
        (Sums, sums::einsum),
        (Sums, sums::cell),
    ]
};

/// Functions of one float without steps or poles.
fn smooth(g: &mut Grower<'_>) -> Draft {
    let kind = g.of(&[
        "Relu", "Sigmoid", "Tanh", "Erf", "Atan", "Asinh", "SoftPlus", "SoftSign", "HSwish",
        "HSigmoid", "Mish", "Gelu", "Abs", "Negative", "Swish",
    ]);
    let value = g.float(0..=5);
    let made = layer(kind, &[value]);
    Some(match kind {
        "Gelu" if g.one_in(2) => made.with("approximation_mode", "tanh"),
        _ => made,
    })
}

/// Functions of one value with steps, poles or steep places, as sine and cosine have for large numbers.
fn jumping(g: &mut Grower<'_>) -> Draft {
    let kind = g.of(&[
        "Exp", "Log", "Sqrt", "Floor", "Ceiling", "Round", "Sign", "Sin", "Cos", "Tan", "Acos",
        "Asin", "Acosh", "Cosh", "Sinh", "Atanh", "IsNaN", "IsInf", "IsFinite", "Abs", "Negative",
    ]);
    let value = if g.one_in(4) {
        g.number()
    } else {
        g.float(0..=5)
    };
    Some(layer(kind, &[value]))
}

/// Functions of one float with numbers beside it.
fn with_numbers(g: &mut Grower<'_>) -> Draft {
    let value = g.float(0..=5);
    let ty = g.ty(value);
    let number = |g: &mut Grower<'_>| g.between(-8, 24) as f64 / 8.0;
    let (one, other) = (number(g), number(g));
    Some(match g.below(5) {
        0 => layer("Elu", &[value]).with("alpha", one.abs()),
        1 => layer("Clamp", &[value])
            .with("min", one.min(other))
            .with("max", one.max(other)),
        2 => {
            let (alpha, beta) = (g.scalar(ty, one), g.scalar(ty, other));
            layer("Selu", &[value, alpha, beta])
        }
        3 => {
            let (alpha, beta) = (g.scalar(ty, one), g.scalar(ty, other));
            layer("HardSigmoid", &[value, alpha, beta])
        }
        _ => {
            let beta = g.scalar(ty, one);
            layer("Swish", &[value, beta])
        }
    })
}

fn convert(g: &mut Grower<'_>) -> Draft {
    let value = g.any();
    if g.one_in(4) {
        let like = g.any();
        return Some(layer("ConvertLike", &[value, like]));
    }
    let ty = g.element_type();
    Some(layer("Convert", &[value]).with("destination_type", ty))
}

fn cumulate(g: &mut Grower<'_>) -> Draft {
    let value = g.pick(
        |o, d| o.element_type.is_numeric() && !d.is_empty(),
        ElementType::F32,
        2,
    );
    let rank = g.dims(value).len();
    let axis = g.axis(rank);
    let axis = g.int(axis);
    let (exclusive, reverse) = (g.one_in(2), g.one_in(2));
    let made = layer("CumSum", &[value, axis]);
    Some(made.with("exclusive", exclusive).with("reverse", reverse))
}

fn quantize(g: &mut Grower<'_>) -> Draft {
    let value = g.float(1..=4);
    let ty = g.ty(value);
    let (low, high) = (g.scalar(ty, -1.0), g.scalar(ty, 1.5));
    let (out_low, out_high) = (g.scalar(ty, -2.0), g.scalar(ty, 2.0));
    let levels = g.of(&[2, 16, 255, 256]);
    let inputs = [value, low, high, out_low, out_high];
    Some(layer("FakeQuantize", &inputs).with("levels", levels))
}

/// A window's attributes for some spatial axes: strides, dilations, pads.
pub(super) fn window(
    g: &mut Grower<'_>,
    made: super::recipe::Layer,
    axes: usize,
) -> super::recipe::Layer {
    let draw = |g: &mut Grower<'_>, low, high| {
        list((0..axes).map(|_| g.between(low, high)).collect::<Vec<_>>())
    };
    let strides = draw(g, 1, 2);
    let (begin, end) = (draw(g, 0, 1), draw(g, 0, 1));
    let auto = g.of(&[
        "explicit",
        "explicit",
        "explicit",
        "same_upper",
        "same_lower",
        "valid",
    ]);
    made.with("strides", strides)
        .with("pads_begin", begin)
        .with("pads_end", end)
        .with("auto_pad", auto)
}
