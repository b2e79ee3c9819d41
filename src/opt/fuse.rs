//! Joins elementwise operations to each other and to the operation before them.

use std::sync::Arc;

use smallvec::SmallVec;

use super::chain::{Arg, Step};
use super::draft::{Draft, port};
use super::joined::{self, Joined};
use crate::graph::Port;
use crate::op::{Op, Output};
use crate::tensor::{ElementType, Shape};

/// More steps would not fit in the nearest cache with what they hand to each other.
const MOST_STEPS: usize = 48;

/// Joins groups of elementwise operations, each with the operation whose result they change.
///
/// A group ends in one operation. An operation before it belongs to it if the group alone uses its
/// output, which has the shape of the group's; that of an operation that begins a group may be reshaped to it. Of
/// several operations that could finish their elements one begins the group, and the others are left with what follows
/// them alone, as the biases of both convolutions before a sum.
pub(super) fn fuse(draft: &mut Draft) {
    let consumers = draft.consumers();
    let mut taken = vec![false; draft.len()];
    let mut member = vec![usize::MAX; draft.len()];
    for last in (0..draft.len()).rev() {
        if taken[last] || elementwise(draft, last).is_none() {
            continue;
        }
        let mut steps = vec![last];
        member[last] = last;
        let mut heads = Vec::new();
        let mut next = 0;
        while next < steps.len() {
            for &Port { node, index } in &draft.node(steps[next]).inputs {
                let node = node.index();
                let only = |users: &[usize]| users.iter().all(|&user| member[user] == last);
                if index > 0 || member[node] == last || taken[node] || !only(&consumers[node]) {
                    continue;
                }
                if !alike(draft, node, last) {
                    continue;
                }
                if elementwise(draft, node).is_some() && steps.len() < MOST_STEPS {
                    member[node] = last;
                    steps.push(node);
                    // An operation that was passed over may have no other user now.
                    next = usize::MAX;
                    break;
                }
                heads.extend(Head::of(draft, &consumers, node));
            }
            next = next.wrapping_add(1);
        }
        // The last of them: what the others compute is there by then.
        heads.retain(|head| !taken[head.node]);
        let head = heads.iter().copied().max();
        for other in heads.iter().copied().filter(|&other| Some(other) != head) {
            let is_seen = |node: usize| heads.iter().any(|head| head.seen == node);
            let inside = |node: usize| member[node] == last || is_seen(node);
            let own = steps_of(draft, &consumers, other.seen, inside);
            steps.retain(|step| !own.contains(step));
            own.iter().for_each(|&step| member[step] = usize::MAX);
        }
        if head.is_none() && steps.len() == 1 {
            continue;
        }
        steps.sort_unstable();
        taken[last] = true;
        let first = head.map_or(last, |head| head.node);
        for &node in steps.iter().chain([&first]) {
            taken[node] = true;
        }
        join(draft, last, head, &steps);
    }
}

/// An operation that begins a group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    node: usize,
    /// The node whose output the steps take: the same, or a reshape of it.
    seen: usize,
}

impl Head {
    /// The operation whose elements `seen` has, if it can finish them and nobody else looks at them.
    fn of(draft: &Draft, consumers: &[Vec<usize>], seen: usize) -> Option<Self> {
        let node = match draft.computes(seen)?.reshapes() {
            true => {
                let first = draft.node(seen).inputs.first()?;
                let node = first.node.index();
                let alone = first.index == 0 && consumers[node].len() == 1;
                shapes(draft, Self { node, seen }).filter(|_| alone)?;
                node
            }
            false => seen,
        };
        finishes(draft, node).then_some(Self { node, seen })
    }
}

/// The shapes of a head's own output and of what the steps see, if both are known.
fn shapes(draft: &Draft, head: Head) -> Option<[Shape; 2]> {
    let shape = |node: usize| draft.output(port(node))?.shape.to_shape();
    Some([shape(head.node)?, shape(head.seen)?])
}

/// The steps of a group that follow one of its heads and depend on nothing else `inside` the group: they are left to
/// that head, which finishes its elements while they are at hand.
fn steps_of(
    draft: &Draft,
    consumers: &[Vec<usize>],
    head: usize,
    inside: impl Fn(usize) -> bool,
) -> SmallVec<[usize; 4]> {
    let mut steps = SmallVec::new();
    let mut node = head;
    while let Some((&user, more)) = consumers[node].split_first() {
        let mut inputs = draft.node(user).inputs.iter();
        let others = inputs.any(|port| port.node.index() != node && inside(port.node.index()));
        if others || more.iter().any(|&other| other != user) {
            break;
        }
        steps.push(user);
        node = user;
    }
    steps
}

/// The operation, if it is a function of elements of `f32`.
fn elementwise(draft: &Draft, index: usize) -> Option<&Arc<dyn Op>> {
    let op = draft.computes(index)?;
    let single = |output: &Output| output.element_type == ElementType::F32;
    let [output] = &draft.facts[index].outputs[..] else {
        return None;
    };
    let inputs = draft.node(index).inputs.iter();
    let mut outputs = inputs.map(|&port| draft.output(port));
    let fits = single(output) && outputs.all(|output| output.is_some_and(single));
    op.elementwise()?;
    fits.then_some(op)
}

/// Whether the operation can finish the elements of its only output itself.
fn finishes(draft: &Draft, index: usize) -> bool {
    let outputs = &draft.facts[index].outputs;
    let single = outputs.len() == 1 && outputs[0].element_type == ElementType::F32;
    single && draft.computes(index).is_some_and(|op| op.finishes())
}

/// Whether two nodes are known to have outputs of one shape.
fn alike(draft: &Draft, a: usize, b: usize) -> bool {
    let shape = |node: usize| {
        draft
            .output(port(node))
            .and_then(|output| output.shape.dims())
    };
    let (Some(a), Some(b)) = (shape(a), shape(b)) else {
        return false;
    };
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_same(*b))
}

/// Puts the joined operation in place of the last step.
fn join(draft: &mut Draft, last: usize, head: Option<Head>, steps: &[usize]) {
    let mut inputs: Vec<Port> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    let mut head_op = None;
    if let Some(head) = head {
        let node = draft.node(head.node);
        inputs.extend(&node.inputs);
        names.push(node.type_name().to_owned());
        let reshaped = || shapes(draft, head).filter(|_| head.node != head.seen);
        head_op = draft.op(head.node).map(|op| joined::Head {
            op: Arc::clone(op),
            inputs: inputs.len(),
            shapes: reshaped(),
        });
    }
    let before = inputs.len();
    let mut joined = Vec::new();
    for &step in steps {
        let node = draft.node(step);
        names.push(node.type_name().to_owned());
        let args: SmallVec<[Arg; 3]> = node
            .inputs
            .iter()
            .map(|&port| {
                let from = port.node.index();
                if head.is_some_and(|head| head.seen == from) {
                    return Arg::Head;
                }
                if let Ok(at) = steps.binary_search(&from) {
                    return Arg::Step(at);
                }
                let own = &inputs[before..];
                let at = own.iter().position(|own| *own == port).unwrap_or_else(|| {
                    inputs.push(port);
                    inputs.len() - 1 - before
                });
                Arg::Input(at)
            })
            .collect();
        if let Some(op) = draft.op(step) {
            joined.push(Step {
                op: Arc::clone(op),
                args,
            });
        }
    }
    let op = Joined::new(head_op, joined);
    draft.set(last, Arc::new(op), names.join("+"), inputs);
}
