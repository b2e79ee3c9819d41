//! Category `quantization` of the specification.

use crate::op::OpDef;

pub(super) const OPS: &[OpDef] = &[];
