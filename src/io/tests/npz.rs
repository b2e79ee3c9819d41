//! `.npz` archives: every type, damage, bombs.

use super::*;
use crate::io::Random;
use crate::tensor::{ElementType, Shape};

fn tensors() -> Vec<(String, Tensor)> {
    ElementType::ALL
        .iter()
        .rev()
        .map(|&ty| {
            let tensor = Random::default()
                .fill(ty, &Shape::from([3, 5]), None, &Limits::default())
                .expect("random");
            (format!("a/{ty}"), tensor)
        })
        .collect()
}

fn write_all(path: &Path, tensors: &[(String, Tensor)]) {
    write(path, tensors.iter().map(|(n, t)| (n.as_str(), t))).expect("written");
}

#[test]
fn every_type_there_and_back() {
    let directory = tempfile::tempdir().expect("a directory");
    let (one, two) = (
        directory.path().join("1.npz"),
        directory.path().join("2.npz"),
    );
    let tensors = tensors();
    write_all(&one, &tensors);
    write_all(&two, &tensors);
    let bytes = std::fs::read(&one).expect("read");
    assert_eq!(bytes, std::fs::read(&two).expect("read"));
    let mut archive = Archive::open(&one, &Limits::default()).expect("opened");
    let names: Vec<String> = archive.names().map(str::to_owned).collect();
    assert!(names.iter().eq(tensors.iter().map(|(name, _)| name)));
    for (name, tensor) in &tensors {
        let read = archive.read(name).expect("read");
        let adapted = crate::io::adapt(&read, tensor.element_type()).expect("adapted");
        assert_eq!(&adapted, tensor, "{name}");
    }
    assert!(archive.read("a/f32.npy").is_ok());
    let error = archive.read("b").expect_err("no such entry").to_string();
    assert!(
        error.contains("has no entry `b`, expected one of `a/string`"),
        "{error}"
    );
}

#[test]
fn damage_is_an_error() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("x.npz");
    let tensor = Tensor::vector(&[1f32, 2.0]);
    write(&path, [("x", &tensor), ("y", &tensor)]).expect("written");
    let whole = std::fs::read(&path).expect("read");
    let attempt = |bytes: &[u8]| {
        std::fs::write(&path, bytes).expect("written");
        let mut archive = Archive::open(&path, &Limits::default())?;
        archive.read("x").and_then(|_| archive.read("y"))
    };
    assert!(attempt(&whole).is_ok());
    for end in 0..whole.len() {
        assert!(attempt(&whole[..end]).is_err(), "{end}");
    }
    for at in 0..whole.len() {
        for byte in [0, 0xff, whole[at] ^ 1] {
            let mut damaged = whole.clone();
            damaged[at] = byte;
            if let Ok(read) = attempt(&damaged) {
                assert_eq!(read, tensor, "{at}");
            }
        }
    }
}

#[test]
fn a_bomb_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("x.npz");
    let file = File::create(&path).expect("created");
    let mut zip = ZipWriter::new(file);
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    zip.start_file("x.npy", options).expect("begun");
    npy::write_to(&mut zip, &Tensor::vector(&vec![0u8; 1 << 20])).expect("written");
    zip.finish().expect("finished");
    let bytes = std::fs::read(&path).expect("read");
    assert!(bytes.len() < 1 << 14);
    let open = |limit| {
        let limits = Limits {
            tensor_bytes: limit,
            ..Limits::default()
        };
        Archive::open(&path, &limits).expect("opened").read("x")
    };
    assert_eq!(open(1 << 21).expect("read").len(), 1 << 20);
    let error = open(1 << 20).expect_err("128 bytes too many").to_string();
    assert!(
        error.ends_with("entry `x`: unpacks to 1048704 bytes, the limit is 1048576"),
        "{error}"
    );
    // The directory lies about the size.
    let size = 1_048_704u32.to_le_bytes();
    let mut lying = bytes;
    while let Some(at) = lying.windows(4).position(|w| w == size) {
        lying[at..at + 4].copy_from_slice(&1000u32.to_le_bytes());
    }
    std::fs::write(&path, lying).expect("written");
    assert!(open(1 << 20).is_err());
}

#[test]
fn names_are_unique() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("x.npz");
    let tensor = Tensor::scalar(1u8);
    assert!(write(&path, [("x", &tensor), ("x", &tensor)]).is_err());
    assert_eq!(
        std::fs::read_dir(directory.path()).expect("listed").count(),
        0
    );
    write(&path, []).expect("an empty archive");
    let archive = Archive::open(&path, &Limits::default()).expect("opened");
    assert_eq!(archive.names().count(), 0);
}
