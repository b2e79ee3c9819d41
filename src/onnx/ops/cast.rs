//! Cast: the elements in another type.
//!
//! <https://onnx.ai/onnx/operators/onnx__Cast.html>
//!
//! Numbers are converted as Convert does, but for these rules:
//!
//! | from | to | rule |
//! |---|---|---|
//! | float | boolean | NaN is true |
//! | number | f8e4m3, f8e5m2 | rounded once, ties to even; with `saturate`, what is too large becomes the largest number |
//! | number | f4e2m1 | NaN, of which the document does not speak, becomes -0 as in the tests of ONNX |
//! | number | f8e8m0 | rounded to a power of two as `round_mode` says; without `saturate`, what is out of range becomes NaN |
//! | string | number | plain or scientific notation, `INF` and `NaN` in any case; an integer cuts the fraction off |
//! | number | string | plain notation, as short as it can be read back; `INF`, `-INF`, `NaN` |
//!
//! A string that is no number is refused.

use serde::{Deserialize, Serialize};

use super::Inner;
use crate::kernel::scratch::{try_collect, try_collect_ok};
use crate::op::{Input, Io, Op, OpError, Output, Outputs, bail, ensure};
use crate::tensor::convert::{convert, convert_into};
use crate::tensor::{Class, ElementType, Tensor, Text, ValueRange};
use ElementType as E;

/// How a number becomes a power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::onnx) enum RoundMode {
    /// Away from zero.
    #[default]
    Up,
    /// Towards zero.
    Down,
    /// To the nearest, ties away from zero.
    Nearest,
}

/// The elements in another type.
#[derive(Debug, Serialize)]
pub(in crate::onnx) struct Cast {
    pub(in crate::onnx) to: ElementType,
    pub(in crate::onnx) saturate: bool,
    pub(in crate::onnx) round_mode: RoundMode,
    /// The conversion of the registry.
    #[serde(skip)]
    pub(in crate::onnx) inner: Inner,
}

impl Op for Cast {
    fn infer(&self, inputs: &[Input<'_>]) -> Result<Outputs, OpError> {
        let [input] = inputs else {
            bail!("expected 1 input, got {}", inputs.len());
        };
        let (from, to) = (input.element_type, self.to);
        let casts = |ty: ElementType| ty == ElementType::String || ty.class().is_some();
        ensure!(
            from == to || !from.is_static() || casts(from) && casts(to),
            "{from} cannot be cast to {to}"
        );
        Ok(Output::single(to, input.shape.clone().into_owned()))
    }

    fn eval(&self, io: Io<'_>) -> Result<(), OpError> {
        let ([input], [output]) = (io.inputs, &mut *io.outputs) else {
            bail!("expected 1 input, got {}", io.inputs.len());
        };
        let (from, to) = (input.element_type(), self.to);
        if from == to {
            return Ok(convert_into(input, output)?);
        }
        match (from, to) {
            (E::String, _) => self.parse(input, output),
            (_, E::String) => write(input, output.as_mut_strings()?),
            (_, E::Boolean) if from.is_float() => {
                let wide = convert(input, ElementType::F64)?;
                let numbers = wide.as_slice::<f64>()?;
                for (out, &x) in output.as_mut_slice::<bool>()?.iter_mut().zip(numbers) {
                    *out = x != 0.0;
                }
                Ok(())
            }
            (_, E::F4e2m1 | E::F8e4m3 | E::F8e5m2 | E::F8e8m0) => self.narrow(input, output),
            _ => self.inner.op.eval(io),
        }
    }

    fn infer_value(&self, inputs: &[Input<'_>], output: &Output) -> Option<Vec<ValueRange>> {
        let from = inputs.first()?.element_type;
        let plain = from.is_integer() || from == ElementType::Boolean;
        plain.then(|| self.inner.op.infer_value(inputs, output))?
    }

    fn keeps_numbers(&self) -> bool {
        true
    }
}

impl Cast {
    /// Writes numbers in a small float format.
    fn narrow(&self, input: &Tensor, output: &mut Tensor) -> Result<(), OpError> {
        let mut wide = convert(input, ElementType::F64)?;
        for x in wide.as_mut_slice::<f64>()? {
            *x = self.narrowed(*x);
        }
        // What is representable is converted exactly, and what is too large as it has to be.
        Ok(convert_into(&wide, output)?)
    }

    fn narrowed(&self, x: f64) -> f64 {
        let (rounded, most) = match self.to {
            ElementType::F8e4m3 => (round(x, -6, 3), 448.0),
            ElementType::F8e5m2 => (round(x, -14, 2), 57344.0),
            ElementType::F8e8m0 => return self.power_of_two(x),
            _ if x.is_nan() => return -0.0,
            _ => return x,
        };
        if self.saturate {
            // NaN stays NaN.
            rounded.clamp(-most, most)
        } else {
            rounded
        }
    }

    /// The power of two of f8e8m0 for a number, or NaN.
    fn power_of_two(&self, x: f64) -> f64 {
        let (least, most) = (2f64.powi(-127), 2f64.powi(127));
        if x.is_nan() {
            return x;
        }
        if !self.saturate && !(least..=most).contains(&x) {
            return f64::NAN;
        }
        let x = x.clamp(least, most);
        let down = f64::from_bits(x.to_bits() & f64::INFINITY.to_bits());
        let up = match self.round_mode {
            RoundMode::Up => x > down,
            RoundMode::Down => false,
            RoundMode::Nearest => x - down >= down / 2.0,
        };
        if up { down * 2.0 } else { down }
    }

    /// Reads strings as numbers.
    fn parse(&self, input: &Tensor, output: &mut Tensor) -> Result<(), OpError> {
        let texts = input.as_strings()?;
        let wrong = |i: usize| {
            let shown = crate::error::quoted(&texts[i].to_str());
            OpError::new(format!("element {i} is {shown}, which is no number"))
        };
        let numbers = texts.iter().enumerate();
        let wide = match self.to.class() {
            Some(Class::I64) if self.to.is_integer() => {
                let read = |(i, t)| integer(t).ok_or_else(|| wrong(i));
                let numbers: Vec<i64> = try_collect_ok(numbers.map(read))?;
                Tensor::new(input.shape().clone(), &numbers)?
            }
            Some(Class::U64) => {
                let read = |(i, t)| unsigned(t).ok_or_else(|| wrong(i));
                let numbers: Vec<u64> = try_collect_ok(numbers.map(read))?;
                Tensor::new(input.shape().clone(), &numbers)?
            }
            _ => {
                let read = |(i, t)| float(t).ok_or_else(|| wrong(i));
                let numbers: Vec<f64> = try_collect_ok(numbers.map(read))?;
                Tensor::new(input.shape().clone(), &numbers)?
            }
        };
        if wide.element_type() == self.to {
            *output = wide;
            return Ok(());
        }
        self.eval(Io {
            inputs: &[&wide],
            outputs: std::slice::from_mut(output),
        })
    }
}

/// The nearest number of a format with this least exponent and so many bits of mantissa, ties to
/// even, as if its exponent had no end.
fn round(x: f64, least: i32, bits: i32) -> f64 {
    if !x.is_finite() || x == 0.0 {
        return x;
    }
    let power = f64::from_bits(x.to_bits() & f64::INFINITY.to_bits());
    let unit = power.max(2f64.powi(least)) * 2f64.powi(-bits);
    (x / unit).round_ties_even() * unit
}

fn float(text: &Text) -> Option<f64> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

fn integer(text: &Text) -> Option<i64> {
    let plain = std::str::from_utf8(text).ok()?.trim();
    plain.parse().ok().or_else(|| {
        let number = float(text)?.trunc();
        // Rust's cast would saturate silently.
        (-9.2e18..9.2e18).contains(&number).then_some(number as i64)
    })
}

fn unsigned(text: &Text) -> Option<u64> {
    let plain = std::str::from_utf8(text).ok()?.trim();
    plain.parse().ok().or_else(|| {
        let number = float(text)?.trunc();
        (0.0..1.8e19).contains(&number).then_some(number as u64)
    })
}

fn write(input: &Tensor, texts: &mut [Text]) -> Result<(), OpError> {
    fn float(number: impl std::fmt::Display, nan: bool, infinite: bool) -> String {
        let text = number.to_string();
        match (nan, infinite) {
            (true, _) => "NaN".to_owned(),
            (_, true) => text.to_uppercase(),
            _ => text,
        }
    }
    let Some(class) = input.element_type().class() else {
        bail!("{} cannot be cast to string", input.element_type());
    };
    // A number's text is short: what there may be many of is the list.
    let all: Vec<String> = match class {
        Class::F32 => {
            let wide = convert(input, ElementType::F32)?;
            let numbers = wide.as_slice::<f32>()?.iter();
            try_collect(numbers.map(|x| float(x, x.is_nan(), x.is_infinite())))?
        }
        Class::F64 => {
            let numbers = input.as_slice::<f64>()?.iter();
            try_collect(numbers.map(|x| float(x, x.is_nan(), x.is_infinite())))?
        }
        Class::I64 => {
            let wide = convert(input, ElementType::I64)?;
            try_collect(wide.as_slice::<i64>()?.iter().map(i64::to_string))?
        }
        Class::U64 => {
            let numbers = input.as_slice::<u64>()?.iter();
            try_collect(numbers.map(u64::to_string))?
        }
    };
    for (out, text) in texts.iter_mut().zip(&all) {
        *out = Text::from(text.as_str());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::attrs::Attr;
    use crate::op::{LayerData, NoWeights};

    fn cast(to: ElementType, saturate: bool, round_mode: RoundMode) -> Cast {
        let resolved = crate::ops::resolve("Convert", "opset1").expect("a row");
        let attributes = [Attr::new("destination_type", to.name())];
        let layer = LayerData {
            attributes: &attributes,
            weights: &NoWeights,
        };
        let (op, _) = resolved.def.read(&layer).expect("a type");
        let inner = Inner {
            op,
            def: resolved.def,
            version: Some(resolved.version),
        };
        Cast {
            to,
            saturate,
            round_mode,
            inner,
        }
    }

    fn run(op: &Cast, input: &Tensor) -> Result<Tensor, String> {
        crate::ops::testing::run(op, std::slice::from_ref(input)).map_err(|e| e.message)
    }

    fn strings(texts: &[&str]) -> Tensor {
        let texts = texts.iter().map(|&t| Text::from(t)).collect::<Vec<_>>();
        Tensor::strings([texts.len()], texts).expect("as many")
    }

    #[test]
    fn from_strings() {
        let to = |ty| cast(ty, true, RoundMode::Up);
        let texts = strings(&["2.5", "1e-5", "1E8", "+INF", "inf", "-Inf", "nAn", "-7"]);
        let found = run(&to(ElementType::F32), &texts).expect("numbers");
        let found = found.as_slice::<f32>().expect("f32").to_vec();
        assert_eq!(found[..5], [2.5, 1e-5, 1e8, f32::INFINITY, f32::INFINITY]);
        assert_eq!(found[5], f32::NEG_INFINITY);
        assert!(found[6].is_nan());
        let texts = strings(&["100.5", "-3", "9223372036854775807"]);
        let found = run(&to(ElementType::I64), &texts).expect("numbers");
        assert_eq!(found.as_slice::<i64>().expect("i64"), [100, -3, i64::MAX]);
        let found = run(&to(ElementType::U64), &strings(&["18446744073709551615"]));
        assert_eq!(found, Ok(Tensor::vector(&[u64::MAX])));
        let found = run(&to(ElementType::Boolean), &strings(&["0", "1", "0.5"]));
        assert_eq!(found, Ok(Tensor::vector(&[false, true, true])));
        for ty in [ElementType::F16, ElementType::I8, ElementType::U64] {
            let error = run(&to(ty), &strings(&["1", "Hello World!"]));
            let expected = "element 1 is \"Hello World!\", which is no number";
            assert_eq!(error, Err(expected.to_owned()), "{ty}");
        }
    }

    #[test]
    fn to_strings() {
        let op = cast(ElementType::String, true, RoundMode::Up);
        let found = run(&op, &Tensor::vector(&[314.159_26f64, 1e20, -0.5, f64::NAN]));
        let expected = ["314.15926", "100000000000000000000", "-0.5", "NaN"];
        assert_eq!(found, Ok(strings(&expected)));
        let found = run(
            &op,
            &Tensor::vector(&[0.1f32, f32::INFINITY, f32::NEG_INFINITY]),
        );
        assert_eq!(found, Ok(strings(&["0.1", "INF", "-INF"])));
        let found = run(&op, &Tensor::vector(&[true, false]));
        assert_eq!(found, Ok(strings(&["1", "0"])));
        let found = run(&op, &Tensor::vector(&[u64::MAX]));
        assert_eq!(found, Ok(strings(&["18446744073709551615"])));
    }

    #[test]
    fn every_float_but_zero_is_true() {
        let op = cast(ElementType::Boolean, true, RoundMode::Up);
        let found = run(&op, &Tensor::vector(&[0.0f32, -0.0, f32::NAN, 1e-45, -2.0]));
        assert_eq!(found, Ok(Tensor::vector(&[false, false, true, true, true])));
    }

    fn back(op: &Cast, numbers: &[f32]) -> Vec<f32> {
        let narrow = run(op, &Tensor::vector(numbers)).expect("numbers");
        let wide = convert(&narrow, ElementType::F32).expect("numbers");
        wide.as_slice::<f32>().expect("f32").to_vec()
    }

    #[test]
    fn eight_bits() {
        let numbers = [1.0, 500.0, -500.0, f32::INFINITY, 448.0, 460.0, 1e9];
        let found = back(&cast(ElementType::F8e4m3, true, RoundMode::Up), &numbers);
        assert_eq!(found, [1.0, 448.0, -448.0, 448.0, 448.0, 448.0, 448.0]);
        let found = back(&cast(ElementType::F8e4m3, false, RoundMode::Up), &numbers);
        assert!(found[1].is_nan() && found[3].is_nan() && found[5] == 448.0);
        let found = back(&cast(ElementType::F8e5m2, true, RoundMode::Up), &numbers);
        assert_eq!(found[3..4], [57344.0]);
        let found = back(&cast(ElementType::F8e5m2, false, RoundMode::Up), &numbers);
        assert_eq!(found[3..4], [f32::INFINITY]);
        assert_eq!(found[6], f32::INFINITY);
        let nan = back(&cast(ElementType::F8e4m3, true, RoundMode::Up), &[f32::NAN]);
        assert!(nan[0].is_nan());
    }

    /// Every number halfway between two codes of a format, and its neighbours.
    #[test]
    fn ties() {
        for (ty, most) in [(ElementType::F8e4m3, 448.0), (ElementType::F8e5m2, 57344.0)] {
            let op = cast(ty, true, RoundMode::Up);
            let codes = crate::tensor::float::values(ty).expect("a format of eight bits");
            let numbers = codes[..128].iter().filter(|x| **x <= most);
            let numbers: Vec<f32> = numbers.copied().collect();
            for (code, pair) in numbers.windows(2).enumerate() {
                let middle = (pair[0] + pair[1]) / 2.0;
                let even = pair[code % 2];
                let found = back(&op, &[middle.next_down(), middle, middle.next_up()]);
                assert_eq!(found, [pair[0], even, pair[1]], "{ty} {middle}");
                assert_eq!(back(&op, &[-middle]), [-even]);
            }
        }
    }

    #[test]
    fn powers_of_two() {
        let numbers = [1.0, 1.25, 1.5, 3.0, f32::INFINITY, 0.0, 2f32.powi(-127)];
        let scale = |saturate, mode| back(&cast(ElementType::F8e8m0, saturate, mode), &numbers);
        let least = 2f32.powi(-127);
        let most = 2f32.powi(127);
        assert_eq!(
            scale(true, RoundMode::Up),
            [1.0, 2.0, 2.0, 4.0, most, least, least]
        );
        assert_eq!(
            scale(true, RoundMode::Down),
            [1.0, 1.0, 1.0, 2.0, most, least, least]
        );
        let nearest = scale(false, RoundMode::Nearest);
        assert_eq!(nearest[..4], [1.0, 1.0, 2.0, 4.0]);
        assert!(nearest[4].is_nan() && nearest[5].is_nan());
        assert_eq!(nearest[6], least);
    }
}
