//! Places that tuples of indices mean.

use std::array;

use smallvec::SmallVec;

use super::elements::Index;
use super::gather::{BLOCK, OUTSIDE, ask_for};
use super::simd::{prefetch, prefetch_after, vectorize_mut};
use crate::tensor::convert::{Compute, widen};
use crate::tensor::{Class, Tensor};

/// Indices taken as tuples, one index for each of some axes.
#[derive(Debug)]
pub(crate) struct Tuples<'a> {
    indices: &'a Tensor,
    /// The size and the stride of each axis.
    axes: SmallVec<[(usize, usize); 4]>,
    from_end: bool,
}

/// What an index of an axis means. None of these numbers has more than 32 bits.
#[derive(Clone, Copy)]
struct Axis {
    /// The last position, -1 if there is none.
    last: i64,
    stride: u64,
    /// What is added to negative indices.
    back: i64,
}

/// Where the sign of an index is.
const SIGN: u32 = i64::BITS - 1;

/// The bits that positions and strides have.
const LOW: u64 = u32::MAX as u64;

/// The place of a tuple, and a number below zero if one of its indices is out of range, whose positions are as
/// told. Nothing is compared, and products are those of 32 bits, which vectors have.
#[inline(always)]
fn place_of<const N: usize, C: Index>(
    axes: [Axis; N],
    tuple: &[C; N],
    position: impl Fn(i64, Axis) -> i64,
) -> (usize, i64) {
    let (mut place, mut outside) = (0u64, 0);
    for (i, (index, axis)) in tuple.iter().zip(axes).enumerate() {
        let position = position(index.signed(), axis);
        outside |= position | axis.last.wrapping_sub(position);
        let position = position.cast_unsigned();
        // Along the last axis places follow each other.
        let before = match i + 1 {
            last if last == N => position,
            _ => (position & LOW).wrapping_mul(axis.stride & LOW),
        };
        place = place.wrapping_add(before);
    }
    (place as usize, outside)
}

/// The same where an index below zero is out of range.
#[inline(always)]
fn place_inside<const N: usize, C: Index>(axes: [Axis; N], tuple: &[C; N]) -> (usize, i64) {
    place_of(
        axes,
        tuple,
        #[inline(always)]
        |index, _| index,
    )
}

/// Something done with tuples of a length the compiler knows.
trait Work: Sized {
    type Output;

    fn on<const N: usize, C: Index>(self, axes: [Axis; N], tuples: &[[C; N]]) -> Self::Output;
}

/// Writes places.
struct Decode<'o>(&'o mut [usize]);

impl Work for Decode<'_> {
    type Output = ();

    fn on<const N: usize, C: Index>(self, axes: [Axis; N], tuples: &[[C; N]]) {
        vectorize_mut(
            #[inline(always)]
            || {
                for (out, tuple) in self.0.iter_mut().zip(tuples) {
                    let (place, outside) = place_of(
                        axes,
                        tuple,
                        #[inline(always)]
                        |index, axis| index.wrapping_add(axis.back & (index >> SIGN)),
                    );
                    *out = if outside < 0 { OUTSIDE } else { place };
                }
            },
        );
    }
}

/// Tuples whose places are found together, and so many bytes ahead other tuples are asked for.
const SOME: usize = 16;
const FAR: usize = 2048;

/// Picks elements, of which the next ones are asked for before: many more are waited for at a time then than a
/// processor holds instructions that find out where they are.
struct Pick<'o, T> {
    block: &'o [T],
    out: &'o mut [T],
}

impl<T: Clone> Pick<'_, T> {
    /// Finds the places of some tuples; whether all are inside.
    #[inline(always)]
    fn find<const N: usize, C: Index>(
        axes: [Axis; N],
        tuples: &[[C; N]; SOME],
        places: &mut [usize; SOME],
    ) -> bool {
        prefetch_after(tuples, FAR);
        let mut any_outside = 0;
        for (to, tuple) in places.iter_mut().zip(tuples) {
            let (place, outside) = place_inside(axes, tuple);
            any_outside |= outside;
            *to = place;
        }
        any_outside >= 0
    }

    #[inline(always)]
    fn pick<const N: usize, C: Index>(&mut self, axes: [Axis; N], tuples: &[[C; N]]) -> usize {
        let out = std::mem::take(&mut self.out);
        let (all, rest) = tuples[..out.len()].as_chunks::<SOME>();
        let (outs, last) = out.as_chunks_mut::<SOME>();
        let [these, next] = &mut [[0; SOME]; 2];
        let (mut these, mut next) = (these, next);
        let mut inside = all
            .first()
            .is_none_or(|tuples| Self::find(axes, tuples, these));
        for (i, out) in outs.iter_mut().enumerate() {
            if !inside {
                return i * SOME;
            }
            inside = all
                .get(i + 1)
                .is_none_or(|tuples| Self::find(axes, tuples, next));
            for ((out, &place), &later) in out.iter_mut().zip(&*these).zip(&*next) {
                prefetch(self.block.as_ptr(), later);
                let Some(element) = self.block.get(place) else {
                    return i * SOME;
                };
                out.clone_from(element);
            }
            std::mem::swap(&mut these, &mut next);
        }
        let mut done = outs.len() * SOME;
        for (out, tuple) in last.iter_mut().zip(rest) {
            let (place, outside) = place_inside(axes, tuple);
            let element = self.block.get(place).filter(|_| outside >= 0);
            let Some(element) = element else { break };
            out.clone_from(element);
            done += 1;
        }
        done
    }
}

impl<T: Clone> Work for Pick<'_, T> {
    type Output = usize;

    fn on<const N: usize, C: Index>(mut self, axes: [Axis; N], tuples: &[[C; N]]) -> usize {
        vectorize_mut(
            #[inline(always)]
            || self.pick(axes, tuples),
        )
    }
}

impl<'a> Tuples<'a> {
    /// Tuples for axes of these sizes. With `from_end`, negative indices count from the end.
    pub(crate) fn new(indices: &'a Tensor, sizes: &[usize], from_end: bool) -> Self {
        let strides = crate::tensor::Shape::from(sizes).strides();
        Self {
            indices,
            axes: sizes.iter().copied().zip(strides).collect(),
            from_end,
        }
    }

    /// Asks for the memory of some tuples that come after `next`.
    pub(crate) fn ask_for(&self, next: usize) {
        ask_for(self.indices, next.wrapping_mul(self.axes.len()));
    }

    /// Writes the places, in row-major order of the axes, of the tuples `start..`;
    /// [`OUTSIDE`] where an index is out of range.
    pub(crate) fn places(&self, start: usize, out: &mut [usize]) {
        if self.axes.is_empty() {
            out.fill(0);
            return;
        }
        // Nearly all indices are of these types, which are read where they stand.
        let Err(Decode(out)) = self.native::<i64, _>(start, Decode(out)) else {
            return;
        };
        let Err(Decode(out)) = self.native::<i32, _>(start, Decode(out)) else {
            return;
        };
        if self.indices.element_type().class() == Some(Class::U64) {
            self.decode::<u64>(start, out, |index, _| index);
        } else if self.from_end {
            self.decode::<i64>(start, out, |index, size| {
                let back = if index < 0 { size } else { 0 };
                index.cast_unsigned().wrapping_add(back)
            });
        } else {
            // Below zero is far above every size once the bits are taken as unsigned.
            self.decode::<i64>(start, out, |index, _| index.cast_unsigned());
        }
    }

    /// Picks the elements at the tuples `start..`, up to some that have an index that is negative or out of
    /// range, or none if there is no such loop for them: how many were picked.
    pub(crate) fn pick_inside<T: Clone>(&self, start: usize, block: &[T], out: &mut [T]) -> usize {
        let picks = Pick { block, out };
        match self.native::<i64, _>(start, picks) {
            Ok(count) => count,
            Err(picks) => self.native::<i32, _>(start, picks).unwrap_or(0),
        }
    }

    /// Works on indices where they stand, if they are of this very type and make short tuples, for axes of few
    /// elements.
    fn native<C: Index + Compute, W: Work>(&self, start: usize, work: W) -> Result<W::Output, W> {
        let Some(indices) = C::native(self.indices.element_type(), self.indices.bytes()) else {
            return Err(work);
        };
        if !self
            .axes
            .iter()
            .all(|&(size, stride)| size.max(stride) as u64 <= LOW)
        {
            return Err(work);
        }
        match self.axes.len() {
            1 => Ok(work.on(self.fixed::<1>(), indices[start..].as_chunks().0)),
            2 => Ok(work.on(self.fixed::<2>(), indices[start * 2..].as_chunks().0)),
            3 => Ok(work.on(self.fixed::<3>(), indices[start * 3..].as_chunks().0)),
            4 => Ok(work.on(self.fixed::<4>(), indices[start * 4..].as_chunks().0)),
            _ => Err(work),
        }
    }

    /// The axes of tuples of a length the compiler knows.
    fn fixed<const N: usize>(&self) -> [Axis; N] {
        array::from_fn(|i| {
            let (size, stride) = self.axes[i];
            // As `native` looked at, both are small.
            let size = size as i64;
            Axis {
                last: size - 1,
                stride: stride as u64,
                back: if self.from_end { size } else { 0 },
            }
        })
    }

    fn decode<C: Compute>(
        &self,
        start: usize,
        out: &mut [usize],
        position: impl Fn(C, u64) -> u64,
    ) {
        let len = self.axes.len();
        if len > BLOCK {
            // A tuple longer than a block is read a block at a time.
            for (i, out) in out.iter_mut().enumerate() {
                let mut block = [C::default(); BLOCK];
                let mut place = Some(0);
                for (k, axes) in self.axes.chunks(BLOCK).enumerate() {
                    let block = &mut block[..axes.len()];
                    widen(self.indices, (start + i) * len + k * BLOCK, block);
                    place =
                        place.and_then(|place| Some(place + self::place(block, axes, &position)?));
                }
                *out = place.unwrap_or(OUTSIDE);
            }
            return;
        }
        let mut block = [C::default(); BLOCK];
        let count = BLOCK / len;
        for (k, out) in out.chunks_mut(count).enumerate() {
            let block = &mut block[..out.len() * len];
            widen(self.indices, (start + k * count) * len, block);
            for (out, tuple) in out.iter_mut().zip(block.chunks_exact(len)) {
                *out = place(tuple, &self.axes, &position).unwrap_or(OUTSIDE);
            }
        }
    }

    /// The first of a tuple's indices that is out of range.
    pub(crate) fn axis_outside(&self, tuple: usize) -> Option<usize> {
        let len = self.axes.len();
        (0..len).find(|&axis| {
            let mut out = [0];
            let alone = Self {
                indices: self.indices,
                axes: SmallVec::from_slice(&self.axes[axis..=axis]),
                from_end: self.from_end,
            };
            alone.places(tuple * len + axis, &mut out);
            out[0] == OUTSIDE
        })
    }
}

/// The place of one tuple, if all its indices are in range.
#[inline]
fn place<C: Copy>(
    tuple: &[C],
    axes: &[(usize, usize)],
    position: &impl Fn(C, u64) -> u64,
) -> Option<usize> {
    let mut place = 0usize;
    let mut inside = true;
    for (&index, &(size, stride)) in tuple.iter().zip(axes) {
        let position = position(index, size as u64);
        inside &= position < size as u64;
        place = place.wrapping_add((position as usize).wrapping_mul(stride));
    }
    inside.then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All elements are picked, or those before some tuples one of which is not inside.
    #[test]
    fn inside_and_outside() {
        let block: Vec<u32> = (0..35).map(|x| x * 3 + 1).collect();
        for count in [0, 1, SOME - 1, SOME, SOME + 1, 3 * SOME, 3 * SOME + 5] {
            let inside: Vec<i64> = (0..count as i64)
                .flat_map(|i| [i * 3 % 5, i * 5 % 7])
                .collect();
            for bad in 0..=count {
                for (axis, index) in [(0, 5), (0, -1), (1, 7), (1, i64::MIN)] {
                    let mut indices = inside.clone();
                    if let Some(at) = indices.get_mut(2 * bad + axis) {
                        *at = index;
                    }
                    let indices = Tensor::new([count, 2], &indices).expect("a tensor");
                    let mut out = vec![0; count];
                    let tuples = Tuples::new(&indices, &[5, 7], true);
                    let done = tuples.pick_inside(0, &block, &mut out);
                    let least = if bad == count {
                        count
                    } else {
                        bad / SOME * SOME
                    };
                    assert!((least..=bad).contains(&done), "{done} of {count}, {bad}");
                    for (out, tuple) in out[..done].iter().zip(inside.as_chunks().0) {
                        let [row, column] = *tuple;
                        assert_eq!(*out, block[(row * 7 + column) as usize]);
                    }
                }
            }
        }
    }

    #[test]
    fn places_as_they_are_defined() {
        let last = i64::from(u32::MAX);
        for sizes in [
            &[7][..],
            &[0],
            &[1 << 31, 1],
            &[5, 1 << 33],
            &[1 << 33, 3],
            &[4, 0],
            &[3, 5, 7],
            &[2, 3, 5, 70_000],
            &[2, 3, 4, 5, 6],
        ] {
            let len = sizes.len();
            let extremes = [i64::MIN, i64::MIN + 1, i64::MAX, -last - 1, last, last + 1];
            let near = |&size: &usize| {
                let size = size as i64;
                [0, -1, size / 2, size - 1, size, -size, -size - 1]
            };
            let some: Vec<i64> = sizes.iter().flat_map(near).chain(extremes).collect();
            // Each axis takes each of these while the others stay inside, or do not.
            let tuples: Vec<i64> = (0..3 * len * some.len())
                .flat_map(|i| (0..len).map(move |axis| (i, axis)))
                .map(|(i, axis)| match i % len == axis || i % 3 == 0 {
                    true => some[(i / len + axis) % some.len()],
                    false => i as i64 % sizes[axis].max(1) as i64,
                })
                .collect();
            for from_end in [true, false] {
                let defined = |tuple: &[i64]| {
                    tuple
                        .iter()
                        .zip(sizes)
                        .try_fold(0, |place, (&index, &size)| {
                            let (index, size) = (i128::from(index), size as i128);
                            let back = if from_end && index < 0 { size } else { 0 };
                            let inside = (0..size).contains(&(index + back));
                            inside.then_some(place * size + index + back)
                        })
                };
                let expected: Vec<usize> = tuples
                    .chunks(len)
                    .map(|tuple| defined(tuple).map_or(OUTSIDE, |place| place as usize))
                    .collect();
                let check = |indices: &Tensor, expected: &[usize]| {
                    let mut found = vec![1; expected.len()];
                    Tuples::new(indices, sizes, from_end).places(0, &mut found);
                    assert_eq!(found, expected, "{sizes:?} {from_end}");
                };
                let count = expected.len();
                check(
                    &Tensor::new([count, len], &tuples).expect("a tensor"),
                    &expected,
                );
                let narrow = |tuple: &[i64]| -> Option<Vec<i32>> {
                    tuple.iter().map(|&index| index.try_into().ok()).collect()
                };
                let (narrow, expected): (Vec<_>, Vec<_>) = tuples
                    .chunks(len)
                    .zip(&expected)
                    .filter_map(|(tuple, &place)| Some((narrow(tuple)?, place)))
                    .unzip();
                assert!(!narrow.is_empty());
                let narrow = Tensor::new([narrow.len(), len], &narrow.concat());
                check(&narrow.expect("a tensor"), &expected);
            }
        }
    }
}
