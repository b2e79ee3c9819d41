//! Multinomial-13: indices of classes, drawn by their probabilities.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/generation/multinomial-13.html>
//!
//! The numbers that decide are those that RandomUniform-8 gives in `f64` for the same seeds: the
//! document asks for double precision and leaves the generator open. Logarithms are compared with
//! the greatest of their row, which changes nothing else than that no exponential is infinite.

use serde::{Deserialize, Serialize};

use super::seeds::{Seeds, unit};
use crate::kernel::math::exp;
use crate::kernel::random::{Philox, WORDS};
use crate::kernel::scratch::{try_room, try_zeroed};
use crate::op::OpErrorKind;
use crate::op::{
    Input, Io, Op, OpError, Output, Outputs, bail, ensure, expect_index_type, expect_indices_fit,
};
use crate::tensor::convert::{narrow, widen};
use crate::tensor::{ElementType, PartialShape};

#[derive(Debug, Clone, Deserialize, Serialize)]
pub(super) struct Multinomial {
    convert_type: ElementType,
    #[serde(default)]
    with_replacement: bool,
    #[serde(default)]
    log_probs: bool,
    #[serde(default)]
    global_seed: i64,
    #[serde(default)]
    op_seed: i64,
}

impl Multinomial {
    fn seeds(&self) -> Seeds {
        Seeds {
            global: self.global_seed,
            op: self.op_seed,
        }
    }
}

impl Op for Multinomial {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [probs, samples] = inputs else {
            bail!(
                "expected 2 inputs (probs, num_samples), got {}",
                inputs.len()
            );
        };
        expect_index_type("convert_type", self.convert_type)?;
        let ty = probs.element_type;
        ensure!(
            ty.is_float() || !ty.is_static(),
            "probs must be floats, got {ty}"
        );
        let samples = samples.size_scalar("num_samples")?;
        let (batch, classes) = match probs.shape.dims() {
            Some(&[batch, classes]) => (batch, classes),
            None => (
                crate::tensor::Dimension::dynamic(),
                crate::tensor::Dimension::dynamic(),
            ),
            Some(_) => bail!("probs must have 2 dimensions, got shape {}", probs.shape),
        };
        ensure!(
            self.with_replacement || classes.max().is_none_or(|most| samples.min() <= most),
            "num_samples is {samples}, but there are only {classes} classes, each drawn once"
        );
        let shape: PartialShape = [batch, samples].into_iter().collect();
        Ok(Output::single(self.convert_type, shape))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let (probs, out) = (io.inputs[0], &mut io.outputs[0]);
        if out.is_empty() {
            return Ok(());
        }
        let (classes, samples) = (probs.shape()[1], out.shape()[1]);
        expect_indices_fit(classes, self.convert_type)?;
        let mut numbers = Numbers::new(self.seeds().philox());
        let mut weights = try_zeroed::<f64>(classes)?;
        let mut drawn = try_zeroed::<i64>(samples)?;
        let mut all = try_room(out.len())?;
        for row in 0..out.shape()[0] {
            widen(probs, row * classes, &mut weights);
            let put = |e: OpError| match e.kind {
                OpErrorKind::Invalid => OpError::new(format!("row {row} of probs {}", e.message)),
                _ => e,
            };
            self.row(&mut weights, &mut || numbers.next(), &mut drawn)
                .map_err(put)?;
            all.extend_from_slice(&drawn);
        }
        narrow(&all, out, 0);
        Ok(())
    }

    fn is_pure(&self) -> bool {
        self.seeds().are_fixed()
    }
}

impl Multinomial {
    /// Draws from one row of probabilities, or of their logarithms.
    fn row(
        &self,
        weights: &mut [f64],
        next: &mut dyn FnMut() -> f64,
        drawn: &mut [i64],
    ) -> Result<(), OpError> {
        if self.log_probs {
            let most = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            weights.iter_mut().for_each(|x| *x = exp(*x - most));
        }
        let good = weights.iter().all(|x| x.is_finite() && *x >= 0.0);
        ensure!(
            good,
            "must be finite{}",
            if self.log_probs {
                ""
            } else {
                " and not negative"
            }
        );
        let mut cumulative = try_zeroed::<f64>(weights.len())?;
        for (i, drawn) in drawn.iter_mut().enumerate() {
            if i == 0 || !self.with_replacement {
                add_up(weights, &mut cumulative)?;
            }
            let number = next();
            let mut class = cumulative.partition_point(|&sum| sum < number);
            // A number of 0 stands for the first class that can be drawn at all.
            while weights[class] == 0.0 {
                class += 1;
            }
            *drawn = i64::try_from(class).unwrap_or(i64::MAX);
            if !self.with_replacement {
                weights[class] = 0.0;
            }
        }
        Ok(())
    }
}

/// The sums of the weights up to each, as parts of their total.
fn add_up(weights: &[f64], cumulative: &mut [f64]) -> Result<(), OpError> {
    let mut sum = 0.0;
    for (cumulative, weight) in cumulative.iter_mut().zip(weights) {
        sum += weight;
        *cumulative = sum;
    }
    ensure!(
        sum > 0.0 && sum.is_finite(),
        "has no class left that can be drawn: probabilities add up to {sum}"
    );
    cumulative.iter_mut().for_each(|x| *x /= sum);
    Ok(())
}

/// Random numbers in `[0, 1)`, one after the other.
struct Numbers {
    generator: Philox,
    next: u64,
}

impl Numbers {
    fn new(generator: Philox) -> Self {
        Self { generator, next: 0 }
    }

    fn next(&mut self) -> f64 {
        const EACH: u64 = WORDS as u64 / 2;
        let block = self.generator.block(self.next / EACH);
        let second = self.next % EACH == 1;
        self.next += 1;
        let [a, b, c, d] = block;
        if second { unit(c, d) } else { unit(a, b) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{infer_dims, run, shape};
    use crate::tensor::Tensor;
    use crate::tensor::convert::to_i64;

    fn op(with_replacement: bool, log_probs: bool) -> Multinomial {
        Multinomial {
            convert_type: ElementType::I64,
            with_replacement,
            log_probs,
            global_seed: 234,
            op_seed: 148,
        }
    }

    fn row(op: &Multinomial, probs: &[f64], numbers: &[f64]) -> Result<Vec<i64>, OpError> {
        let mut drawn = vec![0; numbers.len()];
        let mut numbers = numbers.iter().copied();
        let mut next = || numbers.next().expect("as many");
        op.row(&mut probs.to_vec(), &mut next, &mut drawn)?;
        Ok(drawn)
    }

    #[test]
    fn documented() {
        let drawn = row(
            &op(true, false),
            &[0.1, 0.5, 0.4],
            &[0.2, 0.4, 0.6, 0.8, 1.0],
        );
        assert_eq!(drawn, Ok(vec![1, 1, 1, 2, 2]));
        let tenths: Vec<f64> = (1..=10).map(|i| f64::from(i) / 10.0).collect();
        let drawn = row(&op(true, true), &[-1.0, 1.0, 2.0], &tenths);
        assert_eq!(drawn, Ok(vec![1, 1, 2, 2, 2, 2, 2, 2, 2, 2]));
        let drawn = row(&op(true, true), &[50.0, 1.0, 21.0], &tenths[..9]);
        assert_eq!(drawn, Ok(vec![0; 9]));
        // The document's result is [1, 2], though it says that 0.2 selects class 0.
        let drawn = row(&op(false, false), &[0.1, 0.5, 0.4], &[0.3, 0.2]);
        assert_eq!(drawn, Ok(vec![1, 0]));
    }

    #[test]
    fn corners() {
        let zeros = row(&op(true, false), &[0.0, 0.0, 1.0, 0.0], &[0.0, 0.5]);
        assert_eq!(zeros, Ok(vec![2, 2]));
        assert!(row(&op(true, false), &[0.0, 0.0], &[0.5]).is_err());
        assert!(row(&op(true, false), &[0.5, -0.5], &[0.5]).is_err());
        assert!(row(&op(true, false), &[f64::NAN], &[0.5]).is_err());
        assert!(row(&op(false, false), &[1.0, 0.0], &[0.5, 0.5]).is_err());
        let impossible = row(&op(true, true), &[f64::NEG_INFINITY, 1000.0], &[0.0]);
        assert_eq!(impossible, Ok(vec![1]));
        assert!(row(&op(true, true), &[f64::NEG_INFINITY; 2], &[0.0]).is_err());
    }

    #[test]
    fn all_classes_once() {
        let probs =
            Tensor::new([2, 4], &[0.1f32, 0.2, 0.3, 0.4, 4.0, 3.0, 2.0, 1.0]).expect("eight");
        let out =
            run(&op(false, false), &[probs.clone(), Tensor::scalar(4i32)]).expect("probabilities");
        for row in to_i64(&out).chunks(4) {
            let mut row = row.to_vec();
            row.sort_unstable();
            assert_eq!(row, [0, 1, 2, 3]);
        }
        assert!(run(&op(false, false), &[probs.clone(), Tensor::scalar(5i32)]).is_err());
        let many = run(&op(true, false), &[probs, Tensor::scalar(4000i64)]).expect("probabilities");
        let many = to_i64(&many);
        let share = many[..4000].iter().filter(|&&class| class == 3).count();
        assert!((1400..1800).contains(&share), "{share}");
        let unknown = shape("?,4");
        let scalar = shape("");
        let inputs = [
            Input::new(ElementType::F32, &unknown),
            Input::new(ElementType::I32, &scalar),
        ];
        assert_eq!(infer_dims(&op(true, false), &inputs), "[?,?]");
    }
}
