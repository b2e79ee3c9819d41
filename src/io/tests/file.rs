//! Files that cannot be written to the end.

use super::*;
use crate::io::{npy, npz, safetensors};
use crate::tensor::Tensor;

fn entries(folder: &Path) -> usize {
    fs::read_dir(folder).expect("listed").count()
}

#[test]
fn an_error_leaves_what_was_there() {
    let home = tempfile::tempdir().expect("a folder");
    let path = home.path().join("x.npy");
    fs::write(&path, b"before").expect("written");
    // Enough for some of it to be in the file, not in memory.
    let error = write(&path, |out| {
        out.write_all(&[0; 1 << 20])
            .map_err(|e| IoError::system("write", e))?;
        Err(IoError::system(
            "write",
            std::io::ErrorKind::StorageFull.into(),
        ))
    });
    let error = error.expect_err("no space").to_string();
    assert!(
        error.starts_with(&format!("{}: cannot write: ", path.display())),
        "{error}"
    );
    assert_eq!(fs::read(&path).expect("there"), b"before");
    assert_eq!(entries(home.path()), 1);
    let long = home.path().join("n".repeat(250));
    write(&long, |_| Ok(())).expect("a name as long as names can be");
}

/// Every format, to a device that is full: at the first byte and after many.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_with_the_path() {
    let home = tempfile::tempdir().expect("a folder");
    let small = Tensor::vector(&[1f32; 4]);
    let large = Tensor::vector(&[1f32; 100_000]);
    for tensor in [&small, &large] {
        for name in ["x.npy", "x.npz", "x.safetensors", "x.bin"] {
            let path = home.path().join(name);
            let _ = fs::remove_file(&path);
            std::os::unix::fs::symlink("/dev/full", &path).expect("a link");
            let written = match name {
                "x.npy" => npy::write(&path, tensor),
                "x.npz" => npz::write(&path, [("x", tensor), ("y", tensor)]),
                "x.bin" => crate::io::raw::write(&path, tensor),
                _ => safetensors::write(&path, [("x", tensor)]),
            };
            let error = written.expect_err("full").to_string();
            let start = format!("{}: cannot write: No space left", path.display());
            let entry = format!("{}: entry `x`: cannot write: No space left", path.display());
            assert!(
                error.starts_with(&start) || error.starts_with(&entry),
                "{error}"
            );
        }
    }
    assert_eq!(entries(home.path()), 4);
}

#[test]
fn a_folder_that_vanished_is_named() {
    let home = tempfile::tempdir().expect("a folder");
    let path = home.path().join("gone/x.npz");
    let error = npz::write(&path, []).expect_err("no folder").to_string();
    assert!(
        error.starts_with(&format!("{}: cannot write: ", path.display())),
        "{error}"
    );
}
