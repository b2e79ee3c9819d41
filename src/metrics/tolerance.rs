//! How much two tensors may differ.

use std::fmt;

use super::{Difference, Values};
use crate::tensor::ElementType as E;

/// Bounds on a [`Difference`].
///
/// **Elements.** An element passes if its difference is at most
/// `abs + rel * |expected| + scale * max |expected|`, with 0 for what is not given, or if it is at
/// most `ulp` units in the last place off. If none of the four is given, elements have no bound of
/// their own. NaN equals NaN and infinities equal themselves; any other NaN or infinity exceeds every
/// bound.
///
/// **Tensors.** `rel_l2` bounds the norm of the difference as a part of the norm of what is
/// expected; `cosine` is the least cosine of the angle between both. All that is given must hold.
///
/// `max_exceeding` elements may exceed the bound of elements.
///
/// Booleans and strings are compared exactly, whatever the bounds, but for `max_exceeding`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tolerance {
    /// The absolute difference of an element.
    pub abs: Option<f64>,
    /// The difference of an element as a part of what is expected there.
    pub rel: Option<f64>,
    /// The difference of an element as a part of the largest finite element that is expected.
    pub scale: Option<f64>,
    /// The distance of an element in units in the last place, see [`super::ulp_type`].
    pub ulp: Option<u64>,
    /// The norm of the difference as a part of the norm of what is expected.
    pub rel_l2: Option<f64>,
    /// The least cosine of the angle between both.
    pub cosine: Option<f64>,
    /// How many elements may exceed.
    pub max_exceeding: Option<Allowed>,
}

/// A number of elements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Allowed {
    /// So many.
    Count(u64),
    /// A part of all, from 0 to 1.
    Share(f64),
}

impl Allowed {
    /// How many of `elements`.
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )]
    pub fn of(self, elements: u64) -> u64 {
        match self {
            Self::Count(count) => count,
            // Casts saturate, and the share is not negative.
            Self::Share(share) => (elements as f64 * share).floor() as u64,
        }
    }
}

/// What is wrong with the text of a tolerance.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToleranceError(pub(super) String);

const KEYS: &str = "abs, rel, scale, ulp, rel_l2, cosine, max_exceeding, exact";

impl Tolerance {
    /// No difference at all.
    pub const EXACT: Self = Self {
        abs: Some(0.0),
        rel: None,
        scale: None,
        ulp: None,
        rel_l2: None,
        cosine: None,
        max_exceeding: None,
    };

    /// What suits two element types: the wider of what suits either.
    ///
    /// | type | `rel` | `scale` |
    /// |---|---|---|
    /// | f64 | 1e-10 | 1e-11 |
    /// | f32 | 1e-4 | 1e-5 |
    /// | f16 | 1e-2 | 2e-3 |
    /// | bf16 | 5e-2 | 1e-2 |
    /// | 8 bits and fewer | 0.25 | 0.1 |
    /// | integers, boolean, string | exact | exact |
    ///
    /// These hold for whole models: sums in another order leave f32 outputs within a tenth of this.
    pub fn suited(a: E, b: E) -> Self {
        let bounds = |ty: E| match ty {
            E::F64 | E::Complex128 => Some((1e-10, 1e-11)),
            E::F32 | E::Complex64 => Some((1e-4, 1e-5)),
            E::F16 => Some((1e-2, 2e-3)),
            E::Bf16 => Some((5e-2, 1e-2)),
            _ if ty.is_float() => Some((0.25, 0.1)),
            _ => None,
        };
        let (rel, scale) = match (bounds(a), bounds(b)) {
            (Some(a), Some(b)) => (f64::max(a.0, b.0), f64::max(a.1, b.1)),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => return Self::EXACT,
        };
        Self {
            rel: Some(rel),
            scale: Some(scale),
            ..Self::default()
        }
    }

    /// Whether elements have a bound of their own.
    pub(super) fn bounds_elements(&self) -> bool {
        self.abs.is_some() || self.rel.is_some() || self.scale.is_some() || self.ulp.is_some()
    }

    /// How far an element may be from `expected`, if the largest expected is `largest`.
    #[inline(always)]
    pub(super) fn allowed(&self, expected: f64, largest: f64) -> f64 {
        let [abs, rel, scale] = [self.abs, self.rel, self.scale].map(|b| b.unwrap_or(0.0));
        abs + rel * expected.abs() + scale * largest
    }

    /// Reads `rel_l2=1e-4,abs=1e-5` or `exact`.
    ///
    /// # Errors
    /// When a key is unknown or there twice, or a value is no bound.
    pub fn parse(text: &str) -> Result<Self, ToleranceError> {
        let mut tolerance = Self::default();
        for item in text.split(',') {
            let (key, value) = item.split_once('=').unwrap_or((item, ""));
            tolerance.set(key.trim(), value.trim())?;
        }
        Ok(tolerance)
    }

    /// Sets one bound from its text.
    pub(super) fn set(&mut self, key: &str, value: &str) -> Result<(), ToleranceError> {
        let number = |least: f64, most: f64| {
            let number = value.parse::<f64>().ok();
            let number = number.filter(|n| (least..=most).contains(n));
            number.ok_or_else(|| {
                let what = if most < f64::MAX {
                    format!("a number from {least} to {most}")
                } else {
                    format!("a number from {least} on")
                };
                ToleranceError(format!("tolerance `{key}={value}`: expected {what}"))
            })
        };
        let bound = || number(0.0, f64::MAX);
        let taken = match key {
            "exact" if value.is_empty() || value == "true" => {
                let taken = self.bounds_elements();
                self.abs = Some(0.0);
                taken
            }
            "abs" => self.abs.replace(bound()?).is_some(),
            "rel" => self.rel.replace(bound()?).is_some(),
            "scale" => self.scale.replace(bound()?).is_some(),
            "rel_l2" => self.rel_l2.replace(bound()?).is_some(),
            "cosine" => self.cosine.replace(number(-1.0, 1.0)?).is_some(),
            "ulp" => {
                let number = value.parse().map_err(|_| {
                    ToleranceError(format!("tolerance `ulp={value}`: expected a whole number"))
                })?;
                self.ulp.replace(number).is_some()
            }
            "max_exceeding" => {
                let percent = value.strip_suffix('%').and_then(|n| n.parse::<f64>().ok());
                let share = percent.filter(|p| (0.0..=100.0).contains(p));
                let share = share.map(|p| Allowed::Share(p / 100.0));
                let allowed = share.or_else(|| value.parse().ok().map(Allowed::Count));
                let allowed = allowed.ok_or_else(|| {
                    ToleranceError(format!(
                        "tolerance `max_exceeding={value}`: expected a whole number or a part such as 0.1%"
                    ))
                })?;
                self.max_exceeding.replace(allowed).is_some()
            }
            _ => {
                return Err(ToleranceError(format!(
                    "there is no tolerance `{key}`; there are {KEYS}"
                )));
            }
        };
        if taken {
            return Err(ToleranceError(format!("tolerance `{key}` is given twice")));
        }
        Ok(())
    }

    /// What of a difference is more than allowed, in words; nothing if it passes. The difference was
    /// counted with this tolerance.
    pub fn violations(&self, difference: &Difference) -> Vec<String> {
        let (a, b) = &difference.types;
        if difference.shapes.0 != difference.shapes.1 {
            let (a, b) = &difference.shapes;
            return vec![format!("shapes {a} and {b}")];
        }
        match &difference.values {
            Some(values) => self.violated(values),
            None => vec![format!("{a} and {b} cannot be compared")],
        }
    }

    fn violated(&self, values: &Values) -> Vec<String> {
        let mut found = Vec::new();
        let allowed = self.max_exceeding.map_or(0, |a| a.of(values.elements));
        if values.exceeding > allowed {
            let (count, all) = (values.exceeding, values.elements);
            found.push(format!("{count} of {all} elements exceed"));
        }
        let exact = values.exact;
        // NaN is no number within a bound.
        if let Some(bound) = self.rel_l2.filter(|_| !exact)
            && !matches!(values.rel_l2.partial_cmp(&bound), Some(o) if o.is_le())
        {
            found.push(format!("rel_l2 {:.1e} > {bound:e}", values.rel_l2));
        }
        if let Some(bound) = self.cosine.filter(|_| !exact)
            && !matches!(values.cosine.partial_cmp(&bound), Some(o) if o.is_ge())
        {
            found.push(format!("cosine {} < {bound}", values.cosine));
        }
        found
    }

    /// Whether a difference that was counted with this tolerance passes.
    pub fn passes(&self, difference: &Difference) -> bool {
        self.violations(difference).is_empty()
    }

    /// The tightest tolerance of one digit a bound that passes: `abs` and `rel_l2`; `None` where
    /// none does, because of shapes, NaN, strings or booleans.
    pub fn tightest(difference: &Difference) -> Option<Self> {
        let values = difference.values.as_ref()?;
        if values.exact || values.not_finite > 0 {
            return (values.differing == 0).then_some(Self::EXACT);
        }
        if values.differing == 0 {
            return Some(Self::EXACT);
        }
        let bounds = [values.max_abs, values.rel_l2].map(one_digit);
        Some(Self {
            abs: Some(bounds[0]?),
            rel_l2: bounds[1],
            ..Self::default()
        })
    }
}

/// The least number of one decimal digit that is not below `x`.
fn one_digit(x: f64) -> Option<f64> {
    if !x.is_finite() {
        return None;
    }
    let text = format!("{x:.0e}");
    let near: f64 = text.parse().ok()?;
    if near >= x {
        return Some(near);
    }
    let (digit, exponent) = text.split_once('e')?;
    let digit: u32 = digit.parse().ok()?;
    format!("{}e{exponent}", digit + 1).parse().ok()
}

/// As [`Tolerance::parse`] reads it.
impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = *self
            == Self {
                max_exceeding: self.max_exceeding,
                ..Self::EXACT
            };
        let mut items: Vec<String> = Vec::new();
        if exact {
            items.push("exact".to_owned());
        } else {
            let floats = [
                ("abs", self.abs),
                ("rel", self.rel),
                ("scale", self.scale),
                ("rel_l2", self.rel_l2),
            ];
            for (key, bound) in floats {
                items.extend(bound.map(|b| format!("{key}={b:e}")));
            }
            items.extend(self.cosine.map(|b| format!("cosine={b}")));
            items.extend(self.ulp.map(|b| format!("ulp={b}")));
        }
        items.extend(self.max_exceeding.map(|allowed| match allowed {
            Allowed::Count(count) => format!("max_exceeding={count}"),
            Allowed::Share(share) => format!("max_exceeding={}%", share * 100.0),
        }));
        f.write_str(&items.join(","))
    }
}

#[cfg(test)]
#[path = "tests/tolerance.rs"]
mod tests;
