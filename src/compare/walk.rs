//! One evaluation of the model along the tensors of a reference.

use std::collections::{BTreeMap, HashMap};

use super::{Compared, Named, Names, Run, by_id};
use crate::error::{Error, Result};
use crate::exec::{Control, Observer, joined};
use crate::graph::{Body, Node, NodeId};
use crate::io::Generator;
use crate::limits::Limits;
use crate::metrics::{Difference, Tolerance};
use crate::model::Model;
use crate::op::Role;
use crate::tensor::{ElementType, Tensor, convert};

use super::runs::Allow;
use super::search::{Finding, Slot};

/// Tensors of suspects are kept up to so many bytes.
const MOST_KEPT: usize = 1 << 30;

/// What a walk does with the tensors it meets.
pub(super) enum Way {
    /// Only compares: differences add up from layer to layer.
    Along,
    /// Puts the reference's tensor in the place of each: every layer, or every few between two
    /// known tensors, computes on the reference's inputs.
    Apart,
    /// The same with the reference's tensors moved by a rounding error, to see what rounding alone
    /// does. Compares with what these slots had before.
    Moved(HashMap<Slot, Tensor>),
}

/// What came of a walk.
pub(super) struct Walked {
    /// In the order of evaluation.
    pub(super) findings: Vec<Finding>,
    /// What the model made of the tensors that fail.
    pub(super) kept: HashMap<Slot, Tensor>,
    /// Where the evaluation ended early.
    pub(super) error: Option<Error>,
}

/// What all walks of a search share.
pub(super) struct Walker<'a> {
    pub(super) model: &'a Model,
    pub(super) inputs: &'a [(usize, Tensor)],
    pub(super) names: &'a [Vec<String>],
    pub(super) allow: &'a Allow<'a>,
    pub(super) limits: &'a Limits,
}

impl Walker<'_> {
    /// Evaluates the model. `known` are the reference's tensors of the main graph; those of bodies
    /// are looked up in `bodies` by their names.
    pub(super) fn walk(
        &self,
        known: &BTreeMap<Slot, Named>,
        bodies: Option<&Run>,
        way: Way,
        observers: &mut [&mut dyn Observer],
    ) -> Result<Walked> {
        let mut walk = Walk {
            walker: self,
            ids: by_id(self.model),
            known,
            bodies,
            way,
            inner: Names::new(),
            clean: vec![true; self.model.graph().nodes().len()],
            walked: Walked {
                findings: Vec::new(),
                kept: HashMap::new(),
                error: None,
            },
            bytes: 0,
            failed: None,
        };
        let given = self.inputs.iter().cloned();
        let all = &mut joined(Some(&mut walk), observers);
        let evaluated = self.model.evaluate_with(given, self.limits, all);
        if let Some(error) = walk.failed {
            return Err(error);
        }
        let mut walked = walk.walked;
        walked.error = evaluated.err();
        Ok(walked)
    }
}

struct Walk<'w, 'a> {
    walker: &'w Walker<'a>,
    ids: HashMap<u64, usize>,
    known: &'w BTreeMap<Slot, Named>,
    bodies: Option<&'w Run>,
    way: Way,
    /// Names of tensors in bodies.
    inner: Names,
    /// Whether what a node computes on is the reference's, or follows from it.
    clean: Vec<bool>,
    walked: Walked,
    bytes: usize,
    failed: Option<Error>,
}

impl Walk<'_, '_> {
    /// Looks at the outputs of a node, and gives what to go on with.
    fn outputs(
        &mut self,
        node: &Node,
        at: Option<NodeId>,
        outputs: &[Tensor],
    ) -> Result<Option<Vec<Tensor>>> {
        let clean = at.is_none_or(|id| {
            let graph = self.walker.model.graph();
            graph
                .node(id)
                .inputs()
                .iter()
                .all(|port| self.clean[port.node.index()])
        });
        let pure = node.op().is_none_or(|op| op.is_pure());
        let mut next: Vec<Tensor> = outputs.to_vec();
        let (mut replaced, mut unfit) = (0, false);
        for (index, found) in outputs.iter().enumerate() {
            let slot = at.map(|id| (id, index));
            let (name, expected) = match slot {
                Some(slot) => {
                    let name = self.walker.names[slot.0.index()].get(index).cloned();
                    (name.unwrap_or_default(), self.known.get(&slot))
                }
                None => {
                    let name = self.inner.name(node, index, outputs.len());
                    let expected = self.bodies.and_then(|run| run.layer(&name));
                    (name, expected)
                }
            };
            let Some(expected) = expected else { continue };
            let tensor = expected.load(self.walker.limits)?;
            if pure {
                self.compare(node, slot, &name, (found, &tensor), clean);
            }
            let fitting = fitting(&tensor, found).filter(|_| !matches!(self.way, Way::Along));
            // What has another shape than the reference's goes on as it is: all behind it is astray.
            unfit |= fitting.is_none();
            if let Some(tensor) = fitting {
                next[index] = match self.way {
                    Way::Moved(_) => moved(&tensor, node.id().rotate_left(8) ^ index as u64),
                    Way::Along | Way::Apart => tensor,
                };
                replaced += 1;
            }
        }
        if let Some(id) = at {
            self.clean[id.index()] = replaced == outputs.len() || clean && !unfit;
        }
        Ok((replaced > 0).then_some(next))
    }

    fn compare(
        &mut self,
        node: &Node,
        slot: Option<Slot>,
        name: &str,
        (found, expected): (&Tensor, &Tensor),
        clean: bool,
    ) {
        let difference = match (&self.way, slot) {
            (Way::Moved(before), Some(slot)) => match before.get(&slot) {
                Some(before) => Difference::between(found, before, &Tolerance::EXACT),
                None => return,
            },
            (Way::Moved(_), None) => return,
            (Way::Along | Way::Apart, _) => {
                let compared = Compared::new(name, name, (found, expected), self.walker.allow);
                let fails = !compared.passes();
                if let (true, Way::Apart, Some(slot)) = (fails, &self.way, slot) {
                    self.bytes = self.bytes.saturating_add(found.byte_len());
                    if self.bytes <= MOST_KEPT {
                        self.walked.kept.insert(slot, found.clone());
                    }
                }
                self.walked.findings.push(Finding {
                    slot,
                    layer: node.layer_ref(),
                    name: name.to_owned(),
                    compared,
                    clean,
                    rounding: None,
                });
                return;
            }
        };
        self.walked.findings.push(Finding {
            slot,
            layer: node.layer_ref(),
            name: name.to_owned(),
            compared: Compared {
                name: name.to_owned(),
                other: name.to_owned(),
                difference,
                tolerance: Tolerance::EXACT,
                violations: Vec::new(),
            },
            clean,
            rounding: None,
        });
    }
}

impl Observer for Walk<'_, '_> {
    fn enter(&mut self, node: &Node, body: &Body, iteration: u64) {
        self.inner.enter(node, body, iteration);
    }

    fn leave(&mut self, _: &Node, _: &Body, _: u64) {
        self.inner.leave();
    }

    fn after(&mut self, node: &Node, outputs: &[Tensor]) -> Control {
        let main = self.inner.depth() == 0;
        let id = self.ids.get(&node.id()).filter(|_| main);
        let id = id.map(|&index| NodeId::new(index));
        match node.role() {
            Role::Result => return Control::Continue,
            Role::Parameter if main && matches!(self.way, Way::Moved(_)) => {
                let moved = outputs.iter().map(|tensor| moved(tensor, node.id()));
                return Control::Replace(moved.collect());
            }
            Role::Parameter => return Control::Continue,
            _ => {}
        }
        // Every name is given, so that two walks give the same ones.
        match self.outputs(node, id, outputs) {
            Ok(None) => Control::Continue,
            Ok(Some(next)) => Control::Replace(next),
            Err(error) => {
                self.failed = Some(error);
                Control::Stop
            }
        }
    }
}

/// The reference's tensor as the one that the model made, if it can stand in its place.
fn fitting(tensor: &Tensor, found: &Tensor) -> Option<Tensor> {
    if tensor.shape() != found.shape() {
        return None;
    }
    convert::convert(tensor, found.element_type()).ok()
}

/// Every float moved up or down by about half of what lies between it and the next one.
fn moved(tensor: &Tensor, seed: u64) -> Tensor {
    let size = match tensor.element_type() {
        // The other side may compute in f32.
        ElementType::F64 | ElementType::F32 => 2f32.powi(-23),
        ElementType::F16 => 2f32.powi(-11),
        ElementType::Bf16 => 2f32.powi(-8),
        _ => return tensor.clone(),
    };
    let mut moved = tensor.clone();
    let mut generator = Generator::new(seed);
    let mut block = [0f32; convert::BLOCK];
    let narrow = tensor.element_type() != ElementType::F64;
    if !narrow {
        return match moved.as_mut_slice::<f64>() {
            Ok(all) => {
                for x in all {
                    *x *= 1.0 + f64::from(sign(&mut generator) * size);
                }
                moved
            }
            Err(_) => tensor.clone(),
        };
    }
    for start in (0..tensor.len()).step_by(convert::BLOCK) {
        let block = &mut block[..convert::BLOCK.min(tensor.len() - start)];
        convert::widen(tensor, start, block);
        for x in &mut *block {
            *x *= 1.0 + sign(&mut generator) * size;
        }
        convert::narrow(block, &mut moved, start);
    }
    moved
}

fn sign(generator: &mut Generator) -> f32 {
    match generator.next() >> 63 {
        0 => 1.0,
        _ => -1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moved_floats_are_next_to_what_they_were() {
        let data: Vec<f32> = (1..2000).map(|i| i as f32 * 0.37).collect();
        for ty in [ElementType::F32, ElementType::F64, ElementType::F16] {
            let tensor = convert::convert(&Tensor::vector(&data), ty).expect("floats");
            let values = Difference::between(&moved(&tensor, 1), &tensor, &Tolerance::EXACT);
            let values = values.values.expect("pairs");
            assert!(values.differing > 500, "{ty}: {}", values.differing);
            assert!(values.max_rel < 2e-3 && (ty == ElementType::F16 || values.max_rel < 2e-7));
        }
        let integers = Tensor::vector(&[1i64, 2]);
        assert_eq!(moved(&integers, 1), integers);
    }
}
