//! How far the tensors of two snapshots may be apart.

use std::fmt::{self, Write};
use std::str::FromStr;

use super::words::{matches, number, quote, unquote, word};
use crate::error::{Error, Kind};

/// How far a tensor may be from the recorded one. Of floats; integers, booleans and strings are to be
/// equal, unless a bound names their tensor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// The L2 distance, as a part of the recorded L2 norm.
    pub relative_l2: f64,
    /// Single numbers (extremes and samples), as a part of the recorded largest magnitude.
    pub element: f64,
    /// What may always be added: to a single number, and to the root of the mean square of the
    /// distance.
    pub absolute: f64,
}

impl Default for Bound {
    /// What sums in another order and other instructions of a processor stay far below.
    fn default() -> Self {
        Self {
            relative_l2: 1e-4,
            element: 1e-3,
            absolute: 1e-6,
        }
    }
}

/// The bounds of a snapshot: one for all tensors, and others for those of some names.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bounds {
    /// Where no other applies.
    pub default: Bound,
    /// Names, with `*` for any characters, and their bounds; without one a tensor is not looked at.
    /// The last that matches counts.
    pub overrides: Vec<(String, Option<Bound>)>,
}

/// What holds for a tensor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Rule {
    /// The default.
    Default(Bound),
    /// A bound of its own.
    Own(Bound),
    /// It is not looked at.
    Skip,
}

impl Bounds {
    /// What holds for the tensor of this name.
    pub(super) fn of(&self, name: &str) -> Rule {
        let found = self.overrides.iter().rev();
        match found.into_iter().find(|(p, _)| matches(p, name)) {
            None => Rule::Default(self.default),
            Some((_, Some(bound))) => Rule::Own(*bound),
            Some((_, None)) => Rule::Skip,
        }
    }

    /// The lines of a snapshot, one for the default and one for each override.
    pub(super) fn write(&self, out: &mut String) {
        let _ = writeln!(out, "tolerance {}", self.default);
        for (name, bound) in &self.overrides {
            let _ = match bound {
                Some(bound) => writeln!(out, "tolerance {} {bound}", quote(name)),
                None => writeln!(out, "tolerance {} skip", quote(name)),
            };
        }
    }

    /// Reads what follows `tolerance` on a line, or of an option: `[NAME] relative-l2=1e-4 …`,
    /// `NAME skip`. What is not said is as in the default.
    ///
    /// # Errors
    /// When it is neither.
    pub fn read(&mut self, text: &str) -> Result<(), Error> {
        let text = text.trim();
        let (first, rest) = match text.strip_prefix('"') {
            Some(_) => {
                let (name, rest) = unquote(text).ok_or_else(|| wrong("a name without its end"))?;
                (Some(name), rest.trim())
            }
            None => match word(text) {
                (first, _) if first.contains('=') || first.parse::<f64>().is_ok() => (None, text),
                (first, rest) => (Some(first.to_owned()), rest.trim()),
            },
        };
        match first {
            None => self.default = self.default.with(rest)?,
            Some(name) if rest == "skip" => self.overrides.push((name, None)),
            Some(name) => {
                let bound = self.default.with(rest)?;
                self.overrides.push((name, Some(bound)));
            }
        }
        Ok(())
    }
}

fn wrong(what: &str) -> Error {
    let message = format!(
        "{what}; a tolerance is `1e-4`, or some of `relative-l2=1e-4 element=1e-3 absolute=1e-6`, \
         maybe after the name of a tensor, or a name and `skip`"
    );
    Error::new(Kind::Input, message)
}

impl Bound {
    fn with(mut self, text: &str) -> Result<Self, Error> {
        if let Ok(relative) = text.parse::<f64>() {
            self.relative_l2 = checked("relative-l2", relative)?;
            self.element = 10.0 * relative;
            return Ok(self);
        }
        let mut any = false;
        for setting in text.split([' ', ',']).filter(|s| !s.is_empty()) {
            let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
            let read = || {
                let number = value.parse::<f64>();
                let number = number.map_err(|_| wrong(&format!("`{setting}` is no bound")))?;
                checked(key, number)
            };
            match key {
                "relative-l2" => self.relative_l2 = read()?,
                "element" => self.element = read()?,
                "absolute" => self.absolute = read()?,
                _ => return Err(wrong(&format!("there is no bound `{key}`"))),
            }
            any = true;
        }
        if any {
            Ok(self)
        } else {
            Err(wrong("no bound is given"))
        }
    }
}

fn checked(key: &str, number: f64) -> Result<f64, Error> {
    if number >= 0.0 {
        return Ok(number);
    }
    Err(wrong(&format!(
        "`{key}={number}` is not a number from 0 on"
    )))
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [relative, element, absolute] =
            [self.relative_l2, self.element, self.absolute].map(|x| number(x, 17));
        write!(
            f,
            "relative-l2={relative} element={element} absolute={absolute}"
        )
    }
}

impl FromStr for Bounds {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut bounds = Self::default();
        bounds.read(text)?;
        Ok(bounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let mut bounds: Bounds = "1e-5".parse().expect("a bound");
        assert_eq!(
            (bounds.default.relative_l2, bounds.default.element),
            (1e-5, 1e-4)
        );
        bounds.read("element=1e-2").expect("a bound");
        bounds.read("\"a b*\" relative-l2=0.5").expect("a bound");
        bounds.read("random* skip").expect("a bound");
        let mut text = String::new();
        bounds.write(&mut text);
        let mut read = Bounds::default();
        for line in text.lines() {
            read.read(line.strip_prefix("tolerance ").expect("a tolerance"))
                .expect("a bound");
        }
        assert_eq!(read, bounds);
        assert!(matches!(bounds.of("x"), Rule::Default(b) if b.element == 1e-2));
        assert!(
            matches!(bounds.of("a bc"), Rule::Own(b) if b.relative_l2 == 0.5 && b.element == 1e-2)
        );
        assert_eq!(bounds.of("random.1"), Rule::Skip);
        for text in [
            "",
            "x",
            "x=1",
            "-1",
            "x skip more",
            "nan",
            "relative-l2=x",
            "\"x skip",
        ] {
            assert!(text.parse::<Bounds>().is_err(), "{text}");
        }
    }
}
