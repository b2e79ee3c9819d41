//! ReduceProd-1: the product over axes. Boolean data is not allowed.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/reduction/reduce-prod-1.html>
//!
//! Products of `f32` and narrower floats are accumulated in `f64` and rounded once; products of
//! integers wrap. The product of no elements is one.

use super::reduce::{Ranges, Reduction};
use crate::kernel::reduce::{Folds, PRODUCT};
use crate::ops::interval;

/// The product.
#[derive(Debug, Default)]
pub(super) struct Prod;

impl Reduction for Prod {
    const FOLDS: Folds = PRODUCT;

    const RANGES: Option<Ranges> = Some(Ranges {
        nothing: |_| 1,
        fold: |ty, a, b| interval::fit(interval::multiply(a, b), ty),
        finish: |product, _| product,
    });
}
