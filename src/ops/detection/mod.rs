//! Category `detection` of the specification.

mod deformable_psroi_pooling;
mod psroi_pooling;
#[cfg(test)]
mod region_tests;
mod regions;
mod roi_align;
mod roi_align_rotated;
mod roi_pooling;

use crate::op::{OpDef, def, def_with};

pub(super) const OPS: &[OpDef] = &[
    def::<deformable_psroi_pooling::DeformablePsRoiPooling>("DeformablePSROIPooling", &[1]),
    def::<psroi_pooling::PsRoiPooling>("PSROIPooling", &[1]),
    def_with::<roi_align::RoiAlign>("ROIAlign", &[3], roi_align::read_3),
    def::<roi_align::RoiAlign>("ROIAlign", &[9]),
    def::<roi_align_rotated::RoiAlignRotated>("ROIAlignRotated", &[15]),
    def::<roi_pooling::RoiPooling>("ROIPooling", &[2]),
];
