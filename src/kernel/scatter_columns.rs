//! Scatters to a slab whose updates stay in their columns: each thread takes some columns, and looks at no
//! updates but theirs. Meanwhile the columns of a thread lie together, so that no two write to one line. One thread
//! takes some columns after the others where all are too many for the last cache.

use std::ops::Range;

use rayon::prelude::*;

use super::scatter::{PARALLEL, Places};
use super::scatter_piece::Piece;
use super::scratch::reused_any;
use crate::limits::Share;

/// How many updates there must be for each element that is moved there and back.
const OFTEN: usize = 2;

/// Bytes that one thread finds in the last cache again, of which others have their share.
const FAR: usize = 8 << 20;

/// One thread takes no fewer columns at a time: to read those of an update it fetches lines that hold others too.
const FEW: usize = 3;

/// Elements that one thread puts back at a time.
const PART: usize = 1 << 15;

/// As [`super::scatter::scatter`], if there is one slab, this is faster, and there is memory for it; otherwise
/// nothing is done. So many bytes of each element are written where updates meet it.
pub(super) fn scatter<P: Places, T: Clone + Default + Send + Sync + 'static>(
    places: &P,
    first: usize,
    out: &mut [T],
    bytes: usize,
    begin: impl Fn(usize, &mut [T]) + Sync,
    work: impl Fn(&mut Piece<'_, P, T>) + Sync,
) -> bool {
    let Some(width) = places.columns() else {
        return false;
    };
    let count = match rayon::current_num_threads() {
        1 => {
            let parts = out.len().saturating_mul(bytes).div_ceil(FAR);
            parts.min(width / FEW)
        }
        threads => threads,
    };
    let pays = out.len() >= PARALLEL && places.updates() / OFTEN >= out.len();
    if count <= 1 || count > width || out.len() != places.slab() || !pays {
        return false;
    }
    let Ok(mut parts) = reused_any(T::default(), out.len()) else {
        return false;
    };
    let (rows, share) = (out.len() / width, width.div_ceil(count));
    let columns = |i: usize| i * share..width.min((i + 1) * share);
    let all = parts.par_chunks_mut(rows * share).enumerate();
    all.with_max_len(1).share(|(i, part)| {
        let mut piece = Piece::of_columns(places, first, columns(i), part);
        piece.runs(first, &begin);
        work(&mut piece);
    });
    let some = (PART / width).max(1);
    let lines = out.par_chunks_mut(some * width).enumerate();
    lines.share(|(k, lines)| {
        for (i, part) in parts.chunks(rows * share).enumerate() {
            let columns: Range<usize> = columns(i);
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
    use crate::kernel::scatter::{Reduction, Scatter, reduce};
    use crate::tensor::Tensor;

    /// What becomes of `data` on so many threads, if columns are taken.
    fn overwritten(
        scatter: &Scatter,
        data: &[u32],
        updates: &[u32],
        threads: usize,
        bytes: usize,
    ) -> Vec<u32> {
        let mut out = vec![0; data.len()];
        let begin = |at: usize, run: &mut [u32]| run.copy_from_slice(&data[at..at + run.len()]);
        let work = |piece: &mut Piece<'_, Scatter, u32>| {
            piece.each(updates, |_, element, update| *element = *update);
        };
        let done = on(threads, || {
            super::scatter(scatter, 0, &mut out, bytes, begin, work)
        });
        assert_eq!(done, threads > 1 || bytes > size_of::<u32>());
        out
    }

    fn on<R: Send>(threads: usize, f: impl FnOnce() -> R + Send) -> R {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("threads").install(f)
    }

    /// Places are met many times, in another order in each column.
    fn indices([rows, width]: [usize; 2], count: usize) -> Vec<i32> {
        (0..count)
            .map(|i| ((i / width * 7919 + i % width * 104_729) % (rows / 3)) as i32 - 5)
            .collect()
    }

    #[test]
    fn the_last_update_stays_whatever_the_threads() {
        let (rows, width, more) = (10_007, 7, 21_013);
        let data: Vec<u32> = (0..70_049).collect();
        let updates: Vec<u32> = (1_000_000..1_147_091).collect();
        let indices = indices([rows, width], updates.len());
        let mut expected = data.clone();
        for (i, (&index, &update)) in indices.iter().zip(&updates).enumerate() {
            let row = usize::try_from(index).unwrap_or(rows - index.unsigned_abs() as usize);
            expected[row * width + i % width] = update;
        }
        let indices = Tensor::new([more, width], &indices).expect("a tensor");
        let shape = [rows, width];
        let scatter = Scatter::new(&shape, &indices, 0, true).expect("memory");
        // More bytes than there are, so that one thread takes some columns at a time.
        for (threads, bytes) in [(2, 4), (3, 4), (4, 4), (1, 200)] {
            let out = overwritten(&scatter, &data, &updates, threads, bytes);
            assert!(out == expected, "{threads} threads, {bytes} bytes");
        }
        overwritten(&scatter, &data, &updates, 1, 4);
        assert_eq!(scatter.met_outside(), None);
    }

    #[test]
    fn reductions_are_the_same_whatever_the_threads() {
        let (rows, width, more) = (10_007, 7, 21_013);
        let number = |i: usize| (i * 31 % 1009) as f32 / 64.0 - 8.0;
        let data: Vec<f32> = (0..rows * width).map(number).collect();
        // Some are what sums, or the greatest of numbers, begin with.
        let update = |i: usize| match i % 11 {
            0 => 0.0,
            1 => f32::NEG_INFINITY,
            _ => number(i * 7),
        };
        let updates: Vec<f32> = (0..more * width).map(update).collect();
        let indices = indices([rows, width], updates.len());
        let indices = Tensor::new([more, width], &indices).expect("a tensor");
        let data = Tensor::new([rows, width], &data).expect("a tensor");
        let updates = Tensor::new([more, width], &updates).expect("a tensor");
        let shape = [rows, width];
        let scatter = Scatter::new(&shape, &indices, 0, true).expect("memory");
        for reduction in [
            Reduction::Sum,
            Reduction::Prod,
            Reduction::Max,
            Reduction::Mean,
        ] {
            for init in [true, false] {
                let [one, three] = [1, 3].map(|threads| {
                    let mut out = data.clone();
                    on(threads, || {
                        reduce(&scatter, reduction, init, [&data, &updates], &mut out)
                    })
                    .expect("memory");
                    out
                });
                assert!(one.bytes() == three.bytes(), "{reduction:?}, {init}");
                assert!(one.bytes() != data.bytes(), "{reduction:?}, {init}");
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "looks at millions of elements")]
    fn one_thread_takes_some_columns_of_many_means() {
        let (rows, width) = (FAR / 8 / 6 + 1, 6);
        let more = 2 * rows;
        let data = vec![1.0f32; rows * width];
        let updates: Vec<f32> = (0..more * width).map(|i| (i % 1021) as f32).collect();
        let indices = indices([rows, width], updates.len());
        let (mut sums, mut counts) = (data.clone(), vec![1.0f32; data.len()]);
        for (i, (&index, &update)) in indices.iter().zip(&updates).enumerate() {
            let row = usize::try_from(index).unwrap_or(rows - index.unsigned_abs() as usize);
            sums[row * width + i % width] += update;
            counts[row * width + i % width] += 1.0;
        }
        let data = Tensor::new([rows, width], &data).expect("a tensor");
        let updates = Tensor::new([more, width], &updates).expect("a tensor");
        let indices = Tensor::new([more, width], &indices).expect("a tensor");
        let shape = [rows, width];
        let scatter = Scatter::new(&shape, &indices, 0, true).expect("memory");
        let mut out = data.clone();
        let inputs = [&data, &updates];
        on(1, || {
            reduce(&scatter, Reduction::Mean, true, inputs, &mut out)
        })
        .expect("memory");
        let out = out.as_slice::<f32>().expect("f32");
        let expected = sums.iter().zip(&counts).map(|(sum, count)| sum / count);
        assert!(out.iter().copied().eq(expected));
    }

    #[test]
    fn an_index_out_of_range_is_found() {
        let (rows, width) = (20_000, 4);
        let mut indices = vec![3i64; 2 * rows * width];
        indices[77] = 20_000;
        let indices = Tensor::new([2 * rows, width], &indices).expect("a tensor");
        let shape = [rows, width];
        let scatter = Scatter::new(&shape, &indices, 0, true).expect("memory");
        let (data, updates) = (vec![0; rows * width], vec![1; 2 * rows * width]);
        overwritten(&scatter, &data, &updates, 2, 4);
        assert_eq!(scatter.met_outside(), Some(77));
    }
}
