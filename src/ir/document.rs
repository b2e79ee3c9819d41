//! The document as it stands: layers, ports, edges and attributes with their byte offsets.
//!
//! Nothing is resolved here. Bodies are nets of their own in a flat list, so that nothing has to
//! recurse over how deep they are nested.

use std::borrow::Cow;

use crate::error::LayerRef;
use crate::graph::{BodyKind, PortMap, RtInfo};
use crate::op::attrs::Attr;
use crate::tensor::ElementType;

/// A parsed document.
#[derive(Debug, Default)]
pub(super) struct Document<'a> {
    /// The model's net, then those of bodies, each after the net that holds it.
    pub(super) nets: Vec<Net<'a>>,
    /// The model's name.
    pub(super) name: Option<Cow<'a, str>>,
    /// 10 or 11; 11 for a specification fragment.
    pub(super) version: u8,
    pub(super) pre_process: Option<PreProcess<'a>>,
    /// Whether the root is a single `<layer>`, as the operation documents print it.
    pub(super) fragment: bool,
    /// Elements and attributes nobody reads, with their offsets.
    pub(super) ignored: Vec<(usize, String)>,
}

/// A list of layers and edges.
#[derive(Debug, Default)]
pub(super) struct Net<'a> {
    pub(super) layers: Vec<Layer<'a>>,
    pub(super) edges: Vec<Edge>,
    pub(super) rt_info: Option<RtInfo>,
    /// The net and the layer in it that hold this body.
    pub(super) parent: Option<(usize, usize)>,
    pub(super) seen_layers: bool,
    pub(super) seen_edges: bool,
}

#[derive(Debug)]
pub(super) struct Layer<'a> {
    pub(super) offset: usize,
    pub(super) id: u64,
    pub(super) name: Cow<'a, str>,
    pub(super) type_name: Cow<'a, str>,
    pub(super) version: Cow<'a, str>,
    /// Result's `output_names`.
    pub(super) output_names: Option<Cow<'a, str>>,
    /// The first `<data>`'s attributes; a fragment's layer may carry them itself.
    pub(super) data: Option<Vec<Attr<'a>>>,
    pub(super) inputs: Vec<Port<'a>>,
    pub(super) outputs: Vec<Port<'a>>,
    pub(super) seen_inputs: bool,
    pub(super) seen_outputs: bool,
    pub(super) rt_info: RtInfo,
    /// Bodies with the index of their net.
    pub(super) bodies: Vec<(BodyKind, usize)>,
    pub(super) port_maps: Vec<(BodyKind, PortMap)>,
}

impl<'a> Layer<'a> {
    /// A layer without ports.
    pub(super) fn new(
        offset: usize,
        id: u64,
        name: Cow<'a, str>,
        type_name: Cow<'a, str>,
        version: Cow<'a, str>,
    ) -> Self {
        Self {
            offset,
            id,
            name,
            type_name,
            version,
            output_names: None,
            data: None,
            inputs: Vec::new(),
            outputs: Vec::new(),
            seen_inputs: false,
            seen_outputs: false,
            rt_info: RtInfo::default(),
            bodies: Vec::new(),
            port_maps: Vec::new(),
        }
    }

    /// The layer as errors name it.
    pub(super) fn layer_ref(&self) -> LayerRef {
        LayerRef {
            id: self.id,
            name: self.name.clone().into_owned(),
            type_name: self.type_name.clone().into_owned(),
            opset: self.version.clone().into_owned(),
        }
    }
}

#[derive(Debug)]
pub(super) struct Port<'a> {
    pub(super) offset: usize,
    pub(super) id: u64,
    pub(super) precision: Option<ElementType>,
    pub(super) names: Option<Cow<'a, str>>,
    /// -1 is any size.
    pub(super) dims: Vec<i64>,
    pub(super) rt_info: RtInfo,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    pub(super) offset: usize,
    pub(super) from_layer: u64,
    pub(super) from_port: u64,
    pub(super) to_layer: u64,
    pub(super) to_port: u64,
}

/// The legacy mean subtraction of an input.
#[derive(Debug, Default)]
pub(super) struct PreProcess<'a> {
    pub(super) offset: usize,
    pub(super) reference_layer_name: Option<Cow<'a, str>>,
    pub(super) means: Vec<Mean>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Mean {
    /// One number for the channel.
    Value(f32),
    /// An image of the channel's size in the .bin file.
    Image { offset: u64, size: u64 },
}
