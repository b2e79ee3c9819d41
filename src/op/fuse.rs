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
    fn compute_sums(&self, _terms: Terms<'_, '_>) {}
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

/// What is added to pieces, one after the other.
#[derive(Debug, Clone, Copy)]
pub struct AddedToPieces<'a> {
    /// First, one number to all elements of each piece: as many as there are pieces.
    pub each: Option<&'a [f32]>,
    /// Then, a number to each element. Those of a piece are so many behind those of the one before.
    pub beside: Option<(&'a [f32], usize)>,
}

/// The terms of sums: elements, and what is added to them.
#[derive(Debug)]
pub enum Terms<'a, 'e> {
    /// Elements that follow each other.
    Run(&'a mut [f32], Added<'a>),
    /// Pieces of equal length.
    Pieces(&'a mut [&'e mut [f32]], AddedToPieces<'a>),
}

/// What is done to the elements of a result that are final, while they are still in the cache: to each once.
pub trait Finishing<T>: Sync {
    /// Finishes elements that follow each other; the first is at position `at` of the result.
    fn part(&self, at: usize, part: &mut [T]);

    /// Finishes pieces of equal length. The first begins at position `at`, and each `stride` behind the one before.
    fn pieces(&self, at: usize, stride: usize, pieces: &mut [&mut [T]]) {
        for (i, piece) in pieces.iter_mut().enumerate() {
            self.part(at + i * stride, piece);
        }
    }
}

impl<T, F: Fn(usize, &mut [T]) + Sync> Finishing<T> for F {
    fn part(&self, at: usize, part: &mut [T]) {
        self(at, part);
    }
}

/// Something to do to elements of a result, most often output 0 of an operation.
pub type Finish<'a, T = f32> = &'a dyn Finishing<T>;

/// Finishes what is a part of a larger result.
pub(crate) struct Shifted<'a, T> {
    finish: Finish<'a, T>,
    by: usize,
}

impl<'a, T> Shifted<'a, T> {
    /// If there is something to do to the larger result: for its part that begins at `by`.
    pub(crate) fn new(finish: Option<Finish<'a, T>>, by: usize) -> Option<Self> {
        finish.map(|finish| Self { finish, by })
    }

    /// What the one who computes the part is given.
    pub(crate) fn as_finish(&self) -> Finish<'_, T> {
        self
    }
}

impl<T> Finishing<T> for Shifted<'_, T> {
    fn part(&self, at: usize, part: &mut [T]) {
        self.finish.part(self.by + at, part);
    }

    fn pieces(&self, at: usize, stride: usize, pieces: &mut [&mut [T]]) {
        self.finish.pieces(self.by + at, stride, pieces);
    }
}

/// An operation that some of its constant inputs went into.
#[derive(Debug)]
pub struct Prepared {
    /// The operation.
    pub op: Box<dyn Op>,
    /// The inputs it still takes, as positions among those it took before.
    pub inputs: SmallVec<[usize; 4]>,
}
