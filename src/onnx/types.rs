//! Element types and shapes as ONNX numbers and names them.

use std::collections::HashMap;

use super::proto::{Dim, DimValue, TensorShapeProto, TypeProto, TypeValue};
use crate::tensor::{Dimension, ElementType, PartialShape, Symbol};

/// `TensorProto.DataType`: the names in the order of their numbers, and the element types that
/// mean the same.
const TYPES: [(&str, Option<ElementType>); 27] = [
    ("undefined", None),
    ("float", Some(ElementType::F32)),
    ("uint8", Some(ElementType::U8)),
    ("int8", Some(ElementType::I8)),
    ("uint16", Some(ElementType::U16)),
    ("int16", Some(ElementType::I16)),
    ("int32", Some(ElementType::I32)),
    ("int64", Some(ElementType::I64)),
    ("string", Some(ElementType::String)),
    ("bool", Some(ElementType::Boolean)),
    ("float16", Some(ElementType::F16)),
    ("double", Some(ElementType::F64)),
    ("uint32", Some(ElementType::U32)),
    ("uint64", Some(ElementType::U64)),
    ("complex64", Some(ElementType::Complex64)),
    ("complex128", Some(ElementType::Complex128)),
    ("bfloat16", Some(ElementType::Bf16)),
    ("float8e4m3fn", Some(ElementType::F8e4m3)),
    ("float8e4m3fnuz", None),
    ("float8e5m2", Some(ElementType::F8e5m2)),
    ("float8e5m2fnuz", None),
    ("uint4", Some(ElementType::U4)),
    ("int4", Some(ElementType::I4)),
    ("float4e2m1", Some(ElementType::F4e2m1)),
    ("float8e8m0", Some(ElementType::F8e8m0)),
    ("uint2", Some(ElementType::U2)),
    ("int2", None),
];

/// The element type of a number.
///
/// # Errors
/// The name of a type there is no element type for.
pub(super) fn element_type(data_type: i32) -> Result<ElementType, String> {
    let entry = usize::try_from(data_type).ok().and_then(|n| TYPES.get(n));
    match entry {
        Some((_, Some(ty))) => Ok(*ty),
        Some((name, None)) => Err((*name).to_owned()),
        None => Err(format!("type {data_type}")),
    }
}

/// The number of a type's name in upper case, as old models spell it: `FLOAT`.
pub(super) fn number(name: &str) -> Option<i32> {
    let known = |(n, _): &(&str, _)| n.eq_ignore_ascii_case(name);
    i32::try_from(TYPES.iter().position(known)?).ok()
}

/// The symbols of sizes that have a name: one for each name of a model.
#[derive(Debug, Default)]
pub(super) struct Symbols<'m>(HashMap<&'m str, Symbol>);

impl<'m> Symbols<'m> {
    /// The element type and shape of a value, as far as they are written down.
    ///
    /// # Errors
    /// When it is no tensor, or one of a type there is no element type for.
    pub(super) fn of_type(
        &mut self,
        ty: Option<&'m TypeProto>,
    ) -> Result<(ElementType, PartialShape), String> {
        let tensor = match ty.and_then(|ty| ty.value.as_ref()) {
            None => return Ok((ElementType::Dynamic, PartialShape::dynamic())),
            Some(TypeValue::Tensor(tensor)) => tensor,
            Some(TypeValue::Sequence(_)) => return Err("a sequence".to_owned()),
            Some(TypeValue::Map(_)) => return Err("a map".to_owned()),
            Some(TypeValue::Optional(_)) => return Err("an optional value".to_owned()),
            Some(TypeValue::SparseTensor(_)) => return Err("a sparse tensor".to_owned()),
            Some(TypeValue::Opaque(_)) => return Err("an opaque value".to_owned()),
        };
        let element_type = match tensor.elem_type {
            0 => ElementType::Dynamic,
            number => {
                element_type(number).map_err(|name| format!("a tensor of elements of {name}"))?
            }
        };
        Ok((element_type, self.shape(tensor.shape.as_ref())))
    }

    fn shape(&mut self, shape: Option<&'m TensorShapeProto>) -> PartialShape {
        shape.map_or(PartialShape::dynamic(), |shape| {
            shape.dim.iter().map(|dim| self.dimension(dim)).collect()
        })
    }

    fn dimension(&mut self, dim: &'m Dim) -> Dimension {
        match &dim.value {
            // Some tools write a size they do not know as -1.
            Some(DimValue::Value(size)) => {
                usize::try_from(*size).map_or(Dimension::dynamic(), Dimension::fixed)
            }
            Some(DimValue::Param(name)) if !name.is_empty() => {
                let next = Symbol(u32::try_from(self.0.len()).unwrap_or(u32::MAX));
                let symbol = *self.0.entry(name).or_insert(next);
                Dimension::dynamic().with_symbol(Some(symbol))
            }
            _ => Dimension::dynamic(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_format() {
        for (number, ty) in [
            (1, "f32"),
            (9, "boolean"),
            (10, "f16"),
            (13, "u64"),
            (16, "bf16"),
            (17, "f8e4m3"),
            (19, "f8e5m2"),
            (21, "u4"),
            (23, "f4e2m1"),
            (24, "f8e8m0"),
            (25, "u2"),
        ] {
            assert_eq!(element_type(number).map(ElementType::name), Ok(ty));
        }
        assert_eq!(element_type(18), Err("float8e4m3fnuz".to_owned()));
        assert_eq!(element_type(-1), Err("type -1".to_owned()));
        assert_eq!(element_type(99), Err("type 99".to_owned()));
        assert_eq!(number("FLOAT16"), Some(10));
        assert_eq!(number("half"), None);
    }
}
