//! Conversion, exhaustively where a type has few patterns.

use proptest::prelude::*;

use super::*;
use crate::tensor::Class;

fn numeric() -> impl Iterator<Item = ElementType> {
    ElementType::ALL
        .into_iter()
        .filter(|ty| ty.class().is_some())
}

/// A tensor of every bit pattern of a type of up to 16 bits.
fn every_pattern(ty: ElementType) -> Tensor {
    let count = if ty == E::Boolean {
        2
    } else {
        1usize << ty.bits()
    };
    let byte = |code: usize| u8::try_from(code & 0xff).expect("a byte");
    if ty.is_packed() {
        let codes: Vec<u8> = (0..count).map(byte).collect();
        return from_codes(ty, [count], &codes).expect("one element a code");
    }
    let mut tensor = Tensor::zeros(ty, [count]).expect("small");
    let bytes = tensor.bytes_mut();
    for (code, element) in bytes.chunks_exact_mut(ty.bits() / 8).enumerate() {
        let code = [byte(code), byte(code >> 8)];
        element.copy_from_slice(&code[..element.len()]);
    }
    tensor
}

fn there_and_back<C: Compute>(tensor: &Tensor) -> Tensor {
    let mut wide = vec![C::default(); tensor.len()];
    widen(tensor, 0, &mut wide);
    let mut back = Tensor::zeros(tensor.element_type(), tensor.shape().clone()).expect("small");
    narrow(&wide, &mut back, 0);
    back
}

#[test]
#[cfg_attr(miri, ignore = "all numbers of 16 bits")]
fn every_pattern_survives_widening() {
    for ty in numeric().filter(|ty| ty.bits() <= 16) {
        let tensor = every_pattern(ty);
        if !ty.is_float() {
            assert_eq!(there_and_back::<i64>(&tensor), tensor, "{ty}");
            assert_eq!(there_and_back::<u64>(&tensor), tensor, "{ty}");
            for wide in [E::I64, E::U64, E::F32, E::F64] {
                let there = convert(&tensor, wide).expect("numbers");
                assert_eq!(convert(&there, ty).expect("numbers"), tensor, "{ty} {wide}");
            }
            continue;
        }
        let back = there_and_back::<f32>(&tensor);
        let values = |t: &Tensor| {
            let mut out = vec![0f64; t.len()];
            widen(t, 0, &mut out);
            out
        };
        for (i, (a, b)) in values(&tensor).into_iter().zip(values(&back)).enumerate() {
            let same = a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
            assert!(same, "{ty} {i:#x}: {a} became {b}");
        }
    }
}

#[test]
fn a_part_widens_and_narrows_like_the_whole() {
    for ty in numeric().filter(|ty| ty.bits() <= 8 && ty.class() == Some(Class::I64)) {
        let numbers: Vec<i64> = (0..1300).map(|i| i * 37 - 700).collect();
        let mut whole = Tensor::zeros(ty, [numbers.len()]).expect("small");
        narrow(&numbers, &mut whole, 0);
        let mut parts = Tensor::zeros(ty, [numbers.len()]).expect("small");
        for (i, part) in numbers.chunks(264).enumerate() {
            narrow(part, &mut parts, i * 264);
        }
        assert_eq!(parts, whole, "{ty}");
        let mut all = vec![0i64; numbers.len()];
        widen(&whole, 0, &mut all);
        for start in [1, 7, 8, 511, 513] {
            let mut some = vec![0i64; 700];
            widen(&whole, start, &mut some);
            assert_eq!(some, all[start..start + 700], "{ty}");
        }
    }
}

fn f32s(values: &[f32], ty: ElementType) -> Tensor {
    convert(&Tensor::vector(values), ty).expect("numbers")
}

#[test]
fn floats_truncate_and_wrap() {
    let values = [
        1.9,
        -1.9,
        300.0,
        -300.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        3e9,
    ];
    assert_eq!(
        f32s(&values, E::I8).as_slice::<i8>().expect("i8"),
        [1, -1, 44, -44, 0, 0, 0, 0]
    );
    assert_eq!(
        f32s(&values, E::U8).as_slice::<u8>().expect("u8"),
        [1, 255, 44, 212, 0, 0, 0, 0]
    );
    assert_eq!(codes(&f32s(&values, E::I4)), [1, 15, 12, 4, 0, 0, 0, 0]);
    assert_eq!(codes(&f32s(&values, E::U6)), [1, 63, 44, 20, 0, 0, 0, 0]);
    assert_eq!(codes(&f32s(&values, E::U1)), [1, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(
        f32s(&values, E::I32).as_slice::<i32>().expect("i32"),
        [1, -1, 300, -300, i32::MIN, i32::MIN, i32::MIN, i32::MIN]
    );
    assert_eq!(
        f32s(&[0.0, -0.0, 0.2, f32::NAN], E::Boolean)
            .as_slice::<bool>()
            .expect("boolean"),
        [false, false, true, true]
    );
}

#[test]
fn integers_wrap() {
    let numbers = Tensor::vector(&[-1i64, 300, i64::MIN, 128, 256]);
    let to = |ty| convert(&numbers, ty).expect("numbers");
    assert_eq!(
        to(E::U8).as_slice::<u8>().expect("u8"),
        [255, 44, 0, 128, 0]
    );
    assert_eq!(
        to(E::I8).as_slice::<i8>().expect("i8"),
        [-1, 44, 0, -128, 0]
    );
    assert_eq!(
        to(E::U64).as_slice::<u64>().expect("u64"),
        [u64::MAX, 300, 1 << 63, 128, 256]
    );
    assert_eq!(
        to(E::Boolean).as_slice::<bool>().expect("boolean"),
        [true; 5]
    );
    assert_eq!(codes(&to(E::U4)), [15, 12, 0, 0, 0]);
    let mut i4 = codes(&to(E::I4));
    sign_extend_i4(&mut i4);
    assert_eq!(i4, [0xff, 0xfc, 0, 0, 0]);
    let large = Tensor::vector(&[u64::MAX, 5]);
    assert_eq!(to_i64(&large), [i64::MAX, 5]);
    assert_eq!(
        convert(&large, E::F32)
            .expect("numbers")
            .as_slice::<f32>()
            .expect("f32"),
        [18_446_744_073_709_551_615.0, 5.0]
    );
}

#[test]
fn strings_stay_strings() {
    let text = Tensor::strings([1], vec!["a".into()]).expect("one string");
    assert_eq!(convert(&text, E::String).expect("the same"), text);
    assert!(convert(&text, E::F32).is_err());
    assert!(convert(&Tensor::scalar(1f32), E::String).is_err());
    assert!(convert(&Tensor::scalar(1f32), E::Dynamic).is_err());
}

#[test]
fn codes_must_fit_the_shape() {
    assert!(from_codes(E::U4, [3], &[1, 2]).is_err());
    assert!(from_codes(E::U8, [2], &[1, 2]).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Long tensors are converted in parts; each element is converted as if it were alone.
    #[test]
    #[cfg_attr(miri, ignore = "a hundred thousand elements")]
    fn parts_agree(seed in any::<u32>(), extra in 0usize..600) {
        let numbers: Vec<i32> = (0..PART + extra)
            .map(|i| u32::try_from(i).expect("small").wrapping_mul(seed | 1).cast_signed() >> 16)
            .collect();
        let tensor = Tensor::vector(&numbers);
        for ty in [E::U3, E::F16, E::U8, E::I64] {
            let whole = convert(&tensor, ty).expect("numbers");
            let back = convert(&whole, E::F64).expect("numbers");
            let back = back.as_slice::<f64>().expect("f64");
            for i in [0, 511, 512, PART - 1, PART, PART + extra - 1] {
                let Some(&number) = numbers.get(i) else { continue };
                let alone = convert(&Tensor::scalar(number), ty).expect("a number");
                let alone = convert(&alone, E::F64).expect("a number");
                prop_assert_eq!(back[i], alone.as_slice::<f64>().expect("f64")[0]);
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "a hundred thousand elements")]
fn ends_when_cancelled() {
    use crate::limits::{CancelToken, Limits, under};
    let token = CancelToken::new();
    let limits = Limits {
        cancel: Some(token.clone()),
        ..Limits::default()
    };
    let ones = Tensor::new([3 * PART], &vec![1f32; 3 * PART]).expect("its length");
    let sum = || {
        let converted = under(&limits, || convert(&ones, E::I32)).expect("numbers");
        converted
            .as_slice::<i32>()
            .expect("i32")
            .iter()
            .sum::<i32>()
    };
    assert_eq!(usize::try_from(sum()), Ok(3 * PART));
    token.cancel();
    assert_eq!(sum(), 0);
}
