//! The search for the first layer whose own result differs.
//!
//! Differences that come from rounding grow from layer to layer, so the first tensor that exceeds a
//! bound tells little. Every layer is therefore evaluated on the inputs that the *reference* has,
//! and what it makes of them is compared with what the reference makes of them: only a layer that is
//! itself wrong differs. One evaluation of the model does it for all layers, with the reference's
//! tensors put in the place of its own.
//!
//! A layer that fails is asked once more with its inputs moved by a rounding error. If its result
//! moves about as much (a choice between equal scores, a difference of nearly equal numbers), then
//! rounding explains the difference, and the layer is not blamed.
//!
//! A runtime that fuses layers is first asked only for tensors that it has anyway. Where what lies
//! between two of them is wrong, it is asked for the tensors inside, and the search goes on there.

use std::collections::{BTreeMap, BTreeSet};

use super::reference::Layers;
use super::runs::{Allow, compare};
use super::walk::{Walker, Way};
use super::{Answer, Backend, Compared, Comparison, Explanation, Named, Names, Run, pairs};
use crate::edit::varying;
use crate::error::{Error, Kind, LayerRef, Result};
use crate::exec::Observer;
use crate::graph::NodeId;
use crate::limits::Limits;
use crate::metrics::Difference;
use crate::model::Model;
use crate::op::Role;
use crate::tensor::Tensor;

/// A difference of so many times what rounding the inputs does is explained by rounding.
const EXPLAINED: f64 = 32.0;

/// A tensor of the model's main graph: a node and one of its outputs.
pub type Slot = (NodeId, usize);

/// The side that is believed.
pub enum Reference<'r> {
    /// A run with the tensors of inner layers, and the model that made it, if it is known.
    Saved(&'r Run, Option<&'r Model>),
    /// A runtime, its model as `ovir` reads it, and its inputs in order.
    Runtime(&'r mut dyn Backend, &'r Model, &'r [(usize, Tensor)]),
}

/// A tensor of the model beside the reference's.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The node and its output, if it is in the main graph.
    pub(super) slot: Option<Slot>,
    /// The layer.
    pub layer: LayerRef,
    /// The tensor's name.
    pub name: String,
    /// What it differs in.
    pub compared: Compared,
    /// Whether all it was computed from is the reference's.
    pub(super) clean: bool,
    /// What rounding errors of the inputs do to it: the norm of the change as a part of its own.
    pub rounding: Option<f64>,
}

impl Finding {
    /// The node and its output, if the layer is in the main graph.
    pub fn slot(&self) -> Option<Slot> {
        self.slot
    }
}

/// A layer that is itself wrong.
#[derive(Debug, Clone)]
pub struct Blamed {
    /// What it makes of the reference's inputs, beside what the reference makes of them.
    pub alone: Finding,
    /// The worst of its inputs in the model's own run.
    pub before: Option<Finding>,
    /// Its output in the model's own run.
    pub after: Option<Finding>,
    /// The nodes of the main graph that are to blame: the layer, or several if the reference has no
    /// tensors between them.
    pub nodes: Vec<NodeId>,
    /// What differs from the layer that stands for it in the reference's model.
    pub explanation: Explanation,
    /// The attributes of the layer.
    pub attributes: Vec<(String, String)>,
    /// What the reference has for the inputs of these nodes.
    pub feeds: Vec<(Slot, Named)>,
    /// What the reference has for their outputs.
    pub expected: Vec<(Slot, Named)>,
    /// The nodes of the reference's model that stand for those of the model.
    pub(super) pairs: Vec<Option<NodeId>>,
}

/// What a search found.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// The outputs are equal within their tolerances.
    Equal,
    /// This layer is the first that is itself wrong.
    Layer(Box<Blamed>),
    /// These layers agree one by one, but not as the runtime fuses them.
    Fused(Box<Blamed>),
    /// Every layer agrees with the reference on the reference's inputs: what differs grew from
    /// rounding.
    Grown,
}

/// A search and what it met.
#[derive(Debug)]
pub struct Search {
    /// The outputs of both sides; empty if the model could not be evaluated to its end.
    pub outputs: Comparison,
    /// Why the model could not be evaluated to its end.
    pub error: Option<Error>,
    /// What was found.
    pub verdict: Verdict,
    /// All layers that are wrong by themselves, in order of evaluation, the blamed one among them.
    pub wrong: Vec<Finding>,
    /// What differs by more than the tolerance, but no more than rounding explains.
    pub explained: Vec<Finding>,
    /// The tensors of the model's own run beside the reference's, in order of evaluation.
    pub along: Vec<Finding>,
    /// How many tensors were compared.
    pub compared: usize,
    /// How often the runtime was asked.
    pub asked: usize,
    /// What the runtime told of itself.
    pub about: Option<About>,
}

/// What a runtime tells of itself.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// Packages and versions.
    pub versions: Vec<(String, String)>,
    /// The device by its full name.
    pub device: String,
}

/// Searches the model for the first layer that is itself wrong. With `everything` every layer is
/// looked at even where the outputs are equal. Observers see each of its evaluations.
///
/// # Errors
/// When the reference fails, or has no tensors of inner layers; when time or memory ends.
pub fn search(
    model: &Model,
    inputs: &[(usize, Tensor)],
    mut reference: Reference<'_>,
    allow: &Allow<'_>,
    everything: bool,
    limits: &Limits,
    observers: &mut [&mut dyn Observer],
) -> Result<Search> {
    let (outputs, error) = match Run::of_model(model, inputs, None, limits, observers) {
        Ok(run) => (Some(run), None),
        Err(error) if ended(&error) => return Err(error),
        Err(error) => (None, Some(error)),
    };
    let mut searcher = Searcher {
        asked: 0,
        about: None,
        survivors: None,
        pairs: match reference.model() {
            Some(other) => pairs::layers(model, other),
            None => model.graph().nodes().map(|(id, _)| Some(id)).collect(),
        },
        names: Names::new().of_model(model),
        varies: varying(model.graph()),
        model,
    };
    let expected = searcher.outputs(&mut reference)?;
    let expected = expected.as_ref().or(reference.saved());
    let compared = match (&outputs, expected) {
        (Some(outputs), Some(expected)) => compare(outputs, expected, allow, limits)?,
        _ => Comparison::default(),
    };
    let equal = error.is_none() && compared.is_equal();
    let mut search = Search {
        outputs: compared,
        error,
        verdict: Verdict::Equal,
        ..Search::empty()
    };
    if !equal || everything {
        let names = searcher.names.clone();
        let walker = Walker {
            model,
            inputs,
            names: &names,
            allow,
            limits,
        };
        searcher.layers(&mut reference, &mut search, &walker, observers)?;
        if equal && search.wrong.is_empty() {
            search.verdict = Verdict::Equal;
        }
    }
    (search.asked, search.about) = (searcher.asked, searcher.about);
    Ok(search)
}

/// Whether nothing more can be done after this error.
fn ended(error: &Error) -> bool {
    matches!(
        error.kind(),
        Kind::Deadline | Kind::Cancelled | Kind::Limit | Kind::Unsupported | Kind::Input
    )
}

impl Reference<'_> {
    pub(super) fn model(&self) -> Option<&Model> {
        match self {
            Self::Saved(_, model) => *model,
            Self::Runtime(_, model, _) => Some(model),
        }
    }

    fn saved(&self) -> Option<&Run> {
        match self {
            Self::Saved(run, _) => Some(run),
            Self::Runtime(..) => None,
        }
    }
}

/// What is known of the model before anything is compared.
pub(super) struct Searcher<'m> {
    pub(super) model: &'m Model,
    /// The node of the reference's model for each of the model's.
    pub(super) pairs: Vec<Option<NodeId>>,
    names: Vec<Vec<String>>,
    pub(super) varies: Vec<bool>,
    /// The tensors of the reference's model that survive its fusion.
    survivors: Option<Vec<Slot>>,
    asked: usize,
    about: Option<About>,
}

impl Searcher<'_> {
    /// Asks a runtime for its outputs and for what it executes.
    fn outputs(&mut self, reference: &mut Reference<'_>) -> Result<Option<Run>> {
        let Reference::Runtime(backend, model, inputs) = reference else {
            return Ok(None);
        };
        let answer = backend.evaluate(&named_inputs(model, inputs), &[], true)?;
        self.asked += 1;
        let Answer {
            run,
            executed,
            versions,
            device,
        } = answer;
        self.about = Some(About { versions, device });
        self.survivors = (!executed.is_empty()).then(|| Layers::new(model).surviving(&executed));
        Ok(Some(run))
    }

    /// The reference's tensors for these of the model's, as far as there are any.
    fn read(
        &mut self,
        reference: &mut Reference<'_>,
        wanted: &BTreeSet<Slot>,
    ) -> Result<BTreeMap<Slot, Named>> {
        let mut found = BTreeMap::new();
        match reference {
            Reference::Saved(run, model) => {
                let theirs = model.map(Layers::new);
                for &slot in wanted {
                    let name = match &theirs {
                        Some(layers) => self.pairs[slot.0.index()]
                            .and_then(|id| layers.names[id.index()].get(slot.1)),
                        None => self.names[slot.0.index()].get(slot.1),
                    };
                    let named = name.and_then(|name| run.layer(name));
                    found.extend(named.map(|named| (slot, named.clone())));
                }
            }
            Reference::Runtime(backend, model, inputs) => {
                let layers = Layers::new(model);
                let pair = |slot: &Slot| Some((*slot, (self.pairs[slot.0.index()]?, slot.1)));
                let pairs: Vec<(Slot, Slot)> = wanted.iter().filter_map(pair).collect();
                let theirs: Vec<Slot> = pairs.iter().map(|(_, theirs)| *theirs).collect();
                let answer =
                    backend.evaluate(&named_inputs(model, inputs), &layers.taps(&theirs), false)?;
                self.asked += 1;
                for (slot, theirs) in pairs {
                    let name = layers.names[theirs.0.index()].get(theirs.1);
                    let named = name.and_then(|name| answer.run.layer(name));
                    found.extend(named.map(|named| (slot, named.clone())));
                }
            }
        }
        Ok(found)
    }

    /// All tensors that depend on the inputs, but for Parameters and Results.
    fn varying(&self) -> BTreeSet<Slot> {
        let nodes = self.model.graph().nodes();
        let nodes = nodes.filter(|(id, node)| {
            let terminal = matches!(node.role(), Role::Parameter | Role::Result);
            self.varies[id.index()] && !terminal
        });
        let slots = nodes.flat_map(|(id, _)| {
            let outputs = self.model.inferred(id).len();
            (0..outputs).map(move |output| (id, output))
        });
        slots.collect()
    }

    /// What to ask for first: what survives fusion, or everything.
    fn first(&self) -> BTreeSet<Slot> {
        let all = self.varying();
        let Some(survivors) = &self.survivors else {
            return all;
        };
        let survivors: BTreeSet<Slot> = survivors.iter().copied().collect();
        let survives = |slot: &Slot| {
            let theirs = self.pairs[slot.0.index()];
            theirs.is_some_and(|theirs| survivors.contains(&(theirs, slot.1)))
        };
        all.into_iter().filter(survives).collect()
    }

    /// Looks at every layer.
    fn layers(
        &mut self,
        reference: &mut Reference<'_>,
        search: &mut Search,
        walker: &Walker<'_>,
        observers: &mut [&mut dyn Observer],
    ) -> Result<()> {
        let inputs = walker.inputs;
        let first = self.first();
        let known = self.read(reference, &first)?;
        if known.is_empty() && !first.is_empty() {
            let message = "the reference has none of the model's inner tensors; \
                `ovir eval --dump '*' --to run.npz` makes a run that has them";
            return Err(Error::new(Kind::Input, message));
        }
        let looked = look(walker, &known, reference.saved(), search, observers)?;
        search.verdict = Verdict::Grown;
        let Some(culprit) = looked.first().cloned() else {
            return Ok(());
        };
        search.wrong = looked;
        let Some(slot) = culprit.slot else {
            let blamed = self.blamed(
                culprit,
                Vec::new(),
                &search.along,
                reference,
                (&known, inputs),
            );
            search.verdict = Verdict::Layer(Box::new(blamed));
            return Ok(());
        };
        let part = self.between(slot.0, &known);
        if part.len() < 2 {
            let blamed = self.blamed(culprit, part, &search.along, reference, (&known, inputs));
            search.verdict = Verdict::Layer(Box::new(blamed));
            return Ok(());
        }
        // What lies inside is asked for too, along with all else: other tensors stay comparable.
        let mut wanted: BTreeSet<Slot> = known.keys().copied().collect();
        for &id in &part {
            wanted.extend((0..self.model.inferred(id).len()).map(|output| (id, output)));
        }
        let closer = self.read(reference, &wanted)?;
        let mut inner = Search::empty();
        let again = look(walker, &closer, reference.saved(), &mut inner, observers)?;
        let inside = again
            .into_iter()
            .find(|finding| finding.slot.is_some_and(|(id, _)| part.contains(&id)));
        search.verdict = match inside {
            Some(found) => {
                let nodes = found
                    .slot
                    .map_or_else(Vec::new, |(id, _)| self.between(id, &closer));
                if let Some(first) = search.wrong.first_mut() {
                    *first = found.clone();
                }
                let blamed = self.blamed(found, nodes, &inner.along, reference, (&closer, inputs));
                Verdict::Layer(Box::new(blamed))
            }
            None => {
                let blamed = self.blamed(culprit, part, &search.along, reference, (&known, inputs));
                Verdict::Fused(Box::new(blamed))
            }
        };
        Ok(())
    }

    /// The nodes from a node back to known tensors, the node included, constants and Parameters not.
    fn between(&self, node: NodeId, known: &BTreeMap<Slot, Named>) -> Vec<NodeId> {
        let graph = self.model.graph();
        let mut found = BTreeSet::from([node]);
        let mut open = vec![node];
        while let Some(id) = open.pop() {
            for port in graph.node(id).inputs() {
                let producer = graph.node(port.node);
                let source = producer.role() == Role::Parameter
                    || producer.op().is_some_and(|op| op.is_constant());
                let there = known.contains_key(&(port.node, port.index as usize));
                if !source && !there && found.insert(port.node) {
                    open.push(port.node);
                }
            }
        }
        found.into_iter().collect()
    }
}

impl Search {
    /// What is to blame, if anything is.
    pub fn blamed(&self) -> Option<&Blamed> {
        match &self.verdict {
            Verdict::Layer(blamed) | Verdict::Fused(blamed) => Some(blamed),
            Verdict::Equal | Verdict::Grown => None,
        }
    }

    fn empty() -> Self {
        Self {
            outputs: Comparison::default(),
            error: None,
            verdict: Verdict::Grown,
            wrong: Vec::new(),
            explained: Vec::new(),
            along: Vec::new(),
            compared: 0,
            asked: 0,
            about: None,
        }
    }
}

/// Walks along the reference and apart on its inputs, and gives what is wrong by itself, in order.
fn look(
    walker: &Walker<'_>,
    known: &BTreeMap<Slot, Named>,
    bodies: Option<&Run>,
    search: &mut Search,
    observers: &mut [&mut dyn Observer],
) -> Result<Vec<Finding>> {
    let along = walker.walk(known, bodies, Way::Along, observers)?;
    let apart = walker.walk(known, bodies, Way::Apart, observers)?;
    for error in [along.error, apart.error].into_iter().flatten() {
        if ended(&error) {
            return Err(error);
        }
    }
    search.along = along.findings;
    search.compared = apart.findings.len();
    let failing = apart
        .findings
        .into_iter()
        .filter(|f| f.clean && !f.compared.passes());
    let mut failing: Vec<Finding> = failing.collect();
    if failing.iter().any(|f| f.slot.is_some()) {
        let moved = walker.walk(known, bodies, Way::Moved(apart.kept), observers)?;
        let moved: BTreeMap<Slot, Difference> = moved
            .findings
            .into_iter()
            .filter_map(|f| Some((f.slot?, f.compared.difference)))
            .collect();
        for finding in &mut failing {
            let change = finding.slot.and_then(|slot| moved.get(&slot));
            finding.rounding = change.map(|change| match &change.values {
                Some(values) if values.not_finite > 0 => f64::INFINITY,
                Some(values) => values.rel_l2,
                None => f64::INFINITY,
            });
        }
    }
    let (explained, wrong): (Vec<_>, Vec<_>) = failing.into_iter().partition(is_explained);
    search.explained = explained;
    Ok(wrong)
}

/// Whether rounding the inputs does about as much as the difference is.
fn is_explained(finding: &Finding) -> bool {
    let Some(rounding) = finding.rounding else {
        return false;
    };
    match &finding.compared.difference.values {
        Some(values) if values.not_finite == 0 => values.rel_l2 <= EXPLAINED * rounding,
        _ => rounding.is_infinite(),
    }
}

/// The inputs of a runtime, in order, with their names.
pub fn named_inputs(model: &Model, inputs: &[(usize, Tensor)]) -> Vec<(String, Tensor)> {
    let mut sorted: Vec<&(usize, Tensor)> = inputs.iter().collect();
    sorted.sort_by_key(|(index, _)| *index);
    let name = |index: usize| model.inputs()[index].name().to_owned();
    let named = sorted.into_iter();
    named
        .map(|(at, tensor)| (name(*at), tensor.clone()))
        .collect()
}

#[cfg(test)]
#[path = "tests/search.rs"]
mod tests;
