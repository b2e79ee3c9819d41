//! Category `sparse` of the specification.

mod embedding;
mod embedding_bag_offsets;
mod embedding_bag_packed;
mod embedding_segments_sum;
mod sparse_fill_empty_rows;
#[cfg(test)]
mod tests;

use crate::op::{OpDef, def, fixed};
use embedding_bag_offsets::EmbeddingBagOffsets;
use embedding_bag_packed::EmbeddingBagPacked;
use embedding_segments_sum::EmbeddingSegmentsSum;

pub(super) const OPS: &[OpDef] = &[
    def::<EmbeddingBagOffsets>("EmbeddingBagOffsets", &[15]),
    fixed("EmbeddingBagOffsetsSum", &[3], || {
        Box::new(EmbeddingBagOffsets::default())
    }),
    def::<EmbeddingBagPacked>("EmbeddingBagPacked", &[15]),
    fixed("EmbeddingBagPackedSum", &[3], || {
        Box::new(EmbeddingBagPacked::default())
    }),
    fixed("EmbeddingSegmentsSum", &[3], || {
        Box::new(EmbeddingSegmentsSum)
    }),
    def::<sparse_fill_empty_rows::SparseFillEmptyRows>("SparseFillEmptyRows", &[16]),
];
