//! The page of all operations: versions, element types, deviations.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::op::{OpDef, Version};
use crate::ops;

/// What the elements of an operation's first input may be, as inference takes them: one line a
/// version. A test asks every operation and keeps the file true.
const ELEMENT_TYPES: &str = include_str!("element_types.txt");

/// What the page says of deviations is what this document lists.
const DEVIATIONS: &str = include_str!("../../docs/deviations.md");

/// The page as Markdown.
pub(super) fn page() -> String {
    let mut page = String::from(
        "# Operations\n\n\
         Every operation and version that `ovir` evaluates, made by `ovir ops --markdown`. A version is the\n\
         opset that introduced it; `extension` is the list of OpenVINO Tokenizers and of internal operations.\n\
         Element types are those of the first input that is no constant (–: there is none to ask). Deviations from the real runtime, or what the\n\
         documents leave open, stand in [deviations.md](deviations.md): the number tells how many rows there.\n",
    );
    let types = ELEMENT_TYPES
        .lines()
        .filter_map(|line| line.split_once(": "));
    let types: BTreeMap<String, &str> = types
        .map(|(key, types)| (key.to_ascii_lowercase(), types))
        .collect();
    let mut count = 0;
    for (category, operations) in by_category() {
        let _ = write!(
            page,
            "\n## {category}\n\n| operation | element types | deviations |\n|---|---|---|\n"
        );
        for (name, version) in operations {
            let key = format!("{name}-{version}");
            let unknown = if category == "infrastructure" {
                "any"
            } else {
                "–"
            };
            let types = types
                .get(&key.to_ascii_lowercase())
                .copied()
                .unwrap_or(unknown);
            let deviations = match deviations(name, &version.to_string()) {
                0 => String::new(),
                rows => format!("[{rows}](deviations.md)"),
            };
            let _ = writeln!(page, "| {key} | {types} | {deviations} |");
            count += 1;
        }
    }
    let _ = write!(page, "\n{count} versions in all.\n");
    page
}

type Operations = Vec<(&'static str, Version)>;

fn by_category() -> BTreeMap<&'static str, Operations> {
    let mut categories: BTreeMap<_, Operations> = BTreeMap::new();
    for (category, def) in ops::supported() {
        let def: &'static OpDef = def;
        let versions = def.versions().map(|version| (def.name, version));
        categories.entry(category).or_default().extend(versions);
    }
    for operations in categories.values_mut() {
        operations.sort_unstable();
    }
    categories
}

/// How many rows of the document on deviations begin with this operation and version, as in
/// `| Gather-8 | …` or `| Interpolate-4, -11 | …`.
fn deviations(name: &str, version: &str) -> usize {
    let mentions = |row: &&str| {
        let Some(cell) = row
            .strip_prefix("| ")
            .and_then(|row| row.split(" | ").next())
        else {
            return false;
        };
        let mut current = "";
        cell.split(", ").any(|part| {
            let (operation, number) = part.rsplit_once('-').unwrap_or((part, ""));
            if !operation.is_empty() {
                current = operation;
            }
            current.eq_ignore_ascii_case(name) && number == version
        })
    };
    DEVIATIONS.lines().filter(mentions).count()
}
