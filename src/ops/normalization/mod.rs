//! Category `normalization` of the specification.

mod axes;
mod batch_norm_inference;
mod grn;
mod group_normalization;
mod lrn;
mod mvn;
mod normalize_l2;
mod rms;
#[cfg(test)]
mod tests;

pub(crate) use rms::Rms;

use crate::op::{OpDef, def, def_with};

pub(super) const OPS: &[OpDef] = &[
    def_with::<batch_norm_inference::BatchNormInference>(
        "BatchNormInference",
        &[1],
        batch_norm_inference::read_1,
    ),
    def::<batch_norm_inference::BatchNormInference>("BatchNormInference", &[5]),
    def::<grn::Grn>("GRN", &[1]),
    def::<group_normalization::GroupNormalization>("GroupNormalization", &[12]),
    def::<lrn::Lrn>("LRN", &[1]),
    def::<mvn::Mvn2>("MVN", &[2]),
    def::<mvn::Mvn>("MVN", &[6]),
    def::<normalize_l2::NormalizeL2>("NormalizeL2", &[1]),
    def::<rms::Rms>("RMS", &[]).outside("ie_internal_opset"),
];
