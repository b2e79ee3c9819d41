//! FakeConvert-13: numbers scaled, shifted, taken to a float of 8 bits, and back.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/quantization/fake-convert-13.html>
//!
//! The document does not say what numbers beyond the type become: its largest, as in the real
//! runtime. NaN stays.

use serde::{Deserialize, Serialize};

use crate::kernel::fake_convert::fake_convert;
use crate::op::attrs::AutoBroadcastSpec;
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure, merge_types};
use crate::ops::parameters::{aligned, broadcast_onto};
use crate::tensor::{ElementType, Tensor};

#[derive(Debug, Clone, Deserialize, Serialize)]
pub(crate) struct FakeConvert {
    destination_type: ElementType,
}

impl FakeConvert {
    /// The type to go through, with its largest number.
    fn destination(&self) -> Result<(ElementType, f32), OpError> {
        match self.destination_type {
            ty @ ElementType::F8e4m3 => Ok((ty, 448.0)),
            ty @ ElementType::F8e5m2 => Ok((ty, 57344.0)),
            ty => bail!("destination_type is {ty}, expected f8e4m3 or f8e5m2"),
        }
    }
}

impl Op for FakeConvert {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        self.destination()?;
        let (data, scale) = match inputs {
            [data, scale] => (data, scale),
            [data, scale, shift] => {
                ensure!(
                    scale.shape.compatible(&shift.shape),
                    "shift has shape {}, expected that of scale, {}",
                    shift.shape,
                    scale.shape
                );
                (data, scale)
            }
            _ => bail!(
                "expected 2 or 3 inputs (data, scale, shift), got {}",
                inputs.len()
            ),
        };
        let ty = merge_types(inputs)?;
        ensure!(
            matches!(
                ty,
                ElementType::F16 | ElementType::Bf16 | ElementType::F32 | ElementType::Dynamic
            ),
            "the elements must be f16, bf16 or f32, got {ty}"
        );
        let spec = AutoBroadcastSpec::default();
        let shape = broadcast_onto(&data.shape, &scale.shape, "scale", spec)?;
        Ok(Output::single(ty, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let (data, out) = (io.inputs[0], &mut io.outputs[0]);
        let none = Tensor::scalar(0f32);
        let align = |index: usize| {
            let parameter = io.inputs.get(index).copied().unwrap_or(&none);
            aligned(data.shape(), parameter, AutoBroadcastSpec::default())
        };
        let parameters = [align(1)?, align(2)?];
        let parameters = parameters.each_ref().map(|(tensor, at)| (tensor, *at));
        fake_convert(data, parameters, self.destination()?, out);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::run;

    fn convert(ty: ElementType, inputs: &[&[f32]]) -> Vec<f32> {
        let op = FakeConvert {
            destination_type: ty,
        };
        let inputs: Vec<Tensor> = inputs.iter().map(|x| Tensor::vector(x)).collect();
        let out = run(&op, &inputs).expect("floats");
        out.as_slice::<f32>().expect("f32").to_vec()
    }

    #[test]
    fn ends_and_steps() {
        let x = [0.3, 1.0e6, f32::NEG_INFINITY, 0.0011, -500.0];
        let y = convert(ElementType::F8e4m3, &[&x, &[1.0]]);
        assert_eq!(y, [0.3125, 448.0, -448.0, 0.001_953_125, -448.0]);
        let y = convert(ElementType::F8e5m2, &[&x, &[1.0]]);
        assert_eq!(y, [0.3125, 57344.0, -57344.0, 0.001_220_703_1, -512.0]);
        let nan = convert(ElementType::F8e4m3, &[&[f32::NAN], &[1.0]]);
        assert!(nan[0].is_nan());
    }

    #[test]
    fn scale_and_shift() {
        let y = convert(
            ElementType::F8e4m3,
            &[&[1.0, 1.1], &[2.0, 4.0], &[0.5, 0.25]],
        );
        // 1.5 is exact; 4.15 becomes 4.
        assert_eq!(y, [1.0, 1.0625]);
        let op = FakeConvert {
            destination_type: ElementType::F8e4m3,
        };
        let vector = |n| Tensor::vector(&vec![1f32; n]);
        assert!(run(&op, &[vector(2), vector(2), vector(1)]).is_err());
        assert!(run(&op, &[vector(2), vector(3)]).is_err());
        assert!(run(&op, &[Tensor::scalar(1f64), Tensor::scalar(1f64)]).is_err());
        let op = FakeConvert {
            destination_type: ElementType::F16,
        };
        assert!(run(&op, &[vector(2), vector(1)]).is_err());
    }
}
