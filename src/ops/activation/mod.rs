//! Category `activation` of the specification.

mod clamp;
mod elu;
mod exp;
mod gelu;
mod hard_sigmoid;
mod hsigmoid;
mod hswish;
mod identity;
mod mish;
mod prelu;
mod relu;
mod selu;
mod sigmoid;
mod softmax;
mod softplus;
mod softsign;
mod swish;

use super::unary::Unary;
use crate::op::{OpDef, def};

pub(super) const OPS: &[OpDef] = &[
    def::<clamp::Clamp>("Clamp", &[1]),
    def::<Unary<elu::Elu>>("Elu", &[1]),
    def::<Unary<exp::Exp>>("Exp", &[1]),
    def::<Unary<gelu::Gelu2>>("Gelu", &[2]),
    def::<Unary<gelu::Gelu>>("Gelu", &[7]),
    def::<hard_sigmoid::HardSigmoid>("HardSigmoid", &[1]),
    def::<Unary<hsigmoid::HSigmoid>>("HSigmoid", &[5]),
    def::<Unary<hswish::HSwish>>("HSwish", &[4]),
    def::<identity::Identity>("Identity", &[16]),
    def::<softmax::LogSoftmax>("LogSoftmax", &[5]),
    def::<Unary<mish::Mish>>("Mish", &[4]),
    def::<prelu::PRelu>("PReLU", &[1]),
    def::<Unary<relu::Relu>>("ReLU", &[1]),
    def::<selu::Selu>("Selu", &[1]),
    def::<Unary<sigmoid::Sigmoid>>("Sigmoid", &[1]),
    def::<softmax::Softmax1>("SoftMax", &[1]),
    def::<softmax::Softmax>("SoftMax", &[8]),
    def::<Unary<softplus::SoftPlus>>("SoftPlus", &[4]),
    def::<Unary<softsign::SoftSign>>("SoftSign", &[9]),
    def::<swish::Swish>("Swish", &[4]),
];
