//! Means of an element and its updates, or of its updates alone.

use std::iter::repeat;

use bytemuck::Pod;

use super::scatter::Places;
use super::scatter_arithmetic::Arithmetic;
use super::scatter_piece::Piece;
use super::scratch::{Reused, or_refuse, reused, with_scratch};

/// How many means are computed together.
const SOME: usize = 64;

/// A sum and the number of terms that were added to it. They stand side by side: the memory of both is waited for
/// at the same time.
pub(super) trait Mean<C>: Pod {
    /// A sum of no terms yet that begins with a number.
    fn begin(sum: C) -> Self;

    /// Whether there were so many terms that they are counted from zero again.
    fn add(&mut self, term: C) -> bool;

    /// The mean of the terms, of which `turns` tells how often they were counted from zero again, and of as many
    /// more that the sum began with, rounded toward minus infinity if it is an integer. `None` if no term was
    /// added.
    fn mean(self, turns: u32, more: usize) -> Option<C>;

    /// Puts the mean of each element of which there is one.
    fn put(means: &[Self], turns: &[u32], more: usize, out: &mut [C]) {
        put_each(means, turns, more, out);
    }
}

fn put_each<C, M: Mean<C>>(means: &[M], turns: &[u32], more: usize, out: &mut [C]) {
    let turns = turns.iter().copied().chain(repeat(0));
    for ((element, mean), turns) in out.iter_mut().zip(means).zip(turns) {
        if let Some(mean) = mean.mean(turns, more) {
            *element = mean;
        }
    }
}

/// A sum, and the terms above the last multiple of 256 in a byte: random places of a table are found the faster the
/// smaller it is.
impl Mean<f32> for [u8; 5] {
    #[inline(always)]
    fn begin(sum: f32) -> Self {
        let [a, b, c, d] = sum.to_le_bytes();
        [a, b, c, d, 0]
    }

    #[inline(always)]
    fn add(&mut self, term: f32) -> bool {
        let [a, b, c, d, count] = *self;
        let [a, b, c, d] = (f32::from_le_bytes([a, b, c, d]) + term).to_le_bytes();
        *self = [a, b, c, d, count.wrapping_add(1)];
        count == u8::MAX
    }

    #[inline(always)]
    fn mean(self, turns: u32, more: usize) -> Option<f32> {
        let [a, b, c, d, count] = self;
        let count = (turns as usize) << u8::BITS | usize::from(count);
        let sum = f32::from_le_bytes([a, b, c, d]);
        (count > 0).then(|| sum / (count + more) as f32)
    }

    fn put(means: &[Self], turns: &[u32], more: usize, out: &mut [f32]) {
        if !turns.is_empty() {
            return put_each(means, turns, more, out);
        }
        for (out, means) in out.chunks_mut(SOME).zip(means.chunks(SOME)) {
            let (mut sums, mut counts) = ([0.0; SOME], [0; SOME]);
            for (&[a, b, c, d, n], (sum, count)) in
                means.iter().zip(sums.iter_mut().zip(&mut counts))
            {
                (*sum, *count) = (f32::from_le_bytes([a, b, c, d]), i32::from(n));
            }
            for (element, (sum, count)) in out.iter_mut().zip(sums.iter().zip(counts)) {
                let mean = sum / (count + more as i32) as f32;
                *element = if count > 0 { mean } else { *element };
            }
        }
    }
}

macro_rules! floats {
    ($($ty:ty, $bits:ty, $word:ty);+) => {$(
        impl Mean<$ty> for [$word; 2] {
            #[inline(always)]
            fn begin(sum: $ty) -> Self {
                [sum.to_bits().into(), 0]
            }

            #[inline(always)]
            fn add(&mut self, term: $ty) -> bool {
                let [sum, count] = *self;
                let sum = <$ty>::from_bits(sum as $bits) + term;
                *self = [sum.to_bits().into(), count + 1];
                false
            }

            #[inline(always)]
            fn mean(self, _turns: u32, more: usize) -> Option<$ty> {
                let [sum, count] = self;
                let all = count as usize + more;
                (count > 0).then(|| <$ty>::from_bits(sum as $bits) / all as $ty)
            }
        }
    )+};
}

floats!(f32, u32, u64; f64, u64, u64);

/// Sums of fewer than 2³² terms fit.
impl Mean<i32> for [i64; 2] {
    #[inline(always)]
    fn begin(sum: i32) -> Self {
        [sum.into(), 0]
    }

    #[inline(always)]
    fn add(&mut self, term: i32) -> bool {
        let [sum, count] = *self;
        *self = [sum + i64::from(term), count + 1];
        false
    }

    #[inline(always)]
    fn mean(self, _turns: u32, more: usize) -> Option<i32> {
        let [sum, count] = self;
        // A mean lies between the least and the greatest of its terms: it fits.
        (count > 0).then(|| sum.div_euclid(count + more as i64) as i32)
    }
}

macro_rules! integers {
    ($($ty:ty),+) => {$(
        /// The low and the high half of the sum, and the number of its terms.
        impl Mean<$ty> for [u64; 3] {
            #[inline(always)]
            fn begin(sum: $ty) -> Self {
                let sum = i128::from(sum);
                [sum as u64, (sum >> 64) as u64, 0]
            }

            #[inline(always)]
            fn add(&mut self, term: $ty) -> bool {
                let [low, high, count] = *self;
                let sum = (u128::from(high) << 64 | u128::from(low)).cast_signed() + i128::from(term);
                *self = [sum as u64, (sum >> 64) as u64, count + 1];
                false
            }

            #[inline(always)]
            fn mean(self, _turns: u32, more: usize) -> Option<$ty> {
                let [low, high, count] = self;
                let sum = (u128::from(high) << 64 | u128::from(low)).cast_signed();
                let all = i128::from(count) + more as i128;
                (count > 0).then(|| sum.div_euclid(all) as $ty)
            }
        }
    )+};
}

integers!(i32, i64, u64);

/// Puts the means into a piece that holds the data, where any update goes.
pub(super) fn means<P: Places, C: Arithmetic>(
    use_init_val: bool,
    updates: &[C],
    piece: &mut Piece<'_, P, C>,
) {
    if u32::try_from(updates.len()).is_ok() {
        means_by::<P, C, C::Near>(use_init_val, updates, piece);
    } else {
        means_by::<P, C, C::Far>(use_init_val, updates, piece);
    }
}

fn means_by<P: Places, C: Arithmetic, M: Mean<C>>(
    use_init_val: bool,
    updates: &[C],
    piece: &mut Piece<'_, P, C>,
) {
    let nothing = C::NOTHING.unwrap_or_default();
    let first = |element: C| if use_init_val { element } else { nothing };
    with_scratch(piece.out.len(), |means: &mut [M]| {
        for (mean, &element) in means.iter_mut().zip(&*piece.out) {
            *mean = M::begin(first(element));
        }
        let mut turns = Reused::default();
        let len = means.len();
        let mut meet = piece.on(means);
        meet.each(updates, |at, mean, &update| {
            if mean.add(update) {
                turn(&mut turns, len, at);
            }
        });
        M::put(means, &turns, usize::from(use_init_val), piece.out);
    });
}

/// Notes that the terms of one of so many sums are counted from zero again.
#[cold]
fn turn(turns: &mut Reused<u32>, len: usize, at: usize) {
    if turns.is_empty() {
        let Some(fresh) = or_refuse(reused(0, len)) else {
            return;
        };
        *turns = fresh;
    }
    turns[at] += 1;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::scatter::{Reduction, Scatter, reduce};
    use crate::tensor::Tensor;

    fn both<C: Arithmetic>(first: Option<C>, updates: &[C]) -> [Option<C>; 2] {
        fn mean<C, M: Mean<C>>(
            begin: C,
            more: usize,
            updates: impl Iterator<Item = C>,
        ) -> Option<C> {
            let mut mean = M::begin(begin);
            let turns = updates.map(|update| u32::from(mean.add(update))).sum();
            mean.mean(turns, more)
        }
        let (begin, more) = (first.unwrap_or_default(), usize::from(first.is_some()));
        let all = || updates.iter().copied();
        [
            mean::<C, C::Near>(begin, more, all()),
            mean::<C, C::Far>(begin, more, all()),
        ]
    }

    #[test]
    fn sums_of_integers_do_not_overflow() {
        assert_eq!(both(Some(i32::MAX), &[i32::MAX; 5]), [Some(i32::MAX); 2]);
        assert_eq!(both(None, &[i32::MIN, i32::MIN]), [Some(i32::MIN); 2]);
        assert_eq!(both(Some(i64::MIN), &[i64::MIN; 3]), [Some(i64::MIN); 2]);
        assert_eq!(both(None, &[i64::MAX, i64::MIN]), [Some(-1); 2]);
        assert_eq!(both(None, &[u64::MAX; 7]), [Some(u64::MAX); 2]);
        assert_eq!(both(Some(u64::MAX), &[0]), [Some(u64::MAX / 2); 2]);
    }

    #[test]
    fn means_of_integers_are_rounded_down() {
        assert_eq!(both(Some(-3), &[0i32]), [Some(-2); 2]);
        assert_eq!(both(None, &[-3, -4, -3i64]), [Some(-4); 2]);
    }

    #[test]
    fn means_of_floats_keep_what_they_are_of() {
        assert_eq!(both(Some(1.0), &[2.0f32, 6.0]), [Some(3.0); 2]);
        assert_eq!(both(None, &[2.5f64, 6.0]), [Some(4.25); 2]);
        assert_eq!(both(Some(1.0f32), &[]), [None; 2]);
    }

    #[test]
    fn terms_are_counted_beyond_a_byte() {
        for count in [255, 256, 257, 512, 1000] {
            let mut updates = vec![2.0f32; count];
            updates[0] = 2.0 + count as f32;
            assert_eq!(both(None, &updates), [Some(3.0); 2], "{count}");
            assert_eq!(both(Some(3.0), &updates), [Some(3.0); 2], "{count}");
        }
    }

    #[test]
    fn one_place_meets_more_updates_than_a_byte_counts() {
        for count in [255, 256, 999] {
            let indices = Tensor::vector(&vec![1i32; count]);
            let updates = Tensor::vector(&vec![3f32; count]);
            let data = Tensor::vector(&[9f32, 1.0]);
            for (init, mean) in [
                (false, 3.0),
                (true, (1 + 3 * count) as f32 / (count + 1) as f32),
            ] {
                let scatter = Scatter::new(&[2], &indices, 0, true).expect("memory");
                let (mut out, inputs) = (data.clone(), [&data, &updates]);
                reduce(&scatter, Reduction::Mean, init, inputs, &mut out).expect("memory");
                assert_eq!(out.as_slice::<f32>(), Ok(&[9.0, mean][..]), "{count}");
            }
        }
    }

    #[test]
    fn means_put_together_are_those_of_each() {
        let means: Vec<[u8; 5]> = (0..151)
            .map(|i| {
                let mut mean = <[u8; 5] as Mean<f32>>::begin(i as f32 / 7.0);
                (0..i % 5).for_each(|k| _ = mean.add(k as f32 - 3.5));
                mean
            })
            .collect();
        let turns: Vec<u32> = (0..151).map(|i| u32::from(i % 3 == 0)).collect();
        for more in [0, 1] {
            for turns in [&[], &turns[..]] {
                let (mut put, mut each) = (vec![9.0; 151], vec![9.0; 151]);
                Mean::put(&means, turns, more, &mut put);
                put_each(&means, turns, more, &mut each);
                assert_eq!(put, each);
                assert!(put.contains(&9.0));
            }
        }
    }
}
