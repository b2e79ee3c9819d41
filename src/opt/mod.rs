//! Compiled graphs: layers folded, joined and prepared, with the meaning of the model they come from.
//!
//! Each pass rewrites nodes where they stand: a node that takes over the work of earlier ones keeps
//! its place, so that producers stay before consumers, and what nobody needs any more is dropped at
//! the end. Passes of [`prepare`] depend on constants only and are done once; those of [`lower`]
//! look at shapes too, and are done again when a model is compiled for other shapes.

mod attention;
mod chain;
mod dead;
mod draft;
mod fold;
mod fuse;
mod joined;
mod operand;
mod pack;
mod rms;
mod rows;
mod sums;
mod trim;
mod weights;
#[cfg(test)]
mod written;

use draft::Draft;

use crate::graph::Graph;
#[cfg(feature = "cli")]
use crate::graph::Node;
use crate::graph::infer::Facts;

/// What passes may spend.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    /// Bytes of constants that are computed ahead.
    pub(crate) folded_bytes: u64,
}

/// Takes constants into the operations that use them.
pub(crate) fn prepare(graphs: &[Graph], facts: &Facts, budget: Budget) -> (Vec<Graph>, Facts) {
    let mut left = budget.folded_bytes;
    let mut drafts: Vec<Draft> = Draft::all(graphs, facts).collect();
    drafts.iter_mut().for_each(weights::weights);
    rows::rows(&mut drafts);
    for draft in &mut drafts {
        trim::trim(draft);
        fold::fold(draft, &mut left, &|_| false);
        pack::pack(draft);
    }
    Draft::finish(drafts)
}

/// Joins layers as far as shapes are known.
pub(crate) fn lower(graphs: &[Graph], facts: &Facts, budget: Budget) -> (Vec<Graph>, Facts) {
    let mut left = budget.folded_bytes;
    let drafts = Draft::all(graphs, facts).map(|mut draft| {
        fold::fold(&mut draft, &mut left, &|_| false);
        attention::attention(&mut draft);
        rms::rms(&mut draft);
        pack::pack(&mut draft);
        fuse::fuse(&mut draft);
        draft
    });
    Draft::finish(drafts.collect())
}

/// Computes ahead what follows from constants, up to this many bytes, but for the nodes that `keep`
/// names, and joins nothing.
#[cfg(feature = "cli")]
pub(crate) fn folded(
    graphs: &[Graph],
    facts: &Facts,
    mut bytes: u64,
    keep: &dyn Fn(&Node) -> bool,
) -> Vec<Graph> {
    let drafts = Draft::all(graphs, facts).map(|mut draft| {
        fold::fold(&mut draft, &mut bytes, keep);
        draft
    });
    Draft::finish(drafts.collect()).0
}
