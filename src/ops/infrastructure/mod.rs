//! Category `infrastructure` of the specification.

mod constant;
mod parameter;
mod result;

use crate::op::{OpDef, def, def_with};

pub(crate) use constant::Const;
pub(crate) use parameter::Parameter;
pub(crate) use result::Result;

pub(super) const OPS: &[OpDef] = &[
    def_with::<Const>("Const", &[1], constant::read),
    def::<Parameter>("Parameter", &[1]),
    def::<Result>("Result", &[1]),
];
