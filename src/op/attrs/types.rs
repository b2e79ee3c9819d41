//! Attribute types that several operations share.

use serde::{Deserialize, Serialize};

/// How the shapes of an elementwise operation's inputs are brought together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AutoBroadcast {
    /// The shapes must be equal.
    #[serde(alias = "explicit")]
    None,
    /// NumPy's rule: aligned at the last axis, dimensions equal or 1.
    #[default]
    Numpy,
    /// PaddlePaddle's rule: the second input is aligned at an axis of the first.
    Pdpd,
}

/// The attributes of an operation that broadcasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct AutoBroadcastSpec {
    /// The rule.
    pub auto_broadcast: AutoBroadcast,
    /// The axis of the first input where the second begins, under [`AutoBroadcast::Pdpd`]; -1
    /// aligns at the last axis.
    #[serde(
        rename = "auto_broadcast.auto_broadcast_axis",
        skip_serializing_if = "is_zero"
    )]
    pub axis: i64,
}

/// Whether an attribute need not be written.
#[allow(clippy::trivially_copy_pass_by_ref)] // serde calls it so
pub(crate) fn is_zero(axis: &i64) -> bool {
    *axis == 0
}
