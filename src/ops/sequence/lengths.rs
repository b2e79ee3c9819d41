//! Lengths of sequences, as many operations are given them.

use crate::kernel::scratch::try_collect_ok;
use crate::op::{OpError, bail};
use crate::tensor::Tensor;
use crate::tensor::convert::try_i64;

/// The lengths of sequences that have at most `most` steps.
///
/// # Errors
/// When one is negative or larger; `what` names them.
pub(super) fn lengths_in(what: &str, lengths: &Tensor, most: usize) -> Result<Vec<usize>, OpError> {
    let lengths = try_i64(lengths)?.into_iter().enumerate();
    try_collect_ok(lengths.map(|(i, n)| match usize::try_from(n) {
        Ok(length) if length <= most => Ok(length),
        _ => bail!("{what} {i} is {n}, expected 0 to {most}"),
    }))
}
