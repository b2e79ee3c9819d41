//! Category `sequence` of the specification.

mod one_hot;
mod scaled_dot_product_attention;

use crate::op::{OpDef, def, def_with};

pub(super) const OPS: &[OpDef] = &[
    def_with::<one_hot::OneHot>("OneHot", &[1], one_hot::read_1),
    def::<one_hot::OneHot>("OneHot", &[16]),
    def::<scaled_dot_product_attention::ScaledDotProductAttention>(
        "ScaledDotProductAttention",
        &[13],
    ),
];
