//! XML as text: elements that are indented, values that are escaped.

use std::fmt::{Display, Write};

use crate::graph::RtInfo;

/// Bodies may be nested ten thousand deep: deeper than this, lines are not indented further.
const DEEPEST: usize = 24;

/// A document that is being written.
#[derive(Debug)]
pub(super) struct Xml {
    text: String,
    depth: usize,
}

impl Xml {
    /// A document without an element.
    pub(super) fn new() -> Self {
        Self {
            text: "<?xml version=\"1.0\"?>\n".to_owned(),
            depth: 0,
        }
    }

    /// Opens an element.
    pub(super) fn open(&mut self, tag: &str, attributes: &[(&str, &dyn Display)]) {
        self.start(tag, attributes);
        self.text.push_str(">\n");
        self.depth += 1;
    }

    /// Closes the element that was opened last and is open still.
    pub(super) fn close(&mut self, tag: &str) {
        self.depth -= 1;
        self.indent();
        self.push(format_args!("</{tag}>\n"));
    }

    /// An element without content.
    pub(super) fn empty(&mut self, tag: &str, attributes: &[(&str, &dyn Display)]) {
        self.start(tag, attributes);
        self.text.push_str(" />\n");
    }

    /// An element that holds a number.
    pub(super) fn number(&mut self, tag: &str, number: i64) {
        self.indent();
        self.push(format_args!("<{tag}>{number}</{tag}>\n"));
    }

    /// Runtime information; nothing if there is none.
    pub(super) fn rt_info(&mut self, info: &RtInfo) {
        if info.is_empty() {
            return;
        }
        self.open("rt_info", &[]);
        let entries = &info.0;
        let mut tags: Vec<&str> = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            while tags.len() > entry.depth {
                self.close(tags.pop().unwrap_or_default());
            }
            let values = entry.attributes.iter();
            let attributes: Vec<_> = values
                .map(|(name, value)| (name.as_str(), value as &dyn Display))
                .collect();
            let holds = |next: &crate::graph::RtEntry| next.depth > entry.depth;
            if entries.get(index + 1).is_some_and(holds) {
                self.open(&entry.tag, &attributes);
                tags.push(&entry.tag);
            } else {
                self.empty(&entry.tag, &attributes);
            }
        }
        while let Some(tag) = tags.pop() {
            self.close(tag);
        }
        self.close("rt_info");
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    fn start(&mut self, tag: &str, attributes: &[(&str, &dyn Display)]) {
        self.indent();
        self.push(format_args!("<{tag}"));
        for (name, value) in attributes {
            self.push(format_args!(" {name}=\""));
            let value = value.to_string();
            self.escaped(&value);
            self.text.push('"');
        }
    }

    fn indent(&mut self) {
        let depth = self.depth.min(DEEPEST);
        self.text.extend(std::iter::repeat_n('\t', depth));
    }

    fn push(&mut self, text: std::fmt::Arguments<'_>) {
        let written = self.text.write_fmt(text);
        written.expect("a string grows");
    }

    /// The value of an attribute. What a reader would turn into a blank is a reference; XML has no
    /// way to say NUL.
    fn escaped(&mut self, value: &str) {
        for c in value.chars() {
            match c {
                '&' => self.text.push_str("&amp;"),
                '<' => self.text.push_str("&lt;"),
                '>' => self.text.push_str("&gt;"),
                '"' => self.text.push_str("&quot;"),
                '\0' => self.text.push(char::REPLACEMENT_CHARACTER),
                c if c < ' ' => self.push(format_args!("&#{};", u32::from(c))),
                c => self.text.push(c),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::RtEntry;

    #[test]
    fn values_are_escaped() {
        let mut xml = Xml::new();
        xml.empty("a", &[("b", &"<&>\"'\n\t\u{1}\0é")]);
        let expected = "<a b=\"&lt;&amp;&gt;&quot;'&#10;&#9;&#1;\u{fffd}é\" />\n";
        assert_eq!(xml.finish().lines().nth(1), expected.lines().next());
    }

    #[test]
    fn runtime_information_keeps_its_nesting() {
        let entry = |depth, tag: &str| RtEntry {
            depth,
            tag: tag.to_owned(),
            attributes: vec![("value".to_owned(), tag.to_uppercase())],
        };
        let entries = [(0, "a"), (1, "b"), (2, "c"), (0, "d"), (1, "e"), (1, "f")];
        let info = RtInfo(entries.iter().map(|(d, t)| entry(*d, t)).collect());
        let mut xml = Xml::new();
        xml.rt_info(&info);
        xml.rt_info(&RtInfo::default());
        let expected = "<?xml version=\"1.0\"?>
<rt_info>
\t<a value=\"A\">
\t\t<b value=\"B\">
\t\t\t<c value=\"C\" />
\t\t</b>
\t</a>
\t<d value=\"D\">
\t\t<e value=\"E\" />
\t\t<f value=\"F\" />
\t</d>
</rt_info>
";
        assert_eq!(xml.finish(), expected);
    }
}
