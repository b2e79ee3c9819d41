//! The float formats of one byte or less: codes to `f32` and back.
//!
//! Decoding is exact. Encoding rounds to the nearest value, ties to the even code, and treats what
//! is out of range as OpenVINO does:
//!
//! | format | too large | infinity | NaN |
//! |---|---|---|---|
//! | f8e4m3 | NaN | NaN | NaN |
//! | f8e5m2 | infinity, from 61440 | infinity | NaN |
//! | f8e8m0 | 2^127 | 2^127 | NaN |
//! | f4e2m1 | ±6 | ±6 | ±6, by its sign |
//! | nf4 | ±1 | ±1 | -1 |
//!
//! f8e5m2 is the upper half of an f16 and is rounded from one, so an `f32` is rounded twice.
//! f8e8m0 has no sign and no zero: whatever is below its smallest value, 2^-127, becomes that.
//! The values of nf4 are not evenly spaced; a tie goes to the lower one.

use half::f16;

use super::ElementType;

/// The values of all codes of a float format of one byte or less; `None` for other types.
///
/// The formats of four bits ignore the high bits of the index.
pub(crate) fn values(ty: ElementType) -> Option<&'static [f32; 256]> {
    match ty {
        ElementType::F8e4m3 => Some(&F8E4M3),
        ElementType::F8e5m2 => Some(&F8E5M2),
        ElementType::F8e8m0 => Some(&F8E8M0),
        ElementType::F4e2m1 => Some(&F4E2M1),
        ElementType::Nf4 => Some(&NF4),
        _ => None,
    }
}

static F8E4M3: [f32; 256] = {
    let mut values = ieee(4, 3);
    values[0x7f] = f32::NAN;
    values[0xff] = f32::NAN;
    values
};

static F8E5M2: [f32; 256] = {
    let mut values = ieee(5, 2);
    values[0x7c] = f32::INFINITY;
    values[0xfc] = f32::NEG_INFINITY;
    let mut mantissa = 1;
    while mantissa < 4 {
        values[0x7c + mantissa] = f32::NAN;
        values[0xfc + mantissa] = f32::NAN;
        mantissa += 1;
    }
    values
};

static F8E8M0: [f32; 256] = {
    let mut values = [f32::NAN; 256];
    values[0] = f32::MIN_POSITIVE / 2.0;
    let mut exponent = 1;
    while exponent < 255 {
        values[exponent] = f32::from_bits((exponent as u32) << 23);
        exponent += 1;
    }
    values
};

static F4E2M1: [f32; 256] = ieee(2, 1);

static NF4: [f32; 256] = {
    let mut values = [0.0; 256];
    let mut code = 0;
    while code < 256 {
        values[code] = NF4_VALUES[code & 15];
        code += 1;
    }
    values
};

/// The quantiles of a normal distribution, scaled to -1..1, with an exact zero.
#[allow(clippy::excessive_precision, clippy::unreadable_literal)]
const NF4_VALUES: [f32; 16] = [
    -1.0,
    -0.6961928009986877,
    -0.5250730514526367,
    -0.39491748809814453,
    -0.28444138169288635,
    -0.18477343022823334,
    -0.09105003625154495,
    0.0,
    0.07958029955625534,
    0.16093020141124725,
    0.24611230194568634,
    0.33791524171829224,
    0.44070982933044434,
    0.5626170039176941,
    0.7229568362236023,
    1.0,
];

/// Halfway between each value of nf4 and the next.
const NF4_BOUNDS: [f64; 15] = {
    let mut bounds = [0.0; 15];
    let mut i = 0;
    while i < 15 {
        bounds[i] = (NF4_VALUES[i] as f64 + NF4_VALUES[i + 1] as f64) / 2.0;
        i += 1;
    }
    bounds
};

/// Sign, exponent and mantissa as IEEE 754 has them, without its reserved exponent.
const fn ieee(exponent_bits: u32, mantissa_bits: u32) -> [f32; 256] {
    let bias = (1 << (exponent_bits - 1)) - 1;
    let mut values = [0.0; 256];
    let mut code = 0;
    while code < 256 {
        let mantissa = code & ((1 << mantissa_bits) - 1);
        let exponent = (code >> mantissa_bits) & ((1 << exponent_bits) - 1);
        let (significand, exponent) = match exponent {
            0 => (mantissa, 1),
            _ => (mantissa + (1 << mantissa_bits), exponent),
        };
        // Even the lowest subnormal bit is a normal number in f32.
        let unit = f32::from_bits((exponent + 127 - bias - mantissa_bits) << 23);
        let size = significand as f32 * unit;
        let negative = (code >> (exponent_bits + mantissa_bits)) & 1 == 1;
        values[code as usize] = if negative { -size } else { size };
        code += 1;
    }
    values
}

/// The code of f8e4m3 for a value.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // codes fit by construction
pub(crate) fn to_f8e4m3(x: f32) -> u8 {
    let bits = x.to_bits();
    let size = bits & 0x7fff_ffff;
    let code = if size < 0x3c80_0000 {
        // Below 2^-6: adding 2^14 leaves multiples of 2^-9 in the mantissa.
        (f32::from_bits(size) + 16384.0).to_bits() - 16384.0f32.to_bits()
    } else {
        let rounded = size + 0x7_ffff + (size >> 20 & 1);
        ((rounded >> 20) - (120 << 3)).min(0x7f)
    };
    (bits >> 24 & 0x80) as u8 | code as u8
}

/// The code of f8e5m2 for a value.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)]
pub(crate) fn to_f8e5m2(x: f32) -> u8 {
    let bits = f16::from_f32(x).to_bits();
    let size = bits & 0x7fff;
    let code = if size > 0x7c00 {
        0x7e
    } else {
        (size + 0x7f + (size >> 8 & 1)) >> 8
    };
    (bits >> 8 & 0x80) as u8 | code as u8
}

/// The code of f8e8m0 for a value.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)]
pub(crate) fn to_f8e8m0(x: f32) -> u8 {
    let bits = x.to_bits();
    if x.is_nan() {
        return 0xff;
    }
    if bits >> 31 == 1 {
        return 0;
    }
    if bits < 0x0080_0000 {
        // Subnormal: 2^-127 or 2^-126, with the tie at three times 2^-128.
        return u8::from(bits > 0x0060_0000);
    }
    let exponent = bits >> 23;
    // A tie, a mantissa of one half, goes to the even exponent.
    let up = bits & 0x007f_ffff > 0x0040_0000 - (exponent & 1);
    (exponent + u32::from(up)).min(0xfe) as u8
}

/// The code of f4e2m1 for a value.
#[inline(always)]
pub(crate) fn to_f4e2m1(x: f32) -> u8 {
    let size = x.abs();
    // In pairs: a tie goes down at 0.25, 1.25, 2.5 and 5, and up at 0.75, 1.75 and 3.5.
    let code = u8::from(size > 0.25)
        + u8::from(size >= 0.75)
        + u8::from(size > 1.25)
        + u8::from(size >= 1.75)
        + u8::from(size > 2.5)
        + u8::from(size >= 3.5)
        + u8::from(size > 5.0);
    let code = if x.is_nan() { 7 } else { code };
    u8::from(x.is_sign_negative()) << 3 | code
}

/// The code of nf4 for a value.
#[inline(always)]
pub(crate) fn to_nf4(x: f32) -> u8 {
    let x = f64::from(x);
    NF4_BOUNDS.iter().map(|&bound| u8::from(x > bound)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Encode = fn(f32) -> u8;

    const FORMATS: [(ElementType, u16, Encode); 5] = [
        (ElementType::F8e4m3, 256, to_f8e4m3),
        (ElementType::F8e5m2, 256, to_f8e5m2),
        (ElementType::F8e8m0, 256, to_f8e8m0),
        (ElementType::F4e2m1, 16, to_f4e2m1),
        (ElementType::Nf4, 16, to_nf4),
    ];

    #[test]
    #[cfg_attr(miri, ignore = "all codes of all types")]
    fn every_code_survives_decoding() {
        for (ty, codes, encode) in FORMATS {
            let values = values(ty).expect("a small float");
            for code in 0..codes {
                let code = u8::try_from(code).expect("a byte");
                let value = values[usize::from(code)];
                if value.is_nan() {
                    assert!(
                        values[usize::from(encode(value))].is_nan(),
                        "{ty} {code:#x}"
                    );
                } else {
                    assert_eq!(encode(value), code, "{ty} {value}");
                }
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "all codes of all types")]
    fn halfway_goes_to_the_even_code_and_the_rest_to_the_nearest() {
        for (ty, codes, encode) in FORMATS {
            let values = values(ty).expect("a small float");
            let ordered = if ty == ElementType::Nf4 || ty == ElementType::F8e8m0 {
                codes
            } else {
                codes / 2
            };
            for code in 0..u8::try_from(ordered - 1).expect("a byte") {
                let next = code + 1;
                let (low, high) = (values[usize::from(code)], values[usize::from(next)]);
                if !low.is_finite() || !high.is_finite() {
                    continue;
                }
                let middle = low + (high - low) / 2.0;
                if ty != ElementType::Nf4 {
                    let even = code + code % 2;
                    assert_eq!(encode(middle), even, "{ty} between {low} and {high}");
                }
                // f16 has eight bits more than f8e5m2, enough to tell these from the middle.
                let near = (high - low) / 64.0;
                assert_eq!(encode(middle - near), code, "{ty} below {middle}");
                assert_eq!(encode(middle + near), next, "{ty} above {middle}");
                if ordered < codes {
                    let sign = u8::try_from(ordered).expect("the sign bit");
                    assert_eq!(encode(near - middle), code | sign, "{ty} above -{middle}");
                }
            }
        }
    }

    #[test]
    fn out_of_range() {
        let codes = |encode: Encode, values: &[f32]| -> Vec<u8> {
            values.iter().map(|&x| encode(x)).collect()
        };
        let inf = f32::INFINITY;
        assert_eq!(
            codes(
                to_f8e4m3,
                &[464.0, 464.1, -1e30, inf, -inf, f32::NAN, 1e-30, -0.0]
            ),
            [0x7e, 0x7f, 0xff, 0x7f, 0xff, 0x7f, 0, 0x80]
        );
        assert_eq!(
            codes(
                to_f8e5m2,
                &[
                    57344.0,
                    61400.0,
                    61440.0,
                    -1e30,
                    inf,
                    -inf,
                    f32::NAN,
                    1e-30,
                    -0.0
                ]
            ),
            [0x7b, 0x7b, 0x7c, 0xfc, 0x7c, 0xfc, 0x7e, 0, 0x80]
        );
        assert_eq!(
            codes(
                to_f8e8m0,
                &[
                    3.4e38,
                    inf,
                    -inf,
                    -1.0,
                    0.0,
                    -0.0,
                    f32::NAN,
                    -f32::NAN,
                    1e-45
                ]
            ),
            [0xfe, 0xfe, 0, 0, 0, 0, 0xff, 0xff, 0]
        );
        assert_eq!(
            codes(to_f4e2m1, &[7.0, inf, -inf, f32::NAN, -f32::NAN, -0.1]),
            [7, 7, 15, 7, 15, 8]
        );
        assert_eq!(
            codes(to_nf4, &[2.0, inf, -inf, f32::NAN, -0.0]),
            [15, 15, 0, 0, 7]
        );
    }

    #[test]
    fn known_values() {
        let value = |ty, code: usize| values(ty).expect("a small float")[code];
        assert_eq!(value(ElementType::F8e4m3, 0x7e), 448.0);
        assert_eq!(value(ElementType::F8e4m3, 0x81), -0.001_953_125);
        assert_eq!(value(ElementType::F8e5m2, 0x7b), 57344.0);
        assert_eq!(value(ElementType::F8e5m2, 0x01), 1.0 / 65536.0);
        assert_eq!(value(ElementType::F8e8m0, 0x00), f32::MIN_POSITIVE / 2.0);
        assert_eq!(value(ElementType::F8e8m0, 0x7f), 1.0);
        let f4: Vec<f32> = (0..8).map(|c| value(ElementType::F4e2m1, c)).collect();
        assert_eq!(f4, [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]);
        assert_eq!(value(ElementType::F4e2m1, 9), -0.5);
        for code in 0..=255u8 {
            let e5m2 = value(ElementType::F8e5m2, code.into());
            let half = f16::from_bits(u16::from(code) << 8).to_f32();
            assert!(e5m2 == half || e5m2.is_nan() && half.is_nan(), "{code:#x}");
        }
    }
}
