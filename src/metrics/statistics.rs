//! Numbers about one tensor.

use super::pieces;
use crate::tensor::Tensor;
use crate::tensor::convert::BLOCK;
use crate::tensor::simd::vectorize_mut;

/// Squares of numbers between these can be added up in `f64`.
const SQUARES: std::ops::RangeInclusive<f64> = 1e-120..=1e120;

/// What a tensor holds, in numbers. All but the counts are of its finite elements.
///
/// Elements are widened to `f64` and counted in an order that depends on their number only: the
/// result has the same bits on every machine. Complex elements count as two numbers; a tensor of
/// strings has only a number of elements. Sums carry a relative error below `1e-12` for tensors of up
/// to 10^9 elements.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Statistics {
    /// The number of elements.
    pub elements: u64,
    /// How many are finite numbers.
    pub finite: u64,
    /// The smallest; `None` if none is finite.
    pub min: Option<f64>,
    /// The largest; `None` if none is finite.
    pub max: Option<f64>,
    /// The mean, 0 of none.
    pub mean: f64,
    /// The standard deviation from the mean, of all elements (not of a sample of them).
    pub deviation: f64,
    /// The root of the sum of the squares.
    pub l2: f64,
    /// The largest magnitude.
    pub absolute_max: f64,
    /// The smallest magnitude that is not zero; `None` if all are zeros.
    pub smallest: Option<f64>,
    /// How many are zero.
    pub zeros: u64,
    /// How many are not a number.
    pub nan: u64,
    /// How many are plus infinity.
    pub positive_infinity: u64,
    /// How many are minus infinity.
    pub negative_infinity: u64,
    /// What rounding to `f16` would do; nothing for integers.
    pub f16: Narrowing,
    /// What rounding to `bf16` would do; nothing for integers.
    pub bf16: Narrowing,
}

/// What rounding to a narrower floating-point type does to finite numbers.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Narrowing {
    /// How many become infinite.
    pub overflow: u64,
    /// How many become subnormal numbers of the type, which have fewer digits.
    pub subnormal: u64,
    /// How many become zero that are not.
    pub flushed: u64,
    /// The L2 norm of the rounding errors of those that stay finite.
    pub error: f64,
    /// The L2 norm of those that stay finite.
    pub magnitude: f64,
}

impl Narrowing {
    /// The L2 norm of the rounding errors as a part of that of the numbers; what overflows does not
    /// count.
    pub fn relative_error(&self) -> f64 {
        if self.error > 0.0 {
            self.error / self.magnitude
        } else {
            0.0
        }
    }

    fn merge(&mut self, other: &Self) {
        self.overflow += other.overflow;
        self.subnormal += other.subnormal;
        self.flushed += other.flushed;
        self.error = self.error.hypot(other.error);
        self.magnitude = self.magnitude.hypot(other.magnitude);
    }
}

impl Statistics {
    /// The statistics of a tensor.
    pub fn of(tensor: &Tensor) -> Self {
        let mut all = Self {
            elements: tensor.len() as u64,
            ..Self::default()
        };
        let Some(numbers) = pieces::numbers(tensor) else {
            return all;
        };
        all.elements = numbers.len() as u64;
        for piece in pieces::map(numbers.len(), |start, len| Range::of(&numbers, start, len)) {
            all.take(&piece);
        }
        if all.finite == 0 {
            return all;
        }
        let scale = scale(all.absolute_max);
        let rounded = numbers.element_type().is_float();
        let pieces = pieces::map(numbers.len(), |start, len| {
            let mut sums = Sums::default();
            let mut kept = [0f64; BLOCK];
            pieces::blocks(&numbers, start, len, |_, block| {
                let block = finite(block, &mut kept);
                sums.add(block, scale);
                if rounded {
                    sums.f16.add(block, scale, F16);
                    sums.bf16.add(block, scale, BF16);
                }
            });
            sums
        });
        let mut sums = Sums::default();
        for piece in &pieces {
            sums.merge(piece);
        }
        all.mean = sums.mean / scale;
        all.deviation = (sums.squares / sums.count.max(1.0)).sqrt() / scale;
        all.l2 = (sums.squares + sums.count * sums.mean * sums.mean).sqrt() / scale;
        all.f16 = sums.f16.finish(scale);
        all.bf16 = sums.bf16.finish(scale);
        all
    }

    /// How many are infinite.
    pub fn infinite(&self) -> u64 {
        self.positive_infinity + self.negative_infinity
    }

    /// Adds what is known of further elements, as if all were one tensor.
    #[allow(clippy::cast_precision_loss)] // counts below 2^53
    pub fn merge(&mut self, other: &Self) {
        let (a, b) = (self.finite as f64, other.finite as f64);
        let all = (a + b).max(1.0);
        let apart = other.mean - self.mean;
        self.mean += apart * (b / all);
        let spread = (self.deviation * (a / all).sqrt()).hypot(other.deviation * (b / all).sqrt());
        self.deviation = spread.hypot(apart * (a / all * (b / all)).sqrt());
        self.l2 = self.l2.hypot(other.l2);
        self.elements += other.elements;
        self.nan += other.nan;
        self.positive_infinity += other.positive_infinity;
        self.negative_infinity += other.negative_infinity;
        self.zeros += other.zeros;
        self.finite += other.finite;
        self.min = least(self.min, other.min);
        self.max = greatest(self.max, other.max);
        self.smallest = least(self.smallest, other.smallest);
        self.absolute_max = self.absolute_max.max(other.absolute_max);
        self.f16.merge(&other.f16);
        self.bf16.merge(&other.bf16);
    }

    fn take(&mut self, range: &Range) {
        self.finite += range.finite;
        self.zeros += range.zeros;
        self.nan += range.nan;
        self.positive_infinity += range.positive_infinity;
        self.negative_infinity += range.negative_infinity;
        if range.finite > 0 {
            self.min = least(self.min, Some(range.min));
            self.max = greatest(self.max, Some(range.max));
            self.absolute_max = range.max.abs().max(range.min.abs()).max(self.absolute_max);
        }
        if range.smallest.is_finite() {
            self.smallest = least(self.smallest, Some(range.smallest));
        }
    }
}

fn least(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.into_iter().chain(b).min_by(f64::total_cmp)
}

fn greatest(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.into_iter().chain(b).max_by(f64::total_cmp)
}

/// A power of two that brings numbers of this magnitude where their squares can be added up.
fn scale(magnitude: f64) -> f64 {
    if magnitude == 0.0 || SQUARES.contains(&magnitude) {
        return 1.0;
    }
    // Of subnormal numbers the scale must be finite too.
    2f64.powf(-magnitude.log2().floor().clamp(-1000.0, 1000.0))
}

/// The finite ones of some numbers; they are copied only if not all are.
fn finite<'b>(block: &'b [f64], kept: &'b mut [f64; BLOCK]) -> &'b [f64] {
    if block.iter().all(|x| x.is_finite()) {
        return block;
    }
    let mut count = 0;
    for &x in block.iter().filter(|x| x.is_finite()) {
        kept[count] = x;
        count += 1;
    }
    &kept[..count]
}

/// The counts and bounds of a piece.
#[derive(Debug, Default)]
struct Range {
    finite: u64,
    zeros: u64,
    nan: u64,
    positive_infinity: u64,
    negative_infinity: u64,
    min: f64,
    max: f64,
    smallest: f64,
}

impl Range {
    fn of(tensor: &Tensor, start: usize, len: usize) -> Self {
        let mut range = Self {
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            smallest: f64::INFINITY,
            ..Self::default()
        };
        let mut kept = [0f64; BLOCK];
        pieces::blocks(tensor, start, len, |_, block| {
            for &x in block {
                range.nan += u64::from(x.is_nan());
                range.positive_infinity += u64::from(x == f64::INFINITY);
                range.negative_infinity += u64::from(x == f64::NEG_INFINITY);
            }
            for &x in finite(block, &mut kept) {
                let magnitude = x.abs();
                range.finite += 1;
                range.zeros += u64::from(x == 0.0);
                range.min = if x < range.min { x } else { range.min };
                range.max = if x > range.max { x } else { range.max };
                let smaller = magnitude < range.smallest && magnitude > 0.0;
                range.smallest = if smaller { magnitude } else { range.smallest };
            }
        });
        range
    }
}

/// Mean and squared distances from it, of scaled numbers.
#[derive(Debug, Default)]
struct Sums {
    count: f64,
    mean: f64,
    squares: f64,
    f16: Rounded,
    bf16: Rounded,
}

impl Sums {
    #[allow(clippy::cast_precision_loss)] // a block
    fn add(&mut self, block: &[f64], scale: f64) {
        if block.is_empty() {
            return;
        }
        let count = block.len() as f64;
        let mean = lanes(block, |x| x * scale) / count;
        let squares = lanes(block, |x| (x * scale - mean) * (x * scale - mean));
        self.join(count, mean, squares);
    }

    fn join(&mut self, count: f64, mean: f64, squares: f64) {
        let all = self.count + count;
        if all == 0.0 {
            return;
        }
        let apart = mean - self.mean;
        self.squares += squares + apart * apart * (self.count * count / all);
        self.mean += apart * (count / all);
        self.count = all;
    }

    fn merge(&mut self, other: &Self) {
        self.join(other.count, other.mean, other.squares);
        self.f16.merge(&other.f16);
        self.bf16.merge(&other.bf16);
    }
}

/// The sum of a function of each number, in eight sums that are added up at the end.
fn lanes(block: &[f64], f: impl Fn(f64) -> f64) -> f64 {
    let mut sums = [0f64; 8];
    let chunks = block.chunks_exact(8);
    for (sum, &x) in sums.iter_mut().zip(chunks.remainder()) {
        *sum += f(x);
    }
    for chunk in chunks {
        for (sum, &x) in sums.iter_mut().zip(chunk) {
            *sum += f(x);
        }
    }
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// A floating-point type: digits behind the leading one, the smallest normal exponent, the largest
/// number.
#[derive(Debug, Clone, Copy)]
struct Target {
    digits: i64,
    exponent: i64,
    largest: f64,
}

const F16: Target = Target {
    digits: 10,
    exponent: -14,
    largest: 65504.0,
};

const BF16: Target = Target {
    digits: 7,
    exponent: -126,
    largest: 3.389_531_389_251_535_5e38,
};

impl Target {
    /// A finite number rounded to the nearest of the type, ties to even, without an upper bound.
    #[inline(always)]
    #[allow(clippy::cast_sign_loss)] // exponents are biased
    fn round(self, x: f64) -> f64 {
        /// What is added to a number below 2^51 and taken away again leaves it rounded.
        const SHIFT: f64 = 6_755_399_441_055_744.0;
        let exponent = (x.to_bits() >> 52 & 0x7ff).cast_signed() - 1023;
        let last = exponent.max(self.exponent) - self.digits;
        let unit = f64::from_bits(((last + 1023) as u64) << 52);
        let units = f64::from_bits(((1023 - last) as u64) << 52);
        let rounded = (x * units + SHIFT) - SHIFT;
        rounded * unit
    }
}

/// What rounding does to scaled numbers.
#[derive(Debug, Default)]
struct Rounded {
    overflow: u64,
    subnormal: u64,
    flushed: u64,
    errors: f64,
    squares: f64,
}

impl Rounded {
    fn add(&mut self, block: &[f64], scale: f64, target: Target) {
        let normal = 2f64.powi(i32::try_from(target.exponent).unwrap_or(0));
        let mut sums = [[0f64; 8]; 2];
        let mut counts = [0u64; 3];
        vectorize_mut(
            #[inline(always)]
            || {
                let [errors, squares] = &mut sums;
                for chunk in block.chunks(8) {
                    for ((error, square), &x) in errors.iter_mut().zip(&mut *squares).zip(chunk) {
                        let rounded = target.round(x);
                        let stays = rounded.abs() <= target.largest;
                        counts[0] += u64::from(!stays);
                        counts[1] += u64::from(rounded != 0.0 && rounded.abs() < normal);
                        counts[2] += u64::from(rounded == 0.0 && x != 0.0);
                        let lost = (rounded - x) * scale;
                        let kept = x * scale;
                        *error += if stays { lost * lost } else { 0.0 };
                        *square += if stays { kept * kept } else { 0.0 };
                    }
                }
            },
        );
        self.overflow += counts[0];
        self.subnormal += counts[1];
        self.flushed += counts[2];
        self.errors += sums[0].iter().sum::<f64>();
        self.squares += sums[1].iter().sum::<f64>();
    }

    fn merge(&mut self, other: &Self) {
        self.overflow += other.overflow;
        self.subnormal += other.subnormal;
        self.flushed += other.flushed;
        self.errors += other.errors;
        self.squares += other.squares;
    }

    fn finish(&self, scale: f64) -> Narrowing {
        Narrowing {
            overflow: self.overflow,
            subnormal: self.subnormal,
            flushed: self.flushed,
            error: self.errors.sqrt() / scale,
            magnitude: self.squares.sqrt() / scale,
        }
    }
}

#[cfg(test)]
#[path = "statistics_tests.rs"]
mod tests;
