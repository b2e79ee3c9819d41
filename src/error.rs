//! The error of the library: where, what kind, and what was found and expected.

use std::fmt;
use std::sync::Arc;

use crate::op::{OpError, OpErrorKind};

/// What kind of problem an [`Error`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A file cannot be read or written.
    Io,
    /// The document is not well-formed XML, or not an IR.
    Xml,
    /// The file is not an ONNX model.
    Onnx,
    /// Layers, ports or edges do not make a graph.
    Structure,
    /// An attribute is missing or wrong.
    Attribute,
    /// The bytes of a constant are missing or wrong.
    Weights,
    /// Element types or shapes do not fit together.
    Shape,
    /// An operation refuses the values it is given.
    Eval,
    /// An input is missing, unknown, or not what the model takes.
    Input,
    /// An operation, version or element type is not supported.
    Unsupported,
    /// A limit was reached.
    Limit,
    /// An observer stopped the run.
    Stopped,
    /// The time limit is over.
    Deadline,
    /// It was cancelled from outside.
    Cancelled,
    /// A runtime that was asked for is missing, or failed.
    Backend,
}

impl Kind {
    /// What the command line exits with after an error of this kind.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Unsupported => 4,
            Self::Limit => 5,
            Self::Backend => 6,
            Self::Deadline => 124,
            Self::Cancelled => 130,
            _ => 3,
        }
    }

    /// The kind of an operation's error; `invalid` if it refuses what it was given.
    pub(crate) fn of_op(kind: OpErrorKind, invalid: Self) -> Self {
        match kind {
            OpErrorKind::Invalid => invalid,
            OpErrorKind::Unsupported => Self::Unsupported,
            OpErrorKind::Limit => Self::Limit,
            OpErrorKind::Deadline => Self::Deadline,
            OpErrorKind::Cancelled => Self::Cancelled,
        }
    }
}

/// A layer as errors name it: `layer 57 "up/Resize" (Interpolate, opset11)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerRef {
    /// The layer's id.
    pub id: u64,
    /// The layer's name.
    pub name: String,
    /// The operation's type.
    pub type_name: String,
    /// The opset the layer names.
    pub opset: String,
}

impl fmt::Display for LayerRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            id,
            name,
            type_name,
            opset,
        } = self;
        write!(f, "layer {id} {} ({}", quoted(name), plain(type_name))?;
        if !opset.is_empty() {
            write!(f, ", {}", plain(opset))?;
        }
        f.write_str(")")
    }
}

/// Names come from files: control characters are escaped, long names cut.
const LONGEST_NAME: usize = 200;
/// Messages may list many names.
const LONGEST_MESSAGE: usize = 4096;

/// A name in quotes, fit for one line of a terminal.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", plain(name))
}

/// A name fit for one line of a terminal.
pub(crate) fn plain(name: &str) -> String {
    escaped(name, LONGEST_NAME)
}

/// A message fit for one line of a terminal, whatever it quotes.
pub(crate) fn one_line(message: &str) -> String {
    escaped(message, LONGEST_MESSAGE)
}

fn escaped(text: &str, longest: usize) -> String {
    let mut out = String::with_capacity(text.len().min(longest));
    for (count, c) in text.chars().enumerate() {
        if count == longest {
            out.push('…');
            break;
        }
        if is_hidden(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// Whether a terminal takes a character for a command, turns text around for it, or does not show
/// it.
pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Where a problem is: a file, a line and column of it, and the layer, inside out of the bodies
/// that hold it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// The file as the caller named it.
    pub file: Option<Arc<str>>,
    /// Line and column, counted from 1.
    pub line_column: Option<(usize, usize)>,
    /// Byte offset in the document (as decoded to UTF-8).
    pub offset: Option<usize>,
    /// The layer, after the layers whose bodies it is in: the innermost 16 of them.
    pub layers: Vec<LayerRef>,
}

/// A place names no more layers: bodies may be nested thousands deep.
const MOST_LAYERS: usize = 16;

/// A message shows no more of them.
const MOST_SHOWN: usize = 8;

/// The layers of a place, from those given, the innermost first.
pub(crate) fn innermost(layers: impl Iterator<Item = LayerRef>) -> Vec<LayerRef> {
    let mut layers: Vec<_> = layers.take(MOST_LAYERS).collect();
    layers.reverse();
    layers
}

/// The layers of a place on one line, the innermost last.
pub(crate) fn path(layers: &[LayerRef]) -> String {
    let hidden = layers.len().saturating_sub(MOST_SHOWN);
    let shown: Vec<String> = layers[hidden..].iter().map(LayerRef::to_string).collect();
    let dots = if hidden > 0 { "… > " } else { "" };
    dots.to_owned() + &shown.join(" > ")
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            f.write_str(&plain(file))?;
            if let Some((line, column)) = self.line_column {
                write!(f, ":{line}:{column}")?;
            }
            if !self.layers.is_empty() {
                f.write_str(": ")?;
            }
        }
        f.write_str(&path(&self.layers))
    }
}

#[derive(Debug, Clone)]
struct Inner {
    kind: Kind,
    place: Place,
    message: String,
    details: Vec<String>,
}

/// An error, with its place in the model.
#[derive(Debug, Clone)]
pub struct Error(Box<Inner>);

/// The result of the library's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error without a place.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self::at(Place::default(), kind, message)
    }

    /// An error at a place.
    pub fn at(place: Place, kind: Kind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            place,
            message: one_line(&message.into()),
            details: Vec::new(),
        }))
    }

    /// An operation's error, met while inferring ([`Kind::Shape`]) or evaluating ([`Kind::Eval`]).
    pub(crate) fn from_op(place: Place, kind: Kind, error: OpError) -> Self {
        Self::at(place, Kind::of_op(error.kind, kind), error.message)
    }

    /// Lines to print under the message, such as every unsupported operation.
    #[must_use]
    pub(crate) fn with_details(mut self, details: Vec<String>) -> Self {
        self.0.details = details.iter().map(|line| one_line(line)).collect();
        self
    }

    /// What kind of problem it is.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// Where it is.
    pub fn place(&self) -> &Place {
        &self.0.place
    }

    /// What was found and expected, without the place.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Further lines, such as every unsupported operation.
    pub fn details(&self) -> &[String] {
        &self.0.details
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.0.place.to_string();
        if !place.is_empty() {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.0.message)?;
        for line in &self.0.details {
            write!(f, "\n  {line}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_whatever_the_names() {
        let layer = LayerRef {
            id: 3,
            name: format!("a\n\u{1b}[31m{}", "x".repeat(500)),
            type_name: "Gather".to_owned(),
            opset: "opset8".to_owned(),
        };
        let place = Place {
            file: Some("model.xml".into()),
            line_column: Some((8, 12)),
            offset: None,
            layers: vec![layer],
        };
        let text = Error::at(place, Kind::Shape, "axis 4 is out of range").to_string();
        assert!(
            text.starts_with("model.xml:8:12: layer 3 \"a\\n\\u{1b}[31mxx"),
            "{text}"
        );
        assert!(
            text.ends_with("…\" (Gather, opset8): axis 4 is out of range"),
            "{text}"
        );
        assert_eq!(text.lines().count(), 1);
    }

    #[test]
    fn nothing_hidden_is_passed_on() {
        let hidden = [
            '\0',
            '\t',
            '\n',
            '\r',
            '\u{1b}',
            '\u{7f}',
            '\u{85}',
            '\u{9b}',
            '\u{200b}',
            '\u{200d}',
            '\u{200e}',
            '\u{2028}',
            '\u{202a}',
            '\u{202e}',
            '\u{2060}',
            '\u{2066}',
            '\u{2069}',
            '\u{feff}',
            '\u{e0041}',
        ];
        for c in hidden {
            let place = Place {
                file: Some(format!("a{c}b.xml").into()),
                ..Place::default()
            };
            let error = Error::at(place, Kind::Xml, format!("found `{c}`"));
            let error = error.with_details(vec![format!("and {c}"), "more".to_owned()]);
            let text = error.to_string();
            let escape: String = c.escape_default().collect();
            assert_eq!(text.matches(&escape).count(), 3, "{text}");
            let shown: String = text.split('\n').collect();
            assert!(!shown.chars().any(is_hidden), "{text:?}");
            assert_eq!(text.split('\n').count(), 3, "{text:?}");
        }
        let long = Error::new(Kind::Xml, "é".repeat(10_000));
        assert_eq!(long.message().chars().count(), LONGEST_MESSAGE + 1);
        // What is shown is what was written.
        assert_eq!(plain("naïve 模型 🙂 a\\b"), "naïve 模型 🙂 a\\b");
    }

    #[test]
    fn deep_places_are_cut() {
        let layer = |id: u64| LayerRef {
            id,
            name: "if".to_owned(),
            type_name: "If".to_owned(),
            opset: "opset8".to_owned(),
        };
        let layers = innermost((0..=10_000).rev().map(layer));
        assert_eq!((layers.len(), layers[15].id), (MOST_LAYERS, 10_000));
        let text = path(&layers);
        assert!(text.starts_with("… > layer 9993 \"if\""), "{text}");
        assert!(
            text.ends_with(" > layer 10000 \"if\" (If, opset8)"),
            "{text}"
        );
        assert_eq!(path(&layers[14..]).matches(" > ").count(), 1);
    }
}
