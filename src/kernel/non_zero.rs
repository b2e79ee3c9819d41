//! Where elements are not zero.

use smallvec::SmallVec;

use super::dispatch::{Lane, lane};
use super::index::Index;
use crate::tensor::Tensor;
use crate::tensor::convert::{BLOCK, Compute, widen};

/// Calls `f(position of the first, whether each is not zero)` for the elements, block by block. The
/// zero of strings is the empty one.
fn blocks(tensor: &Tensor, f: &mut dyn FnMut(usize, &[bool])) {
    match lane(tensor.element_type()) {
        Some(Lane::F32) => computed::<f32>(tensor, f),
        Some(Lane::F64) => computed::<f64>(tensor, f),
        Some(Lane::I32) => computed::<i32>(tensor, f),
        Some(Lane::I64) => computed::<i64>(tensor, f),
        Some(Lane::U64) => computed::<u64>(tensor, f),
        None => {
            let strings = tensor.as_strings().unwrap_or_default();
            let mut full = [false; BLOCK];
            for (i, block) in strings.chunks(BLOCK).enumerate() {
                for (full, text) in full.iter_mut().zip(block) {
                    *full = !text.is_empty();
                }
                f(i * BLOCK, &full[..block.len()]);
            }
        }
    }
}

fn computed<C: Compute>(tensor: &Tensor, f: &mut dyn FnMut(usize, &[bool])) {
    let (mut block, mut full) = ([C::default(); BLOCK], [false; BLOCK]);
    for start in (0..tensor.len()).step_by(BLOCK) {
        let len = BLOCK.min(tensor.len() - start);
        widen(tensor, start, &mut block[..len]);
        for (full, x) in full.iter_mut().zip(&block) {
            *full = *x != C::default();
        }
        f(start, &full[..len]);
    }
}

/// How many elements are not zero.
pub(crate) fn count(tensor: &Tensor) -> usize {
    let mut count = 0;
    blocks(tensor, &mut |_, full| {
        count += full.iter().map(|&x| usize::from(x)).sum::<usize>();
    });
    count
}

/// Writes the indices of the `count` elements that are not zero: all of the first axis, then all of
/// the second, and so on.
pub(crate) fn indices<I: Index>(tensor: &Tensor, count: usize, out: &mut [I]) {
    let Some((&last, outer)) = tensor.shape().split_last() else {
        return;
    };
    if count == 0 {
        return;
    }
    let mut axes: SmallVec<[&mut [I]; 6]> = out.chunks_exact_mut(count).collect();
    let Some(inner) = axes.pop() else { return };
    let mut place: SmallVec<[I; 6]> = SmallVec::from_elem(I::default(), outer.len());
    let mut row = 0..0;
    let mut found = 0;
    blocks(tensor, &mut |start, full| {
        let positions = (start..).zip(full).filter(|&(_, &full)| full);
        for (position, _) in positions {
            if !row.contains(&position) {
                let mut rest = position / last;
                row = rest * last..(rest + 1) * last;
                for (place, &size) in place.iter_mut().zip(outer).rev() {
                    *place = I::of(rest % size);
                    rest /= size;
                }
            }
            inner[found] = I::of(position - row.start);
            for (axis, &place) in axes.iter_mut().zip(&place) {
                axis[found] = place;
            }
            found += 1;
        }
    });
}
