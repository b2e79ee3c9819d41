//! Files of constants that are read, and change meanwhile.

use super::*;
use crate::op::OpErrorKind;

fn open(path: &Path, more: impl FnOnce(&mut Limits)) -> BinFile {
    let mut limits = Limits::untrusted();
    more(&mut limits);
    BinFile::beside(path, &limits)
}

fn message(result: Result<SharedBytes, OpError>) -> String {
    result.expect_err("refused").message
}

#[test]
fn what_shrinks_or_is_replaced_is_an_error() {
    let home = tempfile::tempdir().expect("a folder");
    let (model, bin) = (home.path().join("m.xml"), home.path().join("m.bin"));
    std::fs::write(&model, b"").expect("written");
    std::fs::write(&bin, [1, 2, 3, 4, 5, 6]).expect("written");
    let file = open(&model, |_| {});
    assert_eq!(file.len(), Some(6));
    let error = "needs 4 bytes of m.bin at 3, the file has 6";
    assert_eq!(message(file.slice(3, 4)), error);
    assert!(file.slice(u64::MAX, 4).is_err());
    let later = file.stored(2, 4).expect("they are there");
    let first = file.stored(0, 2).expect("they are there");
    assert_eq!(first.get().expect("read").as_bytes(), [1, 2]);
    std::fs::File::options()
        .write(true)
        .open(&bin)
        .and_then(|f| f.set_len(4))
        .expect("shorter");
    let error = "needs 4 bytes of m.bin at 2, the file has 4";
    assert_eq!(message(later.get()), error);
    // What was read stays as it was.
    std::fs::write(home.path().join("new"), [9; 6]).expect("written");
    std::fs::rename(home.path().join("new"), &bin).expect("renamed");
    assert_eq!(file.slice(0, 2).expect("seen").as_bytes(), [1, 2]);
    if cfg!(unix) {
        assert!(message(later.get()).contains("another file"));
    }
    std::fs::remove_file(&bin).expect("removed");
    assert!(message(later.get()).starts_with("needs 4 bytes of m.bin at 2: "));
}

#[test]
fn only_what_is_needed_is_read() {
    let home = tempfile::tempdir().expect("a folder");
    let model = home.path().join("m.xml");
    std::fs::write(&model, b"").expect("written");
    let bin = std::fs::File::create(home.path().join("m.bin")).expect("created");
    bin.set_len(10 << 30).expect("a file with a hole");
    let file = open(&model, |_| {});
    assert_eq!(file.slice(9 << 30, 4).expect("read").as_bytes(), [0; 4]);
    // Again and again the same, or together too much.
    let tight = open(&model, |limits| {
        limits.file_bytes = 20;
        limits.tensor_bytes = 12;
    });
    for _ in 0..3 {
        assert_eq!(tight.slice(8, 12).expect("small").len(), 12);
    }
    for (offset, len) in [(8, 13), (9, 12)] {
        let error = tight.slice(offset, len).expect_err("too much");
        assert_eq!(error.kind, OpErrorKind::Limit, "{}", error.message);
    }
}

#[cfg(unix)]
#[test]
#[cfg_attr(miri, ignore = "starts a program")]
fn links_and_pipes_are_refused() {
    let home = tempfile::tempdir().expect("a folder");
    let (model, bin) = (home.path().join("m.xml"), home.path().join("m.bin"));
    std::fs::write(&model, b"").expect("written");
    let secret = tempfile::NamedTempFile::new().expect("a file elsewhere");
    std::fs::write(secret.path(), [7; 4]).expect("written");
    std::os::unix::fs::symlink(secret.path(), &bin).expect("a link");
    for map in [false, true] {
        let refused = open(&model, |limits| limits.map = map);
        assert!(message(refused.slice(0, 4)).contains("a link out of the model's folder"));
        let allowed = open(&model, |limits| {
            limits.map = map;
            limits.allow_outside = true;
        });
        assert_eq!(allowed.slice(0, 4).expect("allowed").as_bytes(), [7; 4]);
    }
    std::fs::remove_file(&bin).expect("removed");
    let fifo = std::process::Command::new("mkfifo").arg(&bin).status();
    assert!(fifo.expect("mkfifo runs").success());
    for map in [false, true] {
        let refused = open(&model, |limits| limits.map = map);
        assert!(message(refused.slice(0, 4)).contains("not a regular file"));
    }
}

#[test]
fn what_is_released_is_read_again() {
    let home = tempfile::tempdir().expect("a folder");
    let path = home.path().join("m.bin");
    let all: Vec<u8> = (0..30_000u32).map(|i| (i * 7 % 251) as u8).collect();
    std::fs::write(&path, &all).expect("written");
    let bytes = map(&path).expect("mapped");
    let part = bytes.slice(5_000, 20_000).expect("inside");
    for _ in 0..2 {
        assert_eq!(part.as_bytes(), &all[5_000..25_000]);
        part.release();
    }
    assert_eq!(bytes.as_bytes(), all);
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        let maps = || std::fs::read_to_string("/proc/self/smaps").expect("of this process");
        let resident = || {
            let maps = maps();
            let (_, of_file) = maps
                .split_once(path.to_str().expect("UTF-8"))
                .expect("mapped");
            let (_, kilobytes) = of_file.split_once("Rss:").expect("told");
            kilobytes
                .split_whitespace()
                .next()
                .expect("a number")
                .to_owned()
        };
        assert_ne!(resident(), "0");
        bytes.release();
        assert_eq!(resident(), "0");
    }
}
