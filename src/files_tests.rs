//! What is no regular file, and what lies about itself.

use std::time::{Duration, Instant};

use super::*;
use crate::limits::CancelToken;

#[test]
fn a_limit_holds_whatever_is_said() {
    let limits = Limits::default();
    let mut ten = [7u8; 10].as_slice();
    let read = read_from(&mut ten, Some(3), 10, &limits);
    assert_eq!(read.expect("all of it"), [7; 10]);
    for said in [None, Some(0), Some(9)] {
        let error = read_from(&mut io::repeat(1), said, 9, &limits).expect_err("endless");
        assert_eq!(error.to_string(), "has 10 bytes, the limit is 9");
    }
    let error = read_from(&mut io::empty(), Some(1 << 60), u64::MAX, &limits);
    assert!(matches!(error, Err(Unread::Memory(_))), "{error:?}");
    let error = read_from(&mut io::empty(), Some(11), 10, &limits).expect_err("too large");
    assert_eq!(error.to_string(), "has 11 bytes, the limit is 10");
}

#[test]
fn reading_ends_when_it_is_told_to() {
    let token = CancelToken::new();
    token.cancel();
    let limits = Limits {
        cancel: Some(token),
        ..Limits::default()
    };
    let error = read_from(&mut io::repeat(1), None, u64::MAX, &limits);
    assert!(matches!(error, Err(Unread::Stopped(Stop::Cancelled))));
    let limits = Limits {
        deadline: Some(Instant::now() + Duration::from_millis(5)),
        ..Limits::default()
    };
    let error = read_from(&mut io::repeat(1), None, 1 << 40, &limits);
    assert!(matches!(error, Err(Unread::Stopped(Stop::Late))));
}

#[cfg(unix)]
#[test]
fn only_regular_files_are_opened() {
    let home = tempfile::tempdir().expect("a folder");
    let at = |name: &str| home.path().join(name);
    let fifo = std::process::Command::new("mkfifo")
        .arg(at("fifo"))
        .status();
    assert!(fifo.expect("mkfifo runs").success());
    std::os::unix::fs::symlink(at("a"), at("b")).expect("a link");
    std::os::unix::fs::symlink(at("b"), at("a")).expect("a link");
    std::os::unix::fs::symlink(at("fifo"), at("to-fifo")).expect("a link");
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).expect("a socket");
    for (path, message) in [
        (at("fifo"), "not a regular file"),
        (at("to-fifo"), "not a regular file"),
        (at("socket"), "not a regular file"),
        ("/dev/zero".into(), "not a regular file"),
        ("/dev/null".into(), "not a regular file"),
        (home.path().to_owned(), "is a directory"),
        (at("a"), "symbolic link"),
        (at("none"), "No such file"),
        (at("a\0b"), "NUL byte"),
    ] {
        let error = open(&path).expect_err(message).to_string();
        assert!(error.contains(message), "{path:?}: {error}");
    }
    assert!(open_or_pipe(Path::new("/dev/zero")).is_err());
    std::fs::write(at("file"), b"abc").expect("written");
    assert_eq!(open(&at("file")).expect("regular").1, 3);
    // Such a file says that it is empty.
    #[cfg(target_os = "linux")]
    {
        let status = Path::new("/proc/self/status");
        let read = read(status, 1 << 20, &Limits::default()).expect("a file of the system");
        assert!(read.starts_with(b"Name:"));
    }
}

#[cfg(unix)]
#[test]
fn a_model_has_the_files_of_its_folders() {
    let (one, two) = (
        tempfile::tempdir().expect("a folder"),
        tempfile::tempdir().expect("a folder"),
    );
    let model = one.path().join("model.xml");
    let bin = one.path().join("model.bin");
    std::fs::write(&model, b"").expect("written");
    std::fs::write(two.path().join("elsewhere"), b"").expect("written");
    let limits = Limits::default();
    let missing = of_model(&model, &bin, &limits);
    assert!(matches!(missing, Err(Refused::System(_))), "{missing:?}");
    std::os::unix::fs::symlink(two.path().join("elsewhere"), &bin).expect("a link");
    let outside = of_model(&model, &bin, &limits);
    assert!(matches!(outside, Err(Refused::Outside)), "{outside:?}");
    let allowed = Limits {
        allow_outside: true,
        ..Limits::default()
    };
    assert!(of_model(&model, &bin, &allowed).is_ok());
    // Both are links into one folder, as some caches keep them.
    std::fs::write(two.path().join("text"), b"").expect("written");
    std::fs::remove_file(&model).expect("removed");
    std::os::unix::fs::symlink(two.path().join("text"), &model).expect("a link");
    assert!(of_model(&model, &bin, &limits).is_ok());
}
