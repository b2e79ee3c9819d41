//! Bytes as visible characters, as byte-level vocabularies write them.

use std::sync::LazyLock;

/// The character of a byte: itself where it is visible, the others are those from U+0100 on.
static CHARACTERS: LazyLock<[char; 256]> = LazyLock::new(|| {
    let mut others = '\u{100}'..;
    std::array::from_fn(|i| match u8::try_from(i) {
        Ok(byte @ (b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF)) => char::from(byte),
        _ => others.next().expect("few"),
    })
});

/// The byte that a character below U+0200 stands for.
static BYTES: LazyLock<[Option<u8>; 512]> = LazyLock::new(|| {
    let mut bytes = [None; 512];
    for (byte, &c) in (0..=255).zip(CHARACTERS.iter()) {
        bytes[c as usize] = Some(byte);
    }
    bytes
});

/// Adds the characters of bytes.
pub(crate) fn to_characters(bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in bytes {
        let c = CHARACTERS[usize::from(byte)];
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

/// Adds the bytes that characters stand for. What stands for none stays as it is, and so do the
/// characters of ASCII.
pub(crate) fn from_characters(characters: &[u8], out: &mut Vec<u8>) {
    let mut rest = characters;
    while let [first, tail @ ..] = rest {
        let pair = match (first, tail) {
            (0xC2..=0xC7, [second @ 0x80..=0xBF, ..]) => {
                BYTES[usize::from(first & 0x1F) << 6 | usize::from(second & 0x3F)]
            }
            _ => None,
        };
        out.push(pair.unwrap_or(*first));
        rest = &rest[1 + usize::from(pair.is_some())..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let all: Vec<u8> = (0..=255).collect();
        let (mut text, mut back) = (Vec::new(), Vec::new());
        to_characters(&all, &mut text);
        let text = String::from_utf8(text).expect("characters");
        assert!(text.starts_with('Ā') && text.contains("Ġ!\"") && text.ends_with("þÿ"));
        from_characters(text.as_bytes(), &mut back);
        assert_eq!(back, all);
        back.clear();
        from_characters("漢\u{FFFD} x".as_bytes(), &mut back);
        assert_eq!(back, "漢\u{FFFD} x".as_bytes());
    }
}
