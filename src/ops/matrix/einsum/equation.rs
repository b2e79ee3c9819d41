//! The equation of Einsum.

use std::fmt::{self, Write};

use serde::{Deserialize, Serialize};

/// What one or more axes are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Label {
    /// Any number of axes, aligned at the last.
    Ellipsis,
    /// One axis.
    Letter(u8),
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Ellipsis => f.write_str("..."),
            Self::Letter(letter) => f.write_char(char::from(letter)),
        }
    }
}

/// The labels of the axes of every input, and of the output.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct Equation {
    text: String,
    pub(super) inputs: Vec<Vec<Label>>,
    pub(super) output: Vec<Label>,
}

impl From<Equation> for String {
    fn from(equation: Equation) -> Self {
        equation.text
    }
}

impl TryFrom<String> for Equation {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let plain: String = text.chars().filter(|&c| c != ' ').collect();
        let (left, right) = match plain.split_once("->") {
            Some((left, right)) => (left, Some(right)),
            None => (&*plain, None),
        };
        let inputs: Vec<Vec<Label>> = left.split(',').map(labels).collect::<Result<_, _>>()?;
        let output = match right {
            Some(right) => labels(right)?,
            None => implied(&inputs),
        };
        for (i, label) in output.iter().enumerate() {
            if !inputs.iter().any(|input| input.contains(label)) {
                return Err(format!("`{label}` of the output stands in no input"));
            }
            if output[..i].contains(label) {
                return Err(format!("`{label}` stands twice in the output"));
            }
        }
        Ok(Self {
            text,
            inputs,
            output,
        })
    }
}

/// The labels of a subscript without spaces.
fn labels(text: &str) -> Result<Vec<Label>, String> {
    let mut labels = Vec::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("...") {
            if labels.contains(&Label::Ellipsis) {
                return Err(format!("`{text}` has more than one ellipsis"));
            }
            labels.push(Label::Ellipsis);
            rest = after;
        } else if let (true, Ok(letter)) = (next.is_ascii_alphabetic(), u8::try_from(next)) {
            labels.push(Label::Letter(letter));
            rest = &rest[1..];
        } else {
            return Err(format!(
                "`{}` of the equation is not a letter, an ellipsis, `,` or `->`",
                next.escape_default()
            ));
        }
    }
    Ok(labels)
}

/// The output of an equation that has none: the ellipsis, then what stands once, sorted.
fn implied(inputs: &[Vec<Label>]) -> Vec<Label> {
    let mut all: Vec<Label> = inputs.iter().flatten().copied().collect();
    all.sort_unstable();
    all.chunk_by(|a, b| a == b)
        .filter(|same| same.len() == 1 || same[0] == Label::Ellipsis)
        .map(|same| same[0])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, String> {
        let equation = Equation::try_from(text.to_owned())?;
        let spell = |labels: &[Label]| labels.iter().map(Label::to_string).collect::<String>();
        let inputs: Vec<String> = equation.inputs.iter().map(|input| spell(input)).collect();
        Ok(format!("{}->{}", inputs.join(","), spell(&equation.output)))
    }

    #[test]
    fn spellings() {
        for (text, expected) in [
            ("ij,jk->ik", "ij,jk->ik"),
            (" i j , j k - > i k ", "ij,jk->ik"),
            ("dbbc,ca", "dbbc,ca->ad"),
            ("AbC", "AbC->ACb"),
            ("a...b,...b", "a...b,...b->...a"),
            ("i,i->", "i,i->"),
            ("", "->"),
            (",->", ",->"),
            ("ab...,ac...,ade->...bc", "ab...,ac...,ade->...bc"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(expected), "{text}");
        }
        for wrong in [
            "i1->i", "i->j", "i->ii", "......->", "..a->a", "a->...", "a->b->c", "\u{e9}->", "i;j",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
