//! The words of a snapshot's text: names in quotes, numbers, hashes.

use std::fmt::Write;

use crate::error::is_hidden;
use crate::metrics::Sketch;
use crate::tensor::Tensor;

/// A number with so many significant digits, as short as it gets.
pub(super) fn number(x: f64, digits: usize) -> String {
    if x == 0.0 || !x.is_finite() {
        return match x {
            x if x.is_nan() => "nan".to_owned(),
            f64::INFINITY => "inf".to_owned(),
            f64::NEG_INFINITY => "-inf".to_owned(),
            _ => "0".to_owned(),
        };
    }
    let scientific = format!("{:.*e}", digits - 1, x);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if (-4..7).contains(&exponent) {
        let after = i32::try_from(digits).unwrap_or(i32::MAX) - 1 - exponent;
        let after = usize::try_from(after.max(0)).unwrap_or(0);
        return trimmed(&format!("{x:.after$}"));
    }
    format!("{}e{exponent}", trimmed(mantissa))
}

/// A name in quotes, on one line, with nothing hidden in it.
pub(super) fn quote(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 2);
    out.push('"');
    for c in name.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if is_hidden(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Splits the text in quotes at the beginning off, and gives it with what follows.
pub(super) fn unquote(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = text.strip_prefix('"')?.chars();
    loop {
        match rest.next()? {
            '"' => return Some((name, rest.as_str())),
            '\\' => match rest.next()? {
                'u' => {
                    let (code, after) = rest.as_str().strip_prefix('{')?.split_once('}')?;
                    name.push(char::from_u32(u32::from_str_radix(code, 16).ok()?)?);
                    rest = after.chars();
                }
                c => name.push(c),
            },
            c => name.push(c),
        }
    }
}

/// The text up to the first space outside of quotes, and what follows that space.
pub(super) fn word(text: &str) -> (&str, &str) {
    let mut quoted = false;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ' ' if !quoted => return (&text[..at], &text[at + 1..]),
            _ => {}
        }
    }
    (text, "")
}

/// Sums of a sketch with so many digits, apart by spaces.
pub(super) fn sums(sketch: &[f64], digits: usize) -> String {
    let mut out = String::new();
    for (index, &sum) in sketch.iter().enumerate() {
        let space = if index > 0 { " " } else { "" };
        let _ = write!(out, "{space}{}", number(sum, digits));
    }
    out
}

/// Reads what [`sums`] wrote.
pub(super) fn read_sums(text: &str) -> Option<Vec<f64>> {
    let sums: Option<Vec<f64>> = text.split_whitespace().map(|n| n.parse().ok()).collect();
    sums.filter(|sums| sums.len() <= Sketch::MOST)
}

/// A hash of bytes, the same on every machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hash([u64; 4]);

impl Hash {
    pub(super) fn new() -> Self {
        Self([
            0x243f_6a88_85a3_08d3,
            0x1319_8a2e_0370_7344,
            0xa409_3822_299f_31d0,
            0x082e_fa98_ec4e_6c89,
        ])
    }

    /// Adds bytes, and where they end.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        let (chunks, rest) = bytes.as_chunks::<32>();
        for chunk in chunks {
            self.mix(chunk);
        }
        let mut last = [0u8; 32];
        last[..rest.len()].copy_from_slice(rest);
        self.mix(&last);
        let mut end = [0u8; 32];
        end[..8].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.mix(&end);
    }

    fn mix(&mut self, chunk: &[u8; 32]) {
        let (words, _) = chunk.as_chunks::<8>();
        for (state, word) in self.0.iter_mut().zip(words) {
            let mixed = (*state ^ u64::from_le_bytes(*word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            *state = mixed ^ mixed >> 32;
        }
    }

    pub(super) fn finish(&self) -> u64 {
        let mut out = 0u64;
        for state in self.0 {
            out = (out.rotate_left(17) ^ state).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            out ^= out >> 29;
        }
        out
    }

    pub(super) fn of(bytes: &[u8]) -> u64 {
        let mut hash = Self::new();
        hash.add(bytes);
        hash.finish()
    }

    /// The hash of a tensor: of its type, shape and elements.
    pub(super) fn of_tensor(tensor: &Tensor) -> u64 {
        let mut hash = Self::new();
        hash.add(format!("{tensor:?}").as_bytes());
        match tensor.as_strings() {
            Ok(strings) => strings.iter().for_each(|text| hash.add(text)),
            Err(_) => hash.add(tensor.bytes()),
        }
        hash.finish()
    }
}

/// Whether a pattern stands for a name: `*` for any characters, all others for themselves.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers() {
        for (x, digits, text) in [
            (0.0, 9, "0"),
            (1.0, 9, "1"),
            (-1.25, 9, "-1.25"),
            (0.1f32.into(), 9, "0.100000001"),
            (123_456_789.0, 9, "1.23456789e8"),
            (1_234_567.0, 9, "1234567"),
            (1e-5, 9, "1e-5"),
            (9.999_999_999_9, 6, "10"),
            (f64::NEG_INFINITY, 3, "-inf"),
            (0.000_123_456, 3, "0.000123"),
        ] {
            assert_eq!(number(x, digits), text);
        }
    }

    #[test]
    fn patterns() {
        for (pattern, name, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "ab", true),
            ("*", "", true),
            ("a*c*e", "abcde", true),
            ("a*c*e", "abcd", false),
            ("ab*ba", "aba", false),
            ("*x", "xx", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn hashes() {
        assert_ne!(Hash::of(b""), Hash::of(b"\0"));
        assert_ne!(Hash::of(b"a"), Hash::of(b"b"));
        // A change of the hash makes every snapshot useless.
        assert_eq!(Hash::of(b"ovir"), Hash::of(b"ovir"));
        let mut changed = vec![0u8; 1000];
        let mut seen = std::collections::HashSet::from([Hash::of(&changed)]);
        for at in 0..changed.len() {
            changed[at] = 1;
            assert!(seen.insert(Hash::of(&changed)));
            changed[at] = 0;
        }
        let [a, b] = [[1f32, 2.0], [1.0, 3.0]].map(|x| Hash::of_tensor(&Tensor::vector(&x)));
        assert_ne!(a, b);
    }

    proptest! {
        #[test]
        fn names_come_back(name: String, rest in "[ a-z\"]{0,5}") {
            let text = quote(&name) + &rest;
            prop_assert!(!text.chars().any(is_hidden));
            prop_assert_eq!(unquote(&text), Some((name, rest.as_str())));
        }

        #[test]
        fn numbers_come_back(x in any::<f64>().prop_filter("finite", |x| x.is_finite())) {
            let read: f64 = number(x, 17).parse().expect("a number");
            prop_assert_eq!(read, x);
            let read: f64 = number(x, 13).parse().expect("a number");
            prop_assert!((read - x).abs() <= 1e-12 * x.abs());
        }
    }
}
