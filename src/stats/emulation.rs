//! A run in which every layer's output is rounded to a narrower type, beside the true one.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::distance::Distance;
use super::survey::Survey;
use crate::error::{Error, Kind, Result};
use crate::exec::{Control, Observer, Whereabouts};
use crate::graph::{Body, Node, NodeId};
use crate::limits::Limits;
use crate::model::Model;
use crate::op::Role;
use crate::tensor::{ElementType, Tensor, convert};

/// Of what leaves the true result by less, no layer is to blame.
const NOTICEABLE: f64 = 1e-2;
/// A layer is to blame if its error is so many times those of its inputs.
const JUMP: f64 = 10.0;

/// What became of a model whose layers give numbers of a narrower type.
#[derive(Debug)]
#[non_exhaustive]
pub struct Emulation {
    /// The type that was emulated.
    pub element_type: ElementType,
    /// How far the output of each layer of the model's own graph is from the true one, by layer and
    /// output. Only of floats.
    pub layers: HashMap<(NodeId, usize), Distance>,
    /// How far each output is.
    pub outputs: Vec<(String, Option<Distance>)>,
    /// The layers whose outputs were not rounded, as was asked.
    pub ignored: Vec<String>,
    /// Layers that had better keep their precision: what they give does not fit the type, or they make
    /// small errors large.
    pub suggested: Vec<NodeId>,
}

/// Evaluates a model twice at a time: as it is, watched by `survey`, and with every float output of
/// every layer rounded to `element_type` but of those `ignored` (graph and node). No more than one
/// true tensor is kept besides what the two runs need.
///
/// What inference knows, such as sizes computed in floats, is not rounded.
///
/// # Errors
/// When the model cannot be evaluated, or cannot with rounded numbers.
pub fn emulate(
    model: &Model,
    inputs: &[(usize, Tensor)],
    element_type: ElementType,
    ignored: &HashSet<(usize, NodeId)>,
    survey: &mut Survey<'_>,
    limits: &Limits,
) -> Result<Emulation> {
    let (sender, receiver) = sync_channel(0);
    let mut rounding = Rounding {
        model,
        element_type,
        ignored,
        place: Whereabouts::new(model.graphs()),
        truth: receiver,
        layers: HashMap::new(),
    };
    let given = || inputs.iter().cloned();
    let (truth, (rounded, layers)) = thread::scope(|scope| {
        let emulated = scope.spawn(move || {
            let outputs = model.evaluate_with(given(), limits, &mut [&mut rounding]);
            (outputs, rounding.layers)
        });
        let mut tell = Tell {
            to: sender,
            depth: 0,
        };
        let truth = model.evaluate_with(given(), limits, &mut [survey, &mut tell]);
        // Nothing more comes; who still waits for it ends.
        drop(tell);
        let ended = |_| {
            (
                Err(Error::new(Kind::Eval, "the emulated run broke off")),
                HashMap::new(),
            )
        };
        (truth, emulated.join().unwrap_or_else(ended))
    });
    // Of two runs that end each other, the one that was not told to knows why.
    let (truth, rounded) = match (truth, rounded) {
        (Ok(truth), Ok(rounded)) => (truth, rounded),
        (Err(error), _) if error.kind() != Kind::Stopped => return Err(error),
        (_, Err(error)) | (Err(error), _) => return Err(error),
    };
    let outputs = truth.iter().zip(rounded.iter());
    let outputs = outputs.map(|((name, truth), (_, found))| {
        let float = truth.element_type().is_float();
        (
            name.to_owned(),
            Distance::of(truth, found).filter(|_| float),
        )
    });
    let mut names: Vec<String> = ignored
        .iter()
        .map(|&(graph, id)| model.graphs()[graph].node(id).name().to_owned())
        .collect();
    names.sort();
    Ok(Emulation {
        element_type,
        outputs: outputs.collect(),
        ignored: names,
        suggested: suggested(model, element_type, &layers, survey),
        layers,
    })
}

/// The layers of the model's own graph that had better keep their precision, in order.
fn suggested(
    model: &Model,
    element_type: ElementType,
    layers: &HashMap<(NodeId, usize), Distance>,
    survey: &Survey<'_>,
) -> Vec<NodeId> {
    let mut found = Vec::new();
    for layer in survey.layers().iter().filter(|layer| layer.graph == 0) {
        let statistics = &layer.statistics;
        let overflow = match element_type {
            ElementType::F16 => statistics.f16.overflow,
            ElementType::Bf16 => statistics.bf16.overflow,
            _ => 0,
        };
        let before = model.graph().node(layer.node).inputs().iter();
        let before = before.filter_map(|port| layers.get(&(port.node, port.index as usize)));
        let before = before.fold(0f64, |most, distance| most.max(distance.relative_l2));
        let own = layers.get(&(layer.node, layer.output));
        let jumps = own
            .is_some_and(|own| own.relative_l2 >= NOTICEABLE && own.relative_l2 >= JUMP * before);
        if (overflow > 0 || jumps) && !layer.is_constant && !found.contains(&layer.node) {
            found.push(layer.node);
        }
    }
    found
}

/// Sends what the true run gives to the other, and waits until it is taken.
struct Tell {
    to: SyncSender<(u64, Vec<Tensor>)>,
    depth: usize,
}

impl Observer for Tell {
    fn enter(&mut self, _: &Node, _: &Body, _: u64) {
        self.depth += 1;
    }

    fn leave(&mut self, _: &Node, _: &Body, _: u64) {
        self.depth -= 1;
    }

    fn after(&mut self, node: &Node, outputs: &[Tensor]) -> Control {
        let wanted = self.depth == 0 && outputs.iter().any(|t| t.element_type().is_float());
        if wanted && self.to.send((node.id(), outputs.to_vec())).is_err() {
            return Control::Stop;
        }
        Control::Continue
    }
}

/// Rounds what layers give, and holds it against the truth.
struct Rounding<'m> {
    model: &'m Model,
    element_type: ElementType,
    ignored: &'m HashSet<(usize, NodeId)>,
    place: Whereabouts,
    truth: Receiver<(u64, Vec<Tensor>)>,
    layers: HashMap<(NodeId, usize), Distance>,
}

impl Rounding<'_> {
    /// A tensor rounded to the type. `None` if there is no memory for it.
    fn round(&self, tensor: &Tensor) -> Option<Tensor> {
        let narrow = convert::convert(tensor, self.element_type).ok()?;
        convert::convert(&narrow, tensor.element_type()).ok()
    }

    fn is_rounded(&self, graph: usize, id: NodeId) -> bool {
        let known = &self.model.fact(graph, id).known;
        let node = self.model.graphs()[graph].node(id);
        // A Result hands on what its layer gave, in the precision that this was to keep.
        if node.role() == Role::Result {
            return false;
        }
        let constant = node.op().is_some_and(|op| op.is_constant());
        !self.ignored.contains(&(graph, id)) && (constant || known.iter().all(Option::is_none))
    }
}

impl Observer for Rounding<'_> {
    fn enter(&mut self, _: &Node, body: &Body, _: u64) {
        self.place.enter(body);
    }

    fn leave(&mut self, _: &Node, _: &Body, _: u64) {
        self.place.leave();
    }

    fn after(&mut self, node: &Node, outputs: &[Tensor]) -> Control {
        let Some((graph, id)) = self.place.find(node) else {
            return Control::Continue;
        };
        if !outputs
            .iter()
            .any(|tensor| tensor.element_type().is_float())
        {
            return Control::Continue;
        }
        let mut replaced = outputs.to_vec();
        let rounds = self.is_rounded(graph, id);
        for tensor in &mut replaced {
            let wider = tensor.element_type().is_float()
                && tensor.element_type().bits() > self.element_type.bits();
            if rounds && wider {
                match self.round(tensor) {
                    Some(rounded) => *tensor = rounded,
                    None => return Control::Stop,
                }
            }
        }
        if graph == 0 {
            let Ok((of, truth)) = self.truth.recv() else {
                return Control::Stop;
            };
            // Both runs come to the same layers in the same order.
            if of != node.id() {
                return Control::Stop;
            }
            for (index, (truth, found)) in truth.iter().zip(&replaced).enumerate() {
                let float = truth.element_type().is_float();
                if let Some(distance) = Distance::of(truth, found).filter(|_| float) {
                    self.layers.insert((id, index), distance);
                }
            }
        }
        if rounds {
            Control::Replace(replaced)
        } else {
            Control::Continue
        }
    }
}
