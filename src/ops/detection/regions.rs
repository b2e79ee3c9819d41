//! What the operations that pool regions share.

use crate::op::{Input, OpError, bail, ensure, merge_types};
use crate::tensor::{Dimension, ElementType, PartialShape, Tensor};

/// Type and shape of the pooled regions: feature maps `[N, C, H, W]` and regions of `width` numbers
/// give `[regions, channels, height, width]`. Without `channels` there are those of the maps.
pub(super) fn infer(
    maps: &Input<'_>,
    regions: &Input<'_>,
    width: usize,
    channels: Option<usize>,
    pooled: [usize; 2],
) -> Result<(ElementType, [Dimension; 4]), OpError> {
    let ty = merge_types(&[maps.clone(), regions.clone()])?;
    ensure!(
        ty.is_float() || !ty.is_static(),
        "the feature maps must be floats, got {ty}"
    );
    let unknown = [Dimension::dynamic(); 4];
    let maps = match maps.shape.dims() {
        None => &unknown,
        Some(dims) => {
            ensure!(
                dims.len() == 4,
                "the feature maps must have 4 dimensions, got shape {}",
                maps.shape
            );
            dims
        }
    };
    let count = match regions.shape.dims() {
        None => Dimension::dynamic(),
        Some(&[count, size]) if size.contains(width) => count,
        Some(_) => bail!(
            "the regions must have shape [regions, {width}], got {}",
            regions.shape
        ),
    };
    let channels = channels.map_or(maps[1], Dimension::fixed);
    let pooled = pooled.map(Dimension::fixed);
    let out = [count, channels, pooled[0], pooled[1]];
    let some = PartialShape::from(&out[..]).elements().min() > 0;
    ensure!(
        !some || maps[2].max() != Some(0) && maps[3].max() != Some(0),
        "feature maps of shape {} have no elements to pool",
        PartialShape::from(maps)
    );
    Ok((ty, out))
}

/// A positive attribute.
pub(super) fn positive(name: &str, value: i64) -> Result<usize, OpError> {
    match usize::try_from(value) {
        Ok(size) if size > 0 => Ok(size),
        _ => bail!("{name} must be positive, got {value}"),
    }
}

/// The image that a region lies in.
///
/// # Errors
/// When there is no such image.
pub(super) fn image(region: usize, index: f64, images: usize) -> Result<usize, OpError> {
    let whole = index.trunc();
    ensure!(
        whole >= 0.0 && whole < images as f64,
        "the batch index of region {region} is {index}, expected one in 0..{images}"
    );
    Ok(whole as usize)
}

/// The images of regions that begin with their number, up to the first of -1, which ends the list,
/// as Proposal writes it.
///
/// # Errors
/// When a number is none of an image.
pub(super) fn images(regions: &Tensor, images: usize) -> Result<Vec<usize>, OpError> {
    let regions = crate::tensor::convert::convert(regions, ElementType::F64)?;
    let rows = regions.as_slice::<f64>()?.chunks_exact(5);
    let listed = rows.take_while(|region| region[0] != -1.0);
    let listed = listed.enumerate();
    listed
        .map(|(i, region)| image(i, region[0], images))
        .collect()
}
