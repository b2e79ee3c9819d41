//! Reorders axes.

use smallvec::SmallVec;

use super::moving::{Mover, Odometer, Word, copy_run, for_rows};
use super::scratch::{or_refuse, reused};
use super::simd::vectorize_mut;
use crate::op::OpError;

type Sizes = SmallVec<[usize; 6]>;

/// The least rows one thread writes: several squares high.
const LEAST_ROWS: usize = 64;

/// A matrix with a side shorter than this is not cut into squares.
const NARROW: usize = 8;

/// Columns that are taken apart at a time: they stay in the nearest cache.
const AT_ONCE: usize = 1 << 10;

/// The side of the squares in which a matrix is transposed: what a cache line holds.
const fn side<T>() -> usize {
    match 64
        / if size_of::<T>() == 0 {
            1
        } else {
            size_of::<T>()
        } {
        n @ 8..=64 => n,
        _ => 8,
    }
}

/// A permutation of axes, with those that stay together merged.
#[derive(Debug)]
pub(crate) struct Transpose {
    /// The output's dimensions.
    dims: Sizes,
    /// The input's strides along them.
    strides: Sizes,
}

impl Transpose {
    /// The output's axis `i` is the input's axis `order[i]`.
    pub(crate) fn new(shape: &[usize], order: &[usize]) -> Self {
        let mut strides: SmallVec<[usize; 12]> = SmallVec::from_elem(1, shape.len());
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis].wrapping_mul(shape[axis]);
        }
        let mut merged = Self {
            dims: Sizes::new(),
            strides: Sizes::new(),
        };
        for &axis in order {
            let (dim, stride) = (shape[axis], strides[axis]);
            if dim == 1 {
                continue;
            }
            match (merged.dims.last_mut(), merged.strides.last_mut()) {
                (Some(last), Some(outer)) if *outer == dim.wrapping_mul(stride) => {
                    *last *= dim;
                    *outer = stride;
                }
                _ => {
                    merged.dims.push(dim);
                    merged.strides.push(stride);
                }
            }
        }
        merged
    }

    /// The innermost axis keeps its place: its lines are copied whole.
    fn lines<T: Word>(&self, data: &[T], line: usize, first: usize, out: &mut [T]) {
        let outer = self.dims.len() - 1;
        let mut source = Odometer::at(first, &self.dims[..outer], &self.strides[..outer]);
        for out in out.chunks_exact_mut(line) {
            copy_run(&data[source.offset()..][..line], out);
            source.step();
        }
    }

    /// Rows `first..` along `axis`, the input's innermost: matrices of that axis and the output's
    /// innermost are transposed square by square.
    fn squares<T: Word>(&self, data: &[T], axis: usize, first: usize, mut out: &mut [T]) {
        let last = self.dims.len() - 1;
        let (height, width) = (self.dims[axis], self.dims[last]);
        let middle = &self.dims[axis + 1..last];
        let count: usize = middle.iter().product();
        let row = count * width;
        let square = reused(T::default(), side::<T>() * side::<T>());
        let Some(mut square) = or_refuse(square) else {
            return;
        };
        let (mut outer, mut i) = (first / height, first % height);
        while !out.is_empty() {
            let n = (height - i).min(out.len() / row);
            let (now, later) = out.split_at_mut(n * row);
            let start = Odometer::at(outer, &self.dims[..axis], &self.strides[..axis]).offset() + i;
            let mut source = Odometer::at(0, middle, &self.strides[axis + 1..last]);
            for m in 0..count {
                let (data, out) = (&data[start + source.offset()..], &mut now[m * width..]);
                matrix(data, self.strides[last], out, row, [n, width], &mut square);
                source.step();
            }
            out = later;
            outer += 1;
            i = 0;
        }
    }
}

/// `out[i * row + j] = data[i + j * stride]` for `i` below `height`, `j` below `width`.
fn matrix<T: Word>(
    data: &[T],
    stride: usize,
    out: &mut [T],
    row: usize,
    [height, width]: [usize; 2],
    square: &mut [T],
) {
    match [height, width] {
        [2, _] if stride == 2 => return apart::<T, 2>(data, out, row, width),
        [3, _] if stride == 3 => return apart::<T, 3>(data, out, row, width),
        [4, _] if stride == 4 => return apart::<T, 4>(data, out, row, width),
        [_, 2] if row == 2 => return together::<T, 2>(data, stride, out, height),
        [_, 3] if row == 3 => return together::<T, 3>(data, stride, out, height),
        [_, 4] if row == 4 => return together::<T, 4>(data, stride, out, height),
        _ => {}
    }
    if height.min(width) < NARROW {
        for (i, out) in out.chunks_mut(row).take(height).enumerate() {
            let data = data[i..].iter().step_by(stride);
            for (out, data) in out[..width].iter_mut().zip(data) {
                *out = data.clone();
            }
        }
        return;
    }
    // Lines of the input a power of two apart would push each other out of the cache: each is
    // read once, into a square of its own.
    let side = side::<T>();
    for top in (0..height).step_by(side) {
        let high = side.min(height - top);
        for left in (0..width).step_by(side) {
            let wide = side.min(width - left);
            for (j, line) in square.chunks_exact_mut(side).take(wide).enumerate() {
                let from = top + (left + j) * stride;
                line[..high].clone_from_slice(&data[from..from + high]);
            }
            for i in 0..high {
                let out = &mut out[(top + i) * row + left..][..wide];
                for (out, line) in out.iter_mut().zip(square.chunks_exact(side)) {
                    *out = line[i].clone();
                }
            }
        }
    }
}

/// `N` rows of `width` elements whose columns follow each other in the data.
fn apart<T: Word, const N: usize>(data: &[T], out: &mut [T], row: usize, width: usize) {
    let (columns, _) = data.as_chunks::<N>();
    vectorize_mut(
        #[inline(always)]
        move || {
            for (part, columns) in columns[..width].chunks(AT_ONCE).enumerate() {
                for i in 0..N {
                    let out = &mut out[i * row + part * AT_ONCE..][..columns.len()];
                    for (out, column) in out.iter_mut().zip(columns) {
                        *out = column[i].clone();
                    }
                }
            }
        },
    );
}

/// `height` rows of `N` elements that follow each other, of columns `stride` apart in the data.
fn together<T: Word, const N: usize>(data: &[T], stride: usize, out: &mut [T], height: usize) {
    let columns: [&[T]; N] = std::array::from_fn(|j| &data[j * stride..][..height]);
    let (rows, _) = out[..height * N].as_chunks_mut::<N>();
    vectorize_mut(
        #[inline(always)]
        move || {
            for (i, row) in rows.iter_mut().enumerate() {
                *row = std::array::from_fn(|j| columns[j][i].clone());
            }
        },
    );
}

impl Mover for Transpose {
    fn run<T: Word>(&self, inputs: &[&[T]], outputs: &mut [&mut [T]]) -> Result<(), OpError> {
        let (data, out) = (inputs[0], &mut *outputs[0]);
        if out.is_empty() {
            return Ok(());
        }
        match self.strides.iter().position(|&stride| stride == 1) {
            // At most one axis is longer than 1, or all stay in order.
            _ if self.dims.len() < 2 => super::moving::copy(data, out),
            Some(axis) if axis + 1 < self.dims.len() => {
                let row: usize = self.dims[axis + 1..].iter().product();
                for_rows(out, row, LEAST_ROWS, |first, out| {
                    self.squares(data, axis, first, out);
                });
            }
            _ => {
                let line = self.dims[self.dims.len() - 1];
                for_rows(out, line, 1, |first, out| {
                    self.lines(data, line, first, out)
                });
            }
        }
        Ok(())
    }
}
