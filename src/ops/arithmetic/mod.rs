//! Category `arithmetic` of the specification.

mod abs;
mod acos;
mod acosh;
mod add;
mod asin;
mod asinh;
mod atan;
mod atanh;
mod binary;
mod ceiling;
mod cos;
mod cosh;
mod cum_sum;
mod divide;
mod erf;
mod erf_inv;
mod floor;
mod log;
mod maximum;
mod minimum;
mod modulo;
mod multiply;
mod negative;
mod power;
mod round;
mod segment_max;
mod sign;
mod sin;
mod sinh;
mod sqrt;
mod squared_difference;
mod subtract;
mod tan;
mod tanh;

use crate::op::{OpDef, def};
use crate::ops::unary::Unary;
use binary::Binary;

pub(super) const OPS: &[OpDef] = &[
    def::<Unary<abs::Abs>>("Abs", &[1]),
    def::<Unary<acos::Acos>>("Acos", &[1]),
    def::<Unary<acosh::Acosh>>("Acosh", &[4]),
    def::<Binary<add::Add>>("Add", &[1]),
    def::<Unary<asin::Asin>>("Asin", &[1]),
    def::<Unary<asinh::Asinh>>("Asinh", &[4]),
    def::<Unary<atan::Atan>>("Atan", &[1]),
    def::<atanh::Atanh>("Atanh", &[4]),
    def::<Unary<ceiling::Ceiling>>("Ceiling", &[1]),
    def::<Unary<cos::Cos>>("Cos", &[1]),
    def::<Unary<cosh::Cosh>>("Cosh", &[1]),
    def::<cum_sum::CumSum>("CumSum", &[3]),
    def::<divide::Divide>("Divide", &[1]),
    def::<modulo::Modulo<true>>("FloorMod", &[1]),
    def::<Unary<erf::Erf>>("Erf", &[1]),
    def::<Unary<erf_inv::ErfInv>>("ErfInv", &[17]),
    def::<Unary<floor::Floor>>("Floor", &[1]),
    def::<Unary<log::Log>>("Log", &[1]),
    def::<Binary<maximum::Maximum>>("Maximum", &[1]),
    def::<Binary<minimum::Minimum>>("Minimum", &[1]),
    def::<modulo::Modulo<false>>("Mod", &[1]),
    def::<Binary<multiply::Multiply>>("Multiply", &[1]),
    def::<power::Power>("Power", &[1]),
    def::<Binary<squared_difference::SquaredDifference>>("SquaredDifference", &[1]),
    def::<Unary<negative::Negative>>("Negative", &[1]),
    def::<Unary<round::Round>>("Round", &[5]),
    def::<segment_max::SegmentMax>("SegmentMax", &[16]),
    def::<Unary<sign::Sign>>("Sign", &[1]),
    def::<Unary<sin::Sin>>("Sin", &[1]),
    def::<Unary<sinh::Sinh>>("Sinh", &[1]),
    def::<Unary<sqrt::Sqrt>>("Sqrt", &[1]),
    def::<Binary<subtract::Subtract>>("Subtract", &[1]),
    def::<Unary<tan::Tan>>("Tan", &[1]),
    def::<Unary<tanh::Tanh>>("Tanh", &[1]),
];
