//! The operations, in folders named like the categories of the specification.
//!
//! Each folder's `mod.rs` holds its table: one row for each Rust type and the versions it
//! implements. Adding an operation is its own file, a `mod` line and a row.

mod arithmetic;
pub(crate) mod infrastructure;
mod movement;
mod reduction;
mod shape;
mod typing;

use crate::op::OpDef;

/// The tables of all folders.
pub(crate) const FAMILIES: &[(&str, &[OpDef])] = &[
    ("arithmetic", arithmetic::OPS),
    ("infrastructure", infrastructure::OPS),
    ("movement", movement::OPS),
    ("reduction", reduction::OPS),
    ("shape", shape::OPS),
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
    supported()
        .filter(|(_, def)| same_type(def.name, operation))
        .filter_map(|(_, def)| {
            let version = def.versions.iter().copied().filter(|&v| v <= opset).max()?;
            Some((def, version))
        })
        .max_by_key(|&(_, version)| version)
}

/// The row of the newest version of `operation`.
pub fn find_newest(operation: &str) -> Option<(&'static OpDef, u8)> {
    supported()
        .filter(|(_, def)| same_type(def.name, operation))
        .filter_map(|(_, def)| Some((def, def.versions.iter().copied().max()?)))
        .max_by_key(|&(_, version)| version)
}

fn same_type(name: &str, operation: &str) -> bool {
    if matches!(name, "Parameter" | "Result" | "Const" | "Assign") {
        name == operation
    } else {
        name.eq_ignore_ascii_case(operation)
    }
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
