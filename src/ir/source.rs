//! The text of a document, and where its lines are.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use crate::error::{Error, Kind, Place, Result, plain};
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

/// Decodes a document: by its byte order mark, by the zeros of UTF-16, or by its declaration. One
/// that is in another encoding than it declares, or in an unknown one, is refused (XML 1.0, 4.3.3).
fn decode(bytes: Vec<u8>) -> std::result::Result<String, String> {
    let marked = Encoding::for_bom(&bytes).map(|(encoding, _)| encoding);
    let guessed = match bytes.as_slice() {
        [b'<', 0, b, 0, ..] if *b != 0 => Some(UTF_16LE),
        [0, b'<', 0, b, ..] if *b != 0 => Some(UTF_16BE),
        _ => None,
    };
    let Some(found) = marked.or(guessed) else {
        let declaration = bytes.windows(2).position(|w| w == b"?>");
        let declaration = declaration.and_then(|end| std::str::from_utf8(&bytes[..end + 2]).ok());
        let declared = declaration.map(declared).transpose()?.flatten();
        // Who got this far can read the declaration byte by byte.
        let wide = |encoding: &Encoding| encoding == UTF_16LE || encoding == UTF_16BE;
        return match declared {
            Some((label, encoding)) if wide(encoding) => Err(contradiction(label, UTF_8)),
            Some((_, encoding)) => decode_as(encoding, bytes),
            None => decode_as(UTF_8, bytes),
        };
    };
    let text = decode_as(found, bytes)?;
    match declared(&text)? {
        // `UTF-16` alone is of either order.
        Some((label, _)) if label.eq_ignore_ascii_case("utf-16") && found != UTF_8 => Ok(text),
        Some((label, encoding)) if encoding != found => Err(contradiction(label, found)),
        _ => Ok(text),
    }
}

fn contradiction(label: &str, found: &'static Encoding) -> String {
    let label = plain(label);
    format!(
        "the document declares the encoding `{label}`, but it is in {}",
        found.name()
    )
}

fn decode_as(encoding: &'static Encoding, bytes: Vec<u8>) -> std::result::Result<String, String> {
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

/// The encoding an XML declaration names, and how it writes it.
fn declared(text: &str) -> std::result::Result<Option<(&str, &'static Encoding)>, String> {
    let label = || {
        let (declaration, _) = text.strip_prefix("<?xml")?.split_once("?>")?;
        let value = declaration.split_once("encoding")?.1.trim_start();
        let value = value.strip_prefix('=')?.trim_start();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        value[1..].split(quote).next()
    };
    let Some(label) = label() else {
        return Ok(None);
    };
    match Encoding::for_label(label.as_bytes()) {
        Some(encoding) => Ok(Some((label, encoding))),
        None => Err(format!(
            "the document declares the unknown encoding `{}`",
            plain(label)
        )),
    }
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
        for label in ["UTF-8", "utf8", "US-ASCII"] {
            let plain = format!("<?xml version='1.0' encoding='{label}'?><a/>");
            assert_eq!(text(plain.as_bytes()), plain);
        }
        let wide = "<?xml version='1.0' encoding='UTF-16'?><né/>";
        for order in [u16::to_le_bytes, u16::to_be_bytes] {
            assert_eq!(text(&utf16(order, wide)), wide);
        }
        assert!(decode(b"<a b='\xff'/>".to_vec()).is_err());
    }

    #[test]
    fn declarations_that_are_not_true() {
        let wide = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let declared = |label: &str| format!("<?xml version='1.0' encoding='{label}'?><a/>");
        let marked = |label: &str| format!("\u{feff}{}", declared(label));
        for (bytes, expected) in [
            (
                declared("UTF-16").into_bytes(),
                "`UTF-16`, but it is in UTF-8",
            ),
            (
                declared("utf-16le").into_bytes(),
                "`utf-16le`, but it is in UTF-8",
            ),
            (
                marked("latin1").into_bytes(),
                "`latin1`, but it is in UTF-8",
            ),
            (wide(&declared("UTF-8")), "`UTF-8`, but it is in UTF-16BE"),
            (
                wide(&marked("UTF-16LE")),
                "`UTF-16LE`, but it is in UTF-16BE",
            ),
            (
                declared("klingon").into_bytes(),
                "unknown encoding `klingon`",
            ),
            (wide(&declared("")), "unknown encoding ``"),
        ] {
            let error = decode(bytes).expect_err(expected);
            assert!(error.contains(expected), "{error}");
        }
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
