//! Overwrites elements that stay in their columns: each thread takes some columns, and looks at no updates
//! but theirs. Meanwhile the columns of a thread lie together, so that no two write to one line.

use std::ops::Range;

use rayon::prelude::*;

use super::moving::Word;
use super::scatter::{PARALLEL, Piece, Places};
use super::scratch::try_vec;
use crate::limits::Share;

/// How many updates there must be for each element that is moved there and back.
const OFTEN: usize = 2;

/// Elements that one thread puts back at a time.
const PART: usize = 1 << 15;

/// Some columns of the places of a slab, as if there were no others.
struct Columns<'a, P> {
    places: &'a P,
    columns: Range<usize>,
    rows: usize,
}

impl<P: Places> Places for Columns<'_, P> {
    fn slab(&self) -> usize {
        self.rows * self.columns.len()
    }

    fn updates(&self) -> usize {
        self.places.updates()
    }

    #[inline(always)]
    fn visit(&self, slab: usize, f: impl FnMut(usize, usize)) {
        self.places.visit_columns(slab, self.columns.clone(), f);
    }
}

/// Overwrites the only slab, if that is faster so and there is memory for it; otherwise nothing is done.
pub(super) fn overwrite<P: Places, T: Word>(
    places: &P,
    data: &[T],
    updates: &[T],
    out: &mut [T],
) -> bool {
    let threads = rayon::current_num_threads();
    let Some(width) = places.columns().filter(|&width| width >= threads) else {
        return false;
    };
    let pays = out.len() >= PARALLEL && updates.len() / OFTEN >= out.len();
    if threads == 1 || out.len() != places.slab() || !pays {
        return false;
    }
    let Ok(mut parts) = try_vec(T::default(), out.len()) else {
        return false;
    };
    let (rows, share) = (out.len() / width, width.div_ceil(threads));
    let columns = |i: usize| i * share..width.min((i + 1) * share);
    let all = parts.par_chunks_mut(rows * share).enumerate();
    all.with_max_len(1).share(|(i, part)| {
        let columns = columns(i);
        let lines = part.chunks_exact_mut(columns.len());
        for (line, data) in lines.zip(data.chunks_exact(width)) {
            line.clone_from_slice(&data[columns.clone()]);
        }
        let places = Columns {
            places,
            columns,
            rows,
        };
        let mut piece = Piece::whole(&places, 0, part);
        piece.each(|_, element, update| *element = updates[update].clone());
    });
    let some = (PART / width).max(1);
    let lines = out.par_chunks_mut(some * width).enumerate();
    lines.share(|(k, lines)| {
        for (i, part) in parts.chunks(rows * share).enumerate() {
            let columns = columns(i);
            let part = part.chunks_exact(columns.len()).skip(k * some);
            for (line, part) in lines.chunks_exact_mut(width).zip(part) {
                line[columns.clone()].clone_from_slice(part);
            }
        }
    });
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::scatter::Scatter;
    use crate::tensor::Tensor;

    #[test]
    fn the_last_update_stays_whatever_the_threads() {
        let (rows, width, more) = (10_007, 7, 21_013);
        let data: Vec<u32> = (0..70_049).collect();
        let updates: Vec<u32> = (1_000_000..1_147_091).collect();
        // Places are met many times, in another order in each column.
        let index = |i: usize| ((i / width * 7919 + i % width * 104_729) % (rows / 3)) as i32 - 5;
        let indices: Vec<i32> = (0..updates.len()).map(index).collect();
        let mut expected = data.clone();
        for (i, (&index, &update)) in indices.iter().zip(&updates).enumerate() {
            let row = usize::try_from(index).unwrap_or(rows - index.unsigned_abs() as usize);
            expected[row * width + i % width] = update;
        }
        let indices = Tensor::new([more, width], &indices).expect("a tensor");
        let shape = [rows, width];
        let scatter = Scatter::new(&shape, &indices, 0, true).expect("memory");
        for threads in 1..5 {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let mut out = vec![0; data.len()];
            let done = pool
                .expect("threads")
                .install(|| overwrite(&scatter, &data, &updates, &mut out));
            assert_eq!(done, threads > 1);
            assert!(!done || out == expected, "{threads} threads");
        }
        assert_eq!(scatter.met_outside(), None);
    }

    #[test]
    fn an_index_out_of_range_is_found() {
        let (rows, width) = (20_000, 4);
        let mut indices = vec![3i64; 2 * rows * width];
        indices[77] = 20_000;
        let indices = Tensor::new([2 * rows, width], &indices).expect("a tensor");
        let shape = [rows, width];
        let scatter = Scatter::new(&shape, &indices, 0, true).expect("memory");
        let (data, updates) = (vec![0u8; rows * width], vec![1u8; 2 * rows * width]);
        let mut out = data.clone();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
        let done = pool
            .expect("threads")
            .install(|| overwrite(&scatter, &data, &updates, &mut out));
        assert!(done);
        assert_eq!(scatter.met_outside(), Some(77));
    }
}
