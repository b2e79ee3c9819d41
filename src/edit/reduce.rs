//! From a model that fails a check to the smallest part of it that still does.
//!
//! Every set of layers is a model: where a layer takes a value that no layer of the set makes, the
//! model has an input, and the value that the whole model has there comes with it. So no candidate
//! is invalid, and delta debugging ([`super::ddmin`]) finds a layer that fails alone in about
//! 2 log2 n steps. Then single layers are bypassed, and last the weights are replaced.

use std::collections::HashMap;

use super::cut::{Boundary, Cutter, taken};
use super::ddmin::ddmin;
use super::extract::varying;
use super::reproduction::Reproduction;
use super::values::Values;
use crate::error::{Error, Kind, Result};
use crate::graph::{NodeId, Port};
use crate::limits::Limits;
use crate::model::Model;
use crate::op::Role;
use crate::tensor::Tensor;

/// What a reduction is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The whole model.
    Whole,
    /// Which outputs are needed.
    Outputs,
    /// Which layers are needed.
    Layers,
    /// Whether single layers can be left out between others.
    Bypass,
    /// Whether other weights do.
    Weights,
}

impl Stage {
    /// As it is told.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Whole => "the whole model",
            Self::Outputs => "outputs",
            Self::Layers => "layers",
            Self::Bypass => "single layers",
            Self::Weights => "weights",
        }
    }
}

/// Whether a candidate still fails.
pub(crate) type Fails<'f> = dyn FnMut(&Reproduction, Stage) -> Result<bool> + 'f;

/// A reduction, and the smallest part found so far.
pub(crate) struct Reduction<'a> {
    model: &'a Model,
    limits: &'a Limits,
    values: Values,
    /// For each node, whether it changes from run to run.
    varying: Vec<bool>,
    /// What was found of sets of items.
    seen: HashMap<Vec<usize>, bool>,
    pub(crate) best: Reproduction,
}

impl<'a> Reduction<'a> {
    /// Evaluates the whole model and asks whether it fails.
    ///
    /// # Errors
    /// When it does not, or cannot be evaluated.
    pub(crate) fn begin(
        model: &'a Model,
        inputs: Vec<(usize, Tensor)>,
        limits: &'a Limits,
        fails: &mut Fails<'_>,
    ) -> Result<Self> {
        model.check_supported()?;
        let graph = model.graph();
        let mut given: Vec<Option<Tensor>> = vec![None; model.inputs().len()];
        for (index, tensor) in &inputs {
            given[*index] = Some(tensor.clone());
        }
        let ports = graph.nodes().flat_map(|(id, node)| {
            let constant = node.op().is_some_and(|op| op.is_constant());
            let outputs = model.inferred(id).len();
            (0..outputs)
                .filter(move |_| !constant)
                .map(move |index| Port::new(id, index))
        });
        let values = Values::of(model, inputs, limits, ports)?;
        let outputs = graph.outputs().iter();
        let outputs: Result<Vec<Tensor>> = outputs
            .map(|output| values.get(model, Port::new(output.node, 0)))
            .collect();
        let whole = Reproduction {
            model: model.clone(),
            inputs: given.into_iter().flatten().collect(),
            outputs: outputs?,
        };
        if !fails(&whole, Stage::Whole)? {
            let message = "the check passes on the whole model (exit code 0): there is nothing to \
                           reduce; it must fail, with another exit code, where the fault is";
            return Err(Error::new(Kind::Input, message));
        }
        Ok(Self {
            varying: varying(graph),
            best: whole,
            seen: HashMap::new(),
            model,
            limits,
            values,
        })
    }

    /// Looks for the smallest part that fails; [`Reduction::best`] is it, also after an error.
    ///
    /// # Errors
    /// What asking gives, or when a part cannot be made.
    pub(crate) fn run(&mut self, fails: &mut Fails<'_>) -> Result<()> {
        let graph = self.model.graph();
        let outputs: Vec<usize> = (0..graph.outputs().len()).collect();
        let outputs = ddmin(outputs, &mut |outputs| {
            let layers = self.leading_to(outputs);
            self.asks(&layers, outputs, Stage::Outputs, fails)
        })?;
        let layers = self.leading_to(&outputs);
        ddmin(layers, &mut |layers| {
            self.asks(layers, &outputs, Stage::Layers, fails)
        })?;
        while self.bypass(fails)? {}
        Ok(())
    }

    /// The layers that outputs need, in order.
    fn leading_to(&self, outputs: &[usize]) -> Vec<usize> {
        let graph = self.model.graph();
        let mut needed = vec![false; graph.nodes.len()];
        for &output in outputs {
            needed[graph.outputs()[output].node.index()] = true;
        }
        for (id, node) in graph.nodes.iter().enumerate().rev() {
            needed[id] |= node.role() == Role::Assign;
            if needed[id] {
                for port in &node.inputs {
                    needed[port.node.index()] = true;
                }
            }
        }
        let inner = |id: &usize| {
            let node = &graph.nodes[*id];
            let end = matches!(node.role(), Role::Parameter | Role::Result);
            needed[*id] && !end && !node.op().is_some_and(|op| op.is_constant())
        };
        (0..graph.nodes.len()).filter(inner).collect()
    }

    /// Whether a set of layers fails; then it is the best so far.
    fn asks(
        &mut self,
        layers: &[usize],
        outputs: &[usize],
        stage: Stage,
        fails: &mut Fails<'_>,
    ) -> Result<bool> {
        // Sets of outputs and of layers are numbered apart.
        let key: Vec<usize> = [layers, &[usize::MAX], outputs].concat();
        if let Some(known) = self.seen.get(&key) {
            return Ok(*known);
        }
        let answer = match self.candidate(layers, outputs)? {
            Some(candidate) => {
                let answer = fails(&candidate, stage)?;
                if answer {
                    self.best = candidate;
                }
                answer
            }
            None => false,
        };
        self.seen.insert(key, answer);
        Ok(answer)
    }

    /// The model of a set of layers, if it has an output.
    fn candidate(&self, layers: &[usize], outputs: &[usize]) -> Result<Option<Reproduction>> {
        let (model, graph) = (self.model, self.model.graph());
        let mut cutter = Cutter::new(model);
        layers.iter().for_each(|&layer| cutter.kept[layer] = true);
        let results = outputs.iter().map(|&output| graph.outputs()[output].node);
        let results = results.map(|node| Port::new(node, 0));
        let mut ends: Vec<Port> = results
            .filter(|&result| cutter.kept[taken(graph, result).node.index()])
            .collect();
        let mut used = vec![false; graph.nodes.len()];
        for &layer in layers {
            for port in &graph.nodes[layer].inputs {
                used[port.node.index()] = true;
            }
        }
        for end in &ends {
            used[taken(graph, *end).node.index()] = true;
        }
        for &layer in layers {
            let assigns = graph.nodes[layer].role() == Role::Assign;
            if !used[layer] && self.varying[layer] && !assigns {
                let id = NodeId::new(layer);
                let count = model.inferred(id).len();
                ends.extend((0..count).map(|index| Port::new(id, index)));
            }
        }
        if ends.is_empty() {
            return Ok(None);
        }
        let outputs = ends.iter();
        let outputs: Result<Vec<Tensor>> =
            outputs.map(|&port| self.values.get(model, port)).collect();
        cutter.outputs = ends;
        let cut = cutter.cut(&mut |port| {
            let constant = !self.varying[port.node.index()];
            let value = self.values.get(model, port).ok().filter(|_| constant);
            value.map_or(Boundary::Input, Boundary::Constant)
        })?;
        let inputs = cut.inputs.iter();
        let inputs: Result<Vec<Tensor>> =
            inputs.map(|&port| self.values.get(model, port)).collect();
        Ok(Some(Reproduction {
            model: cut.model,
            inputs: inputs?,
            outputs: outputs?,
        }))
    }

    /// Leaves out one layer of the best part whose output could be one of its inputs, and whose
    /// neighbours stay connected; tells whether there was one.
    fn bypass(&mut self, fails: &mut Fails<'_>) -> Result<bool> {
        let model = self.best.model.clone();
        let graph = model.graph();
        for (id, node) in graph.nodes() {
            let [output] = model.inferred(id) else {
                continue;
            };
            let constant = node.op().is_some_and(|op| op.is_constant());
            let inner = node.role() == Role::Inner && !constant;
            let between = graph
                .consumers(id)
                .any(|(next, _)| graph.node(next).role() != Role::Result);
            if !inner || !between {
                continue;
            }
            for &input in node.inputs() {
                let before = model.inferred(input.node).get(input.index as usize);
                let constant = graph.node(input.node).op();
                if before != Some(output) || constant.is_some_and(|op| op.is_constant()) {
                    continue;
                }
                let Some(candidate) = self.without(&model, Port::new(id, 0), input) else {
                    continue;
                };
                if fails(&candidate, Stage::Bypass)? {
                    self.best = candidate;
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// The best part with one value in place of another; nothing if it cannot be evaluated.
    fn without(&self, model: &Model, from: Port, to: Port) -> Option<Reproduction> {
        let mut graphs = model.graphs().to_vec();
        graphs[0].redirect(from, to, from.node);
        let model = model.rebuilt(graphs).ok()?;
        let cut = model.cut_between(&[], &[]).ok()?;
        let inputs = cut.inputs.iter().map(|port| {
            let mut terminals = model.inputs().iter();
            let index = terminals.position(|input| input.node == port.node)?;
            self.best.inputs.get(index).cloned()
        });
        let inputs = inputs.collect::<Option<Vec<_>>>()?;
        Reproduction::of(cut.model, inputs, self.limits).ok()
    }
}
