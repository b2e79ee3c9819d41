//! ScaledDotProductAttention-13: the attention of transformers.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/sequence/scaled-dot-product-attention.html>
//!
//! Floats narrower than `f32` are computed in `f32` and rounded once. A query that sees no key gives
//! NaN, as the formula does. The document does not know the sixth input, the sink: one more score
//! for each query, which takes its share of the softmax but has no value. The real runtime reads
//! it, broadcast to `[N, ..., L, 1]`.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::kernel::attention::{Attention, Broadcast, Mask, View};
use crate::kernel::gemm::Batch;
use crate::kernel::real::Real;
use crate::op::attrs::AutoBroadcastSpec;
use crate::op::broadcast::broadcast;
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure, merge_types};
use crate::ops::floats::{fill, in_real, real};
use crate::tensor::convert::convert;
use crate::tensor::{Dimension, ElementType, PartialShape, Shape, Tensor};

/// The attention of transformers.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct ScaledDotProductAttention {
    causal: bool,
}

/// The inputs; a mask only where it is not ignored.
pub(super) struct Inputs<'a, I> {
    pub(super) query: &'a I,
    pub(super) key: &'a I,
    pub(super) value: &'a I,
    pub(super) mask: Option<&'a I>,
    pub(super) scale: Option<&'a I>,
    pub(super) sink: Option<&'a I>,
}

/// A tensor seen with other dimensions than it has.
pub(super) struct Given<'a> {
    pub(super) tensor: &'a Tensor,
    pub(super) shape: Shape,
    pub(super) strides: Shape,
}

impl<'a> Given<'a> {
    /// A tensor as it is.
    pub(super) fn whole(tensor: &'a Tensor) -> Self {
        Self {
            tensor,
            shape: tensor.shape().clone(),
            strides: tensor.shape().strides().into_iter().collect(),
        }
    }
}

/// The batch dimensions, the rows and the columns of an input.
type Parts = (PartialShape, [Dimension; 2]);

fn parts(what: &str, input: &Input<'_>) -> Result<Parts, OpError> {
    let Some(dims) = input.shape.dims() else {
        return Ok((PartialShape::dynamic(), [Dimension::dynamic(); 2]));
    };
    match dims {
        [batch @ .., rows, columns] if !batch.is_empty() => Ok((batch.into(), [*rows, *columns])),
        _ => bail!(
            "the {what} must have at least 3 dimensions, got shape {}",
            input.shape
        ),
    }
}

fn expect_equal(what: &str, a: Dimension, b: Dimension) -> Result<(), OpError> {
    ensure!(a.compatible(b), "{what} differ: {a} and {b}");
    Ok(())
}

/// Checks what is broadcast to the scores, and brings its batch dimensions in.
fn join(
    what: &str,
    shape: &PartialShape,
    scores: [Dimension; 2],
    batch: PartialShape,
) -> Result<PartialShape, OpError> {
    let Some(dims) = shape.dims() else {
        return Ok(PartialShape::dynamic());
    };
    let own = &dims[dims.len().saturating_sub(2)..];
    for (&size, &to) in own.iter().rev().zip(scores.iter().rev()) {
        ensure!(
            size.contains(1) || size.compatible(to),
            "the {what} of shape {shape} cannot be broadcast to {} by {}",
            scores[0],
            scores[1]
        );
    }
    let own = PartialShape::from(&dims[..dims.len().saturating_sub(2)]);
    broadcast(&batch, &own, AutoBroadcastSpec::default())
}

impl ScaledDotProductAttention {
    fn inputs<'a, I>(&self, inputs: &'a [I]) -> Result<Inputs<'a, I>, OpError> {
        let [query, key, value, rest @ ..] = inputs else {
            bail!("expected 3 to 6 inputs, got {}", inputs.len());
        };
        ensure!(
            rest.len() <= 3,
            "expected 3 to 6 inputs, got {}",
            inputs.len()
        );
        Ok(Inputs {
            query,
            key,
            value,
            mask: rest.first().filter(|_| !self.causal),
            scale: rest.get(1),
            sink: rest.get(2),
        })
    }
}

fn types(inputs: &Inputs<'_, Input<'_>>) -> Result<ElementType, OpError> {
    let mask = inputs
        .mask
        .filter(|mask| mask.element_type != ElementType::Boolean);
    let same: Vec<Input<'_>> = [inputs.query, inputs.key, inputs.value]
        .into_iter()
        .chain(inputs.scale)
        .chain(inputs.sink)
        .chain(mask)
        .cloned()
        .collect();
    let ty = merge_types(&same)?;
    ensure!(
        ty.is_float() || !ty.is_static(),
        "the inputs must be floats, got {ty}"
    );
    Ok(ty)
}

/// The type and the shape of the output.
pub(super) fn infer(inputs: &Inputs<'_, Input<'_>>) -> Result<Output, OpError> {
    let ty = types(inputs)?;
    let (batch, [queries, length]) = parts("query", inputs.query)?;
    let (key_batch, [keys, key_length]) = parts("key", inputs.key)?;
    let (value_batch, [values, width]) = parts("value", inputs.value)?;
    expect_equal("the lengths of queries and keys", length, key_length)?;
    expect_equal("the numbers of keys and values", keys, values)?;
    let numpy = AutoBroadcastSpec::default();
    let mut batch = broadcast(&batch, &key_batch, numpy)?;
    batch = broadcast(&batch, &value_batch, numpy)?;
    if let Some(mask) = inputs.mask {
        ensure!(
            mask.rank() != Some(1),
            "the mask must be a scalar or have at least 2 dimensions, got shape {}",
            mask.shape
        );
        let keys = keys.intersect(values).unwrap_or(keys);
        batch = join("mask", &mask.shape, [queries, keys], batch)?;
    }
    if let Some(scale) = inputs.scale {
        scale.expect_at_most_1d("the scale")?;
        ensure!(
            scale.shape.elements().contains(1),
            "the scale must be one number, got shape {}",
            scale.shape
        );
    }
    if let Some(sink) = inputs.sink {
        batch = join("sink", &sink.shape, [queries, 1.into()], batch)?;
    }
    let shape = match batch.dims() {
        Some(batch) => batch.iter().copied().chain([queries, width]).collect(),
        None => PartialShape::dynamic(),
    };
    Ok(Output::new(ty, shape))
}

impl Op for ScaledDotProductAttention {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        Ok(smallvec::smallvec![infer(&self.inputs(inputs)?)?])
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let given: SmallVec<[Given<'_>; 4]> = io.inputs.iter().map(|t| Given::whole(t)).collect();
        let inputs = self.inputs(&given)?;
        let out = &mut io.outputs[0];
        if out.is_empty() {
            return Ok(());
        }
        let shape = out.shape().clone();
        in_real!(out.element_type(), T => attend::<T>(&inputs, self.causal, &shape, 1, out))
    }
}

/// The dimensions before the last two.
fn batch_of(shape: &[usize]) -> &[usize] {
    &shape[..shape.len().saturating_sub(2)]
}

/// Elements that are broadcast to the scores.
fn spread<'a, T>(tensor: &Tensor, data: &'a [T], batch: &[usize]) -> Broadcast<'a, T> {
    let shape = tensor.shape();
    let from_end = |back: usize| shape.len().checked_sub(back).map_or(1, |axis| shape[axis]);
    Broadcast {
        data,
        batch: Batch::new(batch_of(shape), batch),
        rows: from_end(2),
        columns: from_end(1),
    }
}

/// The elements of an input, in the type to compute in, as the input is seen.
fn view<'a, T: Real>(
    elements: &'a Tensor,
    given: &Given<'_>,
    batch: &[usize],
) -> Result<View<'a, T>, OpError> {
    Ok(View::new(
        elements.as_slice()?,
        &given.shape,
        &given.strides,
        batch,
    ))
}

/// Fills `out` with attention of this shape, `heads` side by side (see [`Attention::run`]).
pub(super) fn attend<T: Real>(
    inputs: &Inputs<'_, Given<'_>>,
    causal: bool,
    shape: &[usize],
    heads: usize,
    out: &mut Tensor,
) -> Result<(), OpError> {
    let batch = batch_of(shape);
    let wide = |given: Option<&Given<'_>>| given.map(|g| real::<T>(g.tensor)).transpose();
    let (query, key, value) = (
        real::<T>(inputs.query.tensor)?,
        real::<T>(inputs.key.tensor)?,
        real::<T>(inputs.value.tensor)?,
    );
    let boolean = |mask: &&Given<'_>| mask.tensor.element_type() == ElementType::Boolean;
    let bias = wide(inputs.mask.filter(|mask| !boolean(mask)))?;
    let (scale, sink) = (wide(inputs.scale)?, wide(inputs.sink)?);
    let (queries, length) = ends(&inputs.query.shape);
    let (keys, width) = ends(&inputs.value.shape);
    let mask = match (&bias, inputs.mask) {
        _ if causal => Mask::Causal,
        (Some(bias), _) => Mask::Bias(spread(bias, bias.as_slice()?, batch)),
        (None, Some(mask)) => Mask::Keep(spread(mask.tensor, mask.tensor.bytes(), batch)),
        (None, None) => Mask::None,
    };
    let attention = Attention {
        sizes: [queries, keys, length, width],
        query: view(&query, inputs.query, batch)?,
        key: view(&key, inputs.key, batch)?,
        value: view(&value, inputs.value, batch)?,
        mask,
        sink: match &sink {
            Some(sink) => Some(spread(sink, sink.as_slice()?, batch)),
            None => None,
        },
        scale: match &scale {
            Some(scale) => scale.as_slice::<T>()?[0],
            None => default_scale(length, out.element_type())?,
        },
    };
    fill(out, |out| {
        attention.run(out, heads);
        Ok(())
    })
}

/// `1 / sqrt(length)`, each step rounded to the element type, as the document has it.
pub(crate) fn default_scale<T: Real>(length: usize, ty: ElementType) -> Result<T, OpError> {
    let round = |x: T| -> Result<T, OpError> {
        if ty == T::TYPE {
            return Ok(x);
        }
        let narrow = convert(&Tensor::scalar(x), ty)?;
        Ok(convert(&narrow, T::TYPE)?.as_slice::<T>()?[0])
    };
    #[allow(clippy::cast_precision_loss)] // a length
    let length = round(T::of(length as f64))?;
    round(T::one() / round(length.sqrt())?)
}

/// The last two dimensions.
fn ends(shape: &[usize]) -> (usize, usize) {
    match *shape {
        [.., rows, columns] => (rows, columns),
        _ => (1, 1),
    }
}

#[cfg(test)]
#[path = "scaled_dot_product_attention_tests.rs"]
mod tests;
