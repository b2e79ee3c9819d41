//! The header of an `.npy` file: magic, version, and a Python dictionary of three keys.
//!
//! Read by hand, because it comes from anywhere: no recursion, every size checked.

use super::IoError;
use crate::tensor::{ElementType, Shape};

const MAGIC: &[u8] = b"\x93NUMPY";
/// NumPy itself refuses headers over 10,000 bytes unless told otherwise.
const MAX_HEADER: usize = 1 << 16;
/// NumPy's own bound.
const MAX_RANK: usize = 64;

/// How an item is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Number(ElementType),
    /// Code points of four bytes, padded with NUL.
    Unicode,
    /// Bytes, padded with NUL.
    Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    /// The type as the file writes it.
    pub(super) descr: String,
    pub(super) kind: Kind,
    pub(super) big_endian: bool,
    pub(super) item_bytes: usize,
    pub(super) fortran: bool,
    pub(super) shape: Vec<usize>,
}

impl Header {
    /// The header, and where the data starts.
    pub(super) fn parse(bytes: &[u8]) -> Result<(Self, usize), IoError> {
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            return Err(IoError::invalid(
                "is not an .npy file: the magic is missing",
            ));
        };
        let ends = || {
            IoError::invalid(format!(
                "the header is cut off, the file has {} bytes",
                bytes.len()
            ))
        };
        let (version, rest) = rest.split_first_chunk::<2>().ok_or_else(ends)?;
        let (len, rest) = match version {
            [1, 0] => {
                let (len, rest) = rest.split_first_chunk::<2>().ok_or_else(ends)?;
                (usize::from(u16::from_le_bytes(*len)), rest)
            }
            [2 | 3, 0] => {
                let (len, rest) = rest.split_first_chunk::<4>().ok_or_else(ends)?;
                // A length that does not fit is too large in any case.
                let len = usize::try_from(u32::from_le_bytes(*len)).unwrap_or(usize::MAX);
                (len, rest)
            }
            [major, minor] => {
                return Err(IoError::unsupported(format!(
                    "version {major}.{minor} of the .npy format, expected 1.0, 2.0 or 3.0"
                )));
            }
        };
        if len > MAX_HEADER {
            return Err(IoError::limit(format!(
                "the header has {len} bytes, the limit is {MAX_HEADER}"
            )));
        }
        let text = rest.get(..len).ok_or_else(ends)?;
        let start = bytes.len() - rest.len() + len;
        Ok((Dictionary { text, at: 0 }.read()?, start))
    }

    pub(super) fn element_type(&self) -> ElementType {
        match self.kind {
            Kind::Number(ty) => ty,
            Kind::Unicode | Kind::Bytes => ElementType::String,
        }
    }

    /// The bytes of a header whose data starts at a multiple of 64.
    pub(super) fn encode(descr: &str, shape: &Shape) -> Result<Vec<u8>, IoError> {
        let mut dims: Vec<String> = shape.iter().map(ToString::to_string).collect();
        if dims.len() == 1 {
            dims.push(String::new());
        }
        let dims = dims.join(", ");
        let mut text = format!(
            "{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}), }}",
            dims.trim_end_matches(' ')
        );
        let total = (MAGIC.len() + 4 + text.len() + 1).next_multiple_of(64);
        let len = u16::try_from(total - MAGIC.len() - 4)
            .ok()
            .filter(|_| shape.rank() <= MAX_RANK)
            .ok_or_else(|| {
                IoError::unsupported(format!(
                    "rank {} is more than the {MAX_RANK} dimensions of NumPy",
                    shape.rank()
                ))
            })?;
        text.extend(std::iter::repeat_n(' ', usize::from(len) - 1 - text.len()));
        text.push('\n');
        let mut out = MAGIC.to_vec();
        out.extend([1, 0]);
        out.extend(len.to_le_bytes());
        out.extend(text.as_bytes());
        Ok(out)
    }
}

/// A reader of `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`.
struct Dictionary<'a> {
    text: &'a [u8],
    at: usize,
}

impl Dictionary<'_> {
    fn read(mut self) -> Result<Header, IoError> {
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        self.expect(b'{')?;
        while self.peek() != Some(b'}') {
            let key = self.string()?;
            self.expect(b':')?;
            let repeated = match key.as_str() {
                "descr" => descr.replace(self.descr()?).is_some(),
                "fortran_order" => fortran.replace(self.boolean()?).is_some(),
                "shape" => shape.replace(self.shape()?).is_some(),
                _ => return Err(self.error("one of `descr`, `fortran_order`, `shape`")),
            };
            if repeated {
                return Err(IoError::invalid(format!("the header has `{key}` twice")));
            }
            if self.peek() != Some(b'}') {
                self.expect(b',')?;
            }
        }
        self.expect(b'}')?;
        if self.peek().is_some() {
            return Err(self.error("the end of the header"));
        }
        let missing = |key| IoError::invalid(format!("the header has no `{key}`"));
        let descr = descr.ok_or_else(|| missing("descr"))?;
        let (kind, big_endian, item_bytes) = item(&descr)?;
        Ok(Header {
            descr,
            kind,
            big_endian,
            item_bytes,
            fortran: fortran.ok_or_else(|| missing("fortran_order"))?,
            shape: shape.ok_or_else(|| missing("shape"))?,
        })
    }

    /// The next byte that is no white space.
    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn expect(&mut self, byte: u8) -> Result<(), IoError> {
        if self.peek() != Some(byte) {
            return Err(self.error(&format!("`{}`", char::from(byte))));
        }
        self.at += 1;
        Ok(())
    }

    fn error(&self, expected: &str) -> IoError {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let rest = String::from_utf8_lossy(&rest[..rest.len().min(20)]);
        IoError::invalid(format!(
            "the header has `{}` at byte {}, expected {expected}",
            rest.trim_end().escape_debug(),
            self.at
        ))
    }

    fn word(&mut self) -> &[u8] {
        let _ = self.peek();
        let rest = &self.text[self.at..];
        let len = rest
            .iter()
            .position(|b| !b.is_ascii_alphanumeric())
            .unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    fn boolean(&mut self) -> Result<bool, IoError> {
        match self.word() {
            b"True" => Ok(true),
            b"False" => Ok(false),
            _ => Err(self.error("`True` or `False`")),
        }
    }

    /// A string without escapes: no key and no plain type has any.
    fn string(&mut self) -> Result<String, IoError> {
        let quote = match self.peek() {
            Some(quote @ (b'\'' | b'"')) => quote,
            _ => return Err(self.error("a string")),
        };
        let rest = &self.text[self.at + 1..];
        let len = rest.iter().position(|&b| b == quote || b == b'\\');
        match len {
            Some(len) if rest[len] == quote && rest[..len].is_ascii() => {
                self.at += len + 2;
                Ok(String::from_utf8_lossy(&rest[..len]).into_owned())
            }
            _ => Err(self.error("a plain string")),
        }
    }

    fn descr(&mut self) -> Result<String, IoError> {
        match self.peek() {
            Some(b'[' | b'(') => Err(IoError::unsupported(
                "holds a structured array, expected numbers, booleans or strings",
            )),
            _ => self.string(),
        }
    }

    fn shape(&mut self) -> Result<Vec<usize>, IoError> {
        self.expect(b'(')?;
        let mut shape = Vec::new();
        while self.peek() != Some(b')') {
            if shape.len() == MAX_RANK {
                return Err(IoError::invalid(format!(
                    "the array has more than {MAX_RANK} dimensions"
                )));
            }
            let at = self.at;
            let word = self.word();
            // Python 2 wrote `3L`.
            let digits = word.strip_suffix(b"L").unwrap_or(word);
            let plain = digits.iter().all(u8::is_ascii_digit);
            let size = str::from_utf8(digits).ok().filter(|_| plain);
            let Some(size) = size.and_then(|s| s.parse().ok()) else {
                self.at = at;
                return Err(self.error("a size"));
            };
            shape.push(size);
            if self.peek() != Some(b')') {
                self.expect(b',')?;
            }
        }
        self.expect(b')')?;
        Ok(shape)
    }
}

/// What a type string such as `<f4` says: the kind, whether big endian, the bytes of an item.
fn item(descr: &str) -> Result<(Kind, bool, usize), IoError> {
    use ElementType as E;
    let invalid = || {
        let start: String = descr.chars().take(40).collect();
        IoError::invalid(format!("the header has the unknown type `{start}`"))
    };
    let (order, rest) = match descr.as_bytes().first() {
        Some(b'<' | b'>' | b'=' | b'|') => (descr.as_bytes()[0], &descr[1..]),
        _ => (b'|', descr),
    };
    let big_endian = match order {
        b'=' => cfg!(target_endian = "big"),
        order => order == b'>',
    };
    let letter = rest.chars().next().ok_or_else(invalid)?;
    let digits = &rest[letter.len_utf8()..];
    let size: usize = match letter {
        // Their size may be followed by a unit, or left out.
        'O' | 'M' | 'm' => 8,
        _ if !digits.bytes().all(|b| b.is_ascii_digit()) => return Err(invalid()),
        '?' if digits.is_empty() => 1,
        _ => digits.parse().map_err(|_| invalid())?,
    };
    let unsupported = |what: &str| {
        Err(IoError::unsupported(format!(
            "holds {what} (`{descr}`), expected numbers, booleans or strings"
        )))
    };
    let ty = match (letter, size) {
        ('b', 1) | ('?', 1) => E::Boolean,
        ('i', 1) => E::I8,
        ('i', 2) => E::I16,
        ('i', 4) => E::I32,
        ('i', 8) => E::I64,
        ('u', 1) => E::U8,
        ('u', 2) => E::U16,
        ('u', 4) => E::U32,
        ('u', 8) => E::U64,
        ('f', 2) => E::F16,
        ('f', 4) => E::F32,
        ('f', 8) => E::F64,
        ('c', 8) => E::Complex64,
        ('c', 16) => E::Complex128,
        // ml_dtypes' bfloat16 and 8-bit floats are saved as bytes without a name.
        ('V', 1) => E::U8,
        ('V', 2) => E::U16,
        ('U', size) => {
            let bytes = size.checked_mul(4).ok_or_else(invalid)?;
            return Ok((Kind::Unicode, big_endian, bytes));
        }
        ('S' | 'a', size) => return Ok((Kind::Bytes, false, size)),
        ('O', _) => {
            return Err(IoError::invalid(format!(
                "holds pickled Python objects (`{descr}`), which are refused: they may run code"
            )));
        }
        ('V', _) => return unsupported("structures or plain bytes"),
        ('c', 24 | 32) => return unsupported("extended complex numbers"),
        ('M' | 'm', _) => return unsupported("dates or durations"),
        ('f', 12 | 16) => return unsupported("extended floats"),
        _ => return Err(invalid()),
    };
    Ok((Kind::Number(ty), big_endian, size))
}
