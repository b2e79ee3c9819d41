//! Files of inputs: a JSON object from input names to values.
//!
//! A value is nested lists, a number, `true`, `false` or a string, which is a literal of the
//! wanted type; or an object: `{"value": "random:seed=1", "element_type": "f32", "shape": [2, 3]}`
//! with the text of a [`Value`], and the other two if need be. JSON has no infinity and no NaN;
//! where a float is wanted, the strings `"inf"`, `"-inf"` and `"nan"` stand for them. A complex
//! number is a string, too: `"1+2j"`.

use std::path::Path;

use serde_json::Value as Json;

use super::distinct::DistinctKeys;
use super::literal::{Builder, Leaf};
use super::{IoError, Value, file};
use crate::Limits;
use crate::tensor::{ElementType, Shape};

/// Reads a file of inputs, in its order. Files named in it are relative to its directory.
///
/// # Errors
/// When the file cannot be read, is no JSON object, or one of its members is no value.
pub fn read(path: &Path, limits: &Limits) -> Result<Vec<(String, Value)>, IoError> {
    // In memory, text takes many times what it takes in the file.
    let limits = &Limits {
        file_bytes: limits.file_bytes.min(limits.document_bytes),
        ..limits.clone()
    };
    let bytes = file::read(path, limits)?;
    let values = parse(bytes.as_bytes()).map_err(|e| e.in_file(path))?;
    let directory = path.parent().unwrap_or(Path::new(""));
    Ok(values
        .into_iter()
        .map(|(name, value)| (name, value.relative_to(directory)))
        .collect())
}

/// Reads the text of a file of inputs.
///
/// # Errors
/// As [`read`].
pub fn parse(text: &[u8]) -> Result<Vec<(String, Value)>, IoError> {
    let json: Json = serde_json::from_slice(text)
        .map_err(|e| IoError::invalid(format!("is no sound JSON: {e}")))?;
    let Json::Object(members) = json else {
        return Err(IoError::invalid(format!(
            "holds {}, expected an object from input names to values",
            kind(&json)
        )));
    };
    serde_json::from_slice::<DistinctKeys>(text)
        .map_err(|e| IoError::invalid(format!("is no sound JSON: {e}")))?;
    members
        .into_iter()
        .map(|(name, json)| match value(&json) {
            Ok(value) => Ok((name, value)),
            Err(error) => Err(error.in_entry(&name)),
        })
        .collect()
}

fn value(json: &Json) -> Result<Value, IoError> {
    let Json::Object(members) = json else {
        let mut builder = Builder::default();
        literal(json, &mut builder)?;
        return Ok(Value::literal(builder.finish()));
    };
    let (mut text, mut element_type, mut shape) = (None, None, None);
    for (name, json) in members {
        match (name.as_str(), json) {
            ("value", Json::String(value)) => text = Some(value),
            ("element_type", Json::String(name)) => {
                let ty: ElementType = name
                    .parse()
                    .map_err(|e| IoError::invalid(format!("`element_type`: {e}")))?;
                element_type = ty.is_static().then_some(ty);
            }
            ("shape", Json::Array(dims)) => shape = Some(sizes(dims)?),
            ("value" | "element_type" | "shape", json) => {
                let expected = if name == "shape" {
                    "a list"
                } else {
                    "a string"
                };
                return Err(IoError::invalid(format!(
                    "`{name}` is {}, expected {expected}",
                    kind(json)
                )));
            }
            _ => {
                return Err(IoError::invalid(format!(
                    "has `{name}`, expected `value`, `element_type` or `shape`"
                )));
            }
        }
    }
    let text = text.ok_or_else(|| IoError::invalid("has no `value`"))?;
    Value::parse(text)?.with_type(element_type, shape)
}

fn sizes(dims: &[Json]) -> Result<Shape, IoError> {
    dims.iter()
        .map(|dim| {
            let size = dim.as_u64().and_then(|d| usize::try_from(d).ok());
            size.ok_or_else(|| IoError::invalid(format!("`shape` has {dim}, expected sizes")))
        })
        .collect()
}

/// As deep as the JSON is, which its parser limits.
fn literal(json: &Json, builder: &mut Builder) -> Result<(), IoError> {
    match json {
        Json::Array(items) => {
            builder.begin()?;
            for item in items {
                literal(item, builder)?;
            }
            builder.end()
        }
        Json::Bool(value) => builder.leaf(Leaf::Boolean(*value)),
        Json::Number(number) => builder.leaf(Leaf::Number(number.to_string())),
        Json::String(text) => builder.leaf(Leaf::Text(text.clone().into_bytes())),
        Json::Null | Json::Object(_) => Err(IoError::invalid(format!(
            "a list has {}, expected numbers, booleans or strings",
            kind(json)
        ))),
    }
}

fn kind(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}

#[cfg(test)]
#[path = "tests/json.rs"]
mod tests;
