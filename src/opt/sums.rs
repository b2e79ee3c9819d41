//! Chains of sums and one function of these, which take a single loop.

use std::sync::Arc;

use super::chain::{Arg, Step};
use super::operand::Operand;
use crate::kernel::map::each_sum;
use crate::op::{Added, Op, Repeated};

/// Elements of a piece, at least, that are worth a call.
const FEWEST: usize = 64;

/// How often a number is added, at least, to be worth a loop.
const OFTEN: usize = 16;

/// Added first where nothing is: every number stays what it is.
const NOTHING: Repeated<'_> = Repeated {
    values: &[-0.0],
    times: usize::MAX,
    skip: 0,
};

/// Up to two inputs are added to what the head computed, one after the other. Then a function may be
/// applied.
#[derive(Debug)]
pub(super) struct Sums {
    added: [Option<usize>; 2],
    function: Option<Arc<dyn Op>>,
}

impl Sums {
    /// The same as these steps, if it is.
    pub(super) fn of(steps: &[Step]) -> Option<Self> {
        let (last, others) = steps.split_last()?;
        let function = match last.args.len() {
            1 if last.op.elementwise()?.takes_sums() => Some(Arc::clone(&last.op)),
            _ => None,
        };
        let sums = if function.is_some() { others } else { steps };
        let mut added = [None; 2];
        let mut before = Arg::Head;
        for (i, step) in sums.iter().enumerate() {
            let other = match step.args[..] {
                [a, Arg::Input(k)] | [Arg::Input(k), a] if a == before => k,
                _ => return None,
            };
            if !step.op.elementwise()?.adds() {
                return None;
            }
            *added.get_mut(i)? = Some(other);
            before = Arg::Step(i);
        }
        let fits = function.is_none() || last.args[..] == [before];
        fits.then_some(Self { added, function })
    }

    /// Computes the elements of a part from the first on, which is at `at`, and answers how many.
    pub(super) fn run(&self, operands: &[Operand<'_>], at: usize, part: &mut [f32]) -> usize {
        let mut done = 0;
        while done < part.len() {
            let rest = &mut part[done..];
            let at = at + done;
            let runs = self.added.iter().flatten().map(|&k| operands[k].run(at));
            let len = runs.fold(rest.len(), usize::min);
            if len < FEWEST.min(rest.len()) {
                break;
            }
            let repeated = |k: Option<usize>| {
                let repeated = operands[k?].repeated(at, len)?;
                (repeated.times >= OFTEN).then_some(repeated)
            };
            let slice = |k: Option<usize>| operands[k?].slice(at, len);
            let added = match self.added {
                [None, _] => Some((NOTHING, None)),
                [first, None] => repeated(first)
                    .map(|repeated| (repeated, None))
                    .or_else(|| Some((NOTHING, Some(slice(first)?)))),
                [first, second] => repeated(first)
                    .zip(slice(second))
                    .map(|(repeated, beside)| (repeated, Some(beside))),
            };
            let Some((repeated, beside)) = added else {
                break;
            };
            let added = Added { repeated, beside };
            let elements = &mut rest[..len];
            match self.function.as_ref().and_then(|op| op.elementwise()) {
                Some(function) => function.compute_sums(added, elements),
                None => each_sum(
                    elements,
                    added,
                    #[inline(always)]
                    |x| x,
                ),
            }
            done += len;
        }
        done
    }
}
