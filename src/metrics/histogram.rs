//! How the elements of a tensor are distributed.

use super::pieces;
use crate::tensor::Tensor;

/// Counts of elements in bins of equal width between two numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// Where the first bin begins.
    pub low: f64,
    /// Where the last bin ends.
    pub high: f64,
    /// The number of elements in each bin.
    pub counts: Vec<u64>,
}

impl Histogram {
    /// The distribution of the finite elements that are not below `low` and not above `high`; complex
    /// elements count as two numbers, strings not at all. All of a single number are in the first bin.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // bins are few, and positions are inside them
    pub fn of(tensor: &Tensor, low: f64, high: f64, bins: usize) -> Self {
        let mut counts = vec![0u64; bins];
        let width = (high - low) / bins as f64;
        if let Some(numbers) = pieces::numbers(tensor).filter(|_| bins > 0) {
            let pieces = pieces::map(numbers.len(), |start, len| {
                let mut counts = vec![0u64; bins];
                pieces::blocks(&numbers, start, len, |_, block| {
                    for &x in block {
                        if (low..=high).contains(&x) && x.is_finite() {
                            let bin = ((x - low) / width) as usize;
                            counts[bin.min(bins - 1)] += 1;
                        }
                    }
                });
                counts
            });
            for piece in pieces {
                for (all, count) in counts.iter_mut().zip(piece) {
                    *all += count;
                }
            }
        }
        Self { low, high, counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins() {
        let tensor = Tensor::vector(&[0f32, 0.1, 0.9, 1.0, f32::NAN, f32::INFINITY, 2.0]);
        assert_eq!(Histogram::of(&tensor, 0.0, 1.0, 4).counts, [2, 0, 0, 2]);
        let same = Tensor::vector(&[3i32; 5]);
        assert_eq!(Histogram::of(&same, 3.0, 3.0, 3).counts, [5, 0, 0]);
        assert!(Histogram::of(&same, 3.0, 3.0, 0).counts.is_empty());
    }
}
