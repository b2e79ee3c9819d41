//! Swish-4: `x * sigmoid(beta * x)`.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/activation/swish-4.html>

use serde::{Deserialize, Serialize};

use crate::kernel::map::{each, each_sum};
use crate::kernel::math;
use crate::kernel::real::Real;
use crate::kernel::zip::each_pair;
use crate::op::{Elementwise, Input, Io, Op, OpError, Outputs, Prepared, Terms, bail, merge_types};
use crate::ops::floats::in_real;
use crate::ops::unary::{Integers, expect_type, like, map_floats, number};

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub(crate) struct Swish {}

impl Op for Swish {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let ty = merge_types(inputs)?;
        expect_type(ty, Integers::Refused)?;
        let data = match inputs {
            [data] => data,
            [data, beta] => {
                beta.expect_scalar("beta")?;
                data
            }
            _ => bail!("expected 1 or 2 inputs (data, beta), got {}", inputs.len()),
        };
        Ok(like(&Input {
            element_type: ty,
            ..data.clone()
        }))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        in_real!(io.outputs[0].element_type(), T => match io.inputs {
            [_, beta] => {
                let beta: T = number(beta);
                map_floats::<T>(io, #[inline(always)] move |x| swish(x, beta));
            }
            _ => map_floats::<T>(io, #[inline(always)] move |x| swish(x, 1.0)),
        });
        Ok(())
    }

    fn elementwise(&self) -> Option<&dyn Elementwise> {
        Some(self)
    }

    /// Without a `beta` of 1, which is what it is by itself: many models name it.
    fn prepare(&self, inputs: &[Input<'_>]) -> Option<Prepared> {
        let [data, beta] = inputs else { return None };
        let same = data.element_type == beta.element_type;
        let one = same && beta.value.is_some_and(|beta| number::<f64>(beta) == 1.0);
        one.then(|| Prepared {
            op: Box::new(Self {}),
            inputs: [0].into_iter().collect(),
        })
    }
}

impl Elementwise for Swish {
    fn compute(&self, inputs: &[&[f32]], out: &mut [f32]) {
        match *inputs {
            [x, beta] => each_pair(
                x,
                beta,
                out,
                #[inline(always)]
                |x, beta| swish(x, beta),
            ),
            _ => each(
                inputs[0],
                out,
                #[inline(always)]
                |x| swish(x, 1.0),
            ),
        }
    }

    fn takes_sums(&self) -> bool {
        true
    }

    fn compute_sums(&self, terms: Terms<'_, '_>) {
        each_sum(
            terms,
            #[inline(always)]
            |x| swish(x, 1.0),
        );
    }
}

#[inline(always)]
fn swish<T: Real>(x: T, beta: T) -> T {
    x * math::sigmoid(beta * x)
}

#[cfg(test)]
mod tests {
    use crate::CompileOptions;
    use crate::graph::Builder;
    use crate::tensor::{ElementType, Shape, Tensor};

    #[test]
    fn a_beta_of_one_is_left_out() {
        let x: Vec<f32> = (0u8..60).map(|i| f32::from(i) / 4.0 - 7.0).collect();
        let x = Tensor::new(Shape::from([3, 20]), &x).expect("60");
        for (beta, inputs) in [(1.0f32, 1), (0.5, 2)] {
            let mut graph = Builder::new();
            let data = graph.parameter("x", ElementType::F32, "3,20".parse().expect("a shape"));
            let beta = Tensor::new(Shape::from([]), &[beta]).expect("one");
            let beta = graph.constant("beta", beta);
            let swish = graph.add("swish", "Swish", "opset4", &[], &[data, beta]);
            graph.result("y", swish.expect("fits"));
            let model = graph.build("swish").expect("fits");
            let compiled = model.compile(&CompileOptions::default()).expect("compiles");
            let nodes = compiled.compiled().graph().nodes();
            let mut found = nodes.filter(|(_, node)| node.name() == "swish");
            assert_eq!(found.next().expect("it is there").1.inputs.len(), inputs);
            let found = compiled.infer_request().infer([(0, x.clone())]);
            let expected = model.evaluate([(0, x.clone())]).expect("evaluates");
            assert!(found.expect("evaluates").iter().eq(expected.iter()));
        }
    }
}
