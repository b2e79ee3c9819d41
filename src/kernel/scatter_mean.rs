//! Means of an element and its updates, or of its updates alone.

use bytemuck::Pod;

use super::scatter::Places;
use super::scatter_arithmetic::Arithmetic;
use super::scatter_piece::Piece;
use super::scratch::with_scratch;

/// A sum and the number of terms that were added to it. They stand side by side: the memory of both is waited for
/// at the same time.
pub(super) trait Mean<C>: Pod {
    /// A sum of no terms yet that begins with a number.
    fn begin(sum: C) -> Self;
    fn add(&mut self, term: C);
    /// The mean of the terms and of as many more that the sum began with, rounded toward minus infinity if
    /// it is an integer. `None` if no term was added.
    fn mean(self, more: usize) -> Option<C>;
}

macro_rules! floats {
    ($($ty:ty, $bits:ty, $word:ty);+) => {$(
        impl Mean<$ty> for [$word; 2] {
            #[inline(always)]
            fn begin(sum: $ty) -> Self {
                [sum.to_bits().into(), 0]
            }

            #[inline(always)]
            fn add(&mut self, term: $ty) {
                let [sum, count] = *self;
                let sum = <$ty>::from_bits(sum as $bits) + term;
                *self = [sum.to_bits().into(), count + 1];
            }

            #[inline(always)]
            fn mean(self, more: usize) -> Option<$ty> {
                let [sum, count] = self;
                let all = count as usize + more;
                (count > 0).then(|| <$ty>::from_bits(sum as $bits) / all as $ty)
            }
        }
    )+};
}

floats!(f32, u32, u32; f32, u32, u64; f64, u64, u64);

/// Sums of fewer than 2³² terms fit.
impl Mean<i32> for [i64; 2] {
    #[inline(always)]
    fn begin(sum: i32) -> Self {
        [sum.into(), 0]
    }

    #[inline(always)]
    fn add(&mut self, term: i32) {
        let [sum, count] = *self;
        *self = [sum + i64::from(term), count + 1];
    }

    #[inline(always)]
    fn mean(self, more: usize) -> Option<i32> {
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
            fn add(&mut self, term: $ty) {
                let [low, high, count] = *self;
                let sum = (u128::from(high) << 64 | u128::from(low)).cast_signed() + i128::from(term);
                *self = [sum as u64, (sum >> 64) as u64, count + 1];
            }

            #[inline(always)]
            fn mean(self, more: usize) -> Option<$ty> {
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
        let mut meet = piece.on(means);
        meet.each(updates, |_, mean, &update| mean.add(update));
        for (element, mean) in piece.out.iter_mut().zip(means) {
            if let Some(mean) = mean.mean(usize::from(use_init_val)) {
                *element = mean;
            }
        }
    });
}

/// The mean of some updates, and of the element they meet if there is one.
pub(super) fn mean_of<C: Arithmetic>(first: Option<C>, updates: impl Iterator<Item = C>) -> C {
    let begin = first.or(C::NOTHING).unwrap_or_default();
    let mut mean = C::Far::begin(begin);
    updates.for_each(|update| mean.add(update));
    mean.mean(usize::from(first.is_some())).unwrap_or(begin)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both<C: Arithmetic>(first: Option<C>, updates: &[C]) -> [Option<C>; 2] {
        fn mean<C, M: Mean<C>>(
            begin: C,
            more: usize,
            updates: impl Iterator<Item = C>,
        ) -> Option<C> {
            let mut mean = M::begin(begin);
            updates.for_each(|update| mean.add(update));
            mean.mean(more)
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
        assert_eq!(mean_of(Some(-3), [0i32].into_iter()), -2);
    }

    #[test]
    fn means_of_floats_keep_what_they_are_of() {
        assert_eq!(both(Some(1.0), &[2.0f32, 6.0]), [Some(3.0); 2]);
        assert_eq!(both(None, &[2.5f64, 6.0]), [Some(4.25); 2]);
        assert!(mean_of(None, [-0.0f32].into_iter()).is_sign_negative());
        assert_eq!(both(Some(1.0f32), &[]), [None; 2]);
    }
}
