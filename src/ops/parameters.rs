//! Further inputs of elementwise operations, which are broadcast to the first.

use crate::op::attrs::AutoBroadcastSpec;
use crate::op::broadcast::{alignment, broadcast};
use crate::op::{OpError, bail};
use crate::tensor::{PartialShape, Shape, Tensor};

/// The shape of the data, as far as it is known once a parameter is broadcast to it. Leading
/// dimensions of 1 that the data lacks do not count.
///
/// # Errors
/// When the parameter cannot be broadcast to the data; `what` names it.
pub(super) fn broadcast_onto(
    data: &PartialShape,
    parameter: &PartialShape,
    what: &str,
    spec: AutoBroadcastSpec,
) -> Result<PartialShape, OpError> {
    let shape = broadcast(data, parameter, spec)?;
    let (Some(dims), Some(own)) = (shape.dims(), data.dims()) else {
        return Ok(data.clone());
    };
    let (extra, dims) = dims.split_at(dims.len() - own.len());
    let same: Option<Vec<_>> = own
        .iter()
        .zip(dims)
        .map(|(own, &dim)| own.intersect(dim))
        .collect();
    match same {
        Some(same) if extra.iter().all(|dim| dim.contains(1)) => Ok(same.into_iter().collect()),
        _ => bail!("{what} of shape {parameter} cannot be broadcast to data of shape {data}"),
    }
}

/// The parameter, without leading dimensions that the data lacks, and the axis of the data where it
/// begins, once [`broadcast_onto`] accepted it.
pub(super) fn aligned(
    data: &Shape,
    parameter: &Tensor,
    spec: AutoBroadcastSpec,
) -> Result<(Tensor, usize), OpError> {
    let shape = parameter.shape();
    let extra = shape.rank().saturating_sub(data.rank());
    let parameter = match extra {
        0 => parameter.clone(),
        _ => parameter.with_shape(Shape::from(&shape[extra..]))?,
    };
    let [_, at] = alignment(data.rank(), parameter.shape().rank(), spec);
    Ok((parameter, at))
}
