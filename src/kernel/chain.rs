//! Two movements one after the other.

use super::moving::{Mover, Word};
use super::scratch::reused_any;
use crate::op::OpError;

/// The second movement of what the first makes of the inputs, which are `between` elements.
#[derive(Debug)]
pub(crate) struct Chain<A, B> {
    pub(crate) first: A,
    pub(crate) between: usize,
    pub(crate) second: B,
}

impl<A: Mover, B: Mover> Mover for Chain<A, B> {
    fn run<T: Word>(&self, inputs: &[&[T]], outputs: &mut [&mut [T]]) -> Result<(), OpError> {
        let mut between = reused_any(T::default(), self.between)?;
        self.first.run(inputs, &mut [&mut between])?;
        self.second.run(&[&between], outputs)
    }
}
