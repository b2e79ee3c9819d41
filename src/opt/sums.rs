//! Chains of sums and one function of these, which take a single loop.

use std::sync::Arc;

use super::chain::{Arg, Step};
use super::operand::Operand;
use crate::kernel::map::each_sum;
use crate::op::{Added, AddedToPieces, Op, Repeated, Terms};

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
            self.compute(Terms::Run(&mut rest[..len], Added { repeated, beside }));
            done += len;
        }
        done
    }

    /// Computes pieces of equal length, of which the first begins at `at` and each `stride` behind the one before;
    /// or none, where what is added to them is found piece by piece.
    pub(super) fn run_pieces(
        &self,
        operands: &[Operand<'_>],
        at: usize,
        stride: usize,
        pieces: &mut [&mut [f32]],
    ) -> Option<()> {
        let size = [pieces.len(), pieces.first()?.len()];
        let each = |k: usize| operands[k].each(at, stride, size);
        let beside = |k: usize| operands[k].beside(at, stride, size);
        let (each, beside) = match self.added {
            [None, _] => (None, None),
            [Some(first), None] => match each(first) {
                None => (None, Some(beside(first)?)),
                each => (each, None),
            },
            [Some(first), Some(second)] => (Some(each(first)?), Some(beside(second)?)),
        };
        self.compute(Terms::Pieces(pieces, AddedToPieces { each, beside }));
        Some(())
    }

    fn compute(&self, terms: Terms<'_, '_>) {
        match self.function.as_ref().and_then(|op| op.elementwise()) {
            Some(function) => function.compute_sums(terms),
            None => each_sum(
                terms,
                #[inline(always)]
                |x| x,
            ),
        }
    }
}
