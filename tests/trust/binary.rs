//! A dozen rows of the table through the command line itself.

use std::process::Command;

use super::{PLAIN, edited, floats, ints, operation};

/// Name, document, weights, further arguments, exit code, and a phrase.
type Row = (
    &'static str,
    String,
    Vec<u8>,
    &'static [&'static str],
    i32,
    &'static str,
);

#[test]
fn exit_codes_and_messages() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("m.xml");
    let bomb = operation(
        "Broadcast-3",
        "mode='numpy'",
        &[floats(&[]), ints(&[200_000, 200_000])],
        |_| true,
    );
    let nothing = Vec::new;
    let rows: Vec<Row> = vec![
        (
            "right",
            PLAIN.to_owned(),
            nothing(),
            &["-i", "x=[[1,2,3],[4,5,6]]"],
            0,
            "",
        ),
        (
            "empty",
            String::new(),
            nothing(),
            &[],
            3,
            "m.xml:1:1: the document has no element",
        ),
        (
            "cut off",
            PLAIN[..400].to_owned(),
            nothing(),
            &[],
            3,
            "m.xml:",
        ),
        (
            "two roots",
            format!("{PLAIN}<net/>"),
            nothing(),
            &[],
            3,
            "m.xml:",
        ),
        (
            "attribute twice",
            edited(&[("id=\"1\" name", "id=\"1\" id=\"1\" name")]),
            nothing(),
            &[],
            3,
            "m.xml:8:",
        ),
        (
            "unknown type",
            edited(&[("ReLU", "ReLUU")]),
            nothing(),
            &[],
            4,
            "ReLUU",
        ),
        (
            "terminal codes",
            edited(&[("type=\"ReLU\"", "type=\"a&#10;b\"")]),
            nothing(),
            &[],
            4,
            "a\\nb",
        ),
        (
            "edge to nowhere",
            edited(&[("to-layer=\"1\"", "to-layer=\"77\"")]),
            nothing(),
            &[],
            3,
            "77",
        ),
        (
            "rank 10,000",
            edited(&[(
                "shape=\"2,3\"",
                &format!("shape=\"{}\"", vec!["1"; 10_000].join(",")),
            )]),
            nothing(),
            &[],
            5,
            "10000",
        ),
        ("a bomb", bomb.0, bomb.1, &[], 5, "m.xml:"),
        (
            "other shape",
            PLAIN.to_owned(),
            nothing(),
            &["-i", "x=[1,2]"],
            3,
            "input \"x\"",
        ),
        (
            "pickled",
            PLAIN.to_owned(),
            nothing(),
            &["-i", "x=p.npy"],
            3,
            "p.npy: holds pickled Python objects",
        ),
    ];
    let mut pickled = b"\x93NUMPY\x01\x00\x40\x00".to_vec();
    let header = "{'descr': '|O', 'fortran_order': False, 'shape': (2, 3), }";
    pickled.extend(format!("{header:<63}\n").bytes());
    std::fs::write(folder.path().join("p.npy"), pickled).expect("written");
    for (name, document, weights, arguments, code, phrase) in rows {
        std::fs::write(&path, document).expect("written");
        std::fs::write(path.with_extension("bin"), weights).expect("written");
        for trust in [&[][..], &["--untrusted"]] {
            let output = Command::new(env!("CARGO_BIN_EXE_ovir"))
                .current_dir(folder.path())
                .args(["eval", "m.xml"])
                .args(arguments)
                .args(trust)
                .env("NO_COLOR", "1")
                .output()
                .expect("the binary runs");
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(code), "{name} {trust:?}: {text}");
            assert!(text.contains(phrase), "{name} {trust:?}: {text}");
            assert!(
                !text.contains("panicked") && !text.contains('\u{1b}'),
                "{name} {trust:?}: {text}"
            );
        }
    }
}
