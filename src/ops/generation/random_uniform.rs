//! RandomUniform-8: random numbers of a uniform distribution.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/generation/random-uniform-8.html>
//!
//! Every evaluation gives the numbers that the first one of the runtime gives; without seeds, others
//! each time. Integers are made of one random word, as the document says; of two only where its
//! formulas for Mersenne-Twister say so.

use half::{bf16, f16};
use serde::{Deserialize, Serialize};

use super::seeds::{Seeds, unit};
use super::sizes::sizes;
use crate::kernel::moving::for_rows;
use crate::kernel::random::{Mersenne, Philox, WORDS};
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure};
use crate::tensor::convert::widen;
use crate::tensor::{Class, Element, ElementType, PartialShape, Tensor};

/// The framework whose numbers are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Alignment {
    /// Philox.
    #[default]
    TensorFlow,
    /// Mersenne-Twister; the seed of the operation does not count.
    PyTorch,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct RandomUniform {
    output_type: ElementType,
    #[serde(default)]
    op_seed: i64,
    #[serde(default)]
    global_seed: i64,
    #[serde(default)]
    alignment: Alignment,
}

impl RandomUniform {
    fn seeds(&self) -> Seeds {
        Seeds {
            global: self.global_seed,
            op: self.op_seed,
        }
    }
}

impl Op for RandomUniform {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [shape, min, max] = inputs else {
            bail!(
                "expected 3 inputs (shape, minval, maxval), got {}",
                inputs.len()
            );
        };
        let ty = self.output_type;
        ensure!(
            matches!(ty, E::I32 | E::I64 | E::F16 | E::Bf16 | E::F32 | E::F64),
            "output_type is {ty}, expected i32, i64, f16, bf16, f32 or f64"
        );
        for (input, name) in [(min, "minval"), (max, "maxval")] {
            ensure!(
                input.element_type == ty || !input.element_type.is_static(),
                "{name} must be {ty}, as output_type, got {}",
                input.element_type
            );
            input.expect_at_most_1d(name)?;
            ensure!(
                input.shape.elements().contains(1),
                "{name} must be one number, got shape {}",
                input.shape
            );
        }
        let shape = match sizes(shape, "shape")? {
            Some(sizes) => sizes.into_iter().collect(),
            None => PartialShape::dynamic(),
        };
        Ok(Output::single(ty, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [_, min, max] = io.inputs else {
            bail!("expected 3 inputs, got {}", io.inputs.len());
        };
        check_order(min, max)?;
        let out = &mut io.outputs[0];
        match (self.output_type, self.alignment) {
            (E::F32, alignment) => {
                let convert = match alignment {
                    Alignment::TensorFlow => {
                        |x: u32| f32::from_bits(127 << 23 | x & 0x7F_FFFF) - 1.0
                    }
                    Alignment::PyTorch => |x| digits(x, 24),
                };
                let (min, max) = (number::<f32>(min)?, number::<f32>(max)?);
                let words = |[x, ..]: [u32; 2]| convert(x) * (max - min) + min;
                self.fill(out.as_mut_slice()?, 1, words);
            }
            (E::F64, alignment) => {
                let convert = match alignment {
                    Alignment::TensorFlow => |[high, low]: [u32; 2]| unit(high, low),
                    Alignment::PyTorch => |words| unit_of_53(joined(words)),
                };
                let (min, max) = (number::<f64>(min)?, number::<f64>(max)?);
                let words = |words| convert(words) * (max - min) + min;
                self.fill(out.as_mut_slice()?, 2, words);
            }
            (E::F16, Alignment::TensorFlow) => {
                let (min, max) = (number::<f16>(min)?, number::<f16>(max)?);
                // Every step is rounded.
                let words = |[x, ..]: [u32; 2]| f16::from_f32(digits(x, 10)) * (max - min) + min;
                self.fill(out.as_mut_slice()?, 1, words);
            }
            (E::F16, Alignment::PyTorch) => self.halves::<f16>(min, max, out, 11)?,
            (E::Bf16, Alignment::TensorFlow) => self.halves::<bf16>(min, max, out, 7)?,
            (E::Bf16, Alignment::PyTorch) => self.halves::<bf16>(min, max, out, 8)?,
            (E::I32, _) => {
                let (min, max) = (number::<i32>(min)?, number::<i32>(max)?);
                let range = max.wrapping_sub(min).cast_unsigned();
                let words = |[x, ..]: [u32; 2]| min.wrapping_add((x % range).cast_signed());
                self.fill(out.as_mut_slice()?, 1, words);
            }
            _ => {
                let (min, max) = (number::<i64>(min)?, number::<i64>(max)?);
                self.longs(min, max, out.as_mut_slice()?);
            }
        }
        Ok(())
    }

    fn is_pure(&self) -> bool {
        self.seeds().are_fixed()
    }
}

use ElementType as E;

impl RandomUniform {
    /// Writes elements that `convert` makes of `words` random words each.
    fn fill<T: Send>(&self, out: &mut [T], words: usize, convert: impl Fn([u32; 2]) -> T + Sync) {
        match self.alignment {
            Alignment::TensorFlow => philox(self.seeds().philox(), out, words, convert),
            Alignment::PyTorch => {
                #[allow(clippy::cast_possible_truncation)] // is how it is defined
                let mut twister = Mersenne::new(self.seeds().global() as u32);
                for out in out {
                    let first = twister.word();
                    let second = if words == 2 { twister.word() } else { 0 };
                    *out = convert([first, second]);
                }
            }
        }
    }

    fn longs(&self, min: i64, max: i64, out: &mut [i64]) {
        let range = max.wrapping_sub(min).cast_unsigned();
        let most = i64::from(u32::MAX);
        let fits = min <= most && max <= most;
        if self.alignment == Alignment::TensorFlow || fits {
            self.fill(out, 1, |[x, ..]| {
                min.wrapping_add((u64::from(x) % range).cast_signed())
            });
        } else {
            self.fill(out, 2, |words| {
                min.wrapping_add((joined(words) % range).cast_signed())
            });
        }
    }

    /// Floats of 16 bits, rounded once, from as many random digits.
    fn halves<T: Element + Copy + From16>(
        &self,
        min: &Tensor,
        max: &Tensor,
        out: &mut Tensor,
        count: u32,
    ) -> Result<(), OpError> {
        let (min, max) = (number::<T>(min)?, number::<T>(max)?);
        let (min, range) = (min.wide(), max.wide() - min.wide());
        let words = |[x, ..]: [u32; 2]| T::round(digits(x, count) * range + min);
        self.fill(out.as_mut_slice()?, 1, words);
        Ok(())
    }
}

/// A float of 16 bits.
trait From16: Send + Sync {
    fn wide(self) -> f32;
    fn round(x: f32) -> Self;
}

macro_rules! from16 {
    ($($T:ty),+) => {
        $(impl From16 for $T {
            fn wide(self) -> f32 {
                self.to_f32()
            }

            fn round(x: f32) -> Self {
                Self::from_f32(x)
            }
        })+
    };
}

from16!(f16, bf16);

/// Writes elements from the blocks of a counter.
fn philox<T: Send>(
    generator: Philox,
    out: &mut [T],
    words: usize,
    convert: impl Fn([u32; 2]) -> T + Sync,
) {
    let each = WORDS / words;
    for_rows(out, each, 1, |first, out| {
        for (block, out) in (first as u64 / each as u64..).zip(out.chunks_mut(each)) {
            let block = generator.block(block);
            for (out, words) in out.iter_mut().zip(block.chunks_exact(words)) {
                *out = convert([words[0], words.get(1).copied().unwrap_or(0)]);
            }
        }
    });
}

/// The only element of a tensor.
fn number<T: Element + Copy>(tensor: &Tensor) -> Result<T, OpError> {
    match tensor.as_slice::<T>()? {
        [number] => Ok(*number),
        numbers => bail!("expected one number, got {}", numbers.len()),
    }
}

fn check_order(min: &Tensor, max: &Tensor) -> Result<(), OpError> {
    if matches!(min.element_type().class(), Some(Class::F32 | Class::F64)) {
        let (mut low, mut high) = ([0f64], [0f64]);
        widen(min, 0, &mut low);
        widen(max, 0, &mut high);
        let ([low], [high]) = (low, high);
        ensure!(
            low < high,
            "minval is {low}, not below maxval, which is {high}"
        );
    } else {
        let (mut low, mut high) = ([0i64], [0i64]);
        widen(min, 0, &mut low);
        widen(max, 0, &mut high);
        let ([low], [high]) = (low, high);
        ensure!(
            low < high,
            "minval is {low}, not below maxval, which is {high}"
        );
    }
    Ok(())
}

/// A number in `[0, 1)` of as many binary digits.
#[allow(clippy::cast_precision_loss)] // of at most 24
fn digits(x: u32, count: u32) -> f32 {
    let mask = (1u32 << count) - 1;
    (x & mask) as f32 * (1.0 / (1u32 << count) as f32)
}

/// A number in `[0, 1)` of 53 binary digits.
#[allow(clippy::cast_precision_loss)] // exact
fn unit_of_53(x: u64) -> f64 {
    (x & ((1 << 53) - 1)) as f64 * (1.0 / (1u64 << 53) as f64)
}

fn joined([high, low]: [u32; 2]) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

#[cfg(test)]
#[path = "random_uniform_tests.rs"]
mod tests;
