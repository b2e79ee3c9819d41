//! Loops compiled for the vectors of the machine they run on.

pub(crate) use crate::tensor::simd::{vectorize, vectorize_mut};
