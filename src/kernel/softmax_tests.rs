//! Softmax against its definition, and at its edges.

use super::*;

fn numbers(count: usize) -> Vec<f64> {
    (0..count)
        .map(|i| ((i * 7919 + 13) % 1009) as f64 / 50.0 - 10.0)
        .collect()
}

fn check(outer: usize, axis: usize, inner: usize) {
    let data = numbers(outer * axis * inner);
    for kind in [Kind::Softmax, Kind::Log] {
        let mut out = vec![f64::NAN; data.len()];
        let mut straight = out.clone();
        let read = |start: usize, out: &mut [f64]| {
            out.copy_from_slice(&data[start..start + out.len()]);
        };
        let sizes = [axis, inner];
        softmax(&read, None, &mut out, sizes, kind);
        softmax(&read, Some(&data), &mut straight, sizes, kind);
        assert_eq!(out, straight);
        for column in 0..outer * inner {
            let (o, i) = (column / inner, column % inner);
            let at = |a: usize| (o * axis + a) * inner + i;
            let total: f64 = (0..axis).map(|a| data[at(a)].exp()).sum();
            for a in 0..axis {
                let weight = data[at(a)].exp() / total;
                let (expected, scale) = match kind {
                    Kind::Softmax => (weight, weight),
                    Kind::Log => (weight.ln(), 10.0),
                };
                let difference = (out[at(a)] - expected).abs();
                assert!(difference <= 1e-12 * scale, "{difference} {kind:?}");
            }
        }
    }
}

#[test]
fn definition() {
    for [outer, axis, inner] in [
        [3, 1, 1],
        [2, 5, 1],
        [3, 100, 1],
        [2, 3, 5],
        [1, 4, 700],
        [0, 3, 2],
        [400, 100, 1],
    ] {
        check(outer, axis, inner);
    }
}

#[test]
fn large_blocks() {
    check(1, LARGE + 100, 1);
    check(1, 3, LARGE / 2);
}

#[test]
fn infinities_and_nan() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    for (line, expected) in [
        ([1e30, 0.0, -1e30], [1.0, 0.0, 0.0]),
        ([-inf, 2.0, -inf], [0.0, 1.0, 0.0]),
        ([-inf; 3], [nan; 3]),
        ([0.0, nan, 0.0], [nan; 3]),
        ([inf, 0.0, 0.0], [nan; 3]),
    ] {
        let mut out = line;
        softmax_line(None, &mut out);
        let bits = |line: [f32; 3]| line.map(|x| if x.is_nan() { nan } else { x }.to_bits());
        assert_eq!(bits(out), bits(expected), "{line:?}");
    }
    let mut out = [-inf; 3];
    weights(&mut out, Some(0.0));
    assert_eq!(out, [0.0; 3]);
    // The least results, and what is done with them.
    let line = [0.0, -87.0, -87.5, -103.0, -103.9, -104.5, -1e30];
    let exact = line.map(|x: f32| f64::from(x).exp());
    let mut out = line;
    softmax_line(None, &mut out);
    for (&out, &exact) in out.iter().zip(&exact) {
        let error = (f64::from(out) - exact).abs();
        assert!(
            error <= exact * 2e-7 + f64::from(f32::from_bits(1)),
            "{out}"
        );
    }
    assert!(out[3] > 0.0 && out[5..] == [0.0; 2]);
    let mut normal = line;
    weights(&mut normal, None);
    assert_eq!(normal[..2], out[..2]);
    assert_eq!(normal[2..], [0.0; 5]);
    let mut out = [2.0f32.ln(), 0.0];
    weights(&mut out, Some(0.0));
    assert_eq!(out, [0.5, 0.25]);
}
