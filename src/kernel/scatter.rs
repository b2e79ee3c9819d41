//! Writes elements to places along an axis, or combines them with what is there.
//!
//! Tensors are seen as slabs: the parts below an index of the axes before `axis`. Updates of
//! different slabs never meet, so slabs may be done at the same time; where there are few, threads
//! share the places of a slab. At one place, updates are applied in their order, whatever the
//! number of threads.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::gather::first_outside;
use super::moving::{Mover, Odometer, Word, copy, for_rows};
use super::scatter_columns;
use super::scatter_group::{Group, Whose};
use super::scatter_own;
use super::scatter_piece::{NEAR, Piece};
pub(crate) use super::scatter_reduce::{Reduction, reduce};
use super::scatter_walk::Walk;
use super::scratch::{reused, reused_room, try_zeroed};
use super::simd::is_amd;
use crate::limits::Share;
use crate::op::OpError;
use crate::tensor::Tensor;
use crate::tensor::convert::{Compute, widen};

/// Where the updates of a scatter go, slab by slab.
pub(crate) trait Places: Sync {
    /// How many elements of the data are one slab.
    fn slab(&self) -> usize;

    /// How many updates there are in all.
    fn updates(&self) -> usize;

    /// Calls `f(place in the slab, position of the update)` for the updates of a slab, in order. A
    /// place may be outside the slab: nothing goes there.
    fn visit(&self, slab: usize, f: impl FnMut(usize, usize));

    /// Where a slab is rows of places, and so are its updates, each of which stays in its column: how many
    /// columns there are.
    fn columns(&self) -> Option<usize> {
        None
    }

    /// Calls `f(places)` for the updates that [`Places::visit`] calls it for, but for some at a time; those of
    /// columns alone where they are asked for, with places counted as if rows had no others. Other updates follow each
    /// other. `false` where this is not made for that, which is nowhere where there are columns: then
    /// nothing was done.
    fn visit_together(&self, _slab: usize, _whose: Whose, _f: impl FnMut(Group<'_>)) -> bool {
        false
    }

    /// Whether threads that share a slab find their own updates in vectors, of those that
    /// [`Places::visit_together`] gives.
    fn is_fast_to_share(&self) -> bool {
        false
    }

    /// Where there is one slab, and updates come as slices that are long enough: copies the data, and calls
    /// `meet(slice, update)` for all updates, those of a slice in order.
    fn each_slice<T: Clone + Send + Sync>(
        &self,
        _data: &[T],
        _updates: &[T],
        _out: &mut [T],
        _meet: impl Fn(&mut [T], &[T]) + Sync,
    ) -> bool {
        false
    }
}

/// Fewer elements than this, of data and updates, stay on the calling thread.
pub(super) const PARALLEL: usize = 1 << 16;
/// Bytes up to which a table is in the last cache still: a processor of AMD writes to places in there faster
/// than it finds out which of many updates are for one of some threads, unless vectors find that.
pub(super) const LAST: usize = 16 << 20;
/// Bytes up to which a table is in the second cache: one thread is as fast in any case.
const SECOND: usize = 1 << 20;
/// Places of fewer updates are found one by one.
const SEVERAL: usize = 256;
/// Updates are many if there is one for so many elements.
const MANY: usize = 8;
/// Goes through all of `out`, slabs from `first` on, piece by piece: `begin(first element, piece)`
/// fills a piece, `work` applies the updates that go there. Pieces are done at the same time. So many bytes of
/// each element are written where updates meet it.
pub(super) fn scatter<P: Places, T: Clone + Default + Send + Sync + 'static>(
    places: &P,
    first: usize,
    out: &mut [T],
    bytes: usize,
    begin: impl Fn(usize, &mut [T]) + Sync,
    work: impl Fn(&mut Piece<'_, P, T>) + Sync,
) {
    let slab = places.slab();
    let threads = rayon::current_num_threads();
    // What updates go to is in a near cache then, if it fits there.
    let some = (NEAR / slab.saturating_mul(bytes)).max(1);
    let whole = |row: usize, out: &mut [T]| {
        for (out, row) in out.chunks_mut(some * slab).zip((row..).step_by(some)) {
            begin(row * slab, out);
            for (i, out) in out.chunks_exact_mut(slab).enumerate() {
                work(&mut Piece::whole(places, first + row + i, out));
            }
        }
    };
    let small = out.len().saturating_add(places.updates()) < PARALLEL;
    if small {
        return whole(0, out);
    }
    if threads > 1 && out.len() / slab >= threads {
        return for_rows(out, slab, 1, whole);
    }
    if scatter_columns::scatter(places, first, out, bytes, &begin, &work) {
        return;
    }
    // Threads that share a slab go through all of its updates each.
    let many = places.updates() / (out.len() / slab) > slab / MANY;
    let bytes = size_of_val(out);
    let slow = bytes < SECOND || !places.is_fast_to_share();
    if threads == 1 || (many && slow && is_amd() && bytes < LAST) {
        return whole(0, out);
    }
    let len = slab.div_ceil(threads);
    for (i, out) in out.chunks_exact_mut(slab).enumerate() {
        out.par_chunks_mut(len).enumerate().share(|(k, out)| {
            let start = k * len;
            begin(i * slab + start, out);
            work(&mut Piece::of_places(places, first + i, start, out));
        });
    }
}

/// Where the updates go.
#[derive(Debug)]
pub(crate) struct Scatter<'a> {
    indices: &'a Tensor,
    /// Indices that are neither `i32` nor `i64`, as `i64`.
    wide: Vec<i64>,
    /// The dimensions before the axis, of the data and of the updates.
    outer: &'a [usize],
    outer_updates: &'a [usize],
    walk: Walk,
    /// How many elements of one slab's data, and of its updates.
    slab: usize,
    slab_updates: usize,
    /// Whether an index that was out of range has been met.
    met_outside: AtomicBool,
}

impl<'a> Scatter<'a> {
    /// Scatters along `axis` into data of shape `data`. No dimension of `indices` is larger than
    /// the data's, but for the axis.
    ///
    /// # Errors
    /// When there is no memory for what is known of each run.
    pub(crate) fn new(
        data: &'a [usize],
        indices: &'a Tensor,
        axis: usize,
        from_end: bool,
    ) -> Result<Self, OpError> {
        let updates: &[usize] = indices.shape();
        let (below, below_updates) = (&data[axis + 1..], &updates[axis + 1..]);
        let inner: usize = below.iter().product();
        let inner_updates: usize = below_updates.iter().product();
        let (runs, run) = if below == below_updates {
            (reused(0, 1)?, inner)
        } else {
            let last = below.len() - 1;
            let run = below_updates[last];
            let strides = crate::tensor::Shape::from(below).strides();
            let mut place = Odometer::at(0, &below_updates[..last], &strides[..last]);
            let count = inner_updates / run.max(1);
            let mut runs = reused_room(count)?;
            for _ in 0..count {
                runs.push(place.offset());
                place.step();
            }
            (runs, run)
        };
        Ok(Self {
            indices,
            wide: Vec::new(),
            outer: &data[..axis],
            outer_updates: &updates[..axis],
            walk: Walk {
                axis: data[axis],
                inner,
                runs,
                run,
                from_end,
            },
            slab: data[axis] * inner,
            slab_updates: updates[axis] * inner_updates,
            met_outside: AtomicBool::new(false),
        })
    }

    /// Prepares the indices, to be called before they are scattered: the position of the first
    /// index that is out of range, in row-major order. Indices of the usual types are only looked
    /// at while they are scattered; see [`Scatter::met_outside`].
    ///
    /// # Errors
    /// When there is no memory for the indices.
    pub(crate) fn outside(&mut self) -> Result<Option<usize>, OpError> {
        let (ty, bytes) = (self.indices.element_type(), self.indices.bytes());
        if i32::native(ty, bytes).is_some() || i64::native(ty, bytes).is_some() {
            return Ok(None);
        }
        let first = self.first_outside();
        if first.is_none() {
            self.wide = try_zeroed(self.indices.len())?;
            // Every index is inside its axis, so it fits whatever its type.
            match ty.class() {
                Some(crate::tensor::Class::U64) => {
                    let mut unsigned = try_zeroed::<u64>(self.wide.len())?;
                    widen(self.indices, 0, &mut unsigned);
                    let numbers = unsigned.iter().map(|x| x.cast_signed());
                    self.wide
                        .iter_mut()
                        .zip(numbers)
                        .for_each(|(to, x)| *to = x);
                }
                _ => widen(self.indices, 0, &mut self.wide),
            }
        }
        Ok(first)
    }

    /// After scattering: the position of the first index that was out of range. What was scattered
    /// means nothing then.
    pub(crate) fn met_outside(&self) -> Option<usize> {
        if self.met_outside.load(Ordering::Relaxed) {
            return self.first_outside();
        }
        None
    }

    fn first_outside(&self) -> Option<usize> {
        first_outside(self.indices, self.walk.axis, self.walk.from_end)
    }

    /// The first update of a slab, if it has any.
    fn updates_of(&self, slab: usize) -> Option<usize> {
        if self.outer == self.outer_updates {
            return Some(slab * self.slab_updates);
        }
        let mut rest = slab;
        let mut index = 0;
        let mut stride = 1;
        for (&dim, &updates) in self.outer.iter().zip(self.outer_updates).rev() {
            if rest % dim >= updates {
                return None;
            }
            index += rest % dim * stride;
            stride *= updates;
            rest /= dim;
        }
        Some(index * self.slab_updates)
    }

    /// The first update of a slab, and the indices of all, if it has any.
    fn indices_of(&self, slab: usize) -> Option<(usize, Indices<'_>)> {
        let first = self.updates_of(slab)?;
        let range = first..first + self.slab_updates;
        let (ty, bytes) = (self.indices.element_type(), self.indices.bytes());
        let indices = if let Some(indices) = i32::native(ty, bytes) {
            Indices::Narrow(&indices[range])
        } else if let Some(indices) = i64::native(ty, bytes) {
            Indices::Wide(&indices[range])
        } else {
            Indices::Wide(&self.wide[range])
        };
        Some((first, indices))
    }

    /// Whether 31 bits tell each place of a slab, and there are so many updates of it that it pays to find their
    /// places together.
    fn go_together(&self) -> bool {
        i32::try_from(self.slab).is_ok() && self.slab_updates >= SEVERAL
    }

    /// Notes if an index was out of range.
    fn note(&self, inside: bool) {
        if !inside {
            self.met_outside.store(true, Ordering::Relaxed);
        }
    }
}

/// Indices of the types that nearly all have.
enum Indices<'a> {
    Narrow(&'a [i32]),
    Wide(&'a [i64]),
}

impl Places for Scatter<'_> {
    fn slab(&self) -> usize {
        self.slab
    }

    fn updates(&self) -> usize {
        self.indices.len()
    }

    #[inline(always)]
    fn visit(&self, slab: usize, f: impl FnMut(usize, usize)) {
        let inside = match self.indices_of(slab) {
            None => true,
            Some((first, Indices::Narrow(all))) => self.walk.each(all, first, f),
            Some((first, Indices::Wide(all))) => self.walk.each(all, first, f),
        };
        self.note(inside);
    }

    fn columns(&self) -> Option<usize> {
        self.walk.columns().filter(|_| self.go_together())
    }

    fn is_fast_to_share(&self) -> bool {
        self.go_together() && self.walk.runs.len() == 1 && scatter_own::finds_in_vectors()
    }

    #[inline(always)]
    fn visit_together(&self, slab: usize, whose: Whose, mut f: impl FnMut(Group<'_>)) -> bool {
        if !self.go_together() {
            return false;
        }
        let inside = match self.indices_of(slab) {
            None => true,
            Some((first, Indices::Narrow(all))) => self.walk.together(all, first, whose, &mut f),
            Some((first, Indices::Wide(all))) => self.walk.together(all, first, whose, &mut f),
        };
        self.note(inside);
        true
    }
}

/// Overwrites elements: the inputs are the data and the updates.
pub(super) fn overwrite<P: Places, T: Word>(places: &P, data: &[T], updates: &[T], out: &mut [T]) {
    let begin = |start: usize, piece: &mut [T]| copy(&data[start..][..piece.len()], piece);
    scatter(places, 0, out, size_of::<T>(), begin, |piece| {
        piece.each(updates, |_, element, update| element.clone_from(update));
    });
}

impl Mover for Scatter<'_> {
    /// Overwrites: the inputs are the data and the updates.
    fn run<T: Word>(&self, inputs: &[&[T]], outputs: &mut [&mut [T]]) -> Result<(), OpError> {
        overwrite(self, inputs[0], inputs[1], outputs[0]);
        Ok(())
    }
}
