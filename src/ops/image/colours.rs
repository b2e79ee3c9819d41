//! What conversions of colours share: their tensors.

use crate::op::{Input, OpError, bail, ensure};
use crate::tensor::{Dimension, ElementType};

/// The dimensions of images `[N, H, W, C]` with as many channels, as far as they are known.
pub(super) fn dims(
    input: &Input<'_>,
    name: &str,
    channels: usize,
) -> Result<[Dimension; 3], OpError> {
    match input.shape.dims() {
        None => Ok([Dimension::dynamic(); 3]),
        Some(&[batch, height, width, last]) => {
            ensure!(
                last.contains(channels),
                "{name} must have {channels} channels in the last dimension, got shape {}",
                input.shape
            );
            Ok([batch, height, width])
        }
        Some(_) => bail!("{name} must have 4 dimensions, got shape {}", input.shape),
    }
}

pub(super) fn check_type(ty: ElementType) -> Result<(), OpError> {
    ensure!(
        ty == ElementType::U8 || ty.is_float() || !ty.is_static(),
        "images must be u8 or floats, got {ty}"
    );
    Ok(())
}

/// Sizes that are `times` as large as the parts of `of` parts that a size has.
///
/// # Errors
/// When it has no such parts.
pub(super) fn scaled(
    size: Dimension,
    of: usize,
    times: usize,
    name: &str,
) -> Result<Dimension, OpError> {
    let (least, most) = (size.min().div_ceil(of), size.max().map(|max| max / of));
    ensure!(
        most.is_none_or(|most| least <= most),
        "the {name} is {size}, expected a multiple of {of}"
    );
    let max = most.map(|most| most.saturating_mul(times));
    let scaled = Dimension::range(least.saturating_mul(times), max);
    Ok(if of == times {
        scaled.with_symbol(size.symbol())
    } else {
        scaled
    })
}

/// What two planes say of one size.
pub(super) fn agree(a: Dimension, b: Dimension, name: &str) -> Result<Dimension, OpError> {
    match a.intersect(b) {
        Some(size) => Ok(size),
        None => bail!("the planes do not agree on the {name}: {a} and {b}"),
    }
}
