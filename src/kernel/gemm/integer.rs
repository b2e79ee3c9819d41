//! Products of matrices of integers, exact and modulo their size.

use rayon::prelude::*;

use super::{Matrix, Product};
use crate::kernel::scratch::{or_refuse, try_room};
use crate::limits::Share;

/// Columns whose sums stay in the nearest cache.
const TILE: usize = 512;

macro_rules! integer_product {
    ($($T:ty),+) => {
        $(impl Product for $T {
            const ZERO: Self = 0;
            const SMALL: usize = 1 << 18;

            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            fn product(a: Matrix<'_, Self>, b: Matrix<'_, Self>, c: &mut [Self], accumulate: bool) {
                multiply(a, b, c, accumulate);
            }
        })+
    };
}

integer_product!(i32, i64);

/// `c = a * b` or `c += a * b`.
fn multiply<T: Product>(a: Matrix<'_, T>, b: Matrix<'_, T>, c: &mut [T], accumulate: bool) {
    let (m, k, n) = (a.rows, a.columns, b.columns);
    assert!(
        b.rows == k && c.len() == m * n,
        "the sizes of a product fit"
    );
    if c.is_empty() {
        return;
    }
    let packed: Vec<T>;
    // Its lines are walked along the columns.
    let (data, stride) = if b.column_stride == 1 || k == 0 {
        (b.data, b.row_stride)
    } else {
        let Some(mut memory) = or_refuse(try_room(k * n)) else {
            return;
        };
        for l in 0..k {
            memory.extend((0..n).map(|j| b.data[l * b.row_stride + j * b.column_stride]));
        }
        packed = memory;
        (&packed[..], n)
    };
    let row = |(i, out): (usize, &mut [T])| {
        if !accumulate {
            out.fill(T::ZERO);
        }
        for (tile, out) in out.chunks_mut(TILE).enumerate() {
            for l in 0..k {
                let factor = a.data[i * a.row_stride + l * a.column_stride];
                let line = &data[l * stride + tile * TILE..][..out.len()];
                for (out, &x) in out.iter_mut().zip(line) {
                    *out = out.plus(factor.times(x));
                }
            }
        }
    };
    if m.saturating_mul(n).saturating_mul(k) <= T::SMALL {
        c.chunks_mut(n).enumerate().for_each(row);
    } else {
        c.par_chunks_mut(n).enumerate().share(row);
    }
}
