//! Eye-9: matrices with ones on a diagonal.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/generation/eye-9.html>

use serde::{Deserialize, Serialize};

use super::sizes::{expect_index, sizes};
use crate::kernel::diagonal::Diagonal;
use crate::kernel::moving::move_elements;
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure};
use crate::tensor::convert::convert;
use crate::tensor::{ElementType, PartialShape, Tensor};

#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct Eye {
    output_type: ElementType,
}

impl Op for Eye {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let (rows, columns, diagonal, batch) = match inputs {
            [rows, columns, diagonal] => (rows, columns, diagonal, None),
            [rows, columns, diagonal, batch] => (rows, columns, diagonal, Some(batch)),
            _ => bail!(
                "expected 3 or 4 inputs (num_rows, num_columns, diagonal_index, batch_shape), got {}",
                inputs.len()
            ),
        };
        let ty = self.output_type;
        ensure!(
            ty.is_numeric(),
            "output_type is {ty}, expected a type of numbers"
        );
        for (input, name) in [
            (rows, "num_rows"),
            (columns, "num_columns"),
            (diagonal, "diagonal_index"),
        ] {
            expect_index(input, name)?;
        }
        diagonal.int_scalar("diagonal_index")?;
        let matrix = [
            rows.size_scalar("num_rows")?,
            columns.size_scalar("num_columns")?,
        ];
        let batch = match batch {
            Some(batch) => sizes(batch, "batch_shape")?,
            None => Some(Vec::new()),
        };
        let shape = match batch {
            Some(batch) => batch.into_iter().chain(matrix).collect(),
            None => PartialShape::dynamic(),
        };
        Ok(Output::single(ty, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let out = &io.outputs[0];
        let &[.., _, columns] = &out.shape()[..] else {
            bail!("expected a matrix, got shape {}", out.shape());
        };
        let rows = out.shape()[out.shape().rank() - 2];
        let Some(diagonal) = Input::of(io.inputs[2]).int_scalar("diagonal_index")? else {
            bail!("diagonal_index is not known");
        };
        let of = |number: f32| convert(&Tensor::scalar(number), self.output_type);
        let (zero, one) = (of(0.0)?, of(1.0)?);
        let eye = Diagonal {
            rows,
            columns,
            diagonal,
        };
        move_elements(&eye, &[&zero, &one], io.outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{infer_dims, run, shape};
    use crate::tensor::convert::to_i64;

    fn eye(ty: ElementType, sizes: [i64; 3], batch: &[i64]) -> Result<Tensor, OpError> {
        let mut inputs: Vec<Tensor> = sizes.iter().map(|&x| Tensor::scalar(x)).collect();
        inputs.push(Tensor::vector(batch));
        run(&Eye { output_type: ty }, &inputs)
    }

    #[test]
    fn documented() {
        let out = eye(ElementType::I32, [3, 4, 2], &[]).expect("sizes");
        assert_eq!(to_i64(&out), [0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
        let out = eye(ElementType::I32, [3, 4, -1], &[]).expect("sizes");
        assert_eq!(to_i64(&out), [0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0]);
        let out = eye(ElementType::F16, [2, 2, 5], &[1, 2]).expect("sizes");
        assert_eq!(out.shape()[..], [1, 2, 2, 2]);
        assert!(out.bytes().iter().all(|&b| b == 0));
    }

    #[test]
    fn every_type_and_corner() {
        for ty in ElementType::ALL.into_iter().filter(|ty| ty.is_numeric()) {
            let out = eye(ty, [2, 3, 0], &[2]).expect("numbers");
            let out = convert(&out, ElementType::F32).expect("numbers");
            let least = if ty == ElementType::F8e8m0 {
                2f32.powi(-127)
            } else {
                0.0
            };
            let one = [1.0, least, least, least, 1.0, least];
            assert_eq!(
                out.as_slice::<f32>().expect("f32"),
                [one, one].concat(),
                "{ty}"
            );
        }
        for diagonal in [i64::MIN, -3, 3, i64::MAX] {
            let out = eye(ElementType::I8, [3, 3, diagonal], &[]).expect("sizes");
            assert_eq!(to_i64(&out), [0; 9]);
        }
        assert!(
            eye(ElementType::I8, [0, 3, 0], &[])
                .expect("empty")
                .is_empty()
        );
        assert!(
            eye(ElementType::I8, [3, 0, 1], &[2])
                .expect("empty")
                .is_empty()
        );
        assert!(eye(ElementType::I8, [-1, 3, 0], &[]).is_err());
        assert!(eye(ElementType::I8, [1, 3, 0], &[-1]).is_err());
        assert!(eye(ElementType::Boolean, [1, 3, 0], &[]).is_err());
    }

    #[test]
    fn unknown_sizes() {
        let (one, two) = (shape(""), shape("2"));
        let rows = Tensor::scalar(4i32);
        let op = Eye {
            output_type: ElementType::F32,
        };
        let unknown = Input::new(ElementType::I32, &one);
        let mut inputs = vec![Input::of(&rows), unknown.clone(), unknown];
        assert_eq!(infer_dims(&op, &inputs), "[4,?]");
        inputs.push(Input::new(ElementType::I32, &two));
        assert_eq!(infer_dims(&op, &inputs), "[?,?,4,?]");
        let any = shape("?");
        inputs[3] = Input::new(ElementType::I32, &any);
        assert_eq!(infer_dims(&op, &inputs), "[...]");
    }
}
