//! Writes slices to places, or combines them with what is there.

use rayon::prelude::*;

use super::gather::{OUTSIDE, outside_of};
use super::moving::{Mover, Word, copy, copy_run, for_rows};
use super::scatter::{PARALLEL, Places, overwrite};
use super::scatter_group::{Group, TOGETHER, Whose};
use super::scatter_own;
use super::scatter_piece::ask_for_next;
use super::scratch::{Reused, reused_any};
use super::simd::{is_recent_amd, prefetch};
use super::tuples::Tuples;
use crate::limits::{self, Share};
use crate::op::OpError;
use crate::tensor::LINE;

/// Data seen as `[outer, places, slice]` takes updates `[outer, count, slice]` at `count` places.
#[derive(Debug)]
pub(crate) struct ScatterSlices {
    /// Where the slices go, counted in slices.
    places: Reused<usize>,
    slice: usize,
    /// The number of elements below one outer index of the data.
    slab: usize,
}

/// Slices of fewer bytes are written by one thread over a copy of the data: to find its own would take each of
/// several longer than to write all.
const LONG: usize = 64;
/// How many slices ahead places are asked for, at most, and how many of their bytes.
const AHEAD: usize = 8;
const AHEAD_BYTES: usize = 512;

impl ScatterSlices {
    /// `count` tuples say where slices of `slice` elements go.
    ///
    /// # Errors
    /// When memory or time runs out.
    pub(crate) fn new(
        tuples: &Tuples<'_>,
        count: usize,
        slice: usize,
        slab: usize,
    ) -> Result<Self, OpError> {
        let mut places = reused_any(OUTSIDE, count)?;
        for_rows(&mut places, 1, 1, |first, some| tuples.places(first, some));
        // What was left undone would be places of another table.
        limits::check()?;
        Ok(Self {
            places,
            slice,
            slab,
        })
    }

    /// The first tuple with an index out of range; there must be none to scatter.
    pub(crate) fn outside(&self) -> Option<usize> {
        outside_of(&self.places)
    }

    /// Whether slices are single elements, with places of 32 bits.
    fn by_elements(&self) -> bool {
        self.slice == 1 && u32::try_from(self.slab).is_ok()
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
            let together = Whose::All.together();
            let some = self.places.chunks(together);
            for (places, updates) in some.zip(updates.chunks(together)) {
                ask_for_next(places);
                ask_for_next(updates);
                for (&place, update) in places.iter().zip(updates) {
                    out[place].clone_from(update);
                }
            }
            return;
        }
        self.in_order(updates, 0, out, |slice, update| copy_run(update, slice));
    }

    /// Calls `meet(slice, update)` for the updates of the slices in `out`, those from `first` on.
    fn in_order<T>(
        &self,
        updates: &[T],
        first: usize,
        out: &mut [T],
        meet: impl Fn(&mut [T], &[T]),
    ) {
        let asked = self.slice.min(AHEAD_BYTES / size_of::<T>());
        // A processor foresees updates that are all read, one after the other, but not a part of them.
        let some = out.len() < self.slab;
        let count = out.len() / self.slice;
        let ask = |out: &[T], (place, update): (usize, usize)| {
            for at in (0..asked).step_by((LINE / size_of::<T>()).max(1)) {
                prefetch(out.as_ptr(), place * self.slice + at);
                if some {
                    prefetch(updates.as_ptr(), update * self.slice + at);
                }
            }
        };
        let put = |out: &mut [T], (place, update): (usize, usize)| {
            let update = &updates[update * self.slice..][..self.slice];
            meet(&mut out[place * self.slice..][..self.slice], update);
        };
        let ahead = if is_recent_amd() { AHEAD } else { AHEAD / 2 };
        // Which updates are for these slices cannot be foretold: no branch depends on it.
        let (mut here, mut found) = ([(0, 0); TOGETHER + AHEAD], 0);
        let mut all = self.places.iter().enumerate();
        while all.len() > 0 {
            for (update, &place) in all.by_ref().take(TOGETHER) {
                let place = place.wrapping_sub(first);
                here[found] = (place, update);
                found += usize::from(place < count);
            }
            // The last ones wait until those after them are known.
            let ready = found.saturating_sub(ahead);
            for i in 0..ready {
                ask(out, here[i + ahead]);
                put(out, here[i]);
            }
            here.copy_within(ready..found, 0);
            found -= ready;
        }
        here[..found].iter().for_each(|&last| put(out, last));
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
        } else if self.is_fast_to_share() && rayon::current_num_threads() > 1 {
            overwrite(self, data, updates, out);
        } else if !self.each_slice(data, updates, out, |slice, update| copy_run(update, slice)) {
            copy(data, out);
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
        for &place in self.places.iter() {
            let first = place * self.slice;
            for place in first..first + self.slice {
                f(place, update);
                update += 1;
            }
        }
    }

    fn is_fast_to_share(&self) -> bool {
        self.by_elements() && scatter_own::finds_in_vectors()
    }

    #[inline(always)]
    fn visit_together(&self, slab: usize, whose: Whose, mut f: impl FnMut(Group<'_>)) -> bool {
        if !self.by_elements() {
            return false;
        }
        let mut narrow = [0; TOGETHER];
        let some = whose.together();
        let first = (slab * self.places.len()..).step_by(some);
        for (first, places) in first.zip(self.places.chunks(some)) {
            ask_for_next(places);
            for (to, &place) in narrow.iter_mut().zip(places) {
                *to = place as u32;
            }
            f(Group::line(&narrow[..places.len()], first));
        }
        true
    }

    /// Each thread owns a part of the slices, and goes through all updates in their order, which lie one
    /// after the other.
    fn each_slice<T: Clone + Send + Sync>(
        &self,
        data: &[T],
        updates: &[T],
        out: &mut [T],
        meet: impl Fn(&mut [T], &[T]) + Sync,
    ) -> bool {
        if self.slice.saturating_mul(size_of::<T>()) < LONG {
            return false;
        }
        let threads = rayon::current_num_threads();
        if threads == 1 || out.len().saturating_add(updates.len()) < PARALLEL {
            copy(data, out);
            self.in_order(updates, 0, out, meet);
            return true;
        }
        let count = (self.slab / self.slice).div_ceil(threads);
        let parts = out.par_chunks_mut(count * self.slice).enumerate();
        parts.share(|(i, out)| {
            let first = i * count;
            out.clone_from_slice(&data[first * self.slice..][..out.len()]);
            self.in_order(updates, first, out, &meet);
        });
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::scatter::{Reduction, reduce};
    use super::*;
    use crate::Limits;
    use crate::kernel::scratch::reused;
    use crate::tensor::{ElementType, Tensor};

    /// The data with updates written, and added, one after the other.
    fn plain(data: &[f32], places: &[i64], updates: &[f32], slice: usize) -> (Vec<f32>, Vec<f32>) {
        let (mut written, mut added) = (data.to_vec(), data.to_vec());
        for (&place, update) in places.iter().zip(updates.chunks_exact(slice)) {
            let first = place as usize * slice;
            for (i, &x) in (first..).zip(update) {
                written[i] = x;
                added[i] += x;
            }
        }
        (written, added)
    }

    #[test]
    fn places_that_were_not_found_are_none() {
        let rows = 1 << 17;
        drop(reused(rows, rows));
        let indices = Tensor::zeros(ElementType::I32, [rows, 1]).expect("memory");
        let made = || ScatterSlices::new(&Tuples::new(&indices, &[9], true), rows, 1, 9);
        assert_eq!(made().expect("in time").places[..], vec![0; rows]);
        let late = Limits {
            deadline: Some(Instant::now()),
            ..Limits::default()
        };
        drop(reused(rows, rows));
        assert!(limits::under(&late, made).is_err());
    }

    #[test]
    fn long_and_short_slices() {
        // So many places, updates and elements of a slice.
        for (rows, count, slice) in [
            (1, 3, 16),
            (37, 0, 20),
            (37, 5, 65),
            (37, 300, 15),
            (37, 300, 33),
            (5003, 2, 64),
            (5003, 4001, 67),
            (300_007, 50_021, 1),
        ] {
            let number = |i: usize| (i.wrapping_mul(2_654_435_761) % 1009) as f32 * 0.37;
            let data: Vec<f32> = (0..rows * slice).map(number).collect();
            let updates: Vec<f32> = (7..7 + count * slice).map(number).collect();
            // Some places come several times.
            let places: Vec<i64> = (0..count).map(|i| (i * i % rows) as i64).collect();
            let (written, added) = plain(&data, &places, &updates, slice);
            let tensor = |shape: [usize; 2], x: &[f32]| Tensor::new(shape, x).expect("as many");
            let indices = Tensor::new([count, 1], &places).expect("one for each update");
            for threads in [1, 2] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                pool.expect("threads").install(|| {
                    let tuples = Tuples::new(&indices, &[rows], true);
                    let scatter = ScatterSlices::new(&tuples, count, slice, data.len());
                    let scatter = scatter.expect("memory");
                    let mut out = vec![f32::NAN.to_bits(); data.len()];
                    let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                    let inputs = [bits(&data), bits(&updates)];
                    let moved = scatter.run(&[&inputs[0], &inputs[1]], &mut [&mut out]);
                    moved.expect("places inside");
                    assert_eq!(out, bits(&written), "{rows} {count} {slice} {threads}");
                    let data = tensor([rows, slice], &data);
                    let updates = tensor([count, slice], &updates);
                    let mut sums = data.clone();
                    sums.as_mut_slice::<f32>().expect("f32").fill(f32::NAN);
                    let inputs = [&data, &updates];
                    reduce(&scatter, Reduction::Sum, true, inputs, &mut sums).expect("numbers");
                    let sums = sums.as_slice::<f32>().expect("f32");
                    assert_eq!(sums, added, "{rows} {count} {slice} {threads}");
                });
            }
        }
    }
}
