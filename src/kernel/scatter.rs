//! Writes elements to places along an axis, or combines them with what is there.
//!
//! Tensors are seen as slabs: the parts below an index of the axes before `axis`. Updates of
//! different slabs never meet, so slabs may be done at the same time; where there are few, threads
//! share the places of a slab. At one place, updates are applied in their order, whatever the
//! number of threads.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::gather::first_outside;
use super::moving::{Mover, Odometer, Word, copy, for_rows};
use super::scatter_columns;
pub(crate) use super::scatter_reduce::{Reduction, reduce};
use super::scratch::{Reused, reused, reused_room, try_zeroed};
use super::simd::{is_amd, prefetch};
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

    /// Calls `f` as [`Places::visit`] for the updates of some columns alone. Places are counted as if rows
    /// had no others.
    fn visit_columns(&self, _slab: usize, _columns: Range<usize>, _f: impl FnMut(usize, usize)) {}

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
/// Pieces of fewer bytes stay in a near cache: nothing is asked for ahead.
const NEAR: usize = 512 << 10;
/// As many are in the last cache still: a processor of AMD writes to places in there faster than it finds out
/// which of many updates are for one of some threads.
const LAST: usize = 16 << 20;
/// How many updates are looked up before they are applied, where their places are far.
const AHEAD: usize = 128;
/// As many where all updates are for one thread: no more than the processor can wait for.
const TOGETHER: usize = 32;

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
    let whole = |row: usize, out: &mut [T]| {
        begin(row * slab, out);
        for (i, out) in out.chunks_exact_mut(slab).enumerate() {
            let slab = first + row + i;
            work(&mut Piece::whole(places, slab, out));
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
    let most = places.updates() / (out.len() / slab) > slab / 2;
    if threads == 1 || (most && is_amd() && size_of_val(out) < LAST) {
        return whole(0, out);
    }
    let len = slab.div_ceil(threads);
    for (i, out) in out.chunks_exact_mut(slab).enumerate() {
        out.par_chunks_mut(len).enumerate().share(|(k, out)| {
            let start = k * len;
            begin(i * slab + start, out);
            work(&mut Piece {
                places,
                slab: first + i,
                start,
                columns: None,
                out,
            });
        });
    }
}

/// A part of a slab that one thread owns.
pub(super) struct Piece<'a, P, T> {
    places: &'a P,
    slab: usize,
    /// The place in the slab where the part begins.
    start: usize,
    /// The columns of the slab that are the part, if it has not whole rows.
    columns: Option<Range<usize>>,
    pub(super) out: &'a mut [T],
}

impl<'a, P: Places, T> Piece<'a, P, T> {
    /// All of a slab.
    pub(super) fn whole(places: &'a P, slab: usize, out: &'a mut [T]) -> Self {
        Self {
            places,
            slab,
            start: 0,
            columns: None,
            out,
        }
    }

    /// Some columns of a slab, which lie together.
    pub(super) fn of_columns(
        places: &'a P,
        slab: usize,
        columns: Range<usize>,
        out: &'a mut [T],
    ) -> Self {
        Self {
            columns: Some(columns),
            ..Self::whole(places, slab, out)
        }
    }

    /// Calls `f(position in the piece, element there, position of the update)` for the updates that
    /// go to this piece, in order.
    #[inline(always)]
    pub(super) fn each(&mut self, mut f: impl FnMut(usize, &mut T, usize)) {
        let (slab, start, len) = (self.slab, self.start, self.out.len());
        let out = &mut *self.out;
        let base = out.as_ptr();
        let mut apply = |at: usize, update: usize| {
            if let Some(element) = out.get_mut(at) {
                f(at, element, update);
            }
        };
        let whole = len == self.places.slab();
        // What a processor of AMD does not find near it waits for while it goes on by itself.
        if is_amd() || size_of::<T>().saturating_mul(len) < NEAR {
            match &self.columns {
                Some(columns) => {
                    let columns = columns.clone();
                    return self.places.visit_columns(slab, columns, apply);
                }
                None if whole => return self.places.visit(slab, apply),
                None => {}
            }
        }
        if whole || self.columns.is_some() {
            let mut found = [(0, 0); TOGETHER];
            let mut count = 0;
            let together = |at, update| {
                found[count] = (at, update);
                prefetch(base, at);
                count += 1;
                if count == TOGETHER {
                    found.iter().for_each(|&(at, update)| apply(at, update));
                    count = 0;
                }
            };
            match &self.columns {
                Some(columns) => self.places.visit_columns(slab, columns.clone(), together),
                None => self.places.visit(slab, together),
            }
            let rest = &found[..count];
            return rest.iter().for_each(|&(at, update)| apply(at, update));
        }
        // Which updates are for this piece cannot be foretold: no branch depends on it.
        let mut found = [(0, 0); AHEAD];
        let mut count = 0;
        self.places.visit(slab, |place, update| {
            let at = place.wrapping_sub(start);
            found[count] = (at, update);
            prefetch(base, if at < len { at } else { 0 });
            count += usize::from(at < len);
            if count == AHEAD {
                found.iter().for_each(|&(at, update)| apply(at, update));
                count = 0;
            }
        });
        found[..count]
            .iter()
            .for_each(|&(at, update)| apply(at, update));
    }

    /// The same part of something else that has as many elements.
    pub(super) fn on<'b, U>(&'b self, out: &'b mut [U]) -> Piece<'b, P, U> {
        Piece {
            places: self.places,
            slab: self.slab,
            start: self.start,
            columns: self.columns.clone(),
            out,
        }
    }

    /// Calls `f(position, elements)` for the runs of elements that the piece consists of. A position is
    /// that in the slabs from `first` on.
    pub(super) fn runs(&mut self, first: usize, mut f: impl FnMut(usize, &mut [T])) {
        let slab = (self.slab - first) * self.places.slab();
        match (&self.columns, self.places.columns()) {
            (Some(columns), Some(width)) => {
                let lines = self.out.chunks_exact_mut(columns.len());
                for (line, at) in lines.zip((slab + columns.start..).step_by(width)) {
                    f(at, line);
                }
            }
            _ => f(slab + self.start, self.out),
        }
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
    /// The size of the axis, and the number of elements below one index of it.
    axis: usize,
    inner: usize,
    /// How many elements of one slab's data, and of its updates.
    slab: usize,
    slab_updates: usize,
    /// Below one index of the axis, updates come in runs of `run` neighbouring elements, which
    /// begin at these offsets in the data.
    runs: Reused<usize>,
    run: usize,
    /// Whether negative indices count from the end of the axis.
    from_end: bool,
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
            axis: data[axis],
            inner,
            slab: data[axis] * inner,
            slab_updates: updates[axis] * inner_updates,
            runs,
            run,
            from_end,
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
        first_outside(self.indices, self.axis, self.from_end)
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

    /// As [`Places::visit`], or [`Places::visit_columns`] if there are some.
    #[inline(always)]
    fn visit_some(&self, slab: usize, columns: Option<Range<usize>>, f: impl FnMut(usize, usize)) {
        let Some(first) = self.updates_of(slab) else {
            return;
        };
        let range = first..first + self.slab_updates;
        let (ty, bytes) = (self.indices.element_type(), self.indices.bytes());
        if let Some(indices) = i32::native(ty, bytes) {
            self.walk(&indices[range], first, columns, f);
        } else if let Some(indices) = i64::native(ty, bytes) {
            self.walk(&indices[range], first, columns, f);
        } else {
            self.walk(&self.wide[range], first, columns, f);
        }
    }

    /// The same, with the indices of the slab.
    #[inline(always)]
    fn walk<I: Copy + Into<i64>>(
        &self,
        indices: &[I],
        first: usize,
        columns: Option<Range<usize>>,
        mut f: impl FnMut(usize, usize),
    ) {
        let wrap = if self.from_end { self.axis } else { 0 };
        let mut last = 0;
        let mut position = |index: I| {
            let index: i64 = index.into();
            // An index below zero is far above every size once its bits are taken as unsigned.
            let position = index.cast_unsigned() as usize;
            let position = position.wrapping_add(if index < 0 { wrap } else { 0 });
            last = last.max(position);
            position
        };
        if let Some(columns) = columns {
            let rows = indices.chunks_exact(self.run);
            for (row, first) in rows.zip((first..).step_by(self.run)) {
                for (j, &index) in row[columns.clone()].iter().enumerate() {
                    let above = position(index).wrapping_mul(columns.len());
                    f(above.wrapping_add(j), first + columns.start + j);
                }
            }
        } else if self.inner == 1 {
            for (k, &index) in indices.iter().enumerate() {
                f(position(index), first + k);
            }
        } else if self.run > 0 {
            let mut k = first;
            let runs = indices.chunks_exact(self.run);
            for (run, &offset) in runs.zip(self.runs.iter().cycle()) {
                for (j, &index) in run.iter().enumerate() {
                    let above = position(index).wrapping_mul(self.inner);
                    f(above.wrapping_add(offset + j), k);
                    k += 1;
                }
            }
        }
        if last >= self.axis {
            self.met_outside.store(true, Ordering::Relaxed);
        }
    }
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
        self.visit_some(slab, None, f);
    }

    fn columns(&self) -> Option<usize> {
        (self.inner > 1 && self.run == self.inner).then_some(self.inner)
    }

    #[inline(always)]
    fn visit_columns(&self, slab: usize, columns: Range<usize>, f: impl FnMut(usize, usize)) {
        self.visit_some(slab, Some(columns), f);
    }
}

/// Overwrites elements: the inputs are the data and the updates.
pub(super) fn overwrite<P: Places, T: Word>(places: &P, data: &[T], updates: &[T], out: &mut [T]) {
    let begin = |start: usize, piece: &mut [T]| copy(&data[start..][..piece.len()], piece);
    scatter(places, 0, out, size_of::<T>(), begin, |piece| {
        piece.each(|_, element, update| *element = updates[update].clone());
    });
}

impl Mover for Scatter<'_> {
    /// Overwrites: the inputs are the data and the updates.
    fn run<T: Word>(&self, inputs: &[&[T]], outputs: &mut [&mut [T]]) -> Result<(), OpError> {
        overwrite(self, inputs[0], inputs[1], outputs[0]);
        Ok(())
    }
}
