//! BinaryConvolution-1: a convolution of data and filters of bits that stand for -1 and 1.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/convolution/binary-convolution-1.html>
//!
//! Padding is the number `pad_value`, so that 0 adds nothing.

use serde::{Deserialize, Serialize};

use super::convolution::{geometry, infer_shape};
use crate::kernel::convolve::{Sizes, Term, convolve};
use crate::kernel::scratch::try_collect;
use crate::kernel::window::Window;
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure};
use crate::ops::floats::real;
use crate::ops::window::{AutoPad, Rounding, Sliding};
use crate::tensor::convert::convert_into;
use crate::tensor::{ElementType, Tensor};

/// How bits are computed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Mode {
    /// Bits that agree count one, others minus one.
    #[default]
    XnorPopcount,
}

/// A convolution of bits.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct BinaryConvolution {
    strides: Vec<i64>,
    pads_begin: Vec<i64>,
    pads_end: Vec<i64>,
    dilations: Vec<i64>,
    mode: Mode,
    pad_value: f64,
    auto_pad: AutoPad,
}

impl BinaryConvolution {
    fn sliding(&self) -> Sliding<'_> {
        Sliding {
            strides: &self.strides,
            dilations: &self.dilations,
            pads_begin: &self.pads_begin,
            pads_end: &self.pads_end,
            auto_pad: self.auto_pad,
            rounding: Rounding::Floor,
        }
    }

    fn run<T: Term>(
        &self,
        (sizes, window): (Sizes, Window),
        data: &Tensor,
        filters: &Tensor,
        out: &mut Tensor,
    ) -> Result<(), OpError> {
        let signs = |tensor: &Tensor| -> Result<Vec<T>, OpError> {
            let zero = T::default();
            let bits = real::<T>(tensor)?;
            let signs = bits.as_slice::<T>()?.iter();
            try_collect(signs.map(|&x| T::of(if x == zero { -1.0 } else { 1.0 })))
        };
        let (data, filters) = (signs(data)?, signs(filters)?);
        let mut sums = Tensor::zeros(T::TYPE, out.shape().clone())?;
        let pad = T::of(self.pad_value);
        convolve(sizes, &window, &data, &filters, pad, sums.as_mut_slice()?);
        Ok(convert_into(&sums, out)?)
    }
}

impl Op for BinaryConvolution {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, filters] = inputs else {
            bail!("expected 2 inputs (data, filters), got {}", inputs.len());
        };
        let ty = data.element_type;
        ensure!(
            ty.is_numeric() || !ty.is_static(),
            "data must be numbers, got {ty}"
        );
        let bits = filters.element_type;
        ensure!(
            bits == ElementType::U1 || !bits.is_static(),
            "filters must be u1, got {bits}"
        );
        for (name, shape) in [("data", &data.shape), ("filters", &filters.shape)] {
            ensure!(
                shape.rank().is_none_or(|rank| rank == 4),
                "{name} must have 4 dimensions, got shape {shape}"
            );
        }
        let shape = infer_shape(self.sliding(), &data.shape, &filters.shape, false)?;
        Ok(Output::single(ty, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let ([data, filters], [out]) = (io.inputs, io.outputs) else {
            bail!("expected 2 inputs, got {}", io.inputs.len());
        };
        let shape = (data.shape(), filters.shape());
        let geometry = geometry(self.sliding(), shape.0, shape.1, 1, out.shape())?;
        // Sums of more bits than f32 counts, or of a pad that it does not hold.
        let ty = data.element_type();
        if ty.is_float() && ty != ElementType::F64 {
            self.run::<f32>(geometry, data, filters, out)
        } else {
            self.run::<f64>(geometry, data, filters, out)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::run;

    #[test]
    fn pads_are_numbers() {
        let data = Tensor::new([1, 1, 1, 2], &[0f32, 1.0]).expect("two");
        let bits = Tensor::new([1, 1, 1, 3], &[1i32, 0, 1]).expect("three");
        let filters = crate::tensor::convert::convert(&bits, ElementType::U1).expect("bits");
        for (pad_value, expected) in [(0.0, [2.0, -2.0]), (1.0, [3.0, -1.0]), (-1.0, [1.0, -3.0])] {
            let op = BinaryConvolution {
                pads_begin: vec![0, 1],
                pads_end: vec![0, 1],
                pad_value,
                ..BinaryConvolution::default()
            };
            let result = run(&op, &[data.clone(), filters.clone()]).expect("numbers");
            assert_eq!(result.as_slice::<f32>(), Ok(&expected[..]), "{pad_value}");
        }
    }
}
