//! `.safetensors` files: every type, every damage.

use super::*;
use crate::io::Random;

fn open(bytes: &[u8]) -> Result<Archive, IoError> {
    let bytes = SharedBytes::new(std::sync::Arc::new(bytes.to_vec()));
    Archive::parse(Path::new("x"), &bytes, &Limits::default())
}

fn file_of(header: &str, data: &[u8]) -> Vec<u8> {
    let mut out = (header.len() as u64).to_le_bytes().to_vec();
    out.extend(header.as_bytes());
    out.extend(data);
    out
}

#[test]
fn every_type_there_and_back() {
    let directory = tempfile::tempdir().expect("a directory");
    let (one, two) = (directory.path().join("1"), directory.path().join("2"));
    let mut tensors = Vec::new();
    for ty in ElementType::ALL {
        for shape in [&[3usize, 5][..], &[], &[0, 2]] {
            let tensor = Random::default()
                .fill(ty, &Shape::from(shape), None, &Limits::default())
                .expect("random");
            if !matches!(ty, ElementType::String | ElementType::Complex128) {
                tensors.push((format!("\"{ty}\" {shape:?}"), tensor));
            }
        }
    }
    for path in [&one, &two] {
        write(path, tensors.iter().map(|(n, t)| (n.as_str(), t))).expect("written");
    }
    let bytes = std::fs::read(&one).expect("read");
    assert_eq!(bytes, std::fs::read(&two).expect("read"));
    // The format's own library takes it.
    ::safetensors::SafeTensors::deserialize(&bytes).expect("a sound file");
    let archive = Archive::open(&one, &Limits::default()).expect("opened");
    assert_eq!(archive.names().count(), tensors.len());
    for (name, tensor) in &tensors {
        assert_eq!(&archive.read(name).expect("read"), tensor, "{name}");
    }
    let error = archive.read("b").expect_err("no such tensor").to_string();
    assert!(
        error.contains("has no tensor `b`, expected one of"),
        "{error}"
    );
}

#[test]
fn what_cannot_be_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("x.safetensors");
    let text = Tensor::strings([1], vec!["a".into()]).expect("one");
    let error = write(&path, [("x", &text)])
        .expect_err("strings")
        .to_string();
    assert!(error.ends_with("entry `x`: safetensors has no type for string, use .npy or .npz"));
    let wide = Tensor::vector(&[[1f64, 2.0]]);
    let error = write(&path, [("x", &wide)]).expect_err("complex128");
    assert!(error.to_string().contains("no type for complex128"));
    let one = Tensor::scalar(1u8);
    assert!(write(&path, [("x", &one), ("x", &one)]).is_err());
    assert!(write(&path, [("__metadata__", &one)]).is_err());
    assert!(!path.exists());
}

#[test]
fn damage_is_an_error() {
    let header = r#"{"x":{"dtype":"U8","shape":[2,2],"data_offsets":[0,4]}}"#;
    let whole = file_of(header, &[1, 2, 3, 4]);
    let tensor = open(&whole).and_then(|a| a.read("x")).expect("read");
    assert_eq!(tensor, Tensor::new([2, 2], &[1u8, 2, 3, 4]).expect("four"));
    for end in 0..whole.len() {
        assert!(open(&whole[..end]).is_err(), "{end}");
    }
    for at in 0..whole.len() {
        for byte in [0, b'"', b'9', b'[', b' ', 0xff] {
            let mut damaged = whole.clone();
            damaged[at] = byte;
            if let Ok(archive) = open(&damaged) {
                archive.names().for_each(|name| drop(archive.read(name)));
            }
        }
    }
    // Eight tensors whose end, with the header, is beyond any address.
    let size = (1u64 << 61) - 1;
    let members: Vec<String> = (0..8)
        .map(|i| {
            let (start, end) = (i * size, (i + 1) * size);
            format!(r#""{i}":{{"dtype":"U8","shape":[{size}],"data_offsets":[{start},{end}]}}"#)
        })
        .collect();
    assert!(open(&file_of(&format!("{{{}}}", members.join(",")), b"")).is_err());
    assert!(open(&u64::MAX.to_le_bytes()).is_err());
    let nested = "[".repeat(100_000);
    assert!(open(&file_of(&nested, b"")).is_err());
    let foreign = r#"{"x":{"dtype":"F8_E4M3FNUZ","shape":[1],"data_offsets":[0,1]}}"#;
    let archive = open(&file_of(foreign, &[0])).expect("sound");
    let error = archive.read("x").expect_err("no such type").to_string();
    assert!(error.contains("F8_E4M3FNUZ"), "{error}");
    let lying = r#"{"__metadata__":{"ovir.element_types":"{\"x\":\"u4\"}"},"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#;
    let archive = open(&file_of(lying, &[16])).expect("sound");
    assert!(
        archive
            .read("x")
            .expect_err("16")
            .to_string()
            .contains("no code of u4")
    );
}

#[test]
fn headers_that_lie() {
    let message = |header: &str, data: &[u8]| {
        let opened = open(&file_of(header, data));
        opened.expect_err("refused").to_string()
    };
    let tensor = |name: &str, start: u64, end: u64| {
        format!(r#""{name}":{{"dtype":"U8","shape":[4],"data_offsets":[{start},{end}]}}"#)
    };
    let (x, y) = (tensor("x", 0, 4), tensor("y", 4, 8));
    assert!(open(&file_of(&format!("{{{x},{y}}}"), &[0; 8])).is_ok());
    let twice = message(&format!("{{{x},{x}}}"), &[0; 4]);
    assert!(twice.contains("`x` is there twice"), "{twice}");
    let hidden = message(&format!("{{{x},\"\\u0078\":3}}"), &[0; 4]);
    assert!(hidden.contains("`x` is there twice"), "{hidden}");
    for (start, end) in [(2, 6), (0, 4), (5, 9), (8, 4), (4, u64::MAX), (u64::MAX, 3)] {
        let header = format!("{{{x},{}}}", tensor("y", start, end));
        message(&header, &[0; 8]);
    }
    // Lengths of the header.
    for len in [0, 1, 57, 1 << 32, i64::MAX as u64, u64::MAX - 7, u64::MAX] {
        let mut bytes = len.to_le_bytes().to_vec();
        bytes.extend([b' '; 56]);
        assert!(open(&bytes).is_err(), "{len}");
    }
    let deep = format!("{{\"__metadata__\":{}", "[".repeat(100_000));
    assert!(message(&deep, b"").contains("the header is wrong"));
    let tight = Limits {
        document_bytes: 50,
        ..Limits::default()
    };
    let bytes = file_of(&format!("{{{x}}}"), &[0; 4]);
    let bytes = SharedBytes::new(std::sync::Arc::new(bytes));
    let error = Archive::parse(Path::new("x"), &bytes, &tight).expect_err("too long");
    assert_eq!(error.kind(), crate::io::IoErrorKind::Limit);
}
