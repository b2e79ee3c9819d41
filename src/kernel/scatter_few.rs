//! Reductions of few updates: only the elements they meet are looked at, and nothing is kept for the others.

use bytemuck::{cast_slice, cast_slice_mut};
use rayon::prelude::*;

use super::scatter::Places;
use super::scatter_arithmetic::Arithmetic;
use super::scatter_mean::Mean;
use super::scatter_reduce::{Reduction, Then};
use super::scratch::{Reused, reused, reused_any, reused_room, with_scratch};
use crate::limits::Share;
use crate::op::OpError;
use crate::tensor::Tensor;

/// Elements that are done together: what is known of their places stays in a near cache.
const PIECE: usize = 1 << 16;
/// Above these bits of a meeting is the place, below them the update that goes there.
const PLACE: u32 = 32;

/// What is reduced: elements of whole bytes, fewer than 2³² of data and of updates.
pub(super) struct Few<'a> {
    pub(super) reduction: Reduction,
    pub(super) use_init_val: bool,
    pub(super) data: &'a Tensor,
    pub(super) updates: &'a Tensor,
}

impl Few<'_> {
    /// # Errors
    /// When memory runs out.
    pub(super) fn reduce<C: Arithmetic>(
        &self,
        places: &impl Places,
        output: &mut Tensor,
    ) -> Result<(), OpError> {
        let (size, len) = (output.element_type().bits() / 8, output.len());
        let (meetings, ends) = meetings(places, len)?;
        let pieces = output.bytes_mut().par_chunks_mut(PIECE * size).enumerate();
        pieces.share(|(i, out)| {
            let begin = i.checked_sub(1).map_or(0, |before| ends[before]);
            out.copy_from_slice(&self.data.bytes()[i * PIECE * size..][..out.len()]);
            let meetings = &meetings[begin..ends[i]];
            match size {
                _ if meetings.is_empty() => {}
                1 => self.piece::<C, 1>(meetings, out),
                2 => self.piece::<C, 2>(meetings, out),
                4 => self.piece::<C, 4>(meetings, out),
                _ => self.piece::<C, 8>(meetings, out),
            }
        });
        Ok(())
    }

    /// Applies all updates of a piece that holds the data.
    fn piece<C: Arithmetic, const SIZE: usize>(&self, meetings: &[u64], out: &mut [u8]) {
        let out = out.as_chunks_mut::<SIZE>().0;
        let count = meetings.len();
        with_scratch(count, |met: &mut [u32]| {
            with_scratch(count, |whose: &mut [u32]| {
                let places = meetings.iter().map(|&meeting| place(meeting) % PIECE);
                let many = met_places(places, met, whose);
                if many == 0 {
                    // There was no memory, which `limits` tells: `whose` means nothing.
                    return;
                }
                let met = &met[..many];
                with_scratch(many, |elements: &mut [C]| {
                    let at = met.iter().map(|&at| out[at as usize]);
                    self.widen(at, elements);
                    with_scratch(count, |updates: &mut [C]| {
                        let all = self.updates.bytes().as_chunks::<SIZE>().0;
                        let of = meetings.iter().map(|&meeting| all[meeting as u32 as usize]);
                        self.widen(of, updates);
                        self.meet(whose, updates, elements);
                    });
                    self.narrow(elements, met, out);
                });
            });
        });
    }

    /// Applies updates to elements, which `whose` tells.
    fn meet<C: Arithmetic>(&self, whose: &[u32], updates: &[C], elements: &mut [C]) {
        let meetings = || whose.iter().map(|&at| at as usize).zip(updates);
        if self.reduction == Reduction::Mean {
            let nothing = C::NOTHING.unwrap_or_default();
            return with_scratch(elements.len(), |means: &mut [C::Far]| {
                for (mean, &element) in means.iter_mut().zip(&*elements) {
                    *mean = C::Far::begin(if self.use_init_val { element } else { nothing });
                }
                for (at, &update) in meetings() {
                    means[at].add(update);
                }
                C::Far::put(means, &[], usize::from(self.use_init_val), elements);
            });
        }
        if !self.use_init_val {
            elements.fill(self.reduction.neutral());
        }
        struct Meet<'e, C, I>(&'e mut [C], I);
        impl<C: Arithmetic, I: Iterator<Item = (usize, C)>> Then<C> for Meet<'_, C, I> {
            fn with(&mut self, f: impl Fn(C, C) -> C + Sync) {
                let Self(elements, meetings) = self;
                for (at, update) in meetings {
                    elements[at] = f(elements[at], update);
                }
            }
        }
        let updates = meetings().map(|(at, &update)| (at, update));
        self.reduction.combine(Meet(elements, updates));
    }

    /// Widens elements that do not lie one after the other.
    fn widen<C: Arithmetic, const SIZE: usize>(
        &self,
        elements: impl Iterator<Item = [u8; SIZE]>,
        out: &mut [C],
    ) {
        let ty = self.data.element_type();
        if ty == C::TYPE {
            let out = cast_slice_mut::<_, [u8; SIZE]>(out);
            out.iter_mut().zip(elements).for_each(|(to, x)| *to = x);
            return;
        }
        with_scratch(out.len(), |together: &mut [[u8; SIZE]]| {
            for (to, element) in together.iter_mut().zip(elements) {
                *to = element;
            }
            C::widen_bytes(ty, cast_slice(together), 0, out);
        });
    }

    /// Narrows elements, which go to places of a piece.
    fn narrow<C: Arithmetic, const SIZE: usize>(
        &self,
        elements: &[C],
        places: &[u32],
        out: &mut [[u8; SIZE]],
    ) {
        let ty = self.data.element_type();
        let mut put = |elements: &[[u8; SIZE]]| {
            for (&at, element) in places.iter().zip(elements) {
                out[at as usize] = *element;
            }
        };
        if ty == C::TYPE {
            return put(cast_slice(elements));
        }
        with_scratch(elements.len(), |together: &mut [[u8; SIZE]]| {
            C::narrow_bytes(elements, ty, cast_slice_mut(together), 0);
            put(together);
        });
    }
}

fn place(meeting: u64) -> usize {
    (meeting >> PLACE) as usize
}

/// All updates and their places among so many elements, by pieces and in their order in each, and where those of each
/// piece end.
fn meetings(places: &impl Places, len: usize) -> Result<(Reused<u64>, Reused<usize>), OpError> {
    let slab = places.slab();
    let mut all: Reused<u64> = reused_room(places.updates())?;
    let mut ends = reused(0, len.div_ceil(PIECE))?;
    for i in 0..len / slab {
        // Both numbers are below the number of elements, which fits.
        places.visit(i, |place, update| {
            if place < slab {
                let place = i * slab + place;
                ends[place / PIECE] += 1;
                all.push((place as u64) << PLACE | update as u64);
            }
        });
    }
    let mut end = 0;
    for count in ends.iter_mut() {
        end += std::mem::replace(count, end);
    }
    // Where the next of each piece goes; in the end, where they end.
    let mut parted = reused_any(0, all.len())?;
    for &meeting in all.iter() {
        let next = &mut ends[place(meeting) / PIECE];
        parted[*next] = meeting;
        *next += 1;
    }
    Ok((parted, ends))
}

/// Numbers the places of a piece that are met, in the order in which they are first met: writes them, and for each
/// meeting the number of its place. How many they are.
fn met_places(places: impl Iterator<Item = usize>, met: &mut [u32], whose: &mut [u32]) -> usize {
    let mut count = 0;
    // Of a place that was not met a number may be left of something else: then it is not met under that.
    with_scratch(PIECE, |numbers: &mut [u32]| {
        for (place, whose) in places.zip(whose) {
            let number = numbers[place] as usize;
            let known = number < count && met[number] as usize == place;
            *whose = if known {
                number as u32
            } else {
                met[count] = place as u32;
                numbers[place] = count as u32;
                count += 1;
                count as u32 - 1
            };
        }
    });
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::scatter::{Scatter, reduce};
    use crate::tensor::convert::narrow;
    use crate::tensor::{Class, ElementType};

    const REDUCTIONS: [Reduction; 7] = [
        Reduction::Sum,
        Reduction::Sub,
        Reduction::Prod,
        Reduction::Min,
        Reduction::KeptMax,
        Reduction::Mean,
        Reduction::Xor,
    ];

    fn tensor(ty: ElementType, shape: &[usize], numbers: impl Fn(usize) -> i64) -> Tensor {
        let mut tensor = Tensor::zeros(ty, shape).expect("memory");
        let numbers: Vec<i64> = (0..tensor.len()).map(numbers).collect();
        match ty.class() {
            Some(Class::F64) => {
                let numbers: Vec<f64> = numbers.iter().map(|&x| x as f64 / 4.0).collect();
                narrow(&numbers, &mut tensor, 0);
            }
            Some(Class::F32) => {
                let number = |&x: &i64| if x == 0 { -0.0 } else { x as f32 / 4.0 };
                let numbers: Vec<f32> = numbers.iter().map(number).collect();
                narrow(&numbers, &mut tensor, 0);
            }
            _ => narrow(&numbers, &mut tensor, 0),
        }
        tensor
    }

    /// One element and all its updates are reduced in another way than few, and than many of a slab.
    fn each_element_is_as_if_it_were_alone(shape: [usize; 2], counts: [usize; 2]) {
        let at = |i: usize| (i * i * 7919 + i / counts[1] * 31) % 300 * 211 % shape[1];
        let positions: Vec<i32> = (0..counts[0] * counts[1]).map(|i| at(i) as i32).collect();
        let indices = Tensor::new(counts, &positions).expect("as many");
        for ty in [
            ElementType::F32,
            ElementType::F16,
            ElementType::F64,
            ElementType::U8,
            ElementType::I16,
            ElementType::I32,
            ElementType::I64,
        ] {
            let data = tensor(ty, &shape, |i| (i % 251) as i64 - 100);
            let updates = tensor(ty, &counts, |i| (i % 23) as i64 - 9);
            let size = data.byte_len() / data.len();
            let element = |tensor: &Tensor, i: usize| tensor.bytes()[i * size..][..size].to_vec();
            let several = |all: &[Vec<u8>]| {
                let mut tensor = Tensor::zeros(ty, [all.len()]).expect("memory");
                tensor.bytes_mut().copy_from_slice(&all.concat());
                tensor
            };
            for (reduction, init) in REDUCTIONS.iter().flat_map(|&r| [(r, true), (r, false)]) {
                let scatter = Scatter::new(&shape, &indices, 1, true).expect("memory");
                let mut out = data.clone();
                reduce(&scatter, reduction, init, [&data, &updates], &mut out).expect("memory");
                let mut met = std::collections::BTreeMap::<usize, Vec<usize>>::new();
                for (i, &at) in positions.iter().enumerate() {
                    let place = i / counts[1] * shape[1] + at as usize;
                    met.entry(place).or_default().push(i);
                }
                assert!(met.values().any(|all| all.len() > 1));
                let mut expected = data.clone();
                for (&place, all) in &met {
                    let data = several(&[element(&data, place)]);
                    let all: Vec<_> = all.iter().map(|&i| element(&updates, i)).collect();
                    let zeros = vec![0i32; all.len()];
                    let zeros = Tensor::vector(&zeros);
                    let alone = Scatter::new(&[1], &zeros, 0, true).expect("memory");
                    let mut out = data.clone();
                    let inputs = [&data, &several(&all)];
                    reduce(&alone, reduction, init, inputs, &mut out).expect("memory");
                    expected.bytes_mut()[place * size..][..size].copy_from_slice(out.bytes());
                }
                assert!(out.bytes() == expected.bytes(), "{ty} {reduction:?} {init}");
            }
        }
    }

    #[test]
    fn few_are_as_if_they_were_alone() {
        each_element_is_as_if_it_were_alone([3, PIECE - 77], [3, 400]);
    }

    #[test]
    fn many_are_as_if_they_were_alone() {
        each_element_is_as_if_it_were_alone([2, 700], [2, 3000]);
    }
}
