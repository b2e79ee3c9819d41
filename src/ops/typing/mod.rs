//! Category `type` of the specification.

mod convert;
mod convert_like;
mod convert_promote_types;
pub(super) mod string_tensor_pack;
pub(super) mod string_tensor_unpack;

use crate::op::{OpDef, def};

pub(super) const OPS: &[OpDef] = &[
    def::<convert::Convert>("Convert", &[1]),
    def::<convert_like::ConvertLike>("ConvertLike", &[1]),
    def::<convert_promote_types::ConvertPromoteTypes>("ConvertPromoteTypes", &[14]),
    def::<string_tensor_pack::StringTensorPack>("StringTensorPack", &[15]),
    def::<string_tensor_unpack::StringTensorUnpack>("StringTensorUnpack", &[15]),
];
