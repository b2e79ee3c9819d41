//! PagedAttentionExtension, version `extension`: causal attention over a cache in blocks.
//!
//! <https://github.com/openvinotoolkit/openvino/blob/master/docs/articles_en/documentation/openvino-ir-format/operation-sets/operation-specs/internal/paged-attention.rst>
//!
//! The document's operation keeps the cache from call to call. Here nothing is kept: a call takes
//! the caches as they are given, puts the new keys and values behind the past ones (rounded to the
//! caches' type), attends, and leaves its inputs alone. New tokens therefore need no block of
//! their own. Without `write_kv_cache`, of which the document does not speak, the inputs `key` and
//! `value` only stand in for tokens that lie in the caches already.
//!
//! Not supported: quantised caches, rotation of cached keys, xattention, adaptive eviction, and
//! the three last inputs, of which the document does not speak either.

use serde::{Deserialize, Serialize};

use super::paged_call::Call;
use crate::op::{
    Input, Io, Op, OpError, Output, Outputs, bail, ensure, merge_types, same_dimension,
};
use crate::ops::floats::in_real;
use crate::tensor::{Dimension, ElementType, Tensor};

/// What an input may hold.
#[derive(Debug, Clone, Copy)]
enum Holds {
    Floats,
    /// Floats, or integers that stand for them.
    Cache,
    I32,
    U8,
}

use Holds::{Cache, Floats, I32, U8};

/// The inputs: the document's names, what they hold, and how many dimensions they may have.
const INPUTS: [(&str, Holds, &[usize]); 28] = [
    ("query", Floats, &[2]),
    ("key", Floats, &[2]),
    ("value", Floats, &[2]),
    ("key_cache", Cache, &[2, 3, 4, 5]),
    ("value_cache", Cache, &[2, 3, 4, 5]),
    ("past_lens", I32, &[1]),
    ("subsequence_begins", I32, &[1]),
    ("block_indices", I32, &[1]),
    ("block_indices_begins", I32, &[1]),
    ("scale", Floats, &[0, 1]),
    ("sliding_window", I32, &[0]),
    ("alibi_slopes", Floats, &[1]),
    ("max_context_len", I32, &[0]),
    ("score_aggregation_window", I32, &[0, 1]),
    ("rotated_block_indices", I32, &[1]),
    ("rotation_deltas", I32, &[1, 2]),
    ("rotation_trig_lut", Floats, &[1, 2]),
    ("xattention_threshold", Floats, &[0, 1]),
    ("xattention_block_size", I32, &[0]),
    ("xattention_stride", I32, &[0]),
    ("sinks", Floats, &[1, 4]),
    ("adaptive_rkv_start_size", I32, &[0]),
    ("adaptive_rkv_evictable_sizes", I32, &[1]),
    ("adaptive_rkv_diversity_block_set_indices", I32, &[1]),
    ("adaptive_rkv_diversity_block_set_indices_begins", I32, &[1]),
    ("token_type_ids", I32, &[1, 2]),
    ("qq_bias", U8, &[1]),
    ("qq_bias_begins", I32, &[1]),
];

pub(super) const QUERY: usize = 0;
pub(super) const KEY: usize = 1;
pub(super) const VALUE: usize = 2;
pub(super) const KEY_CACHE: usize = 3;
pub(super) const VALUE_CACHE: usize = 4;
pub(super) const PAST_LENS: usize = 5;
pub(super) const SUBSEQUENCE_BEGINS: usize = 6;
pub(super) const BLOCK_INDICES: usize = 7;
pub(super) const BLOCK_INDICES_BEGINS: usize = 8;
pub(super) const SCALE: usize = 9;
pub(super) const SLIDING_WINDOW: usize = 10;
pub(super) const ALIBI_SLOPES: usize = 11;
pub(super) const MAX_CONTEXT_LEN: usize = 12;
pub(super) const SCORE_WINDOW: usize = 13;
pub(super) const SINKS: usize = 20;
pub(super) const EVICTABLE_SIZES: usize = 22;

/// The document's name of an input.
pub(super) fn name(input: usize) -> &'static str {
    INPUTS[input].0
}

/// Causal attention over a cache in blocks.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct PagedAttention {
    write_kv_cache: bool,
}

impl Default for PagedAttention {
    fn default() -> Self {
        Self {
            write_kv_cache: true,
        }
    }
}

/// Checks the type and the rank of an input.
fn check(input: &Input<'_>, (name, holds, ranks): (&str, Holds, &[usize])) -> Result<(), OpError> {
    let ty = input.element_type;
    let fits = match holds {
        Floats => ty.is_float(),
        Cache => ty.is_float() || ty.is_integer(),
        I32 => ty == ElementType::I32,
        U8 => ty == ElementType::U8,
    };
    let wanted = match holds {
        Floats | Cache => "floats",
        I32 => "i32",
        U8 => "u8",
    };
    ensure!(fits || !ty.is_static(), "{name} must be {wanted}, got {ty}");
    ensure!(
        input.rank().is_none_or(|rank| ranks.contains(&rank)),
        "{name} must have one of {ranks:?} as its number of dimensions, got shape {}",
        input.shape
    );
    Ok(())
}

/// Checks an input that gives one number for each head, unless it is empty.
fn check_per_head(input: &Input<'_>, name: &str, heads: Option<usize>) -> Result<(), OpError> {
    let (Some(heads), Some(found)) = (heads, input.shape.elements().value()) else {
        return Ok(());
    };
    ensure!(
        found == 0 || found == heads,
        "{name} must have one number for each of {heads} heads, or none, got shape {}",
        input.shape
    );
    Ok(())
}

/// The product of two sizes divided by a third, when all are known.
///
/// # Errors
/// When nothing is left, or something is left over.
fn features(sizes: [Dimension; 3]) -> Result<Dimension, OpError> {
    for (size, input) in sizes.iter().zip(INPUTS) {
        ensure!(
            size.value() != Some(0),
            "{} must have features, got none",
            input.0
        );
    }
    let [Some(query), Some(key), Some(value)] = sizes.map(Dimension::value) else {
        return Ok(Dimension::range(1, None));
    };
    match query.checked_mul(value) {
        Some(product) if product % key == 0 => Ok((product / key).into()),
        _ => bail!("{query} features of query and {value} of value do not go with {key} of key"),
    }
}

/// Checks that the sizes of queries, keys and values are those of the heads in the caches, and
/// gives the number of heads of queries, if it is known. Only floats lie in caches as they are.
fn check_heads(inputs: &[Input<'_>], sizes: [Dimension; 3]) -> Result<Option<usize>, OpError> {
    let cache = |input: usize| match inputs[input].shape.dims() {
        Some(&[_, heads, _, length]) if inputs[input].element_type.is_float() => {
            Some((heads.value()?, length.value()?))
        }
        _ => None,
    };
    for (i, from) in [(KEY, KEY_CACHE), (VALUE, VALUE_CACHE)] {
        let (Some((heads, length)), Some(found)) = (cache(from), sizes[i].value()) else {
            continue;
        };
        ensure!(
            heads.checked_mul(length) == Some(found),
            "{} has {found} features, {} has {heads} heads of {length}",
            name(i),
            name(from)
        );
    }
    let (Some((kv_heads, length)), Some(query)) = (cache(KEY_CACHE), sizes[QUERY].value()) else {
        return Ok(None);
    };
    ensure!(
        length != 0 && query % length == 0 && kv_heads != 0 && query / length % kv_heads == 0,
        "query has {query} features, key_cache has {kv_heads} heads of {length}"
    );
    if let Some((heads, _)) = cache(VALUE_CACHE) {
        ensure!(
            heads == kv_heads,
            "key_cache has {kv_heads} heads, value_cache {heads}"
        );
    }
    Ok(Some(query / length))
}

/// How many cached tokens there are, which are no more than the table has room for.
fn past(inputs: &[Input<'_>]) -> Result<Dimension, OpError> {
    let Some(lens) = inputs[PAST_LENS].ranges() else {
        return Ok(Dimension::dynamic());
    };
    let lens = lens.iter().map(|len| len.to_dimension());
    let sum = lens.fold(Dimension::fixed(0), |sum, len| sum + len);
    let slots = match inputs[KEY_CACHE].shape.dims() {
        Some(&[_, _, slots, _]) if inputs[KEY_CACHE].element_type.is_float() => slots,
        _ => Dimension::dynamic(),
    };
    let room = inputs[BLOCK_INDICES].shape.elements() * slots;
    ensure!(
        room.max().is_none_or(|room| sum.min() <= room),
        "past_lens add up to {sum}, block_indices have room for {room}"
    );
    Ok(sum)
}

/// Checks what is given for each sequence.
fn check_sequences(inputs: &[Input<'_>]) -> Result<(), OpError> {
    let count = |input: usize| inputs[input].shape.elements().value();
    let Some(sequences) = count(PAST_LENS) else {
        return Ok(());
    };
    for input in [SUBSEQUENCE_BEGINS, BLOCK_INDICES_BEGINS] {
        if let Some(found) = count(input) {
            ensure!(
                found.checked_sub(1) == Some(sequences),
                "{} must have {sequences} + 1 elements, got {found}",
                name(input)
            );
        }
    }
    if let (Some(1), Some(found)) = (inputs[SCORE_WINDOW].rank(), count(SCORE_WINDOW)) {
        ensure!(
            found == 0 || found == sequences,
            "{} must be one number or have {sequences} elements, got {found}",
            name(SCORE_WINDOW)
        );
    }
    Ok(())
}

impl Op for PagedAttention {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        ensure!(
            inputs.len() == INPUTS.len(),
            "expected {} inputs, got {}",
            INPUTS.len(),
            inputs.len()
        );
        for (input, expected) in inputs.iter().zip(INPUTS) {
            check(input, expected)?;
        }
        let ty = merge_types(&inputs[..3])?;
        let [mut tokens, query] = inputs[QUERY].dims("query")?;
        let mut sizes = [query; 3];
        for input in [KEY, VALUE] {
            let [count, size] = inputs[input].dims(name(input))?;
            tokens = same_dimension(tokens, count, "the tokens of query, key and value")?;
            sizes[input] = size;
        }
        let features = features(sizes)?;
        let heads = check_heads(inputs, sizes)?;
        check_per_head(&inputs[ALIBI_SLOPES], name(ALIBI_SLOPES), heads)?;
        check_per_head(&inputs[SINKS], name(SINKS), heads)?;
        check_sequences(inputs)?;
        inputs[SCALE].expect_one(name(SCALE))?;
        let past = past(inputs)?;
        let diversity = match inputs[EVICTABLE_SIZES].shape.elements().value() {
            Some(0) => Dimension::fixed(0),
            _ => Dimension::dynamic(),
        };
        Ok([
            Output::new(ty, &[tokens, features][..]),
            Output::new(ty, &[tokens + past][..]),
            Output::new(ty, &[diversity][..]),
        ]
        .into_iter()
        .collect())
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [out, scores, _] = io.outputs else {
            bail!("expected 3 outputs, got {}", io.outputs.len());
        };
        let call = Call::new(io.inputs, self.write_kv_cache)?;
        if scores.len() != call.places {
            *scores = Tensor::zeros(scores.element_type(), [call.places])?;
        }
        in_real!(out.element_type(), T => call.attend::<T>(out, scores))
    }
}

#[cfg(test)]
#[path = "paged_attention_tests.rs"]
mod tests;
