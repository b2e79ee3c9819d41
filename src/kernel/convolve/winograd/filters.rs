//! Filters, transformed and packed.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use pulp::{Simd, WithSimd};

use super::points::{Four, Points, Two};
use crate::kernel::convolve::Sizes;
use crate::kernel::convolve::single::Lying;
use crate::kernel::gemm::{PackedSeries, dispatch, made};
use crate::kernel::simd::arch;
use crate::kernel::window::{Axis, Window};

/// The outputs along a side of a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Two,
    Four,
}

/// Filters of three by three taps, transformed for tiles of some size.
#[derive(Debug)]
pub(crate) struct Transformed {
    pub(super) side: Side,
    /// A matrix for each pair of points: a row for each filter, a column for each channel.
    pub(super) packed: PackedSeries,
}

impl Transformed {
    /// Transforms `filters` filters of `channels` channels each; `None` if some number is not finite,
    /// or there is no memory.
    pub(crate) fn new(side: Side, data: &[f32], [filters, channels]: [usize; 2]) -> Option<Self> {
        let finite = AtomicBool::new(true);
        let count = match side {
            Side::Two => 16,
            Side::Four => 36,
        };
        // Threads that write do not know what the calling one was told.
        let arch = arch();
        let write = |rows: Range<usize>, out: &mut [f32]| {
            let data = &data[rows.start * channels * 9..rows.end * channels * 9];
            let all = match side {
                Side::Two => dispatch(arch, Rows::<Two, 4>::new(data, channels, out)),
                Side::Four => dispatch(arch, Rows::<Four, 6>::new(data, channels, out)),
            };
            if !all {
                finite.store(false, Ordering::Relaxed);
            }
        };
        let packed = PackedSeries::new(count, [filters, channels], write)?;
        finite.into_inner().then_some(Self { side, packed })
    }
}

/// The filters of a panel.
struct Rows<'a, P, const N: usize> {
    data: &'a [f32],
    channels: usize,
    out: &'a mut [f32],
    points: PhantomData<P>,
}

impl<'a, P, const N: usize> Rows<'a, P, N> {
    fn new(data: &'a [f32], channels: usize, out: &'a mut [f32]) -> Self {
        Self {
            data,
            channels,
            out,
            points: PhantomData,
        }
    }
}

/// Filters that are transformed at a time.
const BLOCK: usize = 16;

macro_rules! rows {
    ($P:ty, $N:literal, $M:literal) => {
        impl WithSimd for Rows<'_, $P, $N> {
            /// Whether all is finite.
            type Output = bool;

            #[inline(always)]
            fn with_simd<S: Simd>(self, _: S) -> bool {
                rows::<$P, $M, $N>(self.data, self.channels, self.out)
            }
        }
    };
}

rows!(Two, 4, 2);
rows!(Four, 6, 4);

#[inline(always)]
#[allow(clippy::cast_possible_truncation)]
fn rows<P: Points<M, N>, const M: usize, const N: usize>(
    data: &[f32],
    channels: usize,
    out: &mut [f32],
) -> bool {
    let height = data.len() / (channels * 9);
    let mut mark = [0.0; BLOCK];
    for (row, filter) in data.chunks_exact(channels * 9).enumerate() {
        for (block, taps) in filter.as_chunks::<9>().0.chunks(BLOCK).enumerate() {
            let mut x = [[[0.0; BLOCK]; 3]; 3];
            for (i, taps) in taps.iter().enumerate() {
                for (x, tap) in x.as_flattened_mut().iter_mut().zip(taps) {
                    x[i] = f64::from(*tap);
                }
            }
            let mut half = [[[0.0; BLOCK]; 3]; N];
            for (half, point) in half.iter_mut().zip(&P::FILTER) {
                for (column, half) in half.iter_mut().enumerate() {
                    for (i, half) in half.iter_mut().enumerate() {
                        *half = point[0] * x[0][column][i]
                            + point[1] * x[1][column][i]
                            + point[2] * x[2][column][i];
                    }
                }
            }
            for (first, half) in half.iter().enumerate() {
                for (second, point) in P::FILTER.iter().enumerate() {
                    let mut result = [0.0; BLOCK];
                    for (i, (result, mark)) in result.iter_mut().zip(&mut mark).enumerate() {
                        let sum =
                            point[0] * half[0][i] + point[1] * half[1][i] + point[2] * half[2][i];
                        *result = sum as f32;
                        *mark += *result * 0.0;
                    }
                    let start = ((first * N + second) * channels + block * BLOCK) * height + row;
                    let places = out[start..].iter_mut().step_by(height);
                    for (out, &result) in places.zip(&result[..taps.len()]) {
                        *out = result;
                    }
                }
            }
        }
    }
    mark == [0.0; BLOCK]
}

/// Transformed filters that are kept, for tiles of either size.
#[derive(Debug, Default)]
pub(crate) struct Kept([OnceLock<Option<Transformed>>; 2]);

/// Filters times channels up to which their transformation for tiles of four, which takes four times
/// the memory, is worth it; that for tiles of two takes 16/9.
const LITTLE: usize = 1 << 14;

/// Channels and filters below which the transformations take longer than what they save.
const FEW: usize = 32;

/// Outputs along a side below which too many are computed in vain.
const NARROW: usize = 6;

impl Kept {
    /// For how many sizes of tiles they are kept.
    pub(crate) fn ways(&self) -> usize {
        self.0.iter().filter(|kept| kept.get().is_some()).count()
    }

    /// The filters transformed for tiles that suit these sizes, if Winograd's algorithm is the fastest
    /// way: transformed now if this was not done yet.
    pub(crate) fn get(
        &self,
        sizes: Sizes,
        window: &Window,
        filters: &dyn Lying,
    ) -> Option<&Transformed> {
        let side = side(sizes, window)?;
        let size = [sizes.filters, sizes.channels];
        made(&self.0[side as usize], || {
            Transformed::new(side, filters.elements()?, size)
        })?
        .as_ref()
    }
}

/// The tiles that suit a convolution, if any do.
fn side(sizes: Sizes, window: &Window) -> Option<Side> {
    let [z, y, x] = window.axes();
    let plain = |axis: &Axis| axis.kernel == 3 && axis.stride == 1 && axis.dilation == 1;
    let flat = z.kernel == 1 && z.input == 1 && z.output == 1 && z.pad == 0;
    if !flat || !plain(&y) || !plain(&x) || sizes.groups != 1 {
        return None;
    }
    if sizes.filters.min(sizes.channels) < FEW || y.output.min(x.output) < NARROW {
        return None;
    }
    Some(match sizes.filters * sizes.channels <= LITTLE {
        true => Side::Four,
        false => Side::Two,
    })
}
