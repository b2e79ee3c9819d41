//! Writes slices to places, or combines them with what is there.

use super::gather::OUTSIDE;
use super::moving::{Mover, Word, copy_run, for_rows};
use super::scatter::Places;
use super::tuples::Tuples;
use crate::op::OpError;

/// Data seen as `[outer, places, slice]` takes updates `[outer, count, slice]` at `count` places.
#[derive(Debug)]
pub(crate) struct ScatterSlices {
    /// Where the slices go, counted in slices.
    places: Vec<usize>,
    slice: usize,
    /// The number of elements below one outer index of the data.
    slab: usize,
}

/// Slices of fewer bytes are written by one thread: looking for those of its own piece would
/// take a thread longer than writing all of them.
const PARALLEL_SLICE: usize = 256;

impl ScatterSlices {
    /// `count` tuples say where slices of `slice` elements go.
    ///
    /// # Errors
    /// When memory runs out.
    pub(crate) fn new(
        tuples: &Tuples<'_>,
        count: usize,
        slice: usize,
        slab: usize,
    ) -> Result<Self, OpError> {
        let mut places = Vec::new();
        places.try_reserve_exact(count).map_err(|_| {
            let bytes = count.saturating_mul(size_of::<usize>());
            OpError::limit(format!("cannot allocate {bytes} bytes"))
        })?;
        places.resize(count, OUTSIDE);
        for_rows(&mut places, 1, 1, |first, some| tuples.places(first, some));
        Ok(Self {
            places,
            slice,
            slab,
        })
    }

    /// The first tuple with an index out of range; there must be none to scatter.
    pub(crate) fn outside(&self) -> Option<usize> {
        self.places.iter().position(|&place| place == OUTSIDE)
    }

    /// Several slabs: each takes its updates in order.
    fn slabs<T: Word>(&self, data: &[T], updates: &[T], out: &mut [T]) {
        let line = self.places.len() * self.slice;
        for_rows(out, self.slab, 1, |first, out| {
            out.clone_from_slice(&data[first * self.slab..][..out.len()]);
            for (i, out) in out.chunks_exact_mut(self.slab).enumerate() {
                let updates = &updates[(first + i) * line..][..line];
                self.write(updates, out);
            }
        });
    }

    fn write<T: Word>(&self, updates: &[T], out: &mut [T]) {
        if self.slice == 1 {
            for (&place, update) in self.places.iter().zip(updates) {
                out[place] = update.clone();
            }
            return;
        }
        let updates = updates.chunks_exact(self.slice);
        for (&place, update) in self.places.iter().zip(updates) {
            copy_run(update, &mut out[place * self.slice..][..self.slice]);
        }
    }

    /// One slab of large slices: each thread writes those that go to its piece.
    fn pieces<T: Word>(&self, data: &[T], updates: &[T], out: &mut [T]) {
        let mut order: Vec<(usize, usize)> = self.places.iter().copied().zip(0..).collect();
        // Those of one place stay in order.
        order.sort_unstable();
        for_rows(out, self.slice, 1, |first, out| {
            out.clone_from_slice(&data[first * self.slice..][..out.len()]);
            let end = first + out.len() / self.slice;
            let from = order.partition_point(|&(place, _)| place < first);
            let updated = order[from..].iter().take_while(|&&(place, _)| place < end);
            for &(place, i) in updated {
                let update = &updates[i * self.slice..][..self.slice];
                copy_run(
                    update,
                    &mut out[(place - first) * self.slice..][..self.slice],
                );
            }
        });
    }
}

impl Mover for ScatterSlices {
    /// Overwrites: the inputs are the data and the updates.
    fn run<T: Word>(&self, inputs: &[&[T]], outputs: &mut [&mut [T]]) -> Result<(), OpError> {
        let (data, updates, out) = (inputs[0], inputs[1], &mut *outputs[0]);
        if out.is_empty() {
            return Ok(());
        }
        if out.len() > self.slab || self.places.is_empty() {
            self.slabs(data, updates, out);
        } else if self.slice.saturating_mul(size_of::<T>()) >= PARALLEL_SLICE {
            self.pieces(data, updates, out);
        } else {
            super::moving::copy(data, out);
            self.write(updates, out);
        }
        Ok(())
    }
}

impl Places for ScatterSlices {
    fn slab(&self) -> usize {
        self.slab
    }

    fn updates(&self) -> usize {
        self.places.len() * self.slice
    }

    #[inline(always)]
    fn visit(&self, slab: usize, mut f: impl FnMut(usize, usize)) {
        let mut update = slab * self.places.len() * self.slice;
        for &place in &self.places {
            let first = place * self.slice;
            for place in first..first + self.slice {
                f(place, update);
                update += 1;
            }
        }
    }
}
