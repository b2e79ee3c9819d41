//! What operations tell of themselves so that a compiled model can join them.

use smallvec::SmallVec;

use super::Op;

/// A function of elements of `f32` at the same place of each input, for operations whose inputs are
/// broadcast as NumPy does.
pub trait Elementwise: Sync {
    /// Computes elements of the output from as many of each input.
    fn compute(&self, inputs: &[&[f32]], out: &mut [f32]);

    /// Whether the operation has a loop for two inputs of which one is repeated.
    fn takes_repeated(&self) -> bool {
        false
    }

    /// As [`Elementwise::compute`] of two inputs, the first of which (or the second) is repeated:
    /// called of operations that take this.
    fn compute_repeated(
        &self,
        _elements: &[f32],
        _repeated: Repeated<'_>,
        _repeated_first: bool,
        _out: &mut [f32],
    ) {
    }

    /// Whether the operation is the sum of its two inputs.
    fn adds(&self) -> bool {
        false
    }

    /// Whether the operation has a loop for sums, which are its one input.
    fn takes_sums(&self) -> bool {
        false
    }

    /// Replaces each element by the function of its sum with what is added: called of operations that
    /// take sums.
    fn compute_sums(&self, _added: Added<'_>, _elements: &mut [f32]) {}
}

/// Elements of which each comes `times` times before the next, seen from element `skip` on.
#[derive(Debug, Clone, Copy)]
pub struct Repeated<'a> {
    /// One element of each run.
    pub values: &'a [f32],
    /// How long runs are; not zero.
    pub times: usize,
    /// How many elements of the first run are left out, less than `times`.
    pub skip: usize,
}

/// What is added to elements, one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Added<'a> {
    /// First, one number to many elements. There are enough of them for all.
    pub repeated: Repeated<'a>,
    /// Then, a number to each.
    pub beside: Option<&'a [f32]>,
}

/// What is done to the elements of output 0 while they are still in the cache: called once for
/// each part of it, with the position of the part's first element and the part.
pub type Finish<'a> = &'a (dyn Fn(usize, &mut [f32]) + Sync);

/// An operation that some of its constant inputs went into.
#[derive(Debug)]
pub struct Prepared {
    /// The operation.
    pub op: Box<dyn Op>,
    /// The inputs it still takes, as positions among those it took before.
    pub inputs: SmallVec<[usize; 4]>,
}
