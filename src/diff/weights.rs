//! The elements of constants: whether they are equal, and how far apart they are.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use crate::graph::Node;
use crate::metrics::{Difference, Tolerance};
use crate::tensor::Tensor;

/// How far apart the elements of two constants of one shape are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distance {
    /// The norm of the difference as a part of the norm of the first; infinite if that is zero.
    pub relative_l2: f64,
    /// The largest absolute difference of elements that are finite on both sides.
    pub max_abs: f64,
    /// How many elements are not equal.
    pub differing: u64,
}

/// The tensor of a constant, if its bytes are there.
pub(super) fn tensor(node: &Node) -> Option<&Tensor> {
    node.op()?.constant()?.ok()
}

/// A hash of the elements of a constant.
pub(super) fn content(node: &Node) -> Option<u64> {
    let tensor = tensor(node)?;
    let mut hasher = DefaultHasher::new();
    match tensor.as_strings() {
        Ok(strings) => {
            for text in strings {
                text.to_str().hash(&mut hasher);
            }
        }
        Err(_) => hasher.write(tensor.bytes()),
    }
    Some(hasher.finish())
}

/// How far apart two tensors are: numbers of one shape, whatever their types.
pub(super) fn distance(a: &Tensor, b: &Tensor) -> Option<Distance> {
    let difference = Difference::between(b, a, &Tolerance::default());
    let values = difference.values.filter(|values| !values.exact)?;
    Some(Distance {
        relative_l2: values.rel_l2,
        max_abs: values.max_abs,
        differing: values.differing,
    })
}
