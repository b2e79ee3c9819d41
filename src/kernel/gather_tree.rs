//! Follows beams back to their beginning.

use super::moving::{Mover, Word};
use crate::op::OpError;

/// Picks elements of the first input; the one element of the second where there is no place.
#[derive(Debug)]
pub(crate) struct PickOr {
    /// The places, [`usize::MAX`] for none.
    pub(crate) places: Vec<usize>,
}

impl Mover for PickOr {
    fn run<T: Word>(&self, inputs: &[&[T]], outputs: &mut [&mut [T]]) -> Result<(), OpError> {
        let (data, other) = (inputs[0], &inputs[1][0]);
        for (out, &place) in outputs[0].iter_mut().zip(&self.places) {
            *out = data.get(place).unwrap_or(other).clone();
        }
        Ok(())
    }
}

/// The steps of a beam search, each `[batches, beams]` numbers.
#[derive(Debug)]
pub(crate) struct Steps<'a> {
    pub(crate) ids: &'a [i64],
    pub(crate) parents: &'a [i64],
    /// How many steps each batch has.
    pub(crate) lengths: &'a [usize],
    pub(crate) beams: usize,
    pub(crate) end: i64,
}

impl Steps<'_> {
    /// Fills `places`, as many as `ids`, with the places there of the elements of the beams, from their last step back along their
    /// parents and up to the first end; [`usize::MAX`] after it.
    ///
    /// # Errors
    /// The position of the first parent met that is no beam.
    pub(crate) fn trace(&self, places: &mut [usize]) -> Result<(), usize> {
        places.fill(usize::MAX);
        let (beams, row) = (self.beams, self.lengths.len() * self.beams);
        for (batch, &length) in self.lengths.iter().enumerate() {
            for beam in 0..beams {
                let at = |step: usize, beam: usize| step * row + batch * beams + beam;
                let mut from = beam;
                for step in (0..length).rev() {
                    let place = at(step, from);
                    places[at(step, beam)] = place;
                    // The first step's parents lead nowhere.
                    if step > 0 {
                        let parent = usize::try_from(self.parents[place]).ok();
                        from = parent.filter(|&beam| beam < beams).ok_or(place)?;
                    }
                }
                let is_end = |&step: &usize| self.ids[places[at(step, beam)]] == self.end;
                if let Some(end) = (0..length).find(is_end) {
                    for step in end + 1..length {
                        places[at(step, beam)] = usize::MAX;
                    }
                }
            }
        }
        Ok(())
    }
}
