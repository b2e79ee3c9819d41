//! Operations on two values that are broadcast.

use ovir::tensor::ElementType;

use super::grow::{Draft, Grower, layer};
use super::recipe::Value;

/// Another operand of the same type: a value there is, or one whose shape broadcasts.
fn operand(g: &mut Grower<'_>, value: Value) -> Value {
    let (ty, dims) = (g.ty(value), g.dims(value));
    if g.one_in(3) {
        return g.pick(|o, _| o.element_type == ty, ty, dims.len());
    }
    let from = g.below(dims.len() + 1);
    let mut shape = dims[from..].to_vec();
    for dim in &mut shape {
        if g.one_in(4) {
            *dim = 1;
        }
    }
    g.new_value(ty, &shape)
}

/// The operands in either order.
fn pair(g: &mut Grower<'_>, value: Value) -> [Value; 2] {
    let other = operand(g, value);
    if g.one_in(3) {
        [other, value]
    } else {
        [value, other]
    }
}

pub(super) fn arithmetic(g: &mut Grower<'_>) -> Draft {
    let kind = g.of(&[
        "Add",
        "Subtract",
        "Multiply",
        "Maximum",
        "Minimum",
        "SquaredDifference",
    ]);
    if kind == "Multiply" {
        g.multiplies();
    }
    let value = g.number();
    Some(layer(kind, &pair(g, value)))
}

pub(super) fn divisions(g: &mut Grower<'_>) -> Draft {
    let kind = g.of(&["Divide", "Mod", "FloorMod", "Power"]);
    let value = g.number();
    let made = layer(kind, &pair(g, value));
    let python = g.one_in(2);
    Some(if kind == "Divide" {
        made.with("m_pythondiv", python)
    } else {
        made
    })
}

pub(super) fn compare(g: &mut Grower<'_>) -> Draft {
    let kind = g.of(&[
        "Equal",
        "NotEqual",
        "Less",
        "LessEqual",
        "Greater",
        "GreaterEqual",
    ]);
    let value = g.any();
    Some(layer(kind, &pair(g, value)))
}

pub(super) fn logical(g: &mut Grower<'_>) -> Draft {
    let value = g.boolean();
    if g.one_in(4) {
        return Some(layer("LogicalNot", &[value]));
    }
    let kind = g.of(&["LogicalAnd", "LogicalOr", "LogicalXor"]);
    Some(layer(kind, &pair(g, value)))
}

pub(super) fn bitwise(g: &mut Grower<'_>) -> Draft {
    let value = g.integer();
    if g.one_in(4) {
        return Some(layer("BitwiseNot", &[value]));
    }
    let kind = g.of(&["BitwiseAnd", "BitwiseOr", "BitwiseXor"]);
    Some(layer(kind, &pair(g, value)))
}

pub(super) fn select(g: &mut Grower<'_>) -> Draft {
    let value = g.any();
    let [then, otherwise] = pair(g, value);
    let mut shape = g.dims(value);
    if !shape.is_empty() && g.one_in(2) {
        shape[0] = 1;
    }
    let condition = g.new_value(ElementType::Boolean, &shape);
    Some(layer("Select", &[condition, then, otherwise]))
}

pub(super) fn prelu(g: &mut Grower<'_>) -> Draft {
    g.multiplies();
    let value = g.float(2..=4);
    let (ty, dims) = (g.ty(value), g.dims(value));
    let slope = g.constant(ty, &[dims[1]]);
    Some(layer("PRelu", &[value, slope]))
}
