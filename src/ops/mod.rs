//! The operations, in folders named like the categories of the specification.
//!
//! Each folder's `mod.rs` holds its table: one row for each Rust type and the versions it
//! implements. Adding an operation is its own file, a `mod` line and a row.

mod activation;
mod arithmetic;
mod bitwise;
mod comparison;
mod condition;
mod convolution;
pub mod cost;
mod detection;
mod elementwise;
#[cfg(test)]
mod elementwise_tests;
mod floats;
mod generation;
mod image;
pub(crate) mod infrastructure;
mod interval;
mod logical;
pub(crate) mod matrix;
mod movement;
pub(crate) mod normalization;
mod parameters;
mod pooling;
mod quantization;
mod reduction;
pub(crate) mod sequence;
mod shape;
mod signals;
mod sort;
mod sparse;
mod strings;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(feature = "tokenizers")]
mod tokenizer;
mod typing;
mod unary;
mod window;

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::op::{OpDef, Version};

/// The tables of all folders.
pub(crate) const FAMILIES: &[(&str, &[OpDef])] = &[
    ("activation", activation::OPS),
    ("arithmetic", arithmetic::OPS),
    ("bitwise", bitwise::OPS),
    ("comparison", comparison::OPS),
    ("condition", condition::OPS),
    ("convolution", convolution::OPS),
    ("detection", detection::OPS),
    ("generation", generation::OPS),
    ("image", image::OPS),
    ("infrastructure", infrastructure::OPS),
    ("logical", logical::OPS),
    ("matrix", matrix::OPS),
    ("movement", movement::OPS),
    ("normalization", normalization::OPS),
    ("pooling", pooling::OPS),
    ("quantization", quantization::OPS),
    ("reduction", reduction::OPS),
    ("sequence", sequence::OPS),
    ("shape", shape::OPS),
    ("signals", signals::OPS),
    ("sort", sort::OPS),
    ("sparse", sparse::OPS),
    #[cfg(feature = "tokenizers")]
    ("tokenizer", tokenizer::OPS),
    ("type", typing::OPS),
];

/// The operations supported, with their category.
pub fn supported() -> impl Iterator<Item = (&'static str, &'static OpDef)> {
    FAMILIES
        .iter()
        .flat_map(|(category, ops)| ops.iter().map(move |def| (*category, def)))
}

/// The newest opset there is.
pub const NEWEST_OPSET: u8 = 17;

/// The row, and the version of the operation, that `operation` has in opset `opset`.
///
/// An opset holds every operation alive at its time: the newest version not newer than it. Types
/// are matched in any case, as the real runtime does, save for the four that shape the graph.
pub fn find(opset: u8, operation: &str) -> Option<(&'static OpDef, u8)> {
    if opset == 0 || opset > NEWEST_OPSET || !alive(opset, operation) {
        return None;
    }
    rows(operation)
        .filter_map(|def| {
            let version = def.opsets.iter().copied().filter(|&v| v <= opset).max()?;
            Some((def, version))
        })
        .max_by_key(|&(_, version)| version)
}

/// The rows of a type. Names are matched in any case, save for those that shape the graph.
fn rows(operation: &str) -> impl Iterator<Item = &'static OpDef> {
    static INDEX: LazyLock<HashMap<String, Vec<&'static OpDef>>> = LazyLock::new(|| {
        let mut index: HashMap<_, Vec<_>> = HashMap::new();
        for (_, def) in supported() {
            index
                .entry(def.name.to_ascii_lowercase())
                .or_default()
                .push(def);
        }
        index
    });
    let rows = INDEX.get(&operation.to_ascii_lowercase());
    let exact = ["Parameter", "Result", "Const", "Assign"];
    let named = rows.into_iter().flatten().copied();
    named.filter(move |def| !exact.contains(&def.name) || def.name == operation)
}

/// An operation found for a layer.
#[derive(Debug, Clone, Copy)]
pub struct Resolved {
    /// The row of the registry.
    pub def: &'static OpDef,
    /// The version that the layer means.
    pub version: Version,
}

/// The operation that a layer of this type and version means, with the exceptions that old files
/// rely on. A layer without a version, as documents print it, means the newest.
pub fn resolve(type_name: &str, version: &str) -> Option<Resolved> {
    let is = |names: &[&str]| names.iter().any(|n| n.eq_ignore_ascii_case(type_name));
    let found = match version {
        "" => return find_newest(type_name),
        "opset1" if is(&["MVN", "ROIPooling", "ReorgYolo"]) => find(2, type_name),
        "experimental" | "extension" if is(ONCE_EXPERIMENTAL) => find(6, type_name),
        "experimental" => return find_outside("extension", type_name),
        _ => match opset_number(version) {
            Some(opset) => find(opset, type_name),
            None => return find_outside(version, type_name),
        },
    };
    let (def, version) = found?;
    let version = Version::Opset(version);
    Some(Resolved { def, version })
}

/// The operation of a list outside the opsets.
fn find_outside(list: &str, operation: &str) -> Option<Resolved> {
    let mut rows = rows(operation);
    let def = rows.find(|def| def.outside == Some(list))?;
    let version = Version::Outside(def.outside?);
    Some(Resolved { def, version })
}

/// The number of an opset named exactly `opset1` to `opset17`.
pub fn opset_number(version: &str) -> Option<u8> {
    let digits = version.strip_prefix("opset")?;
    let number = digits
        .parse()
        .ok()
        .filter(|n| (1..=NEWEST_OPSET).contains(n))?;
    (digits.len() == if number < 10 { 1 } else { 2 }).then_some(number)
}

/// Types that old files give the version `experimental` or `extension`.
const ONCE_EXPERIMENTAL: &[&str] = &[
    "ExperimentalDetectronDetectionOutput",
    "ExperimentalDetectronGenerateProposalsSingleImage",
    "ExperimentalDetectronPriorGridGenerator",
    "ExperimentalDetectronROIFeatureExtractor",
    "ExperimentalDetectronTopKROIs",
    "GRUCell",
    "RNNCell",
    "Proposal",
];

/// The newest version of `operation` in the opsets, or else the one outside them.
pub fn find_newest(operation: &str) -> Option<Resolved> {
    let all = rows(operation).flat_map(|def| def.versions().map(move |v| (def, v)));
    let newest = all.max_by_key(|&(_, version)| match version {
        Version::Opset(number) => (true, number),
        Version::Outside(_) => (false, 0),
    });
    newest.map(|(def, version)| Resolved { def, version })
}

/// The holes of the opsets: types that an opset lacks although an older one has them.
fn alive(opset: u8, operation: &str) -> bool {
    let is = |names: &[&str]| names.iter().any(|n| n.eq_ignore_ascii_case(operation));
    match opset {
        2 if is(&["RNNCell", "ShuffleChannels"]) => false,
        2.. if is(&["Reverse", "Xor"]) => false,
        // The newest opset lists only what it brings or changes.
        17 => is(&[
            "Parameter",
            "Convert",
            "ShapeOf",
            "ErfInv",
            "GroupedMatMul",
            "RGBtoNV12",
            "BGRtoNV12",
        ]),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(operation: &str, opset: &str) -> Option<String> {
        resolve(operation, opset).map(|found| found.version.to_string())
    }

    #[test]
    fn opsets_and_what_is_outside_them() {
        assert_eq!(version("Gather", "opset9").as_deref(), Some("8"));
        assert_eq!(version("Gather", "").as_deref(), Some("8"));
        assert_eq!(version("Gather", "extension"), None);
        assert_eq!(
            version("StringTensorPack", "opset16").as_deref(),
            Some("15")
        );
        assert_eq!(version("StringTensorPack", "").as_deref(), Some("15"));
        for list in ["extension", "experimental", ""] {
            let found = version("PagedAttentionExtension", list);
            assert_eq!(found.as_deref(), Some("extension"));
        }
        for unknown in ["", "opset15", "ie_internal_opset", "opset01"] {
            assert_eq!(version("Nothing", unknown), None);
        }
    }

    #[cfg(feature = "tokenizers")]
    #[test]
    fn operations_of_the_extension() {
        for list in ["extension", "experimental", ""] {
            assert_eq!(version("BPETokenizer", list).as_deref(), Some("extension"));
        }
        assert_eq!(
            version("StringTensorPack", "extension").as_deref(),
            Some("extension")
        );
        for other in ["opset1", "opset15", "Extension", "ie_internal_opset"] {
            assert_eq!(version("BPETokenizer", other), None, "{other}");
        }
    }
}
