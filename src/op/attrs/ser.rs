//! A serde serializer from an operation's struct to attributes in IR's spelling.

use std::fmt;

use serde::Serialize;
use serde::ser::{self, Impossible, SerializeSeq, SerializeStruct};

use crate::op::AttributeList;

/// The attributes of an operation. A struct that attributes cannot spell gives none.
pub(crate) fn write<T: Serialize>(op: &T) -> AttributeList {
    op.serialize(Attributes(Vec::new())).unwrap_or_default()
}

#[derive(Debug)]
struct NotAnAttribute;

impl fmt::Display for NotAnAttribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value has no spelling as an attribute")
    }
}

impl std::error::Error for NotAnAttribute {}

impl ser::Error for NotAnAttribute {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

/// The methods of `Serializer` that have no spelling here.
macro_rules! refuse {
    ($($method:ident($($ty:ty),*))*) => {
        $(fn $method(self, $(_: $ty),*) -> Result<Self::Ok, NotAnAttribute> {
            Err(NotAnAttribute)
        })*
    };
}

macro_rules! refuse_compounds {
    () => {
        type SerializeTuple = Impossible<Self::Ok, NotAnAttribute>;
        type SerializeTupleStruct = Impossible<Self::Ok, NotAnAttribute>;
        type SerializeTupleVariant = Impossible<Self::Ok, NotAnAttribute>;
        type SerializeMap = Impossible<Self::Ok, NotAnAttribute>;
        type SerializeStructVariant = Impossible<Self::Ok, NotAnAttribute>;

        fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, NotAnAttribute> {
            Err(NotAnAttribute)
        }

        fn serialize_tuple_struct(
            self,
            _: &'static str,
            _: usize,
        ) -> Result<Self::SerializeTupleStruct, NotAnAttribute> {
            Err(NotAnAttribute)
        }

        fn serialize_tuple_variant(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: usize,
        ) -> Result<Self::SerializeTupleVariant, NotAnAttribute> {
            Err(NotAnAttribute)
        }

        fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, NotAnAttribute> {
            Err(NotAnAttribute)
        }

        fn serialize_struct_variant(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: usize,
        ) -> Result<Self::SerializeStructVariant, NotAnAttribute> {
            Err(NotAnAttribute)
        }

        fn serialize_newtype_variant<T: Serialize + ?Sized>(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: &T,
        ) -> Result<Self::Ok, NotAnAttribute> {
            Err(NotAnAttribute)
        }
    };
}

struct Attributes(AttributeList);

impl SerializeStruct for Attributes {
    type Ok = AttributeList;
    type Error = NotAnAttribute;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), NotAnAttribute> {
        if let Some(text) = value.serialize(Value)? {
            self.0.push((key, text));
        }
        Ok(())
    }

    fn end(self) -> Result<AttributeList, NotAnAttribute> {
        Ok(self.0)
    }
}

impl ser::Serializer for Attributes {
    type Ok = AttributeList;
    type Error = NotAnAttribute;
    type SerializeSeq = Impossible<AttributeList, NotAnAttribute>;
    type SerializeStruct = Self;

    refuse_compounds!();
    refuse! {
        serialize_bool(bool) serialize_i8(i8) serialize_i16(i16) serialize_i32(i32)
        serialize_i64(i64) serialize_u8(u8) serialize_u16(u16) serialize_u32(u32)
        serialize_u64(u64) serialize_f32(f32) serialize_f64(f64) serialize_char(char)
        serialize_str(&str) serialize_bytes(&[u8]) serialize_none() serialize_unit()
        serialize_unit_variant(&'static str, u32, &'static str)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<AttributeList, NotAnAttribute> {
        Err(NotAnAttribute)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<AttributeList, NotAnAttribute> {
        Ok(self.0)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<AttributeList, NotAnAttribute> {
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, NotAnAttribute> {
        Err(NotAnAttribute)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, NotAnAttribute> {
        Ok(self)
    }
}

/// One value; `None` is an attribute left out.
struct Value;

macro_rules! plain {
    ($($method:ident($ty:ty))*) => {
        $(fn $method(self, value: $ty) -> Result<Option<String>, NotAnAttribute> {
            Ok(Some(value.to_string()))
        })*
    };
}

impl ser::Serializer for Value {
    type Ok = Option<String>;
    type Error = NotAnAttribute;
    type SerializeSeq = List;
    type SerializeStruct = Impossible<Option<String>, NotAnAttribute>;

    refuse_compounds!();
    refuse! { serialize_bytes(&[u8]) serialize_unit() serialize_unit_struct(&'static str) }
    plain! {
        serialize_bool(bool) serialize_i8(i8) serialize_i16(i16) serialize_i32(i32)
        serialize_i64(i64) serialize_u8(u8) serialize_u16(u16) serialize_u32(u32)
        serialize_u64(u64) serialize_char(char) serialize_str(&str)
    }

    fn serialize_f32(self, value: f32) -> Result<Option<String>, NotAnAttribute> {
        // The shortest text that reads back as the same f32.
        Ok(Some(float(value.is_nan(), value.to_string())))
    }

    fn serialize_f64(self, value: f64) -> Result<Option<String>, NotAnAttribute> {
        Ok(Some(float(value.is_nan(), value.to_string())))
    }

    fn serialize_none(self) -> Result<Option<String>, NotAnAttribute> {
        Ok(None)
    }

    fn serialize_some<T: Serialize + ?Sized>(
        self,
        value: &T,
    ) -> Result<Option<String>, NotAnAttribute> {
        value.serialize(self)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Option<String>, NotAnAttribute> {
        Ok(Some(variant.to_owned()))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Option<String>, NotAnAttribute> {
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<List, NotAnAttribute> {
        Ok(List(String::new()))
    }

    fn serialize_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStruct, NotAnAttribute> {
        Err(NotAnAttribute)
    }
}

fn float(nan: bool, text: String) -> String {
    // Rust writes infinities as IR does.
    if nan { "nan".to_owned() } else { text }
}

struct List(String);

impl SerializeSeq for List {
    type Ok = Option<String>;
    type Error = NotAnAttribute;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), NotAnAttribute> {
        if !self.0.is_empty() {
            self.0.push_str(", ");
        }
        self.0
            .push_str(&item.serialize(Value)?.ok_or(NotAnAttribute)?);
        Ok(())
    }

    fn end(self) -> Result<Option<String>, NotAnAttribute> {
        Ok(Some(self.0))
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::*;
    use crate::tensor::{ElementType, PartialShape};

    #[derive(Serialize)]
    struct Sample {
        flag: bool,
        pads: Vec<i64>,
        alpha: f32,
        kind: ElementType,
        shape: PartialShape,
        missing: Option<i64>,
    }

    #[test]
    fn spellings() {
        let sample = Sample {
            flag: true,
            pads: vec![1, -2],
            alpha: 0.1,
            kind: ElementType::I64,
            shape: "1,?".parse().expect("a shape"),
            missing: None,
        };
        let expected = [
            ("flag", "true"),
            ("pads", "1, -2"),
            ("alpha", "0.1"),
            ("kind", "i64"),
            ("shape", "1,?"),
        ];
        let found = write(&sample);
        let found: Vec<_> = found.iter().map(|(k, v)| (*k, v.as_str())).collect();
        assert_eq!(found, expected);
    }
}
