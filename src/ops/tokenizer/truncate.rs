//! Truncate: cuts rows, or pairs of rows, to a length.
//!
//! <https://github.com/openvinotoolkit/openvino_tokenizers/blob/master/src/truncate.cpp>

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::pattern::expect_pattern;
use super::ragged::{expect_inputs, expect_rows, index, rows};
use crate::kernel::scratch::try_collect_ok;
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure};
use crate::ops::strings::expect_type;
use crate::tensor::{ElementType, Tensor};

/// Rows no longer than allowed. The elements stay; begins or ends move.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Truncate {
    /// What the file says of the number of ragged tensors; the inputs tell.
    m_num_inputs: u64,
}

/// The length, the side that is cut, and which of a pair.
const OPTIONS: usize = 3;

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    OnlyFirst,
    OnlySecond,
    LongestFirst,
}

/// How long a pair of rows may be, so that both together are no longer than allowed.
fn pair(first: usize, second: usize, most: usize, mode: Mode) -> (usize, usize) {
    if first.saturating_add(second) <= most {
        return (first, second);
    }
    let (half, odd) = (most / 2, most % 2);
    match mode {
        Mode::OnlyFirst => (first.min(most), second),
        Mode::OnlySecond => (first, second.min(most)),
        Mode::LongestFirst if second <= half => (most - second, second),
        Mode::LongestFirst if first < half + odd => (first, most - first),
        // The longer one has what is left over.
        Mode::LongestFirst if first >= second => (half + odd, half),
        Mode::LongestFirst => (half, half + odd),
    }
}

fn text(tensor: &Tensor) -> Result<std::borrow::Cow<'_, str>, OpError> {
    Ok(String::from_utf8_lossy(tensor.as_slice::<u8>()?))
}

impl Op for Truncate {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        expect_inputs(
            inputs,
            &[6, 9],
            "one or two ragged tensors, length, side, mode",
        )?;
        let (tensors, options) = inputs.split_at(inputs.len() - OPTIONS);
        let mut outputs = Outputs::new();
        for tensor in tensors.chunks_exact(3) {
            expect_rows(tensor, 0)?;
            tensor[2].expect_1d("elements")?;
            for input in tensor {
                let shape = input.shape.clone().into_owned();
                outputs.push(Output::new(input.element_type, shape));
            }
        }
        expect_type(&options[0], ElementType::I32, "the length")?;
        if let Some(length) = options[0].int_scalar("the length")? {
            ensure!(length >= 0, "the length must not be negative, got {length}");
        }
        expect_pattern(&options[1], "the side")?;
        expect_pattern(&options[2], "the mode")?;
        Ok(outputs)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let (tensors, options) = io.inputs.split_at(io.inputs.len() - OPTIONS);
        let most = super::wordpiece_tokenizer::number(options[0], "the length")?;
        let Ok(most) = usize::try_from(most) else {
            bail!("the length must not be negative, got {most}");
        };
        let left = match &*text(options[1])? {
            "left" => true,
            "right" => false,
            side => bail!("the side is `{side}`, expected left or right"),
        };
        let mode = match &*text(options[2])? {
            "only_first" => Mode::OnlyFirst,
            "only_second" => Mode::OnlySecond,
            "longest_first" => Mode::LongestFirst,
            mode => {
                bail!("the mode is `{mode}`, expected only_first, only_second or longest_first")
            }
        };
        let mut all = Vec::new();
        for tensor in tensors.chunks_exact(3) {
            all.push(rows(tensor, 0, tensor[2].len())?);
        }
        let cut = |row: &mut Range<usize>, length: usize| {
            if left {
                row.start = row.end - length;
            } else {
                row.end = row.start + length;
            }
        };
        match &mut all[..] {
            [first, second] => {
                let (f, s) = (first.len(), second.len());
                ensure!(f == s, "pairs of {f} and {s} rows");
                for (first, second) in first.iter_mut().zip(second) {
                    let (f, s) = pair(first.len(), second.len(), most, mode);
                    cut(first, f);
                    cut(second, s);
                }
            }
            all => {
                for row in all.iter_mut().flatten() {
                    let length = row.len().min(most);
                    cut(row, length);
                }
            }
        }
        for (i, (rows, tensor)) in all.iter().zip(tensors.chunks_exact(3)).enumerate() {
            let shape = tensor[0].shape();
            let side = |place: fn(&Range<usize>) -> usize| -> Result<Tensor, OpError> {
                let places = try_collect_ok(rows.iter().map(|r| index(place(r))))?;
                Ok(Tensor::new(shape.clone(), &places)?)
            };
            io.outputs[3 * i] = side(|r| r.start)?;
            io.outputs[3 * i + 1] = side(|r| r.end)?;
            io.outputs[3 * i + 2] = tensor[2].clone();
        }
        Ok(())
    }
}
