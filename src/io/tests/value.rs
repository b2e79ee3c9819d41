//! The text of a value, and what becomes of it.

use super::*;

fn load(text: &str, ty: ElementType, shape: &str) -> Result<Tensor, IoError> {
    let shape: PartialShape = shape.parse().expect("a shape");
    let wanted = Wanted {
        element_type: ty,
        shape: &shape,
        range: None,
    };
    Value::parse(text)?.load(&wanted, &Limits::default())
}

fn error(text: &str, ty: ElementType, shape: &str) -> String {
    load(text, ty, shape).expect_err(text).to_string()
}

use ElementType::{Dynamic, F8e8m0, F32, I32, I64, Nf4, String as Strings};

#[test]
fn literals() {
    let two = Tensor::vector(&[1f32, 2.0]);
    for text in [
        "[1,2]",
        "f32:[1,2]",
        " f32[2] : [1, 2] ",
        "[2]:[1,2]",
        "F32:[1,2]",
    ] {
        let text = text.replace(" : ", ":");
        assert_eq!(load(&text, F32, "?").expect(&text), two, "{text}");
        assert_eq!(load(&text, F32, "...").expect(&text), two, "{text}");
    }
    assert_eq!(
        load("[1,2]", Dynamic, "?").expect("i64"),
        Tensor::vector(&[1i64, 2])
    );
    assert_eq!(
        load("i32:5", Dynamic, "").expect("i32"),
        Tensor::scalar(5i32)
    );
    assert_eq!(
        error("[1,2]", F32, "1,2"),
        "shape [1,2] is wanted, the value has [2]"
    );
    assert_eq!(
        error("i64:[1]", F32, "?"),
        "f32 is wanted, the value says i64"
    );
    assert_eq!(
        error("[3]:[1,2]", F32, "?"),
        "shape [3] is wanted, the value has [2]"
    );
    assert!(error("f32[?]:[1]", F32, "?").contains("`[?]` is not a shape"));
    assert!(error("hello", F32, "?").starts_with("value `hello`: expected a literal"));
    assert!(error("f33:1", F32, "?").contains("expected a literal"));
    assert!(error(&"[1,".repeat(40), F32, "?").starts_with("value `[1,[1,"));
}

#[test]
fn constants() {
    for ty in ElementType::ALL {
        let ones = load("ones", ty, "3,7");
        let zeros = load("zeros", ty, "3,7");
        assert_eq!(ones.is_ok(), ty != Strings, "{ty}");
        assert_eq!(zeros.is_ok(), ty != F8e8m0, "{ty}");
        if ty.is_numeric() && ty != F8e8m0 {
            let mut out = [9f64; 21];
            convert::widen(&ones.expect("ones"), 0, &mut out);
            assert_eq!(out, [1.0; 21], "{ty}");
            convert::widen(&zeros.expect("zeros"), 0, &mut out);
            assert_eq!(out, [0.0; 21], "{ty}");
        }
    }
    assert!(load("zeros", Nf4, "1").expect("zeros").bytes() != [0]);
    assert_eq!(
        load("i32[2]:zeros", Dynamic, "...").expect("both"),
        Tensor::vector(&[0i32, 0])
    );
    assert_eq!(
        load("[2]:ones", I32, "?").expect("a shape"),
        Tensor::vector(&[1i32, 1])
    );
    assert_eq!(
        error("zeros", I32, "?,3"),
        "`zeros` needs a shape, [?,3] is open; give one, such as `i32[2,3]:zeros`"
    );
    assert_eq!(
        error("ones", Dynamic, "2"),
        "`ones` needs an element type, the input has none; give one, such as `f32[2]:ones`"
    );
}

#[test]
fn random_values() {
    let a = load("random:seed=7", F32, "4,5").expect("random");
    assert_eq!(
        a,
        load("f32[4,5]:random:seed=7", Dynamic, "...").expect("random")
    );
    assert_ne!(a, load("random", F32, "4,5").expect("random"));
    let b = load("random:seed=7,min=3,max=4", I64, "100").expect("random");
    let b = b.as_slice::<i64>().expect("i64");
    assert!(b.contains(&3) && b.contains(&4) && b.iter().all(|x| (3..=4).contains(x)));
    let value = |text: &str| Value::parse(text).expect("a value");
    assert_eq!(value("random:seed=7").for_input(0), value("random:seed=7"));
    let third = value("f32[2,3]:random:seed=7,max=0.5").for_input(2);
    let text = "f32[2,3]:random:seed=2000013,max=0.5";
    assert_eq!(third.random_text().as_deref(), Some(text));
    assert_eq!(third, value(text));
    assert_eq!(value("zeros").for_input(2).random_text(), None);
    for text in [
        "random:",
        "random:seed",
        "random:seed=-1",
        "random:size=3",
        "random:min=x",
    ] {
        assert!(load(text, F32, "2").is_err(), "{text}");
    }
    let shape = PartialShape::from([1usize << 40]);
    let wanted = Wanted {
        element_type: F32,
        shape: &shape,
        range: None,
    };
    for text in ["random", "zeros", "ones"] {
        let value = Value::parse(text).expect("a generator");
        assert!(value.load(&wanted, &Limits::default()).is_err(), "{text}");
    }
}

#[test]
fn file_names() {
    let file = |text: &str| match Value::parse(text).expect(text).source {
        Source::File(path, entry) => (path.display().to_string(), entry),
        Source::Raw(path, _) => (format!("raw {}", path.display()), None),
        _ => ("no file".to_owned(), None),
    };
    let plain = |path: &str| (path.to_owned(), None);
    let entry = |path: &str, entry: &str| (path.to_owned(), Some(entry.to_owned()));
    assert_eq!(file("a/x.npy"), plain("a/x.npy"));
    assert_eq!(file("5.npy"), plain("5.npy"));
    assert_eq!(file("C:/x.NPZ"), plain("C:/x.NPZ"));
    assert_eq!(file("x.npz:a:b.npz"), entry("x.npz", "a:b.npz"));
    assert_eq!(file("x.safetensors:w"), entry("x.safetensors", "w"));
    assert_eq!(file("x.bin"), plain("raw x.bin"));
    assert_eq!(file("raw:x.dat"), plain("raw x.dat"));
    assert_eq!(file("f32[2]:raw:x.dat"), plain("raw x.dat"));
    assert_eq!(file("[1]"), plain("no file"));
    assert_eq!(file("\"x.npy\""), plain("no file"));
}

#[test]
fn files() {
    let directory = tempfile::tempdir().expect("a directory");
    let tensor = Tensor::vector(&[1i64, 2, 3]);
    let path = |name: &str| directory.path().join(name);
    npy::write(&path("x.npy"), &tensor).expect("written");
    npz::write(&path("x.npz"), [("a", &tensor)]).expect("written");
    npz::write(&path("y.npz"), [("a", &tensor), ("b", &tensor)]).expect("written");
    safetensors::write(&path("x.safetensors"), [("a", &tensor)]).expect("written");
    raw::write(&path("x.bin"), &tensor).expect("written");
    let open = PartialShape::of_rank(1);
    let get = |text: &str, wanted: &Wanted<'_>| {
        let value = Value::parse(text)
            .expect(text)
            .relative_to(directory.path());
        value.load(wanted, &Limits::default())
    };
    let expected = Tensor::vector(&[1i32, 2, 3]);
    for text in [
        "x.npy",
        "x.npz",
        "x.npz:a",
        "y.npz:b",
        "x.safetensors",
        "x.safetensors:a",
    ] {
        assert_eq!(get(text, &wanted(&open)).expect(text), expected, "{text}");
    }
    assert_eq!(
        get(
            "i64[3]:x.bin",
            &Wanted {
                element_type: Dynamic,
                ..wanted(&open)
            }
        )
        .expect("raw"),
        tensor
    );
    let message = |text: &str, wanted: &Wanted<'_>| get(text, wanted).expect_err(text).to_string();
    assert!(message("x.bin", &wanted(&open)).contains("needs a shape"));
    let three = PartialShape::from([3]);
    assert!(message("x.bin", &wanted(&three)).ends_with("shape [3] of i32 needs 12 bytes, got 24"));
    assert!(message("y.npz", &wanted(&open)).contains("has 2 tensors, name one"));
    assert!(
        message("x.npy", &wanted(&PartialShape::from([4])))
            .ends_with("x.npy: shape [4] is wanted, the value has [3]")
    );
    let strings = Wanted {
        element_type: Strings,
        ..wanted(&open)
    };
    assert!(
        message("y.npz:b", &strings)
            .ends_with("y.npz: entry `b`: string is wanted, the file has int64")
    );
}

#[test]
fn all_tensors_of_a_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let tensor = Tensor::vector(&[1i64, 2, 3]);
    let path = |name: &str| directory.path().join(name);
    npz::write(&path("x.npz"), [("a", &tensor)]).expect("written");
    npz::write(&path("y.npz"), [("a", &tensor), ("b", &tensor)]).expect("written");
    let all = crate::io::read_all(&path("y.npz"), &Limits::default()).expect("read");
    assert_eq!(all.len(), 2);
    let tight = Limits {
        tensor_bytes: 160,
        ..Limits::default()
    };
    assert!(crate::io::read_all(&path("x.npz"), &tight).is_ok());
    assert!(crate::io::read_all(&path("x.bin"), &tight).is_err());
}

fn wanted(shape: &PartialShape) -> Wanted<'_> {
    Wanted {
        element_type: I32,
        shape,
        range: None,
    }
}
