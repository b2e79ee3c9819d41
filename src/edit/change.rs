//! Changes to a whole model that keep what it computes: names, precision of constants, constants
//! computed ahead, runtime information.

use crate::error::{Error, Kind, Result, quoted};
use crate::graph::{Graph, Node, NodeId, Operation, OutputPort, Port, RtEntry, RtInfo};
use crate::model::Model;
use crate::op::attrs::Attr;
use crate::op::{LayerData, NoWeights};
use crate::ops;
use crate::ops::infrastructure::Const;
use crate::tensor::{ElementType, Tensor, convert};

/// The largest number of f16, which larger ones become.
const F16_MAX: f64 = 65504.0;

/// Of the elements of a constant, the share outside f16's range from which on it stays as it is, as
/// the real runtime has it.
const MOST_OUTSIDE: f64 = 0.75;

/// The name of the runtime information that marks a Convert as part of a compressed constant.
const DECOMPRESSION: &str = "decompression";

impl Model {
    /// Another name for the layers and tensors that have this one; tells how many there are.
    ///
    /// # Errors
    /// When there is none, or the new name is taken.
    pub(crate) fn renamed(&self, old: &str, new: &str) -> Result<(Self, usize)> {
        let mut graphs = self.graphs().to_vec();
        let graph = &mut graphs[0];
        let has = |node: &Node, name: &str| {
            let mut tensors = node.outputs.iter().flat_map(|output| &output.names);
            node.name == name || tensors.any(|n| n == name)
        };
        let names = |graph: &Graph, name: &str| {
            let mut terminals = graph.inputs.iter().chain(&graph.outputs);
            terminals.any(|terminal| terminal.names.iter().any(|n| n == name))
                || graph.nodes.iter().any(|node| has(node, name))
        };
        if new.is_empty() || names(graph, new) {
            let message = format!("the name {} is taken or empty", quoted(new));
            return Err(Error::new(Kind::Input, message));
        }
        let mut count = 0;
        let mut rename = |name: &mut String| {
            if name == old {
                new.clone_into(name);
                count += 1;
            }
        };
        for node in &mut graph.nodes {
            rename(&mut node.name);
            let tensors = node.outputs.iter_mut().flat_map(|output| &mut output.names);
            tensors.for_each(&mut rename);
        }
        for terminal in graph.inputs.iter_mut().chain(&mut graph.outputs) {
            terminal.names.iter_mut().for_each(&mut rename);
        }
        if count == 0 {
            let message = format!("there is no layer or tensor {}", quoted(old));
            return Err(Error::new(Kind::Input, message));
        }
        // The names of terminals are those of tensors, seen twice; what they answer to besides
        // goes along uncounted.
        for terminal in graph.inputs.iter_mut().chain(&mut graph.outputs) {
            let aliases = terminal.aliases.iter_mut();
            aliases
                .filter(|alias| *alias == old)
                .for_each(|alias| new.clone_into(alias));
        }
        Ok((self.rebuilt(graphs)?, count))
    }

    /// Stores constants of f32 and f64 as f16, each with a layer that widens it, as the real
    /// runtime's `compress_to_fp16` does; tells how many.
    ///
    /// Numbers beyond f16 become its largest, and those that are too small become zero. A constant
    /// stays as it is if three quarters of it are outside, or if it tells an operation sizes.
    ///
    /// # Errors
    /// When a constant cannot be read, or there is no memory.
    pub(crate) fn compressed(&self) -> Result<(Self, usize)> {
        let mut graphs = self.graphs().to_vec();
        let mut count = 0;
        for (index, graph) in graphs.iter_mut().enumerate() {
            let tells = telling(graph);
            for (node, tells) in tells.into_iter().enumerate() {
                let id = NodeId::new(node);
                if tells {
                    continue;
                }
                let place = || self.place_in(index, id);
                let Some(narrow) = narrowed(&graph.nodes[node], place)? else {
                    continue;
                };
                count += 1;
                insert(graph, id, narrow);
            }
            graph.sort();
        }
        Ok((self.rebuilt(reparented(graphs))?, count))
    }

    /// Stores constants of f16 and bf16 that a layer widens to f32 or f64 as that layer makes them;
    /// tells how many.
    ///
    /// # Errors
    /// When a constant cannot be read, or there is no memory.
    pub(crate) fn decompressed(&self) -> Result<(Self, usize)> {
        let mut graphs = self.graphs().to_vec();
        let mut count = 0;
        for (index, graph) in graphs.iter_mut().enumerate() {
            for node in 0..graph.nodes.len() {
                let Some(&[from]) = Some(&*graph.nodes[node].inputs) else {
                    continue;
                };
                let id = NodeId::new(node);
                let this = &graph.nodes[node];
                let source = graph.node(from.node).op().and_then(|op| op.constant());
                let output = self.inferred_in(index, id).first();
                let to = output.map(|output| output.element_type);
                let (Some(Ok(tensor)), Some(to), "Convert") = (source, to, this.type_name()) else {
                    continue;
                };
                let halves = [ElementType::F16, ElementType::Bf16];
                if !halves.contains(&tensor.element_type()) || !wide(to) {
                    continue;
                }
                let tensor = convert::convert(tensor, to).map_err(|e| {
                    let place = self.place_in(index, id);
                    Error::at(place, Kind::Limit, e.to_string())
                })?;
                count += 1;
                set_constant(&mut graph.nodes[node], tensor);
            }
        }
        Ok((self.rebuilt(graphs)?, count))
    }

    /// Computes ahead what follows from constants, or from what is known of shapes, but for weights
    /// that are stored narrow; tells how many layers there are fewer.
    ///
    /// # Errors
    /// When a layer refuses what was computed.
    pub(crate) fn folded(&self, bytes: u64) -> Result<(Self, usize)> {
        let keep = |node: &Node| marked(&node.rt_info) || node.outputs.len() > 1;
        let graphs = crate::opt::folded(self.graphs(), self.facts(), bytes, &keep);
        let count = |graphs: &[Graph]| -> usize {
            let nodes = graphs.iter().flat_map(|graph| &graph.nodes);
            nodes
                .filter(|node| !node.op().is_some_and(|op| op.is_constant()))
                .count()
        };
        let fewer = count(self.graphs()).saturating_sub(count(&graphs));
        Ok((self.rebuilt(graphs)?, fewer))
    }

    /// Leaves out runtime information, but for the marks of compressed constants; tells how many
    /// entries there were.
    ///
    /// # Errors
    /// Never for a model that is one.
    pub(crate) fn without_rt_info(&self) -> Result<(Self, usize)> {
        let mut graphs = self.graphs().to_vec();
        let mut count = 0;
        let mut strip = |info: &mut RtInfo| {
            let before = info.0.len();
            let mark = |entry: &RtEntry| entry.depth == 0 && is_mark(entry);
            info.0.retain(mark);
            count += before - info.0.len();
        };
        for graph in &mut graphs {
            strip(&mut graph.rt_info);
            for node in &mut graph.nodes {
                strip(&mut node.rt_info);
                node.input_rt_info.iter_mut().for_each(&mut strip);
                let outputs = node.outputs.iter_mut();
                outputs.for_each(|output| strip(&mut output.rt_info));
            }
        }
        Ok((self.rebuilt(graphs)?, count))
    }
}

/// The graphs with bodies that know their layers, after these changed places.
fn reparented(mut graphs: Vec<Graph>) -> Vec<Graph> {
    for index in 0..graphs.len() {
        let bodies: Vec<(usize, usize)> = graphs[index]
            .nodes
            .iter()
            .enumerate()
            .flat_map(|(node, holder)| holder.bodies.iter().map(move |body| (node, body.graph)))
            .collect();
        for (node, body) in bodies {
            graphs[body].parent = Some((index, NodeId::new(node)));
        }
    }
    graphs
}

fn wide(ty: ElementType) -> bool {
    matches!(ty, ElementType::F32 | ElementType::F64)
}

fn is_mark(entry: &RtEntry) -> bool {
    entry.attribute("name") == Some(DECOMPRESSION)
}

fn marked(info: &RtInfo) -> bool {
    info.0.iter().any(is_mark)
}

/// For each node, whether its numbers tell an operation how large something is: rounded, they would
/// change shapes.
fn telling(graph: &Graph) -> Vec<bool> {
    let mut tells = vec![false; graph.nodes.len()];
    for (id, node) in graph.nodes.iter().enumerate().rev() {
        let first = match node.type_name() {
            "Interpolate" => 1,
            "NonMaxSuppression" => 2,
            "Range" | "Eye" => 0,
            _ if tells[id] => 0,
            _ => continue,
        };
        for port in node.inputs.iter().skip(first) {
            tells[port.node.index()] = true;
        }
    }
    tells
}

/// A constant as f16, if it is one that is to be stored so.
fn narrowed(
    node: &Node,
    place: impl Fn() -> crate::error::Place,
) -> Result<Option<(Tensor, ElementType)>> {
    let Some(constant) = node.op().and_then(|op| op.constant()) else {
        return Ok(None);
    };
    let tensor = constant.map_err(|e| Error::from_op(place(), Kind::Weights, e))?;
    let ty = tensor.element_type();
    if !wide(ty) || tensor.is_empty() {
        return Ok(None);
    }
    let failed = |e: crate::tensor::TensorError| Error::at(place(), Kind::Limit, e.to_string());
    let wide = convert::convert(tensor, ElementType::F64).map_err(failed)?;
    let numbers = wide.as_slice::<f64>().map_err(failed)?;
    const LEAST: f64 = 5.960_464_477_539_063e-8;
    let outside = |x: &&f64| x.abs() > F16_MAX || (**x != 0.0 && x.abs() < LEAST);
    let count = numbers.iter().filter(outside).count();
    if count as f64 / numbers.len() as f64 >= MOST_OUTSIDE {
        return Ok(None);
    }
    let bounded: Vec<f64> = numbers.iter().map(|x| x.clamp(-F16_MAX, F16_MAX)).collect();
    let bounded = Tensor::new(tensor.shape().clone(), &bounded).map_err(failed)?;
    let narrow = convert::convert(&bounded, ElementType::F16).map_err(failed)?;
    Ok(Some((narrow, ty)))
}

/// Puts a narrower constant, and a layer that widens it, in the place of a constant.
fn insert(graph: &mut Graph, id: NodeId, (narrow, ty): (Tensor, ElementType)) {
    let resolved = ops::resolve("Convert", "opset1").expect("opset1 has Convert");
    let attributes = [Attr::new("destination_type", ty.name())];
    let layer = LayerData {
        attributes: &attributes,
        weights: &NoWeights,
    };
    let (op, _) = resolved.def.read(&layer).expect("the attributes are ours");
    let this = &mut graph.nodes[id.index()];
    let name = this.name.clone();
    let outputs = std::mem::replace(&mut this.outputs, vec![OutputPort::default()]);
    this.name.push_str("_compressed");
    set_constant(this, narrow);
    let from = Port::new(id, 0);
    let mut widen = Node::made(&name, "opset1", &resolved, op, &[from]);
    widen.outputs = outputs;
    widen.rt_info = RtInfo(vec![RtEntry {
        depth: 0,
        tag: "attribute".to_owned(),
        attributes: [("name", DECOMPRESSION), ("version", "0")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec(),
    }]);
    let widen = graph.push(widen);
    graph.redirect(from, Port::new(widen, 0), widen);
}

/// Puts a constant in the place of a node's operation.
fn set_constant(node: &mut Node, tensor: Tensor) {
    let resolved = ops::resolve("Const", "opset1").expect("opset1 has constants");
    node.operation = Operation::known(&resolved, Box::new(Const::new(tensor)));
    node.opset = "opset1".to_owned();
    node.origin = None;
    node.inputs.clear();
    node.input_rt_info.clear();
    node.rt_info = RtInfo::default();
    for output in &mut node.outputs {
        output.declared = None;
    }
}
