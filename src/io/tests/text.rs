//! Printed tensors, and reading them back.

use super::*;
use crate::Limits;
use crate::io::{Random, Value, Wanted};
use crate::tensor::{Element, PartialShape};
use half::{bf16, f16};
use proptest::prelude::*;

fn show(tensor: &Tensor) -> String {
    format(tensor, &Options::default())
}

fn vector<T: Element>(values: &[T]) -> String {
    show(&Tensor::vector(values))
}

fn counting(shape: &[usize]) -> Tensor {
    let count = shape.iter().product::<usize>();
    let values: Vec<i32> = (0..).take(count).collect();
    Tensor::new(shape, &values).expect("as many")
}

#[test]
fn brackets() {
    assert_eq!(vector(&[1i64, 1, 5]), "[1, 1, 5]");
    assert_eq!(vector(&[1f32, 1.0, 5.0]), "[1, 1, 5]");
    assert_eq!(show(&counting(&[2, 2])), "[[0, 1],\n [2, 3]]");
    assert_eq!(
        show(&counting(&[2, 2, 2])),
        "[[[0, 1],\n  [2, 3]],\n\n [[4, 5],\n  [6, 7]]]"
    );
    assert_eq!(show(&Tensor::scalar(-5i8)), "-5");
    assert_eq!(show(&Tensor::scalar(2.5f64)), "2.5");
    assert_eq!(show(&counting(&[3, 0, 2])), "[]");
    assert_eq!(vector(&[10i32, -1, 200]), "[ 10,  -1, 200]");
    assert_eq!(vector(&[true, false]), "[ true, false]");
    assert_eq!(vector(&[true, true]), "[true, true]");
    assert_eq!(vector(&[u64::MAX]), "[18446744073709551615]");
}

#[test]
fn floats() {
    assert_eq!(vector(&[1f32, 2.5, 0.25]), "[1   , 2.5 , 0.25]");
    assert_eq!(vector(&[0.1f32, -10.0]), "[  0.1, -10  ]");
    assert_eq!(vector(&[1f32 / 3.0]), "[0.33333334]");
    assert_eq!(vector(&[1f64 / 3.0, 2.0]), "[0.33333333, 2         ]");
    assert_eq!(
        vector(&[f32::NAN, 1.5, f32::NEG_INFINITY]),
        "[ nan,  1.5, -inf]"
    );
    assert_eq!(vector(&[f32::NAN, f32::INFINITY]), "[nan, inf]");
    assert_eq!(vector(&[-0f32, 0.0]), "[-0,  0]");
    assert_eq!(vector(&[1e-9f32, 1.0]), "[1.e-09, 1.e+00]".replace('.', ""));
    assert_eq!(vector(&[1.5e20f32, 0.0]), "[1.5e+20, 0.0e+00]");
    assert_eq!(vector(&[1e300f64, 1.25]), "[1.00e+300,  1.25e+00]");
    assert_eq!(vector(&[123_456_789f32]), "[123456790]");
    assert_eq!(vector(&[f16::from_f32(0.1)]), "[0.1]");
    assert_eq!(vector(&[bf16::from_f32(3.16)]), "[3.16]");
    assert_eq!(vector(&[f16::MAX]), "[65500]");
    let exact = Options::exact();
    assert_eq!(
        format(&Tensor::scalar(0.1f64 + 0.2), &exact),
        "0.30000000000000004"
    );
    assert_eq!(format(&Tensor::scalar(1e-300f64), &exact), "1e-300");
}

#[test]
fn abbreviated() {
    assert_eq!(
        show(&counting(&[1001])),
        "[   0,    1,    2, ...,  998,  999, 1000]"
    );
    assert!(!show(&counting(&[1000])).contains("..."));
    let text = show(&counting(&[300, 4]));
    assert_eq!(text.lines().count(), 7);
    assert_eq!(text.lines().nth(3), Some(" ...,"));
    let text = show(&counting(&[2, 100, 100]));
    assert!(text.starts_with("[[[    0,     1,     2, ...,    97,    98,    99],\n"));
    assert!(!format(&counting(&[1001]), &Options::exact()).contains("..."));
    // Many axes stay short.
    for shape in [[7; 5].as_slice(), &[3; 10], &[2; 18], &[1; 40], &[2; 20]] {
        let text = show(&counting(shape));
        assert!(text.len() < 60_000, "{shape:?}: {}", text.len());
        assert_eq!(text.matches('[').count(), text.matches(']').count());
    }
    let one = Options {
        threshold: 0,
        edge_items: 0,
        ..Options::default()
    };
    assert_eq!(format(&counting(&[2, 2]), &one), "[[0, ...],\n ...]");
}

#[test]
fn long_rows_are_broken() {
    let text = show(&counting(&[2, 60]));
    assert!(text.lines().all(|line| line.len() <= 80));
    assert!(
        text.lines()
            .nth(1)
            .is_some_and(|line| line.starts_with("  ") && !line.starts_with("   "))
            || text.lines().count() > 2
    );
    let wide = Options {
        line_width: usize::MAX,
        ..Options::default()
    };
    assert_eq!(format(&counting(&[2, 60]), &wide).lines().count(), 2);
}

#[test]
fn strings() {
    let texts = vec![
        "a\"b\\".into(),
        "\n\u{1b}é\u{202e}".into(),
        (&b"\xff"[..]).into(),
    ];
    let tensor = Tensor::strings([3], texts).expect("three");
    assert_eq!(show(&tensor), r#"["a\"b\\", "\n\x1bé\u{202e}", "\xff"]"#);
    let like_a_shape = Tensor::strings([2], vec!["".into(), "]:x".into()]).expect("two");
    assert_eq!(read_back(&like_a_shape), like_a_shape);
    let long = Tensor::strings([1], vec!["a".repeat(1000).as_str().into()]).expect("one");
    let text = show(&long);
    assert!(
        text.len() < 250 && text.ends_with("\"... (1000 bytes)]"),
        "{text}"
    );
}

fn read_back(tensor: &Tensor) -> Tensor {
    let text = format(tensor, &Options::exact());
    let wanted = Wanted {
        element_type: tensor.element_type(),
        shape: &PartialShape::dynamic(),
        range: None,
    };
    let value = Value::parse(&text).expect("a literal");
    value
        .load(&wanted, &Limits::default())
        .expect("the same type")
}

#[test]
fn every_type_is_read_back() {
    for ty in ElementType::ALL {
        for shape in [&[][..], &[7], &[3, 5], &[2, 1, 3, 2], &[50, 60]] {
            let tensor = Random::default()
                .fill(ty, &Shape::from(shape), None, &Limits::default())
                .expect("random");
            assert_eq!(read_back(&tensor), tensor, "{ty} {shape:?}");
        }
    }
}

#[test]
fn every_half_is_read_back() {
    let halves: Vec<f16> = (0..=u16::MAX)
        .map(f16::from_bits)
        .filter(|x| !x.is_nan())
        .collect();
    for part in halves.chunks(997) {
        let tensor = Tensor::vector(part);
        assert_eq!(read_back(&tensor), tensor);
    }
    let bits = (0..=u16::MAX).step_by(3);
    let brains: Vec<bf16> = bits.map(bf16::from_bits).filter(|x| !x.is_nan()).collect();
    for part in brains.chunks(997) {
        let tensor = Tensor::vector(part);
        assert_eq!(read_back(&tensor), tensor);
    }
}

#[test]
fn complex_numbers() {
    let tensor = Tensor::new(
        [2, 2],
        &[[1f32, 2.0], [-10.5, 0.25], [0.0, -1.0], [1.5, 0.0]],
    );
    let text = format(&tensor.expect("four"), &Options::default());
    assert_eq!(
        text,
        "[[       1+2j, -10.5+0.25j],\n [       0-1j,      1.5+0j]]"
    );
    let scalar = Tensor::scalar([f64::NAN, f64::NEG_INFINITY]);
    assert_eq!(format(&scalar, &Options::default()), "nan-infj");
}

proptest! {
    #[test]
    fn complex_numbers_are_read_back(values in prop::collection::vec(any::<[f32; 2]>(), 1..20)) {
        let tensor = Tensor::vector(&values);
        prop_assert_eq!(read_back(&tensor), tensor);
    }

    #[test]
    fn floats_are_read_back(values in prop::collection::vec(any::<f32>(), 1..20)) {
        let tensor = Tensor::vector(&values);
        prop_assert_eq!(read_back(&tensor), tensor);
    }

    #[test]
    fn doubles_are_read_back(values in prop::collection::vec(any::<f64>(), 1..20)) {
        let tensor = Tensor::vector(&values);
        prop_assert_eq!(read_back(&tensor), tensor);
    }

    #[test]
    fn plain_floats_align(values in prop::collection::vec(-1e4f32..1e4, 1..20)) {
        let text = vector(&values);
        let one_line = text.replace('\n', "");
        let widths: Vec<usize> = one_line.trim_matches(['[', ']']).split(',').map(str::len).collect();
        // After the first, every item has a space before it.
        prop_assert!(widths[1..].iter().all(|&w| w == widths[0] + 1), "{}", text);
    }

    #[test]
    fn texts_are_read_back(bytes in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..12), 1..5)) {
        let texts: Vec<Text> = bytes.iter().map(|b| b.as_slice().into()).collect();
        let tensor = Tensor::strings([texts.len()], texts).expect("as many");
        prop_assert_eq!(read_back(&tensor), tensor);
    }

    #[test]
    fn any_text_is_a_value_or_an_error(text in "[\\[\\],\"\\\\a-z0-9:.é \\-]{0,30}") {
        let _ = Value::parse(&text);
    }
}
