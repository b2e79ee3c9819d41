//! Category `infrastructure` of the specification.

mod assign;
mod constant;
mod control;
mod parameter;
mod read_value;
mod result;

use crate::op::{OpDef, Role, def, def_with, fixed};

pub(crate) use constant::Const;
pub(crate) use parameter::Parameter;
pub(crate) use result::Result;

pub(super) const OPS: &[OpDef] = &[
    def::<assign::Assign>("Assign", &[3, 6]),
    def_with::<Const>("Const", &[1], constant::read),
    fixed("Loop", &[5], || Box::new(control::Control(Role::Loop))),
    def::<Parameter>("Parameter", &[1]),
    def::<read_value::ReadValue>("ReadValue", &[3, 6]),
    def::<Result>("Result", &[1]),
    fixed("TensorIterator", &[1], || {
        Box::new(control::Control(Role::TensorIterator))
    }),
];

/// The row that stands in category `condition`.
pub(in crate::ops) const IF: OpDef = fixed("If", &[8], || Box::new(control::Control(Role::If)));
