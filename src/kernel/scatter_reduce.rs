//! Combines updates with the elements at their places.

use rayon::prelude::*;

use super::scatter::{Places, scatter};
use super::scatter_arithmetic::Arithmetic;
use super::scatter_few::Few;
use super::scatter_mean::means;
use super::scatter_piece::Piece;
use super::scratch::{Reused, or_refuse, reused};
use super::simd::vectorize_mut;
use crate::limits::Share;
use crate::op::OpError;
use crate::tensor::convert::{narrow, widen};
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

/// Combines the updates with the data.
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
        Some(Class::I64) if ty == ElementType::I32 => work.run::<i32>(output),
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
/// Where there are this many times fewer updates than elements, only the elements they meet are
/// looked at.
const FEW: usize = 4;
/// What one thread widens at a time, in elements.
const PIECE: usize = 64 << 10;

impl<P: Places> Work<'_, P> {
    fn run<C: Arithmetic>(&self, output: &mut Tensor) -> Result<(), OpError> {
        if output.is_empty() {
            return Ok(());
        }
        let (ty, len) = (output.element_type(), output.len());
        let few = self.scatter.updates().saturating_mul(FEW) < len;
        let fits = u32::try_from(len).is_ok() && !ty.is_packed();
        let native = C::native(ty, self.updates.bytes());
        if few && fits && (native.is_none() || self.reduction == Reduction::Mean) {
            let few = Few {
                reduction: self.reduction,
                use_init_val: self.use_init_val,
                data: self.data,
                updates: self.updates,
            };
            return few.reduce::<C>(self.scatter, output);
        }
        if let (Some(updates), Some(data)) = (native, C::native(ty, self.data.bytes())) {
            let out = output.as_mut_slice::<C>()?;
            self.slabs(0, data, updates, out);
            return Ok(());
        }
        self.groups::<C>(output)
    }

    /// Widens some slabs at a time, and all their updates.
    fn groups<C: Arithmetic>(&self, output: &mut Tensor) -> Result<(), OpError> {
        let (slab, len) = (self.scatter.slab(), output.len());
        // Packed elements are narrowed from a multiple of 8 on.
        let group = (GROUP / slab).max(1).next_multiple_of(8) * slab;
        let mut wide = allocate::<C>(group.min(len))?;
        let mut out = allocate::<C>(group.min(len))?;
        let mut updates = allocate::<C>(self.updates.len())?;
        widen_all(self.updates, &mut updates);
        for start in (0..len).step_by(group) {
            let n = group.min(len - start);
            widen(self.data, start, &mut wide[..n]);
            self.slabs(start / slab, &wide[..n], &updates, &mut out[..n]);
            narrow(&out[..n], output, start);
        }
        Ok(())
    }

    /// Applies the updates to slabs from `first` on, which `data` holds.
    fn slabs<C: Arithmetic>(&self, first: usize, data: &[C], updates: &[C], out: &mut [C]) {
        if self.use_init_val
            && self.reduction != Reduction::Mean
            && out.len() == self.scatter.slab()
            && self.data.len() == out.len()
            && self.slices(data, updates, out)
        {
            return;
        }
        let mark = self.mark();
        let begin = |start: usize, piece: &mut [C]| match mark {
            Some(Mark { element, .. }) => piece.fill(element),
            None => piece.copy_from_slice(&data[start..start + piece.len()]),
        };
        let bytes = match self.reduction {
            Reduction::Mean => size_of::<C::Near>(),
            _ => size_of::<C>(),
        };
        scatter(self.scatter, first, out, bytes, begin, |piece| {
            match (self.reduction, mark) {
                (Reduction::Mean, _) => means(self.use_init_val, updates, piece),
                (_, Some(mark)) => self.marked(mark, first, data, updates, piece),
                _ => self.piece(updates, piece),
            }
        });
    }

    /// Applies the updates slice by slice, where they come so.
    fn slices<C: Arithmetic>(&self, data: &[C], updates: &[C], out: &mut [C]) -> bool {
        let mut done = false;
        self.reduction.combine::<C>(Slices {
            places: self.scatter,
            inputs: [data, updates],
            out,
            done: &mut done,
        });
        done
    }

    /// Whether there are so many updates that it pays to remember which elements have met one.
    fn many(&self) -> bool {
        self.scatter.updates() > self.data.len()
    }

    /// Applies the updates to a piece that holds the data.
    fn piece<C: Arithmetic>(&self, updates: &[C], piece: &mut Piece<'_, P, C>) {
        let neutral = self.reduction.neutral();
        let mut met = Reused::default();
        if !self.use_init_val && self.many() {
            let Some(fresh) = or_refuse(reused(false, piece.out.len())) else {
                return;
            };
            met = fresh;
        } else if !self.use_init_val {
            piece.each(updates, |_, element, _| *element = neutral);
        }
        self.reduction.combine::<C>(Fold {
            updates,
            piece,
            met,
            neutral,
        });
    }

    /// Where initial values do not count: a neutral element that no updates are reduced to unless one of them is
    /// the same, and that pieces begin with if there are many updates.
    fn mark<C: Arithmetic>(&self) -> Option<Mark<C>> {
        let neutral = self.reduction.neutral();
        let (by, element) = match self.reduction {
            _ if self.use_init_val || !self.many() => return None,
            Reduction::Sum => (By::Sum, C::NOTHING?),
            Reduction::Min => (By::Min, neutral),
            Reduction::Max => (By::Max, neutral),
            _ => return None,
        };
        Some(Mark { by, element })
    }

    /// Applies the updates to a piece of slabs from `first` on, which `data` holds and which is full of a mark:
    /// elements that keep it have met no update, or none that differs from it.
    fn marked<C: Arithmetic>(
        &self,
        mark: Mark<C>,
        first: usize,
        data: &[C],
        updates: &[C],
        piece: &mut Piece<'_, P, C>,
    ) {
        let mut met = Reused::default();
        let (by, mark) = (mark.by, mark.element);
        by.combine::<C>(Marked {
            updates,
            piece,
            mark,
            met: &mut met,
        });
        let neutral = self.reduction.neutral();
        let mut met = &met[..];
        piece.runs(first, |at, run| {
            let before = &data[at..][..run.len()];
            if met.is_empty() {
                for (element, &before) in run.iter_mut().zip(before) {
                    *element = if element.same(mark) { before } else { *element };
                }
                return;
            }
            let (now, rest) = met.split_at(run.len());
            for ((element, &before), &met) in run.iter_mut().zip(before).zip(now) {
                if element.same(mark) {
                    *element = if met { neutral } else { before };
                }
            }
            met = rest;
        });
    }
}

impl Reduction {
    /// What an update that is combined with it leaves as it is.
    pub(super) fn neutral<C: Arithmetic>(self) -> C {
        match self {
            Reduction::Sum | Reduction::Sub | Reduction::Xor | Reduction::Mean => C::default(),
            Reduction::Prod => C::ONE,
            Reduction::Min | Reduction::KeptMin => C::GREATEST,
            Reduction::Max | Reduction::KeptMax => C::LEAST,
        }
    }

    /// Gives the reduction as a function to `then`, which is compiled for each, but not twice for integers.
    pub(super) fn combine<C: Arithmetic>(self, mut then: impl Then<C>) {
        match self {
            Reduction::Sum | Reduction::Mean => then.with(C::plus),
            Reduction::Sub => then.with(C::minus),
            Reduction::Prod => then.with(C::times),
            Reduction::KeptMin if const { C::HAS_NAN } => {
                then.with(|a, b| if b < a { b } else { a });
            }
            Reduction::KeptMax if const { C::HAS_NAN } => {
                then.with(|a, b| if b > a { b } else { a });
            }
            Reduction::Min | Reduction::KeptMin => then.with(C::lesser),
            Reduction::Max | Reduction::KeptMax => then.with(C::greater),
            Reduction::Xor => then.with(|a, b| if a == b { C::default() } else { C::ONE }),
        }
    }
}

/// An element that no updates are reduced to unless one is the same.
#[derive(Clone, Copy)]
struct Mark<C> {
    by: By,
    element: C,
}

/// The reductions that have a mark.
#[derive(Clone, Copy)]
enum By {
    Sum,
    Min,
    Max,
}

impl By {
    /// As [`Reduction::combine`].
    fn combine<C: Arithmetic>(self, mut then: impl Then<C>) {
        match self {
            By::Sum => then.with(C::plus),
            By::Min => then.with(C::lesser),
            By::Max => then.with(C::greater),
        }
    }
}

fn allocate<C: Arithmetic>(len: usize) -> Result<Reused<C>, OpError> {
    reused(C::default(), len)
}

fn widen_all<C: Arithmetic>(tensor: &Tensor, out: &mut [C]) {
    let pieces = out.par_chunks_mut(PIECE).enumerate();
    pieces.share(|(i, out)| widen(tensor, i * PIECE, out));
}

/// What is done with a function of two elements.
pub(super) trait Then<C> {
    fn with(&mut self, f: impl Fn(C, C) -> C + Sync);
}

/// Applies the updates of a piece.
struct Fold<'a, 'p, P, C> {
    updates: &'a [C],
    piece: &'a mut Piece<'p, P, C>,
    /// Which elements have met an update, if their first finds `neutral` there.
    met: Reused<bool>,
    neutral: C,
}

impl<P: Places, C: Arithmetic> Then<C> for Fold<'_, '_, P, C> {
    fn with(&mut self, f: impl Fn(C, C) -> C + Sync) {
        let Self {
            updates,
            piece,
            met,
            neutral,
        } = self;
        if met.is_empty() {
            return piece.each(updates, |_, element, &update| {
                *element = f(*element, update)
            });
        }
        piece.each(updates, |at, element, &update| {
            let before = if met[at] { *element } else { *neutral };
            met[at] = true;
            *element = f(before, update);
        });
    }
}

/// Applies the updates of a piece that is full of a mark.
struct Marked<'a, 'p, P, C> {
    updates: &'a [C],
    piece: &'a mut Piece<'p, P, C>,
    mark: C,
    /// Which elements have met an update that is the same as the mark, if any has.
    met: &'a mut Reused<bool>,
}

impl<P: Places, C: Arithmetic> Then<C> for Marked<'_, '_, P, C> {
    fn with(&mut self, f: impl Fn(C, C) -> C + Sync) {
        let (updates, mark) = (self.updates, self.mark);
        let (len, met) = (self.piece.out.len(), &mut *self.met);
        self.piece.each_and(
            updates,
            |some| {
                vectorize_mut(
                    #[inline(always)]
                    || some.iter().fold(false, |any, x| any | x.same(mark)),
                )
            },
            |at, update| {
                if update.same(mark) {
                    meet(met, len, at);
                }
            },
            |_, element, &update| *element = f(*element, update),
        );
    }
}

/// Marks one of so many elements.
#[cold]
fn meet(met: &mut Reused<bool>, len: usize, at: usize) {
    if met.is_empty() {
        let Some(fresh) = or_refuse(reused(false, len)) else {
            return;
        };
        *met = fresh;
    }
    met[at] = true;
}

/// Applies the updates of whole slices, slice by slice.
struct Slices<'a, P, C> {
    places: &'a P,
    /// The data and the updates.
    inputs: [&'a [C]; 2],
    out: &'a mut [C],
    /// Whether updates come so.
    done: &'a mut bool,
}

impl<P: Places, C: Arithmetic> Then<C> for Slices<'_, P, C> {
    fn with(&mut self, f: impl Fn(C, C) -> C + Sync) {
        let [data, updates] = self.inputs;
        let meet = |slice: &mut [C], update: &[C]| {
            for (to, &update) in slice.iter_mut().zip(update) {
                *to = f(*to, update);
            }
        };
        *self.done = self.places.each_slice(data, updates, self.out, meet);
    }
}
