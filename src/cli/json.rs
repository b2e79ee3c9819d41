//! Tensors as JSON.

use serde_json::Value;

use crate::tensor::{ElementType, Tensor, convert};

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
