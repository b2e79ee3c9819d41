//! Bodies of If, Loop and TensorIterator with their port maps, and the legacy mean subtraction.

use super::{Frame, Parser, last_layer};
use crate::error::Kind;
use crate::graph::{BackEdge, BodyKind, PortMap, PortMapEntry, Purpose, Slice};
use crate::ir::document::{Layer, Mean, Net};
use crate::ir::xml::Element;

impl<'a> Parser<'a, '_, '_> {
    pub(super) fn body(
        &mut self,
        net: usize,
        kind: BodyKind,
        element: &Element<'a>,
    ) -> Option<Frame> {
        self.bodies += 1;
        if self.bodies > self.limits.nesting {
            let message = format!("bodies are nested deeper than {}", self.limits.nesting);
            self.report(Kind::Limit, element.offset, message);
            return None;
        }
        let index = self.document.nets.len();
        let layer = self.document.nets[net].layers.len() - 1;
        self.document.nets[net].layers[layer]
            .bodies
            .push((kind, index));
        self.document.nets.push(Net {
            parent: Some((net, layer)),
            ..Net::default()
        });
        Some(Frame::Net(index))
    }

    pub(super) fn port_map(&mut self, net: usize, kind: BodyKind) -> Frame {
        port_map(last_layer(&mut self.document, net), kind);
        Frame::PortMap { net, kind }
    }

    pub(super) fn port_map_entry(
        &mut self,
        net: usize,
        kind: BodyKind,
        element: &Element<'a>,
    ) -> Frame {
        let offset = element.offset;
        let input = match element.name {
            "input" => true,
            "output" => false,
            _ => return self.ignored(element),
        };
        let internal_layer_id = self.unsigned(
            element.get("internal_layer_id"),
            "internal_layer_id",
            offset,
        );
        let external_port_id = match element.get("external_port_id") {
            Some(attribute) => self.signed(attribute, i64::MIN),
            None => {
                let message = "attribute `external_port_id` is missing";
                self.report(Kind::Structure, offset, message);
                None
            }
        };
        let slice = element.get("axis").and_then(|axis| {
            let axis = self.signed(axis, i64::MIN)?;
            let mut get = |name: &str, default: i64, least: i64| match element.get(name) {
                Some(attribute) => self.signed(attribute, least),
                None => Some(default),
            };
            let (start, end) = (get("start", 0, i64::MIN)?, get("end", -1, i64::MIN)?);
            let (stride, part) = (get("stride", 1, i64::MIN)?, get("part_size", 1, 1)?);
            if stride == 0 {
                let message = "attribute `stride`: 0 never ends, expected another number";
                self.report(Kind::Attribute, offset, message);
                return None;
            }
            Some(Slice {
                axis,
                start,
                end,
                stride,
                part_size: part.unsigned_abs(),
            })
        });
        let purpose = match element.get("purpose").map(|a| &*a.value) {
            Some("current_iteration") => Some(Purpose::CurrentIteration),
            Some("execution_condition") => Some(Purpose::ExecutionCondition),
            _ => None,
        };
        if let (Some(internal_layer_id), Some(external_port_id)) =
            (internal_layer_id, external_port_id)
        {
            let map = port_map(last_layer(&mut self.document, net), kind);
            let entries = if input {
                &mut map.inputs
            } else {
                &mut map.outputs
            };
            entries.push(PortMapEntry {
                external_port_id,
                internal_layer_id,
                slice,
                purpose,
            });
        }
        Frame::Leaf
    }

    pub(super) fn back_edge(&mut self, net: usize, kind: BodyKind, element: &Element<'a>) -> Frame {
        if element.name != "edge" {
            return self.ignored(element);
        }
        let mut end = |name| self.unsigned(element.get(name), name, element.offset);
        if let (Some(from_layer), Some(to_layer)) = (end("from-layer"), end("to-layer")) {
            let map = port_map(last_layer(&mut self.document, net), kind);
            map.back_edges.push(BackEdge {
                from_layer,
                to_layer,
            });
        }
        Frame::Leaf
    }

    pub(super) fn channel(&mut self, element: &Element<'a>) -> Frame {
        // The runtime ignores `<scale>`, and so must whoever wants its answers.
        if element.name != "mean" {
            return self.ignored(element);
        }
        let mean = match (
            element.get("value"),
            element.get("offset"),
            element.get("size"),
        ) {
            (Some(value), _, _) => match value.value.trim().parse::<f32>() {
                Ok(mean) => Some(Mean::Value(mean)),
                Err(_) => {
                    let message = format!("attribute `value`: `{}` is not a number", value.value);
                    self.report(Kind::Attribute, value.offset, message);
                    None
                }
            },
            (None, Some(offset), Some(size)) => {
                let offset = self.unsigned(Some(offset), "offset", element.offset);
                let size = self.unsigned(Some(size), "size", element.offset);
                offset
                    .zip(size)
                    .map(|(offset, size)| Mean::Image { offset, size })
            }
            _ => {
                let message = "a mean needs `value`, or `offset` and `size`";
                self.report(Kind::Structure, element.offset, message);
                None
            }
        };
        if let (Some(mean), Some(pre)) = (mean, &mut self.document.pre_process) {
            pre.means.push(mean);
        }
        Frame::Leaf
    }
}

fn port_map<'d>(layer: &'d mut Layer<'_>, kind: BodyKind) -> &'d mut PortMap {
    let at = layer.port_maps.iter().position(|(k, _)| *k == kind);
    let at = at.unwrap_or_else(|| {
        layer.port_maps.push((kind, PortMap::default()));
        layer.port_maps.len() - 1
    });
    &mut layer.port_maps[at].1
}
