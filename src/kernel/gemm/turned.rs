//! Products of few columns with the sides exchanged: vectors lie along what are rows of the result,
//! of which many fill them.

use rayon::prelude::*;
use smallvec::SmallVec;

use super::block::{Block, Side, Strip};
use super::lanes::dispatch;
use super::operand::write_together;
use super::part::{ends, parts_for};
use super::product::SMALL;
use super::size::TileSize;
use super::target::Target;
use super::{Lanes, Matrix, PackedRight, Panels};
use crate::kernel::scratch::with_scratch;
use crate::limits::Share;
use crate::op::Finish;

/// Rows of the result that a thread computes at a time, about: their sums lie in the nearest caches.
const ROWS: usize = 256;

/// Rows of the result that are turned at a time: these and their sums lie in the nearest cache.
const TURNED: usize = 64;

/// Elements above which the columns are packed by all threads.
const MUCH: usize = 1 << 15;

/// Whether a product of these sizes is faster with its sides exchanged: many of the places in its
/// vectors would be empty otherwise, and turning its result costs little beside its sums.
pub(crate) fn turns<T: Lanes>([m, k, n]: [usize; 3]) -> bool {
    let tile = TileSize::of::<T>(crate::kernel::simd::arch());
    let lanes = tile.lanes;
    let (straight, turned) = (n.next_multiple_of(lanes) * m, m.next_multiple_of(lanes) * n);
    n <= 8 * lanes && m >= 2 * lanes && k >= 64 && straight * 8 > turned * 9
}

/// `c = a * b`, where the columns of `turned` are the rows of `a`. The rows of `c` follow each other.
///
/// # Panics
/// When the sizes do not fit.
pub(crate) fn product_turned<T: Lanes>(
    turned: &PackedRight<T>,
    b: &dyn Panels<T>,
    c: &mut [T],
    alone: bool,
    finish: Option<Finish<'_, T>>,
) {
    let (m, k, n) = (turned.columns(), turned.rows(), b.columns());
    assert!(
        b.rows() == k && c.len() == m * n,
        "the sizes of a product fit"
    );
    if c.is_empty() || k == 0 {
        c.fill(T::zeroed());
        if let Some(finish) = finish {
            finish.part(0, c);
        }
        return;
    }
    let arch = turned.arch();
    let tile = TileSize {
        columns: turned.width(),
        ..TileSize::of::<T>(arch)
    };
    let work = m.saturating_mul(k).saturating_mul(n);
    let threads = match alone || work <= SMALL {
        true => 1,
        false => rayon::current_num_threads(),
    };
    let count = match threads {
        1 => 1,
        _ => parts_for(work, threads),
    };
    let count = count.max(m.div_ceil(ROWS)).next_multiple_of(threads);
    let ends = ends(m, tile.columns, count.min(m.div_ceil(tile.columns)));
    let mut rest = c;
    let parts = ends.windows(2).map(|ends| {
        let (part, others) = std::mem::take(&mut rest).split_at_mut((ends[1] - ends[0]) * n);
        rest = others;
        (ends[0], part)
    });
    let mut parts: SmallVec<[(usize, &mut [T]); 16]> = parts.collect();
    let terms = tile.terms(k);
    let tall = tile.along(n);
    with_scratch(n * k, |panels: &mut [T]| {
        let writers = if panels.len() > MUCH { threads } else { 1 };
        write_together(b, tall, panels, writers);
        let panels = &*panels;
        let part = |&mut (first_row, ref mut c): &mut (usize, &mut [T])| {
            let height = c.len() / n;
            with_scratch(c.len(), |sums: &mut [T]| {
                for first in (0..k).step_by(terms) {
                    let block = Block {
                        a: Side {
                            data: panels,
                            depth: k,
                            first,
                        },
                        height: tall,
                        rows: 0..n,
                        b: Strip::Packed(
                            Side {
                                first,
                                ..turned.side()
                            },
                            (&[], 0),
                        )
                        .into(),
                        columns: first_row..first_row + height,
                        width: tile.columns,
                        terms: terms.min(k - first),
                        target: &mut Target::Rows(sums, height),
                        origin: [0, 0],
                        add: first > 0,
                    };
                    dispatch(arch, block);
                }
                for (piece, c) in c.chunks_mut(TURNED * n).enumerate() {
                    let count = c.len() / n;
                    let sums = &sums[piece * TURNED..];
                    let sums = Matrix::with_strides(sums, n, count, [height, 1]);
                    sums.transposed().write(0..count, 0..n, n, c);
                }
            });
            if let Some(finish) = finish {
                finish.part(first_row * n, c);
            }
        };
        if threads == 1 {
            parts.iter_mut().for_each(part);
        } else {
            parts.par_iter_mut().with_max_len(1).share(part);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::super::product::run;
    use super::super::{How, Left, Right};
    use super::*;
    use crate::kernel::simd::arch;

    fn numbers(count: usize, step: usize) -> Vec<f32> {
        (0..count).map(|i| (i * step % 11) as f32 - 5.0).collect()
    }

    #[test]
    fn as_products_that_are_not_turned() {
        for [m, k, n] in [
            [33, 7, 1],
            [300, 600, 49],
            [64, 65, 12],
            [600, 300, 26],
            // More than `MUCH`, which all threads write.
            [80, 700, 49],
            [1700, 64, 9],
            [5, 3, 2],
        ] {
            let (a, b) = (numbers(m * k, 3), numbers(k * n, 7));
            let (a, b) = (Matrix::new(&a, m, k), Matrix::new(&b, k, n));
            let add = |at: usize, part: &mut [f32]| {
                for (i, x) in part.iter_mut().enumerate() {
                    *x += ((at + i) % 100) as f32;
                }
            };
            let how = How {
                finish: Some(&add),
                ..How::default()
            };
            let mut expected = vec![f32::NAN; m * n];
            run(
                arch(),
                Left::Matrix(a),
                Right::Matrix(b),
                &mut expected,
                how,
            );
            let turned = PackedRight::new(a.transposed()).expect("memory");
            for alone in [false, true] {
                let mut c = vec![f32::NAN; m * n];
                product_turned(&turned, &b, &mut c, alone, Some(&add));
                assert_eq!(c, expected, "{m} {k} {n}");
            }
        }
    }

    #[test]
    fn planes_that_fill_vectors_are_not_turned() {
        let lanes = TileSize::of::<f32>(arch()).lanes;
        // 49 where there are sixteen.
        let places = 3 * lanes + 1;
        assert!(turns::<f32>([512, 2048, places]));
        assert!(!turns::<f32>([64, 256, 4 * lanes]));
        assert!(!turns::<f32>([512, 2048, 49 * lanes]));
        assert!(!turns::<f32>([lanes, 2048, places]));
    }
}
