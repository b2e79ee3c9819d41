//! FloorMod-1, Mod-1: the remainder of a division that is rounded down, or towards zero.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/arithmetic/floormod-1.html>
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/arithmetic/mod-1.html>
//!
//! The remainder of FloorMod has the sign of the divisor, as in Python, that of Mod the sign of the
//! dividend, as in C. The documents leave division by zero undefined: floats give NaN, integers are
//! refused.

use serde::{Deserialize, Serialize};

use super::binary;
use crate::kernel::dispatch::{Lane, lane};
use crate::kernel::modulo::{floats, integers};
use crate::kernel::zip::zip;
use crate::op::attrs::AutoBroadcastSpec;
use crate::op::{Elementwise, Input, Io, Op, OpError, Output, Outputs};
use crate::ops::elementwise::{infer_ranges, like_numpy, pair};
use crate::ops::interval;
use crate::tensor::ValueRange;

/// The remainder of a division, rounded down if `FLOOR`.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(transparent)]
pub(crate) struct Modulo<const FLOOR: bool> {
    broadcast: AutoBroadcastSpec,
}

impl<const FLOOR: bool> Op for Modulo<FLOOR> {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        binary::infer(inputs, self.broadcast)
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        binary::refuse_zero(&io)?;
        let (inputs, out) = pair(io, self.broadcast);
        match lane(out.element_type()) {
            Some(Lane::F32) => zip(inputs, out, &floats::<f32, FLOOR>),
            Some(Lane::F64) => zip(inputs, out, &floats::<f64, FLOOR>),
            Some(Lane::I32) => zip(inputs, out, &integers::<i32, FLOOR>),
            Some(Lane::I64) => zip(inputs, out, &integers::<i64, FLOOR>),
            Some(Lane::U64) => zip(inputs, out, &integers::<u64, FLOOR>),
            None => {}
        }
        Ok(())
    }

    fn infer_value(&self, inputs: &[Input<'_>], output: &Output) -> Option<Vec<ValueRange>> {
        let range = if FLOOR {
            interval::floor_modulo
        } else {
            interval::modulo
        };
        infer_ranges(inputs, output, self.broadcast, &range)
    }

    fn elementwise(&self) -> Option<&dyn Elementwise> {
        like_numpy(self, self.broadcast)
    }
}

impl<const FLOOR: bool> Elementwise for Modulo<FLOOR> {
    fn compute(&self, inputs: &[&[f32]], out: &mut [f32]) {
        floats::<f32, FLOOR>(inputs[0], inputs[1], out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::run;
    use crate::tensor::convert::to_i64;
    use crate::tensor::{Element, Tensor};

    fn both<T: Element>(a: &[T], b: &[T]) -> [Result<Tensor, OpError>; 2] {
        let inputs = [Tensor::vector(a), Tensor::vector(b)];
        [
            run(&Modulo::<true>::default(), &inputs),
            run(&Modulo::<false>::default(), &inputs),
        ]
    }

    #[test]
    fn signs() {
        let [floor, truncated] = both(&[7i32, -7, 7, -7, 6, -6], &[3, 3, -3, -3, 3, 3]);
        assert_eq!(to_i64(&floor.expect("no zero")), [1, 2, -2, -1, 0, 0]);
        assert_eq!(to_i64(&truncated.expect("no zero")), [1, -1, 1, -1, 0, 0]);
        let [floor, truncated] = both(&[i8::MIN, i8::MIN, 127], &[-1, 127, i8::MIN]);
        assert_eq!(to_i64(&floor.expect("no zero")), [0, 126, -1]);
        assert_eq!(to_i64(&truncated.expect("no zero")), [0, -1, 127]);
        let [floor, truncated] = both(&[u64::MAX, 5], &[10, u64::MAX]);
        assert_eq!(to_i64(&floor.expect("no zero")), [5, 5]);
        assert_eq!(to_i64(&truncated.expect("no zero")), [5, 5]);
        let [floor, _] = both(&[i64::MIN], &[-1]);
        assert_eq!(to_i64(&floor.expect("wraps")), [0]);
    }

    #[test]
    fn zero() {
        for result in both(&[1i64, 2], &[3, 0]) {
            let error = result.expect_err("a zero");
            assert_eq!(error.message, "division by zero: the divisor is 0 at [1]");
        }
        for result in both(&[1f32, 0.0, f32::INFINITY], &[0.0, 0.0, 2.0]) {
            let result = result.expect("floats");
            assert!(
                result
                    .as_slice::<f32>()
                    .expect("f32")
                    .iter()
                    .all(|x| x.is_nan())
            );
        }
    }
}
