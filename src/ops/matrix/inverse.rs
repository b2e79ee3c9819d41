//! Inverse-14: inverses of square matrices, or their transposes.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/matrix/inverse-14.html>
//!
//! Every type is computed in `f32`, as the document says, `f64` too. What has no inverse gives
//! infinities and NaN.

use serde::{Deserialize, Serialize};

use crate::kernel::inverse::inverse;
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure};
use crate::ops::floats::{fill, real};

/// Inverses of square matrices.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Inverse {
    adjoint: bool,
}

impl Op for Inverse {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data] = inputs else {
            bail!("expected 1 input, got {}", inputs.len());
        };
        let ty = data.element_type;
        ensure!(
            ty.is_float() || !ty.is_static(),
            "the matrices must be floats, got {ty}"
        );
        let mut shape = data.shape.clone().into_owned();
        match shape.dims_mut() {
            None => {}
            Some([.., rows, columns]) => match rows.intersect(*columns) {
                Some(both) => (*rows, *columns) = (both, both),
                None => bail!("the matrices must be square, got shape {}", data.shape),
            },
            Some(_) => bail!(
                "the input must have at least 2 dimensions, got shape {}",
                data.shape
            ),
        }
        Ok(Output::single(ty, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let data = real::<f32>(io.inputs[0])?;
        let n = data.shape().last().copied().unwrap_or(0);
        fill(&mut io.outputs[0], |out| {
            inverse(data.as_slice()?, out, n, self.adjoint);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{infer_dims, run, shape};
    use crate::tensor::{ElementType, Tensor};

    #[test]
    fn shapes() {
        let infer = |text: &str| {
            let dims = shape(text);
            let input = [Input::new(ElementType::F32, &dims)];
            let op = Inverse::default();
            op.infer(&input).map(|_| infer_dims(&op, &input))
        };
        assert_eq!(infer("?,3,?").as_deref(), Ok("[?,3,3]"));
        assert_eq!(infer("...").as_deref(), Ok("[...]"));
        for wrong in ["3", "", "2,3", "2,3,4..5"] {
            assert!(infer(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn types_and_nothing() {
        let data = Tensor::new([2, 2], &[1f64, 2.0, 3.0, 5.0]).expect("four");
        let result = run(&Inverse { adjoint: true }, &[data]).expect("floats");
        let result = result.as_slice::<f64>().expect("f64");
        for (a, b) in result.iter().zip([-5.0, 3.0, 2.0, -1.0]) {
            assert!((a - b).abs() < 1e-5, "{a}");
        }
        for dims in [[0, 2, 2], [2, 0, 0]] {
            let none = Tensor::new::<f32>(dims, &[]).expect("empty");
            assert_eq!(
                run(&Inverse::default(), std::slice::from_ref(&none)),
                Ok(none)
            );
        }
    }
}
