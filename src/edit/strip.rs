//! Weights that tell nothing: noise with the statistics of the numbers whose place it takes.

use super::reduce::{Fails, Stage};
use super::reproduction::Reproduction;
use crate::error::Result;
use crate::graph::Operation;
use crate::io::Generator;
use crate::limits::Limits;
use crate::op::Op;
use crate::ops::infrastructure::Const;
use crate::tensor::{ElementType, Tensor, convert};

/// Constants of fewer elements stay: they are parameters of the computation, not what was learnt.
const FEWEST: usize = 16;

/// What became of the weights.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Stripped {
    /// Constants that are noise now.
    pub(crate) replaced: usize,
    /// Constants that the fault needs as they are.
    pub(crate) kept: usize,
}

/// Puts noise in the place of all weights, if the model fails still, or else of one constant after
/// the other. Integers of 16 bits and more are shapes, axes and indices, and stay.
///
/// # Errors
/// What asking gives.
pub(crate) fn strip(
    found: &mut Reproduction,
    limits: &Limits,
    fails: &mut Fails<'_>,
) -> Result<Stripped> {
    let nodes = found.model.graph().nodes();
    let weights: Vec<(usize, Tensor)> = nodes
        .filter_map(|(id, node)| {
            let tensor = node.op()?.constant()?.ok()?;
            let noise = noise(tensor, id.index() as u64)?;
            Some((id.index(), noise))
        })
        .collect();
    let mut stripped = Stripped::default();
    if weights.is_empty() {
        return Ok(stripped);
    }
    let mut attempt = |found: &mut Reproduction, weights: &[(usize, Tensor)]| -> Result<bool> {
        let Some(candidate) = replaced(found, weights, limits) else {
            return Ok(false);
        };
        let fails = fails(&candidate, Stage::Weights)?;
        if fails {
            *found = candidate;
        }
        Ok(fails)
    };
    if attempt(found, &weights)? {
        stripped.replaced = weights.len();
        return Ok(stripped);
    }
    for weight in &weights {
        match weights.len() > 1 && attempt(found, std::slice::from_ref(weight))? {
            true => stripped.replaced += 1,
            false => stripped.kept += 1,
        }
    }
    Ok(stripped)
}

/// The model with other constants; nothing if it cannot be evaluated then.
fn replaced(
    found: &Reproduction,
    weights: &[(usize, Tensor)],
    limits: &Limits,
) -> Option<Reproduction> {
    let mut graphs = found.model.graphs().to_vec();
    for (node, tensor) in weights {
        if let Operation::Known { op, .. } = &mut graphs[0].nodes[*node].operation {
            let constant: Box<dyn Op> = Box::new(Const::new(tensor.clone()));
            *op = constant.into();
        }
    }
    let model = found.model.rebuilt(graphs).ok()?;
    Reproduction::of(model, found.inputs.clone(), limits).ok()
}

/// Noise for a tensor of weights; nothing for one that is none.
///
/// Types of up to eight bits are drawn from the codes that the tensor has, as often as it has them.
/// Wider floats are of nearly normal distribution, with the tensor's mean and deviation, within its
/// bounds.
fn noise(tensor: &Tensor, seed: u64) -> Option<Tensor> {
    let ty = tensor.element_type();
    if tensor.len() < FEWEST {
        return None;
    }
    let mut generator = Generator::new(seed);
    if ty.is_packed() {
        let mut codes = convert::codes(tensor);
        draw(&mut codes, &mut generator);
        return convert::from_codes(ty, tensor.shape().clone(), &codes).ok();
    }
    match ty {
        ElementType::Boolean => None,
        _ if ty.bits() == 8 => {
            let mut tensor = tensor.clone();
            draw(tensor.try_bytes_mut().ok()?, &mut generator);
            Some(tensor)
        }
        _ if ty.is_float() && !ty.is_complex() => normal(tensor, &mut generator),
        _ => None,
    }
}

/// Puts other bytes in place of these: any of them, each as likely as it is often there.
fn draw(bytes: &mut [u8], generator: &mut Generator) {
    let mut counts = [0u64; 256];
    for byte in &*bytes {
        counts[usize::from(*byte)] += 1;
    }
    let mut ends = [0u64; 256];
    let mut sum = 0;
    for (end, count) in ends.iter_mut().zip(counts) {
        sum += count;
        *end = sum;
    }
    let all = u128::from(sum);
    for byte in bytes {
        let at = ((u128::from(generator.next()) * all) >> 64) as u64;
        let place = ends.partition_point(|&end| end <= at);
        *byte = u8::try_from(place).unwrap_or(u8::MAX);
    }
}

fn normal(tensor: &Tensor, generator: &mut Generator) -> Option<Tensor> {
    let wide = convert::convert(tensor, ElementType::F64).ok()?;
    let numbers = wide.as_slice::<f64>().ok()?;
    if numbers.iter().any(|x| !x.is_finite()) {
        // Masks of infinities, mostly.
        return None;
    }
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
    let deviation = variance.sqrt();
    let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let noise: Vec<f64> = numbers
        .iter()
        .map(|_| {
            // The sum of twelve even numbers has variance 1, and no function that machines differ in.
            let sum: f64 = (0..12).map(|_| unit(generator)).sum();
            (mean + deviation * (sum - 6.0)).clamp(low, high)
        })
        .collect();
    let noise = Tensor::new(tensor.shape().clone(), &noise).ok()?;
    convert::convert(&noise, tensor.element_type()).ok()
}

/// A number in `[0, 1)`.
fn unit(generator: &mut Generator) -> f64 {
    const SCALE: f64 = 1.0 / (1u64 << 53) as f64;
    (generator.next() >> 11) as f64 * SCALE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statistics(tensor: &Tensor) -> (f64, f64, f64, f64) {
        let wide = convert::convert(tensor, ElementType::F64).expect("numbers");
        let numbers = wide.as_slice::<f64>().expect("f64");
        let count = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / count;
        let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
        let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (mean, variance.sqrt(), low, high)
    }

    #[test]
    fn noise_has_the_statistics_of_what_it_replaces() {
        let mut generator = Generator::new(3);
        let numbers: Vec<f32> = (0..20_000)
            .map(|_| (0..3).map(|_| unit(&mut generator)).sum::<f64>() as f32 * 4.0 - 1.0)
            .collect();
        let floats = Tensor::new([100, 200], &numbers).expect("a tensor");
        for ty in [
            ElementType::F32,
            ElementType::F16,
            ElementType::F64,
            ElementType::I8,
            ElementType::U4,
            ElementType::F8e4m3,
        ] {
            let weights = convert::convert(&floats, ty).expect("numbers");
            let noise = noise(&weights, 7).expect("weights");
            assert_eq!(noise.element_type(), ty);
            assert_eq!(noise.shape(), weights.shape());
            assert!(noise != weights, "{ty}");
            let (before, after) = (statistics(&weights), statistics(&noise));
            assert!(
                (before.0 - after.0).abs() < 0.05,
                "{ty}: {before:?} {after:?}"
            );
            assert!(
                (before.1 / after.1 - 1.0).abs() < 0.05,
                "{ty}: {before:?} {after:?}"
            );
            assert!(after.2 >= before.2 && after.3 <= before.3, "{ty}");
            assert_eq!(
                super::noise(&weights, 7),
                Some(noise),
                "the same every time"
            );
        }
    }

    #[test]
    fn shapes_masks_and_scalars_stay() {
        let shape = Tensor::vector(&[1i64; 100]);
        let few = Tensor::vector(&[1.5f32; 15]);
        let mask = Tensor::vector(&[f32::NEG_INFINITY; 100]);
        let flags = Tensor::vector(&[true; 100]);
        for tensor in [shape, few, mask, flags] {
            assert_eq!(noise(&tensor, 0), None);
        }
    }
}
