//! Bucketize-3: the number of the bucket, between sorted boundaries, that each element falls into.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/condition/bucketize-3.html>
//!
//! Numbers of different types are compared as they are, without rounding. The document does not
//! say where NaN falls: into the first bucket with right bounds, into the last one without.

use serde::{Deserialize, Serialize};

use crate::kernel::block::{Operand, blocks};
use crate::kernel::scratch::{try_collect, try_vec};
use crate::op::{
    Input, Io, Op, OpError, Output, Outputs, bail, ensure, expect_index_type, expect_indices_fit,
};
use crate::tensor::convert::widen;
use crate::tensor::{Class, ElementType, Tensor};

/// The number of the bucket that each element falls into.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Bucketize {
    output_type: ElementType,
    with_right_bound: bool,
}

impl Default for Bucketize {
    fn default() -> Self {
        Self {
            output_type: ElementType::I64,
            with_right_bound: true,
        }
    }
}

/// The boundaries, in a type that holds them exactly.
enum Boundaries {
    Floats(Vec<f64>),
    Integers(Vec<i128>),
}

impl Boundaries {
    fn new(tensor: &Tensor) -> Result<Self, OpError> {
        Ok(match tensor.element_type().class() {
            Some(Class::F32 | Class::F64) => Self::Floats(widened(tensor)?),
            Some(Class::U64) => {
                let wide = widened::<u64>(tensor)?.into_iter();
                Self::Integers(try_collect(wide.map(i128::from))?)
            }
            _ => {
                let wide = widened::<i64>(tensor)?.into_iter();
                Self::Integers(try_collect(wide.map(i128::from))?)
            }
        })
    }
}

fn widened<C: crate::tensor::convert::Compute>(tensor: &Tensor) -> Result<Vec<C>, OpError> {
    let mut all = try_vec(C::default(), tensor.len())?;
    widen(tensor, 0, &mut all);
    Ok(all)
}

impl Bucketize {
    /// How many boundaries lie before a value: those below it, without right bounds also those
    /// equal to it.
    fn place<K: PartialOrd>(&self, boundaries: &[K], value: &K) -> usize {
        if self.with_right_bound {
            boundaries.partition_point(|boundary| boundary < value)
        } else {
            boundaries.partition_point(|boundary| {
                !matches!(value.partial_cmp(boundary), Some(std::cmp::Ordering::Less))
            })
        }
    }

    /// The integer that separates the same integers as a boundary does.
    #[allow(clippy::cast_possible_truncation)] // what is beyond i128 is beyond all elements
    fn integer_boundary(&self, boundary: f64) -> i128 {
        if self.with_right_bound {
            boundary.floor() as i128
        } else {
            boundary.ceil() as i128
        }
    }

    /// The integer that lies between the same integer boundaries as an element does.
    #[allow(clippy::cast_possible_truncation)] // what is beyond i128 is beyond all boundaries
    fn integer_value(&self, value: f64) -> i128 {
        match (value.is_nan(), self.with_right_bound) {
            (true, true) => i128::MIN,
            (true, false) => i128::MAX,
            (false, true) => value.ceil() as i128,
            (false, false) => value.floor() as i128,
        }
    }

    fn run(&self, data: &Tensor, boundaries: &Boundaries, out: &mut Tensor) -> Result<(), OpError> {
        let shape = data.shape().clone();
        let operands = [Operand::new(data, 0, &shape)];
        let index = |place: usize| i64::try_from(place).unwrap_or(i64::MAX);
        let class = data.element_type().class();
        if let Some(Class::F32 | Class::F64) = class {
            blocks::<f64, i64, 1>(&operands, out, &|[data], out| {
                for (out, x) in out.iter_mut().zip(data) {
                    *out = index(match boundaries {
                        Boundaries::Floats(all) => self.place(all, x),
                        Boundaries::Integers(all) => self.place(all, &self.integer_value(*x)),
                    });
                }
            });
            return Ok(());
        }
        let rounded: Vec<i128>;
        let all = match boundaries {
            Boundaries::Integers(all) => all,
            Boundaries::Floats(all) => {
                rounded = try_collect(all.iter().map(|&b| self.integer_boundary(b)))?;
                &rounded
            }
        };
        if class == Some(Class::U64) {
            blocks::<u64, i64, 1>(&operands, out, &|[data], out| {
                for (out, &x) in out.iter_mut().zip(data) {
                    *out = index(self.place(all, &x.into()));
                }
            });
        } else {
            blocks::<i64, i64, 1>(&operands, out, &|[data], out| {
                for (out, &x) in out.iter_mut().zip(data) {
                    *out = index(self.place(all, &x.into()));
                }
            });
        }
        Ok(())
    }
}

impl Op for Bucketize {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [data, buckets] = inputs else {
            bail!("expected 2 inputs (data, buckets), got {}", inputs.len());
        };
        expect_index_type("output_type", self.output_type)?;
        for (input, name) in [(data, "data"), (buckets, "buckets")] {
            let ty = input.element_type;
            ensure!(
                ty.is_numeric() || !ty.is_static(),
                "{name} must be numbers, got {ty}"
            );
        }
        buckets.expect_1d("buckets")?;
        let shape = data.shape.clone().into_owned();
        Ok(Output::single(self.output_type, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let [data, buckets] = io.inputs else {
            bail!("expected 2 inputs, got {}", io.inputs.len());
        };
        expect_indices_fit(buckets.len(), self.output_type)?;
        self.run(data, &Boundaries::new(buckets)?, &mut io.outputs[0])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ops::testing::{infer_dims, run, shape};
    use crate::tensor::convert::{convert, to_i64};

    fn places(data: &Tensor, buckets: &Tensor, with_right_bound: bool) -> Vec<i64> {
        let op = Bucketize {
            with_right_bound,
            ..Bucketize::default()
        };
        to_i64(&run(&op, &[data.clone(), buckets.clone()]).expect("fits"))
    }

    #[test]
    fn edges() {
        let buckets = Tensor::vector(&[0i32, 5, 10]);
        let data = Tensor::vector(&[3f32, 50.0, 10.0, -1.0, f32::NAN, f32::INFINITY]);
        assert_eq!(places(&data, &buckets, true), [1, 3, 2, 0, 0, 3]);
        assert_eq!(places(&data, &buckets, false), [1, 3, 3, 0, 3, 3]);
        let floats = Tensor::vector(&[0f32, 5.0, 10.0]);
        assert_eq!(places(&data, &floats, true), [1, 3, 2, 0, 0, 3]);
        assert_eq!(places(&data, &floats, false), [1, 3, 3, 0, 3, 3]);
        let none = Tensor::new::<f64>([0], &[]).expect("empty");
        assert_eq!(places(&data, &none, false), [0; 6]);
    }

    #[test]
    fn large_integers_are_not_rounded() {
        let big = (1i64 << 60) + 1;
        let data = Tensor::vector(&[big - 1, big, big + 1]);
        assert_eq!(places(&data, &Tensor::vector(&[big]), true), [0, 0, 1]);
        assert_eq!(
            places(&data, &Tensor::vector(&[big as u64]), false),
            [0, 1, 1]
        );
        let float = Tensor::vector(&[(1i64 << 60) as f64]);
        assert_eq!(places(&data, &float, true), [0, 1, 1]);
        let huge = Tensor::vector(&[u64::MAX, 0]);
        assert_eq!(
            places(&huge, &Tensor::vector(&[-1i64, i64::MAX]), true),
            [2, 1]
        );
        assert_eq!(
            places(&huge, &Tensor::vector(&[-0.5f32, 1e30]), true),
            [1, 1]
        );
        assert_eq!(places(&float, &Tensor::vector(&[big]), false), [0]);
    }

    #[test]
    fn mistakes() {
        let numbers = Tensor::vector(&[1f32]);
        let op = Bucketize::default();
        for wrong in [Tensor::vector(&[true]), Tensor::scalar(1f32)] {
            assert!(run(&op, &[numbers.clone(), wrong]).is_err());
        }
        assert!(run(&op, &[Tensor::vector(&[true]), numbers.clone()]).is_err());
        let wrong = Bucketize {
            output_type: ElementType::U8,
            ..Bucketize::default()
        };
        assert!(run(&wrong, &[numbers.clone(), numbers]).is_err());
        let (data, five) = (shape("2,1..4"), shape("5"));
        let inputs = [&data, &five].map(|s| Input::new(ElementType::F32, s));
        assert_eq!(infer_dims(&op, &inputs), "[2,1..4]");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn like_its_definition(
            data in prop::collection::vec(0i64..8, 0..700),
            mut buckets in prop::collection::vec(0i64..8, 0..6),
            types in prop::collection::vec(prop::sample::select(vec![
                ElementType::I4, ElementType::U8, ElementType::I32, ElementType::U64, ElementType::F16,
                ElementType::F32, ElementType::F64, ElementType::F8e4m3, ElementType::U3,
            ]), 2),
            right in any::<bool>(),
            narrow in any::<bool>(),
        ) {
            let types = types.iter().map(|&ty| if ty == ElementType::I4 { ElementType::I8 } else { ty });
            let types: Vec<_> = types.collect();
            buckets.sort_unstable();
            buckets.dedup();
            let tensors = [(&data, types[0]), (&buckets, types[1])]
                .map(|(values, ty)| convert(&Tensor::vector(values), ty).expect("fits"));
            let output_type = if narrow { ElementType::I32 } else { ElementType::I64 };
            let op = Bucketize { output_type, with_right_bound: right };
            let out = run(&op, &tensors).expect("fits");
            let expected: Vec<i64> = data
                .iter()
                .map(|x| buckets.iter().filter(|&b| b < x || (!right && b == x)).count() as i64)
                .collect();
            prop_assert_eq!(to_i64(&out), expected);
        }
    }
}
