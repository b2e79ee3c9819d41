//! The numbers of a tensor, piece by piece.

use std::borrow::Cow;

use rayon::prelude::*;

use crate::tensor::Tensor;
use crate::tensor::convert::{BLOCK, widen};

/// Elements that one thread counts at a time; whole bytes of every type.
const PIECE: usize = 1 << 16;

/// A tensor of numbers: a complex tensor as its parts. `None` for strings.
pub(super) fn numbers(tensor: &Tensor) -> Option<Cow<'_, Tensor>> {
    if tensor.element_type().class().is_some() {
        return Some(Cow::Borrowed(tensor));
    }
    tensor.complex_parts().map(Cow::Owned)
}

/// What `f` makes of each piece of a tensor, in the order of the pieces. It is given the first
/// element's position and the number of elements.
pub(super) fn map<R: Send>(elements: usize, f: impl Fn(usize, usize) -> R + Sync) -> Vec<R> {
    let piece = |index: usize| {
        let start = index * PIECE;
        f(start, PIECE.min(elements - start))
    };
    match elements.div_ceil(PIECE) {
        count @ 0..=1 => (0..count).map(piece).collect(),
        count => (0..count).into_par_iter().map(piece).collect(),
    }
}

/// The elements `start..start + len` of a tensor of numbers, a block at a time, with the position of
/// each block's first.
pub(super) fn blocks(tensor: &Tensor, start: usize, len: usize, mut f: impl FnMut(usize, &[f64])) {
    let mut block = [0f64; BLOCK];
    for at in (start..start + len).step_by(BLOCK) {
        let block = &mut block[..BLOCK.min(start + len - at)];
        widen(tensor, at, block);
        f(at, block);
    }
}
