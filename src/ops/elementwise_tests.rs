//! Operations as functions of elements against their own evaluation.

use super::testing::run;
use crate::op::attrs::Attr;
use crate::op::{Input, LayerData, NoWeights, Op};
use crate::tensor::Tensor;

/// Enough for more than a block.
const LEN: usize = 1500;

/// The operations of the registry that are functions of elements, with a name to show.
fn operations() -> Vec<(&'static str, Box<dyn Op>)> {
    // What operations do not know they pass over.
    let attributes = [
        ("min", "-1.5"),
        ("max", "2.25"),
        ("alpha", "0.7"),
        ("levels", "16"),
        ("mode", "half_away_from_zero"),
        ("approximation_mode", "tanh"),
    ];
    let mut found = Vec::new();
    for (_, def) in crate::ops::supported() {
        for omitted in [0, 1] {
            let given = &attributes[..attributes.len() - 2 * omitted];
            let given: Vec<_> = given.iter().map(|&(n, v)| Attr::new(n, v)).collect();
            let layer = LayerData {
                attributes: &given,
                weights: &NoWeights,
            };
            if let Ok((op, _)) = def.read(&layer)
                && op.elementwise().is_some()
            {
                found.push((def.name, op));
            }
        }
    }
    let (prelu, _) = crate::ops::find(8, "PReLU").expect("in every opset");
    let layer = LayerData {
        attributes: &[],
        weights: &NoWeights,
    };
    let (op, _) = prelu.read(&layer).expect("no attribute is needed");
    assert!(op.elementwise().is_none(), "it may be by channel");
    let [data, slope] = [Tensor::vector(&[1f32; 3]), Tensor::scalar(1f32)];
    let prepared = op.prepare(&[Input::of(&data), Input::of(&slope)]);
    found.push(("PReLU", prepared.expect("a single slope").op));
    found
}

/// Numbers of all kinds, most of them small.
fn numbers(seed: usize) -> Vec<f32> {
    let special = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, f32::INFINITY];
    (0..LEN)
        .map(|i| match i * (seed + 7) % 97 {
            place @ 0..8 => special[place],
            8 => f32::NAN,
            9 => f32::NEG_INFINITY,
            10 => f32::from_bits((i as u32).wrapping_mul(0x9e37_79b9)),
            _ => ((i * (7919 + seed * 13)) % 2003) as f32 / 200.0 - 5.0,
        })
        .collect()
}

#[test]
fn computes_what_evaluation_gives() {
    let mut compared = 0;
    for (name, op) in operations() {
        let elementwise = op.elementwise().expect("chosen by it");
        for count in 1..=5 {
            for single in [false, true] {
                let expanded: Vec<Vec<f32>> = (0..count)
                    .map(|i| match (single, i) {
                        (true, 1..) => vec![[0.25, 1.5, -0.75, 2.0][i - 1]; LEN],
                        _ => numbers(i),
                    })
                    .collect();
                let inputs: Vec<Tensor> = expanded
                    .iter()
                    .enumerate()
                    .map(|(i, all)| match single && i > 0 {
                        true => Tensor::scalar(all[0]),
                        false => Tensor::vector(all),
                    })
                    .collect();
                let known: Vec<Input<'_>> = inputs.iter().map(Input::of).collect();
                if op.infer(&known).is_err() {
                    continue;
                }
                compared += 1;
                let expected = run(&*op, &inputs).expect("floats");
                let expected = expected.as_slice::<f32>().expect("f32");
                // Blocks of any length.
                for block in [LEN, 512, 61] {
                    for start in (0..LEN).step_by(block) {
                        let range = start..LEN.min(start + block);
                        let slices: Vec<&[f32]> =
                            expanded.iter().map(|all| &all[range.clone()]).collect();
                        let mut out = vec![-77f32; range.len()];
                        elementwise.compute(&slices, &mut out);
                        for (i, (got, expected)) in out.iter().zip(&expected[range]).enumerate() {
                            assert!(
                                got.to_bits() == expected.to_bits()
                                    || got.is_nan() && expected.is_nan(),
                                "{name}: {got} is not {expected} at {}, {count} inputs",
                                start + i
                            );
                        }
                    }
                }
            }
        }
    }
    assert!(compared > 60, "only {compared} compared");
}
