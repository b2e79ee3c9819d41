//! JSON as it is printed, and tensors in it.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

use super::Outcome;
use crate::error::is_hidden;

use crate::tensor::{ElementType, Tensor, convert};

/// Writes the document of a command, and a line break: the schema first, such as `compare/1` for
/// `ovir.compare/1`, then the fields of `value`. What a terminal would take for a command, or not
/// show, is escaped.
pub(super) fn print_json(out: &mut dyn Write, schema: &str, value: Value) -> Outcome {
    let mut document = serde_json::Map::new();
    document.insert("schema".to_owned(), format!("ovir.{schema}").into());
    if let Value::Object(fields) = value {
        document.extend(fields);
    }
    write_json(out, &Value::Object(document))
}

fn write_json(out: &mut dyn Write, value: &Value) -> Outcome {
    let mut serializer = Serializer::with_formatter(&mut *out, Escaping::default());
    value.serialize(&mut serializer).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

/// Pretty JSON whose strings have nothing hidden in them.
#[derive(Default)]
struct Escaping(PrettyFormatter<'static>);

impl Formatter for Escaping {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, c)) = rest.char_indices().find(|&(_, c)| is_hidden(c)) {
            CompactFormatter.write_string_fragment(out, &rest[..at])?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
            rest = &rest[at + c.len_utf8()..];
        }
        CompactFormatter.write_string_fragment(out, rest)
    }

    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_array(out)
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array(out)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(out, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array_value(out)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object(out)
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object(out)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object_value(out)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object_value(out)
    }
}

/// The elements in row-major order. JSON has no infinity, no NaN and no complex numbers: they are
/// strings.
pub(super) fn elements(tensor: &Tensor) -> Vec<Value> {
    let ty = tensor.element_type();
    let as_type = |ty| convert::convert(tensor, ty).ok();
    if let Ok(strings) = tensor.as_strings() {
        return strings.iter().map(|s| Value::from(s.to_str())).collect();
    }
    if ty == ElementType::Boolean {
        let booleans = tensor.as_slice::<bool>().unwrap_or_default();
        return booleans.iter().map(|&b| Value::from(b)).collect();
    }
    if ty == ElementType::U64 {
        let numbers = tensor.as_slice::<u64>().unwrap_or_default();
        return numbers.iter().map(|&n| Value::from(n)).collect();
    }
    if let Some(parts) = tensor.complex_parts() {
        let pairs = elements(&parts);
        return pairs.chunks_exact(2).map(complex).collect();
    }
    if ty.is_integer() {
        let wide = as_type(ElementType::I64);
        let numbers = wide.as_ref().and_then(|t| t.as_slice::<i64>().ok());
        return numbers
            .unwrap_or_default()
            .iter()
            .map(|&n| Value::from(n))
            .collect();
    }
    let wide = as_type(ElementType::F64);
    let numbers = wide.as_ref().and_then(|t| t.as_slice::<f64>().ok());
    numbers
        .unwrap_or_default()
        .iter()
        .map(|&n| float(n))
        .collect()
}

/// `1+2j` of its parts.
fn complex(parts: &[Value]) -> Value {
    let text = |part: &Value| {
        part.as_str()
            .map_or_else(|| part.to_string(), str::to_owned)
    };
    let (re, im) = (text(&parts[0]), text(&parts[1]));
    let plus = if im.starts_with('-') { "" } else { "+" };
    Value::from(format!("{re}{plus}{im}j"))
}

fn float(number: f64) -> Value {
    let text = match number {
        n if n.is_nan() => "nan",
        f64::INFINITY => "inf",
        f64::NEG_INFINITY => "-inf",
        n => return Value::from(n),
    };
    Value::from(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_escaped_and_come_back() {
        let name = "a\u{1b}[31m\u{7f}\u{9b}\u{202e}\u{200b}\u{e0041}\u{feff}\n\"é模";
        let value = serde_json::json!({ name: [name, 1, {}], "b": [] });
        let mut out = Vec::new();
        assert!(write_json(&mut out, &value).is_ok());
        let text = String::from_utf8(out).expect("UTF-8");
        assert!(!text.chars().any(|c| is_hidden(c) && c != '\n'), "{text:?}");
        assert!(
            text.contains("\\u202e\\u200b\\udb40\\udc41\\ufeff\\n\\\"é模"),
            "{text}"
        );
        let read: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(read, value);
        let pretty = serde_json::to_string_pretty(&serde_json::json!({"x": [1, [], {}]}));
        let mut out = Vec::new();
        assert!(write_json(&mut out, &serde_json::json!({"x": [1, [], {}]})).is_ok());
        assert_eq!(
            String::from_utf8(out).expect("UTF-8").trim_end(),
            pretty.expect("JSON")
        );
    }
}
