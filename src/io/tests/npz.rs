//! `.npz` archives: every type, damage, bombs.

use byteorder::{ByteOrder, LittleEndian};

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
    let file = std::fs::File::create(&path).expect("created");
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

fn message(path: &Path) -> String {
    let archive = Archive::open(path, &Limits::default());
    archive.expect_err("refused").to_string()
}

#[test]
fn directories_that_lie() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("x.npz");
    let tensor = Tensor::scalar(1u8);
    write(&path, [("aa", &tensor), ("ab", &tensor)]).expect("written");
    let whole = std::fs::read(&path).expect("read");
    let end = whole.len() - 22;
    assert!(whole[end..].starts_with(b"PK\x05\x06"));
    let start = LittleEndian::read_u32(&whole[end + 16..]) as usize;
    // Two entries of one name.
    let mut twice = whole.clone();
    for at in 0..twice.len() - 6 {
        if &twice[at..at + 6] == b"ab.npy" {
            twice[at + 1] = b'a';
        }
    }
    std::fs::write(&path, &twice).expect("written");
    assert!(message(&path).ends_with("has two entries of one name"));
    // More entries than there is room for, in the plain record and in the wide one.
    let mut many = whole.clone();
    many[end + 8..end + 12].fill(0xff);
    std::fs::write(&path, &many).expect("written");
    assert!(message(&path).contains("no directory at its end"));
    let wide = |entries: u64, bytes: u64, start: u64| {
        let mut file = whole[..end].to_vec();
        file.extend(b"PK\x06\x06");
        file.extend(44u64.to_le_bytes());
        file.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        for number in [entries, entries, bytes, start] {
            file.extend(number.to_le_bytes());
        }
        file.extend(b"PK\x06\x07\0\0\0\0");
        file.extend((end as u64).to_le_bytes());
        file.extend(1u32.to_le_bytes());
        file.extend(&whole[end..]);
        let end = file.len() - 22;
        file[end + 8..end + 20].fill(0xff);
        std::fs::write(&path, &file).expect("written");
    };
    wide(2, (end - start) as u64, start as u64);
    let mut archive = Archive::open(&path, &Limits::default()).expect("sound");
    assert_eq!(archive.read("ab").expect("read"), tensor);
    for (entries, bytes, start) in [
        (1 << 40, 1 << 60, 1 << 41),
        (1 << 40, u64::MAX, 0),
        (1 << 40, (end - start) as u64, start as u64),
        (2, 17 << 20, start as u64),
        (u64::MAX, 0, end as u64),
    ] {
        wide(entries, bytes, start);
        let error = message(&path);
        assert!(
            error.contains("no directory at its end") || error.contains("the limit is"),
            "{error}"
        );
    }
    // A second end record inside the directory, as a fall-back for who finds fault with the first.
    let mut second = whole.clone();
    second[start + 46..start + 50].copy_from_slice(b"PK\x05\x06");
    std::fs::write(&path, &second).expect("written");
    assert!(message(&path).contains("no directory at its end"));
    // A comment is allowed.
    let mut comment = whole.clone();
    comment[end + 20] = 2;
    comment.extend(b"hi");
    std::fs::write(&path, &comment).expect("written");
    assert!(Archive::open(&path, &Limits::default()).is_ok());
    comment.push(b'!');
    std::fs::write(&path, &comment).expect("written");
    assert!(message(&path).contains("no directory at its end"));
}

#[test]
fn entries_together_stay_inside_the_limit() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("x.npz");
    let file = std::fs::File::create(&path).expect("created");
    let mut zip = ZipWriter::new(file);
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for name in 0..50 {
        zip.start_file(format!("../{name}.npy"), options)
            .expect("begun");
        npy::write_to(&mut zip, &Tensor::vector(&[0u8; 1 << 16])).expect("written");
    }
    zip.finish().expect("finished");
    let limits = Limits {
        live_bytes: 1 << 20,
        ..Limits::default()
    };
    let error = crate::io::read_all(&path, &limits).expect_err("a bomb of many parts");
    assert_eq!(error.kind(), crate::io::IoErrorKind::Limit);
    let all = crate::io::read_all(&path, &Limits::default()).expect("read");
    assert_eq!((all.len(), all[0].0.as_str()), (50, "../0"));
}
