//! Tests of products by codes.

use half::f16;

use super::*;
use crate::kernel::gemm::operand::{How, Right};
use crate::kernel::gemm::product::run;
use crate::kernel::gemm::{Compressed, Matrix};
use crate::tensor::convert::{Compute, from_codes, narrow};
use crate::tensor::simd::machines;
use crate::tensor::{ElementType, Shape, Tensor};

/// As many rows as two tiles have and one more, and columns that do not fill the last of several panels.
#[test]
fn rows_of_one_tile_and_of_two() {
    let (groups, size, n) = (2, 40, 70);
    let k = groups * size;
    let of_groups = |make: fn(f32) -> f32| {
        let numbers: Vec<f32> = (0..n * groups).map(|i| make(i as f32)).collect();
        Tensor::new(Shape::from([n, groups, 1]), &numbers).expect("as many")
    };
    let (zero, scale) = (of_groups(|i| i % 15.0), of_groups(|i| 0.01 + i / 900.0));
    // A number of `f16`.
    let short = of_groups(|i| f16::from_f32(0.01 + i / 900.0).to_f32());
    let a: Vec<f32> = (0..13 * k)
        .map(|i| (i * 7 % 31) as f32 / 8.0 - 2.0)
        .collect();
    use ElementType as E;
    for ty in [E::U4, E::I4, E::U8, E::I8, E::F16, E::Bf16] {
        let shape = Shape::from([n, groups, size]);
        let codes = (0..n * k).map(|i| (i * 11 % 239) as u8);
        let weights = match ty {
            E::U4 | E::I4 => from_codes(ty, shape, &codes.collect::<Vec<_>>()),
            E::U8 => Tensor::new(shape, &codes.collect::<Vec<_>>()),
            E::I8 => Tensor::new(shape, &codes.map(u8::cast_signed).collect::<Vec<_>>()),
            _ => {
                let numbers: Vec<f32> = codes.map(|code| f32::from(code) / 16.0 - 7.0).collect();
                Tensor::zeros(ty, shape).map(|mut weights| {
                    narrow(&numbers, &mut weights, 0);
                    weights
                })
            }
        };
        let weights = weights.expect("as many");
        let mut numbers = vec![0.0; n * k];
        f32::widen_bytes(ty, weights.bytes(), 0, &mut numbers);
        for (zero_point, scale, half) in [
            (None, None, false),
            (None, Some(&scale), false),
            (Some(&zero), Some(&scale), false),
            (None, Some(&scale), true),
            (Some(&zero), Some(&scale), true),
            (None, Some(&short), true),
            (Some(&zero), Some(&short), true),
            (Some(&zero), None, true),
            (Some(&scale), Some(&short), true),
        ] {
            let of = Compressed {
                weights: &weights,
                zero_point,
                scale,
                by_columns: true,
                half,
            };
            if of.size().is_none() {
                // Numbers of bf16 are not all numbers of f16.
                assert!(ty == E::Bf16 && half);
                continue;
            }
            let round = |x: f32| match half {
                true => f16::from_f32(x).to_f32(),
                false => x,
            };
            let weight = |term: usize, column: usize| {
                let of_group = |tensor: Option<&Tensor>, other: f32| {
                    let all: Option<&[f32]> = tensor.map(|t| t.as_slice().expect("f32"));
                    all.map_or(other, |all| all[column * groups + term / size])
                };
                let difference = round(numbers[column * k + term] - of_group(zero_point, 0.0));
                round(difference * of_group(scale, 1.0))
            };
            let matrix: Vec<f32> = (0..k * n).map(|i| weight(i / n, i % n)).collect();
            for arch in machines() {
                let packed = PackedNarrow::for_arch(arch, of).expect("memory");
                let mut panel = vec![0.0; k * packed.width];
                packed.write(0..k, 0..packed.width, packed.width, &mut panel);
                for (line, expected) in panel.chunks(packed.width).zip(matrix.chunks(n)) {
                    assert_eq!(
                        line,
                        &expected[..packed.width],
                        "{ty}, way {}, {arch:?}",
                        packed.way
                    );
                }
                // What is asked for ahead are the codes of a panel, from a term on.
                let (codes, line) = packed.source(packed.width, 3);
                let bytes: &[u8] = bytemuck::cast_slice(codes);
                let expected = packed.lines(1, 3..size).codes;
                assert_eq!(&bytes[..expected.len()], expected, "{ty} {arch:?}");
                assert_eq!(line * size_of::<f32>() * (size - 3), expected.len());
                for rows in 1..=13 {
                    let mut out = vec![0.5; rows * n];
                    let how = How {
                        accumulate: rows % 2 == 0,
                        ..How::default()
                    };
                    let a = Matrix::new(&a[..rows * k], rows, k);
                    run(arch, a.into(), Right::Panels(&packed), &mut out, how);
                    for (at, &found) in out.iter().enumerate() {
                        let (row, column) = (at / n, at % n);
                        let terms = (0..k).map(|l| {
                            f64::from(a.data[row * k + l]) * f64::from(matrix[l * n + column])
                        });
                        let expected = terms.sum::<f64>() + if how.accumulate { 0.5 } else { 0.0 };
                        let size = expected.abs().max(1.0);
                        assert!(
                            (f64::from(found) - expected).abs() < 1e-4 * size,
                            "{rows} rows, {ty}, way {}, {arch:?}: {found} {expected}",
                            packed.way,
                        );
                    }
                }
            }
        }
    }
}

/// Whether rows are multiplied directly depends on their number alone, not on how threads share them.
#[test]
fn threads_change_nothing() {
    let (k, n) = (2000, 100);
    let numbers = |count: usize| -> Vec<f32> {
        (0..count)
            .map(|i| (i * 7919 % 1009) as f32 / 1009.0 - 0.5)
            .collect()
    };
    let a = numbers(25 * k);
    let mut weights = Tensor::zeros(ElementType::F16, Shape::from([n, k])).expect("memory");
    narrow(&numbers(n * k), &mut weights, 0);
    let of = Compressed {
        weights: &weights,
        zero_point: None,
        scale: None,
        by_columns: true,
        half: false,
    };
    for arch in machines() {
        let packed = PackedNarrow::for_arch(arch, of).expect("memory");
        for rows in [1, 4, 6, 7, 8, 12, 16, 24, 25] {
            let on = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                let mut out = vec![0.0; rows * n];
                let a = Matrix::new(&a[..rows * k], rows, k);
                pool.expect("threads").install(|| {
                    run(
                        arch,
                        a.into(),
                        Right::Panels(&packed),
                        &mut out,
                        How::default(),
                    );
                });
                out
            };
            let one = on(1);
            for threads in [2, 3, 8] {
                assert!(
                    on(threads) == one,
                    "{rows} rows, {threads} threads, {arch:?}"
                );
            }
        }
    }
}
