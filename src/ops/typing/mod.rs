//! Category `type` of the specification.

mod convert;

use crate::op::{OpDef, def};

pub(super) const OPS: &[OpDef] = &[def::<convert::Convert>("Convert", &[1])];
