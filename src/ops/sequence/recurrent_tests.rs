//! Cells and sequences against the formulas of their pages, one number at a time.

use proptest::prelude::*;

use super::*;
use crate::op::{Op, attrs::Attr};
use crate::ops::testing::{dynamic, run_all, shape};
use crate::tensor::convert::convert;

/// The operation of a row, from its attributes.
fn op(version: u8, name: &str, attributes: &[(&'static str, &str)]) -> Box<dyn Op> {
    let attributes: Vec<Attr<'_>> = attributes
        .iter()
        .map(|&(name, value)| Attr::new(name, value))
        .collect();
    let layer = crate::op::LayerData {
        attributes: &attributes,
        weights: &crate::op::NoWeights,
    };
    let (def, _) = crate::ops::find(version, name).expect("a row");
    let (op, unknown) = def.read(&layer).expect("good attributes");
    assert!(unknown.is_empty(), "{unknown:?}");
    op
}

/// Numbers from -1 to 1 that look like chance.
fn numbers(seed: u64, dims: &[usize]) -> Tensor {
    let len: usize = dims.iter().product();
    let mut state = seed | 1;
    let data: Vec<f64> = (0..len)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(99);
            ((state >> 40) as f64) / f64::from(1 << 23) - 1.0
        })
        .collect();
    Tensor::new(dims, &data).expect("its length")
}

fn f64s(tensor: &Tensor) -> Vec<f64> {
    let wide = convert(tensor, ElementType::F64).expect("floats");
    wide.as_slice::<f64>().expect("f64").to_vec()
}

/// A cell as its page writes it.
struct Naive {
    name: &'static str,
    n: usize,
    clip: f64,
    functions: Vec<&'static str>,
    linear: bool,
    order: &'static str,
    input_forget: bool,
    w: Vec<f64>,
    r: Vec<f64>,
    b: Vec<f64>,
    p: Vec<f64>,
}

impl Naive {
    fn f(&self, which: usize, x: f64, cut: bool) -> f64 {
        let x = if cut && self.clip > 0.0 {
            x.clamp(-self.clip, self.clip)
        } else {
            x
        };
        match self.functions[which] {
            "relu" => x.max(0.0),
            "sigmoid" => 1.0 / (1.0 + (-x).exp()),
            _ => x.tanh(),
        }
    }

    /// The product of a row of weights and a vector.
    fn dot(weights: &[f64], row: usize, x: &[f64]) -> f64 {
        x.iter()
            .zip(&weights[row * x.len()..])
            .map(|(x, w)| x * w)
            .sum()
    }

    /// The next state and cell.
    fn step(&self, x: &[f64], h: &[f64], c: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let n = self.n;
        let sum = |gate: usize, j: usize| {
            let row = gate * n + j;
            Self::dot(&self.w, row, x) + Self::dot(&self.r, row, h) + self.b[row]
        };
        let (mut next, mut cells) = (Vec::new(), Vec::new());
        for j in 0..n {
            match self.name {
                "RNN" => next.push(self.f(0, sum(0, j), true)),
                "GRU" => {
                    let z = self.f(0, sum(0, j), true);
                    let r: Vec<f64> = (0..n).map(|k| self.f(0, sum(1, k), true)).collect();
                    let row = 2 * n + j;
                    let state = if self.linear {
                        r[j] * (Self::dot(&self.r, row, h) + self.b[3 * n + j])
                    } else {
                        let scaled: Vec<f64> = r.iter().zip(h).map(|(r, h)| r * h).collect();
                        Self::dot(&self.r, row, &scaled)
                    };
                    let new = Self::dot(&self.w, row, x) + state + self.b[row];
                    next.push((1.0 - z) * self.f(1, new, true) + z * h[j]);
                }
                _ => {
                    let gate = |name: char| sum(self.order.find(name).expect("a gate"), j);
                    let peephole = |which: usize, c: f64| self.p[which * n + j] * c;
                    let f = self.f(0, gate('f') + peephole(0, c[j]), true);
                    let i = match self.input_forget {
                        true => 1.0 - f,
                        false => self.f(0, gate('i') + peephole(1, c[j]), true),
                    };
                    let cell = f * c[j] + i * self.f(1, gate('c'), true);
                    let o = self.f(0, gate('o') + peephole(2, cell), true);
                    next.push(o * self.f(2, cell, false));
                    cells.push(cell);
                }
            }
        }
        (next, cells)
    }
}

const KINDS: [(&str, usize, &str); 3] = [
    ("RNN", 1, "tanh"),
    ("GRU", 3, "sigmoid, tanh"),
    ("LSTM", 4, "sigmoid, tanh, tanh"),
];

fn close(found: &Tensor, expected: &[f64], tolerance: f64) {
    let found = f64s(found);
    assert_eq!(found.len(), expected.len());
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= tolerance, "{i}: {a} {b}");
    }
}

fn tolerance(ty: ElementType) -> f64 {
    match ty {
        ElementType::F64 => 1e-12,
        ElementType::F32 => 1e-5,
        _ => 2e-2,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn cells(
        which in 0usize..3,
        (batch, input, n) in (0usize..4, 0usize..4, 1usize..4),
        clip in prop::sample::select(vec![0.0, 0.3]),
        relu in any::<bool>(),
        linear in any::<bool>(),
        order in prop::sample::select(vec!["", "fico", "icof", "ifco", "ifoc", "iofc"]),
        input_forget in any::<bool>(),
        (with_bias, with_peepholes) in any::<(bool, bool)>(),
        ty in prop::sample::select(vec![ElementType::F32, ElementType::F64, ElementType::Bf16]),
        seed in any::<u64>(),
        mask in any::<u32>(),
    ) {
        let (name, gates, functions) = KINDS[which];
        let linear = linear && name == "GRU";
        let first = name == "LSTM" && !order.is_empty();
        let functions = if relu { functions.replacen("tanh", "relu", 1) } else { functions.to_owned() };
        let (size, clip_text) = (n.to_string(), clip.to_string());
        let mut attributes = vec![("hidden_size", size.as_str()), ("clip", clip_text.as_str())];
        if relu {
            attributes.push(("activations", &functions));
        }
        if name == "GRU" {
            attributes.push(("linear_before_reset", if linear { "1" } else { "0" }));
        }
        if first {
            attributes.push(("weights_format", order));
            attributes.push(("input_forget", if input_forget { "true" } else { "false" }));
        }
        let version = match name {
            _ if first => 1,
            "RNN" => 1,
            "GRU" => 3,
            _ => 4,
        };
        let op = op(version, &format!("{name}Cell"), &attributes);
        let biases = if linear { 4 } else { gates };
        let mut inputs = vec![numbers(seed, &[batch, input]), numbers(seed ^ 7, &[batch, n])];
        if name == "LSTM" {
            inputs.push(numbers(seed ^ 99, &[batch, n]));
        }
        inputs.push(numbers(seed ^ 1234, &[gates * n, input]));
        inputs.push(numbers(seed ^ 4321, &[gates * n, n]));
        let (bias, peepholes) = (numbers(seed ^ 5, &[biases * n]), numbers(seed ^ 77, &[3 * n]));
        if with_bias {
            inputs.push(bias.clone());
            if first && with_peepholes {
                inputs.push(peepholes.clone());
            }
        }
        let inputs: Vec<Tensor> = inputs.iter().map(|t| convert(t, ty).expect("floats")).collect();
        let weights = inputs.len() - 2 - usize::from(with_bias) - usize::from(with_bias && first && with_peepholes);
        let rounded = |t: &Tensor| f64s(&convert(t, ty).expect("floats"));
        let naive = Naive {
            name,
            n,
            clip,
            functions: functions.split(", ").map(|f| match f {
                "relu" => "relu",
                "sigmoid" => "sigmoid",
                _ => "tanh",
            }).collect(),
            linear,
            order: if first { order } else { "fico" },
            input_forget: first && input_forget,
            w: f64s(&inputs[weights]),
            r: f64s(&inputs[weights + 1]),
            b: if with_bias { rounded(&bias) } else { vec![0.0; biases * n] },
            p: if with_bias && first && with_peepholes { rounded(&peepholes) } else { vec![0.0; 3 * n] },
        };
        let outputs = run_all(&*op, &inputs).expect("fits");
        let (x, h, c) = (f64s(&inputs[0]), f64s(&inputs[1]), f64s(&inputs[2]));
        let (mut next, mut cells) = (Vec::new(), Vec::new());
        for row in 0..batch {
            let c = if name == "LSTM" { &c[row * n..][..n] } else { &[] };
            let (a, b) = naive.step(&x[row * input..][..input], &h[row * n..][..n], c);
            next.extend(a);
            cells.extend(b);
        }
        close(&outputs[0], &next, tolerance(ty));
        if name == "LSTM" {
            close(&outputs[1], &cells, tolerance(ty));
        }
        prop_assert!(dynamic(&*op, &inputs, mask).contains(outputs[0].shape()));
    }

    /// A sequence is its cell, step by step.
    #[test]
    fn sequences(
        which in 0usize..3,
        (batch, steps, input, n) in (1usize..4, 0usize..11, 1usize..4, 1usize..4),
        direction in prop::sample::select(vec!["forward", "reverse", "bidirectional"]),
        lengths in prop::collection::vec(0usize..12, 3),
        linear in any::<bool>(),
        seed in any::<u64>(),
        mask in any::<u32>(),
    ) {
        let (name, gates, _) = KINDS[which];
        let linear = linear && name == "GRU";
        let size = n.to_string();
        let mut attributes = vec![("hidden_size", size.as_str())];
        if linear {
            attributes.push(("linear_before_reset", "true"));
        }
        let version = match name {
            "RNN" => 1,
            "GRU" => 3,
            _ => 4,
        };
        let cell = op(version, &format!("{name}Cell"), &attributes);
        attributes.push(("direction", direction));
        let sequence = op(5, &format!("{name}Sequence"), &attributes);
        let d = if direction == "bidirectional" { 2 } else { 1 };
        let biases = if linear { 4 } else { gates };
        let lengths: Vec<i64> = lengths[..batch].iter().map(|&l| l.min(steps) as i64).collect();
        let x = numbers(seed, &[batch, steps, input]);
        let states = if name == "LSTM" { 2 } else { 1 };
        let state: Vec<Tensor> = (0..states).map(|i| numbers(seed ^ i, &[batch, d, n])).collect();
        let weights = [
            numbers(seed ^ 55, &[d, gates * n, input]),
            numbers(seed ^ 66, &[d, gates * n, n]),
            numbers(seed ^ 77, &[d, biases * n]),
        ];
        let mut inputs = vec![x.clone()];
        inputs.extend(state.iter().cloned());
        inputs.push(Tensor::vector(&lengths));
        inputs.extend(weights.iter().cloned());
        let outputs = run_all(&*sequence, &inputs).expect("fits");
        let mut y = vec![0.0; batch * d * steps * n];
        let mut last = vec![vec![0.0; batch * d * n]; state.len()];
        let part = |t: &Tensor, dims: &[usize], at: usize| {
            let len: usize = dims.iter().product();
            Tensor::new(dims, &f64s(t)[at * len..][..len]).expect("its length")
        };
        for (row, way) in (0..batch).flat_map(|row| (0..d).map(move |way| (row, way))) {
            let length = lengths[row] as usize;
            let place = row * d + way;
            let mut now: Vec<Tensor> = state.iter().map(|s| part(s, &[1, n], place)).collect();
            for step in 0..length {
                let back = direction == "reverse" || way == 1;
                let time = if back { length - 1 - step } else { step };
                let mut inputs = vec![part(&x, &[1, input], row * steps + time)];
                inputs.append(&mut now);
                inputs.push(part(&weights[0], &[gates * n, input], way));
                inputs.push(part(&weights[1], &[gates * n, n], way));
                inputs.push(part(&weights[2], &[biases * n], way));
                now = run_all(&*cell, &inputs).expect("fits");
                y[(place * steps + time) * n..][..n].copy_from_slice(&f64s(&now[0]));
                for (last, now) in last.iter_mut().zip(&now) {
                    last[place * n..][..n].copy_from_slice(&f64s(now));
                }
            }
        }
        close(&outputs[0], &y, 1e-12);
        for (out, last) in outputs[1..].iter().zip(&last) {
            close(out, last, 1e-12);
        }
        prop_assert!(dynamic(&*sequence, &inputs, mask).contains(outputs[0].shape()));
    }
}

/// More rows than are multiplied at a time, and long sequences.
#[test]
fn many_steps() {
    let rnn = op(
        5,
        "RNNSequence",
        &[("hidden_size", "1"), ("activations", "RELU")],
    );
    let (batch, steps) = (3, 1100);
    let ones = |dims: &[usize]| {
        let len = dims.iter().product();
        Tensor::new(dims, &vec![1f32; len]).expect("its length")
    };
    let inputs = [
        ones(&[batch, steps, 1]),
        ones(&[batch, 1, 1]),
        Tensor::vector(&[1100i32, 5, 1099]),
        ones(&[1, 1, 1]),
        ones(&[1, 1, 1]),
        ones(&[1, 1]),
    ];
    let outputs = run_all(&*rnn, &inputs).expect("fits");
    let y = outputs[0].as_slice::<f32>().expect("f32");
    for (i, &y) in y.iter().enumerate() {
        let (row, time) = (i / steps, i % steps);
        let expected = if time < [1100, 5, 1099][row] {
            1 + 2 * (time + 1)
        } else {
            0
        };
        assert_eq!(y, expected as f32);
    }
    assert_eq!(
        outputs[1].as_slice::<f32>().expect("f32"),
        [2201.0, 11.0, 2199.0]
    );
}

#[test]
fn shapes_and_errors() {
    let lstm = op(
        5,
        "LSTMSequence",
        &[("hidden_size", "4"), ("direction", "bidirectional")],
    );
    let infer = |shapes: [&str; 7]| {
        let shapes = shapes.map(shape);
        let mut inputs = shapes.each_ref().map(|s| Input::new(ElementType::F16, s));
        inputs[3].element_type = ElementType::I64;
        let outputs = lstm.infer(&inputs).map_err(|e| e.message)?;
        Ok::<_, String>(
            outputs
                .iter()
                .map(|o| o.to_string())
                .collect::<Vec<_>>()
                .join(" "),
        )
    };
    assert_eq!(
        infer(["?,5,?", "...", "...", "3", "...", "...", "..."]).as_deref(),
        Ok("f16[3,2,5,4] f16[3,2,4] f16[3,2,4]")
    );
    assert_eq!(
        infer(["...", "...", "...", "...", "...", "...", "..."]).as_deref(),
        Ok("f16[?,2,?,4] f16[?,2,4] f16[?,2,4]")
    );
    assert_eq!(
        infer(["1,5,3", "1,2,4", "1,2,4", "1", "1,16,3", "2,16,4", "2,16"]),
        Err("W has shape [1,16,3], expected [2,16,3]".to_owned())
    );
    assert_eq!(
        infer(["1,5,3", "2,2,4", "1,2,4", "1", "2,16,3", "2,16,4", "2,16"]),
        Err("initial_hidden_state has shape [2,2,4], expected [1,2,4]".to_owned())
    );
    let rnn = op(
        5,
        "RNNSequence",
        &[("hidden_size", "1"), ("activations", "tanh, tanh")],
    );
    let error = rnn.infer(&[]).expect_err("two functions").message;
    assert_eq!(error, "activations has 2 names, expected 1");
    let rnn = op(5, "RNNSequence", &[("hidden_size", "1")]);
    let run = |length: i64| {
        let zeros = |dims: &[usize]| Tensor::zeros(ElementType::F32, dims).expect("small");
        let lengths = Tensor::vector(&[length]);
        run_all(
            &*rnn,
            &[
                zeros(&[1, 2, 1]),
                zeros(&[1, 1, 1]),
                lengths,
                zeros(&[1, 1, 1]),
                zeros(&[1, 1, 1]),
                zeros(&[1, 1]),
            ],
        )
    };
    assert!(run(2).is_ok());
    for wrong in [-1, 3] {
        let error = run(wrong).expect_err("out of range").message;
        assert_eq!(
            error,
            format!("sequence length 0 is {wrong}, expected 0 to 2")
        );
    }
}
