//! The operations of tokenizers: version `extension`.
//!
//! They have no pages in the specification: what they do is defined by the public sources of
//! openvino_tokenizers, <https://github.com/openvinotoolkit/openvino_tokenizers>.

use super::typing::string_tensor_pack::StringTensorPackExtension;
use super::typing::string_tensor_unpack::StringTensorUnpackExtension;
use crate::op::{Op, OpDef, def};

/// The list of operations outside the opsets that these belong to.
const EXTENSION: &str = "extension";

const fn extension<T>(name: &'static str) -> OpDef
where
    T: Op + serde::de::DeserializeOwned + serde::Serialize,
{
    def::<T>(name, &[]).outside(EXTENSION)
}

pub(super) const OPS: &[OpDef] = &[
    extension::<StringTensorPackExtension>("StringTensorPack"),
    extension::<StringTensorUnpackExtension>("StringTensorUnpack"),
];
