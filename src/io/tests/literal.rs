//! Literals: shapes, ragged lists, ranges, escapes.

use super::*;

fn read(text: &str, ty: ElementType) -> Result<Tensor, IoError> {
    Literal::parse(text)?.to_tensor(ty, &Limits::default())
}

fn error(text: &str, ty: ElementType) -> String {
    read(text, ty).expect_err(text).to_string()
}

#[test]
fn shapes() {
    let shape = |text: &str| Literal::parse(text).map(|l| l.shape.to_string());
    for (text, expected) in [
        ("5", "[]"),
        ("[5]", "[1]"),
        (" [ [1,2] , [3,4,], ] ", "[2,2]"),
        ("[]", "[0]"),
        ("[[],[]]", "[2,0]"),
        ("[[[]],[[]]]", "[2,1,0]"),
        ("[[[1],[2]],[[3],[4]],[[5],[6]]]", "[3,2,1]"),
    ] {
        assert_eq!(shape(text).expect(text), expected, "{text}");
    }
    let deep = format!("{}1{}", "[".repeat(64), "]".repeat(64));
    assert!(shape(&deep).is_ok());
    assert!(shape(&"[".repeat(1_000_000)).is_err());
}

#[test]
fn complex_numbers() {
    let c64 = ElementType::Complex64;
    for (text, expected) in [
        ("1+2j", [1f32, 2.0]),
        ("-1.5e-3-2.5e+2j", [-1.5e-3, -250.0]),
        ("2j", [0.0, 2.0]),
        ("-2J", [0.0, -2.0]),
        ("-0-0j", [-0.0, -0.0]),
        ("inf-infj", [f32::INFINITY, f32::NEG_INFINITY]),
        ("7", [7.0, 0.0]),
    ] {
        assert_eq!(
            read(text, c64).expect(text),
            Tensor::scalar(expected),
            "{text}"
        );
    }
    let mixed = Literal::parse("[1, 2.5, 3j]").expect("a list");
    assert_eq!(mixed.natural_type(), c64);
    for text in ["j", "1+j", "1+2i", "1+2jj", "1++2j", "1+2", "+j"] {
        assert!(Literal::parse(text).is_err(), "{text}");
    }
    assert_eq!(
        error("[1+2j]", ElementType::F32),
        "`1+2j` is not a number of type f32, at [0]"
    );
    assert_eq!(
        error("[[1,2+1e50000j]]", c64),
        "+1e50000 is out of range for complex64, at [0][1]"
    );
    assert_eq!(
        error("true", c64),
        "`true` is not a number of type complex64, such as `1+2j`"
    );
    assert_eq!(
        read("\"1+2j\"", ElementType::Complex128).expect("as JSON has it"),
        Tensor::scalar([1f64, 2.0])
    );
}

#[test]
fn ragged_lists() {
    let f32 = ElementType::F32;
    for (text, expected) in [
        (
            "[[1,2],[3]]",
            "a list of 1, where other lists have 2, at [1] (character 10)",
        ),
        (
            "[1,[2]]",
            "a list, where other items are elements, at [1] (character 4)",
        ),
        (
            "[[1],2]",
            "an element, where other items are lists, at [1] (character 6)",
        ),
        (
            "[[],[1]]",
            "a list of 1, where other lists have 0, at [1] (character 7)",
        ),
        (
            "[[1],[]]",
            "a list of 0, where other lists have 1, at [1] (character 7)",
        ),
        (
            "[[],[[]]]",
            "a list, where other items are elements, at [1][0] (character 6)",
        ),
        (
            "[[[1,2],[3,4]],[[5,6],[7]]]",
            "a list of 1, where other lists have 2, at [1][1] (character 25)",
        ),
    ] {
        let found = error(text, f32);
        assert_eq!(found, format!("the list is ragged: {expected}"), "{text}");
    }
}

#[test]
fn syntax() {
    let f32 = ElementType::F32;
    for (text, expected) in [
        ("", "the literal ends at character 1, expected a number"),
        ("[1", "the literal ends at character 3, expected `,` or `]`"),
        (
            "[1 2]",
            "the literal has `2]` at character 4, expected `,` or `]`",
        ),
        (
            "[1,,2]",
            "the literal has `,2]` at character 4, expected a number",
        ),
        (
            "[,]",
            "the literal has `,]` at character 2, expected a number",
        ),
        (
            "[1]]",
            "the literal has `]` at character 4, expected the end",
        ),
        (
            "[é]",
            "the literal has `é]` at character 2, expected a number",
        ),
        ("\"a", "the literal ends at character 3, expected `\"`"),
        (r#""\q""#, "at character 2, expected an escape"),
        (r#""\ud800""#, "expected an escape"),
        (r#""\u{110000}""#, "expected an escape"),
        (r#""\xg0""#, "expected an escape"),
        ("1e", "expected a number"),
        ("- 1", "expected a number"),
    ] {
        let found = error(text, f32);
        assert!(found.contains(expected), "{text}: {found}");
    }
}

#[test]
fn integers() {
    use ElementType as E;
    assert_eq!(
        read("[-128, 127]", E::I8).expect("in range"),
        Tensor::vector(&[-128i8, 127])
    );
    assert_eq!(
        read("18446744073709551615", E::U64).expect("in range"),
        Tensor::scalar(u64::MAX)
    );
    assert_eq!(read("+7", E::I64).expect("in range"), Tensor::scalar(7i64));
    assert_eq!(
        read("[0, true, 1]", E::Boolean).expect("truth"),
        Tensor::vector(&[false, true, true])
    );
    assert_eq!(
        error("[[1], [128]]", E::I8),
        "128 is out of range for i8, expected -128 to 127, at [1][0]"
    );
    assert_eq!(
        error("-1", E::U8),
        "-1 is out of range for u8, expected 0 to 255"
    );
    assert_eq!(
        error("8", E::I4),
        "8 is out of range for i4, expected -8 to 7"
    );
    assert!(error(&"9".repeat(60), E::I64).contains("out of range"));
    assert_eq!(error("1.5", E::I32), "`1.5` is not an integer of type i32");
    assert!(error("1e3", E::I32).contains("not an integer"));
    assert!(error("nan", E::I32).contains("not an integer"));
    assert!(error("true", E::I32).contains("not an integer"));
    assert!(error("2", E::Boolean).contains("out of range"));
}

#[test]
fn floats() {
    use ElementType as E;
    let x = read("[1, -1.5e3, inf, -inf, 1e-50]", E::F32).expect("floats");
    assert_eq!(
        x,
        Tensor::vector(&[1f32, -1500.0, f32::INFINITY, f32::NEG_INFINITY, 0.0])
    );
    assert!(
        read("nan", E::F64)
            .expect("nan")
            .as_slice::<f64>()
            .expect("f64")[0]
            .is_nan()
    );
    assert_eq!(
        read("\"-inf\"", E::F64).expect("as JSON"),
        Tensor::scalar(f64::NEG_INFINITY)
    );
    assert!(error("1e40", E::F32).contains("out of range for f32"));
    assert!(error("1e400", E::F64).contains("out of range for f64"));
    assert!(error("70000", E::F16).contains("out of range for f16"));
    assert!(error("500", E::F8e4m3).contains("out of range for f8e4m3"));
    assert!(error("7", E::F4e2m1).contains("out of range for f4e2m1"));
    assert!(error("[0.5, -2]", E::Nf4).contains("-2 is out of range for nf4, at [1]"));
    assert!(error("inf", E::F8e4m3).contains("f8e4m3 has no infinity"));
    assert!(error("nan", E::Nf4).contains("nf4 has no nan"));
    assert!(error("0", E::F8e8m0).contains("f8e8m0 has no zero"));
    assert!(error("\"a\"", E::F32).contains("\"a\" is not a number of type f32"));
    assert!(error("true", E::F32).contains("`true` is not a number"));
}

#[test]
fn strings() {
    let escapes = r#"["a\"\\\n\r\t\b\f\0\/\'", "\x1b\xff", "\u00e9\ud834\udd1e\u{1f600}"]"#;
    let tensor = read(escapes, ElementType::String).expect("strings");
    let texts = tensor.as_strings().expect("strings");
    assert_eq!(&*texts[0], b"a\"\\\n\r\t\x08\x0c\0/'");
    assert_eq!(&*texts[1], b"\x1b\xff");
    assert_eq!(&*texts[2], "é𝄞😀".as_bytes());
    assert!(error("[1]", ElementType::String).contains("`1` is not a string in quotes, at [0]"));
}

#[test]
fn natural_types() {
    for (text, expected) in [
        ("[1, -2]", ElementType::I64),
        ("[1, 2.0]", ElementType::F32),
        ("inf", ElementType::F32),
        ("[]", ElementType::F32),
        ("[true]", ElementType::Boolean),
        ("\"\"", ElementType::String),
    ] {
        let literal = Literal::parse(text).expect(text);
        assert_eq!(literal.natural_type(), expected, "{text}");
    }
}
