//! UTF-8 that may be broken.

/// U+FFFD, what stands for bytes that are no character.
const REPLACEMENT: &[u8] = "\u{FFFD}".as_bytes();

/// Adds the characters of `bytes`; what is none is replaced, or dropped.
///
/// A character cut short is replaced once, one written with more bytes than it needs once for
/// each of them. Surrogates and what lies above U+10FFFF pass.
pub(crate) fn validate(bytes: &[u8], replace: bool, out: &mut Vec<u8>) {
    let broken = |out: &mut Vec<u8>, times: usize| {
        if replace {
            (0..times).for_each(|_| out.extend_from_slice(REPLACEMENT));
        }
    };
    let mut at = 0;
    while at < bytes.len() {
        let first = bytes[at];
        let (length, least) = match first {
            0..=0x7F => (1, 0),
            0xC0..=0xDF => (2, 0x80),
            0xE0..=0xEF => (3, 0x800),
            0xF0..=0xF7 => (4, 0x1_0000),
            _ => {
                broken(out, 1);
                at += 1;
                continue;
            }
        };
        let rest = &bytes[at + 1..bytes.len().min(at + length)];
        let trail = rest.iter().take_while(|&&b| b >> 6 == 0b10).count();
        if trail + 1 < length {
            broken(out, 1);
            at += trail + 1;
            continue;
        }
        let mask = if length == 1 { 0x7F } else { 0x7Fu32 >> length };
        let code = rest.iter().fold(u32::from(first) & mask, |code, &b| {
            code << 6 | u32::from(b & 0x3F)
        });
        if code < least {
            broken(out, length);
        } else {
            out.extend_from_slice(&bytes[at..at + length]);
        }
        at += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn validated(bytes: &[u8], replace: bool) -> Vec<u8> {
        let mut out = Vec::new();
        validate(bytes, replace, &mut out);
        out
    }

    #[test]
    fn good_text_stays() {
        for text in ["", "a", "é𝕏漢\u{7FF}\u{800}\u{FFFF}\u{10000}\u{10FFFF}\0"] {
            assert_eq!(validated(text.as_bytes(), true), text.as_bytes());
            assert_eq!(validated(text.as_bytes(), false), text.as_bytes());
        }
    }

    #[test]
    fn broken_text() {
        let cases: [(&[u8], &str); 7] = [
            (b"a\x80b", "a\u{FFFD}b"),
            (b"a\xe2\x82", "a\u{FFFD}"),
            (b"\xe2\x82a", "\u{FFFD}a"),
            (b"\xe2\xc3\xa9", "\u{FFFD}é"),
            (b"\xc0\x80", "\u{FFFD}\u{FFFD}"),
            (b"\xf0\x80\x80\x80", "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}"),
            (b"\xff\xf8", "\u{FFFD}\u{FFFD}"),
        ];
        for (bytes, text) in cases {
            assert_eq!(validated(bytes, true), text.as_bytes(), "{bytes:?}");
            let kept = text.replace('\u{FFFD}', "");
            assert_eq!(validated(bytes, false), kept.as_bytes(), "{bytes:?}");
        }
    }
}
