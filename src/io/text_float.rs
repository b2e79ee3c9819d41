//! Floats as text: the fewest digits that are read back as the same number, in a form and with a
//! number of digits that all elements of a tensor share.

use half::{bf16, f16};

use super::number::to_odd;
use crate::tensor::ElementType;

/// From here on, whole numbers are written with an exponent.
const LARGE: f64 = 1e16;
/// Below, numbers whose digits do not fit are written with an exponent.
const SMALL: f64 = 1e-4;

/// How the floats of a tensor are printed; told of every one before the first is printed.
#[derive(Debug)]
pub(super) struct FloatStyle {
    ty: ElementType,
    precision: Option<usize>,
    largest: f64,
    smallest: f64,
    /// Digits after the point, in plain notation and with an exponent.
    plain: usize,
    scientific: usize,
    exponent: bool,
    /// Digits after the point that are printed.
    digits: usize,
    /// Characters before the point, and in all.
    before: usize,
    width: usize,
}

impl FloatStyle {
    pub(super) fn new(ty: ElementType, precision: Option<usize>) -> Self {
        Self {
            ty,
            precision,
            largest: 0.0,
            smallest: f64::INFINITY,
            plain: 0,
            scientific: 0,
            exponent: false,
            digits: 0,
            before: 0,
            width: 0,
        }
    }

    /// Takes an element into account.
    pub(super) fn see(&mut self, x: f64) {
        if !x.is_finite() || x == 0.0 {
            return;
        }
        self.largest = self.largest.max(x.abs());
        self.smallest = self.smallest.min(x.abs());
        let (digits, exponent) = parts(&shortest(x, self.ty));
        self.scientific = self.scientific.max(digits);
        self.plain = self.plain.max(after_point(digits, exponent));
    }

    /// Chooses the form, when all have been seen.
    pub(super) fn decide(&mut self) {
        let precision = self.precision.unwrap_or(usize::MAX);
        let small = self.smallest < SMALL;
        self.exponent =
            self.largest >= LARGE || small && (self.plain > precision || self.precision.is_none());
        self.digits = match self.exponent {
            true => self.scientific.min(precision),
            false => self.plain.min(precision),
        };
    }

    /// Takes the printed width of an element into account, when the form is chosen.
    pub(super) fn measure(&mut self, x: f64) {
        let text = self.plain_text(x);
        if x.is_finite() {
            let before = text.find('.').unwrap_or(text.len());
            self.before = self.before.max(before);
            let tail = if self.exponent || self.digits == 0 {
                text.len() - before
            } else {
                self.digits + 1
            };
            self.width = self.width.max(self.before + tail);
        }
        self.width = self.width.max(text.len());
    }

    /// The element, aligned.
    pub(super) fn format(&self, x: f64) -> String {
        let text = self.plain_text(x);
        let width = self.width;
        if self.exponent || !x.is_finite() {
            return format!("{text:>width$}");
        }
        let before = text.find('.').unwrap_or(text.len());
        let mut out = " ".repeat(self.before - before);
        out.push_str(&text);
        // Special values may be wider than the column of numbers.
        let column = self.before + if self.digits == 0 { 0 } else { self.digits + 1 };
        out.extend(std::iter::repeat_n(' ', column.saturating_sub(out.len())));
        format!("{out:>width$}")
    }

    /// The element, not aligned.
    pub(super) fn plain_text(&self, x: f64) -> String {
        if x.is_nan() {
            return "nan".to_owned();
        }
        if x.is_infinite() {
            return if x > 0.0 { "inf" } else { "-inf" }.to_owned();
        }
        let short = shortest(x, self.ty);
        let (digits, exponent) = parts(&short);
        if self.exponent {
            return scientific(x, &short, digits, self.digits);
        }
        if after_point(digits, exponent) <= self.digits {
            // The shortest text has a value of its own, which is printed without an exponent.
            let value: f64 = short.parse().unwrap_or(x);
            return format!("{value}");
        }
        let text = format!("{x:.*}", self.digits);
        match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => text,
        }
    }
}

/// `d.ddde+dd`, with as many digits after the point.
fn scientific(x: f64, short: &str, digits: usize, wanted: usize) -> String {
    let rounded = format!("{x:.wanted$e}");
    let text = if digits <= wanted { short } else { &rounded };
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let mut mantissa = mantissa.to_owned();
    if wanted > 0 && !mantissa.contains('.') {
        mantissa.push('.');
    }
    let found = mantissa.split_once('.').map_or(0, |(_, d)| d.len());
    mantissa.extend(std::iter::repeat_n('0', wanted - found.min(wanted)));
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{mantissa}e{sign}{exponent:0>2}")
}

/// The shortest text of a number in scientific form that is read back as the same element.
fn shortest(x: f64, ty: ElementType) -> String {
    // A float narrower than f64 is an f32 exactly.
    #[allow(clippy::cast_possible_truncation)]
    let single = x as f32;
    let same = |text: &str| {
        let Ok(read) = text.parse::<f64>() else {
            return false;
        };
        match ty {
            ElementType::F16 => f16::from_f32(to_odd(read)) == f16::from_f32(single),
            _ => bf16::from_f32(to_odd(read)) == bf16::from_f32(single),
        }
    };
    match ty {
        ElementType::F64 => format!("{x:e}"),
        ElementType::F16 | ElementType::Bf16 => (0..8)
            .map(|digits| format!("{single:.digits$e}"))
            .find(|text| same(text))
            .unwrap_or_else(|| format!("{single:e}")),
        _ => format!("{single:e}"),
    }
}

/// The digits after the point of `d.ddde-dd`, and its exponent.
fn parts(text: &str) -> (usize, i32) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let digits = mantissa.split_once('.').map_or(0, |(_, d)| d.len());
    (digits, exponent.parse().unwrap_or(0))
}

/// The digits after the point without the exponent.
fn after_point(digits: usize, exponent: i32) -> usize {
    let digits = i64::try_from(digits).unwrap_or(i64::MAX);
    usize::try_from(digits.saturating_sub(i64::from(exponent))).unwrap_or(0)
}
