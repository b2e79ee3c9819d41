//! A look at a file's messages before they are decoded.
//!
//! A message of two bytes becomes a struct of some hundred: what decoding will allocate is
//! counted first, so that a small file cannot ask for all memory. The walk has its own stack and
//! looks at no byte of a tensor.

use crate::limits::Limits;

/// The messages that hold others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Message {
    Model,
    Graph,
    Node,
    Attribute,
    Sparse,
    Tensor,
    Value,
    Type,
    TensorType,
    Shape,
    /// One whose fields hold no messages.
    Leaf,
}

impl Message {
    fn name(self) -> &'static str {
        match self {
            Self::Model => "ModelProto",
            Self::Graph => "GraphProto",
            Self::Node => "NodeProto",
            Self::Attribute => "AttributeProto",
            Self::Sparse => "SparseTensorProto",
            Self::Tensor => "TensorProto",
            Self::Value => "ValueInfoProto",
            Self::Type => "TypeProto",
            Self::TensorType => "TypeProto.Tensor",
            Self::Shape => "TensorShapeProto",
            Self::Leaf => "a message",
        }
    }

    /// The message that a field holds.
    fn field(self, number: u64) -> Option<Self> {
        Some(match (self, number) {
            (Self::Model, 7) | (Self::Attribute, 6 | 11) => Self::Graph,
            (Self::Model, 8) | (Self::Tensor, 3 | 13) | (Self::Shape, 1) => Self::Leaf,
            (Self::Graph, 1) => Self::Node,
            (Self::Graph, 5) | (Self::Attribute, 5) | (Self::Sparse, 1 | 2) => Self::Tensor,
            (Self::Graph, 11..=13) => Self::Value,
            (Self::Graph, 15) | (Self::Attribute, 22) => Self::Sparse,
            (Self::Node, 5) => Self::Attribute,
            (Self::Value, 2) => Self::Type,
            (Self::Type, 1) => Self::TensorType,
            (Self::TensorType, 2) => Self::Shape,
            _ => return None,
        })
    }
}

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Contents {
    /// Whether there is a graph.
    pub(super) graph: bool,
    /// Messages, strings and other fields with a length.
    pub(super) messages: usize,
}

/// Why a file is not looked at further.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The bytes are no messages of a model.
    Malformed(String),
    /// There are too many messages.
    Limit(String),
}

/// How many messages and strings a layer may have, on average.
const PER_LAYER: usize = 16;

/// Walks over the messages of a model.
pub(super) fn scan(bytes: &[u8], limits: &Limits) -> Result<Contents, Refusal> {
    let most = limits.layers.saturating_mul(PER_LAYER);
    let mut contents = Contents {
        graph: false,
        messages: 0,
    };
    let mut open = vec![(Message::Model, bytes.len())];
    let mut at = 0;
    while let Some(&(message, end)) = open.last() {
        if at == end {
            open.pop();
            continue;
        }
        let start = at;
        let malformed = |what: &str| {
            let name = message.name();
            Refusal::Malformed(format!("{what} of {name} begins at byte {start}"))
        };
        let mut varint = || varint(bytes, &mut at, end);
        let tag = varint().ok_or_else(|| malformed("a broken field"))?;
        let (number, wire) = (tag >> 3, tag & 7);
        if number == 0 {
            return Err(malformed("a field 0"));
        }
        let skipped = match wire {
            0 => varint().map(|_| 0),
            1 => Some(8),
            2 => varint(),
            5 => Some(4),
            // Groups were never part of the format.
            _ => None,
        };
        let length = skipped
            .and_then(|n| usize::try_from(n).ok())
            .filter(|&n| n <= end - at)
            .ok_or_else(|| malformed(&format!("the broken field {number}")))?;
        if wire == 2 {
            contents.messages += 1;
            if contents.messages > most {
                let message = format!(
                    "the model has more than {most} messages and strings, {PER_LAYER} for each of {} layers",
                    limits.layers
                );
                return Err(Refusal::Limit(message));
            }
            if let Some(inner) = message.field(number) {
                contents.graph |= message == Message::Model && number == 7;
                open.push((inner, at + length));
                continue;
            }
        }
        at += length;
    }
    Ok(contents)
}

fn varint(bytes: &[u8], at: &mut usize, end: usize) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes[..end].get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            // The tenth byte has one bit to give.
            return (shift < 63 || byte <= 1).then_some(value);
        }
    }
    None
}
