//! Tests of products by codes.

use half::f16;

use super::*;
use crate::kernel::gemm::operand::{How, Right};
use crate::kernel::gemm::product::run;
use crate::kernel::gemm::tests::machines;
use crate::kernel::gemm::{Compressed, Matrix};
use crate::tensor::convert::{Compute, from_codes, narrow};
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
        let (zeros, scales): (&[f32], &[f32]) = (
            zero.as_slice().expect("f32"),
            scale.as_slice().expect("f32"),
        );
        for (zero_point, scale, half) in [
            (None, None, false),
            (None, Some(&scale), false),
            (Some(&zero), Some(&scale), false),
            (None, Some(&scale), true),
            (Some(&zero), Some(&scale), true),
        ] {
            let of = Compressed {
                weights: &weights,
                zero_point,
                scale,
                by_columns: true,
                half,
            };
            let weight = |term: usize, column: usize| {
                let group = column * groups + term / size;
                let zero = if zero_point.is_some() {
                    zeros[group]
                } else {
                    0.0
                };
                let scale = if scale.is_some() { scales[group] } else { 1.0 };
                let weight = (numbers[column * k + term] - zero) * scale;
                match half {
                    true => f16::from_f32(weight).to_f32(),
                    false => weight,
                }
            };
            let matrix: Vec<f64> = (0..k * n).map(|i| weight(i / n, i % n).into()).collect();
            for arch in machines() {
                let packed = PackedNarrow::for_arch(arch, of).expect("memory");
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
                        let terms =
                            (0..k).map(|l| f64::from(a.data[row * k + l]) * matrix[l * n + column]);
                        let expected = terms.sum::<f64>() + if how.accumulate { 0.5 } else { 0.0 };
                        let size = expected.abs().max(1.0);
                        assert!(
                            (f64::from(found) - expected).abs() < 1e-4 * size,
                            "{rows} rows, {ty}, way {}, {arch:?}: {found} {expected}",
                            packed.way(),
                        );
                    }
                }
            }
        }
    }
}
