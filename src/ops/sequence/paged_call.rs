//! The evaluation of PagedAttentionExtension: its tables read and checked, and each sequence
//! brought together.

use std::ops::Range;

use super::paged_attention::{
    ALIBI_SLOPES, BLOCK_INDICES, BLOCK_INDICES_BEGINS, EVICTABLE_SIZES, KEY, KEY_CACHE,
    MAX_CONTEXT_LEN, PAST_LENS, QUERY, SCALE, SCORE_WINDOW, SINKS, SLIDING_WINDOW,
    SUBSEQUENCE_BEGINS, VALUE, VALUE_CACHE, name,
};
use crate::kernel::paged::{Blocks, Run, Sequence};
use crate::kernel::real::Real;
use crate::kernel::scratch::{try_collect_ok, try_extend, try_push};
use crate::op::{OpError, bail, ensure};
use crate::ops::floats::{fill, real};
use crate::tensor::convert::{convert, one_i64, try_i64};
use crate::tensor::{ElementType, Tensor};

/// The inputs that must be empty. Those that only go with one of them are not read.
const UNSUPPORTED: [usize; 6] = [14, 17, EVICTABLE_SIZES, 25, 26, 27];

/// The new tokens of a sequence, and where its past ones lie.
#[derive(Debug)]
struct Part<'a> {
    tokens: Range<usize>,
    past: usize,
    blocks: &'a [Option<usize>],
    /// The first new token whose weights are added up.
    scored: usize,
}

/// One call, its integers read and checked.
pub(super) struct Call<'a> {
    inputs: &'a [&'a Tensor],
    write: bool,
    /// The block of each place of the table; none where nothing lies.
    table: Vec<Option<usize>>,
    begins: Vec<usize>,
    past: Vec<usize>,
    rows: Vec<usize>,
    score_windows: Vec<i64>,
    /// How many positions a token sees, up to its own.
    window: usize,
    /// The positions of all sequences.
    pub(super) places: usize,
}

/// A cache's blocks, heads, slots of a block and length of a row.
fn layout(input: usize, cache: &Tensor) -> Result<[usize; 4], OpError> {
    let ty = cache.element_type();
    if !matches!(
        ty,
        ElementType::F16 | ElementType::Bf16 | ElementType::F32 | ElementType::F64
    ) {
        let message = format!("{} of {ty} is not supported", name(input));
        return Err(OpError::unsupported(message));
    }
    cache.shape()[..].try_into().map_err(|_| {
        let shape = cache.shape();
        let message = format!(
            "{} of shape {shape} is not supported, only 4-D",
            name(input)
        );
        OpError::unsupported(message)
    })
}

/// Offsets that do not fall.
fn offsets(input: usize, tensor: &Tensor, most: usize) -> Result<Vec<usize>, OpError> {
    let values = try_i64(tensor)?;
    let mut before = 0;
    try_collect_ok(values.iter().map(|&value| {
        let offset = usize::try_from(value).ok();
        let offset = offset.filter(|offset| (before..=most).contains(offset));
        before = offset.ok_or_else(|| {
            let name = name(input);
            OpError::new(format!(
                "{name} must be from {before} to {most} here, got {value}"
            ))
        })?;
        Ok::<_, OpError>(before)
    }))
}

/// The block of each place of a table: -1 where nothing lies.
fn table(indices: &Tensor, blocks: usize) -> Result<Vec<Option<usize>>, OpError> {
    let indices = try_i64(indices)?;
    let blocks = indices.iter().map(|&index| match usize::try_from(index) {
        _ if index == -1 => Ok(None),
        Ok(block) if block < blocks => Ok(Some(block)),
        _ => bail!(
            "{} must be below the {blocks} blocks, or -1, got {index}",
            name(BLOCK_INDICES)
        ),
    });
    try_collect_ok(blocks)
}

fn past_lens(lens: &Tensor) -> Result<Vec<usize>, OpError> {
    let lens = try_i64(lens)?;
    let lens = lens.iter().map(|&len| {
        let negative = |_| OpError::new(format!("past_lens must not be negative, got {len}"));
        usize::try_from(len).map_err(negative)
    });
    try_collect_ok(lens)
}

impl<'a> Call<'a> {
    /// Reads the integers of a call; its shapes are inferred ones.
    ///
    /// # Errors
    /// When they do not go together, or an input is not supported.
    pub(super) fn new(inputs: &'a [&'a Tensor], write: bool) -> Result<Self, OpError> {
        for input in UNSUPPORTED {
            if !inputs[input].is_empty() {
                let message = format!("{} that is not empty is not supported", name(input));
                return Err(OpError::unsupported(message));
            }
        }
        let [blocks, _, slots, _] = layout(KEY_CACHE, inputs[KEY_CACHE])?;
        let [value_blocks, _, value_slots, _] = layout(VALUE_CACHE, inputs[VALUE_CACHE])?;
        ensure!(
            (blocks, slots) == (value_blocks, value_slots),
            "key_cache has {blocks} blocks of {slots}, value_cache {value_blocks} of {value_slots}"
        );
        let one = |input: usize| one_i64(inputs[input]).unwrap_or(0);
        let windows = [one(SLIDING_WINDOW), one(MAX_CONTEXT_LEN)];
        let windows = windows.map(|len| usize::try_from(len).ok().filter(|&len| len > 0));
        let call = Self {
            inputs,
            write,
            table: table(inputs[BLOCK_INDICES], blocks)?,
            begins: offsets(
                BLOCK_INDICES_BEGINS,
                inputs[BLOCK_INDICES_BEGINS],
                inputs[BLOCK_INDICES].len(),
            )?,
            past: past_lens(inputs[PAST_LENS])?,
            rows: offsets(
                SUBSEQUENCE_BEGINS,
                inputs[SUBSEQUENCE_BEGINS],
                inputs[QUERY].shape()[0],
            )?,
            score_windows: try_i64(inputs[SCORE_WINDOW])?.into_vec(),
            window: windows.into_iter().flatten().min().unwrap_or(usize::MAX),
            places: 0,
        };
        call.counted(slots)
    }

    /// Checks that the tables hold all tokens, and counts the positions.
    fn counted(mut self, slots: usize) -> Result<Self, OpError> {
        let tokens = self.inputs[QUERY].shape()[0];
        let ends = (self.rows.first().copied(), self.rows.last().copied());
        ensure!(
            ends == (Some(0), Some(tokens)),
            "{} must begin with 0 and end with the {tokens} tokens, got {:?}",
            name(SUBSEQUENCE_BEGINS),
            self.rows
        );
        let mut places = tokens;
        for i in 0..self.past.len() {
            let part = self.part(i);
            let held = part.past + if self.write { 0 } else { part.tokens.len() };
            let room = part.blocks.len().checked_mul(slots);
            ensure!(
                room.is_none_or(|room| held <= room),
                "sequence {i} has {held} tokens in the cache, its {} blocks hold {slots} each",
                part.blocks.len()
            );
            let sum = places.checked_add(part.past);
            places = sum.ok_or_else(|| OpError::limit("past_lens are too large"))?;
        }
        self.places = places;
        Ok(self)
    }

    fn part(&self, i: usize) -> Part<'_> {
        let tokens = self.rows[i]..self.rows[i + 1];
        let window = match self.score_windows[..] {
            [] => 0,
            [window] => window,
            ref each => each[i],
        };
        // All tokens for a window below 0.
        let window = usize::try_from(window).unwrap_or(usize::MAX);
        Part {
            past: self.past[i],
            blocks: &self.table[self.begins[i]..self.begins[i + 1]],
            scored: tokens.len().saturating_sub(window),
            tokens,
        }
    }

    /// Where the cached tokens lie that any new token sees, and the positions of all it sees.
    fn pages(&self, part: &Part<'_>, slots: usize) -> Result<(Vec<Run>, Vec<usize>), OpError> {
        let end = part.past + part.tokens.len();
        let held = if self.write { part.past } else { end };
        let first = (part.past + 1).saturating_sub(self.window);
        let (mut runs, mut places) = (Vec::new(), Vec::new());
        let mut next = 0_usize;
        for &block in part.blocks {
            let begin = next;
            next = next.saturating_add(slots);
            let seen = begin.max(first)..next.min(held);
            if let (Some(block), false) = (block, seen.is_empty()) {
                let slots = seen.start - begin..seen.end - begin;
                try_push(&mut runs, Run { block, slots })?;
                try_extend(&mut places, seen)?;
            }
        }
        try_extend(&mut places, held..end)?;
        Ok((runs, places))
    }

    /// For each head, what lies in `runs` of a cache and then the new tokens.
    fn gather<T: Real>(
        &self,
        cache: &Tensor,
        new: &Tensor,
        (part, runs, count): (&Part<'_>, &[Run], usize),
    ) -> Result<Tensor, OpError> {
        let ty = cache.element_type();
        let (heads, length) = (cache.shape()[1], cache.shape()[3]);
        let row = length * (ty.bits() / 8);
        let tokens = if self.write {
            part.tokens.clone()
        } else {
            0..0
        };
        let blocks = Blocks {
            bytes: cache.bytes(),
            heads,
            slots: cache.shape()[2],
            row,
        };
        let mut all = Tensor::zeros(ty, [heads, count, length])?;
        let new = &new.bytes()[tokens.start * heads * row..tokens.end * heads * row];
        blocks.gather(runs, new, all.bytes_mut());
        real::<T>(&all)
    }

    /// Fills the outputs: what the tokens attend to, and the sums of weights.
    pub(super) fn attend<T: Real>(
        &self,
        out: &mut Tensor,
        scores: &mut Tensor,
    ) -> Result<(), OpError> {
        let inputs = self.inputs;
        let query = real::<T>(inputs[QUERY])?;
        let (key_cache, value_cache) = (inputs[KEY_CACHE], inputs[VALUE_CACHE]);
        let key = convert(inputs[KEY], key_cache.element_type())?;
        let value = convert(inputs[VALUE], value_cache.element_type())?;
        let [scale, slopes, sinks] =
            [SCALE, ALIBI_SLOPES, SINKS].map(|input| real::<T>(inputs[input]));
        let (scale, slopes, sinks) = (scale?, slopes?, sinks?);
        let &[_, kv_heads, slots, length] = &key_cache.shape()[..] else {
            bail!("key_cache must be 4-D, got shape {}", key_cache.shape());
        };
        let heads = query.shape()[1] / length;
        let width = value_cache.shape()[3];
        fill(out, |out: &mut [T]| {
            fill(scores, |scores: &mut [T]| {
                scores.fill(T::zero());
                let mut sums = scores;
                for i in 0..self.past.len() {
                    let part = self.part(i);
                    let (runs, places) = self.pages(&part, slots)?;
                    let from = (&part, &runs[..], places.len());
                    let keys = self.gather::<T>(key_cache, &key, from)?;
                    let values = self.gather::<T>(value_cache, &value, from)?;
                    let sequence = Sequence {
                        heads,
                        kv_heads,
                        length,
                        width,
                        query: rows(query.as_slice()?, &part.tokens, heads * length),
                        keys: keys.as_slice()?,
                        values: values.as_slice()?,
                        places: &places,
                        past: part.past,
                        window: self.window,
                        scale: scale.as_slice()?[0],
                        slopes: Some(slopes.as_slice()?).filter(|all| !all.is_empty()),
                        sinks: Some(sinks.as_slice()?).filter(|all| !all.is_empty()),
                        scored: part.scored,
                    };
                    let row = heads * width;
                    let out = &mut out[part.tokens.start * row..part.tokens.end * row];
                    let (own, rest) = sums.split_at_mut(part.past + part.tokens.len());
                    sequence.run(out, own)?;
                    sums = rest;
                }
                Ok(())
            })
        })
    }
}

/// Some rows of a matrix.
fn rows<'a, T>(data: &'a [T], rows: &Range<usize>, columns: usize) -> &'a [T] {
    &data[rows.start * columns..rows.end * columns]
}
