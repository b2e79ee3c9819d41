//! How far a tensor of a run with rounded numbers is from the true one.

use crate::metrics::{Difference, Tolerance};
use crate::tensor::Tensor;

/// How far a tensor is from another, over the elements that are finite in both.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Distance {
    /// The L2 norm of the difference, as a part of that of the true tensor.
    pub relative_l2: f64,
    /// The largest difference of an element.
    pub max_absolute: f64,
    /// Elements that are finite in one, and not in the other.
    pub lost: u64,
}

impl Distance {
    /// The distance of `found` from `truth`; `None` of other shapes.
    pub fn of(truth: &Tensor, found: &Tensor) -> Option<Self> {
        let values = Difference::between(found, truth, &Tolerance::default()).values?;
        Some(Self {
            relative_l2: values.rel_l2,
            max_absolute: values.max_abs,
            lost: values.not_finite,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        let truth = Tensor::vector(&[3f32, 4.0, 1.0, f32::INFINITY]);
        let found = Tensor::vector(&[3f32, 4.5, f32::NAN, 0.0]);
        let distance = Distance::of(&truth, &found).expect("numbers");
        assert_eq!(
            distance,
            Distance {
                relative_l2: 0.1,
                max_absolute: 0.5,
                lost: 2
            }
        );
        assert_eq!(Distance::of(&truth, &truth), Some(Distance::default()));
        assert_eq!(Distance::of(&truth, &Tensor::vector(&[1f32])), None);
    }
}
