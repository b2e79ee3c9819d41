//! Category `sort` of the specification.

mod experimental_detectron_top_k_rois;
mod matrix_nms;
mod multiclass;
mod multiclass_nms;
mod nms_rotated;
mod non_max_suppression;
mod search_sorted;
mod suppression;
mod top_k;

use crate::op::{OpDef, def, def_with};

use experimental_detectron_top_k_rois::ExperimentalDetectronTopKRois;
use multiclass_nms::MulticlassNms;
use non_max_suppression::{self as nms, NonMaxSuppression};

pub(super) const OPS: &[OpDef] = &[
    def::<ExperimentalDetectronTopKRois>("ExperimentalDetectronTopKROIs", &[6]),
    def::<matrix_nms::MatrixNms>("MatrixNms", &[8]),
    def_with::<MulticlassNms>("MulticlassNms", &[8], multiclass_nms::read_8),
    def::<MulticlassNms>("MulticlassNms", &[9]),
    def::<nms_rotated::NmsRotated>("NMSRotated", &[13]),
    def_with::<NonMaxSuppression>("NonMaxSuppression", &[1], nms::read_1),
    def_with::<NonMaxSuppression>("NonMaxSuppression", &[3], nms::read_3),
    def_with::<NonMaxSuppression>("NonMaxSuppression", &[4], nms::read_4),
    def_with::<NonMaxSuppression>("NonMaxSuppression", &[5], nms::read_5),
    def::<NonMaxSuppression>("NonMaxSuppression", &[9]),
    def::<search_sorted::SearchSorted>("SearchSorted", &[15]),
    def_with::<top_k::TopK>("TopK", &[1, 3], top_k::read_3),
    def::<top_k::TopK>("TopK", &[11]),
];
