//! The text of a document, and where its lines are.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use crate::error::{Error, Kind, Place, Result};
use crate::limits::Limits;

/// A document: its name, and its text as UTF-8.
#[derive(Debug)]
pub struct Source {
    name: Arc<str>,
    text: String,
    index: OnceLock<Index>,
}

impl Source {
    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// When it cannot be read, or is larger than the limit.
    pub(crate) fn read_bytes(path: &Path, limits: &Limits) -> Result<Vec<u8>> {
        let read = crate::files::read(path, limits.document_bytes, limits);
        read.map_err(|e| e.error(path.to_string_lossy().into(), "the document"))
    }

    /// A file that is no text, under a name for messages.
    #[cfg(feature = "onnx")]
    pub(crate) fn without_text(name: Arc<str>) -> Self {
        Self {
            name,
            text: String::new(),
            index: OnceLock::new(),
        }
    }

    /// A document in memory, under a name for messages.
    ///
    /// # Errors
    /// When the bytes are not text.
    pub(crate) fn new(name: Arc<str>, bytes: Vec<u8>) -> Result<Self> {
        let text = decode(bytes).map_err(|message| {
            let place = Place {
                file: Some(Arc::clone(&name)),
                ..Place::default()
            };
            Error::at(place, Kind::Xml, message)
        })?;
        Ok(Self {
            name,
            text,
            index: OnceLock::new(),
        })
    }

    /// The name as the caller gave it.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Line and column of a byte offset, both counted from 1, the column in characters.
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        let index = self.index.get_or_init(|| Index::new(&self.text));
        let line = index.lines.partition_point(|&start| start <= offset).max(1);
        let start = index.lines.get(line - 1).copied().unwrap_or(0);
        let end = self.text.floor_char_boundary(offset.max(start));
        let before = |at| index.characters_before(&self.text, at);
        (line, before(end) - before(start) + 1)
    }

    /// The place of a byte offset.
    pub(crate) fn place(&self, offset: usize) -> Place {
        Place {
            file: Some(Arc::clone(&self.name)),
            line_column: Some(self.line_column(offset)),
            offset: Some(offset),
            layers: Vec::new(),
        }
    }
}

/// Characters are counted ahead for every so many bytes: a document may be one line.
const BLOCK: usize = 1024;

/// Where the lines of a text begin, and how many characters stand before each block.
#[derive(Debug)]
struct Index {
    lines: Vec<usize>,
    characters: Vec<usize>,
}

impl Index {
    fn new(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|&(_, b)| b == b'\n');
        let mut count = 0;
        let blocks = text.as_bytes().chunks(BLOCK).map(|block| {
            let before = count;
            count += characters(block);
            before
        });
        Self {
            characters: blocks.collect(),
            lines: std::iter::once(0)
                .chain(breaks.map(|(i, _)| i + 1))
                .collect(),
        }
    }

    fn characters_before(&self, text: &str, at: usize) -> usize {
        let block = (at / BLOCK).min(self.characters.len().saturating_sub(1));
        let before = self.characters.get(block).copied().unwrap_or(0);
        let rest = text.as_bytes().get(block * BLOCK..at);
        before + rest.map_or(0, characters)
    }
}

/// How many characters begin in a piece of UTF-8.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&b| b & 0xc0 != 0x80).count()
}

/// Decodes a document: by its byte order mark, by the zeros of UTF-16, or by its declaration.
fn decode(bytes: Vec<u8>) -> std::result::Result<String, String> {
    let marked = Encoding::for_bom(&bytes).map(|(encoding, _)| encoding);
    let guessed = match bytes.as_slice() {
        [b'<', 0, b, 0, ..] if *b != 0 => Some(UTF_16LE),
        [0, b'<', 0, b, ..] if *b != 0 => Some(UTF_16BE),
        _ => None,
    };
    let encoding = marked
        .or(guessed)
        .or_else(|| declared(&bytes))
        .unwrap_or(UTF_8);
    if encoding == UTF_8 {
        let text = String::from_utf8(bytes).map_err(|e| {
            let at = e.utf8_error().valid_up_to();
            format!("the document is not valid UTF-8 at byte {at}")
        })?;
        return Ok(match text.strip_prefix('\u{feff}') {
            Some(rest) => rest.to_owned(),
            None => text,
        });
    }
    let (text, _, errors) = encoding.decode(&bytes);
    if errors {
        return Err(format!("the document is not valid {}", encoding.name()));
    }
    Ok(text.into_owned())
}

/// The encoding an XML declaration names. Of text that is plainly not UTF-16, a declaration that
/// says so is ignored, as the real runtime ignores it.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes.get(..bytes.len().min(200))?;
    let head = head.strip_prefix(b"<?xml")?;
    let end = head.windows(2).position(|w| w == b"?>")?;
    let text = std::str::from_utf8(&head[..end]).ok()?;
    let value = text.split_once("encoding")?.1.trim_start();
    let value = value.strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let label = value[1..].split(quote).next()?;
    let encoding = Encoding::for_label(label.as_bytes())?;
    (encoding != UTF_16LE && encoding != UTF_16BE).then_some(encoding)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> String {
        decode(bytes.to_vec()).expect("decodable")
    }

    #[test]
    fn encodings() {
        assert_eq!(text("\u{feff}<net/>".as_bytes()), "<net/>");
        let utf16 = |order: fn(u16) -> [u8; 2], text: &str| -> Vec<u8> {
            text.encode_utf16().flat_map(order).collect()
        };
        assert_eq!(text(&utf16(u16::to_le_bytes, "\u{feff}<né/>")), "<né/>");
        assert_eq!(text(&utf16(u16::to_be_bytes, "\u{feff}<né/>")), "<né/>");
        assert_eq!(text(&utf16(u16::to_le_bytes, "<né/>")), "<né/>");
        let latin = b"<?xml version='1.0' encoding = 'ISO-8859-1'?><a b='\xe9'/>";
        assert!(text(latin).contains('é'));
        let lie = b"<?xml version='1.0' encoding='UTF-16'?><a/>";
        assert!(text(lie).ends_with("<a/>"));
        assert!(decode(b"<a b='\xff'/>".to_vec()).is_err());
    }

    #[test]
    fn lines_and_columns() {
        let source = Source::new("m.xml".into(), "ab\nçd\n".into()).expect("text");
        for (offset, expected) in [
            (0, (1, 1)),
            (2, (1, 3)),
            (3, (2, 1)),
            (5, (2, 2)),
            (99, (3, 1)),
        ] {
            assert_eq!(source.line_column(offset), expected, "{offset}");
        }
        assert_eq!(source.line_column(4), (2, 1), "inside a character");
        let long = format!("ab\n{}", "çd".repeat(3000));
        let source = Source::new("m.xml".into(), long.into()).expect("text");
        for pairs in [0, 1, 340, 341, 342, 1000, 2999, 3000] {
            let expected = (2, 2 * pairs + 1);
            assert_eq!(source.line_column(3 + 3 * pairs), expected, "{pairs}");
        }
    }
}
