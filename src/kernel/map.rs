//! Elementwise functions of one input.

use super::block::{Operand, blocks};
use super::simd::vectorize_mut;
use crate::op::{Added, AddedToPieces, Terms};
use crate::tensor::Tensor;
use crate::tensor::convert::{Compute, Native};

/// Computes `out` from the elements of `input`, which has its shape. `f` is given slices of equal
/// length.
pub(crate) fn map<C: Compute, O: Native>(
    input: &Tensor,
    out: &mut Tensor,
    f: &(dyn Fn(&[C], &mut [O]) + Sync),
) {
    let operand = Operand::flat(input);
    blocks::<C, O, 1>(&[operand], out, &|[input], out| f(input, out));
}

/// Writes a function of each element, in a loop for the vectors of the machine: `f` and what it calls
/// should be inlined always: a closure with that attribute, not a function by its name. It should own the
/// numbers that it takes (`move`): one that it borrows might be an element of `out`, for all that the compiler
/// knows, which then takes elements one by one.
#[inline(always)]
pub(crate) fn each<C: Copy, O>(x: &[C], out: &mut [O], f: impl Fn(C) -> O) {
    vectorize_mut(
        #[inline(always)]
        move || {
            for (out, &x) in out.iter_mut().zip(x) {
                *out = f(x);
            }
        },
    );
}

/// Elements of a whole vector, or of several.
const WHOLE: usize = 16;

/// Replaces each element by a function of its sum with what is added, as [`each`].
#[inline(always)]
pub(crate) fn each_sum(terms: Terms<'_, '_>, f: impl Fn(f32) -> f32) {
    match terms {
        Terms::Run(elements, Added { repeated, beside }) => vectorize_mut(
            #[inline(always)]
            move || {
                let (mut at, mut skip) = (0, repeated.skip);
                for &shift in repeated.values {
                    let len = (repeated.times - skip).min(elements.len() - at);
                    let now = &mut elements[at..][..len];
                    let beside = beside.map(|beside| &beside[at..][..len]);
                    run(now, shift, beside, &f);
                    (at, skip) = (at + len, 0);
                }
            },
        ),
        Terms::Pieces(pieces, AddedToPieces { each, beside }) => vectorize_mut(
            #[inline(always)]
            move || {
                for (i, piece) in pieces.iter_mut().enumerate() {
                    // Without one, every number stays what it is.
                    let shift = each.map_or(-0.0, |each| each[i]);
                    let beside = beside.map(|(beside, step)| &beside[i * step..][..piece.len()]);
                    run(piece, shift, beside, &f);
                }
            },
        ),
    }
}

/// Runs are short at times, and their last elements one by one would take as long as whole vectors: these
/// are the end of one more vector, taken before what it shares with others is replaced.
#[inline(always)]
fn run(elements: &mut [f32], shift: f32, beside: Option<&[f32]>, f: &impl Fn(f32) -> f32) {
    let ends = !elements.len().is_multiple_of(WHOLE);
    match elements.last_chunk::<WHOLE>().copied() {
        Some(mut last) if ends => {
            let beside_last = beside.and_then(|beside| beside.last_chunk::<WHOLE>());
            sums(&mut last, shift, beside_last.map(|last| &last[..]), f);
            let whole = elements.len() - elements.len() % WHOLE;
            let beside = beside.map(|beside| &beside[..whole]);
            sums(&mut elements[..whole], shift, beside, f);
            if let Some(place) = elements.last_chunk_mut() {
                *place = last;
            }
        }
        _ => sums(elements, shift, beside, f),
    }
}

#[inline(always)]
fn sums(elements: &mut [f32], shift: f32, beside: Option<&[f32]>, f: &impl Fn(f32) -> f32) {
    match beside {
        Some(beside) => {
            for (x, &y) in elements.iter_mut().zip(beside) {
                *x = f(*x + shift + y);
            }
        }
        None => {
            for x in elements {
                *x = f(*x + shift);
            }
        }
    }
}
