//! CTCGreedyDecoder-1, CTCGreedyDecoderSeqLen-6: the most probable class of each step, repetitions
//! and blanks left out.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/sequence/ctc-greedy-decoder-1.html>,
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/sequence/ctc-greedy-decoder-seq-len-6.html>
//!
//! The two differ in the order of the axes and in how lengths are given. Of equal classes the first
//! wins; a NaN wins only where all are.

use serde::{Deserialize, Serialize};

use super::lengths::lengths_in;
use crate::kernel::real::Real;
use crate::kernel::scratch::{try_vec, try_zeroed};
use crate::op::{
    Input, Io, Op, OpError, Output, Outputs, bail, ensure, expect_index_type, expect_indices_fit,
    merge_types,
};
use crate::ops::floats::{fill, in_real, real};
use crate::tensor::convert::{convert_into, try_i64};
use crate::tensor::{Dimension, ElementType, PartialShape, Tensor};

/// Lengths given by a mask.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct CtcGreedyDecoder {
    ctc_merge_repeated: bool,
}

impl Default for CtcGreedyDecoder {
    fn default() -> Self {
        Self {
            ctc_merge_repeated: true,
        }
    }
}

/// Lengths given as numbers.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct CtcGreedyDecoderSeqLen {
    merge_repeated: bool,
    classes_index_type: ElementType,
    sequence_length_type: ElementType,
}

impl Default for CtcGreedyDecoderSeqLen {
    fn default() -> Self {
        Self {
            merge_repeated: true,
            classes_index_type: ElementType::I32,
            sequence_length_type: ElementType::I32,
        }
    }
}

/// The data's dimensions, where the axes `outer` have those of another input.
fn dims<const N: usize>(
    data: &Input<'_>,
    other: &Input<'_>,
    what: &str,
    outer: [usize; N],
) -> Result<[Dimension; 3], OpError> {
    let mut dims = [Dimension::dynamic(); 3];
    if let Some(given) = data.shape.dims() {
        let [a, b, c] = given else {
            bail!("data must be 3-D, got shape {}", data.shape);
        };
        dims = [*a, *b, *c];
        ensure!(c.max() != Some(0), "data has no classes");
    }
    let expected: PartialShape = outer.iter().map(|&axis| dims[axis]).collect();
    let Some(shape) = expected.intersect(&other.shape) else {
        bail!("{what} has shape {}, expected {expected}", other.shape);
    };
    for (axis, dim) in outer.into_iter().zip(shape.dims().unwrap_or_default()) {
        dims[axis] = *dim;
    }
    Ok(dims)
}

/// The most probable class.
fn best<T: Real>(classes: &[T]) -> usize {
    let mut best = 0;
    for (i, x) in classes.iter().enumerate() {
        if *x > classes[best] || classes[best].is_nan() && !x.is_nan() {
            best = i;
        }
    }
    best
}

fn as_i64(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Writes the classes that remain of a path, and gives their number.
fn decode<'a, T: Real>(
    steps: impl Iterator<Item = &'a [T]>,
    blank: Option<usize>,
    merge: bool,
    mut write: impl FnMut(usize, usize),
) -> usize {
    let (mut count, mut before) = (0, None);
    for classes in steps {
        let class = best(classes);
        if Some(class) != blank && !(merge && before == Some(class)) {
            write(count, class);
            count += 1;
        }
        before = Some(class);
    }
    count
}

impl Op for CtcGreedyDecoder {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, mask] = inputs else {
            bail!(
                "expected 2 inputs (data, sequence_mask), got {}",
                inputs.len()
            );
        };
        let ty = merge_types(inputs)?;
        ensure!(
            ty.is_float() || ty == ElementType::Dynamic,
            "data and sequence_mask must be floats, got {ty}"
        );
        let [steps, batch, _] = dims(data, mask, "sequence_mask", [0, 1])?;
        let shape: PartialShape = [batch, steps, 1.into(), 1.into()].into_iter().collect();
        Ok(Output::single(ty, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        in_real!(io.outputs[0].element_type(), T => self.run::<T>(io))
    }
}

impl CtcGreedyDecoder {
    fn run<T: Real>(&self, io: Io<'_>) -> Result<(), OpError> {
        let [data, mask] = io.inputs else {
            bail!("expected 2 inputs, got {}", io.inputs.len());
        };
        let [_, batch, classes] = data.shape()[..] else {
            bail!("data must be 3-D, got shape {}", data.shape());
        };
        let steps = data.shape()[0];
        let (data, mask) = (real::<T>(data)?, real::<T>(mask)?);
        let (data, mask) = (data.as_slice::<T>()?, mask.as_slice::<T>()?);
        fill::<T, _>(&mut io.outputs[0], |out| {
            out.fill(-T::one());
            for (row, out) in out.chunks_exact_mut(steps.max(1)).enumerate() {
                let path = (0..steps)
                    .map(|step| step * batch + row)
                    .take_while(|&place| mask[place] != T::zero())
                    .map(|place| &data[place * classes..][..classes]);
                decode(
                    path,
                    classes.checked_sub(1),
                    self.ctc_merge_repeated,
                    |i, class| {
                        out[i] = T::of(class as f64);
                    },
                );
            }
            Ok(())
        })
    }
}

impl Op for CtcGreedyDecoderSeqLen {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let (data, lengths, blank) = match inputs {
            [data, lengths] => (data, lengths, None),
            [data, lengths, blank] => (data, lengths, Some(blank)),
            _ => bail!(
                "expected 2 or 3 inputs (data, sequence_length, blank_index), got {}",
                inputs.len()
            ),
        };
        let ty = data.element_type;
        ensure!(
            ty.is_float() || ty == ElementType::Dynamic,
            "data must be floats, got {ty}"
        );
        expect_index_type("classes_index_type", self.classes_index_type)?;
        expect_index_type("sequence_length_type", self.sequence_length_type)?;
        lengths.expect_integer("sequence_length")?;
        let [batch, steps, classes] = dims(data, lengths, "sequence_length", [0])?;
        expect_indices_fit(classes.min(), self.classes_index_type)?;
        expect_indices_fit(steps.min(), self.sequence_length_type)?;
        if let Some(blank) = blank {
            blank.int_scalar("blank_index")?;
        }
        let both: PartialShape = [batch, steps].into_iter().collect();
        let one: PartialShape = [batch].into_iter().collect();
        let mut outputs = Output::single(self.classes_index_type, both);
        outputs.push(Output::new(self.sequence_length_type, one));
        Ok(outputs)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        in_real!(io.inputs[0].element_type(), T => self.run::<T>(io))
    }

    fn allowed(&self, inputs: &[Input<'_>], index: usize) -> Option<(i64, i64)> {
        let [_, steps, classes] = inputs.first()?.shape.dims()? else {
            return None;
        };
        match index {
            1 => Some((0, i64::try_from(steps.min()).ok()?)),
            2 => Some((0, i64::try_from(classes.min()).ok()? - 1)),
            _ => None,
        }
    }
}

impl CtcGreedyDecoderSeqLen {
    fn run<T: Real>(&self, io: Io<'_>) -> Result<(), OpError> {
        let [data, lengths, ..] = io.inputs else {
            bail!("expected 2 or 3 inputs, got {}", io.inputs.len());
        };
        let [batch, steps, classes] = data.shape()[..] else {
            bail!("data must be 3-D, got shape {}", data.shape());
        };
        // An index that is no class leaves none out.
        let blank = match io.inputs.get(2) {
            Some(blank) => try_i64(blank)?
                .first()
                .and_then(|&b| usize::try_from(b).ok()),
            None => classes.checked_sub(1),
        };
        let lengths = lengths_in("sequence length", lengths, steps)?;
        let data = real::<T>(data)?;
        let data = data.as_slice::<T>()?;
        let mut decoded = try_vec(-1i64, batch * steps)?;
        let mut counts = try_zeroed::<i64>(batch)?;
        for (row, (&length, count)) in lengths.iter().zip(&mut counts).enumerate() {
            let path = (row * steps..row * steps + length)
                .map(|place| &data[place * classes..][..classes]);
            let out = &mut decoded[row * steps..][..steps];
            let found = decode(path, blank, self.merge_repeated, |i, class| {
                out[i] = as_i64(class);
            });
            *count = as_i64(found);
        }
        convert_into(&Tensor::new([batch, steps], &decoded)?, &mut io.outputs[0])?;
        convert_into(&Tensor::vector(&counts), &mut io.outputs[1])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, run_all, shape};

    /// Scores `[path, classes]` whose best classes are the path.
    fn scores(path: &[usize], classes: usize) -> Vec<f32> {
        path.iter()
            .flat_map(|&best| (0..classes).map(move |c| if c == best { 1.0 } else { -0.5 }))
            .collect()
    }

    #[test]
    fn masks() {
        // Two sequences of four steps; class 2 is the blank.
        let paths = [[0, 0, 2, 0], [1, 1, 0, 0]];
        let by_step: Vec<usize> = (0..4).flat_map(|t| paths.map(|p| p[t])).collect();
        let data = Tensor::new([4, 2, 3], &scores(&by_step, 3)).expect("its length");
        let mask = [1f32, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0];
        let mask = Tensor::new([4, 2], &mask).expect("its length");
        for (ctc_merge_repeated, expected) in [
            (true, [0f32, 0.0, -1.0, -1.0, 1.0, 0.0, -1.0, -1.0]),
            (false, [0.0, 0.0, 0.0, -1.0, 1.0, 1.0, 0.0, -1.0]),
        ] {
            let op = CtcGreedyDecoder { ctc_merge_repeated };
            let out = run(&op, &[data.clone(), mask.clone()]).expect("fits");
            assert_eq!(out.shape()[..], [2, 4, 1, 1]);
            assert_eq!(out.as_slice::<f32>().expect("f32"), expected);
        }
    }

    #[test]
    fn lengths() {
        let paths = [0, 0, 2, 0, 1, 1, 0, 0];
        let data = Tensor::new([2, 4, 3], &scores(&paths, 3)).expect("its length");
        let decode = |merge: bool, lengths: [i64; 2], blank: Option<i32>| {
            let op = CtcGreedyDecoderSeqLen {
                merge_repeated: merge,
                classes_index_type: ElementType::I64,
                ..CtcGreedyDecoderSeqLen::default()
            };
            let mut inputs = vec![data.clone(), Tensor::vector(&lengths)];
            inputs.extend(blank.map(Tensor::scalar));
            let out = run_all(&op, &inputs).map_err(|e| e.message)?;
            let classes = out[0].as_slice::<i64>().expect("i64").to_vec();
            Ok::<_, String>((classes, out[1].as_slice::<i32>().expect("i32").to_vec()))
        };
        let ok = |classes: [i64; 8], lengths: [i32; 2]| Ok((classes.to_vec(), lengths.to_vec()));
        assert_eq!(
            decode(true, [4, 3], None),
            ok([0, 0, -1, -1, 1, 0, -1, -1], [2, 2])
        );
        assert_eq!(
            decode(false, [4, 3], None),
            ok([0, 0, 0, -1, 1, 1, 0, -1], [3, 3])
        );
        assert_eq!(
            decode(true, [3, 0], Some(0)),
            ok([2, -1, -1, -1, -1, -1, -1, -1], [1, 0])
        );
        assert_eq!(
            decode(false, [3, 1], Some(-1)),
            ok([0, 0, 2, -1, 1, -1, -1, -1], [3, 1])
        );
        let error = decode(true, [4, 5], None).expect_err("too long");
        assert_eq!(error, "sequence length 1 is 5, expected 0 to 4");
    }

    #[test]
    fn ties_and_nan() {
        assert_eq!(best(&[1.0f32, 1.0, 0.0]), 0);
        assert_eq!(best(&[f32::NAN, -1.0, f32::NAN, 2.0]), 3);
        assert_eq!(best(&[-1.0, f32::NAN]), 0);
        assert_eq!(best(&[f32::NAN, f32::NEG_INFINITY]), 1);
    }

    #[test]
    fn shapes() {
        let infer = |data: &str, lengths: &str| {
            let shapes = [shape(data), shape(lengths)];
            let inputs = [
                Input::new(ElementType::F16, &shapes[0]),
                Input::new(ElementType::I64, &shapes[1]),
            ];
            let outputs = CtcGreedyDecoderSeqLen::default().infer(&inputs)?;
            Ok::<_, OpError>(format!("{} {}", outputs[0], outputs[1]))
        };
        assert_eq!(infer("?,20,128", "8").as_deref(), Ok("i32[8,20] i32[8]"));
        assert_eq!(infer("...", "...").as_deref(), Ok("i32[?,?] i32[?]"));
        for (data, lengths) in [
            ("8,20", "8"),
            ("8,20,5", "7"),
            ("8,20,5", "8,1"),
            ("8,20,0", "8"),
        ] {
            assert!(infer(data, lengths).is_err(), "{data} {lengths}");
        }
    }
}
