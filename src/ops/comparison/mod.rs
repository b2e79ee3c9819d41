//! Category `comparison` of the specification.

mod classify;
mod compare;
mod equal;
mod greater;
mod greater_equal;
mod is_finite;
mod is_inf;
mod is_nan;
mod less;
mod less_equal;
mod not_equal;

use crate::op::{OpDef, def};
use compare::Compare;

pub(super) const OPS: &[OpDef] = &[
    def::<Compare<equal::Equal>>("Equal", &[1]),
    def::<Compare<not_equal::NotEqual>>("NotEqual", &[1]),
    def::<Compare<greater::Greater>>("Greater", &[1]),
    def::<Compare<greater_equal::GreaterEqual>>("GreaterEqual", &[1]),
    def::<Compare<less::Less>>("Less", &[1]),
    def::<Compare<less_equal::LessEqual>>("LessEqual", &[1]),
    def::<is_finite::IsFinite>("IsFinite", &[10]),
    def::<is_inf::IsInf>("IsInf", &[10]),
    def::<is_nan::IsNaN>("IsNaN", &[10]),
];
