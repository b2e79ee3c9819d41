//! From the stream of tags to the [`Document`], with an explicit stack in place of recursion.

mod body;
mod port;

use super::document::{Document, Edge, Layer, Net, Port, PreProcess};
use super::problem::Problems;
use super::xml::{Element, IllFormed, Tag, Tags, forbidden_character};
use crate::error::{Kind, innermost};
use crate::graph::{BodyKind, RtInfo};
use crate::limits::{self, Limits, Watch};
use crate::op::attrs::Attr;

/// The element the parser is in. Indices point into the document.
#[derive(Debug, Clone, Copy)]
enum Frame {
    Net(usize),
    Layers(usize),
    Edges(usize),
    Layer(usize),
    Ports {
        net: usize,
        input: bool,
    },
    Port {
        net: usize,
        input: bool,
    },
    Dim {
        net: usize,
        input: bool,
        offset: usize,
    },
    RtInfo {
        owner: RtOwner,
        depth: usize,
    },
    PortMap {
        net: usize,
        kind: BodyKind,
    },
    BackEdges {
        net: usize,
        kind: BodyKind,
    },
    PreProcess,
    Channel,
    /// An element nobody reads, or one that is read from its attributes alone.
    Leaf,
}

#[derive(Debug, Clone, Copy)]
enum RtOwner {
    Net(usize),
    Layer(usize),
    Port { net: usize, input: bool },
}

/// Parses a document. Text that is not well-formed ends it; other problems are noted, and the
/// element they are in is left out.
pub(super) fn parse<'a>(
    text: &'a str,
    limits: &Limits,
    problems: &mut Problems<'_>,
) -> Option<Document<'a>> {
    if let Some(IllFormed { offset, message }) = forbidden_character(text) {
        problems.error(Kind::Xml, offset, message);
        return None;
    }
    let start = text.len() - text.trim_ascii_start().len();
    if !text[start..].is_empty() && !text[start..].starts_with('<') {
        problems.error(Kind::Xml, start, "the file is not an XML document");
        return None;
    }
    let mut parser = Parser {
        document: Document::default(),
        stack: Vec::new(),
        bodies: 0,
        layers: 0,
        text: String::new(),
        limits,
        watch: limits::watch(),
        problems,
    };
    let mut tags = Tags::new(text);
    loop {
        match tags.next() {
            Ok(Tag::Open(element)) => {
                let frame = parser.open(element)?;
                parser.stack.push(frame);
            }
            Ok(Tag::Text(text)) => {
                if let Some(Frame::Dim { .. }) = parser.stack.last() {
                    parser.text.push_str(&text);
                }
            }
            Ok(Tag::Close) => parser.close(),
            Ok(Tag::End) => break,
            Err(IllFormed { offset, message }) => {
                parser.problems.error(Kind::Xml, offset, message);
                return None;
            }
        }
    }
    Some(parser.document)
}

struct Parser<'a, 'p, 's> {
    document: Document<'a>,
    stack: Vec<Frame>,
    /// How many bodies the parser is in.
    bodies: usize,
    layers: usize,
    /// Text of the current `<dim>`.
    text: String,
    limits: &'p Limits,
    watch: Watch,
    problems: &'p mut Problems<'s>,
}

impl<'a> Parser<'a, '_, '_> {
    /// The frame of an opened element; `None` ends the parse.
    fn open(&mut self, element: Element<'a>) -> Option<Frame> {
        let Some(&frame) = self.stack.last() else {
            return self.root(element);
        };
        let name = element.name;
        Some(match frame {
            Frame::Net(net) => self.in_net(net, &element)?,
            Frame::Layers(net) if name == "layer" => return self.layer(net, element),
            Frame::Edges(net) if name == "edge" => self.edge(net, &element),
            Frame::Layer(net) => return self.in_layer(net, element),
            Frame::Ports { net, input } if name == "port" => self.port(net, input, &element),
            Frame::Port { net, input } if name == "dim" => {
                self.text.clear();
                Frame::Dim {
                    net,
                    input,
                    offset: element.offset,
                }
            }
            Frame::Port { net, input } if name == "rt_info" => Frame::RtInfo {
                owner: RtOwner::Port { net, input },
                depth: 0,
            },
            Frame::RtInfo { owner, depth } => self.rt_entry(owner, depth, &element)?,
            Frame::PortMap { net, kind } => self.port_map_entry(net, kind, &element),
            Frame::BackEdges { net, kind } => self.back_edge(net, kind, &element),
            Frame::PreProcess if name == "channel" => Frame::Channel,
            Frame::Channel => self.channel(&element),
            Frame::Leaf => Frame::Leaf,
            _ => self.ignored(&element),
        })
    }

    fn close(&mut self) {
        match self.stack.pop() {
            Some(Frame::Dim { net, input, offset }) => self.dim(net, input, offset),
            Some(Frame::Net(net)) if net > 0 => self.bodies -= 1,
            _ => {}
        }
    }

    fn root(&mut self, element: Element<'a>) -> Option<Frame> {
        if element.name == "layer" {
            self.document.fragment = true;
            self.document.version = 11;
            self.document.nets.push(Net::default());
            return self.layer(0, element);
        }
        if !element.name.eq_ignore_ascii_case("net") {
            let message = format!("expected the root element `net`, found `{}`", element.name);
            self.report(Kind::Xml, element.offset, message);
            return None;
        }
        let Some(version) = element.get("version") else {
            let message = "the attribute `version` is missing; it is 10 or 11";
            self.report(Kind::Xml, element.offset, message);
            return None;
        };
        match number(&version.value) {
            Ok(10) => self.document.version = 10,
            Ok(11) => self.document.version = 11,
            Ok(other) => {
                let message = format!("IR version {other} is not supported, expected 10 or 11");
                self.report(Kind::Unsupported, version.offset, message);
                return None;
            }
            Err(message) => {
                let message = format!("attribute `version`: {message}");
                self.report(Kind::Xml, version.offset, message);
                return None;
            }
        }
        self.document.name = element.get("name").map(|a| a.value.clone());
        self.document.nets.push(Net::default());
        Some(Frame::Net(0))
    }

    fn in_net(&mut self, net: usize, element: &Element<'a>) -> Option<Frame> {
        let document = &mut self.document;
        let this = &mut document.nets[net];
        Some(match element.name {
            "layers" if !this.seen_layers => {
                this.seen_layers = true;
                Frame::Layers(net)
            }
            "edges" if !this.seen_edges => {
                this.seen_edges = true;
                Frame::Edges(net)
            }
            "rt_info" if this.rt_info.is_none() => {
                this.rt_info = Some(RtInfo::default());
                Frame::RtInfo {
                    owner: RtOwner::Net(net),
                    depth: 0,
                }
            }
            // Older tools wrote under these names what is `rt_info` now.
            "meta_data" | "quantization_parameters" if this.rt_info.is_none() => {
                this.rt_info = Some(RtInfo::default());
                let owner = RtOwner::Net(net);
                return self.rt_entry(owner, 0, element);
            }
            "meta_data" | "quantization_parameters" => {
                return self.rt_entry(RtOwner::Net(net), 0, element);
            }
            "pre-process" if net == 0 && document.pre_process.is_none() => {
                document.pre_process = Some(PreProcess {
                    offset: element.offset,
                    reference_layer_name: element
                        .get("reference-layer-name")
                        .map(|a| a.value.clone()),
                    means: Vec::new(),
                });
                Frame::PreProcess
            }
            _ => self.ignored(element),
        })
    }

    fn layer(&mut self, net: usize, element: Element<'a>) -> Option<Frame> {
        self.layers += 1;
        if self.layers > self.limits.layers {
            let message = format!("the model has more than {} layers", self.limits.layers);
            self.report(Kind::Limit, element.offset, message);
            return None;
        }
        let offset = element.offset;
        if let Err(stop) = self.watch.check() {
            self.report(stop.kind(), offset, stop.message());
            return None;
        }
        let fragment = self.document.fragment && net == 0;
        let id = match (element.get("id"), fragment) {
            (None, true) => Some(0),
            (attribute, _) => self.unsigned(attribute, "id", offset),
        };
        let mut text = |name: &str| match (element.get(name), fragment) {
            (Some(attribute), _) => Some(attribute.value.clone()),
            (None, true) if name != "type" => Some("".into()),
            (None, _) => {
                let message = format!("the layer has no attribute `{name}`");
                self.report(Kind::Structure, offset, message);
                None
            }
        };
        let (name, type_name, version) = (text("name"), text("type"), text("version"));
        let output_names = element.get("output_names").map(|a| a.value.clone());
        let known = ["id", "name", "type", "version", "output_names", "precision"];
        let others = element
            .attributes
            .into_iter()
            .filter(|a| !known.contains(&a.name));
        let mut data = None;
        if fragment {
            data = Some(others.collect());
        } else {
            for attribute in others {
                let message = format!("attribute `{}` of a layer is ignored", attribute.name);
                self.document.ignored.push((attribute.offset, message));
            }
        }
        // A layer with a broken head keeps its place, so that its children are read as usual.
        let mut layer = Layer::new(
            offset,
            id.unwrap_or(u64::MAX),
            name.unwrap_or_default(),
            type_name.unwrap_or_default(),
            version.unwrap_or_default(),
        );
        layer.output_names = output_names;
        layer.data = data;
        self.document.nets[net].layers.push(layer);
        Some(Frame::Layer(net))
    }

    fn in_layer(&mut self, net: usize, element: Element<'a>) -> Option<Frame> {
        let fragment = self.document.fragment && net == 0;
        let layer = last_layer(&mut self.document, net);
        Some(match element.name {
            "data" if fragment => {
                layer
                    .data
                    .get_or_insert_default()
                    .extend(element.attributes);
                Frame::Leaf
            }
            "data" if layer.data.is_none() => {
                layer.data = Some(element.attributes);
                Frame::Leaf
            }
            "input" if !layer.seen_inputs => {
                layer.seen_inputs = true;
                Frame::Ports { net, input: true }
            }
            "output" if !layer.seen_outputs => {
                layer.seen_outputs = true;
                Frame::Ports { net, input: false }
            }
            "rt_info" => Frame::RtInfo {
                owner: RtOwner::Layer(net),
                depth: 0,
            },
            "port_map" => self.port_map(net, BodyKind::Body),
            "then_port_map" => self.port_map(net, BodyKind::Then),
            "else_port_map" => self.port_map(net, BodyKind::Else),
            "back_edges" => Frame::BackEdges {
                net,
                kind: BodyKind::Body,
            },
            "body" => return self.body(net, BodyKind::Body, &element),
            "then_body" => return self.body(net, BodyKind::Then, &element),
            "else_body" => return self.body(net, BodyKind::Else, &element),
            _ => self.ignored(&element),
        })
    }

    fn edge(&mut self, net: usize, element: &Element<'a>) -> Frame {
        let mut end = |name| self.unsigned(element.get(name), name, element.offset);
        let ends = (
            end("from-layer"),
            end("from-port"),
            end("to-layer"),
            end("to-port"),
        );
        if let (Some(from_layer), Some(from_port), Some(to_layer), Some(to_port)) = ends {
            self.document.nets[net].edges.push(Edge {
                offset: element.offset,
                from_layer,
                from_port,
                to_layer,
                to_port,
            });
        }
        Frame::Leaf
    }

    /// Notes an error, in the layers the parser is in.
    fn report(&mut self, kind: Kind, offset: usize, message: impl Into<String>) {
        let layers = self.stack.iter().rev().filter_map(|frame| match frame {
            Frame::Layer(net) => self.document.nets[*net].layers.last(),
            _ => None,
        });
        let layers = innermost(layers.map(Layer::layer_ref));
        self.problems.error_in(kind, offset, layers, message);
    }

    fn ignored(&mut self, element: &Element<'a>) -> Frame {
        let message = format!("element `{}` is ignored", element.name);
        self.document.ignored.push((element.offset, message));
        Frame::Leaf
    }

    fn unsigned(&mut self, attribute: Option<&Attr<'a>>, name: &str, at: usize) -> Option<u64> {
        let Some(attribute) = attribute else {
            let message = format!("attribute `{name}` is missing");
            self.report(Kind::Structure, at, message);
            return None;
        };
        match number(&attribute.value) {
            Ok(value) => Some(value),
            Err(message) => {
                let message = format!("attribute `{name}`: {message}");
                self.report(Kind::Attribute, attribute.offset, message);
                None
            }
        }
    }

    fn signed(&mut self, attribute: &Attr<'a>, least: i64) -> Option<i64> {
        match attribute.value.trim().parse::<i64>() {
            Ok(value) if value >= least => Some(value),
            other => {
                let (name, value) = (attribute.name, &attribute.value);
                let message = match other {
                    Ok(_) => format!("attribute `{name}`: {value} is below {least}"),
                    Err(_) => format!("attribute `{name}`: `{value}` is not an integer"),
                };
                self.report(Kind::Attribute, attribute.offset, message);
                None
            }
        }
    }
}

fn last_layer<'d, 'a>(document: &'d mut Document<'a>, net: usize) -> &'d mut Layer<'a> {
    document.nets[net]
        .layers
        .last_mut()
        .expect("the parser is inside a layer of this net")
}

fn ports<'d, 'a>(layer: &'d mut Layer<'a>, input: bool) -> &'d mut Vec<Port<'a>> {
    if input {
        &mut layer.inputs
    } else {
        &mut layer.outputs
    }
}

/// A number as IR writes ids, ports and versions: digits, after blanks and a `+`.
fn number(text: &str) -> Result<u64, String> {
    let trimmed = text.trim_start();
    let digits = trimmed.strip_prefix('+').unwrap_or(trimmed);
    let value = digits.parse::<i64>().ok().filter(|_| {
        let first = digits.as_bytes().first();
        first.is_some_and(u8::is_ascii_digit)
    });
    value
        .and_then(|v| u64::try_from(v).ok())
        .ok_or_else(|| format!("`{text}` is not an unsigned integer"))
}
