//! A pattern of PCRE2 written for the engine.
//!
//! What the two read differently is spelled out: what is white space and what a word, where `$`
//! is, what stands in a class, which groups have one number.

use std::collections::HashMap;

use super::RegexError;
use super::class::{self, VERTICAL};

/// The pattern for the engine, and which of its groups stand for each of the pattern's.
#[derive(Debug)]
pub(super) struct Translated {
    pub(super) pattern: String,
    pub(super) groups: Vec<Vec<usize>>,
    pub(super) names: HashMap<String, usize>,
}

/// How deep groups may nest.
const DEEPEST: usize = 200;

/// A character as itself, in and out of classes.
pub(super) fn literal(c: char) -> String {
    match c {
        '\\' | '.' | '+' | '*' | '?' | '(' | ')' | '|' | '[' | ']' | '{' | '}' | '^' | '$'
        | '#' | '&' | '-' | '~' => format!("\\{c}"),
        _ if c.is_control() || c.is_whitespace() => format!("\\x{{{:X}}}", u32::from(c)),
        _ => c.to_string(),
    }
}

/// What is left of a pattern.
#[derive(Debug, Clone)]
pub(super) struct Reader<'p> {
    rest: &'p str,
    /// Inside `\Q…\E` of a class.
    quoted: bool,
    /// Whether cases are not told apart.
    pub(super) caseless: bool,
}

impl<'p> Reader<'p> {
    pub(super) fn rest(&self) -> &'p str {
        self.rest
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next()?;
        self.rest = chars.as_str();
        Some(next)
    }

    /// Takes `text` if it is next.
    pub(super) fn eat(&mut self, text: &str) -> bool {
        if self.quoted {
            self.quoted = false;
            if text == r"\Q" {
                return true;
            }
            self.quoted = true;
            return false;
        }
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// What follows is quoted still.
    pub(super) fn quote_rest(&mut self) {
        self.quoted = true;
    }

    /// What stands before `end`, which is taken too.
    pub(super) fn until(&mut self, end: &str) -> Option<String> {
        let (before, after) = self.rest.split_once(end)?;
        self.rest = after;
        Some(before.to_owned())
    }

    /// At most `most` digits of a base.
    fn digits(&mut self, base: u32, most: usize) -> &'p str {
        let length = self
            .rest
            .chars()
            .take(most)
            .take_while(|c| c.is_digit(base))
            .count();
        let (digits, rest) = self.rest.split_at(length);
        self.rest = rest;
        digits
    }

    /// The character that a letter after a backslash stands for.
    pub(super) fn character(&mut self, letter: char, in_class: bool) -> Result<char, RegexError> {
        let unknown = || RegexError::Pattern(format!("has an unknown escape `\\{letter}`"));
        let code = match letter {
            'a' => 7,
            'e' => 0x1B,
            'f' => 0xC,
            'n' => 0xA,
            'r' => 0xD,
            't' => 9,
            'c' => match self.next() {
                Some(c @ ' '..='~') => u32::from(c.to_ascii_uppercase()) ^ 0x40,
                _ => return Err(unknown()),
            },
            'x' | 'o' if self.rest.starts_with('{') => {
                let base = if letter == 'x' { 16 } else { 8 };
                let braced = self.until("}").unwrap_or_default();
                u32::from_str_radix(braced[1..].trim(), base).map_err(|_| unknown())?
            }
            'x' => number(self.digits(16, 2), 16),
            '0' => number(self.digits(8, 2), 8),
            '1'..='7' if in_class => {
                let more = self.digits(8, 2);
                number(&format!("{letter}{more}"), 8)
            }
            'N' if self.rest.starts_with("{U+") => {
                let braced = self.until("}").unwrap_or_default();
                u32::from_str_radix(&braced[3..], 16).map_err(|_| unknown())?
            }
            _ if letter.is_ascii_alphanumeric() => return Err(unknown()),
            _ => return Ok(letter),
        };
        char::from_u32(code).ok_or_else(unknown)
    }
}

/// Digits that were checked; no digits are zero.
fn number(digits: &str, base: u32) -> u32 {
    u32::from_str_radix(digits, base).unwrap_or(0)
}

/// What holds until a group ends.
#[derive(Debug, Clone, Copy, Default)]
struct Flags {
    caseless: bool,
    multi_line: bool,
    dot_all: bool,
    extended: bool,
}

/// An open group, or the whole pattern.
#[derive(Debug, Default)]
struct Frame {
    flags: Flags,
    /// Whether a group of the engine's is open for an option set within this one.
    inline: bool,
    /// In a group that numbers each alternative anew: the number before it, the highest in it.
    reset: Option<(usize, usize)>,
}

struct Translator<'p> {
    reader: Reader<'p>,
    out: String,
    flags: Flags,
    frames: Vec<Frame>,
    /// The number of the last group opened.
    last: usize,
    /// How many groups the engine's pattern has.
    engine: usize,
    groups: Vec<Vec<usize>>,
    names: HashMap<String, usize>,
}

/// Writes a pattern for the engine.
///
/// # Errors
/// When it is wrong or has what is not supported. Not everything wrong is found: the engine
/// checks what it is given.
pub(super) fn translate(pattern: &str) -> Result<Translated, RegexError> {
    let mut translator = Translator {
        reader: Reader {
            rest: pattern,
            quoted: false,
            caseless: false,
        },
        out: String::with_capacity(pattern.len() * 2),
        flags: Flags::default(),
        frames: vec![Frame::default()],
        last: 0,
        engine: 0,
        groups: vec![vec![0]],
        names: HashMap::new(),
    };
    while translator.item()? {}
    translator.end_inline();
    if translator.frames.len() > 1 {
        return Err(RegexError::Pattern("has a group without an end".to_owned()));
    }
    Ok(Translated {
        pattern: translator.out,
        groups: translator.groups,
        names: translator.names,
    })
}

impl Translator<'_> {
    /// Takes and writes one item; whether there was one.
    fn item(&mut self) -> Result<bool, RegexError> {
        let Some(c) = self.reader.next() else {
            return Ok(false);
        };
        match c {
            '\\' => self.escape()?,
            '[' => self.out += &class::bracketed(&mut self.reader)?,
            '(' => self.open()?,
            ')' => self.close()?,
            '|' => self.alternative(),
            '.' => {
                self.out += if self.flags.dot_all {
                    "(?s:.)"
                } else {
                    r"[^\n]"
                }
            }
            '^' if self.flags.multi_line => self.out += r"(?:^|(?<=\n)(?!\z))",
            '$' if self.flags.multi_line => self.out += r"(?=\n|\z)",
            '$' => self.out += r"(?=\n?\z)",
            '^' | '*' | '+' | '?' => self.out.push(c),
            '{' => self.braces(),
            '#' if self.flags.extended => {
                let line = self.reader.until("\n");
                if line.is_none() {
                    self.reader.rest = "";
                }
            }
            _ if self.flags.extended && c.is_ascii_whitespace() => {}
            _ => self.out += &literal(c),
        }
        Ok(true)
    }

    /// A repetition, or a brace that is itself.
    fn braces(&mut self) {
        let mut ahead = self.reader.clone();
        let least = ahead.digits(10, 5);
        let most = ahead.eat(",").then(|| ahead.digits(10, 5));
        if ahead.eat("}") && (!least.is_empty() || most.is_some_and(|m| !m.is_empty())) {
            let least = if least.is_empty() { "0" } else { least };
            self.out += &match most {
                Some(most) => format!("{{{least},{most}}}"),
                None => format!("{{{least}}}"),
            };
            self.reader = ahead;
        } else {
            self.out += r"\{";
        }
    }

    fn escape(&mut self) -> Result<(), RegexError> {
        let Some(letter) = self.reader.next() else {
            return Err(RegexError::Pattern("ends in a backslash".to_owned()));
        };
        if letter == 'N' && !self.reader.rest.starts_with("{U+") {
            self.out += r"[^\n]";
            return Ok(());
        }
        if let Some((set, negated)) = class::escape(letter, &mut self.reader)? {
            self.out += &class::class(&set, negated);
            return Ok(());
        }
        let word = class::word();
        match letter {
            'b' => self.out += &format!("(?:(?<={word})(?!{word})|(?<!{word})(?={word}))"),
            'B' => self.out += &format!("(?:(?<={word})(?={word})|(?<!{word})(?!{word}))"),
            'A' => self.out += r"\A",
            'z' => self.out += r"\z",
            'Z' => self.out += r"(?=\n?\z)",
            'G' => self.out += r"\G",
            'K' => self.out += r"\K",
            'R' => self.out += &format!(r"(?>\r\n|[{VERTICAL}])"),
            'E' => {}
            'Q' => {
                let rest = self.reader.rest;
                let quoted = self.reader.until(r"\E").unwrap_or_else(|| {
                    self.reader.rest = "";
                    rest.to_owned()
                });
                quoted.chars().for_each(|c| self.out += &literal(c));
            }
            '1'..='9' => {
                let mut ahead = self.reader.clone();
                let name = format!("{letter}{}", ahead.digits(10, 2));
                if name.len() > 1 && number(&name, 10) as usize > self.last && letter < '8' {
                    self.out += &literal(self.reader.character(letter, true)?);
                } else {
                    self.reader = ahead;
                    self.reference(&name)?;
                }
            }
            'g' | 'k' => {
                let (open, close) = match self.reader.rest.chars().next() {
                    Some('{') => ("{", "}"),
                    Some('<') if letter == 'k' => ("<", ">"),
                    Some('\'') if letter == 'k' => ("'", "'"),
                    Some('0'..='9') if letter == 'g' => ("", ""),
                    _ => return Err(RegexError::Unsupported(format!("`\\{letter}`"))),
                };
                self.reader.eat(open);
                let name = match close {
                    "" => Some(self.reader.digits(10, 3).to_owned()),
                    _ => self.reader.until(close),
                };
                self.reference(name.unwrap_or_default().trim())?;
            }
            'X' | 'C' => return Err(RegexError::Unsupported(format!("`\\{letter}`"))),
            _ => self.out += &literal(self.reader.character(letter, false)?),
        }
        Ok(())
    }

    /// What a group matched, once more.
    fn reference(&mut self, name: &str) -> Result<(), RegexError> {
        let number = match name.strip_prefix('-') {
            Some(back) => back
                .parse()
                .ok()
                .and_then(|b: usize| (self.last + 1).checked_sub(b)),
            None => name.parse().ok().or_else(|| self.names.get(name).copied()),
        };
        let groups = number.filter(|&n| n > 0).and_then(|n| self.groups.get(n));
        match groups.map(Vec::as_slice) {
            Some([group]) => self.out += &format!("(?:\\{group})"),
            _ => {
                return Err(RegexError::Unsupported(format!(
                    "a reference to group `{name}`"
                )));
            }
        }
        Ok(())
    }

    /// A group that captures.
    fn capture(&mut self, name: Option<String>) {
        self.last += 1;
        self.engine += 1;
        if self.groups.len() <= self.last {
            self.groups.push(Vec::new());
        }
        self.groups[self.last].push(self.engine);
        if let Some(name) = name {
            self.names.insert(name, self.last);
        }
        self.out.push('(');
    }

    fn open(&mut self) -> Result<(), RegexError> {
        if self.reader.rest.starts_with('*') {
            return Err(RegexError::Unsupported(
                "verbs such as `(*SKIP)`".to_owned(),
            ));
        }
        if self.frames.len() >= DEEPEST {
            return Err(RegexError::Pattern("has groups too deep".to_owned()));
        }
        let frame = Frame {
            flags: self.flags,
            ..Frame::default()
        };
        self.frames.push(frame);
        if !self.reader.eat("?") {
            self.capture(None);
            return Ok(());
        }
        if self.reader.eat("#") {
            self.frames.pop();
            let comment = self.reader.until(")");
            return match comment {
                Some(_) => Ok(()),
                None => Err(RegexError::Pattern(
                    "has a comment without an end".to_owned(),
                )),
            };
        }
        if self.reader.eat("|") {
            if let Some(frame) = self.frames.last_mut() {
                frame.reset = Some((self.last, self.last));
            }
            self.out += "(?:";
            return Ok(());
        }
        for plain in [":", "=", "!", "<=", "<!", ">"] {
            if self.reader.eat(plain) {
                self.out += &format!("(?{plain}");
                return Ok(());
            }
        }
        for (open, close) in [("P<", ">"), ("<", ">"), ("'", "'")] {
            if self.reader.eat(open) {
                let name = self.reader.until(close);
                if name.is_none() {
                    return Err(RegexError::Pattern("has a name without an end".to_owned()));
                }
                self.capture(name);
                return Ok(());
            }
        }
        if self.reader.eat("P=") {
            self.frames.pop();
            let name = self.reader.until(")").unwrap_or_default();
            return self.reference(&name);
        }
        self.flags()
    }

    /// Options for the rest of a group, or for a group of their own.
    fn flags(&mut self) -> Result<(), RegexError> {
        let (mut on, mut flags) = (true, self.flags);
        loop {
            match self.reader.next() {
                Some('^') => flags = Flags::default(),
                Some('-') => on = false,
                Some('i') => flags.caseless = on,
                Some('m') => flags.multi_line = on,
                Some('s') => flags.dot_all = on,
                Some('x') => flags.extended = on,
                Some('J') => {}
                Some(':') => {
                    self.set_flags(flags);
                    self.out += self.case_group();
                    return Ok(());
                }
                Some(')') => {
                    // The frame is the one around: the options are no group.
                    self.frames.pop();
                    let changed = flags.caseless != self.flags.caseless;
                    self.set_flags(flags);
                    if changed {
                        self.end_inline();
                        self.begin_inline();
                    }
                    return Ok(());
                }
                other => {
                    let what = format!("`(?{}`", other.map_or(String::new(), String::from));
                    return Err(RegexError::Unsupported(what));
                }
            }
        }
    }

    fn set_flags(&mut self, flags: Flags) {
        self.flags = flags;
        self.reader.caseless = flags.caseless;
    }

    /// The engine's group in which cases are told apart or not, as they are now.
    fn case_group(&self) -> &'static str {
        if self.flags.caseless { "(?i:" } else { "(?-i:" }
    }

    /// Opens a group of the engine's for an option: there, options would leak out of groups.
    fn begin_inline(&mut self) {
        self.out += self.case_group();
        if let Some(frame) = self.frames.last_mut() {
            frame.inline = true;
        }
    }

    /// Closes it; whether it was open.
    fn end_inline(&mut self) -> bool {
        let frame = self.frames.last_mut();
        let inline = frame.is_some_and(|frame| std::mem::take(&mut frame.inline));
        if inline {
            self.out.push(')');
        }
        inline
    }

    /// Another alternative: options go on in it.
    fn alternative(&mut self) {
        let inline = self.end_inline();
        self.out.push('|');
        if inline {
            self.begin_inline();
        }
        let last = self.last;
        let frame = self.frames.last_mut();
        if let Some((before, highest)) = frame.and_then(|frame| frame.reset.as_mut()) {
            *highest = last.max(*highest);
            self.last = *before;
        }
    }

    fn close(&mut self) -> Result<(), RegexError> {
        self.end_inline();
        let Some(frame) = self.frames.pop().filter(|_| !self.frames.is_empty()) else {
            return Err(RegexError::Pattern(
                "closes a group that is not open".to_owned(),
            ));
        };
        self.set_flags(frame.flags);
        if let Some((_, highest)) = frame.reset {
            self.last = self.last.max(highest);
        }
        self.out.push(')');
        Ok(())
    }
}
