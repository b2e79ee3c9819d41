//! Writes elements to places along an axis, or combines them with what is there.
//!
//! Tensors are seen as slabs: the parts below an index of the axes before `axis`. Updates of
//! different slabs never meet, so slabs may be done at the same time; within one, updates are
//! applied in their order, whatever the number of threads.

pub(crate) use super::gather::BLOCK;
use super::gather::{first_outside, positions};
use super::moving::{Mover, Odometer, Word, copy, for_rows};
use crate::op::OpError;
use crate::tensor::convert::{Compute, narrow, widen};
use crate::tensor::{Class, ElementType, Tensor};

/// How an update is combined with the element it meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reduction {
    Sum,
    /// The element minus its updates.
    Sub,
    Prod,
    /// The update, unless the element is less: an element that is not a number is replaced.
    Min,
    /// The update, unless the element is greater: an element that is not a number is replaced.
    Max,
    /// The element, unless the update is less: an element that is not a number stays.
    KeptMin,
    /// The element, unless the update is greater: an element that is not a number stays.
    KeptMax,
    Mean,
    /// Whether they differ, of booleans.
    Xor,
}

/// Where the updates of a scatter go, slab by slab.
pub(crate) trait Places: Sync {
    /// How many elements of the data are one slab.
    fn slab(&self) -> usize;

    /// Calls `f(place in the slab, element)` for the updates of a slab, in order. `read` gives
    /// the elements of at most [`BLOCK`] updates, the length of `buffer`, from a position on.
    fn visit<T>(
        &self,
        slab: usize,
        buffer: &mut [T],
        read: impl Fn(usize, &mut [T]),
        f: impl FnMut(usize, &T),
    );
}

/// Where the updates go.
#[derive(Debug)]
pub(crate) struct Scatter<'a> {
    indices: &'a Tensor,
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
    runs: Vec<usize>,
    run: usize,
}

impl<'a> Scatter<'a> {
    /// Scatters along `axis` into data of shape `data`. No dimension of `indices` is larger than
    /// the data's, but for the axis.
    pub(crate) fn new(data: &'a [usize], indices: &'a Tensor, axis: usize) -> Self {
        let updates: &[usize] = indices.shape();
        let (below, below_updates) = (&data[axis + 1..], &updates[axis + 1..]);
        let inner: usize = below.iter().product();
        let inner_updates: usize = below_updates.iter().product();
        let (runs, run) = if below == below_updates {
            (vec![0], inner)
        } else {
            let last = below.len() - 1;
            let run = below_updates[last];
            let strides = crate::tensor::Shape::from(below).strides();
            let mut place = Odometer::at(0, &below_updates[..last], &strides[..last]);
            let count = inner_updates / run.max(1);
            let mut runs = Vec::with_capacity(count);
            for _ in 0..count {
                runs.push(place.offset());
                place.step();
            }
            (runs, run)
        };
        Self {
            indices,
            outer: &data[..axis],
            outer_updates: &updates[..axis],
            axis: data[axis],
            inner,
            slab: data[axis] * inner,
            slab_updates: updates[axis] * inner_updates,
            runs,
            run,
        }
    }

    /// The position of the first index that is out of range, in row-major order.
    pub(crate) fn outside(&self, from_end: bool) -> Option<usize> {
        first_outside(self.indices, self.axis, from_end)
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
}

impl Places for Scatter<'_> {
    fn slab(&self) -> usize {
        self.slab
    }

    fn visit<T>(
        &self,
        slab: usize,
        buffer: &mut [T],
        read: impl Fn(usize, &mut [T]),
        mut f: impl FnMut(usize, &T),
    ) {
        let Some(first) = self.updates_of(slab) else {
            return;
        };
        let mut places = [0; BLOCK];
        let mut decoded = 0..0;
        // Along the innermost axis, one run holds all updates of the slab and the place within
        // the run adds nothing.
        let (run, step) = if self.inner == 1 && self.run == 1 {
            (self.slab_updates, 0)
        } else {
            (self.run, 1)
        };
        if run == 0 {
            return;
        }
        let runs = self.runs.iter().cycle();
        for (i, &offset) in (0..self.slab_updates / run).zip(runs) {
            let mut done = 0;
            while done < run {
                let next = i * run + done;
                if decoded.end <= next {
                    decoded = next..self.slab_updates.min(next + BLOCK);
                    let places = &mut places[..decoded.len()];
                    positions(self.indices, self.axis, true, first + next, places);
                    read(first + next, &mut buffer[..decoded.len()]);
                }
                let n = (run - done).min(decoded.end - next);
                let at = next - decoded.start;
                let mut place = offset + done * step;
                for (&index, element) in places[at..at + n].iter().zip(&buffer[at..at + n]) {
                    f(index * self.inner + place, element);
                    place += step;
                }
                done += n;
            }
        }
    }
}

impl Mover for Scatter<'_> {
    /// Overwrites: the inputs are the data and the updates. All indices are in range.
    fn run<T: Word>(&self, inputs: &[&[T]], outputs: &mut [&mut [T]]) -> Result<(), OpError> {
        let (data, updates, out) = (inputs[0], inputs[1], &mut *outputs[0]);
        copy(data, out);
        if updates.is_empty() {
            return Ok(());
        }
        for_rows(out, self.slab, 1, |first, out| {
            let mut buffer = vec![T::default(); BLOCK];
            for (i, out) in out.chunks_exact_mut(self.slab).enumerate() {
                let read = |start: usize, some: &mut [T]| {
                    some.clone_from_slice(&updates[start..start + some.len()]);
                };
                self.visit(first + i, &mut buffer, read, |place, element| {
                    out[place] = element.clone();
                });
            }
        });
        Ok(())
    }
}

/// Combines the updates with the data. All indices are in range.
///
/// # Errors
/// When memory runs out.
pub(crate) fn reduce<P: Places>(
    scatter: &P,
    reduction: Reduction,
    use_init_val: bool,
    inputs: [&Tensor; 2],
    output: &mut Tensor,
) -> Result<(), OpError> {
    let [data, updates] = inputs;
    let ty = data.element_type();
    // On booleans the sum is OR and the product AND: the greater and the lesser.
    let reduction = match reduction {
        Reduction::Sum if ty == ElementType::Boolean => Reduction::Max,
        Reduction::Prod if ty == ElementType::Boolean => Reduction::Min,
        Reduction::Sub if ty == ElementType::Boolean => Reduction::Xor,
        other => other,
    };
    let work = Work {
        scatter,
        reduction,
        use_init_val,
        data,
        updates,
    };
    match ty.class() {
        Some(Class::F32) => work.run::<f32>(output),
        Some(Class::F64) => work.run::<f64>(output),
        Some(Class::I64) => work.run::<i64>(output),
        Some(Class::U64) => work.run::<u64>(output),
        None => Err(OpError::unsupported(format!("{ty} cannot be reduced"))),
    }
}

struct Work<'a, P> {
    scatter: &'a P,
    reduction: Reduction,
    use_init_val: bool,
    data: &'a Tensor,
    updates: &'a Tensor,
}

/// Narrow types are widened about this many elements at a time.
const GROUP: usize = 256 << 10;

impl<P: Places> Work<'_, P> {
    fn run<C: Arithmetic>(&self, output: &mut Tensor) -> Result<(), OpError> {
        let slab = self.scatter.slab();
        if output.is_empty() {
            return Ok(());
        }
        if output.element_type() == C::TYPE {
            let out = output.as_mut_slice::<C>()?;
            widen(self.data, 0, out);
            self.slabs(0, out);
            return Ok(());
        }
        // Packed elements are narrowed from a multiple of 8 on.
        let group = (GROUP / slab).max(1).next_multiple_of(8) * slab;
        let mut wide = Vec::new();
        let len = output.len();
        wide.try_reserve_exact(group.min(len)).map_err(|_| {
            let bytes = group.min(len).saturating_mul(size_of::<C>());
            OpError::limit(format!("cannot allocate {bytes} bytes"))
        })?;
        wide.resize(group.min(len), C::default());
        for start in (0..len).step_by(group) {
            let wide = &mut wide[..group.min(len - start)];
            widen(self.data, start, wide);
            self.slabs(start / slab, wide);
            narrow(wide, output, start);
        }
        Ok(())
    }

    /// Applies the updates to slabs from `first` on.
    fn slabs<C: Arithmetic>(&self, first: usize, out: &mut [C]) {
        if self.updates.is_empty() {
            return;
        }
        let slab = self.scatter.slab();
        let mean = self.reduction == Reduction::Mean;
        for_rows(out, slab, 1, |more, out| {
            let len = if mean { slab } else { 0 };
            let mut sums = Sums::<C> {
                counts: vec![0; len],
                highs: vec![C::High::default(); len],
            };
            for (i, out) in out.chunks_exact_mut(slab).enumerate() {
                if mean {
                    self.mean(first + more + i, out, &mut sums);
                } else {
                    self.slab(first + more + i, out);
                }
            }
        });
    }

    fn slab<C: Arithmetic>(&self, slab: usize, out: &mut [C]) {
        if !self.use_init_val {
            let neutral = match self.reduction {
                Reduction::Sum | Reduction::Sub | Reduction::Xor | Reduction::Mean => C::default(),
                Reduction::Prod => C::ONE,
                Reduction::Min | Reduction::KeptMin => C::GREATEST,
                Reduction::Max | Reduction::KeptMax => C::LEAST,
            };
            self.touch(slab, |place| out[place] = neutral);
        }
        match self.reduction {
            Reduction::Sum | Reduction::Mean => self.fold(slab, out, C::plus),
            Reduction::Sub => self.fold(slab, out, C::minus),
            Reduction::Prod => self.fold(slab, out, C::times),
            Reduction::Xor => {
                self.fold(slab, out, |a, b| if a == b { C::default() } else { C::ONE });
            }
            Reduction::KeptMin => self.fold(slab, out, |a, b| if b < a { b } else { a }),
            Reduction::KeptMax => self.fold(slab, out, |a, b| if b > a { b } else { a }),
            Reduction::Min => self.fold(slab, out, C::lesser),
            Reduction::Max => self.fold(slab, out, C::greater),
        }
    }

    /// Calls `f` with the place of every update.
    fn touch(&self, slab: usize, mut f: impl FnMut(usize)) {
        let mut nothing = [(); BLOCK];
        self.scatter
            .visit(slab, &mut nothing, |_, _| {}, |place, ()| f(place));
    }

    fn fold<C: Arithmetic>(&self, slab: usize, out: &mut [C], f: impl Fn(C, C) -> C) {
        let read = |start: usize, some: &mut [C]| widen(self.updates, start, some);
        let mut buffer = [C::default(); BLOCK];
        self.scatter
            .visit(slab, &mut buffer, read, |place, &update| {
                out[place] = f(out[place], update);
            });
    }

    /// Sums stand in `out` while they are added up. The counts in `sums` are 0 before and after.
    fn mean<C: Arithmetic>(&self, slab: usize, out: &mut [C], sums: &mut Sums<C>) {
        let Sums { counts, highs } = sums;
        let read = |start: usize, some: &mut [C]| widen(self.updates, start, some);
        let mut buffer = [C::default(); BLOCK];
        self.scatter
            .visit(slab, &mut buffer, read, |place, &update| {
                if counts[place] == 0 && !self.use_init_val {
                    out[place] = update;
                } else {
                    out[place].add(&mut highs[place], update);
                }
                counts[place] += 1;
            });
        self.touch(slab, |place| {
            let count = std::mem::take(&mut counts[place]);
            if count > 0 {
                let high = std::mem::take(&mut highs[place]);
                out[place] = out[place].divide(high, count + usize::from(self.use_init_val));
            }
        });
    }
}

/// How many updates each element has met, and what of their sum does not fit in the element.
/// Both are zero pages until they are touched.
struct Sums<C: Arithmetic> {
    counts: Vec<usize>,
    highs: Vec<C::High>,
}

/// The arithmetic of reductions.
trait Arithmetic: Compute {
    const ONE: Self;
    const LEAST: Self;
    const GREATEST: Self;
    /// The high part of a sum: integers are added up exactly.
    type High: Clone + Default + std::fmt::Debug;

    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// Adds to a sum of which `self` is the low part.
    fn add(&mut self, high: &mut Self::High, other: Self);
    /// A sum divided, rounded toward minus infinity if it is an integer.
    fn divide(self, high: Self::High, count: usize) -> Self;

    /// As the reference implementation, which takes the update if one is not a number.
    fn lesser(self, update: Self) -> Self {
        if self < update { self } else { update }
    }

    /// As [`Arithmetic::lesser`].
    fn greater(self, update: Self) -> Self {
        if self > update { self } else { update }
    }
}

macro_rules! floats {
    ($($ty:ty),+) => {$(
        impl Arithmetic for $ty {
            const ONE: Self = 1.0;
            const LEAST: Self = <$ty>::NEG_INFINITY;
            const GREATEST: Self = <$ty>::INFINITY;
            type High = ();

            fn plus(self, other: Self) -> Self {
                self + other
            }

            fn minus(self, other: Self) -> Self {
                self - other
            }

            fn times(self, other: Self) -> Self {
                self * other
            }

            fn add(&mut self, (): &mut (), other: Self) {
                *self += other;
            }

            fn divide(self, (): (), count: usize) -> Self {
                self / count as $ty
            }
        }
    )+};
}

macro_rules! integers {
    ($($ty:ty),+) => {$(
        impl Arithmetic for $ty {
            const ONE: Self = 1;
            const LEAST: Self = <$ty>::MIN;
            const GREATEST: Self = <$ty>::MAX;
            type High = i64;

            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            fn add(&mut self, high: &mut i64, other: Self) {
                let (sum, over) = self.overflowing_add(other);
                // An overflow upward leaves the low part less than it was.
                *high += i64::from(over) * if sum < *self { 1 } else { -1 };
                *self = sum;
            }

            fn divide(self, high: i64, count: usize) -> Self {
                let sum = (i128::from(high) << 64) + i128::from(self);
                // A mean lies between the least and the greatest number: it fits.
                sum.div_euclid(count as i128) as $ty
            }
        }
    )+};
}

floats!(f32, f64);
integers!(i64, u64);
