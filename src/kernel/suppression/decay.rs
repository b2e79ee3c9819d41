//! Matrix suppression: scores fall at once, by the overlaps of all better boxes.

use super::{Boxes, Scored};
use crate::kernel::math;
use crate::kernel::real::Real;
use crate::kernel::scratch::{try_push, try_room};
use crate::op::OpError;

/// By what an overlap with a better box multiplies a score.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Decay<T> {
    /// Falling as the overlap grows.
    Linear,
    /// By a normal curve, of this factor before the squares.
    Gaussian(T),
}

impl<T: Real> Decay<T> {
    /// The factor for an overlap with a box that itself overlaps a better one by `most`.
    fn factor(self, overlap: T, most: T) -> T {
        match self {
            // A box that a better one covers whole does not count.
            Decay::Linear => {
                T::of((1.0 - overlap.wide()) / (1.0 - most.wide() + f64::from(1e-10f32)))
            }
            Decay::Gaussian(sigma) => math::exp((most * most - overlap * overlap) * sigma),
        }
    }

    /// The boxes whose score stays above `lowest`, with those scores, in the order they came in.
    ///
    /// # Errors
    /// When there is no memory for them.
    pub(crate) fn keep(
        self,
        boxes: &Boxes<T>,
        ranked: &[Scored<T>],
        lowest: T,
    ) -> Result<Vec<Scored<T>>, OpError> {
        let mut largest = try_room(ranked.len())?;
        let mut kept = Vec::new();
        for scored in ranked {
            let (mut most, mut factor) = (T::zero(), T::one());
            for (better, &larger) in ranked.iter().zip(&largest) {
                let overlap = boxes.iou(scored.index, better.index);
                most = most.max(overlap);
                factor = factor.min(self.factor(overlap, larger));
            }
            largest.push(most);
            let score = factor * scored.score;
            if score > lowest {
                try_push(&mut kept, Scored { score, ..*scored })?;
            }
        }
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::suppression::Sides;

    #[test]
    fn by_all_better_boxes() {
        let mut boxes = Boxes::new(Sides::Continuous, 3).expect("memory");
        boxes.push([0.0f32, 0.0, 2.0, 2.0]);
        boxes.push([0.0, 0.0, 1.0, 2.0]);
        boxes.push([0.0, 0.0, 2.0, 2.0]);
        let ranked = [0, 1, 2].map(|index| Scored { score: 1.0, index });
        let scores = |decay: Decay<f32>| {
            let kept = decay.keep(&boxes, &ranked, -1.0).expect("memory");
            kept.iter().map(|s| s.score).collect::<Vec<_>>()
        };
        assert_eq!(scores(Decay::Linear), [1.0, 0.5, 0.0]);
        assert_eq!(
            scores(Decay::Gaussian(2.0)),
            [1.0, (-0.5f32).exp(), (-2.0f32).exp()]
        );
        let kept = Decay::Linear.keep(&boxes, &ranked, 0.5);
        assert_eq!(kept.expect("memory").len(), 1);
    }
}
