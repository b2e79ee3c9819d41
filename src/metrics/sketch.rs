//! Sketches: a few numbers whose difference tells how far apart two tensors are.

use super::pieces;
use crate::tensor::Tensor;
use crate::tensor::simd::vectorize_mut;

/// Projections that are summed together, for the vectors of the machine.
const LANES: usize = 8;

/// Seeded random projections of a tensor: each is the sum of all elements, every one with a sign of
/// its own.
///
/// The root of the mean square of the differences between two sketches estimates the L2 distance
/// of the tensors, by the lemma of Johnson and Lindenstrauss with signs (Achlioptas, "Database-friendly
/// random projections", 2003). With `k` projections its standard error is `1 / sqrt(2 k)` of
/// the distance, see [`Sketch::standard_error`]: 18 % for 16, 13 % for 32, 9 % for 64.
///
/// The signs are the bits of a hash (splitmix64) of seed and position, and the sums are counted in
/// `f64` in an order that depends on the number of elements only: a sketch has the same bits on every
/// machine. Sums carry rounding errors of about `1e-16` of the tensor's L2 norm times the root of the
/// number of elements; smaller distances are not seen.
///
/// NaN and infinite elements count as zeros, strings not at all. Complex elements count as two.
#[derive(Debug, Clone, PartialEq)]
pub struct Sketch {
    seed: u64,
    elements: u64,
    sums: Vec<f64>,
}

impl Sketch {
    /// Most projections of a sketch: the bits of one hash.
    pub const MOST: usize = 64;

    /// The sketch of no elements, with `projections` sums: at most [`Sketch::MOST`].
    pub fn new(seed: u64, projections: usize) -> Self {
        Self {
            seed,
            elements: 0,
            sums: vec![0.0; projections.min(Self::MOST)],
        }
    }

    /// The sketch of a tensor.
    pub fn of(tensor: &Tensor, seed: u64, projections: usize) -> Self {
        let mut sketch = Self::new(seed, projections);
        sketch.extend(tensor);
        sketch
    }

    /// Goes on with the elements of another tensor, as if they stood behind those so far.
    pub fn extend(&mut self, tensor: &Tensor) {
        let Some(numbers) = pieces::numbers(tensor) else {
            return;
        };
        let groups = self.sums.len().div_ceil(LANES);
        let sums = pieces::map(numbers.len(), |start, len| {
            let mut sums = vec![[0f64; LANES]; groups];
            pieces::blocks(&numbers, start, len, |at, block| {
                let position = self.elements.wrapping_add(at as u64);
                for (group, sums) in sums.iter_mut().enumerate() {
                    project(self.seed, position, group * LANES, block, sums);
                }
            });
            sums
        });
        for piece in sums {
            for (sum, part) in self.sums.iter_mut().zip(piece.as_flattened()) {
                *sum += part;
            }
        }
        self.elements = self.elements.wrapping_add(numbers.len() as u64);
    }

    /// The seed of the signs.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The number of elements; complex ones count as two.
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// The projections.
    pub fn sums(&self) -> &[f64] {
        &self.sums
    }

    /// The estimated L2 distance of two tensors. `None` if the sketches are of other seeds, of other
    /// numbers of elements, or of no projections.
    pub fn distance(&self, other: &Self) -> Option<f64> {
        let same = self.seed == other.seed && self.elements == other.elements;
        same.then(|| distance(&self.sums, &other.sums)).flatten()
    }

    /// The standard error of an estimated distance, as a part of the distance.
    #[allow(clippy::cast_precision_loss)] // at most 64
    pub fn standard_error(projections: usize) -> f64 {
        1.0 / (2.0 * projections.max(1) as f64).sqrt()
    }
}

/// The root of the mean square of the differences of two lists of sums. `None` if they are not of
/// one length, or empty.
#[allow(clippy::cast_precision_loss)] // at most 64
pub(crate) fn distance(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() != b.len() || a.is_empty() {
        return None;
    }
    let squares = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b));
    Some((squares.sum::<f64>() / a.len() as f64).sqrt())
}

/// Adds a block of elements to the projections from `first` on.
fn project(seed: u64, position: u64, first: usize, block: &[f64], sums: &mut [f64; LANES]) {
    vectorize_mut(
        #[inline(always)]
        || {
            let mut local = *sums;
            for (index, &x) in block.iter().enumerate() {
                let signs = signs(seed, position.wrapping_add(index as u64)) >> first;
                let bits = if x.is_finite() { x.to_bits() } else { 0 };
                for (lane, sum) in local.iter_mut().enumerate() {
                    *sum += f64::from_bits(bits ^ (signs >> lane) << 63);
                }
            }
            *sums = local;
        },
    );
}

/// The signs of an element, one a bit: the number at this position of the splitmix64 sequence.
#[inline(always)]
pub(crate) fn signs(seed: u64, position: u64) -> u64 {
    let count = position.wrapping_add(1);
    let mut z = seed.wrapping_add(count.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn true_distance(a: &[f32], b: &[f32]) -> f64 {
        let squares = a
            .iter()
            .zip(b)
            .map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2));
        squares.sum::<f64>().sqrt()
    }

    #[test]
    fn the_sums_are_fixed() {
        // Any change of the signs or of the order makes every snapshot useless.
        let data: Vec<f32> = (0..70_000u32)
            .map(|i| f32::from(u8::try_from(i % 97).expect("few")) / 7.0)
            .collect();
        let sketch = Sketch::of(&Tensor::vector(&data), 7, 4);
        let mut expected = [0f64; 4];
        for piece in 0..2usize {
            let mut sums = [0f64; 4];
            let end = data.len().min((piece + 1) << 16);
            for (at, &x) in data.iter().enumerate().take(end).skip(piece << 16) {
                let signs = signs(7, at as u64);
                for (j, sum) in sums.iter_mut().enumerate() {
                    *sum += if signs >> j & 1 == 1 {
                        -f64::from(x)
                    } else {
                        f64::from(x)
                    };
                }
            }
            for (all, sum) in expected.iter_mut().zip(sums) {
                *all += sum;
            }
        }
        assert_eq!(sketch.sums(), expected);
        assert_eq!(
            [signs(0, 0), signs(0, 1)],
            [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]
        );
    }

    #[test]
    fn what_is_no_finite_number() {
        let with = Tensor::vector(&[1f32, f32::NAN, f32::INFINITY, -2.0]);
        let without = Tensor::vector(&[1f32, 0.0, 0.0, -2.0]);
        assert_eq!(Sketch::of(&with, 1, 8), Sketch::of(&without, 1, 8));
        let complex = Tensor::vector(&[[1f32, 2.0], [3.0, 4.0]]);
        let parts = Tensor::vector(&[1f32, 2.0, 3.0, 4.0]);
        assert_eq!(Sketch::of(&complex, 1, 8), Sketch::of(&parts, 1, 8));
        assert_eq!(Sketch::new(0, 1000).sums().len(), 64);
        assert_eq!(
            Sketch::of(&with, 1, 8).distance(&Sketch::of(&parts, 2, 8)),
            None
        );
        assert_eq!(
            Sketch::of(&with, 1, 0).distance(&Sketch::of(&parts, 1, 0)),
            None
        );
        assert_eq!(Sketch::of(&Tensor::scalar(true), 1, 3).elements(), 1);
    }

    #[test]
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
    fn the_standard_error_is_as_stated() {
        let n = 5000;
        let draw = |seed: u64, at: usize| (signs(seed, at as u64) >> 40) as f32 / (1 << 24) as f32;
        for projections in [16, 64] {
            let mut squares = 0.0;
            let trials = 100;
            for trial in 0..trials {
                let a: Vec<f32> = (0..n).map(|i| draw(2 * trial, i)).collect();
                let b: Vec<f32> = (0..n)
                    .map(|i| a[i] + 1e-3 * draw(2 * trial + 1, i))
                    .collect();
                let sketch = |x: &[f32]| Sketch::of(&Tensor::vector(x), trial, projections);
                let estimate = sketch(&a).distance(&sketch(&b)).expect("of one seed");
                squares += (estimate / true_distance(&a, &b) - 1.0).powi(2);
            }
            let found = (squares / trials as f64).sqrt();
            let stated = Sketch::standard_error(projections);
            assert!(
                (found / stated - 1.0).abs() < 0.3,
                "{projections}: {found}, {stated}"
            );
        }
    }

    proptest! {
        #[test]
        fn distances_are_near_the_true_ones(
            pairs in prop::collection::vec((-1e3f32..1e3, -1e3f32..1e3), 1..300),
            seed: u64,
        ) {
            let (a, b): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
            let sketch = |x: &[f32]| Sketch::of(&Tensor::vector(x), seed, 64);
            let estimate = sketch(&a).distance(&sketch(&b)).expect("of one seed");
            let exact = true_distance(&a, &b);
            // Seven standard errors.
            prop_assert!((0.38 * exact..=1.62 * exact).contains(&estimate), "{estimate}, {exact}");
        }

        #[test]
        fn a_tensor_may_come_in_parts(data in prop::collection::vec(-8i64..8, 0..2000), cut: prop::sample::Index) {
            let whole = Sketch::of(&Tensor::vector(&data), 3, 16);
            let (first, second) = data.split_at(if data.is_empty() { 0 } else { cut.index(data.len()) });
            let mut parts = Sketch::of(&Tensor::vector(first), 3, 16);
            parts.extend(&Tensor::vector(second));
            // Sums of small whole numbers are exact in any order.
            prop_assert_eq!(whole, parts);
        }
    }
}
