//! Elementwise functions of two inputs that are broadcast to the shape of the output.

use rayon::prelude::*;

use super::block::{Operand, blocks};
use super::moving::Odometer;
use super::simd::vectorize_mut;
use crate::limits::Share;
use crate::op::{OpError, Repeated};
use crate::tensor::convert::{Compute, Native};
use crate::tensor::{Tensor, Text};

/// Computes elements of the output from as many of each input.
type Pairs<'a, C, O> = &'a (dyn Fn(&[C], &[C], &mut [O]) + Sync);

/// Computes `out` from two inputs, each with the axis of `out` where its dimensions begin: they are
/// those of `out`, or 1. `f` is given slices of equal length.
pub(crate) fn zip<C: Compute, O: Native>(
    [(a, a_at), (b, b_at)]: [(&Tensor, usize); 2],
    out: &mut Tensor,
    f: Pairs<'_, C, O>,
) {
    let shape = out.shape().clone();
    let operands = [Operand::new(a, a_at, &shape), Operand::new(b, b_at, &shape)];
    blocks::<C, O, 2>(&operands, out, &|[a, b], out| f(a, b, out));
}

/// Computes elements from as many of one input and some that are repeated; whether those are of the
/// first input is told.
type WithRepeated<'a> = &'a (dyn Fn(&[f32], Repeated<'_>, bool, &mut [f32]) + Sync);

/// Repeated less often, elements are not worth a loop of their own.
const FEWEST: usize = 16;

/// Elements a thread computes at a time.
const PART: usize = 1 << 15;

/// As [`zip`], of `f32`, where one input has the shape of `out` and each element of the other is
/// repeated all along its last axes. Answers whether this is so; nothing was computed otherwise.
pub(crate) fn zip_repeated(
    inputs: [(&Tensor, usize); 2],
    out: &mut Tensor,
    f: WithRepeated<'_>,
) -> bool {
    let shape = out.shape().clone();
    let repeated_first = inputs[0].0.len() < out.len();
    let [(a, a_at), (b, _)] = match repeated_first {
        true => inputs,
        false => [inputs[1], inputs[0]],
    };
    let own = a.shape();
    let outer = shape.get(..a_at).unwrap_or(&[]).iter();
    let inner = shape.get(a_at..).unwrap_or(&[]);
    let cut = own.iter().rposition(|&n| n != 1).map_or(0, |last| last + 1);
    let times: usize = inner.get(cut..).unwrap_or(&[]).iter().product();
    let fits = b.len() == out.len() && inner.get(..cut) == own.get(..cut);
    if !fits || times < FEWEST || !outer.into_iter().all(|&n| n == 1) {
        return false;
    }
    let (Ok(values), Ok(elements), Ok(out)) =
        (a.as_slice::<f32>(), b.as_slice::<f32>(), out.as_mut_slice())
    else {
        return false;
    };
    let one = |(i, (out, elements)): (usize, (&mut [f32], &[f32]))| {
        let start = i * PART;
        let last = (start + out.len()).div_ceil(times);
        let repeated = Repeated {
            values: &values[start / times..last],
            times,
            skip: start % times,
        };
        f(elements, repeated, repeated_first, out);
    };
    if out.len() <= PART {
        one((0, (out, elements)));
    } else {
        let parts = out.par_chunks_mut(PART).zip(elements.par_chunks(PART));
        parts.enumerate().share(one);
    }
    true
}

/// Writes a function of each pair of elements, as [`super::map::each`] does of each element.
#[inline(always)]
pub(crate) fn each_pair<A: Copy, B: Copy, O>(
    a: &[A],
    b: &[B],
    out: &mut [O],
    f: impl Fn(A, B) -> O,
) {
    vectorize_mut(
        #[inline(always)]
        move || {
            for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
                *out = f(a, b);
            }
        },
    );
}

/// The same of elements and others of which each is repeated.
#[inline(always)]
pub(crate) fn each_repeated<O>(
    elements: &[f32],
    Repeated {
        values,
        times,
        skip,
    }: Repeated<'_>,
    out: &mut [O],
    f: impl Fn(f32, f32) -> O,
) {
    vectorize_mut(
        #[inline(always)]
        move || {
            let mut skip = skip;
            let (mut elements, mut out) = (elements, &mut *out);
            for &value in values {
                let len = times
                    .saturating_sub(skip)
                    .min(out.len())
                    .min(elements.len());
                let (now, later) = out.split_at_mut(len);
                let (x, rest) = elements.split_at(len);
                for (out, &x) in now.iter_mut().zip(x) {
                    *out = f(x, value);
                }
                (elements, out, skip) = (rest, later, 0);
            }
        },
    );
}

/// The same of each three elements.
#[inline(always)]
pub(crate) fn each_triple<T: Copy, O>(
    [a, b, c]: [&[T]; 3],
    out: &mut [O],
    f: impl Fn(T, T, T) -> O,
) {
    vectorize_mut(
        #[inline(always)]
        move || {
            for (((out, &a), &b), &c) in out.iter_mut().zip(a).zip(b).zip(c) {
                *out = f(a, b, c);
            }
        },
    );
}

/// As [`zip`], for strings and an output of booleans.
///
/// # Errors
/// When the tensors hold something else.
pub(crate) fn zip_texts(
    [(a, a_at), (b, b_at)]: [(&Tensor, usize); 2],
    out: &mut Tensor,
    f: &dyn Fn(&Text, &Text) -> bool,
) -> Result<(), OpError> {
    let shape = out.shape().clone();
    let walk = |tensor: &Tensor, at: usize| {
        let own = tensor.shape();
        let strides: Vec<usize> = (0..shape.rank())
            .map(|axis| match axis.checked_sub(at) {
                Some(i) if i < own.rank() && own[i] != 1 => own.strides()[i],
                _ => 0,
            })
            .collect();
        Odometer::at(0, &shape, &strides)
    };
    let (mut a_walk, mut b_walk) = (walk(a, a_at), walk(b, b_at));
    let (a, b) = (a.as_strings()?, b.as_strings()?);
    for out in out.as_mut_slice::<bool>()? {
        *out = f(&a[a_walk.offset()], &b[b_walk.offset()]);
        a_walk.step();
        b_walk.step();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tensor::convert::{from_codes, to_i64, widen};
    use crate::tensor::{ElementType, Shape};

    fn numbered(ty: ElementType, shape: &[usize]) -> Tensor {
        let len = shape.iter().product();
        let codes: Vec<u8> = (0..len).map(|i: usize| (i * 7 % 251) as u8).collect();
        match ty {
            ElementType::U3 => from_codes(ty, Shape::from(shape), &codes).expect("fits"),
            ElementType::U8 => Tensor::new(Shape::from(shape), &codes).expect("fits"),
            _ => {
                let wide: Vec<i32> = codes.into_iter().map(i32::from).collect();
                Tensor::new(Shape::from(shape), &wide).expect("fits")
            }
        }
    }

    /// The element of a broadcast input, by the definition.
    fn naive(tensor: &Tensor, at: usize, index: usize, out: &Shape) -> i64 {
        let (values, strides) = (to_i64(tensor), tensor.shape().strides());
        let mut from = 0;
        for (axis, (&size, &stride)) in tensor.shape().iter().zip(&strides).enumerate() {
            if size > 1 {
                from += index / out.strides()[at + axis] % out[at + axis] * stride;
            }
        }
        values[from]
    }

    fn check(ty: ElementType, inputs: [(&[usize], usize); 2], out: &[usize]) {
        let [(a, a_at), (b, b_at)] = inputs;
        let (a, b) = (numbered(ty, a), numbered(ty, b));
        let shape = Shape::from(out);
        let poisoned = vec![0xa5u8; shape.elements().expect("small") * 4];
        let run = |out: &mut Tensor| {
            let len = out.byte_len();
            out.bytes_mut().copy_from_slice(&poisoned[..len]);
            zip::<i32, i32>([(&a, a_at), (&b, b_at)], out, &|a, b, out| {
                for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
                    *out = a * 3 - b;
                }
            });
        };
        let mut sum = Tensor::zeros(ElementType::I32, shape.clone()).expect("small");
        run(&mut sum);
        let mut narrow = Tensor::zeros(ElementType::U3, shape.clone()).expect("small");
        run(&mut narrow);
        let mut less = Tensor::zeros(ElementType::Boolean, shape.clone()).expect("small");
        zip::<i64, bool>([(&a, a_at), (&b, b_at)], &mut less, &|a, b, out| {
            for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
                *out = a < b;
            }
        });
        let (sum, narrow, less) = (to_i64(&sum), to_i64(&narrow), to_i64(&less));
        for index in 0..sum.len() {
            let (a, b) = (
                naive(&a, a_at, index, &shape),
                naive(&b, b_at, index, &shape),
            );
            assert_eq!(sum[index], a * 3 - b, "element {index} of {shape}");
            assert_eq!(narrow[index], (a * 3 - b) & 7);
            assert_eq!(less[index], i64::from(a < b));
        }
    }

    #[test]
    fn long_runs_and_parts() {
        for ty in [ElementType::I32, ElementType::U8, ElementType::U3] {
            check(ty, [(&[3, 1400], 0), (&[1400], 1)], &[3, 1400]);
            check(ty, [(&[3, 1], 0), (&[1, 1400], 0)], &[3, 1400]);
            check(ty, [(&[], 2), (&[2, 700], 0)], &[2, 700]);
            check(ty, [(&[2, 1, 3, 1], 0), (&[5, 1, 7], 1)], &[2, 5, 3, 7]);
            check(ty, [(&[2, 3, 4], 0), (&[2, 3], 0)], &[2, 3, 4]);
        }
        let (n, row) = (70_003, 3);
        let shape = Shape::from([n, row]);
        let a = Tensor::new(shape.clone(), &vec![1f32; n * row]).expect("fits");
        let b = Tensor::vector(&[0f32, 1.0, 2.0]);
        let mut out = Tensor::zeros(ElementType::F16, shape).expect("small");
        zip::<f32, f32>([(&a, 0), (&b, 1)], &mut out, &|a, b, out| {
            for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
                *out = a + b;
            }
        });
        let mut wide = vec![0f32; n * row];
        widen(&out, 0, &mut wide);
        assert!(wide.chunks(row).all(|row| row == [1.0, 2.0, 3.0]));
    }

    /// Short runs that are repeated, and others after some time, in all types of elements.
    #[test]
    fn patterns() {
        for ty in [ElementType::I32, ElementType::U8, ElementType::U3] {
            for (n, times) in [(3, 1500), (1, 5000), (700, 90), (8, 600), (7, 3)] {
                let b = numbered(ty, &[4, 1, n]);
                let a = Tensor::scalar(1i64);
                let shape = Shape::from([4, times, n]);
                let mut out = Tensor::zeros(ElementType::I64, shape).expect("small");
                let a = crate::tensor::convert::convert(&a, ty).expect("integers");
                zip::<i64, i64>([(&a, 3), (&b, 0)], &mut out, &|a, b, out| {
                    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
                        *out = a + b;
                    }
                });
                let b = to_i64(&b);
                let runs = b.chunks(n).flat_map(|run| std::iter::repeat_n(run, times));
                let expected = runs.flatten().map(|&x| x + 1);
                assert!(to_i64(&out).into_iter().eq(expected), "{ty} {n} {times}");
            }
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_definition(
            dims in prop::collection::vec((1usize..5, any::<bool>(), any::<bool>()), 0..7),
            drop_a in 0usize..4,
            drop_b in 0usize..4,
            ty in 0usize..3,
        ) {
            let out: Vec<usize> = dims.iter().map(|d| d.0).collect();
            let part = |drop: usize, which: fn(&(usize, bool, bool)) -> bool| -> Vec<usize> {
                dims.iter().skip(drop).map(|d| if which(d) { d.0 } else { 1 }).collect()
            };
            let (a, b) = (part(drop_a, |d| d.1), part(drop_b, |d| d.2));
            let at = |drop: usize| drop.min(dims.len());
            let ty = [ElementType::I32, ElementType::U8, ElementType::U3][ty];
            check(ty, [(&a, at(drop_a)), (&b, at(drop_b))], &out);
        }
    }
}
