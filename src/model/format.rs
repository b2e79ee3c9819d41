//! What kinds of files models come from.

use std::fmt;

use crate::error::plain;

/// What kind of file a model comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// OpenVINO IR, or a graph made in code.
    Ir {
        /// 10 or 11.
        version: u8,
    },
    /// ONNX.
    Onnx {
        /// The version of the format.
        ir_version: i64,
        /// The domains whose operators the model uses, with their versions.
        opsets: Vec<(String, i64)>,
    },
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ir { version } => write!(f, "IR version {version}"),
            Self::Onnx { ir_version, opsets } => {
                write!(f, "ONNX IR version {ir_version}")?;
                for (domain, version) in opsets {
                    write!(f, ", opset {} {version}", plain(domain))?;
                }
                Ok(())
            }
        }
    }
}
