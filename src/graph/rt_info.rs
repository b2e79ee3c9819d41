//! Runtime information: what tools left in the file for each other. It changes no result.

/// One element below an `<rt_info>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RtEntry {
    /// How many entries it is nested in.
    pub depth: usize,
    /// The element's tag.
    pub tag: String,
    /// The element's attributes.
    pub attributes: Vec<(String, String)>,
}

impl RtEntry {
    /// The key: the attribute `name` if present, else the tag.
    pub fn key(&self) -> &str {
        self.attribute("name").unwrap_or(&self.tag)
    }

    /// The attribute `value`.
    pub fn value(&self) -> Option<&str> {
        self.attribute("value")
    }

    /// An attribute by name.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// The entries below an `<rt_info>` in document order, nested ones after the one that holds them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RtInfo(pub Vec<RtEntry>);

impl RtInfo {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value at a path of keys. Of entries with the same key the last one counts.
    pub fn get(&self, path: &[&str]) -> Option<&str> {
        let (last, parents) = path.split_last()?;
        let mut range = 0..self.0.len();
        for (depth, key) in parents.iter().enumerate() {
            range = self.children(range, depth, key)?;
        }
        let entries = &self.0[range];
        let found = entries
            .iter()
            .rev()
            .find(|e| e.depth == parents.len() && e.key() == *last);
        found?.value()
    }

    fn children(
        &self,
        within: std::ops::Range<usize>,
        depth: usize,
        key: &str,
    ) -> Option<std::ops::Range<usize>> {
        let entries = &self.0[within.clone()];
        let at = entries
            .iter()
            .rposition(|e| e.depth == depth && e.key() == key)?;
        let start = within.start + at + 1;
        let len = self.0[start..within.end]
            .iter()
            .take_while(|e| e.depth > depth)
            .count();
        Some(start..start + len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let entry = |depth, tag: &str, attributes: &[(&str, &str)]| RtEntry {
            depth,
            tag: tag.to_owned(),
            attributes: attributes
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect(),
        };
        let info = RtInfo(vec![
            entry(0, "nncf", &[]),
            entry(1, "mode", &[("value", "int4")]),
            entry(0, "info", &[("name", "weird key"), ("value", "1")]),
            entry(0, "mode", &[("value", "outer")]),
        ]);
        assert_eq!(info.get(&["nncf", "mode"]), Some("int4"));
        assert_eq!(info.get(&["weird key"]), Some("1"));
        assert_eq!(info.get(&["mode"]), Some("outer"));
        assert_eq!(info.get(&["nncf"]), None);
        assert_eq!(info.get(&["nope", "mode"]), None);
    }
}
