//! Colours: by operation, by element type, or by a number that was measured.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::text;
use crate::graph::{Node, Operation};
use crate::ops;
use crate::tensor::ElementType;

/// What the colours of layers mean.
#[derive(Debug, Clone, Default)]
pub enum Color {
    /// The kind of the operation.
    #[default]
    Operation,
    /// The element type of the first output.
    Type,
    /// A number of each layer.
    Measured(Measured),
}

/// A number of each layer that was measured.
#[derive(Debug, Clone)]
pub struct Measured {
    /// What was measured.
    pub what: Quantity,
    /// For each graph of the model and each of its nodes, the number, if there is one.
    pub values: Vec<Vec<Option<f64>>>,
}

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Seconds; those of several layers are added.
    Time,
    /// The largest absolute value of all outputs; NaN if any is.
    Range,
    /// The relative L2 error against other values of the outputs; NaN where only one side is.
    Error,
}

impl Quantity {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Range => "range",
            Self::Error => "error",
        }
    }

    /// What it is, for people.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Time => "time of evaluation",
            Self::Range => "largest absolute value",
            Self::Error => "relative L2 error",
        }
    }

    /// The number of several layers.
    pub fn join(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Time => a + b,
            _ if a.is_nan() || b.is_nan() => f64::NAN,
            _ => a.max(b),
        }
    }

    /// A number as people read it.
    pub(super) fn show(self, value: f64) -> String {
        match self {
            Self::Time => seconds(value),
            _ if value.is_nan() => "NaN".to_owned(),
            _ => short(value),
        }
    }
}

fn seconds(value: f64) -> String {
    let (value, unit) = match value {
        v if v < 1e-6 => (v * 1e9, "ns"),
        v if v < 1e-3 => (v * 1e6, "µs"),
        v if v < 1.0 => (v * 1e3, "ms"),
        v => (v, "s"),
    };
    match value {
        v if v < 10.0 => format!("{v:.2} {unit}"),
        v if v < 100.0 => format!("{v:.1} {unit}"),
        v => format!("{v:.0} {unit}"),
    }
}

/// Three digits.
pub(super) fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        a if !a.is_finite() => value.to_string(),
        a if (1e-3..1e4).contains(&a) => {
            let text = format!("{value:.3}");
            let digits = if a >= 100.0 { 1 } else { 3 };
            let text = if digits == 1 {
                format!("{value:.1}")
            } else {
                text
            };
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        _ => format!("{value:.2e}"),
    }
}

/// How many colours a scale has.
pub(super) const STEPS: usize = 9;

/// From numbers to colours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    pub(super) what: Quantity,
    /// The smallest and the largest number, as far as they are finite and not zero.
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Scale {
    /// A scale for these numbers.
    pub(super) fn of(what: Quantity, values: impl Iterator<Item = f64>) -> Self {
        let mut low = f64::INFINITY;
        let mut high = 0f64;
        for value in values.filter(|v| v.is_finite() && *v > 0.0) {
            low = low.min(value);
            high = high.max(value);
        }
        if low > high {
            (low, high) = (0.0, 0.0);
        }
        Self { what, low, high }
    }

    /// The class of a number's colour.
    pub(super) fn class(&self, value: Option<f64>) -> String {
        let Some(value) = value else {
            return "v".to_owned();
        };
        if !value.is_finite() {
            return "hn".to_owned();
        }
        let part = if self.high <= 0.0 || value <= 0.0 {
            0.0
        } else if self.what == Quantity::Time {
            // Twice the time is seen at the lower end as well.
            (value / self.high).sqrt()
        } else if self.low >= self.high {
            1.0
        } else {
            (value / self.low).log10() / (self.high / self.low).log10()
        };
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss
        )]
        let step = (part.clamp(0.0, 1.0) * (STEPS - 1) as f64).round() as usize;
        format!("h{step}")
    }
}

/// Kinds of operations that have one colour: the class, the name in the legend, and the categories of
/// the specification.
pub(super) const KINDS: &[(&str, &str, &[&str])] = &[
    ("kio", "input, output, state", &["infrastructure"]),
    ("kmm", "matrix, convolution", &["matrix", "convolution"]),
    ("kno", "normalization", &["normalization"]),
    ("kac", "activation", &["activation"]),
    (
        "kar",
        "arithmetic, logic",
        &["arithmetic", "bitwise", "comparison", "logical"],
    ),
    ("kmv", "data movement", &["movement"]),
    ("ksh", "shape", &["shape"]),
    ("kre", "reduction, pooling", &["reduction", "pooling"]),
    ("kse", "sequence, attention", &["sequence", "tokenizer"]),
    ("kqu", "type, quantization", &["quantization", "type"]),
    ("kct", "condition, loop", &["condition"]),
    (
        "kot",
        "image, detection, other",
        &[
            "image",
            "detection",
            "sort",
            "sparse",
            "signals",
            "generation",
        ],
    ),
];

/// The class of an operation's colour.
pub(super) fn kind(node: &Node) -> &'static str {
    static CLASSES: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
        let mut classes = HashMap::new();
        for (category, def) in ops::supported() {
            let class = KINDS.iter().find(|(_, _, all)| all.contains(&category));
            classes.insert(def.name, class.map_or("kot", |(class, ..)| *class));
        }
        classes
    });
    if !node.bodies().is_empty() {
        return "kct";
    }
    let name = match node.operation() {
        Operation::Known { def, .. } => def.name,
        Operation::Joined { type_name, .. } | Operation::Opaque { type_name, .. } => type_name,
    };
    CLASSES.get(name).copied().unwrap_or("kun")
}

/// Element types that have one colour.
pub(super) const TYPES: &[(&str, &str)] = &[
    ("t32", "f32"),
    ("t16", "f16, bf16"),
    ("t64", "f64"),
    ("t8f", "narrow floats"),
    ("ti6", "i64, u64"),
    ("ti3", "i32, u32, i16, u16"),
    ("ti8", "i8, u8"),
    ("ti4", "i4, u4 and narrower"),
    ("tbo", "boolean"),
    ("tst", "string"),
    ("v", "not known"),
];

/// The class of an element type's colour.
pub(super) fn type_class(ty: ElementType) -> &'static str {
    use ElementType as E;
    match ty {
        E::F32 => "t32",
        E::F16 | E::Bf16 => "t16",
        E::F64 => "t64",
        E::I64 | E::U64 => "ti6",
        E::I32 | E::U32 | E::I16 | E::U16 => "ti3",
        E::I8 | E::U8 => "ti8",
        E::Boolean => "tbo",
        E::String => "tst",
        _ if ty.is_float() => "t8f",
        _ if ty.is_integer() => "ti4",
        _ => "v",
    }
}

/// A row of a legend: the class of its colour, and what it means.
pub(super) type Meaning = (String, String);

impl Color {
    /// What the colours mean that are used.
    pub(super) fn legend(
        &self,
        scale: Option<&Scale>,
        used: impl Fn(&str) -> bool,
    ) -> Vec<Meaning> {
        let owned = |(class, name): (&str, &str)| (class.to_owned(), name.to_owned());
        match (self, scale) {
            (Self::Measured(_), Some(scale)) => scale_legend(scale, used),
            (Self::Type, _) => TYPES
                .iter()
                .copied()
                .filter(|t| used(t.0))
                .map(owned)
                .collect(),
            _ => {
                let known = KINDS.iter().map(|(class, name, _)| (*class, *name));
                let all = known.chain([("kun", "not supported")]);
                all.filter(|k| used(k.0)).map(owned).collect()
            }
        }
    }
}

fn scale_legend(scale: &Scale, used: impl Fn(&str) -> bool) -> Vec<Meaning> {
    let mut rows = Vec::new();
    if scale.high > 0.0 {
        let low = match scale.what {
            Quantity::Time => 0.0,
            _ => scale.low,
        };
        for (step, part) in [(0, 0.0), (4, 0.5), (8, 1.0)] {
            let value = match scale.what {
                Quantity::Time => scale.high * part * part,
                _ => low * (scale.high / low).powf(part),
            };
            rows.push((format!("h{step}"), scale.what.show(value)));
        }
    }
    if used("hn") {
        rows.push(("hn".to_owned(), "NaN or infinite".to_owned()));
    }
    if used("v") {
        rows.push(("v".to_owned(), "not measured".to_owned()));
    }
    rows
}

/// `1×128×768 f16`; f32 goes without saying.
pub(super) fn type_and_shape(output: &crate::op::Output) -> String {
    let shape = match output.shape.dims() {
        None => "any shape".to_owned(),
        Some([]) => "scalar".to_owned(),
        Some(dims) => {
            let dims: Vec<String> = dims.iter().map(ToString::to_string).collect();
            dims.join("×")
        }
    };
    let shape = text::cut(&shape, 40);
    match output.element_type {
        ElementType::F32 => shape,
        ty => format!("{shape} {}", ty.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_category_has_a_colour() {
        for (category, _) in ops::supported() {
            let kinds = KINDS.iter().filter(|(_, _, all)| all.contains(&category));
            assert_eq!(kinds.count(), 1, "{category}");
        }
    }

    #[test]
    fn scales() {
        let scale = Scale::of(Quantity::Range, [0.0, 1.0, 100.0, f64::NAN].into_iter());
        assert_eq!((scale.low, scale.high), (1.0, 100.0));
        let classes = [
            Some(0.0),
            Some(1.0),
            Some(10.0),
            Some(100.0),
            Some(f64::NAN),
            None,
        ];
        let classes = classes.map(|v| scale.class(v));
        assert_eq!(classes, ["h0", "h0", "h4", "h8", "hn", "v"]);
        assert_eq!(
            Scale::of(Quantity::Time, [].into_iter()).class(Some(0.0)),
            "h0"
        );
    }

    #[test]
    fn numbers() {
        let shown = [0.0, 1.5, 123.456, 65504.0, 1e-7, -2.0].map(short);
        assert_eq!(shown, ["0", "1.5", "123.5", "6.55e4", "1.00e-7", "-2"]);
        assert_eq!(seconds(0.00123), "1.23 ms");
    }
}
