//! Sets of characters: escapes such as `\w`, properties, and classes in brackets.
//!
//! Every set is written as the inside of a class, so that it can stand alone and in others.

use super::RegexError;
use super::translate::{Reader, literal};

/// White space: Unicode's, and U+180E, which once was.
const SPACE: &str = r"\s\x{180E}";
/// What words are made of.
const WORD: &str = r"\p{L}\p{N}\p{Mn}\p{Pc}";
/// Letters that have cases.
const CASED: &str = r"\p{Lu}\p{Ll}\p{Lt}";
/// Horizontal space.
const HORIZONTAL: &str = r"\t\x20\xA0\x{1680}\x{180E}\x{2000}-\x{200A}\x{202F}\x{205F}\x{3000}";
/// Vertical space.
pub(super) const VERTICAL: &str = r"\n-\r\x{85}\x{2028}\x{2029}";
/// Anything.
const ANY: &str = r"\x{0}-\x{10FFFF}";

/// A set as a class of its own.
pub(super) fn class(inside: &str, negated: bool) -> String {
    format!("[{}{inside}]", if negated { "^" } else { "" })
}

/// A set as a part of a class.
fn member(inside: &str, negated: bool) -> String {
    if negated {
        class(inside, true)
    } else {
        inside.to_owned()
    }
}

/// The characters of words.
pub(super) fn word() -> String {
    class(WORD, false)
}

/// The set that a letter after a backslash stands for, and whether it is what is not in it.
pub(super) fn escape(
    letter: char,
    reader: &mut Reader<'_>,
) -> Result<Option<(String, bool)>, RegexError> {
    let set = match letter.to_ascii_lowercase() {
        's' => SPACE.to_owned(),
        'w' => WORD.to_owned(),
        'd' => r"\p{Nd}".to_owned(),
        'h' => HORIZONTAL.to_owned(),
        'v' => VERTICAL.to_owned(),
        'p' => {
            let (set, negated) = property(reader)?;
            return Ok(Some((set, negated != (letter == 'P'))));
        }
        _ => return Ok(None),
    };
    Ok(Some((set, letter.is_ascii_uppercase())))
}

/// The property after `\p`, and whether it is negated.
fn property(reader: &mut Reader<'_>) -> Result<(String, bool), RegexError> {
    let malformed = || RegexError::Pattern("has a malformed property".to_owned());
    let name = if reader.eat("{") {
        reader.until("}").ok_or_else(malformed)?
    } else {
        reader.next().ok_or_else(malformed)?.to_string()
    };
    let name = name.trim();
    let (name, negated) = match name.strip_prefix('^') {
        Some(name) => (name, true),
        None => (name, false),
    };
    let plain = name.chars().filter(|c| !matches!(c, ' ' | '_' | '-'));
    let plain = plain.collect::<String>().to_ascii_lowercase();
    let set = match plain.as_str() {
        "any" => ANY.to_owned(),
        "l&" | "lc" => CASED.to_owned(),
        "lu" | "ll" | "lt" if reader.caseless => CASED.to_owned(),
        "xan" => r"\p{L}\p{N}".to_owned(),
        "xwd" => WORD.to_owned(),
        "xsp" | "xps" => SPACE.to_owned(),
        _ => named(name, &plain)?,
    };
    Ok((set, negated))
}

/// A general category, a script (with its extensions), or a property of two values.
fn named(name: &str, plain: &str) -> Result<String, RegexError> {
    let known = |text: &String| fancy_regex::Regex::new(text).is_ok();
    let simple = |c: char| c.is_ascii_alphanumeric();
    let unsupported = || RegexError::Unsupported(format!("the property `{name}`"));
    let script = plain.split_once([':', '=']);
    let candidates = match script {
        Some(("sc" | "script", value)) if value.chars().all(simple) => {
            vec![format!(r"\p{{sc={value}}}")]
        }
        Some(("scx" | "scriptextensions", value)) if value.chars().all(simple) => {
            vec![format!(r"\p{{scx={value}}}")]
        }
        None if !plain.chars().all(simple) => Vec::new(),
        None if plain.len() <= 2 => vec![format!(r"\p{{gc={plain}}}")],
        None => vec![format!(r"\p{{scx={plain}}}"), format!(r"\p{{{plain}}}")],
        Some(_) => Vec::new(),
    };
    candidates.into_iter().find(known).ok_or_else(unsupported)
}

/// A class, after its opening bracket.
///
/// # Errors
/// When it does not end, or has what is not supported.
pub(super) fn bracketed(reader: &mut Reader<'_>) -> Result<String, RegexError> {
    let unclosed = || RegexError::Pattern("has a class without an end".to_owned());
    let negated = reader.eat("^");
    let mut inside = String::new();
    let mut first = true;
    loop {
        if !first && reader.eat("]") {
            break;
        }
        first = false;
        if let Some(set) = posix(reader)? {
            inside += &set;
            continue;
        }
        let low = match item(reader)?.ok_or_else(unclosed)? {
            Item::Set(set) => {
                inside += &set;
                continue;
            }
            Item::Nothing => continue,
            Item::Char(c) => c,
        };
        // A hyphen at the end of the class, or before a set, is itself.
        let mut ahead = reader.clone();
        let high = if ahead.eat("-")
            && !ahead.rest().starts_with(']')
            && posix(&mut ahead.clone())?.is_none()
        {
            match item(&mut ahead)? {
                Some(Item::Char(high)) => Some(high),
                _ => None,
            }
        } else {
            None
        };
        inside += &literal(low);
        if let Some(high) = high {
            if high < low {
                return Err(RegexError::Pattern("has a range out of order".to_owned()));
            }
            *reader = ahead;
            inside.push('-');
            inside += &literal(high);
        }
    }
    Ok(class(&inside, negated))
}

/// A part of a class.
enum Item {
    Char(char),
    Set(String),
    Nothing,
}

fn item(reader: &mut Reader<'_>) -> Result<Option<Item>, RegexError> {
    if reader.eat(r"\Q") {
        // One character at a time: the rest is quoted again.
        return Ok(Some(match reader.next() {
            Some('\\') if reader.eat("E") => Item::Nothing,
            Some(c) => {
                reader.quote_rest();
                Item::Char(c)
            }
            None => return Ok(None),
        }));
    }
    if reader.eat(r"\E") {
        return Ok(Some(Item::Nothing));
    }
    let Some(c) = reader.next() else {
        return Ok(None);
    };
    if c != '\\' {
        return Ok(Some(Item::Char(c)));
    }
    let Some(letter) = reader.next() else {
        return Ok(None);
    };
    if letter == 'b' {
        return Ok(Some(Item::Char('\u{8}')));
    }
    if let Some((set, negated)) = escape(letter, reader)? {
        return Ok(Some(Item::Set(member(&set, negated))));
    }
    reader.character(letter, true).map(|c| Some(Item::Char(c)))
}

/// A class such as `[:alpha:]`.
fn posix(reader: &mut Reader<'_>) -> Result<Option<String>, RegexError> {
    let mut ahead = reader.clone();
    if !ahead.eat("[:") {
        return Ok(None);
    }
    let negated = ahead.eat("^");
    let Some(name) = ahead.until(":]") else {
        return Ok(None);
    };
    if !name.chars().all(|c| c.is_ascii_lowercase()) {
        return Ok(None);
    }
    let set = match name.as_str() {
        "alpha" => r"\p{L}",
        "lower" | "upper" if reader.caseless => r"\p{L}",
        "lower" => r"\p{Ll}",
        "upper" => r"\p{Lu}",
        "alnum" => r"\p{L}\p{N}",
        "ascii" => r"\x{0}-\x{7F}",
        "blank" => HORIZONTAL,
        "cntrl" => r"\p{Cc}",
        "digit" => r"\p{Nd}",
        "space" => SPACE,
        "word" => WORD,
        "xdigit" => "0-9A-Fa-f",
        "punct" => r"\p{P}\$\+<=>\^`\|\~",
        _ => return Err(RegexError::Unsupported(format!("the class `[:{name}:]`"))),
    };
    *reader = ahead;
    Ok(Some(member(set, negated)))
}
