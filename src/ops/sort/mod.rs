//! Category `sort` of the specification.

mod search_sorted;
mod top_k;

use crate::op::{OpDef, def, def_with};

pub(super) const OPS: &[OpDef] = &[
    def::<search_sorted::SearchSorted>("SearchSorted", &[15]),
    def_with::<top_k::TopK>("TopK", &[1, 3], top_k::read_3),
    def::<top_k::TopK>("TopK", &[11]),
];
