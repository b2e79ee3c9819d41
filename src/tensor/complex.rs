//! Complex elements, and their parts as numbers of their own.

use super::{ElementType, Shape, Tensor, TensorError};

impl Tensor {
    /// The parts of complex elements, real and imaginary, along a new last axis of size 2;
    /// `None` if the elements are not complex.
    pub fn complex_parts(&self) -> Option<Self> {
        let part = self.element_type().part()?;
        let mut shape = self.shape().clone();
        shape.push(2);
        self.reinterpret(part, shape).ok()
    }

    /// The complex elements whose parts lie along the last axis.
    ///
    /// # Errors
    /// When the type is neither `f32` nor `f64`, or the last axis has not size 2.
    pub fn from_complex_parts(parts: &Self) -> Result<Self, TensorError> {
        let element_type = match parts.element_type() {
            ElementType::F32 => ElementType::Complex64,
            ElementType::F64 => ElementType::Complex128,
            found => {
                return Err(TensorError::ElementType {
                    found,
                    expected: ElementType::F64,
                });
            }
        };
        match parts.shape().split_last() {
            Some((2, dims)) => parts.reinterpret(element_type, Shape::from(dims)),
            _ => Err(TensorError::NoPairs(parts.shape().clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::tensor::SharedBytes;

    #[test]
    fn complex_elements_are_pairs() {
        let complex = Tensor::new([2, 1], &[[1f32, 2.0], [3.0, -0.0]]).expect("two");
        assert_eq!(complex.element_type(), ElementType::Complex64);
        let parts = complex.complex_parts().expect("complex");
        assert_eq!(
            parts,
            Tensor::new([2, 1, 2], &[1f32, 2.0, 3.0, -0.0]).expect("four")
        );
        assert_eq!(Tensor::from_complex_parts(&parts).expect("pairs"), complex);
        assert!(parts.complex_parts().is_none());
        let three = Tensor::from_complex_parts(&Tensor::vector(&[1f64, 2.0, 3.0]));
        assert!(three.is_err());
        assert!(Tensor::from_complex_parts(&Tensor::vector(&[1i32, 2])).is_err());
        // Eight bytes after an address for `f64` there is none for `complex128`.
        let all = SharedBytes::new(Arc::new(vec![0x3fu8; 64]));
        let start = all.as_bytes().as_ptr().addr().next_multiple_of(16) + 8
            - all.as_bytes().as_ptr().addr();
        let bytes = all.slice(start, 32).expect("inside");
        let parts = Tensor::from_bytes(ElementType::F64, [2, 2], bytes).expect("four");
        let complex = Tensor::from_complex_parts(&parts).expect("pairs");
        assert!(complex.bytes().as_ptr().addr().is_multiple_of(16));
        assert_eq!(complex.as_slice::<[f64; 2]>().expect("complex").len(), 2);
    }
}
