//! Elementwise operations evaluated block by block, so that what they hand to each other stays in
//! the nearest cache.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use super::operand::Operand;
use super::sums::Sums;
use crate::op::{Op, OpError, Repeated};
use crate::tensor::{Shape, Tensor};

/// Elements of a block.
const BLOCK: usize = 1024;

/// What a step takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arg {
    /// The output of the operation before the chain.
    Head,
    /// The output of an earlier step.
    Step(usize),
    /// An input of the chain.
    Input(usize),
}

/// One elementwise operation.
#[derive(Clone)]
pub(super) struct Step {
    pub(super) op: Arc<dyn Op>,
    pub(super) args: SmallVec<[Arg; 3]>,
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}{:?}", self.op, self.args)
    }
}

/// Steps in order; the last gives the result.
#[derive(Debug)]
pub(super) struct Chain {
    steps: Vec<Step>,
    /// The same in one loop, if they can be done so.
    sums: Option<Sums>,
    /// Whether the last step, which writes the output, takes what stands there before.
    head_last: bool,
    /// How many inputs there are.
    inputs: usize,
    /// For each step, where its result goes among the registers.
    registers: Vec<usize>,
    /// How many registers there are: that of the head, those of inputs, those of steps.
    count: usize,
}

thread_local! {
    /// Blocks of intermediate results, kept from one call to the next.
    static SCRATCH: RefCell<Vec<Vec<f32>>> = const { RefCell::new(Vec::new()) };
}

impl Chain {
    pub(super) fn new(steps: Vec<Step>) -> Self {
        let args = || steps.iter().flat_map(|step| &step.args);
        let last = steps.last().map(|step| &step.args[..]);
        let head_last = last.is_some_and(|args| args.contains(&Arg::Head));
        let inputs = args().filter_map(|arg| match *arg {
            Arg::Input(at) => Some(at + 1),
            _ => None,
        });
        let inputs = inputs.max().unwrap_or(0);
        let first = 1 + inputs;
        let (registers, used) = registers(&steps);
        Self {
            registers: registers.into_iter().map(|r| first + r).collect(),
            count: first + used,
            sums: Sums::of(&steps),
            steps,
            head_last,
            inputs,
        }
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The inputs as seen in the shape of the output.
    ///
    /// # Errors
    /// When they are not `f32`.
    pub(super) fn operands<'a>(
        &self,
        inputs: &[&'a Tensor],
        out: &Shape,
    ) -> Result<SmallVec<[Operand<'a>; 4]>, OpError> {
        let operands = inputs.iter().take(self.inputs);
        operands.map(|tensor| Operand::new(tensor, out)).collect()
    }

    /// Computes a part of the output, which holds what the head computed. Its first element is at
    /// `at`.
    pub(super) fn run(&self, operands: &[Operand<'_>], at: usize, part: &mut [f32]) {
        let done = match &self.sums {
            Some(sums) => sums.run(operands, at, part),
            None => 0,
        };
        let (at, part) = (at + done, &mut part[done..]);
        if part.is_empty() {
            return;
        }
        SCRATCH.with_borrow_mut(|registers| {
            if registers.len() < self.count {
                registers.resize_with(self.count, || vec![0.0; BLOCK]);
            }
            for (i, block) in part.chunks_mut(BLOCK).enumerate() {
                self.block(operands, at + i * BLOCK, block, registers);
            }
        });
    }

    /// As [`Chain::run`] of pieces of equal length, each `stride` behind the one before.
    pub(super) fn run_pieces(
        &self,
        operands: &[Operand<'_>],
        at: usize,
        stride: usize,
        pieces: &mut [&mut [f32]],
    ) {
        if let Some(sums) = &self.sums
            && sums.run_pieces(operands, at, stride, pieces).is_some()
        {
            return;
        }
        for (i, piece) in pieces.iter_mut().enumerate() {
            self.run(operands, at + i * stride, piece);
        }
    }

    fn block(
        &self,
        operands: &[Operand<'_>],
        at: usize,
        block: &mut [f32],
        registers: &mut [Vec<f32>],
    ) {
        let len = block.len();
        if self.head_last {
            registers[0][..len].copy_from_slice(block);
        }
        let mut places: SmallVec<[Place<'_>; 4]> = SmallVec::new();
        for operand in operands {
            places.push(Place::of(operand, at, len));
        }
        let last = self.steps.len() - 1;
        for (step, (own, &target)) in self.steps.iter().zip(&self.registers).enumerate() {
            let Some(function) = own.op.elementwise() else {
                continue;
            };
            let mut result = std::mem::take(&mut registers[target]);
            let one = own.repeated(&places);
            own.write_apart(operands, &mut places, one, at, len, registers);
            let slice = |arg: &Arg, head| match *arg {
                Arg::Head => head,
                Arg::Step(at) => &registers[self.registers[at]][..len],
                Arg::Input(k) => match places[k] {
                    Place::Slice(slice) => slice,
                    _ => &registers[1 + k][..len],
                },
            };
            // Only the last step writes to the block, and its head was copied.
            let (head, out): (&[f32], _) = if step == last {
                (&registers[0][..len], &mut *block)
            } else {
                (&*block, &mut result[..len])
            };
            if let Some(first) = one
                && let Some(Arg::Input(k)) = own.args.get(usize::from(!first))
                && let Place::Repeated(repeated) = places[*k]
            {
                let elements = slice(&own.args[usize::from(first)], head);
                function.compute_repeated(elements, repeated, first, out);
            } else {
                let mut inputs: SmallVec<[&[f32]; 4]> = SmallVec::new();
                for arg in &own.args {
                    inputs.push(slice(arg, head));
                }
                function.compute(&inputs, out);
            }
            registers[target] = result;
        }
    }
}

/// Where elements of an input are that a block needs.
#[derive(Debug, Clone, Copy)]
enum Place<'a> {
    /// In one piece.
    Slice(&'a [f32]),
    /// Each of them is repeated.
    Repeated(Repeated<'a>),
    /// They still are to be brought together in the input's register.
    Apart,
    /// They are in the input's register.
    Register,
}

impl<'a> Place<'a> {
    fn of(operand: &Operand<'a>, at: usize, len: usize) -> Self {
        if let Some(slice) = operand.slice(at, len) {
            return Self::Slice(slice);
        }
        operand
            .repeated(at, len)
            .map_or(Self::Apart, Self::Repeated)
    }
}

impl Step {
    /// Whether the first (`true`) or the second of two inputs is one that the operation takes
    /// repeated.
    fn repeated(&self, places: &[Place<'_>]) -> Option<bool> {
        let is =
            |arg: &Arg| matches!(*arg, Arg::Input(k) if matches!(places[k], Place::Repeated(_)));
        let [a, b] = &self.args[..] else { return None };
        let takes = self.op.elementwise()?.takes_repeated();
        (takes && is(a) != is(b)).then(|| is(a))
    }

    /// Brings elements together in registers, but those taken repeated.
    fn write_apart(
        &self,
        operands: &[Operand<'_>],
        places: &mut [Place<'_>],
        repeated: Option<bool>,
        at: usize,
        len: usize,
        registers: &mut [Vec<f32>],
    ) {
        for (i, arg) in self.args.iter().enumerate() {
            if let Arg::Input(k) = *arg
                && let Place::Apart | Place::Repeated(_) = places[k]
                && repeated != Some(i == 0)
            {
                operands[k].fill(at, &mut registers[1 + k][..len]);
                places[k] = Place::Register;
            }
        }
    }
}

/// A register for each step's result, none of which is overwritten before its last use, and how
/// many there are.
fn registers(steps: &[Step]) -> (Vec<usize>, usize) {
    let mut last_use = vec![0; steps.len()];
    for (at, step) in steps.iter().enumerate() {
        for arg in &step.args {
            if let Arg::Step(from) = *arg {
                last_use[from] = at;
            }
        }
    }
    let mut free: Vec<usize> = Vec::new();
    let mut count = 0;
    let mut assigned = Vec::with_capacity(steps.len());
    for at in 0..steps.len() {
        // A result never goes where an argument of the step stands.
        let register = free.pop().unwrap_or_else(|| {
            count += 1;
            count - 1
        });
        assigned.push(register);
        let ended = (0..=at).filter(|&from| last_use[from] == at && from < at);
        free.extend(ended.map(|from| assigned[from]));
    }
    (assigned, count)
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod tests;
