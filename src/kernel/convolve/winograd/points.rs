//! The transformations of tiles and filters along one axis.
//!
//! With `M` outputs to a tile, `N = M + 2` inputs and as many points of interpolation, one of them
//! infinite, `output(filter * w · input(x))` are `M` sums of three products.

use pulp::Simd;

use crate::kernel::gemm::Lanes;

/// Points, and the transformations that belong to them.
pub(super) trait Points<const M: usize, const N: usize> {
    /// A row for each point: what each of three weights is multiplied with.
    const FILTER: [[f64; 3]; N];

    /// What becomes of the elements under a tile.
    fn input<S: Simd>(simd: S, x: [S::f32s; N]) -> [S::f32s; N];

    /// The outputs of a tile.
    fn output<S: Simd>(simd: S, m: [S::f32s; N]) -> [S::f32s; M];
}

/// `a * b + c` with the number `a`.
#[inline(always)]
fn add_times<S: Simd>(simd: S, a: f32, b: S::f32s, c: S::f32s) -> S::f32s {
    <f32 as Lanes>::mul_add(simd, simd.splat_f32s(a), b, c)
}

/// Two outputs: points 0, 1, -1 and infinity.
#[derive(Debug)]
pub(super) struct Two;

impl Points<2, 4> for Two {
    const FILTER: [[f64; 3]; 4] = [
        [1.0, 0.0, 0.0],
        [0.5, 0.5, 0.5],
        [0.5, -0.5, 0.5],
        [0.0, 0.0, 1.0],
    ];

    #[inline(always)]
    fn input<S: Simd>(simd: S, x: [S::f32s; 4]) -> [S::f32s; 4] {
        [
            simd.sub_f32s(x[0], x[2]),
            simd.add_f32s(x[1], x[2]),
            simd.sub_f32s(x[2], x[1]),
            simd.sub_f32s(x[3], x[1]),
        ]
    }

    #[inline(always)]
    fn output<S: Simd>(simd: S, m: [S::f32s; 4]) -> [S::f32s; 2] {
        let (sum, difference) = (simd.add_f32s(m[1], m[2]), simd.sub_f32s(m[1], m[2]));
        [simd.add_f32s(m[0], sum), simd.add_f32s(difference, m[3])]
    }
}

/// Four outputs: points 0, ±3/4, ±3/2 and infinity. The numbers below are exact in `f32`, and the
/// error is a third of that with the common points ±1 and ±2.
#[derive(Debug)]
pub(super) struct Four;

/// The smaller and the larger of the points, and their squares.
const A: f64 = 0.75;
const B: f64 = 1.5;
const AA: f64 = A * A;
const BB: f64 = B * B;

/// What the filters are divided by at the points.
const AT_ZERO: f64 = AA * BB;
const AT_A: f64 = 2.0 * AA * (AA - BB);
const AT_B: f64 = 2.0 * BB * (BB - AA);

#[allow(clippy::cast_possible_truncation)]
impl Points<4, 6> for Four {
    const FILTER: [[f64; 3]; 6] = [
        [1.0 / AT_ZERO, 0.0, 0.0],
        [1.0 / AT_A, A / AT_A, AA / AT_A],
        [1.0 / AT_A, -A / AT_A, AA / AT_A],
        [1.0 / AT_B, B / AT_B, BB / AT_B],
        [1.0 / AT_B, -B / AT_B, BB / AT_B],
        [0.0, 0.0, 1.0],
    ];

    #[inline(always)]
    fn input<S: Simd>(simd: S, x: [S::f32s; 6]) -> [S::f32s; 6] {
        const PRODUCT: f32 = (AA * BB) as f32;
        const SUM: f32 = (AA + BB) as f32;
        let even = add_times(simd, -BB as f32, x[2], x[4]);
        let odd = add_times(simd, -BB as f32, x[1], x[3]);
        let other_even = add_times(simd, -AA as f32, x[2], x[4]);
        let other_odd = add_times(simd, -AA as f32, x[1], x[3]);
        [
            add_times(simd, PRODUCT, x[0], add_times(simd, -SUM, x[2], x[4])),
            add_times(simd, A as f32, odd, even),
            add_times(simd, -A as f32, odd, even),
            add_times(simd, B as f32, other_odd, other_even),
            add_times(simd, -B as f32, other_odd, other_even),
            add_times(simd, PRODUCT, x[1], add_times(simd, -SUM, x[3], x[5])),
        ]
    }

    #[inline(always)]
    fn output<S: Simd>(simd: S, m: [S::f32s; 6]) -> [S::f32s; 4] {
        let times = |a: f64, x| simd.mul_f32s(simd.splat_f32s(a as f32), x);
        let (sum, difference) = (simd.add_f32s(m[1], m[2]), simd.sub_f32s(m[1], m[2]));
        let (other_sum, other) = (simd.add_f32s(m[3], m[4]), simd.sub_f32s(m[3], m[4]));
        [
            simd.add_f32s(m[0], simd.add_f32s(sum, other_sum)),
            add_times(simd, B as f32, other, times(A, difference)),
            add_times(simd, BB as f32, other_sum, times(AA, sum)),
            add_times(
                simd,
                (B * BB) as f32,
                other,
                add_times(simd, (A * AA) as f32, difference, m[5]),
            ),
        ]
    }
}
