//! Files of inputs.

use super::*;
use crate::io::Wanted;
use crate::tensor::{PartialShape, Tensor};

fn get(text: &str, ty: ElementType) -> Result<Tensor, IoError> {
    let values = parse(format!("{{\"x\": {text}}}").as_bytes())?;
    let wanted = Wanted {
        element_type: ty,
        shape: &PartialShape::dynamic(),
        range: None,
    };
    values[0].1.load(&wanted, &Limits::default())
}

#[test]
fn values() {
    use ElementType as E;
    assert_eq!(
        get("[[1, 2], [3, 4]]", E::F32).expect("lists"),
        Tensor::new([2, 2], &[1f32, 2.0, 3.0, 4.0]).expect("four")
    );
    assert_eq!(
        get("[1e2, -0.5, \"nan\", \"-inf\"]", E::F64)
            .expect("floats")
            .len(),
        4
    );
    assert_eq!(
        get("18446744073709551615", E::U64).expect("large"),
        Tensor::scalar(u64::MAX)
    );
    assert_eq!(
        get("[true, false]", E::Dynamic).expect("truth"),
        Tensor::vector(&[true, false])
    );
    assert_eq!(
        get("\"a\"", E::String)
            .expect("text")
            .as_strings()
            .expect("text")[0],
        "a".into()
    );
    assert_eq!(
        get("{\"value\": \"i32:[5]\"}", E::Dynamic).expect("value"),
        Tensor::vector(&[5i32])
    );
    let shaped = "{\"value\": \"random:seed=1\", \"element_type\": \"f16\", \"shape\": [2, 3]}";
    assert_eq!(&**get(shaped, E::Dynamic).expect("random").shape(), [2, 3]);
}

#[test]
fn what_is_no_value() {
    use ElementType as E;
    for (text, expected) in [
        ("[1, [2]]", "ragged"),
        ("[1, null]", "a list has null"),
        ("null", "null"),
        ("{}", "has no `value`"),
        ("{\"value\": 5}", "`value` is a number, expected a string"),
        ("{\"value\": \"5\", \"shape\": [-1]}", "expected sizes"),
        ("{\"value\": \"5\", \"dtype\": \"f32\"}", "has `dtype`"),
        (
            "{\"value\": \"i32:5\", \"element_type\": \"f32\"}",
            "the value says i32, and f32 beside it",
        ),
        (
            "{\"value\": \"5\", \"element_type\": \"float\"}",
            "not an element type",
        ),
        ("[1.5]", "not an integer of type i32"),
        ("[1, 2", "no sound JSON"),
    ] {
        let error = get(text, E::I32).expect_err(text).to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    assert!(
        parse(b"[1]")
            .expect_err("a list")
            .to_string()
            .contains("holds a list, expected an object")
    );
    assert!(parse("[".repeat(100_000).as_bytes()).is_err());
}

#[test]
fn files_are_beside_the_json() {
    let directory = tempfile::tempdir().expect("a directory");
    let tensor = Tensor::vector(&[1f32]);
    crate::io::npy::write(&directory.path().join("x.npy"), &tensor).expect("written");
    let path = directory.path().join("inputs.json");
    std::fs::write(&path, "{\"b\": {\"value\": \"x.npy\"}, \"a\": 1}").expect("written");
    let values = read(&path, &Limits::default()).expect("read");
    assert_eq!(values[0].0, "b");
    let wanted = Wanted {
        element_type: ElementType::F32,
        shape: &PartialShape::dynamic(),
        range: None,
    };
    assert_eq!(
        values[0].1.load(&wanted, &Limits::default()).expect("read"),
        tensor
    );
}

#[test]
fn the_samples_are_read() {
    fn walk(directory: &Path, count: &mut usize) {
        for entry in std::fs::read_dir(directory).expect("listed") {
            let path = entry.expect("listed").path();
            if path.is_dir() {
                walk(&path, count);
            } else if path.to_string_lossy().ends_with(".inputs.json") {
                let values = read(&path, &Limits::default()).expect("inputs");
                assert!(!values.is_empty(), "{}", path.display());
                *count += 1;
            }
        }
    }
    let mut count = 0;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("ir-samples");
    walk(&root, &mut count);
    assert!(count > 20, "{count}");
}
