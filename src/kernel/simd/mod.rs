//! Loops compiled for the vectors of the machine they run on, and memory asked for ahead.

#[cfg(target_arch = "x86_64")]
use std::sync::OnceLock;

use bytemuck::{cast, cast_slice, cast_slice_mut};
use pulp::{Arch, Simd};

mod gathers;

pub(crate) use self::gathers::{GATHERED, Gathers};
use super::across::LANES;
use crate::limits;
use crate::tensor::LINE;
use crate::tensor::simd::machine;
pub(crate) use crate::tensor::simd::{Converting, F16c, vectorize, vectorize_mut};

/// The vectors for loops whose sums depend on them: those of this machine, or where results must be the
/// same on all machines ([`limits::Limits::deterministic`]) those that all have.
#[inline(always)]
pub(crate) fn arch() -> Arch {
    if limits::current(|limits| limits.deterministic) {
        Arch::Scalar
    } else {
        machine()
    }
}

/// Asks for the memory of the element `position` after one, to be read or written soon. A position
/// outside is no error, but where no memory is, a processor looks for it in vain, for up to 70 ns.
#[inline(always)]
pub(crate) fn prefetch<T>(data: *const T, position: usize) {
    ask::<NEAREST, T>(data, position);
}

/// The same for what is not needed so soon: it leaves the nearest cache to others.
#[inline(always)]
pub(crate) fn prefetch_far<T>(data: *const T, position: usize) {
    ask::<NEXT, T>(data, position);
}

/// Which cache is filled, as the processors of x86 number that.
const NEAREST: i32 = 3;
const NEXT: i32 = 2;

#[inline(always)]
fn ask<const HINT: i32, T>(data: *const T, position: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(sse) = pulp::core_arch::x86::Sse::try_new() {
        sse._mm_prefetch::<HINT>(data.wrapping_add(position).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (data, position);
}

/// Asks for what lies so many bytes after some elements.
#[inline(always)]
pub(crate) fn prefetch_after<T>(elements: &[T], bytes: usize) {
    ask_after::<NEAREST, T>(elements, bytes);
}

#[inline(always)]
fn ask_after<const HINT: i32, T>(elements: &[T], bytes: usize) {
    for at in (0..size_of_val(elements)).step_by(LINE) {
        ask::<HINT, u8>(elements.as_ptr().cast(), bytes.wrapping_add(at));
    }
}

/// How a loop that goes through memory from one end to the other asks for what comes: a processor foresees
/// reads, but not always far enough for a few operations on each, nor from one page to the next.
pub(crate) trait Stream {
    /// Bytes between what is worked on and what is asked for, where one sequence of elements is read. Much
    /// more would wait for memory in places that other reads need.
    fn ahead() -> usize;

    /// The same where several sequences are read side by side; `None` if they are better asked for one after
    /// another, in the order in which they lie in memory, long before.
    fn ahead_of_several() -> Option<usize>;

    /// Whether the processor foresees a sequence of short rows as well as it can be, if two of them are read at a time:
    /// nothing need be asked for then.
    #[inline]
    fn foresees_pairs() -> bool {
        false
    }

    /// Asks for what lies so many bytes after some elements.
    fn ask<T>(elements: &[T], bytes: usize);
}

/// A stream whose elements are asked for into the nearest cache: for processors that [`wait_near`], or [`widen_near`].
pub(crate) struct Near;

/// Into the next one, for other processors of AMD ([`is_amd`]), which have half of the bandwidth otherwise, and a third
/// less where lines are not asked for in order. Without AVX-512, and since Zen 5, they foresee as far as is good: asked
/// for more, they lose a sixth of it, or a third.
pub(crate) struct Far;

/// For loops that a processor foresees, or over what is near anyway.
pub(crate) struct Foreseen;

impl Stream for Near {
    fn ahead() -> usize {
        if is_recent_amd() { 8192 } else { 2048 }
    }

    #[inline]
    fn ahead_of_several() -> Option<usize> {
        Some(if is_first_zen() { 512 } else { 2048 })
    }

    #[inline]
    fn foresees_pairs() -> bool {
        is_first_zen()
    }

    #[inline(always)]
    fn ask<T>(elements: &[T], bytes: usize) {
        ask_after::<NEAREST, T>(elements, bytes);
    }
}

impl Stream for Far {
    fn ahead() -> usize {
        if Self::foresees_pairs() { 512 } else { 1024 }
    }

    #[inline]
    fn ahead_of_several() -> Option<usize> {
        None
    }

    #[inline]
    fn foresees_pairs() -> bool {
        #[cfg(target_arch = "x86_64")]
        let wide = matches!(machine(), Arch::V4(_));
        #[cfg(not(target_arch = "x86_64"))]
        let wide = false;
        !wide || is_recent_amd()
    }

    #[inline(always)]
    fn ask<T>(elements: &[T], bytes: usize) {
        ask_after::<NEXT, T>(elements, bytes);
    }
}

impl Stream for Foreseen {
    fn ahead() -> usize {
        0
    }

    #[inline]
    fn ahead_of_several() -> Option<usize> {
        Some(0)
    }

    #[inline(always)]
    fn ask<T>(_elements: &[T], _bytes: usize) {}
}

/// Whether this runs on a processor of AMD, which alone have SSE4a: some of what helps others hinders these.
pub(crate) fn is_amd() -> bool {
    #[cfg(target_arch = "x86_64")]
    let amd = std::arch::is_x86_feature_detected!("sse4a");
    #[cfg(not(target_arch = "x86_64"))]
    let amd = false;
    amd
}

/// Whether this is a processor of AMD since Zen 5. They foresee rows and panels better than those before, and wait for
/// more lines of the cache at a time.
pub(crate) fn is_recent_amd() -> bool {
    is_amd() && has_vnni()
}

/// Whether this is a processor of AMD's first Zen (family 17h before model 30h, and Hygon's 18h). They foresee less than those
/// after them, and take two steps for a vector of AVX2.
pub(crate) fn is_first_zen() -> bool {
    #[cfg(target_arch = "x86_64")]
    let first = {
        static FIRST: OnceLock<bool> = OnceLock::new();
        let of_first = |family, model| matches!((family, model), (0x17, ..0x30) | (0x18, _));
        *FIRST.get_or_init(|| {
            let told = || raw_cpuid::CpuId::new().get_feature_info();
            is_amd() && told().is_some_and(|told| of_first(told.family_id(), told.model_id()))
        })
    };
    #[cfg(not(target_arch = "x86_64"))]
    let first = false;
    first
}

/// Whether this is a processor of Intel since Sapphire Rapids, or another one that has what these have.
pub(crate) fn is_recent_intel() -> bool {
    !is_amd() && has_vnni()
}

/// AVX-VNNI came with the processors that these two functions tell from those before.
fn has_vnni() -> bool {
    #[cfg(target_arch = "x86_64")]
    let has = std::arch::is_x86_feature_detected!("avxvnni");
    #[cfg(not(target_arch = "x86_64"))]
    let has = false;
    has
}

/// Whether a loop over one sequence of elements is faster when they are asked for into the nearest cache ([`Near`]).
pub(crate) fn wait_near() -> bool {
    !is_amd() || is_recent_amd()
}

/// The same for a loop that widens elements before it adds them: the longer that takes, the less is foreseen.
pub(crate) fn widen_near() -> bool {
    wait_near() || is_first_zen()
}

/// Whether the vectors of this machine add products with one rounding; elsewhere that takes very long.
pub(crate) fn adds_products() -> bool {
    !matches!(machine(), Arch::Scalar)
}

/// Vectors of half as many lanes, which processors with AVX-512 have as well.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn narrower<S: Simd>(simd: S) -> Option<pulp::x86::V3> {
    let any: &dyn std::any::Any = &simd;
    any.downcast_ref().map(|simd: &pulp::x86::V4| **simd)
}

/// Vectors of half as many lanes: none elsewhere.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(crate) fn narrower<S: Simd>(_: S) -> Option<pulp::Scalar> {
    None
}

/// Half of the elements of a vector of AVX2.
pub(crate) const HALF: usize = 4;

/// A vector of twice [`HALF`] elements from two places.
#[inline(always)]
pub(crate) fn pair<S: Simd>(_: S, first: &[f32], second: &[f32]) -> S::f32s {
    // A mapped array would be a call.
    cast([
        first.as_chunks::<HALF>().0[0],
        second.as_chunks::<HALF>().0[0],
    ])
}

/// The halves of such a vector.
#[inline(always)]
pub(crate) fn parts<S: Simd>(_: S, vector: S::f32s) -> [[f32; HALF]; 2] {
    cast(vector)
}

/// All bits of an element.
pub(crate) const ALL: f32 = f32::from_bits(u32::MAX);

/// The bits of a vector that another one has.
#[inline(always)]
pub(crate) fn keep<S: Simd>(simd: S, x: S::f32s, mask: S::f32s) -> S::f32s {
    let [x, mask] = [simd.transmute_u32s_f32s(x), simd.transmute_u32s_f32s(mask)];
    simd.transmute_f32s_u32s(simd.and_u32s(x, mask))
}

/// A vector with all bits of its first elements, and none of the others, with which [`keep`] keeps these.
#[inline(always)]
pub(crate) fn kept<S: Simd>(simd: S, count: usize) -> S::f32s {
    let all = [ALL; LANES];
    simd.partial_load_f32s(&all[..count.min(S::F32_LANES)])
}

/// Every second element, beginning with the first.
#[inline(always)]
pub(crate) fn evens<S: Simd>(simd: S, from: &[f32; 32]) -> [f32; 16] {
    halves(simd, from)[0]
}

/// Every second element, beginning with the first and with the second.
#[inline(always)]
pub(crate) fn halves<S: Simd>(simd: S, from: &[f32; 32]) -> [[f32; 16]; 2] {
    #[cfg(target_arch = "x86_64")]
    if let Some(halves) = x86::halves(simd, from) {
        return halves;
    }
    let _ = simd;
    [0, 1].map(|first| std::array::from_fn(|i| from[2 * i + first]))
}

/// Every second element of two vectors, beginning with the first and with the second.
#[inline(always)]
pub(crate) fn unzip<S: Simd>(simd: S, a: S::f32s, b: S::f32s) -> [S::f32s; 2] {
    #[cfg(target_arch = "x86_64")]
    if let Some(parted) = x86::unzip(simd, a, b) {
        return parted;
    }
    let (both, mut parted) = ([a, b], [simd.splat_f32s(0.0); 2]);
    let from: &[f32] = cast_slice(&both);
    let (evens, odds) = cast_slice_mut(&mut parted).split_at_mut(S::F32_LANES);
    for ((pair, even), odd) in from.as_chunks::<2>().0.iter().zip(evens).zip(odds) {
        [*even, *odd] = *pair;
    }
    parted
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::any::Any;

    use bytemuck::{cast, must_cast};
    use pulp::Simd;
    use pulp::x86::{V3, V4};

    /// The places of every second element. Known here, for a closure that finds them at run time would not be
    /// compiled for these vectors, and be called.
    const EVENS: [u32; 16] = every_second(0);
    const ODDS: [u32; 16] = every_second(1);

    const fn every_second(first: u32) -> [u32; 16] {
        let (mut places, mut i) = ([first; 16], 1);
        while i < places.len() {
            places[i] = places[i - 1] + 2;
            i += 1;
        }
        places
    }

    /// The compiler would move the elements one by one.
    #[inline(always)]
    pub(super) fn unzip<S: Simd>(simd: S, a: S::f32s, b: S::f32s) -> Option<[S::f32s; 2]> {
        let any: &dyn Any = &simd;
        if let Some(simd) = any.downcast_ref::<V4>() {
            let (avx, a, b) = (simd.avx512f, cast(a), cast(b));
            return Some([
                cast(avx._mm512_permutex2var_ps(a, must_cast(EVENS), b)),
                cast(avx._mm512_permutex2var_ps(a, must_cast(ODDS), b)),
            ]);
        }
        let V3 { avx, avx2, .. } = *any.downcast_ref::<V3>()?;
        let (a, b) = (cast(a), cast(b));
        macro_rules! half {
            ($places:literal) => {{
                let mixed = avx._mm256_shuffle_ps::<$places>(a, b);
                let ordered = avx2._mm256_permute4x64_epi64::<0b11_01_10_00>(must_cast(mixed));
                cast(ordered)
            }};
        }
        Some([half!(0b10_00_10_00), half!(0b11_01_11_01)])
    }

    #[inline(always)]
    pub(super) fn halves<S: Simd>(simd: S, from: &[f32; 32]) -> Option<[[f32; 16]; 2]> {
        let any: &dyn Any = &simd;
        if let Some(&simd) = any.downcast_ref::<V4>() {
            let [a, b]: [[f32; 16]; 2] = must_cast(*from);
            return Some(cast(unzip(simd, must_cast(a), must_cast(b))?));
        }
        let simd = *any.downcast_ref::<V3>()?;
        let [a, b, c, d]: [[f32; 8]; 4] = must_cast(*from);
        let [low_evens, low_odds] = unzip(simd, must_cast(a), must_cast(b))?;
        let [high_evens, high_odds] = unzip(simd, must_cast(c), must_cast(d))?;
        Some([cast([low_evens, high_evens]), cast([low_odds, high_odds])])
    }
}

#[cfg(test)]
mod tests {
    use pulp::WithSimd;

    use super::*;

    #[test]
    fn every_second() {
        struct Halves([f32; 32]);

        impl WithSimd for Halves {
            type Output = [[f32; 16]; 2];

            #[inline(always)]
            fn with_simd<S: Simd>(self, simd: S) -> [[f32; 16]; 2] {
                // Vectors of as many elements as they have, one pair after another.
                let (mut evens, mut odds) = ([0.0; 16], [0.0; 16]);
                let pairs = S::as_simd_f32s(&self.0).0.as_chunks::<2>().0.iter();
                let [into_evens, into_odds] =
                    [&mut evens, &mut odds].map(|to| S::as_mut_simd_f32s(to).0);
                for ((&[a, b], even), odd) in pairs.zip(into_evens).zip(into_odds) {
                    [*even, *odd] = unzip(simd, a, b);
                }
                assert_eq!(halves(simd, &self.0), [evens, odds]);
                [evens, odds]
            }
        }

        let all: [f32; 32] = std::array::from_fn(|i| i as f32);
        let expected = [0.0, 1.0].map(|first| std::array::from_fn(|i| 2.0 * i as f32 + first));
        assert_eq!(arch().dispatch(Halves(all)), expected);
        assert_eq!(Halves(all).with_simd(pulp::Scalar128b), expected);
        assert_eq!(evens(pulp::Scalar128b, &all), expected[0]);
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            assert_eq!(Simd::vectorize(simd, Halves(all)), expected);
        }
    }
}
