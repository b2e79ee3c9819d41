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

#[test]
fn what_is_not_sound() {
    let message = |text: &[u8]| parse(text).expect_err("refused").to_string();
    assert!(message(br#"{"x": 1, "x": 2}"#).contains("`x` is there twice"));
    assert!(message(br#"{"x": 1, "\u0078": 2}"#).contains("`x` is there twice"));
    assert!(message(b"{\"x\": \"\xff\"}").contains("no sound JSON"));
    for deep in [60, 65, 127, 128, 100_000] {
        let text = format!("{{\"x\": {}1{}}}", "[".repeat(deep), "]".repeat(deep));
        assert_eq!(parse(text.as_bytes()).is_ok(), deep <= 64, "{deep}");
        assert!(message(format!("{{\"x\": {}", "[".repeat(deep)).as_bytes()).contains("JSON"));
        assert!(Value::parse(&"[".repeat(deep)).is_err());
        assert!(
            message(format!("{{\"x\": {}", "{\"value\":".repeat(deep)).as_bytes()).contains("JSON")
        );
    }
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("x.json");
    std::fs::write(&path, br#"{"x": [1, 2, 3]}"#).expect("written");
    let tight = Limits {
        document_bytes: 10,
        ..Limits::default()
    };
    let error = read(&path, &tight).expect_err("too long");
    assert_eq!(error.kind(), crate::io::IoErrorKind::Limit);
    assert!(read(&path, &Limits::default()).is_ok());
}

#[cfg(unix)]
#[test]
fn pipes_are_read_where_the_user_names_them() {
    use crate::io::{Value, Wanted};
    use crate::tensor::{ElementType, PartialShape, Tensor};

    let directory = tempfile::tempdir().expect("a directory");
    let pipe = directory.path().join("x.bin");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    let shape: PartialShape = "4".parse().expect("a shape");
    let wanted = Wanted {
        element_type: ElementType::U8,
        shape: &shape,
        range: None,
    };
    // A file that names it waits for nobody.
    let path = directory.path().join("x.json");
    std::fs::write(&path, br#"{"x": {"value": "raw:x.bin"}}"#).expect("written");
    let values = read(&path, &Limits::default()).expect("read");
    let error = values[0].1.load(&wanted, &Limits::default());
    let error = error.expect_err("a pipe").to_string();
    assert!(
        error.ends_with("x.bin: cannot open the file: not a regular file"),
        "{error}"
    );
    let value = Value::parse(pipe.to_str().expect("UTF-8")).expect("a file");
    for (written, expected) in [
        (&[1u8, 2, 3, 4][..], None),
        (&[1, 2, 3], Some("needs 4 bytes, got 3")),
        (&[1, 2, 3, 4, 5], Some("needs 4 bytes, got more")),
    ] {
        let found = std::thread::scope(|scope| {
            scope.spawn(|| std::fs::write(&pipe, written).expect("written"));
            value.load(&wanted, &Limits::default())
        });
        match expected {
            None => assert_eq!(found.expect("read"), Tensor::vector(written)),
            Some(expected) => {
                let error = found.expect_err(expected).to_string();
                assert!(error.ends_with(expected), "{error}");
            }
        }
    }
}
