//! Category `detection` of the specification.

mod anchors;
mod deformable_psroi_pooling;
mod detection_output;
mod experimental_detectron_detection_output;
mod experimental_detectron_generate_proposals_single_image;
mod experimental_detectron_prior_grid_generator;
mod experimental_detectron_roi_feature_extractor;
mod generate_proposals;
mod prior_box;
mod prior_box_clustered;
mod priors;
mod proposal;
mod psroi_pooling;
#[cfg(test)]
mod region_tests;
mod region_yolo;
mod regions;
mod reorg_yolo;
mod roi_align;
mod roi_align_rotated;
mod roi_pooling;

use crate::op::{OpDef, def, def_with};

use detection_output::DetectionOutput;
use experimental_detectron_detection_output::DetectronDetectionOutput;
use experimental_detectron_generate_proposals_single_image::GenerateProposalsSingleImage;
use experimental_detectron_prior_grid_generator::PriorGridGenerator;
use experimental_detectron_roi_feature_extractor::RoiFeatureExtractor;

pub(super) const OPS: &[OpDef] = &[
    def::<deformable_psroi_pooling::DeformablePsRoiPooling>("DeformablePSROIPooling", &[1]),
    def_with::<DetectionOutput>("DetectionOutput", &[1], detection_output::read_1),
    def_with::<DetectionOutput>("DetectionOutput", &[8], detection_output::read_8),
    def::<DetectronDetectionOutput>("ExperimentalDetectronDetectionOutput", &[6]),
    def::<GenerateProposalsSingleImage>("ExperimentalDetectronGenerateProposalsSingleImage", &[6]),
    def::<PriorGridGenerator>("ExperimentalDetectronPriorGridGenerator", &[6]),
    def::<RoiFeatureExtractor>("ExperimentalDetectronROIFeatureExtractor", &[6]),
    def::<generate_proposals::GenerateProposals>("GenerateProposals", &[9]),
    def_with::<prior_box::PriorBox>("PriorBox", &[1], prior_box::read_1),
    def::<prior_box::PriorBox>("PriorBox", &[8]),
    def::<prior_box_clustered::PriorBoxClustered>("PriorBoxClustered", &[1]),
    def::<proposal::Proposal>("Proposal", &[1]),
    def_with::<proposal::Proposal>("Proposal", &[4], proposal::read_4),
    def::<psroi_pooling::PsRoiPooling>("PSROIPooling", &[1]),
    def::<region_yolo::RegionYolo>("RegionYolo", &[1]),
    def::<reorg_yolo::ReorgYolo>("ReorgYolo", &[2]),
    def_with::<roi_align::RoiAlign>("ROIAlign", &[3], roi_align::read_3),
    def::<roi_align::RoiAlign>("ROIAlign", &[9]),
    def::<roi_align_rotated::RoiAlignRotated>("ROIAlignRotated", &[15]),
    def::<roi_pooling::RoiPooling>("ROIPooling", &[2]),
];
