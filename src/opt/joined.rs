//! An operation with the elementwise operations that follow it, or a chain of those alone.

use std::borrow::Cow;
use std::sync::Arc;

use rayon::prelude::*;

use super::chain::{Arg, Chain, Step};
use super::operand::Operand;
use crate::limits::Share;
use crate::op::{Finishing, Input, Io, Op, OpError, Output, Outputs, bail};
use crate::tensor::Shape;

/// Elements that a thread computes at a time; less stays on the calling thread.
const PART: usize = 1 << 15;

/// Several layers evaluated as one: what an operation computes is changed while it is in the cache.
///
/// The inputs are those of the first operation, if there is one, then what the others take besides.
#[derive(Debug)]
pub(super) struct Joined {
    head: Option<Head>,
    chain: Chain,
}

/// The operation whose output is changed.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) op: Arc<dyn Op>,
    /// How many inputs it takes.
    pub(super) inputs: usize,
    /// The shape of its output, and the one in which the steps see it, if that is another.
    pub(super) shapes: Option<[Shape; 2]>,
}

impl Head {
    /// The type and shape of the output as the steps see it.
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Option<Output>, OpError> {
        let mut output = self.op.infer(inputs)?.into_iter().next();
        if let (Some(output), Some([_, seen])) = (&mut output, &self.shapes) {
            output.shape = seen.into();
        }
        Ok(output)
    }

    /// Evaluates the operation, and finishes its output, which has the shape that the steps see.
    fn eval(&self, mut io: Io<'_>, rest: &Rest<'_>) -> Result<(), OpError> {
        let Some([own, seen]) = &self.shapes else {
            return self.op.eval_finishing(io, rest);
        };
        io.outputs[0].reshape(own.clone())?;
        let done = self.op.eval_finishing(io.reborrow(), rest);
        io.outputs[0].reshape(seen.clone())?;
        done
    }
}

/// What is left to do to what the head computes.
struct Rest<'a> {
    chain: &'a Chain,
    operands: &'a [Operand<'a>],
}

impl Finishing<f32> for Rest<'_> {
    fn part(&self, at: usize, part: &mut [f32]) {
        self.chain.run(self.operands, at, part);
    }

    fn pieces(&self, at: usize, stride: usize, pieces: &mut [&mut [f32]]) {
        self.chain.run_pieces(self.operands, at, stride, pieces);
    }
}

impl Joined {
    /// Steps in order, the last of which gives the output, maybe after an operation.
    pub(super) fn new(head: Option<Head>, steps: Vec<Step>) -> Self {
        let chain = Chain::new(steps);
        Self { head, chain }
    }

    fn first(&self) -> usize {
        self.head.as_ref().map_or(0, |head| head.inputs)
    }
}

impl Op for Joined {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let first = self.first();
        if inputs.len() < first {
            bail!("expected at least {first} inputs, got {}", inputs.len());
        }
        let (own, further) = inputs.split_at(first);
        let head = match &self.head {
            Some(head) => head.infer(own)?,
            None => None,
        };
        let mut outputs: Vec<Output> = Vec::new();
        for step in self.chain.steps() {
            let input = |arg: &Arg| {
                let of = |output: &Output| Input {
                    element_type: output.element_type,
                    shape: Cow::Owned(output.shape.clone()),
                    value: None,
                    ranges: None,
                };
                match *arg {
                    Arg::Head => head.as_ref().map(of),
                    Arg::Step(at) => outputs.get(at).map(of),
                    Arg::Input(at) => further.get(at).cloned(),
                }
            };
            let inputs: Option<Vec<Input<'_>>> = step.args.iter().map(input).collect();
            let Some(inputs) = inputs else {
                bail!("an input is missing");
            };
            let output = step.op.infer(&inputs)?.into_iter().next();
            outputs.extend(output);
        }
        Ok(outputs.pop().into_iter().collect())
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let (own, further) = io.inputs.split_at(self.first());
        let Some(out) = io.outputs.first_mut() else {
            bail!("expected an output");
        };
        let shape = out.shape().clone();
        let operands = self.chain.operands(further, &shape)?;
        match &self.head {
            Some(head) => {
                let io = Io {
                    inputs: own,
                    outputs: io.outputs,
                };
                let rest = Rest {
                    chain: &self.chain,
                    operands: &operands,
                };
                head.eval(io, &rest)
            }
            None => {
                let out = out.as_mut_slice::<f32>()?;
                if out.len() <= PART {
                    self.chain.run(&operands, 0, out);
                } else {
                    out.par_chunks_mut(PART)
                        .enumerate()
                        .share(|(i, part)| self.chain.run(&operands, i * PART, part));
                }
                Ok(())
            }
        }
    }
}
