//! A serde deserializer over a layer's attributes.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess,
    SeqAccess, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::Attr;

/// An attribute that is missing, or whose value is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttrError {
    /// What is wrong, naming the attribute.
    pub message: String,
    /// Byte offset of the attribute in the document, if it is there.
    pub offset: Option<usize>,
}

impl fmt::Display for AttrError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for AttrError {}

impl de::Error for AttrError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self {
            message: message.to_string(),
            offset: None,
        }
    }

    fn missing_field(field: &'static str) -> Self {
        Self::custom(format_args!("attribute `{field}` is missing"))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::custom(format_args!(
            "`{variant}` is not one of {}",
            expected.join(", ")
        ))
    }
}

/// Reads an operation's attributes, and gives the positions of those it does not know.
///
/// # Errors
/// The first attribute that is missing or cannot be read.
pub fn read<T: DeserializeOwned>(attributes: &[Attr<'_>]) -> Result<(T, Vec<usize>), AttrError> {
    let mut unknown = Vec::new();
    let value = T::deserialize(Attributes {
        attributes,
        unknown: &mut unknown,
    })?;
    Ok((value, unknown))
}

struct Attributes<'a> {
    attributes: &'a [Attr<'a>],
    unknown: &'a mut Vec<usize>,
}

impl<'de> Deserializer<'de> for Attributes<'_> {
    type Error = AttrError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, AttrError> {
        visitor.visit_map(Map {
            attributes: self.attributes,
            next: 0,
            unknown: self.unknown,
        })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
        ignored_any
    }
}

struct Map<'a> {
    attributes: &'a [Attr<'a>],
    next: usize,
    unknown: &'a mut Vec<usize>,
}

impl<'de> MapAccess<'de> for Map<'_> {
    type Error = AttrError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, AttrError> {
        match self.attributes.get(self.next) {
            None => Ok(None),
            Some(attr) => {
                let key: StrDeserializer<'_, AttrError> = attr.name.into_deserializer();
                seed.deserialize(key).map(Some)
            }
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, AttrError> {
        let position = self.next;
        let attr = &self.attributes[position];
        self.next += 1;
        let value = Value {
            text: &attr.value,
            ignored: Some((position, &mut *self.unknown)),
        };
        seed.deserialize(value).map_err(|error| AttrError {
            message: format!("attribute `{}`: {}", attr.name, error.message),
            offset: Some(attr.offset),
        })
    }
}

/// The text of an attribute, or of one item of a list.
struct Value<'a> {
    text: &'a str,
    /// Where to note that nobody wants it.
    ignored: Option<(usize, &'a mut Vec<usize>)>,
}

impl Value<'_> {
    fn error<T>(&self, expected: &str) -> Result<T, AttrError> {
        Err(de::Error::custom(format_args!(
            "`{}` is not {expected}",
            self.text
        )))
    }

    fn integer(&self) -> Result<i64, AttrError> {
        let text = self.text.trim();
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return self.error("an integer");
        }
        match text.parse() {
            Ok(value) => Ok(value),
            Err(_) => self.error("a 64-bit integer"),
        }
    }

    fn float(&self) -> Result<f64, AttrError> {
        let text = self.text.trim();
        match text {
            "inf" => return Ok(f64::INFINITY),
            "-inf" => return Ok(f64::NEG_INFINITY),
            "nan" => return Ok(f64::NAN),
            _ => {}
        }
        // Rust's own parser also takes `infinity`, `NaN` and the like.
        let number = text
            .bytes()
            .all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
        match text.parse::<f64>() {
            Ok(value) if number && value.is_finite() => Ok(value),
            _ => self.error("a number"),
        }
    }
}

macro_rules! integers {
    ($($method:ident $visit:ident $ty:ty),+ $(,)?) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, AttrError> {
            match <$ty>::try_from(self.integer()?) {
                Ok(value) => visitor.$visit(value),
                Err(_) => self.error(concat!("in the range of ", stringify!($ty))),
            }
        })+
    };
}

impl<'de> Deserializer<'de> for Value<'_> {
    type Error = AttrError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, AttrError> {
        visitor.visit_str(self.text)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, AttrError> {
        match self.text {
            "1" => visitor.visit_bool(true),
            "0" => visitor.visit_bool(false),
            text if text.eq_ignore_ascii_case("true") => visitor.visit_bool(true),
            text if text.eq_ignore_ascii_case("false") => visitor.visit_bool(false),
            _ => self.error("true or false"),
        }
    }

    integers! {
        deserialize_i8 visit_i8 i8, deserialize_i16 visit_i16 i16,
        deserialize_i32 visit_i32 i32, deserialize_i64 visit_i64 i64,
        deserialize_u8 visit_u8 u8, deserialize_u16 visit_u16 u16,
        deserialize_u32 visit_u32 u32, deserialize_u64 visit_u64 u64,
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, AttrError> {
        #[allow(clippy::cast_possible_truncation)] // f32 attributes are doubles rounded to f32
        let value = self.float()? as f32;
        visitor.visit_f32(value)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, AttrError> {
        visitor.visit_f64(self.float()?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, AttrError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, AttrError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, AttrError> {
        visitor.visit_seq(Items {
            rest: (!self.text.trim().is_empty()).then_some(self.text),
        })
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, AttrError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, AttrError> {
        let variant = variants
            .iter()
            .find(|v| v.eq_ignore_ascii_case(self.text))
            .copied();
        visitor.visit_enum(Variant(variant.unwrap_or(self.text)))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, AttrError> {
        if let Some((position, unknown)) = self.ignored {
            unknown.push(position);
        }
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        i128 u128 char str string bytes byte_buf unit unit_struct tuple_struct map struct identifier
    }
}

struct Items<'a> {
    rest: Option<&'a str>,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = AttrError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, AttrError> {
        let Some(rest) = self.rest else {
            return Ok(None);
        };
        let (item, rest) = match rest.split_once(',') {
            Some((item, rest)) => (item, Some(rest)),
            None => (rest, None),
        };
        self.rest = rest;
        let text = item.trim();
        if text.is_empty() {
            return Err(de::Error::custom("an item of the list is empty"));
        }
        seed.deserialize(Value {
            text,
            ignored: None,
        })
        .map(Some)
    }
}

struct Variant<'a>(&'a str);

impl<'de> EnumAccess<'de> for Variant<'_> {
    type Error = AttrError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), AttrError> {
        let name: StrDeserializer<'_, AttrError> = self.0.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

/// Enums of attributes are words: no variant carries anything.
impl<'de> VariantAccess<'de> for Variant<'_> {
    type Error = AttrError;

    fn unit_variant(self) -> Result<(), AttrError> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value, AttrError> {
        Err(de::Error::custom("an attribute is one word"))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, AttrError> {
        Err(de::Error::custom("an attribute is one word"))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, AttrError> {
        Err(de::Error::custom("an attribute is one word"))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::tensor::{ElementType, PartialShape};

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "snake_case")]
    enum Mode {
        #[serde(alias = "explicit")]
        None,
        SameUpper,
    }

    #[derive(Debug, Deserialize)]
    struct Sample {
        #[serde(default)]
        flag: bool,
        #[serde(default)]
        axis: i64,
        #[serde(default)]
        size: usize,
        #[serde(default)]
        alpha: f32,
        #[serde(default)]
        pads: Vec<i64>,
        #[serde(default)]
        scales: Vec<f32>,
        mode: Option<Mode>,
        #[serde(default)]
        element_type: ElementType,
        shape: Option<PartialShape>,
        #[serde(rename = "exclude-pad", default)]
        exclude_pad: bool,
    }

    fn sample(name: &str, value: &str) -> Result<(Sample, Vec<usize>), AttrError> {
        read(&[Attr::new(name, value)])
    }

    fn ok(name: &str, value: &str) -> Sample {
        sample(name, value).expect("a good value").0
    }

    #[test]
    fn good_values() {
        assert!(ok("flag", "TRUE").flag && ok("flag", "1").flag && !ok("flag", "0").flag);
        assert_eq!(ok("axis", " -007 ").axis, -7);
        assert_eq!(ok("axis", "-9223372036854775808").axis, i64::MIN);
        assert_eq!(ok("size", "3").size, 3);
        assert_eq!(ok("alpha", "+1.5").alpha, 1.5);
        assert_eq!(ok("alpha", "-inf").alpha, f32::NEG_INFINITY);
        assert_eq!(ok("alpha", "1e39").alpha, f32::INFINITY);
        assert_eq!(ok("pads", "1, -2 ,3").pads, [1, -2, 3]);
        assert_eq!(ok("pads", "").pads, [0; 0]);
        assert_eq!(ok("scales", ".5,1e-3").scales, [0.5, 0.001]);
        assert_eq!(ok("mode", "Same_Upper").mode, Some(Mode::SameUpper));
        assert_eq!(ok("mode", "EXPLICIT").mode, Some(Mode::None));
        assert_eq!(ok("element_type", "F16").element_type, ElementType::F16);
        assert_eq!(ok("shape", "1,?").shape, "1,?".parse().ok());
        assert!(ok("exclude-pad", "true").exclude_pad);
        assert_eq!(sample("Axis", "1").expect("only unknown").1, [0]);
    }

    #[test]
    fn bad_values_say_what_was_expected() {
        for (name, value, message) in [
            (
                "flag",
                "yes",
                "attribute `flag`: `yes` is not true or false",
            ),
            (
                "flag",
                " true",
                "attribute `flag`: ` true` is not true or false",
            ),
            ("axis", "1abc", "attribute `axis`: `1abc` is not an integer"),
            ("axis", "1.5", "attribute `axis`: `1.5` is not an integer"),
            ("axis", "+1", "attribute `axis`: `+1` is not an integer"),
            ("axis", "", "attribute `axis`: `` is not an integer"),
            (
                "axis",
                "9223372036854775808",
                "attribute `axis`: `9223372036854775808` is not a 64-bit integer",
            ),
            (
                "size",
                "-1",
                "attribute `size`: `-1` is not in the range of u64",
            ),
            ("alpha", "NaN", "attribute `alpha`: `NaN` is not a number"),
            (
                "alpha",
                "1e400",
                "attribute `alpha`: `1e400` is not a number",
            ),
            ("alpha", "1.5f", "attribute `alpha`: `1.5f` is not a number"),
            (
                "pads",
                "1,,2",
                "attribute `pads`: an item of the list is empty",
            ),
            (
                "pads",
                "1,2,",
                "attribute `pads`: an item of the list is empty",
            ),
            ("pads", "1;2", "attribute `pads`: `1;2` is not an integer"),
            (
                "mode",
                "",
                "attribute `mode`: `` is not one of explicit, none, same_upper",
            ),
        ] {
            let error = sample(name, value).expect_err(value);
            assert_eq!(error.message, message);
            assert_eq!(error.offset, Some(0));
        }
    }
}
