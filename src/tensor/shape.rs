//! The shape of a tensor.

use std::fmt;
use std::ops::Deref;

use smallvec::SmallVec;

/// The dimensions of a tensor, outermost first. A scalar has none.
#[derive(PartialEq, Eq, Hash, Default)]
pub struct Shape(SmallVec<[usize; 6]>);

impl Clone for Shape {
    // Derived, it would clone one dimension after the other.
    fn clone(&self) -> Self {
        Self(SmallVec::from_slice(&self.0))
    }
}

impl Shape {
    /// The shape of a scalar.
    pub fn scalar() -> Self {
        Self::default()
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// The number of elements, or `None` if it does not fit in `usize`.
    ///
    /// A shape with a dimension of 0 has no elements, whatever the others are.
    pub fn elements(&self) -> Option<usize> {
        let mut elements = Some(1usize);
        for &dim in &self.0 {
            if dim == 0 {
                return Some(0);
            }
            elements = elements.and_then(|n| n.checked_mul(dim));
        }
        elements
    }

    /// Row-major strides in elements. Meant for shapes whose element count fits.
    pub fn strides(&self) -> SmallVec<[usize; 6]> {
        let mut strides = SmallVec::from_elem(1, self.rank());
        for axis in (1..self.rank()).rev() {
            strides[axis - 1] = usize::wrapping_mul(strides[axis], self.0[axis]);
        }
        strides
    }

    /// Adds a dimension at the end.
    pub fn push(&mut self, dim: usize) {
        self.0.push(dim);
    }
}

impl Deref for Shape {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        &self.0
    }
}

impl std::ops::DerefMut for Shape {
    fn deref_mut(&mut self) -> &mut [usize] {
        &mut self.0
    }
}

impl From<&[usize]> for Shape {
    fn from(dims: &[usize]) -> Self {
        Self(SmallVec::from_slice(dims))
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    fn from(dims: [usize; N]) -> Self {
        Self(SmallVec::from_slice(&dims))
    }
}

impl From<Vec<usize>> for Shape {
    fn from(dims: Vec<usize>) -> Self {
        Self(SmallVec::from_vec(dims))
    }
}

impl FromIterator<usize> for Shape {
    fn from_iter<I: IntoIterator<Item = usize>>(dims: I) -> Self {
        Self(dims.into_iter().collect())
    }
}

impl<'a> IntoIterator for &'a Shape {
    type Item = &'a usize;
    type IntoIter = std::slice::Iter<'a, usize>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, dim) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            write!(f, "{dim}")?;
        }
        f.write_str("]")
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_and_strides() {
        assert_eq!(Shape::scalar().elements(), Some(1));
        assert_eq!(Shape::from([usize::MAX, 2]).elements(), None);
        assert_eq!(Shape::from([usize::MAX, 2, 0]).elements(), Some(0));
        assert_eq!(Shape::from([2, 3, 4]).strides().as_slice(), [12, 4, 1]);
        assert_eq!(Shape::from([2, 3]).to_string(), "[2,3]");
    }
}
