//! The part of a model between some values and others.

use std::collections::{HashMap, HashSet};

use super::cut::{Boundary, Cut, Cutter, taken};
use crate::error::{Error, Kind, Result, quoted};
use crate::graph::{Graph, NodeId, Port};
use crate::model::Model;
use crate::op::Role;

impl Model {
    /// The part of the model that makes the values `to` of the values `from`.
    ///
    /// The part has an input for each of `from`, of the type and shape that inference knows and with
    /// the names of the tensor, and an output for each of `to`, in this order. Where `from` does not
    /// stop the way back, it goes up to the model's inputs, and these are inputs of the part. The
    /// outputs of the model, in place of an empty `to`, keep their names. Values are those of the
    /// model's own graph, not of bodies.
    ///
    /// A variable (ReadValue, Assign) stays one if all that is written to it is made in the part;
    /// otherwise its value is an input.
    ///
    /// ```
    /// use ovir::Model;
    /// use ovir::graph::Port;
    ///
    /// let model = Model::read("ir-samples/ops/movement/gather-8/example-7.xml")?;
    /// let node = model.graph().find("indices").expect("a layer");
    /// let part = model.extract(&[Port { node, index: 0 }], &[])?;
    /// assert_eq!(part.inputs().len(), 2);
    /// # Ok::<(), ovir::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such value, no way leads from one of `from` to any of `to`, or the layers
    /// between refuse what is known of their inputs.
    pub fn extract(&self, from: &[Port], to: &[Port]) -> Result<Self> {
        Ok(self.cut_between(from, to)?.model)
    }

    /// As [`Model::extract`], and tells which value each input of the part stands for.
    pub(crate) fn cut_between(&self, from: &[Port], to: &[Port]) -> Result<Cut> {
        for port in from.iter().chain(to) {
            self.check_port(*port)?;
        }
        let graph = self.graph();
        let to: Vec<Port> = match to.is_empty() {
            false => to.to_vec(),
            true => {
                let outputs = graph.outputs.iter();
                outputs.map(|output| Port::new(output.node, 0)).collect()
            }
        };
        let from: HashSet<Port> = from.iter().map(|port| taken(graph, *port)).collect();
        let mut walk = Walk::new(graph, &from);
        to.iter().for_each(|port| walk.reach(taken(graph, *port)));
        walk.reach_variables();
        if let Some(unused) = from
            .iter()
            .filter(|port| !walk.met.contains(port))
            .min_by_key(|p| (p.node, p.index))
        {
            let name = quoted(&super::cut::tensor_names(graph, *unused)[0]);
            let message = format!("no way leads from {name} to what is to be made of it");
            return Err(Error::at(self.place(unused.node), Kind::Input, message));
        }
        let kept = walk.reached;
        let mut cutter = Cutter::new(self);
        cutter.kept = kept;
        cutter.at = from;
        cutter.outputs = to;
        cutter.cut(&mut |_| Boundary::Input)
    }

    /// An error unless the model's graph has the value.
    fn check_port(&self, port: Port) -> Result<()> {
        let graph = self.graph();
        if port.node.index() >= graph.nodes.len() {
            let message = format!("there is no layer {}", port.node.index());
            return Err(Error::new(Kind::Input, message));
        }
        let outputs = self.inferred(port.node).len();
        if (port.index as usize) < outputs {
            return Ok(());
        }
        let message = format!("there is no output {}, the layer has {outputs}", port.index);
        Err(Error::at(self.place(port.node), Kind::Input, message))
    }

    /// The inputs of a layer that change from run to run: those that follow from the model's inputs,
    /// from variables, or from chance.
    pub(crate) fn varying_inputs(&self, varying: &[bool], node: NodeId) -> Vec<Port> {
        let mut ports: Vec<Port> = Vec::new();
        for port in self.graph().node(node).inputs() {
            if varying[port.node.index()] && !ports.contains(port) {
                ports.push(*port);
            }
        }
        ports
    }
}

/// For each node, whether its outputs change from run to run.
pub(crate) fn varying(graph: &Graph) -> Vec<bool> {
    let mut varying = vec![false; graph.nodes.len()];
    for (id, node) in graph.nodes() {
        let own = match node.role() {
            Role::Parameter | Role::ReadValue => true,
            Role::Inner => node.op().is_some_and(|op| !op.is_pure()),
            _ => false,
        };
        varying[id.index()] = own || node.inputs.iter().any(|port| varying[port.node.index()]);
    }
    varying
}

/// The value of a graph that has this tensor name.
pub(crate) fn find_tensor(graph: &Graph, name: &str) -> Option<Port> {
    graph.nodes().find_map(|(id, node)| {
        let mut outputs = node.outputs().iter();
        let index = outputs.position(|output| output.names.iter().any(|n| n == name))?;
        Some(Port::new(id, index))
    })
}

/// The way back from values.
struct Walk<'g> {
    graph: &'g Graph,
    from: &'g HashSet<Port>,
    reached: Vec<bool>,
    /// Those of `from` that were met.
    met: HashSet<Port>,
}

impl<'g> Walk<'g> {
    fn new(graph: &'g Graph, from: &'g HashSet<Port>) -> Self {
        Self {
            graph,
            from,
            reached: vec![false; graph.nodes.len()],
            met: HashSet::new(),
        }
    }

    fn reach(&mut self, port: Port) {
        let mut ports = vec![port];
        while let Some(port) = ports.pop() {
            if self.from.contains(&port) {
                self.met.insert(port);
            } else if !std::mem::replace(&mut self.reached[port.node.index()], true) {
                ports.extend(&self.graph.node(port.node).inputs);
            }
        }
    }

    /// Takes in what is written to the variables that are read, where nothing else is needed for it
    /// than is at hand.
    fn reach_variables(&mut self) {
        let assigns: HashMap<&str, NodeId> = self
            .graph
            .nodes()
            .filter(|(_, node)| node.role() == Role::Assign)
            .filter_map(|(id, node)| Some((node.op()?.variable()?, id)))
            .collect();
        let mut tried = HashSet::new();
        loop {
            let reads = self
                .graph
                .nodes()
                .filter(|(id, node)| self.reached[id.index()] && node.role() == Role::ReadValue);
            let variables = reads.filter_map(|(_, node)| node.op()?.variable());
            let new: Vec<&str> = variables.filter(|v| !tried.contains(v)).collect();
            if new.is_empty() {
                return;
            }
            for variable in new {
                tried.insert(variable);
                let Some(&assign) = assigns.get(variable) else {
                    continue;
                };
                let mut further = Walk {
                    graph: self.graph,
                    from: self.from,
                    reached: self.reached.clone(),
                    met: self.met.clone(),
                };
                further.reach(Port::new(assign, 0));
                let mut inputs = self.graph.inputs.iter().map(|input| input.node.index());
                if inputs.all(|input| further.reached[input] == self.reached[input]) {
                    *self = further;
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "extract_tests.rs"]
mod tests;
