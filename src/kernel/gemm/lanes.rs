//! Vectors of floats, whatever the machine calls them.

use std::any::TypeId;
use std::ops::Add;

use bytemuck::Pod;
use pulp::{Arch, Scalar128b, Simd, WithSimd};

/// Calls `op` compiled for the vectors of `arch`.
pub(crate) fn dispatch<F: WithSimd>(arch: Arch, op: F) -> F::Output {
    match arch {
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Arch::V3(simd) => Simd::vectorize(simd, op),
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Arch::V4(simd) => Simd::vectorize(simd, op),
        #[cfg(target_arch = "aarch64")]
        Arch::Neon(simd) => Simd::vectorize(simd, op),
        // Four floats at a time are what every machine has.
        _ => op.with_simd(Scalar128b),
    }
}

/// Calls a function that is compiled for the vectors of its caller, but apart from that: the compiler takes more than
/// twice as long for a function of twice as many loops, and keeps in memory what registers do not suffice for in all of
/// them. `f` should do enough to be worth a call, and be marked `#[inline(always)]`.
#[inline(always)]
pub(super) fn apart<S: Simd, R>(simd: S, f: impl FnOnce() -> R) -> R {
    struct Apart<F>(F);

    impl<R, F: FnOnce() -> R> WithSimd for Apart<F> {
        type Output = R;

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) -> R {
            (self.0)()
        }
    }

    #[inline(never)]
    fn call<R>(f: impl FnOnce() -> R) -> R {
        f()
    }

    // Vectors that every machine of a kind has are those of any function.
    if const { S::F32_LANES == 4 } {
        call(f)
    } else {
        simd.vectorize(Apart(f))
    }
}

/// How many `f32` a vector of `arch` holds.
pub(crate) fn lanes(arch: Arch) -> usize {
    dispatch(arch, Measure)[0]
}

/// How many vectors `arch` has registers for.
pub(crate) fn registers(arch: Arch) -> usize {
    dispatch(arch, Measure)[1]
}

struct Measure;

impl WithSimd for Measure {
    type Output = [usize; 2];

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> [usize; 2] {
        [S::F32_LANES, S::REGISTER_COUNT]
    }
}

/// A float that vectors are made of.
pub(crate) trait Lanes: Pod + Send + Sync + Add<Output = Self> {
    /// A vector.
    type Vector<S: Simd>: Pod;

    /// The elements of a vector.
    fn lanes<S: Simd>() -> usize {
        size_of::<Self::Vector<S>>() / size_of::<Self>()
    }

    /// A vector of one number.
    fn splat<S: Simd>(simd: S, x: Self) -> Self::Vector<S>;

    /// The sum.
    fn add_vectors<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;

    /// `a * b + c`, in one step if the machine can.
    fn mul_add<S: Simd>(
        simd: S,
        a: Self::Vector<S>,
        b: Self::Vector<S>,
        c: Self::Vector<S>,
    ) -> Self::Vector<S>;

    /// The sum of the elements of a vector.
    fn sum<S: Simd>(simd: S, a: Self::Vector<S>) -> Self;

    /// The vectors that a slice holds, and the rest of it.
    fn vectors<S: Simd>(slice: &[Self]) -> (&[Self::Vector<S>], &[Self]);

    /// The vectors that a slice holds, and the rest of it.
    fn vectors_mut<S: Simd>(slice: &mut [Self]) -> (&mut [Self::Vector<S>], &mut [Self]);

    /// A vector that begins with the slice.
    fn load<S: Simd>(simd: S, slice: &[Self]) -> Self::Vector<S>;

    /// Writes the first elements of a vector to the slice.
    fn store<S: Simd>(simd: S, slice: &mut [Self], vector: Self::Vector<S>);

    /// Rows as columns.
    #[inline(always)]
    fn transpose<S: Simd>(_simd: S, rows: [[Self; 4]; 4]) -> [[Self; 4]; 4] {
        transpose(rows)
    }

    /// Eight or sixteen rows as columns, if there are instructions for that.
    #[inline(always)]
    fn transpose_many<S: Simd, const N: usize>(
        _simd: S,
        _row: impl Fn(usize) -> [Self; 4],
    ) -> Option<[[Self; N]; 4]> {
        None
    }
}

#[inline(always)]
fn transpose<T: Copy>(rows: [[T; 4]; 4]) -> [[T; 4]; 4] {
    let [a, b, c, d] = rows;
    let mut i = 0;
    [(); 4].map(|()| {
        let column = [a[i], b[i], c[i], d[i]];
        i += 1;
        column
    })
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::any::Any;
    use std::arch::x86_64::__m128;

    use bytemuck::{cast, must_cast};
    use pulp::Simd;
    use pulp::x86::{V3, V4};

    /// The instructions of AVX2, if they are among those of `simd`.
    #[inline(always)]
    fn avx2<S: Simd>(simd: S) -> Option<V3> {
        let simd: &dyn Any = &simd;
        match simd.downcast_ref::<V4>() {
            Some(simd) => Some(**simd),
            None => simd.downcast_ref::<V3>().copied(),
        }
    }

    /// Rows as columns: the compiler would move them one by one.
    #[inline(always)]
    pub(super) fn transpose<S: Simd>(simd: S, rows: [[f32; 4]; 4]) -> Option<[[f32; 4]; 4]> {
        let sse = avx2(simd)?.sse;
        let [a, b, c, d]: [__m128; 4] = rows.map(must_cast);
        let (low_ab, low_cd) = (sse._mm_unpacklo_ps(a, b), sse._mm_unpacklo_ps(c, d));
        let (high_ab, high_cd) = (sse._mm_unpackhi_ps(a, b), sse._mm_unpackhi_ps(c, d));
        Some([
            must_cast(sse._mm_movelh_ps(low_ab, low_cd)),
            must_cast(sse._mm_movehl_ps(low_cd, low_ab)),
            must_cast(sse._mm_movelh_ps(high_ab, high_cd)),
            must_cast(sse._mm_movehl_ps(high_cd, high_ab)),
        ])
    }

    /// Eight rows as columns. Rows are asked for one by one, so that they come from where they lie.
    #[inline(always)]
    fn eight(simd: V3, row: impl Fn(usize) -> [f32; 4]) -> [[f32; 8]; 4] {
        let f = simd.avx;
        macro_rules! part {
            ($i:literal $j:literal) => {{
                let all = f._mm256_castps128_ps256(must_cast(row($i)));
                f._mm256_insertf128_ps::<1>(all, must_cast(row($j)))
            }};
        }
        let (a, b, c, d) = (part!(0 4), part!(1 5), part!(2 6), part!(3 7));
        let (low_ab, low_cd) = (f._mm256_unpacklo_ps(a, b), f._mm256_unpacklo_ps(c, d));
        let (high_ab, high_cd) = (f._mm256_unpackhi_ps(a, b), f._mm256_unpackhi_ps(c, d));
        [
            must_cast(f._mm256_shuffle_ps::<0x44>(low_ab, low_cd)),
            must_cast(f._mm256_shuffle_ps::<0xEE>(low_ab, low_cd)),
            must_cast(f._mm256_shuffle_ps::<0x44>(high_ab, high_cd)),
            must_cast(f._mm256_shuffle_ps::<0xEE>(high_ab, high_cd)),
        ]
    }

    /// Eight or sixteen rows as columns.
    #[inline(always)]
    pub(super) fn transpose_many<S: Simd, const N: usize>(
        simd: S,
        row: impl Fn(usize) -> [f32; 4],
    ) -> Option<[[f32; N]; 4]> {
        match N {
            8 => Some(cast(eight(avx2(simd)?, row))),
            16 => Some(cast(sixteen(simd, row)?)),
            _ => None,
        }
    }

    /// Sixteen rows as columns: the four numbers of rows that are four apart make a vector.
    #[inline(always)]
    fn sixteen<S: Simd>(simd: S, row: impl Fn(usize) -> [f32; 4]) -> Option<[[f32; 16]; 4]> {
        let any: &dyn Any = &simd;
        if let Some(simd) = any.downcast_ref::<V4>() {
            let f = simd.avx512f;
            macro_rules! part {
                ($i:literal $j:literal $k:literal $l:literal) => {{
                    let all = f._mm512_castps128_ps512(must_cast(row($i)));
                    let all = f._mm512_insertf32x4::<1>(all, must_cast(row($j)));
                    let all = f._mm512_insertf32x4::<2>(all, must_cast(row($k)));
                    f._mm512_insertf32x4::<3>(all, must_cast(row($l)))
                }};
            }
            let (a, b) = (part!(0 4 8 12), part!(1 5 9 13));
            let (c, d) = (part!(2 6 10 14), part!(3 7 11 15));
            let (low_ab, low_cd) = (f._mm512_unpacklo_ps(a, b), f._mm512_unpacklo_ps(c, d));
            let (high_ab, high_cd) = (f._mm512_unpackhi_ps(a, b), f._mm512_unpackhi_ps(c, d));
            return Some([
                must_cast(f._mm512_shuffle_ps::<0x44>(low_ab, low_cd)),
                must_cast(f._mm512_shuffle_ps::<0xEE>(low_ab, low_cd)),
                must_cast(f._mm512_shuffle_ps::<0x44>(high_ab, high_cd)),
                must_cast(f._mm512_shuffle_ps::<0xEE>(high_ab, high_cd)),
            ]);
        }
        let simd = *any.downcast_ref::<V3>()?;
        let (low, high) = (eight(simd, &row), eight(simd, |i| row(8 + i)));
        // A mapped array would be a call.
        macro_rules! whole {
            ($i:literal) => {
                must_cast([low[$i], high[$i]])
            };
        }
        Some([whole!(0), whole!(1), whole!(2), whole!(3)])
    }
}

/// Whether there are no fused operations: a function of the library would stand in for them.
fn portable<S: Simd>() -> bool {
    TypeId::of::<S>() == TypeId::of::<Scalar128b>()
}

macro_rules! lanes {
    ($($T:ty, $V:ident, $splat:ident, $add:ident, $mul:ident, $mul_add:ident, $sum:ident,
       $vectors:ident, $vectors_mut:ident, $load:ident, $store:ident $(, $transpose:path, $transpose_many:path)?;)+) => {
        $(impl Lanes for $T {
            type Vector<S: Simd> = S::$V;

            #[inline(always)]
            fn splat<S: Simd>(simd: S, x: Self) -> S::$V {
                simd.$splat(x)
            }

            #[inline(always)]
            fn add_vectors<S: Simd>(simd: S, a: S::$V, b: S::$V) -> S::$V {
                simd.$add(a, b)
            }

            #[inline(always)]
            fn mul_add<S: Simd>(simd: S, a: S::$V, b: S::$V, c: S::$V) -> S::$V {
                if portable::<S>() {
                    simd.$add(simd.$mul(a, b), c)
                } else {
                    simd.$mul_add(a, b, c)
                }
            }

            #[inline(always)]
            fn sum<S: Simd>(simd: S, a: S::$V) -> Self {
                simd.$sum(a)
            }

            #[inline(always)]
            fn vectors<S: Simd>(slice: &[Self]) -> (&[S::$V], &[Self]) {
                S::$vectors(slice)
            }

            #[inline(always)]
            fn vectors_mut<S: Simd>(slice: &mut [Self]) -> (&mut [S::$V], &mut [Self]) {
                S::$vectors_mut(slice)
            }

            #[inline(always)]
            fn load<S: Simd>(simd: S, slice: &[Self]) -> S::$V {
                simd.$load(slice)
            }

            #[inline(always)]
            fn store<S: Simd>(simd: S, slice: &mut [Self], vector: S::$V) {
                simd.$store(slice, vector);
            }

            $(
                #[cfg(target_arch = "x86_64")]
                #[inline(always)]
                fn transpose<S: Simd>(simd: S, rows: [[Self; 4]; 4]) -> [[Self; 4]; 4] {
                    match $transpose(simd, rows) {
                        Some(columns) => columns,
                        None => transpose(rows),
                    }
                }

                #[cfg(target_arch = "x86_64")]
                #[inline(always)]
                fn transpose_many<S: Simd, const N: usize>(
                    simd: S,
                    row: impl Fn(usize) -> [Self; 4],
                ) -> Option<[[Self; N]; 4]> {
                    $transpose_many(simd, row)
                }
            )?
        })+
    };
}

lanes! {
    f32, f32s, splat_f32s, add_f32s, mul_f32s, mul_add_f32s, reduce_sum_f32s,
        as_simd_f32s, as_mut_simd_f32s, partial_load_f32s, partial_store_f32s, x86::transpose, x86::transpose_many;
    f64, f64s, splat_f64s, add_f64s, mul_f64s, mul_add_f64s, reduce_sum_f64s,
        as_simd_f64s, as_mut_simd_f64s, partial_load_f64s, partial_store_f64s;
}
