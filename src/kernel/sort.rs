//! Sorts of long slices that end when the time is over.

use std::cmp::Ordering;

use rayon::prelude::*;

use super::scratch::try_vec;
use crate::limits::{self, Share};
use crate::op::OpError;

/// Elements that are sorted or merged between two looks at the time.
pub(crate) const PIECE: usize = 1 << 18;

/// Sorts by a total order: no two elements are equal, or nobody can tell them apart. Long slices are
/// shared out; ends with elements in any order when the time is over.
///
/// # Errors
/// When there is no memory for as many elements again.
pub(crate) fn sort<T: Copy + Send + Sync>(
    all: &mut [T],
    order: impl Fn(&T, &T) -> Ordering + Sync,
) -> Result<(), OpError> {
    sort_by_pieces(all, PIECE, order)
}

fn sort_by_pieces<T: Copy + Send + Sync>(
    all: &mut [T],
    piece: usize,
    order: impl Fn(&T, &T) -> Ordering + Sync,
) -> Result<(), OpError> {
    let Some(&first) = all.first().filter(|_| all.len() > piece) else {
        all.sort_unstable_by(order);
        return Ok(());
    };
    let mut other = try_vec(first, all.len())?;
    all.par_chunks_mut(piece)
        .share(|piece| piece.sort_unstable_by(&order));
    let (mut from, mut to) = (&mut *all, &mut other[..]);
    let (mut sorted, mut turned) = (piece, false);
    while sorted < from.len() {
        let pair = 2 * sorted;
        from.par_chunks(pair)
            .zip(to.par_chunks_mut(pair))
            .share(|(from, to)| {
                let (low, high) = from.split_at(sorted.min(from.len()));
                merge(low, high, to, piece, &order);
            });
        std::mem::swap(&mut from, &mut to);
        (sorted, turned) = (pair, !turned);
    }
    if turned {
        // The last merge went to the other memory.
        to.copy_from_slice(from);
    }
    Ok(())
}

/// Merges two sorted slices.
fn merge<'a, T: Copy>(
    mut low: &'a [T],
    mut high: &'a [T],
    out: &mut [T],
    piece: usize,
    order: &impl Fn(&T, &T) -> Ordering,
) {
    let watch = limits::watch();
    for out in out.chunks_mut(piece) {
        if watch.check().is_err() {
            return;
        }
        for out in out {
            let from = match (low.first(), high.first()) {
                (Some(a), Some(b)) if order(b, a) == Ordering::Less => &mut high,
                (Some(_), _) => &mut low,
                (None, _) => &mut high,
            };
            if let Some((&first, rest)) = from.split_first() {
                *out = first;
                *from = rest;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::limits::{CancelToken, Limits, under};

    proptest! {
        #[test]
        fn like_any_sort(mut all in prop::collection::vec(any::<u16>(), 0..300), piece in 1usize..40) {
            let mut expected = all.clone();
            expected.sort_unstable();
            sort_by_pieces(&mut all, piece, u16::cmp).expect("memory");
            prop_assert_eq!(all, expected);
        }
    }

    #[test]
    fn ends_early() {
        let token = CancelToken::new();
        let limits = Limits {
            cancel: Some(token.clone()),
            ..Limits::default()
        };
        token.cancel();
        let mut all: Vec<u32> = (0..1000).rev().collect();
        let compared = std::sync::atomic::AtomicUsize::new(0);
        let order = |a: &u32, b: &u32| {
            compared.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            a.cmp(b)
        };
        under(&limits, || sort_by_pieces(&mut all, 10, order)).expect("memory");
        assert_eq!(compared.into_inner(), 0);
    }
}
