//! Tolerances of many tensors: one for all, and a file with a section for each that has its own.

use std::cell::Cell;
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use super::{Tolerance, ToleranceError};
use crate::Limits;
use crate::error::{Error, Kind, plain, quoted};
use crate::files;
use crate::tensor::ElementType;

/// Which tolerance holds for which tensor.
///
/// ```toml
/// [default]            # every tensor without a section of its own
/// rel_l2 = 1e-4
///
/// ["encoder/*"]        # a glob over names; of several that match, the last one counts
/// abs = 1e-3
/// cosine = 0.9999
///
/// [labels]
/// exact = true
/// ```
#[derive(Debug, Default)]
pub struct Tolerances {
    all: Option<Tolerance>,
    sections: Vec<Section>,
}

#[derive(Debug)]
struct Section {
    name: String,
    glob: GlobMatcher,
    tolerance: Tolerance,
    matched: Cell<bool>,
}

impl Tolerances {
    /// This tolerance for every tensor, or without one, what suits the element types.
    pub fn all(tolerance: Option<Tolerance>) -> Self {
        Self {
            all: tolerance,
            sections: Vec::new(),
        }
    }

    /// Adds the sections of a file, after those that are there. `[default]` replaces what holds for
    /// all others.
    ///
    /// # Errors
    /// When the file cannot be read or is not such a file.
    pub fn read(&mut self, path: &Path, limits: &Limits) -> Result<(), Error> {
        let place = || plain(&path.to_string_lossy());
        let bytes = files::read(path, limits.document_bytes, limits)
            .map_err(|e| Error::new(Kind::Io, format!("{}: {e}", place())))?;
        let text = String::from_utf8(bytes)
            .map_err(|_| Error::new(Kind::Input, format!("{}: is not UTF-8", place())))?;
        self.parse(&text)
            .map_err(|e| Error::new(Kind::Input, format!("{}: {e}", place())))
    }

    /// Adds the sections of a document.
    ///
    /// # Errors
    /// When it is not TOML, or a section holds anything but tolerances.
    pub fn parse(&mut self, text: &str) -> Result<(), ToleranceError> {
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| {
            let line = e.span().map(|s| text[..s.start].lines().count().max(1));
            let line = line.map_or_else(String::new, |line| format!("line {line}: "));
            ToleranceError(format!("{line}{}", e.message()))
        })?;
        for (name, section) in &table {
            let toml::Value::Table(section) = section else {
                return Err(ToleranceError(format!(
                    "`{name}` stands outside a section; write it below `[default]` or a tensor's name"
                )));
            };
            let mut tolerance = Tolerance::default();
            for (key, value) in section {
                let value = match value {
                    toml::Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                if key == "exact" && value == "false" {
                    continue;
                }
                tolerance
                    .set(key, &value)
                    .map_err(|e| ToleranceError(format!("section {}: {e}", quoted(name))))?;
            }
            if name == "default" {
                self.all = Some(tolerance);
                continue;
            }
            let glob = GlobBuilder::new(name).literal_separator(false).build();
            let glob =
                glob.map_err(|e| ToleranceError(format!("section {}: {e}", quoted(name))))?;
            self.sections.push(Section {
                name: name.clone(),
                glob: glob.compile_matcher(),
                tolerance,
                matched: Cell::new(false),
            });
        }
        Ok(())
    }

    /// The tolerance for a tensor of this name, and of these types on either side.
    pub fn of(&self, name: &str, a: ElementType, b: ElementType) -> Tolerance {
        let mut found = None;
        for section in &self.sections {
            if section.name == name || section.glob.is_match(name) {
                section.matched.set(true);
                found = Some(section.tolerance);
            }
        }
        let found = found.or(self.all);
        found.unwrap_or_else(|| Tolerance::suited(a, b))
    }

    /// The sections that no tensor had the name of.
    pub fn unused(&self) -> impl Iterator<Item = &str> {
        let unused = self.sections.iter().filter(|s| !s.matched.get());
        unused.map(|s| s.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ElementType::{F32, I64};

    #[test]
    fn sections_in_order() {
        let mut tolerances = Tolerances::all(Tolerance::parse("abs=1").ok());
        let text = "[\"enc*\"]\nabs = 1e-3\ncosine = 1\n[\"enc/last\"]\nexact = true\n[x]\nmax_exceeding=\"1%\"\nulp = 3";
        tolerances.parse(text).expect("sections");
        assert_eq!(tolerances.of("a", F32, F32).to_string(), "abs=1e0");
        assert_eq!(
            tolerances.of("enc/a", F32, F32).to_string(),
            "abs=1e-3,cosine=1"
        );
        assert_eq!(tolerances.of("enc/last", F32, F32), Tolerance::EXACT);
        assert_eq!(tolerances.unused().collect::<Vec<_>>(), ["x"]);
        assert_eq!(
            tolerances.of("x", F32, F32).to_string(),
            "ulp=3,max_exceeding=1%"
        );
        assert_eq!(tolerances.unused().count(), 0);
        tolerances.parse("[default]\nrel=0.5").expect("a default");
        assert_eq!(tolerances.of("a", I64, I64).to_string(), "rel=5e-1");
        let suited = Tolerances::default().of("a", I64, I64);
        assert_eq!(suited, Tolerance::EXACT);
    }

    #[test]
    fn wrong_files() {
        let mut tolerances = Tolerances::default();
        for (text, part) in [
            ("abs = 1", "`abs` stands outside a section"),
            (
                "[a]\nabs = -1",
                "section \"a\": tolerance `abs=-1`: expected",
            ),
            (
                "[a]\nabbs = 1",
                "section \"a\": there is no tolerance `abbs`",
            ),
            ("[a]\nabs 1", "line 2: "),
            ("[\"a[\"]\nabs=1", "section \"a[\": "),
        ] {
            let error = tolerances.parse(text).expect_err(text).to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
