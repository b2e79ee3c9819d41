//! Shapes that are only partly known: intervals, symbols, dynamic ranks.
//!
//! Inference goes forward only. A dimension is an interval of sizes; two dimensions with the same
//! [`Symbol`] have the same, still unknown, size.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;

use super::{Dimension, Shape};
use crate::error::plain;

/// A shape whose dimensions, or even whose rank, may be unknown.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PartialShape(Option<SmallVec<[Dimension; 6]>>);

impl PartialShape {
    /// Nothing is known, not even the rank.
    pub const fn dynamic() -> Self {
        Self(None)
    }

    /// A known rank with dimensions of any size.
    pub fn of_rank(rank: usize) -> Self {
        Self(Some(SmallVec::from_elem(Dimension::dynamic(), rank)))
    }

    /// The shape of a scalar.
    pub fn scalar() -> Self {
        Self(Some(SmallVec::new()))
    }

    /// The number of dimensions, if known.
    pub fn rank(&self) -> Option<usize> {
        self.0.as_ref().map(SmallVec::len)
    }

    /// The dimensions, if the rank is known.
    pub fn dims(&self) -> Option<&[Dimension]> {
        self.0.as_deref()
    }

    /// The dimensions, if the rank is known.
    pub fn dims_mut(&mut self) -> Option<&mut [Dimension]> {
        self.0.as_deref_mut()
    }

    /// Whether rank and sizes are all known.
    pub fn is_static(&self) -> bool {
        self.dims()
            .is_some_and(|dims| dims.iter().all(|d| d.is_static()))
    }

    /// The shape, when only one is possible.
    pub fn to_shape(&self) -> Option<Shape> {
        let mut shape = Shape::scalar();
        for dim in self.dims()? {
            shape.push(dim.value()?);
        }
        Some(shape)
    }

    /// Whether the shape is one of those described.
    pub fn contains(&self, shape: &[usize]) -> bool {
        self.dims().is_none_or(|dims| {
            dims.len() == shape.len() && dims.iter().zip(shape).all(|(d, &s)| d.contains(s))
        })
    }

    /// Whether some shape fits both.
    pub fn compatible(&self, other: &Self) -> bool {
        match (self.dims(), other.dims()) {
            (Some(a), Some(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.compatible(*b))
            }
            _ => true,
        }
    }

    /// Both at once, or `None` if no shape is possible for both.
    pub fn intersect(&self, other: &Self) -> Option<Self> {
        match (self.dims(), other.dims()) {
            (None, _) => Some(other.clone()),
            (_, None) => Some(self.clone()),
            (Some(a), Some(b)) if a.len() == b.len() => {
                a.iter().zip(b).map(|(a, b)| a.intersect(*b)).collect()
            }
            _ => None,
        }
    }

    /// The number of elements as a dimension; any size for an unknown rank.
    pub fn elements(&self) -> Dimension {
        match self.dims() {
            None => Dimension::dynamic(),
            Some(dims) if dims.iter().any(|d| d.value() == Some(0)) => Dimension::fixed(0),
            Some(dims) => dims.iter().fold(Dimension::fixed(1), |n, &d| n * d),
        }
    }
}

impl Default for PartialShape {
    fn default() -> Self {
        Self::dynamic()
    }
}

impl FromIterator<Dimension> for PartialShape {
    fn from_iter<I: IntoIterator<Item = Dimension>>(dims: I) -> Self {
        Self(Some(dims.into_iter().collect()))
    }
}

impl FromIterator<usize> for PartialShape {
    fn from_iter<I: IntoIterator<Item = usize>>(dims: I) -> Self {
        dims.into_iter().map(Dimension::fixed).collect()
    }
}

impl From<&Shape> for PartialShape {
    fn from(shape: &Shape) -> Self {
        shape.iter().copied().collect()
    }
}

impl<const N: usize> From<[usize; N]> for PartialShape {
    fn from(dims: [usize; N]) -> Self {
        dims.into_iter().collect()
    }
}

impl From<&[Dimension]> for PartialShape {
    fn from(dims: &[Dimension]) -> Self {
        Self(Some(SmallVec::from_slice(dims)))
    }
}

impl fmt::Display for PartialShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(dims) = self.dims() else {
            return f.write_str("[...]");
        };
        f.write_str("[")?;
        for (i, dim) in dims.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            write!(f, "{dim}")?;
        }
        f.write_str("]")
    }
}

impl fmt::Debug for PartialShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.dims() {
            None => f.write_str("[...]"),
            Some(dims) => f.debug_list().entries(dims).finish(),
        }
    }
}

/// Text that is not a partial shape.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a shape: {reason}")]
pub struct ShapeSyntaxError {
    text: String,
    reason: String,
}

impl FromStr for PartialShape {
    type Err = ShapeSyntaxError;

    /// Reads IR's spelling of a partial shape: `2,?,1..10`, optionally in brackets; `...` for an
    /// unknown rank; nothing for a scalar.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |reason: String| ShapeSyntaxError {
            text: plain(text),
            reason: plain(&reason),
        };
        let trimmed = text.trim();
        let inner = match trimmed.strip_prefix('[') {
            Some(rest) => rest
                .strip_suffix(']')
                .ok_or_else(|| error("the bracket is not closed".to_owned()))?,
            None => trimmed,
        };
        match inner.trim() {
            "" => Ok(Self::scalar()),
            "..." => Ok(Self::dynamic()),
            inner => inner
                .split(',')
                .map(|item| parse_dimension(item.trim()).map_err(&error))
                .collect(),
        }
    }
}

fn parse_dimension(text: &str) -> Result<Dimension, String> {
    let size = |text: &str| -> Result<usize, String> {
        if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
            return Err(format!(
                "dimension `{text}` is not a size, `?` or a range `a..b`"
            ));
        }
        // Dimensions are signed 64-bit numbers in IR.
        text.parse::<i64>()
            .ok()
            .filter(|&n| n < i64::MAX)
            .and_then(|n| usize::try_from(n).ok())
            .ok_or_else(|| format!("dimension `{text}` is too large"))
    };
    match text {
        "" => Err("a dimension is empty".to_owned()),
        "?" | "-1" => Ok(Dimension::dynamic()),
        _ => match text.split_once("..") {
            None => Ok(Dimension::fixed(size(text)?)),
            Some((min, max)) => {
                let min = match min {
                    "" | "-1" => 0,
                    min => size(min)?,
                };
                let max = match max {
                    "" | "-1" => None,
                    max => Some(size(max)?),
                };
                if max.is_some_and(|max| max < min) {
                    return Err(format!("the range `{text}` is empty"));
                }
                Ok(Dimension::range(min, max))
            }
        },
    }
}

impl<'de> Deserialize<'de> for PartialShape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for PartialShape {
    /// Writes IR's spelling, without brackets.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.to_string();
        serializer.serialize_str(&text[1..text.len() - 1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> PartialShape {
        text.parse().expect("a shape")
    }

    #[test]
    fn spellings() {
        for (text, canonical) in [
            ("", "[]"),
            ("[]", "[]"),
            ("...", "[...]"),
            ("[...]", "[...]"),
            ("2, 3", "[2,3]"),
            ("?,-1,4", "[?,?,4]"),
            ("1..10,2..,..5,..", "[1..10,2..,..5,?]"),
            ("-1..10,0..,5..5", "[..10,?,5]"),
        ] {
            assert_eq!(shape(text).to_string(), canonical, "{text}");
        }
        for wrong in [
            "1,,2",
            "1,",
            "2 3",
            "2x",
            "1.5",
            "+2",
            "0x10",
            "1 .. 10",
            "?..3",
            "...,2",
            "-2",
            "10..1",
            "9223372036854775807",
            "9223372036854775808",
            "[2",
            "2]",
        ] {
            assert!(wrong.parse::<PartialShape>().is_err(), "{wrong}");
        }
    }
}
