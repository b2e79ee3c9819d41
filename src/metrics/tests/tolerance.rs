//! What tolerances read, allow and suggest.

use super::*;
use crate::tensor::Tensor;

fn difference(found: &[f32], expected: &[f32], tolerance: &Tolerance) -> Difference {
    Difference::between(&Tensor::vector(found), &Tensor::vector(expected), tolerance)
}

fn passes(found: &[f32], expected: &[f32], text: &str) -> bool {
    let tolerance = Tolerance::parse(text).expect("a tolerance");
    tolerance.passes(&difference(found, expected, &tolerance))
}

#[test]
fn text_there_and_back() {
    for text in [
        "abs=1e-5,rel=2e-4,scale=1e-5,rel_l2=1e-4,cosine=0.999,ulp=4,max_exceeding=3",
        "exact",
        "max_exceeding=0.5%",
        "exact,max_exceeding=7",
    ] {
        assert_eq!(Tolerance::parse(text).expect(text).to_string(), text);
    }
    let spaced = Tolerance::parse(" abs = 1 , ulp=2");
    assert_eq!(spaced.expect("blanks").to_string(), "abs=1e0,ulp=2");
    for (wrong, part) in [
        ("", "there is no tolerance ``; there are abs, rel"),
        ("abs", "tolerance `abs=`: expected a number from 0 on"),
        ("abs=-1", "expected a number from 0 on"),
        ("abs=nan", "expected a number from 0 on"),
        ("rel=inf", "expected a number from 0 on"),
        ("cosine=2", "expected a number from -1 to 1"),
        ("ulp=1.5", "expected a whole number"),
        ("max_exceeding=101%", "expected a whole number or a part"),
        ("abs=1,abs=2", "`abs` is given twice"),
        ("rell2=1", "there is no tolerance `rell2`"),
    ] {
        let error = Tolerance::parse(wrong).expect_err(wrong).to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn bounds() {
    assert!(passes(&[1.0, 2.0], &[1.0, 2.0], "exact"));
    assert!(!passes(&[1.0, 2.0], &[1.0, 2.1], "exact"));
    // `abs`, `rel` and `scale` add up.
    assert!(passes(
        &[1.3, 2.0],
        &[1.0, 2.0],
        "abs=0.1,rel=0.1,scale=0.1"
    ));
    assert!(!passes(&[1.3, 2.0], &[1.0, 2.0], "abs=0.1,rel=0.1"));
    // Either the sum or the units in the last place.
    let next = f32::from_bits(1e9f32.to_bits() + 2);
    assert!(passes(&[next, 1e-9], &[1e9, 0.0], "ulp=2,abs=1e-6"));
    assert!(!passes(&[next, 1e-9], &[1e9, 0.0], "ulp=2"));
    assert!(!passes(&[next, 1e-9], &[1e9, 0.0], "ulp=1,abs=1e-6"));
    // Elements have no bound where only tensors have one.
    assert!(passes(&[3.0, 400.0], &[4.0, 400.0], "rel_l2=0.01"));
    assert!(!passes(&[3.0, 400.0], &[4.0, 400.0], "rel_l2=0.001"));
    assert!(!passes(&[3.0, 4.0], &[4.0, 3.0], "cosine=0.97"));
    assert!(passes(&[3.0, 4.0], &[4.0, 3.0], "cosine=0.95"));
    assert!(passes(&[3.0, 4.0], &[4.0, 4.0], "exact,max_exceeding=1"));
    assert!(passes(&[3.0, 4.0], &[4.0, 4.0], "exact,max_exceeding=50%"));
    assert!(!passes(&[3.0, 4.0], &[4.0, 4.0], "exact,max_exceeding=49%"));
    // What is not finite exceeds everything.
    assert!(!passes(&[f32::NAN, 4.0], &[4.0, 4.0], "rel_l2=9,cosine=-1"));
    assert!(passes(
        &[f32::NAN, 4.0],
        &[4.0, 4.0],
        "rel_l2=9,max_exceeding=1"
    ));
}

#[test]
fn what_is_suggested_passes_and_is_tight() {
    let expected: Vec<f32> = (1..100).map(|i| i as f32 * 0.37).collect();
    for size in [1e-6f32, 3.3e-5, 0.91, 7.0] {
        let found: Vec<f32> = expected.iter().map(|x| x + size * x.sin()).collect();
        let counted = difference(&found, &expected, &Tolerance::EXACT);
        let tight = Tolerance::tightest(&counted).expect("numbers");
        assert!(
            tight.passes(&difference(&found, &expected, &tight)),
            "{tight}"
        );
        let half = Tolerance {
            abs: tight.abs.map(|b| b / 2.1),
            ..tight
        };
        assert!(
            !half.passes(&difference(&found, &expected, &half)),
            "{tight}"
        );
        assert_eq!(Tolerance::parse(&tight.to_string()), Ok(tight));
    }
    let same = difference(&[1.0], &[1.0], &Tolerance::EXACT);
    assert_eq!(Tolerance::tightest(&same), Some(Tolerance::EXACT));
    let odd = difference(&[f32::NAN], &[1.0], &Tolerance::EXACT);
    assert_eq!(Tolerance::tightest(&odd), None);
    assert_eq!(one_digit(9.5e-5), Some(1e-4));
    assert_eq!(one_digit(9.9e-5), Some(1e-4));
    assert_eq!(one_digit(1.2e-5), Some(2e-5));
    assert_eq!(one_digit(0.0), Some(0.0));
}

#[test]
fn defaults_suit_the_wider_of_both_types() {
    assert_eq!(Tolerance::suited(E::F32, E::F16).rel, Some(1e-2));
    assert_eq!(Tolerance::suited(E::I64, E::F32).rel, Some(1e-4));
    assert_eq!(Tolerance::suited(E::I64, E::Boolean), Tolerance::EXACT);
}
