//! Lengths of sequences, as many operations are given them.

use crate::kernel::scratch::{Reused, reused_room};
use crate::op::{OpError, bail};
use crate::tensor::Tensor;
use crate::tensor::convert::try_i64;

/// The lengths of sequences that have at most `most` steps.
///
/// # Errors
/// When one is negative or larger; `what` names them.
pub(super) fn lengths_in(
    what: &str,
    lengths: &Tensor,
    most: usize,
) -> Result<Reused<usize>, OpError> {
    let mut all = reused_room(lengths.len())?;
    for (i, n) in try_i64(lengths)?.into_iter().enumerate() {
        match usize::try_from(n) {
            Ok(length) if length <= most => all.push(length),
            _ => bail!("{what} {i} is {n}, expected 0 to {most}"),
        }
    }
    Ok(all)
}
