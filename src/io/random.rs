//! Random tensors: the same bits from the same seed, on every machine and with any number of
//! threads.
//!
//! The generator is splitmix64 (Steele, Lea, Flood 2014): the state grows by
//! `0x9e3779b97f4a7c15`, and each number is the state mixed. The seed is the first state.

use std::fmt;

use super::number::{integer_range, write_floats, write_integers};
use super::{IoError, file};
use crate::Limits;
use crate::tensor::{ElementType, Shape, Tensor, Text, convert, float};

/// Elements made together; a multiple of 8, as packed types need.
const BLOCK: usize = 512;

/// What `random` was told: the seed, and bounds as they were written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Random {
    /// The seed, 0 if none was given.
    pub seed: u64,
    /// The smallest number.
    pub min: Option<String>,
    /// The largest integer, or the number that floats stay below.
    pub max: Option<String>,
}

/// The seed of the input at a position, from the one that is given for all: inputs of one shape are
/// not to be equal. That of the first is the given one; no seeds that people choose are so far apart.
pub(crate) fn input_seed(seed: u64, position: usize) -> u64 {
    seed.wrapping_add(1_000_003u64.wrapping_mul(position as u64))
}

impl fmt::Display for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "random:seed={}", self.seed)?;
        for (name, bound) in [("min", &self.min), ("max", &self.max)] {
            if let Some(bound) = bound {
                write!(f, ",{name}={bound}")?;
            }
        }
        Ok(())
    }
}

/// Splitmix64.
#[derive(Debug, Clone)]
pub(crate) struct Generator(u64);

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is at most 2^64.
    fn below(&mut self, bound: u128) -> i128 {
        ((u128::from(self.next()) * bound) >> 64).cast_signed()
    }

    /// A number in `[0, 1)` of so many bits.
    fn unit(&mut self, bits: usize) -> f64 {
        // At most 53 bits, so both steps are exact.
        #[allow(clippy::cast_precision_loss)]
        let x = (self.next() >> (64 - bits)) as f64;
        x / (1u64 << bits) as f64
    }
}

impl Random {
    /// A tensor of random elements: floats (and the parts of complex numbers) in `[0, 1)` or
    /// `[min, max)`, integers from `min` to `max`, by default `range` (or 0 to 9) as far as the type has it, booleans true or false,
    /// strings of a few letters.
    ///
    /// # Errors
    /// When the bounds are not numbers of the type, or the tensor is larger than the limit.
    pub fn fill(
        &self,
        element_type: ElementType,
        shape: &Shape,
        range: Option<(i64, i64)>,
        limits: &Limits,
    ) -> Result<Tensor, IoError> {
        file::elements(limits, element_type, shape)?;
        if let Some(part) = element_type.part() {
            let mut shape = shape.clone();
            shape.push(2);
            let parts = self.fill(part, &shape, range, limits)?;
            return Ok(Tensor::from_complex_parts(&parts)?);
        }
        let mut tensor = Tensor::zeros(element_type, shape.clone())?;
        let mut generator = Generator::new(self.seed);
        match element_type {
            ElementType::Boolean => {
                self.refuse_bounds(element_type)?;
                let out = tensor.as_mut_slice::<bool>()?;
                out.fill_with(|| generator.next() >> 63 == 1);
            }
            ElementType::String => {
                self.refuse_bounds(element_type)?;
                tensor.as_mut_strings()?.fill_with(|| word(&mut generator));
            }
            ty if ty.is_integer() => self.integers(&mut tensor, range, &mut generator)?,
            ty => match float::values(ty) {
                Some(_) => self.small_floats(&mut tensor, &mut generator)?,
                None => self.floats(&mut tensor, &mut generator)?,
            },
        }
        Ok(tensor)
    }

    fn refuse_bounds(&self, ty: ElementType) -> Result<(), IoError> {
        match self.min.as_ref().or(self.max.as_ref()) {
            None => Ok(()),
            Some(_) => Err(IoError::invalid(format!(
                "random {ty} elements have no `min` and `max`"
            ))),
        }
    }

    fn integers(
        &self,
        tensor: &mut Tensor,
        range: Option<(i64, i64)>,
        generator: &mut Generator,
    ) -> Result<(), IoError> {
        let ty = tensor.element_type();
        let bound = |name: &str, text: &Option<String>| {
            text.as_ref()
                .map(|text| {
                    text.parse::<i128>()
                        .map_err(|_| IoError::invalid(format!("`{name}={text}` is not an integer")))
                })
                .transpose()
        };
        let (min, max) = (bound("min", &self.min)?, bound("max", &self.max)?);
        let (lowest, highest) = integer_range(ty).unwrap_or((0, 0));
        for (name, value) in [("min", min), ("max", max)] {
            if let Some(value) = value.filter(|v| !(lowest..=highest).contains(v)) {
                return Err(IoError::invalid(format!(
                    "`{name}={value}` is out of range for {ty}, expected {lowest} to {highest}"
                )));
            }
        }
        let (low, high) = range.map_or((0, 9), |(a, b)| (i128::from(a), i128::from(b)));
        // One bound given moves the other, if it must.
        let low = min.unwrap_or_else(|| low.max(lowest).min(max.unwrap_or(i128::MAX)));
        let high = max.unwrap_or_else(|| high.min(highest).max(min.unwrap_or(i128::MIN)));
        if low > high {
            return Err(IoError::invalid(format!(
                "no {ty} is in the range {low} to {high}"
            )));
        }
        let span = (high - low).cast_unsigned() + 1;
        let mut block = [0i128; BLOCK];
        for start in (0..tensor.len()).step_by(BLOCK) {
            let block = &mut block[..BLOCK.min(tensor.len() - start)];
            block.fill_with(|| low + generator.below(span));
            write_integers(block, tensor, start);
        }
        Ok(())
    }

    /// The bounds of floats; `None` if none is given.
    fn bounds(&self) -> Result<Option<(f64, f64)>, IoError> {
        let bound = |name: &str, text: &Option<String>, default: f64| match text {
            None => Ok(default),
            Some(text) => match text.parse::<f64>() {
                Ok(value) if value.is_finite() => Ok(value),
                _ => Err(IoError::invalid(format!("`{name}={text}` is not a number"))),
            },
        };
        if self.min.is_none() && self.max.is_none() {
            return Ok(None);
        }
        let (min, max) = (bound("min", &self.min, 0.0)?, bound("max", &self.max, 1.0)?);
        if min > max || !(max - min).is_finite() {
            return Err(IoError::invalid(format!(
                "no number is in the range {min} to {max}"
            )));
        }
        Ok(Some((min, max)))
    }

    /// Without bounds, numbers with as many bits as the type has, so that none is rounded to 1.
    fn floats(&self, tensor: &mut Tensor, generator: &mut Generator) -> Result<(), IoError> {
        let bits = match tensor.element_type() {
            ElementType::Bf16 => 8,
            ElementType::F16 => 11,
            ElementType::F32 => 24,
            _ => 53,
        };
        let bounds = self.bounds()?;
        let mut block = [0f64; BLOCK];
        for start in (0..tensor.len()).step_by(BLOCK) {
            let block = &mut block[..BLOCK.min(tensor.len() - start)];
            match bounds {
                None => block.fill_with(|| generator.unit(bits)),
                Some((min, max)) => {
                    block.fill_with(|| min + (max - min) * generator.unit(53));
                }
            }
            write_floats(block, tensor, start);
            let Some((min, max)) = bounds else { continue };
            // Rounded up to the bound: an unlikely number for a likely one.
            let mut rounded = [0f64; BLOCK];
            let rounded = &mut rounded[..block.len()];
            convert::widen(tensor, start, rounded);
            if rounded.iter().any(|&x| x >= max || x.is_infinite()) {
                for (x, &y) in block.iter_mut().zip(&*rounded) {
                    *x = if y >= max || y.is_infinite() { min } else { *x };
                }
                write_floats(block, tensor, start);
            }
        }
        Ok(())
    }

    /// The formats with few values: a number in the range, and the next value below it that the
    /// format has there.
    fn small_floats(&self, tensor: &mut Tensor, generator: &mut Generator) -> Result<(), IoError> {
        let ty = tensor.element_type();
        let (min, max) = match self.bounds()? {
            Some(bounds) => bounds,
            // Without a zero the range reaches far down; scales that small are of no use.
            None if ty == ElementType::F8e8m0 => (1.0 / 256.0, 1.0),
            None => (0.0, 1.0),
        };
        let mut values: Vec<f64> = float::values(ty)
            .into_iter()
            .flatten()
            .map(|&x| f64::from(x))
            .filter(|&x| x >= min && (x < max || x == min) && (x != 0.0 || x.is_sign_positive()))
            .collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let Some(&first) = values.first() else {
            return Err(IoError::invalid(format!(
                "no {ty} is in the range {min} to {max}"
            )));
        };
        let mut block = [0f64; BLOCK];
        for start in (0..tensor.len()).step_by(BLOCK) {
            let block = &mut block[..BLOCK.min(tensor.len() - start)];
            block.fill_with(|| {
                let x = min + (max - min) * generator.unit(53);
                let above = values.partition_point(|&v| v <= x);
                above.checked_sub(1).map_or(first, |i| values[i])
            });
            write_floats(block, tensor, start);
        }
        Ok(())
    }
}

/// Three to eight letters.
fn word(generator: &mut Generator) -> Text {
    let mut bits = generator.next();
    let mut letters = [0u8; 8];
    let len = 3 + (bits % 6) as usize;
    for letter in &mut letters[..len] {
        bits /= 26;
        *letter = b'a' + (bits % 26) as u8;
    }
    Text::from(&letters[..len])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(
        text: (&str, &str),
        ty: ElementType,
        range: Option<(i64, i64)>,
    ) -> Result<Tensor, IoError> {
        let bound = |t: &str| (!t.is_empty()).then(|| t.to_owned());
        let random = Random {
            seed: 7,
            min: bound(text.0),
            max: bound(text.1),
        };
        random.fill(ty, &Shape::from([40, 50]), range, &Limits::default())
    }

    fn values(tensor: &Tensor) -> Vec<f64> {
        let mut out = vec![0.0; tensor.len()];
        convert::widen(tensor, 0, &mut out);
        out
    }

    #[test]
    fn the_generator_is_splitmix64() {
        let mut generator = Generator::new(1_234_567);
        let numbers: Vec<u64> = (0..3).map(|_| generator.next()).collect();
        assert_eq!(
            numbers,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn floats_are_in_their_range() {
        for ty in ElementType::ALL {
            if !ty.is_float() {
                continue;
            }
            let x = values(&random(("", ""), ty, None).expect("defaults"));
            assert!(x.iter().all(|x| (0.0..1.0).contains(x)), "{ty}");
            assert!(x.iter().any(|&v| v != x[0]), "{ty}");
            let x = values(&random(("0.5", "1"), ty, None).expect("bounds"));
            assert!(x.iter().all(|x| (0.5..1.0).contains(x)), "{ty}");
        }
        assert!(random(("2", "1"), ElementType::F32, None).is_err());
        assert!(random(("nan", "1"), ElementType::F32, None).is_err());
        assert!(random(("-1e308", "1e308"), ElementType::F64, None).is_err());
        assert!(random(("7", "8"), ElementType::F4e2m1, None).is_err());
    }

    #[test]
    fn integers_are_in_their_range() {
        for ty in ElementType::ALL {
            if !ty.is_integer() {
                continue;
            }
            let (low, high) = integer_range(ty).expect("an integer");
            let x = values(&random(("", ""), ty, None).expect("defaults"));
            let top = high.min(9) as f64;
            assert_eq!(x.iter().copied().fold(0.0, f64::max), top, "{ty}");
            assert_eq!(x.iter().copied().fold(9.0, f64::min), 0.0, "{ty}");
            let (low, high) = (low.to_string(), high.to_string());
            assert!(random((&low, &high), ty, None).is_ok(), "{ty}");
        }
        let x = values(&random(("", ""), ElementType::I32, Some((-2, 2))).expect("a range"));
        assert!(x.iter().all(|x| (-2.0..=2.0).contains(x)));
        let x = values(&random(("20", ""), ElementType::I32, None).expect("a bound"));
        assert!(x.iter().all(|&x| x == 20.0));
        assert!(random(("", "256"), ElementType::U8, None).is_err());
        assert!(random(("0.5", ""), ElementType::U8, None).is_err());
        assert!(random(("", ""), ElementType::U8, Some((-5, -1))).is_err());
    }

    #[test]
    fn the_same_seed_gives_the_same_tensor() {
        for ty in ElementType::ALL {
            let a = random(("", ""), ty, None).expect("defaults");
            assert_eq!(a, random(("", ""), ty, None).expect("defaults"), "{ty}");
        }
        let tensor = random(("", ""), ElementType::String, None).expect("strings");
        assert!(
            tensor
                .as_strings()
                .expect("strings")
                .iter()
                .all(|t| t.len() >= 3)
        );
        let tight = Limits {
            tensor_bytes: 100,
            ..Limits::default()
        };
        let shape = Shape::from([usize::MAX / 8]);
        assert!(
            Random::default()
                .fill(ElementType::F32, &shape, None, &tight)
                .is_err()
        );
    }
}
