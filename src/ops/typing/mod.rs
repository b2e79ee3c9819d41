//! Category `type` of the specification.

mod convert;
pub(super) mod string_tensor_pack;
pub(super) mod string_tensor_unpack;

use crate::op::{OpDef, def};

pub(super) const OPS: &[OpDef] = &[
    def::<convert::Convert>("Convert", &[1]),
    def::<string_tensor_pack::StringTensorPack>("StringTensorPack", &[15]),
    def::<string_tensor_unpack::StringTensorUnpack>("StringTensorUnpack", &[15]),
];
