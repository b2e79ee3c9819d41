//! Ports with their dimensions, and runtime information.

use super::{Frame, Parser, RtOwner, last_layer, ports};
use crate::error::Kind;
use crate::graph::{RtEntry, RtInfo};
use crate::ir::document::Port;
use crate::ir::xml::Element;
use crate::tensor::ElementType;

impl<'a> Parser<'a, '_, '_> {
    pub(super) fn port(&mut self, net: usize, input: bool, element: &Element<'a>) -> Frame {
        let fragment = self.document.fragment && net == 0;
        let id = match (element.get("id"), fragment) {
            (None, true) => Some(0),
            (attribute, _) => self.unsigned(attribute, "id", element.offset),
        };
        // Declared precisions of inputs are not looked at: the producer's counts.
        let precision = match element.get("precision") {
            Some(attribute) => {
                let ty = ElementType::from_port_name(&attribute.value);
                if ty.is_none() && !input {
                    let message = format!("`{}` is not the precision of a port", attribute.value);
                    self.report(Kind::Attribute, attribute.offset, message);
                }
                ty
            }
            None => {
                if !input && !fragment {
                    let message = "an output port has no attribute `precision`";
                    self.report(Kind::Structure, element.offset, message);
                }
                // What a fragment does not say may be anything.
                fragment.then_some(ElementType::Dynamic)
            }
        };
        let port = Port {
            offset: element.offset,
            id: id.unwrap_or(u64::MAX),
            precision,
            names: element.get("names").map(|a| a.value.clone()),
            dims: Vec::new(),
            rt_info: RtInfo::default(),
        };
        let layer = last_layer(&mut self.document, net);
        ports(layer, input).push(port);
        Frame::Port { net, input }
    }

    pub(super) fn dim(&mut self, net: usize, input: bool, offset: usize) {
        let text = std::mem::take(&mut self.text);
        let trimmed = text.trim();
        // The stray `>` after a port lands beside the dims of printed layers, never inside.
        let size = trimmed
            .parse::<i64>()
            .ok()
            .filter(|&d| d >= -1 && !trimmed.starts_with('+'));
        let Some(port) = ports(last_layer(&mut self.document, net), input).last_mut() else {
            return;
        };
        match size {
            // One more than allowed is kept: the error is told once.
            Some(_) if port.dims.len() > self.limits.rank => {}
            Some(size) => {
                port.dims.push(size);
                let limit = self.limits.rank;
                if port.dims.len() > limit {
                    let message = format!("a port has more dimensions than the limit of {limit}");
                    self.report(Kind::Limit, offset, message);
                }
            }
            None => {
                let message = format!("dimension `{trimmed}` is not a size, or -1 for any");
                self.report(Kind::Attribute, offset, message);
            }
        }
        self.text = text;
    }

    pub(super) fn rt_entry(
        &mut self,
        owner: RtOwner,
        depth: usize,
        element: &Element<'a>,
    ) -> Option<Frame> {
        if depth >= self.limits.nesting {
            let message = format!("rt_info is nested deeper than {}", self.limits.nesting);
            self.report(Kind::Limit, element.offset, message);
            return None;
        }
        let entry = RtEntry {
            depth,
            tag: element.name.to_owned(),
            attributes: element
                .attributes
                .iter()
                .map(|a| (a.name.to_owned(), a.value.clone().into_owned()))
                .collect(),
        };
        let info = match owner {
            RtOwner::Net(net) => self.document.nets[net].rt_info.get_or_insert_default(),
            RtOwner::Layer(net) => &mut last_layer(&mut self.document, net).rt_info,
            RtOwner::Port { net, input } => {
                let port = ports(last_layer(&mut self.document, net), input).last_mut()?;
                &mut port.rt_info
            }
        };
        info.0.push(entry);
        Some(Frame::RtInfo {
            owner,
            depth: depth + 1,
        })
    }
}
