//! Sizes of outputs: those that no tensor can have are refused, by one rule.
//!
//! Operations compute sizes with [`Dimension`]'s arithmetic, which holds what is too large at
//! `usize::MAX`, or without bounds in `i128`. Whoever calls [`Op::infer`](super::Op::infer) looks at
//! what it says with [`expect_possible`].

use super::{OpError, Output};
use crate::tensor::Dimension;

/// The dimension of an interval that was computed without bounds; below 0 there is nothing.
///
/// # Errors
/// When even the smallest size is too large.
pub(crate) fn between(min: i128, max: Option<i128>) -> Result<Dimension, OpError> {
    let min = size(min)?;
    // What may be too large has no bound that would tell anything.
    let max = max.and_then(|max| size(max).ok());
    Ok(Dimension::range(min, max))
}

/// A size that was computed without bounds; below 0 there is nothing.
///
/// # Errors
/// When it is too large.
pub(crate) fn size(exact: i128) -> Result<usize, OpError> {
    let fits = usize::try_from(exact.max(0)).ok();
    fits.filter(|&size| size <= Dimension::LARGEST)
        .ok_or_else(|| {
            let largest = Dimension::LARGEST;
            OpError::limit(format!(
                "a size of {exact} is too large, the limit is {largest}"
            ))
        })
}

/// Refuses outputs of more dimensions than `rank`, or of larger ones than there are.
///
/// # Errors
/// When there is such an output: a limit.
pub(crate) fn expect_possible(outputs: &[Output], rank: usize) -> Result<(), OpError> {
    for (index, output) in outputs.iter().enumerate() {
        let dims = output.shape.dims().unwrap_or_default();
        if dims.len() > rank {
            let found = dims.len();
            return Err(OpError::limit(format!(
                "output {index} has {found} dimensions, the limit is {rank}"
            )));
        }
        if let Some(axis) = dims.iter().position(|dim| dim.is_too_large()) {
            return Err(OpError::limit(format!(
                "output {index} has the shape {}: axis {axis} is too large, the limit is {}",
                output.shape,
                Dimension::LARGEST
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::OpErrorKind;
    use crate::tensor::{ElementType, PartialShape};

    #[test]
    fn at_the_edge() {
        let largest = Dimension::LARGEST;
        assert_eq!(size(largest as i128), Ok(largest));
        assert_eq!(size(-5), Ok(0));
        for exact in [largest as i128 + 1, usize::MAX as i128, i128::MAX] {
            let error = size(exact).expect_err("too large");
            assert_eq!(error.kind, OpErrorKind::Limit);
            assert!(error.message.contains(&exact.to_string()), "{error}");
            assert_eq!(between(3, Some(exact)), Ok(Dimension::range(3, None)));
            assert!(between(exact, None).is_err());
        }
        let output = |dims: &[Dimension]| Output::new(ElementType::F32, PartialShape::from(dims));
        let (edge, two) = (Dimension::fixed(largest), Dimension::fixed(2));
        assert_eq!(expect_possible(&[output(&[edge, two])], 2), Ok(()));
        for dims in [
            [two, edge * two],
            [edge + two, two],
            [two, edge + edge + two],
        ] {
            let error = expect_possible(&[output(&dims)], 2).expect_err("too large");
            assert_eq!(error.kind, OpErrorKind::Limit);
        }
        let error = expect_possible(&[output(&[two, two])], 1).expect_err("too many");
        assert_eq!(error.message, "output 0 has 2 dimensions, the limit is 1");
    }
}
