//! Selectors of layers: by name, by glob, by type.

use globset::{GlobBuilder, GlobMatcher};

use super::Failure;
use crate::graph::Node;

/// Which layers are meant.
pub(super) struct Selector {
    text: String,
    pattern: Pattern,
    matched: bool,
}

enum Pattern {
    Name,
    Glob(GlobMatcher),
    Type(String),
}

impl Selector {
    /// Reads a selector: a layer name, a glob over names, or `type:Gather`.
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        let pattern = if let Some(name) = text.strip_prefix("type:") {
            Pattern::Type(name.to_owned())
        } else if text.contains(['*', '?', '[']) {
            let glob = GlobBuilder::new(text).literal_separator(false).build();
            let glob = glob.map_err(|e| Failure::Usage(format!("selector `{text}`: {e}")))?;
            Pattern::Glob(glob.compile_matcher())
        } else {
            Pattern::Name
        };
        Ok(Self {
            text: text.to_owned(),
            pattern,
            matched: false,
        })
    }

    /// Whether the layer is meant. A layer's own name always is, even where it looks like a glob.
    pub(super) fn matches(&mut self, node: &Node) -> bool {
        let found = node.name() == self.text
            || match &self.pattern {
                Pattern::Name => false,
                Pattern::Glob(glob) => glob.is_match(node.name()),
                Pattern::Type(name) => node.type_name().eq_ignore_ascii_case(name),
            };
        self.matched |= found;
        found
    }

    /// An error if no layer was ever meant.
    pub(super) fn expect_match<'n>(
        &self,
        names: impl Iterator<Item = &'n str>,
    ) -> Result<(), Failure> {
        if self.matched {
            return Ok(());
        }
        let hint = nearest(&self.text, names);
        let hint = hint.map(|n| format!("; did you mean `{n}`?"));
        Err(Failure::Usage(format!(
            "no layer matches `{}`{}",
            self.text,
            hint.unwrap_or_default()
        )))
    }
}

/// The name most like `text`, if one is like it at all.
pub(super) fn nearest<'n>(text: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let scored = names.map(|name| (strsim::jaro_winkler(text, name), name));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.8).then_some(best.1)
}
