//! The values of a model's own graph, kept while it is evaluated.

use std::collections::HashMap;

use crate::error::{Error, Kind, Result};
use crate::exec::{Control, Observer};
use crate::graph::{Body, Node, Port};
use crate::limits::Limits;
use crate::model::Model;
use crate::tensor::Tensor;

/// Values of one evaluation.
#[derive(Debug, Default)]
pub(crate) struct Values(HashMap<Port, Tensor>);

impl Values {
    /// Evaluates a model and keeps these values.
    ///
    /// # Errors
    /// As [`Model::evaluate_with`].
    pub(crate) fn of(
        model: &Model,
        inputs: Vec<(usize, Tensor)>,
        limits: &Limits,
        wanted: impl IntoIterator<Item = Port>,
    ) -> Result<Self> {
        let mut ports: HashMap<u64, Vec<Port>> = HashMap::new();
        for port in wanted {
            let id = model.graph().node(port.node).id();
            ports.entry(id).or_default().push(port);
        }
        let mut keeper = Keeper {
            ports,
            depth: 0,
            kept: HashMap::new(),
        };
        model.evaluate_with(inputs, limits, &mut [&mut keeper])?;
        Ok(Self(keeper.kept))
    }

    /// A value that was kept.
    ///
    /// # Errors
    /// When it was not.
    pub(crate) fn get(&self, model: &Model, port: Port) -> Result<Tensor> {
        self.0.get(&port).cloned().ok_or_else(|| {
            let place = model.place(port.node);
            let message = format!("output {} was not evaluated", port.index);
            Error::at(place, Kind::Eval, message)
        })
    }
}

struct Keeper {
    /// The wanted values, by the id of their layer.
    ports: HashMap<u64, Vec<Port>>,
    /// How many bodies the evaluation is in: their layers are not meant.
    depth: usize,
    kept: HashMap<Port, Tensor>,
}

impl Observer for Keeper {
    fn enter(&mut self, _: &Node, _: &Body, _: u64) {
        self.depth += 1;
    }

    fn leave(&mut self, _: &Node, _: &Body, _: u64) {
        self.depth -= 1;
    }

    fn after(&mut self, node: &Node, outputs: &[Tensor]) -> Control {
        let wanted = self.ports.get(&node.id()).filter(|_| self.depth == 0);
        for port in wanted.into_iter().flatten() {
            if let Some(tensor) = outputs.get(port.index as usize) {
                self.kept.insert(*port, tensor.clone());
            }
        }
        Control::Continue
    }
}
