//! Products of matrices against the definition.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;

use super::*;
use crate::tensor::ElementType;
use crate::tensor::simd::machines;

fn numbers(count: usize, seed: usize) -> Vec<f64> {
    (0..count)
        .map(|i| ((i * (2 * seed + 5) + seed) % 13) as f64 - 6.0)
        .collect()
}

fn view<T>(data: &[T], [rows, columns]: [usize; 2], transposed: bool) -> Matrix<'_, T> {
    match transposed {
        true => Matrix::new(data, columns, rows).transposed(),
        false => Matrix::new(data, rows, columns),
    }
}

/// The product of whole numbers by the definition, exact in every type.
fn naive(a: Matrix<'_, f64>, b: Matrix<'_, f64>, start: f64) -> Vec<f64> {
    let at =
        |v: &Matrix<'_, f64>, i: usize, j: usize| v.data[i * v.row_stride + j * v.column_stride];
    (0..a.rows * b.columns)
        .map(|index| {
            let (i, j) = (index / b.columns, index % b.columns);
            (0..a.columns).fold(start, |sum, l| sum + at(&a, i, l) * at(&b, l, j))
        })
        .collect()
}

fn check([m, k, n]: [usize; 3], [of_a, of_b]: [bool; 2], accumulate: bool) {
    let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
    let (view_a, view_b) = (view(&a, [m, k], of_a), view(&b, [k, n], of_b));
    let start = if accumulate { 1.0 } else { 0.0 };
    let expected = naive(view_a, view_b, start);
    let mut c = vec![if accumulate { 1.0 } else { f64::NAN }; m * n];
    multiply(view_a, view_b, &mut c, accumulate);
    assert_eq!(c, expected);
    let whole = |v: &[f64]| v.iter().map(|&x| x as i32).collect::<Vec<_>>();
    let (a, b) = (whole(&a), whole(&b));
    let mut c = vec![i32::from(accumulate); m * n];
    let (view_a, view_b) = (view(&a, [m, k], of_a), view(&b, [k, n], of_b));
    i32::product(view_a, view_b, &mut c, accumulate);
    assert_eq!(c, whole(&expected));
}

/// Threads part results where it suits them: no sum may depend on what is beside it.
#[test]
fn sums_are_the_same_at_the_end_of_a_product_and_amid() {
    // Nineteen whole tiles of eight rows or 26 of six, and some rows.
    let [m, k, n] = [158, 421, 48];
    let thirds = |count: usize, seed| -> Vec<f32> {
        let all = numbers(count, seed).into_iter();
        all.map(|x| x as f32 / 3.0).collect()
    };
    let (a, b) = (thirds(m * k, 1), thirds(k * (n + 6), 2));
    let all = Matrix::new(&b, k, n + 6);
    for arch in machines() {
        let product = |columns: usize| {
            let mut c = vec![f32::NAN; m * columns];
            let (left, right) = (
                Left::Matrix(Matrix::new(&a, m, k)),
                Matrix::with_strides(&b, k, columns, [n + 6, 1]),
            );
            product::run(arch, left, Right::Matrix(right), &mut c, How::default());
            c
        };
        let whole = product(all.columns);
        for columns in n + 1..n + 6 {
            for (some, whole) in product(columns).chunks(columns).zip(whole.chunks(n + 6)) {
                assert_eq!(some, &whole[..columns], "{columns} columns");
            }
        }
    }
}

#[test]
fn large_products() {
    check([301, 40, 50], [false, true], false);
    check([50, 40, 301], [true, false], true);
    check([2, 0, 3], [false, false], false);
    check([0, 4, 3], [false, false], false);
}

#[test]
fn few_rows_and_columns() {
    for of_b in [false, true] {
        check([1, 700, 701], [false, of_b], true);
        check([3, 130, 1100], [true, of_b], false);
        check([700, 701, 1], [of_b, false], false);
        check([1, 140_000, 3], [false, of_b], true);
        // A row that goes through columns one by one, and one whose columns are so short that it does not.
        check_every_way([1, 170, 60], [false, of_b], true);
        check_every_way([1, 170, 13], [false, of_b], false);
    }
}

/// Each number of rows that has a loop of its own, by lines that lie in different places of the nearest cache and
/// in the same, with rests of terms, and of columns, some more than are added in one piece.
#[test]
fn few_rows_by_lines() {
    for m in 1..=8 {
        for n in [69, 512, 1024, 1100] {
            check_every_way([m, 37, n], [m % 2 == 0, false], m % 3 == 0);
        }
    }
    check_every_way([11, 17, 3], [false, false], false);
}

/// Panels that the first rows write and others read, in several blocks of rows and terms, and sixteen
/// columns that become rows at a time, with rests of every kind.
#[test]
fn panels_written_on_the_way() {
    for of_b in [false, true] {
        // Blocks are cut in the same way for either type, and large products take long.
        check_of::<f32>([245, 390, 50], [false, of_b], true);
        check_of::<f32>([19, 517, 260], [true, of_b], false);
        check_every_way([9, 300, 33], [false, of_b], false);
        check_every_way([20, 150, 64], [false, of_b], true);
    }
    check_every_way([19, 517, 52], [true, false], false);
}

/// Columns behind whole panels that are fewer than a vector has, with rests of tiles and of terms.
#[test]
fn few_last_columns() {
    for width in 1..=5 {
        for (m, k) in [(12, 9), (17, 35), (18, 10), (23, 11), (26, 170), (61, 8)] {
            check_every_way([m, k, 48 + width], [false, width % 2 == 0], m % 2 == 0);
        }
    }
}

/// What is not finite stays where it belongs where vectors hold two terms, and the last of an odd number fills half
/// a vector.
#[test]
fn last_columns_that_are_not_finite() {
    let (m, n) = (16, 97);
    for k in [8usize, 9] {
        let mut b = vec![1.0f32; k * n];
        b[k * n - 1] = f32::INFINITY;
        let (a, b) = (vec![1.0f32; m * k], Matrix::new(&b, k, n));
        for arch in machines() {
            let mut c = vec![f32::NAN; m * n];
            let a = Left::Matrix(Matrix::new(&a, m, k));
            product_on(arch, a, Right::Matrix(b), &mut c, How::default());
            for row in c.chunks_exact(n) {
                assert!(row[..n - 1].iter().all(|&x| x == k as f32), "{arch:?}");
                assert!(row[n - 1] == f32::INFINITY, "{arch:?}");
            }
        }
    }
}

/// Strides that are no matrix's in one piece.
#[test]
fn other_strides() {
    let (a, b) = (numbers(4000, 1), numbers(4000, 2));
    for (m, n) in [(1, 5), (5, 1), (20, 30)] {
        let view_a = Matrix::with_strides(&a, m, 15, [140, 7]);
        let view_b = Matrix::with_strides(&b, 15, n, [3, 90]);
        let mut c = vec![f64::NAN; m * n];
        multiply(view_a, view_b, &mut c, false);
        assert_eq!(c, naive(view_a, view_b, 0.0));
    }
}

#[test]
fn integers_wrap() {
    let a = [i64::MAX, 2, 3];
    let mut c = [0];
    i64::product(Matrix::new(&a, 1, 3), Matrix::new(&a, 3, 1), &mut c, false);
    assert_eq!(c, [1 + 4 + 9]);
}

/// A matrix seen through [`Panels`] only, and where its rows begin if they lie in pieces.
struct Seen<'a, T>(Matrix<'a, T>, Vec<usize>);

impl<T: Real> Panels<T> for Seen<'_, T> {
    fn rows(&self) -> usize {
        self.0.rows
    }

    fn columns(&self) -> usize {
        self.0.columns
    }

    fn pieces(&self, columns: Range<usize>, lanes: usize) -> Option<Pieces<'_, T>> {
        let mut vectors = [0; MOST_VECTORS];
        for (vector, column) in vectors.iter_mut().zip(columns.clone().step_by(lanes)) {
            *vector = column;
        }
        let pieces = Pieces {
            data: self.0.data,
            rows: &self.1,
            vectors,
        };
        (!self.1.is_empty() && columns.end <= self.0.columns).then_some(pieces)
    }

    fn write(&self, rows: Range<usize>, columns: Range<usize>, width: usize, panel: &mut [T]) {
        assert!(columns.start.is_multiple_of(width) && columns.len() <= width);
        assert_eq!(panel.len(), rows.len() * width);
        panel.fill(T::of(f64::NAN));
        for (l, line) in rows.zip(panel.chunks_mut(width)) {
            for (j, out) in columns.clone().zip(line) {
                *out = self.0.at(l, j);
            }
        }
    }
}

/// Every way to compute a product: all must give the sums of whole numbers exactly, and finish each
/// element once.
fn check_all<T: Real>(a: Matrix<'_, f64>, b: Matrix<'_, f64>, accumulate: bool) {
    let start = if accumulate { 1.0 } else { 0.0 };
    let expected = naive(a, b, start);
    let (m, k, n) = (a.rows, a.columns, b.columns);
    let of = |v: &[f64]| v.iter().map(|&x| T::of(x)).collect::<Vec<T>>();
    let (a_data, b_data) = (of(a.data), of(b.data));
    let strides = |v: &Matrix<'_, f64>| [v.row_stride, v.column_stride];
    let (a, b) = (
        Matrix::with_strides(&a_data, m, k, strides(&a)),
        Matrix::with_strides(&b_data, k, n, strides(&b)),
    );
    for arch in machines() {
        let (left, right) = (
            PackedLeft::for_arch(arch, a).expect("memory"),
            PackedRight::for_arch(arch, &Seen(b, Vec::new())).expect("memory"),
        );
        let starts = match b.column_stride {
            1 => (0..k).map(|l| l * b.row_stride).collect(),
            _ => Vec::new(),
        };
        let (seen, in_pieces) = (Seen(b, Vec::new()), Seen(b, starts));
        for alone in [false, true] {
            for a in [Left::Matrix(a), Left::Packed(&left)] {
                for b in [
                    Right::Matrix(b),
                    Right::Packed(&right),
                    Right::Panels(&seen),
                    Right::Panels(&in_pieces),
                ] {
                    let before = if accumulate { 1.0 } else { f64::NAN };
                    let mut c = vec![T::of(before); m * n];
                    let finished = AtomicUsize::new(0);
                    let finish = |at: usize, piece: &mut [T]| {
                        finished.fetch_add(piece.len(), Ordering::Relaxed);
                        for (i, x) in piece.iter_mut().enumerate() {
                            *x += T::of((at + i) as f64);
                        }
                    };
                    let how = How {
                        accumulate,
                        alone,
                        finish: Some(&finish),
                    };
                    product_on(arch, a, b, &mut c, how);
                    assert_eq!(finished.into_inner(), m * n);
                    for (i, (x, y)) in c.iter().zip(&expected).enumerate() {
                        assert_eq!(x.wide(), y + i as f64, "{arch:?} {m}x{k}x{n} at {i}");
                    }
                }
            }
        }
    }
}

fn check_every_way(sizes: [usize; 3], turned: [bool; 2], accumulate: bool) {
    check_of::<f32>(sizes, turned, accumulate);
    check_of::<f64>(sizes, turned, accumulate);
}

fn check_of<T: Real>([m, k, n]: [usize; 3], [of_a, of_b]: [bool; 2], accumulate: bool) {
    let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
    let (a, b) = (view(&a, [m, k], of_a), view(&b, [k, n], of_b));
    check_all::<T>(a, b, accumulate);
}

#[test]
fn every_way_gives_the_product() {
    for (sizes, turned, accumulate) in [
        ([0, 5, 3], [false, false], false),
        ([5, 0, 3], [false, false], true),
        ([5, 0, 3], [false, false], false),
        ([5, 3, 0], [false, false], false),
        ([1, 1, 1], [false, false], false),
        ([13, 257, 33], [true, true], true),
        ([125, 9, 270], [false, false], false),
        ([7, 520, 40], [false, true], true),
        ([9, 5, 600], [false, false], true),
    ] {
        check_every_way(sizes, turned, accumulate);
    }
    let (a, b) = (numbers(4000, 1), numbers(4000, 2));
    let a = Matrix::with_strides(&a, 26, 15, [140, 7]);
    check_all::<f32>(a, Matrix::with_strides(&b, 15, 40, [3, 90]), false);
}

/// Few terms, whose panels lie beside each other or in pieces, and one more than these.
#[test]
fn few_terms() {
    for terms in [1, 27, SHORT, SHORT + 1] {
        check_every_way([19, terms, 96], [false, false], true);
        check_every_way([5, terms, 48], [false, false], false);
        check_every_way([13, terms, 77], [true, false], false);
    }
    // Enough for several threads.
    check_every_way([40, SHORT, 192], [false, false], false);
    // Several blocks of rows: the panels of the first are what the others find packed, and those that were
    // written before all of them lie a term further apart than they are long.
    for of_b in [false, true] {
        check_every_way([245, 9, 100], [false, of_b], false);
    }
    check_of::<f32>([241, 150, 112], [false, false], true);
}

/// The left side is packed in parts if it is large.
#[test]
fn tall_left_sides() {
    let (m, k, n) = (4200, 260, 9);
    let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
    let (a, b) = (Matrix::new(&a, m, k), Matrix::new(&b, k, n));
    let mut c = vec![f64::NAN; m * n];
    product(a, b, &mut c, How::default());
    assert_eq!(c, naive(a, b, 0.0));
}

/// However many threads compute a product, its elements are the same to the last bit.
#[test]
fn threads_change_nothing() {
    let numbers = |count: usize, seed: usize| -> Vec<f32> {
        (0..count)
            .map(|i| ((i * 7919 + seed) % 1009) as f32 / 1009.0 - 0.5)
            .collect()
    };
    for [m, k, n] in [
        [150, 300, 170],
        [490, 800, 130],
        [170, 300, 50],
        [6, 2000, 197],
        [9, 500, 1100],
        [1, 700, 3000],
        [250, 900, 196],
    ] {
        let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
        for of_b in [false, true] {
            let (a, b) = (Matrix::new(&a, m, k), view(&b, [k, n], of_b));
            let packed = PackedRight::new(b).expect("memory");
            let seen = Seen(b, Vec::new());
            for b in [
                Right::Matrix(b),
                Right::Packed(&packed),
                Right::Panels(&seen),
            ] {
                let mut whole = vec![0.0; m * n];
                let count = |position: usize, piece: &mut [f32]| {
                    let places = (position..).map(|place| place as f32);
                    piece.iter_mut().zip(places).for_each(|(x, at)| *x += at);
                };
                let every = How {
                    finish: Some(&count),
                    ..How::default()
                };
                let alone = How {
                    alone: true,
                    ..every
                };
                product(a, b, &mut whole, alone);
                for threads in [1, 2, 3, 8] {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                    let mut c = vec![0.0; m * n];
                    pool.expect("threads")
                        .install(|| product(a, b, &mut c, every));
                    assert!(c == whole, "{threads} threads");
                }
            }
        }
    }
}

#[test]
fn packed_sides_show_their_size_only() {
    let data = numbers(6, 1);
    let matrix = Matrix::new(&data, 2, 3);
    assert_eq!(
        format!("{:?}", PackedLeft::new(matrix).expect("memory")),
        "PackedLeft(2 x 3)"
    );
    assert_eq!(
        format!("{:?}", PackedRight::new(matrix).expect("memory")),
        "PackedRight(2 x 3)"
    );
}

#[test]
fn narrow_matrices() {
    for ([m, k, n], of_b) in [
        ([1, 300, 500], false),
        ([1, 300, 500], true),
        ([9, 1000, 300], false),
        ([9, 1000, 300], true),
        ([2, 0, 3], true),
        ([5, 3, 0], true),
    ] {
        let (a, b) = (numbers(m * k, 1), numbers(5 + k * n, 2));
        let half: Vec<half::f16> = b.iter().map(|&x| half::f16::from_f64(x)).collect();
        let narrow = Narrow {
            ty: ElementType::F16,
            bytes: bytemuck::cast_slice(&half),
            start: 5,
            rows: k,
            columns: n,
            by_columns: of_b,
        };
        let a = Matrix::new(&a, m, k);
        let mut c = vec![f64::NAN; m * n];
        multiply_narrow(a, narrow, &mut c);
        assert_eq!(c, naive(a, view(&b[5..], [k, n], of_b), 0.0));
    }
}

#[test]
fn many_products() {
    let (a, b) = (numbers(50 * 60, 1), numbers(50 * 60, 2));
    for (count, m, k, n) in [(0, 2, 3, 4), (3, 2, 3, 4), (50, 6, 10, 6), (3, 30, 33, 0)] {
        let mut c = vec![f64::NAN; count * m * n];
        let a = |i: usize| Matrix::new(&a[i * m * k..][..m * k], m, k);
        let b = |i: usize| Matrix::new(&b[i * n * k..][..n * k], n, k).transposed();
        batches(&a, &b, &mut c, m * n, None);
        for (i, c) in c.chunks(usize::max(1, m * n)).enumerate() {
            assert_eq!(c, naive(a(i), b(i), 0.0));
        }
    }
}

#[test]
fn broadcast_batches() {
    let indices = |own: &[usize], out: &[usize]| -> Vec<usize> {
        let batch = Batch::new(own, out);
        (0..out.iter().product()).map(|i| batch.at(i)).collect()
    };
    assert_eq!(indices(&[], &[2, 2]), [0; 4]);
    assert_eq!(indices(&[2, 3], &[2, 3]), [0, 1, 2, 3, 4, 5]);
    assert_eq!(indices(&[3], &[2, 3]), [0, 1, 2, 0, 1, 2]);
    assert_eq!(indices(&[2, 1, 2], &[2, 2, 2]), [0, 1, 0, 1, 2, 3, 2, 3]);
    assert_eq!(indices(&[2, 2, 1], &[2, 2, 2]), [0, 0, 1, 1, 2, 2, 3, 3]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn definition(
        m in 0usize..20, k in 0usize..70, n in 0usize..20,
        a in any::<bool>(),
        b in any::<bool>(),
        accumulate in any::<bool>(),
    ) {
        check([m, k, n], [a, b], accumulate);
    }

    #[test]
    fn every_way(
        m in 0usize..30, k in 0usize..40, n in 0usize..80,
        a in any::<bool>(),
        b in any::<bool>(),
        accumulate in any::<bool>(),
    ) {
        check_every_way([m, k, n], [a, b], accumulate);
    }
}

#[test]
fn what_is_kept_is_made_without_haste() {
    let late = crate::Limits {
        deadline: Some(std::time::Instant::now()),
        ..crate::Limits::default()
    };
    let made_late = crate::limits::under(&late, || {
        assert!(crate::limits::watch().check().is_err());
        let cell = std::sync::OnceLock::new();
        let made = made(&cell, || crate::limits::watch().check().is_ok());
        made.copied()
    });
    assert_eq!(made_late, Some(true), "a half packed matrix would be kept");
    let limits = crate::Limits::default();
    crate::limits::under(&limits, || {
        let cell = std::sync::OnceLock::new();
        assert_eq!(made(&cell, crate::limits::refuse), None);
        assert_eq!(cell.get(), None, "nor what there was no memory for");
    });
}
