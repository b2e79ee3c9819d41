//! Tests of right sides of four bits an element.

use super::*;
use crate::kernel::gemm::PackedNarrow;
use crate::tensor::Shape;
use crate::tensor::convert::from_codes;
use crate::tensor::simd::machines;

#[test]
fn panels_are_those_of_packed_weights() {
    let codes: Vec<u8> = (0..5 * 64).map(|i| (i * 7 % 251) as u8).collect();
    let of_groups = |start: f32| {
        let numbers: Vec<f32> = (0..10u8).map(|i| start + f32::from(i) / 3.0).collect();
        Tensor::new(Shape::from([5, 2, 1]), &numbers).expect("ten")
    };
    let (zero, scale) = (of_groups(2.0), of_groups(0.01));
    for (ty, arch) in [ElementType::U4, ElementType::I4]
        .into_iter()
        .flat_map(|ty| machines().into_iter().map(move |arch| (ty, arch)))
    {
        let weights = from_codes(ty, Shape::from([5, 2, 32]), &codes).expect("as many");
        for (zero_point, half) in [(None, false), (Some(&zero), true)] {
            let of = Compressed {
                weights: &weights,
                zero_point,
                scale: Some(&scale),
                by_columns: true,
                half,
            };
            let Some(direct) = Nibbles::for_arch(arch, of) else {
                assert!(!has_instructions(arch));
                continue;
            };
            let packed = PackedNarrow::for_arch(arch, of).expect("memory");
            let width = packed.width(TileSize::of::<f32>(arch));
            let mut panels = [vec![7.0; 20 * width], vec![7.0; 20 * width]];
            direct.write(30..50, 0..5, width, &mut panels[0]);
            packed.write(30..50, 0..5, width, &mut panels[1]);
            for (a, b) in panels[0].chunks(width).zip(panels[1].chunks(width)) {
                assert_eq!(a[..5], b[..5], "{ty} {arch:?}");
            }
        }
    }
}

#[test]
fn few_rows_are_multiplied_on_any_machine() {
    // A number of columns that is no multiple of those worked on at a time.
    let (groups, size, n) = (3, 64, 7);
    let k = groups * size;
    let codes: Vec<u8> = (0..n * k).map(|i| (i * 11 % 239) as u8).collect();
    let of_groups = |numbers: Vec<f32>| Tensor::new(Shape::from([n, groups, 1]), &numbers);
    let zero = of_groups((0..n * groups).map(|i| (i % 16) as f32).collect());
    let scales = (0..n * groups).map(|i| 0.01 + i as f32 / 900.0);
    let short = of_groups(scales.clone().map(|x| f16::from_f32(x).to_f32()).collect());
    let scale = of_groups(scales.collect());
    let zero = zero.expect("as many");
    let (scale, short) = (scale.expect("as many"), short.expect("as many"));
    for (ty, scale, half) in [
        (ElementType::U4, &scale, true),
        (ElementType::U4, &short, true),
        (ElementType::I4, &scale, false),
    ] {
        let weights = from_codes(ty, Shape::from([n, groups, size]), &codes).expect("as many");
        let of = Compressed {
            weights: &weights,
            zero_point: Some(&zero),
            scale: Some(scale),
            by_columns: true,
            half,
        };
        for arch in machines() {
            let Some(direct) = Nibbles::for_arch(arch, of) else {
                continue;
            };
            let mut matrix = vec![0.0; k * n];
            direct.write(0..k, 0..n, n, &mut matrix);
            let packed = PackedNarrow::for_arch(arch, of).expect("memory");
            for rows in 1..=TileSize::of::<f32>(arch).rows {
                let a: Vec<f32> = (0..k * rows)
                    .map(|i| (i * 7 % 31) as f32 / 8.0 - 2.0)
                    .collect();
                let both: [&dyn Panels<f32>; 2] = [&direct, &packed];
                for (right, add) in both.into_iter().zip([true, false]) {
                    let mut out = vec![0.5; rows * n];
                    let mut target = Target::Rows(&mut out, n);
                    if right.multiplies_few(rows).is_none() {
                        assert!(!std::ptr::addr_eq(right, &raw const direct));
                        continue;
                    }
                    right.multiply_few(&a, rows, 0..n, &mut target, add);
                    for (at, &found) in out.iter().enumerate() {
                        let (row, column) = (at / n, at % n);
                        let terms = (0..k).map(|l| {
                            f64::from(a[l * rows + row]) * f64::from(matrix[l * n + column])
                        });
                        let expected = terms.sum::<f64>() + if add { 0.5 } else { 0.0 };
                        let off = (f64::from(found) - expected).abs();
                        assert!(
                            off < 1e-4,
                            "{rows} rows, {ty}, {arch:?}: {found} {expected}"
                        );
                    }
                }
            }
        }
    }
}
