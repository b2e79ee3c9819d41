//! Text in pictures: how wide it is, and how it is written where other things stand as well.

use crate::error::is_hidden;

/// A text of at most `most` characters without anything hidden; what is left out stands for `…`.
/// Names tell most at their end.
pub(super) fn cut(text: &str, most: usize) -> String {
    let shown = visible(text);
    let count = shown.chars().count();
    if count <= most {
        return shown;
    }
    let begin = most / 3;
    let end = most.saturating_sub(begin + 1);
    let chars: Vec<char> = shown.chars().collect();
    let mut out: String = chars[..begin].iter().collect();
    out.push('…');
    out.extend(&chars[count - end..]);
    out
}

/// A text in which characters that are not shown stand as `\u{…}`. Names are cut at 400 characters.
pub(super) fn visible(text: &str) -> String {
    const MOST: usize = 400;
    let mut out = String::with_capacity(text.len().min(MOST));
    for (count, c) in text.chars().enumerate() {
        if count == MOST {
            out.push('…');
            break;
        }
        // What XML 1.0 cannot hold, however it is written.
        if is_hidden(c) || matches!(c, '\u{fffe}' | '\u{ffff}') {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// The width of a text in pixels, in a sans-serif font of this size; fonts differ, this is that of a
/// wide one (DejaVu Sans, 2.37).
pub(super) fn width(text: &str, size: f64, bold: bool) -> f64 {
    let units: f64 = text.chars().map(advance).sum();
    let bold = if bold { 1.09 } else { 1.0 };
    units * size * bold
}

/// How far a character moves the pen, in parts of the font's size.
fn advance(c: char) -> f64 {
    match c {
        'i' | 'l' | 'j' | '\'' => 0.28,
        ' ' | '.' | ',' | ':' | ';' | '/' | '\\' | '|' | '!' | 'I' => 0.34,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '-' => 0.40,
        's' | 'z' | 'c' | 'J' | '_' => 0.55,
        'm' | 'w' | 'W' | 'M' | '@' | '%' | '…' => 1.0,
        'A'..='Z' | '×' | '+' | '=' | '<' | '>' | '~' | '#' | '→' => 0.79,
        'a'..='z' | '0'..='9' => 0.635,
        c if c.is_ascii() => 0.65,
        // Letters of most alphabets; ideographs and pictures take a whole square.
        c if u32::from(c) < 0x1100 => 0.72,
        _ => 1.05,
    }
}

/// Text between tags, or in an attribute within double quotes.
pub(super) fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => {
                out.push_str("&#");
                out.push_str(&u32::from(c).to_string());
                out.push(';');
            }
            c => out.push(c),
        }
    }
    out
}

/// A string of Graphviz, with its quotes. A backslash has a meaning there in labels.
pub(super) fn dot(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            // An entity would be replaced by its character.
            '&' => out.push_str("&amp;"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A label of Mermaid, with its quotes: its own entities stand for all that has a meaning in Mermaid,
/// Markdown or HTML.
pub(super) fn mermaid(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\n' => out.push_str("<br/>"),
            c if c.is_alphanumeric() || " .,:/_×→·…+()=-".contains(c) => out.push(c),
            c => {
                out.push('#');
                out.push_str(&u32::from(c).to_string());
                out.push(';');
            }
        }
    }
    out.push('"');
    out
}

/// JSON that may stand in a `<script>` element: nothing in it can end the element.
pub(super) fn script(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            // None of these stands outside strings.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

/// A coordinate: one digit after the point at most.
pub(super) fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0" } else { text }.to_owned()
}

/// A number of layers with its noun.
pub(super) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_in_the_middle() {
        assert_eq!(cut("abcdefghij", 10), "abcdefghij");
        assert_eq!(cut("abcdefghijk", 10), "abc…fghijk");
        assert_eq!(cut("a\u{202e}b", 20), "a\\u{202e}b");
        assert_eq!(cut("模模模模", 3), "模…模");
        assert!(visible(&"x".repeat(100_000)).chars().count() == 401);
    }

    #[test]
    fn each_language_has_its_own_way() {
        assert_eq!(
            xml("<a b='\"'>&\n"),
            "&lt;a b=&#39;&quot;&#39;&gt;&amp;&#10;"
        );
        assert_eq!(dot("a\"b\\N\n&lt;"), "\"a\\\"b\\\\N\\n&amp;lt;\"");
        assert_eq!(mermaid("a\"]`<b>"), "\"a#34;#93;#96;#60;b#62;\"");
        assert_eq!(
            script("\"</script>\u{2028}\""),
            "\"\\u003c/script\\u003e\\u2028\""
        );
        assert_eq!([px(1.0), px(-0.01), px(2.25)], ["1", "0", "2.2"]);
    }
}
