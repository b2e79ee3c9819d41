//! What a reduction does to single elements, and what it keeps meanwhile.

use crate::tensor::convert::Compute;

/// A type that elements are folded in.
pub(crate) trait Number: Compute {
    /// The product; integers wrap.
    fn times(self, other: Self) -> Self;
}

/// A reduction, element by element.
pub(crate) trait Scalar<T, A>: Sync {
    /// What no elements reduce to before [`Scalar::finish`]. Merging it changes nothing.
    const IDENTITY: A;

    /// Whether folding compares floats and keeps one of them.
    const CHOOSES: bool = false;

    /// Folds one more element in.
    fn push(acc: A, x: T) -> A;

    /// Brings two partial results together.
    fn merge(a: A, b: A) -> A;

    /// The result, in a form that [`Accumulator::round`] turns into an element; `count` elements
    /// were folded.
    fn finish(acc: A, _count: usize) -> A {
        acc
    }
}

/// What is added up by a sum of floats.
pub(crate) trait Map: Sync {
    /// The summand of an element.
    fn map(x: f64) -> f64;

    /// The result from the sum of `count` summands, at least one. No summands give zero.
    fn finish(sum: f64, _count: usize) -> f64 {
        sum
    }
}

/// What is kept while elements of type `T` are folded.
pub(crate) trait Accumulator<T>: Copy + Send + Sync + 'static {
    /// The nearest element.
    fn round(self) -> T;

    /// An element that still rounds correctly when it is narrowed further.
    fn round_again(self) -> T {
        self.round()
    }
}

impl Accumulator<f32> for f64 {
    #[inline(always)]
    fn round(self) -> f32 {
        self as f32
    }

    /// Rounds to odd: towards zero, and then to an odd last bit if that was not exact. Rounding
    /// that to a format at least two bits narrower gives what rounding directly would.
    fn round_again(self) -> f32 {
        let near = self as f32;
        let back = f64::from(near);
        if back == self || near.is_nan() {
            return near;
        }
        let outside = u32::from(back.abs() > self.abs());
        f32::from_bits((near.to_bits() - outside) | 1)
    }
}

macro_rules! itself {
    ($($T:ty),+) => {$(
        impl Accumulator<$T> for $T {
            #[inline(always)]
            fn round(self) -> $T {
                self
            }
        }
    )+};
}

itself!(f32, f64, i32, i64, u64);

/// Modulo the size of the element.
macro_rules! wide {
    ($($T:ty),+) => {$(
        impl Accumulator<$T> for u128 {
            #[inline(always)]
            fn round(self) -> $T {
                self as $T
            }
        }
    )+};
}

wide!(i64, u64);

macro_rules! number {
    ($($T:ty, |$a:ident, $b:ident| $product:expr;)+) => {$(
        impl Number for $T {
            fn times(self, other: Self) -> Self {
                let ($a, $b) = (self, other);
                $product
            }
        }
    )+};
}

number!(
    f32, |a, b| a * b;
    f64, |a, b| a * b;
    i32, |a, b| a.wrapping_mul(b);
    i64, |a, b| a.wrapping_mul(b);
    u64, |a, b| a.wrapping_mul(b);
);

/// A number and the rounding errors made on the way to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) high: f64,
    pub(crate) low: f64,
}

impl Pair {
    /// No summands. Negative zero is what adds nothing, even to a negative zero.
    pub(crate) const EMPTY: Self = Self::exact(-0.0);

    /// Exactly this number.
    pub(crate) const fn exact(high: f64) -> Self {
        Self { high, low: 0.0 }
    }
}

/// `a + b` and the error of that (Knuth's two-sum).
#[inline(always)]
pub(super) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    (sum, (a - (sum - b_part)) + (b - b_part))
}

impl Accumulator<f64> for Pair {
    #[inline(always)]
    fn round(self) -> f64 {
        // Infinities and overflow leave no meaningful error, and a zero would hide a sign.
        if self.low.is_finite() && self.low != 0.0 {
            self.high + self.low
        } else {
            self.high
        }
    }
}
