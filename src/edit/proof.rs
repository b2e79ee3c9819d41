//! Whether a changed model still gives what it gave.

use crate::error::Result;
use crate::limits::Limits;
use crate::metrics::{Difference, Tolerance};
use crate::model::Model;
use crate::tensor::Tensor;

/// How an output of the changed model differs from the original's.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OutputProof {
    /// The output's name after the change.
    pub(crate) name: String,
    /// Type and shape before and after.
    pub(crate) types: (String, String),
    /// How many elements there are, and how many are not the same.
    pub(crate) elements: usize,
    pub(crate) differing: usize,
    /// The largest difference of two elements; infinite where only one is finite.
    pub(crate) max_abs: f64,
    /// The largest element of the original that is finite, without its sign.
    pub(crate) scale: f64,
}

impl OutputProof {
    /// The largest difference as a part of the largest element.
    pub(crate) fn relative(&self) -> f64 {
        match self.max_abs {
            0.0 => 0.0,
            difference => difference / self.scale,
        }
    }

    /// Whether the output is what it was, up to this part of its largest element.
    pub(crate) fn holds(&self, tolerance: f64) -> bool {
        self.types.0 == self.types.1 && (self.differing == 0 || self.relative() <= tolerance)
    }
}

/// Evaluates both models on the same inputs, and compares their outputs in order.
///
/// # Errors
/// When one of them cannot be evaluated.
pub(crate) fn prove(
    before: &Model,
    after: &Model,
    inputs: &[(usize, Tensor)],
    limits: &Limits,
) -> Result<Vec<OutputProof>> {
    let evaluate = |model: &Model| -> Result<Vec<Tensor>> {
        let given = inputs.iter().cloned();
        let outputs = model.evaluate_with(given, limits, &mut [])?;
        Ok(outputs.into_tensors())
    };
    let pairs = evaluate(before)?.into_iter().zip(evaluate(after)?);
    let proofs = pairs.zip(after.outputs());
    Ok(proofs
        .map(|((a, b), output)| compare(&a, &b, output.name()))
        .collect())
}

fn compare(before: &Tensor, after: &Tensor, name: &str) -> OutputProof {
    let text = |tensor: &Tensor| format!("{}{}", tensor.element_type(), tensor.shape());
    let mut proof = OutputProof {
        name: name.to_owned(),
        types: (text(before), text(after)),
        elements: before.len(),
        differing: before.len(),
        max_abs: f64::INFINITY,
        scale: 0.0,
    };
    let difference = Difference::between(after, before, &Tolerance::EXACT);
    if let Some(values) = difference.values {
        proof.differing = usize::try_from(values.differing).unwrap_or(usize::MAX);
        proof.scale = values.scale;
        // What has no distance is as far off as can be.
        let apart = values.not_finite > 0 || (values.exact && values.differing > 0);
        proof.max_abs = match apart {
            true => f64::INFINITY,
            false => values.max_abs,
        };
    }
    proof
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_counted() {
        let a = Tensor::vector(&[1f32, -4., f32::NAN, f32::INFINITY]);
        let b = Tensor::vector(&[1f32, -4.5, f32::NAN, f32::INFINITY]);
        let proof = compare(&a, &b, "y");
        assert_eq!((proof.elements, proof.differing), (4, 1));
        assert_eq!((proof.max_abs, proof.scale), (0.5, 4.0));
        assert!(proof.holds(0.125) && !proof.holds(0.1));
        let same = compare(&a, &a, "y");
        assert!(same.holds(0.0) && same.relative() == 0.0);
        let nan = Tensor::vector(&[f32::NAN, -4., f32::NAN, f32::INFINITY]);
        let proof = compare(&a, &nan, "y");
        assert!(proof.max_abs.is_infinite() && !proof.holds(1e9));
        let other = Tensor::vector(&[1f64, -4., 0., 0.]);
        assert!(!compare(&a, &other, "y").holds(1e9));
    }
}
