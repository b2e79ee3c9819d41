//! Tensors written out: `[[1, 2], [3, 4]]`, `-1.5e3`, `1+2j`, `true`, `["a", "b"]`.

use super::number::{self, integer_range};
use super::{IoError, file};
use crate::Limits;
use crate::tensor::{ElementType, Shape, Tensor, Text, convert};

/// Lists nested deeper than NumPy's arrays are refused.
const MAX_RANK: usize = 64;

/// One element, not yet of any type.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Leaf {
    /// As it is written; `inf`, `nan` and complex numbers too.
    Number(String),
    Boolean(bool),
    Text(Vec<u8>),
}

/// A literal: its shape, and its elements in row-major order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Literal {
    shape: Shape,
    leaves: Vec<Leaf>,
}

/// Puts nested lists together and finds out whether they are a tensor.
#[derive(Debug, Default)]
pub(super) struct Builder {
    /// Of each level, the length of its lists, once the first of them has ended.
    dims: Vec<Option<usize>>,
    /// The rank, once the first element or the first empty list has been seen.
    rank: Option<usize>,
    /// Of each open list, the number of items.
    open: Vec<usize>,
    leaves: Vec<Leaf>,
}

impl Builder {
    /// A list begins.
    pub(super) fn begin(&mut self) -> Result<(), IoError> {
        if self.rank.is_some_and(|rank| self.open.len() >= rank) {
            return Err(self.ragged("a list, where other items are elements"));
        }
        if self.open.len() == MAX_RANK {
            return Err(IoError::invalid(format!(
                "lists are nested more than {MAX_RANK} deep"
            )));
        }
        self.count();
        self.open.push(0);
        if self.dims.len() < self.open.len() {
            self.dims.push(None);
        }
        Ok(())
    }

    /// A list ends.
    pub(super) fn end(&mut self) -> Result<(), IoError> {
        let Some(found) = self.open.pop() else {
            return Err(IoError::invalid("a list ends that never began"));
        };
        let level = self.open.len();
        if found == 0 && self.rank.is_none() {
            self.rank = Some(level + 1);
        }
        match self.dims.get_mut(level) {
            Some(slot @ None) => *slot = Some(found),
            Some(Some(expected)) if *expected != found => {
                let what = format!("a list of {found}, where other lists have {expected}");
                // The place is the list's own.
                return Err(self.ragged_at(&what, self.open.iter().map(|n| n - 1)));
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn leaf(&mut self, leaf: Leaf) -> Result<(), IoError> {
        if *self.rank.get_or_insert(self.open.len()) != self.open.len() {
            return Err(self.ragged("an element, where other items are lists"));
        }
        self.count();
        self.leaves.push(leaf);
        Ok(())
    }

    pub(super) fn finish(self) -> Literal {
        Literal {
            shape: self.dims.into_iter().map(|d| d.unwrap_or(0)).collect(),
            leaves: self.leaves,
        }
    }

    fn count(&mut self) {
        if let Some(items) = self.open.last_mut() {
            *items += 1;
        }
    }

    fn ragged(&self, what: &str) -> IoError {
        // The item at hand is not counted yet.
        let last = self.open.len().saturating_sub(1);
        let path = self.open.iter().enumerate();
        self.ragged_at(what, path.map(|(level, n)| n - usize::from(level < last)))
    }

    fn ragged_at(&self, what: &str, path: impl Iterator<Item = usize>) -> IoError {
        let path: String = path.map(|i| format!("[{i}]")).collect();
        IoError::invalid(format!("the list is ragged: {what}, at {path}"))
    }
}

impl Literal {
    /// Reads a literal.
    ///
    /// # Errors
    /// When the text is no literal, or its lists are ragged.
    pub(super) fn parse(text: &str) -> Result<Self, IoError> {
        let mut parser = Parser {
            text,
            at: 0,
            builder: Builder::default(),
        };
        parser.value()?;
        parser.space();
        if parser.at < text.len() {
            return Err(parser.error("the end"));
        }
        Ok(parser.builder.finish())
    }

    /// The type of the elements where nobody wants one: `i64`, or `f32` if there is a decimal, or
    /// `complex64` if there is an imaginary part.
    pub(super) fn natural_type(&self) -> ElementType {
        match self.leaves.first() {
            Some(Leaf::Boolean(_)) => ElementType::Boolean,
            Some(Leaf::Text(_)) => ElementType::String,
            None => ElementType::F32,
            Some(Leaf::Number(_)) => {
                let integer = |leaf: &Leaf| matches!(leaf, Leaf::Number(n) if is_integer(n));
                let complex = |leaf: &Leaf| matches!(leaf, Leaf::Number(n) if parts(n).is_some());
                if self.leaves.iter().all(integer) {
                    ElementType::I64
                } else if self.leaves.iter().any(complex) {
                    ElementType::Complex64
                } else {
                    ElementType::F32
                }
            }
        }
    }

    /// The tensor of a type.
    ///
    /// # Errors
    /// When an element is not of the type, or out of its range.
    pub(super) fn to_tensor(&self, ty: ElementType, limits: &Limits) -> Result<Tensor, IoError> {
        file::elements(limits, ty, &self.shape)?;
        if ty == ElementType::String {
            let texts = self.each(|leaf| match leaf {
                Leaf::Text(bytes) => Ok(Text::from(bytes.as_slice())),
                _ => Err(wrong(leaf, ty)),
            })?;
            return Ok(Tensor::strings(self.shape.clone(), texts)?);
        }
        if let Some(part) = ty.part() {
            let numbers = self.each(|leaf| complex(leaf, ty))?;
            let mut shape = self.shape.clone();
            shape.push(2);
            let mut parts = Tensor::zeros(part, shape)?;
            self.write_floats(numbers.as_flattened(), 2, &mut parts)?;
            return Ok(Tensor::from_complex_parts(&parts)?);
        }
        let mut tensor = Tensor::zeros(ty, self.shape.clone())?;
        if ty.is_float() {
            let numbers = self.each(|leaf| float(leaf, ty))?;
            self.write_floats(&numbers, 1, &mut tensor)?;
        } else {
            let numbers = self.each(|leaf| integer(leaf, ty))?;
            number::write_integers(&numbers, &mut tensor, 0);
        }
        Ok(tensor)
    }

    /// Writes as many numbers for each element.
    fn write_floats(
        &self,
        numbers: &[f64],
        parts: usize,
        tensor: &mut Tensor,
    ) -> Result<(), IoError> {
        number::write_floats(numbers, tensor, 0);
        let mut written = vec![0f64; numbers.len()];
        convert::widen(tensor, 0, &mut written);
        for (i, (&x, &y)) in numbers.iter().zip(&written).enumerate() {
            if let Some(error) = number::lost(x, y, tensor.element_type()) {
                return Err(self.at(i / parts, error));
            }
        }
        Ok(())
    }

    fn each<T>(&self, read: impl Fn(&Leaf) -> Result<T, IoError>) -> Result<Vec<T>, IoError> {
        let leaves = self.leaves.iter().enumerate();
        leaves
            .map(|(i, leaf)| read(leaf).map_err(|error| self.at(i, error)))
            .collect()
    }

    /// Adds where the element is.
    fn at(&self, index: usize, error: IoError) -> IoError {
        if self.shape.is_empty() {
            return error;
        }
        let mut rest = index;
        let path: String = self
            .shape
            .strides()
            .iter()
            .map(|&stride| {
                let i = rest / stride.max(1);
                rest %= stride.max(1);
                format!("[{i}]")
            })
            .collect();
        IoError::mismatch(format!("{error}, at {path}"))
    }
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

fn wrong(leaf: &Leaf, ty: ElementType) -> IoError {
    let found = match leaf {
        Leaf::Number(text) => format!("`{text}`"),
        Leaf::Boolean(value) => format!("`{value}`"),
        Leaf::Text(bytes) => super::text::quote(bytes, 40),
    };
    let expected = match ty {
        ElementType::Boolean => "true or false".to_owned(),
        ElementType::String => "a string in quotes".to_owned(),
        ty if ty.is_float() => format!("a number of type {ty}"),
        ty if ty.is_complex() => format!("a number of type {ty}, such as `1+2j`"),
        ty => format!("an integer of type {ty}"),
    };
    IoError::mismatch(format!("{found} is not {expected}"))
}

fn integer(leaf: &Leaf, ty: ElementType) -> Result<i128, IoError> {
    let (min, max) = integer_range(ty).unwrap_or((0, 0));
    match leaf {
        Leaf::Boolean(value) if ty == ElementType::Boolean => Ok(i128::from(*value)),
        Leaf::Number(text) if is_integer(text) => {
            let value = text.parse().ok();
            value.filter(|v| (min..=max).contains(v)).ok_or_else(|| {
                IoError::mismatch(format!(
                    "{text} is out of range for {ty}, expected {min} to {max}"
                ))
            })
        }
        _ => Err(wrong(leaf, ty)),
    }
}

fn float(leaf: &Leaf, ty: ElementType) -> Result<f64, IoError> {
    let text = match leaf {
        Leaf::Number(text) => text.as_str(),
        // JSON has no other spelling for these.
        Leaf::Text(bytes) if is_special(bytes) => str::from_utf8(bytes).unwrap_or_default(),
        _ => return Err(wrong(leaf, ty)),
    };
    real(text, leaf, ty)
}

/// A complex number as Python writes it. JSON has it in a string.
fn complex(leaf: &Leaf, ty: ElementType) -> Result<[f64; 2], IoError> {
    let text = match leaf {
        Leaf::Number(text) => text.as_str(),
        Leaf::Text(bytes) => str::from_utf8(bytes).unwrap_or_default(),
        Leaf::Boolean(_) => return Err(wrong(leaf, ty)),
    };
    let (re, im) = parts(text).unwrap_or((text, "0"));
    Ok([real(re, leaf, ty)?, real(im, leaf, ty)?])
}

/// The real and the imaginary part of `1+2j` or `2j`.
fn parts(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_suffix(['j', 'J'])?;
    let bytes = text.as_bytes();
    // A sign after an `e` is the exponent's.
    let sign = (1..bytes.len())
        .rev()
        .find(|&i| matches!(bytes[i], b'+' | b'-') && !matches!(bytes[i - 1], b'e' | b'E'));
    Some(sign.map_or(("0", text), |sign| text.split_at(sign)))
}

/// The number that a leaf's text, or a part of it, is.
fn real(text: &str, leaf: &Leaf, ty: ElementType) -> Result<f64, IoError> {
    let value: f64 = text.parse().map_err(|_| wrong(leaf, ty))?;
    if value.is_infinite() && !is_special(text.as_bytes()) {
        return Err(IoError::mismatch(format!(
            "{text} is out of range for {ty}"
        )));
    }
    Ok(value)
}

fn is_special(text: &[u8]) -> bool {
    let rest = text.strip_prefix(b"-").unwrap_or(text);
    let rest = rest.strip_prefix(b"+").unwrap_or(rest);
    [b"inf".as_slice(), b"infinity", b"nan"]
        .iter()
        .any(|word| rest.eq_ignore_ascii_case(word))
}

/// Whether a word is a number, `inf` or `nan`, or a truth value.
fn word(text: &str) -> Option<Leaf> {
    match text {
        "true" => return Some(Leaf::Boolean(true)),
        "false" => return Some(Leaf::Boolean(false)),
        _ => {}
    }
    let real = |text: &str| {
        is_special(text.as_bytes())
            || text.bytes().any(|b| b.is_ascii_digit()) && text.parse::<f64>().is_ok()
    };
    let number = real(text) || parts(text).is_some_and(|(re, im)| real(re) && real(im));
    number.then(|| Leaf::Number(text.to_owned()))
}

/// Whether a text is meant as a literal: a list, a string, or one word of the right kind.
pub(super) fn looks_like(text: &str) -> bool {
    text.starts_with(['[', '"']) || word(text).is_some()
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    builder: Builder,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn error(&self, expected: &str) -> IoError {
        let found: String = self.rest().chars().take(20).collect();
        let found = match found.as_str() {
            "" => "the literal ends".to_owned(),
            found => format!("the literal has `{}`", found.escape_debug()),
        };
        let at = self.text[..self.at].chars().count() + 1;
        IoError::invalid(format!("{found} at character {at}, expected {expected}"))
    }

    /// Adds where the literal is wrong.
    fn place<T>(&self, result: Result<T, IoError>) -> Result<T, IoError> {
        let at = self.text[..self.at].chars().count() + 1;
        result.map_err(|e| IoError::invalid(format!("{e} (character {at})")))
    }

    /// One value, lists and all; a loop, so that depth costs no stack.
    fn value(&mut self) -> Result<(), IoError> {
        let mut depth = 0usize;
        loop {
            self.space();
            if self.rest().starts_with('[') {
                let result = self.builder.begin();
                self.place(result)?;
                self.at += 1;
                depth += 1;
                self.space();
                if !self.rest().starts_with(']') {
                    continue;
                }
            } else {
                let start = self.at;
                let leaf = self.element()?;
                let end = std::mem::replace(&mut self.at, start);
                let result = self.builder.leaf(leaf);
                self.place(result)?;
                self.at = end;
            }
            // After a value: lists end, or the next item follows.
            loop {
                if depth == 0 {
                    return Ok(());
                }
                self.space();
                let comma = self.rest().starts_with(',');
                if comma {
                    self.at += 1;
                    self.space();
                    if !self.rest().starts_with(']') {
                        break;
                    }
                }
                if !self.rest().starts_with(']') {
                    return Err(self.error("`,` or `]`"));
                }
                let result = self.builder.end();
                self.place(result)?;
                self.at += 1;
                depth -= 1;
            }
        }
    }

    fn element(&mut self) -> Result<Leaf, IoError> {
        if self.rest().starts_with('"') {
            return self.string();
        }
        let len = self
            .rest()
            .find(|c: char| c.is_whitespace() || matches!(c, ',' | '[' | ']' | '"'))
            .unwrap_or(self.rest().len());
        match word(&self.rest()[..len]) {
            Some(leaf) => {
                self.at += len;
                Ok(leaf)
            }
            None => Err(self.error("a number, true, false, a string in quotes or a list")),
        }
    }

    fn string(&mut self) -> Result<Leaf, IoError> {
        let mut out = Vec::new();
        self.at += 1;
        loop {
            let Some(c) = self.rest().chars().next() else {
                return Err(self.error("`\"`"));
            };
            match c {
                '"' => {
                    self.at += 1;
                    return Ok(Leaf::Text(out));
                }
                '\\' => self.escape(&mut out)?,
                c => {
                    out.extend(c.encode_utf8(&mut [0; 4]).as_bytes());
                    self.at += c.len_utf8();
                }
            }
        }
    }

    /// `\n \r \t \b \f \0 \" \\ \/ \' \xNN` (a byte), `\uNNNN` (pairs too) and `\u{N}`.
    fn escape(&mut self, out: &mut Vec<u8>) -> Result<(), IoError> {
        let mut rest = self.rest().chars();
        rest.next();
        let simple = match rest.next() {
            Some('n') => Some(b'\n'),
            Some('r') => Some(b'\r'),
            Some('t') => Some(b'\t'),
            Some('b') => Some(8),
            Some('f') => Some(12),
            Some('0') => Some(0),
            Some(c @ ('"' | '\\' | '/' | '\'')) => Some(c as u8),
            _ => None,
        };
        if let Some(byte) = simple {
            out.push(byte);
            self.at += 2;
            return Ok(());
        }
        let body = &self.rest()[1..];
        if let Some(code) = body.strip_prefix('x').and_then(|b| hex(b.get(..2)?)) {
            out.extend(u8::try_from(code));
            self.at += 4;
            return Ok(());
        }
        let braces = body.strip_prefix("u{").and_then(|b| b.split_once('}'));
        let (code, len) = match braces {
            Some((digits, _)) => (hex(digits), digits.len() + 4),
            None => unit_pair(body),
        };
        match code.and_then(char::from_u32) {
            Some(c) => out.extend(c.encode_utf8(&mut [0; 4]).as_bytes()),
            None => return Err(self.error("an escape such as `\\n`, `\\x1b` or `\\u00e9`")),
        }
        self.at += len;
        Ok(())
    }
}

/// JSON's `uNNNN`, or two of them that make one character; the code, and the text's length.
fn unit_pair(body: &str) -> (Option<u32>, usize) {
    let unit = |text: &str| hex(text.strip_prefix('u')?.get(..4)?);
    let first = unit(body);
    let Some(high @ 0xd800..=0xdbff) = first else {
        return (first, 6);
    };
    let second = body.get(5..).and_then(|b| unit(b.strip_prefix('\\')?));
    match second {
        Some(low @ 0xdc00..=0xdfff) => {
            (Some(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)), 12)
        }
        _ => (None, 6),
    }
}

fn hex(digits: &str) -> Option<u32> {
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
    plain.then(|| u32::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
#[path = "tests/literal.rs"]
mod tests;
