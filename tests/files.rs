//! Files that are not what they seem, names that a terminal should not see, and outputs that cannot
//! be written, as a user of the command line meets them.

use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::program::{command, ovir};
use crate::support::project;

const GATHER: &str = "ir-samples/ops/movement/gather-8/example-7.xml";
const INPUTS: [&str; 4] = ["-i", "data=[1,2,3,4,5]", "-i", "indices=[3,10,-20]"];

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// One line on the channel of errors, and the exit code.
fn fails(arguments: &[&str], code: i32) -> String {
    let output = ovir(arguments);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(!error.contains("panicked"), "{error}");
    error
}

fn home() -> (tempfile::TempDir, impl Fn(&str) -> PathBuf) {
    let home = tempfile::tempdir().expect("a folder");
    let path = home.path().to_owned();
    (home, move |name| path.join(name))
}

fn utf8(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn fifo(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status();
    assert!(made.expect("mkfifo runs").success());
}

#[test]
fn nothing_but_regular_files_is_opened() {
    let (_home, at) = home();
    for name in [
        "m.xml",
        "m.onnx",
        "x.npy",
        "x.npz",
        "x.safetensors",
        "x.json",
    ] {
        fifo(&at(name));
    }
    std::fs::create_dir(at("d.xml")).expect("made");
    symlink(at("l.xml"), at("l.xml")).expect("a link");
    symlink("/dev/zero", at("z.xml")).expect("a link");
    symlink("/dev/zero", at("z.npy")).expect("a link");
    for name in ["m.xml", "m.onnx", "d.xml", "l.xml", "z.xml"] {
        for subcommand in ["eval", "check", "inspect", "shapes", "bench"] {
            let error = fails(&[subcommand, utf8(&at(name))], 3);
            assert!(error.contains(name), "{error}");
        }
    }
    for name in ["x.npy", "x.npz", "x.safetensors", "z.npy"] {
        let value = format!("data={}", utf8(&at(name)));
        let error = fails(&["eval", GATHER, "-i", &value], 3);
        assert!(
            error.contains(name) && error.contains("not a regular file"),
            "{error}"
        );
    }
    for name in ["x.npz", "x.json", "x.safetensors"] {
        let error = fails(&["eval", GATHER, "-i", utf8(&at(name))], 3);
        assert!(
            error.contains(name) && error.contains("not a regular file"),
            "{error}"
        );
    }
    let zero = fails(&["eval", GATHER, "-i", "data=raw:/dev/zero"], 3);
    assert!(
        zero.contains("/dev/zero: cannot open the file: not a regular file"),
        "{zero}"
    );
}

/// A model of one constant of four f32, whose bytes are in the .bin file.
fn constant(name: &str) -> String {
    format!(
        r#"<net name="{name}" version="11"><layers>
<layer id="0" name="{name}" type="Const" version="opset1"><data element_type="f32" shape="4" offset="0" size="16"/>
<output><port id="0" precision="FP32"><dim>4</dim></port></output></layer>
<layer id="1" name="out" type="Result" version="opset1"><input><port id="0" precision="FP32"><dim>4</dim></port></input></layer>
</layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/></edges></net>"#
    )
}

#[test]
fn weights_stay_in_their_folder_unless_they_may_leave_it() {
    let (_home, at) = home();
    let elsewhere = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(elsewhere.path(), [0; 16]).expect("written");
    std::fs::write(at("m.xml"), constant("w")).expect("written");
    symlink(elsewhere.path(), at("m.bin")).expect("a link");
    let model = at("m.xml");
    let error = fails(&["eval", utf8(&model)], 3);
    assert!(
        error.contains("m.xml:") && error.contains("layer 0 \"w\""),
        "{error}"
    );
    assert!(
        error.contains("m.bin at 0: it is a link out of the model's folder"),
        "{error}"
    );
    for subcommand in ["eval", "check", "inspect", "shapes", "bench"] {
        let output = ovir(&[subcommand, utf8(&model), "--allow-outside"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
}

/// What a terminal takes for a command, or does not show.
fn hidden(c: char) -> bool {
    c != '\n' && c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[test]
fn names_are_shown_without_what_they_hide() {
    let (_home, at) = home();
    let name = "a&#x7f;&#x85;&#x9b;31m&#x202e;&#x2066;&#x200b;&#xfeff;&#10;&#9;z";
    std::fs::write(at("m.bin"), [0; 16]).expect("written");
    let good = at("good.xml");
    std::fs::write(&good, constant(name)).expect("written");
    std::fs::write(at("good.bin"), [0; 16]).expect("written");
    let bad = at("bad\u{1b}[2J\u{202e}.xml");
    let raw = "\u{9b}\u{85}\u{202e}\u{200b}\u{2066}";
    let broken = constant(name).replace("size=\"16\"", &format!("size=\"{raw}1\" {raw}=\"1\""));
    std::fs::write(&bad, broken.replace("FP32", &format!("FP{raw}"))).expect("written");
    for arguments in [
        &["inspect", "--layers"][..],
        &["inspect", "--layers", "--json"],
        &["check"],
        &["check", "--json"],
        &["shapes"],
        &["shapes", "--json"],
        &["eval"],
        &["eval", "--json"],
        &["bench", "--json"],
        &["eval", "--dump", "no such layer", "--to", "nowhere.npz"],
        &["eval", "-i", "\u{202e}=[1]"],
    ] {
        for model in [&good, &bad] {
            let all = [&arguments[..1], &[utf8(model)], &arguments[1..]].concat();
            let output = ovir(&all);
            for shown in [text(&output.stdout), text(&output.stderr)] {
                assert!(!shown.chars().any(hidden), "{all:?}: {shown:?}");
            }
        }
    }
}

#[test]
fn dumped_files_stay_in_their_folder_and_apart() {
    let (_home, at) = home();
    let names = [
        "../../x",
        "a/b",
        "a_b",
        "A_B",
        "con",
        "",
        ".",
        "2_a_b.0",
        "é/..",
        &"模".repeat(90),
    ];
    let mut layers = String::new();
    let mut edges = String::new();
    for (index, name) in names.iter().enumerate() {
        let (layer, result) = (2 * index, 2 * index + 1);
        layers += &format!(
            r#"<layer id="{layer}" name="{name}" type="Const" version="opset1"><data element_type="f32" shape="4" offset="0" size="16"/>
<output><port id="0" precision="FP32"><dim>4</dim></port></output></layer>
<layer id="{result}" name="r{result}" type="Result" version="opset1"><input><port id="0" precision="FP32"><dim>4</dim></port></input></layer>"#
        );
        edges += &format!(
            r#"<edge from-layer="{layer}" from-port="0" to-layer="{result}" to-port="0"/>"#
        );
    }
    let model = format!(
        r#"<net name="m" version="11"><layers>{layers}</layers><edges>{edges}</edges></net>"#
    );
    std::fs::write(at("m.xml"), model).expect("written");
    std::fs::write(at("m.bin"), [0; 16]).expect("written");
    let (model, to) = (at("m.xml"), at("deep/dump"));
    let output = ovir(&[
        "eval",
        utf8(&model),
        "--dump",
        "type:Const",
        "--to",
        utf8(&to),
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let mut found: Vec<String> = std::fs::read_dir(&to)
        .expect("listed")
        .map(|entry| {
            entry
                .expect("listed")
                .file_name()
                .to_string_lossy()
                .to_lowercase()
        })
        .collect();
    found.sort();
    found.dedup();
    assert_eq!(found.len(), names.len(), "{found:?}");
    assert!(
        found
            .iter()
            .all(|name| !name.starts_with('.') && name != "con.npy"),
        "{found:?}"
    );
    let around = std::fs::read_dir(at("deep")).expect("listed").count();
    assert_eq!(around, 1, "nothing beside the folder");
}

#[test]
fn a_closed_pipe_ends_a_command_in_silence() {
    for arguments in [
        &["ops"][..],
        &["help", "eval"],
        &["ops", "--json"],
        &["inspect", GATHER],
    ] {
        let mut child = command(&project(""), arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        // Closed before anything is read.
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(text(&output.stderr), "", "{arguments:?}");
        assert_ne!(output.status.code(), Some(101), "{arguments:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_written_is_an_error_with_its_path() {
    let (_home, at) = home();
    let full = || std::fs::File::options().write(true).open("/dev/full");
    for arguments in [&["ops"][..], &["inspect", GATHER, "--json"]] {
        let output = command(&project(""), arguments)
            .stdout(full().expect("the device"))
            .stderr(Stdio::piped())
            .output()
            .expect("the binary runs");
        assert_eq!(output.status.code(), Some(3));
        assert!(text(&output.stderr).starts_with("error: standard output: No space left"));
    }
    let eval = |more: &[&str]| {
        let arguments = [&["eval", GATHER], &INPUTS[..], more].concat();
        fails(&arguments, 3)
    };
    for name in ["x.npy", "x.npz", "x.safetensors"] {
        symlink("/dev/full", at(name)).expect("a link");
        let error = eval(&["-o", utf8(&at(name))]);
        assert!(
            error.contains(name) && error.contains("No space left"),
            "{error}"
        );
        let error = eval(&["-o", utf8(&at("gone").join(name))]);
        assert!(
            error.contains(name) && error.contains("No such file"),
            "{error}"
        );
    }
    let error = eval(&["--dump", "*", "--to", utf8(&at("x.npz"))]);
    assert!(
        error.contains("x.npz") && error.contains("No space left"),
        "{error}"
    );
    std::fs::write(at("file"), b"").expect("written");
    let error = eval(&["--dump", "*", "--to", utf8(&at("file").join("dump"))]);
    assert!(
        error.contains("dump") && error.contains("Not a directory"),
        "{error}"
    );
    assert_eq!(std::fs::read_dir(at(".")).expect("listed").count(), 4);
}

/// With little memory to be had, a large tensor is an error and not the end of the process.
#[cfg(target_os = "linux")]
#[test]
fn without_memory_there_is_an_error() {
    let (_home, at) = home();
    let ports = |dims: &str| {
        let dims: String = dims.split(',').map(|d| format!("<dim>{d}</dim>")).collect();
        format!(r#"<port id="0" precision="FP32">{dims}</port>"#)
    };
    let (small, large) = (ports("1"), ports("30000,30000"));
    let model = format!(
        r#"<net name="m" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data element_type="f32" shape="1"/><output>{small}</output></layer>
<layer id="1" name="shape" type="Const" version="opset1"><data element_type="i64" shape="2" offset="0" size="16"/><output><port id="0" precision="I64"><dim>2</dim></port></output></layer>
<layer id="2" name="all" type="Broadcast" version="opset3"><data mode="numpy"/><input>{small}<port id="1" precision="I64"><dim>2</dim></port></input><output>{}</output></layer>
<layer id="3" name="out" type="Result" version="opset1"><input>{large}</input></layer>
</layers><edges><edge from-layer="0" from-port="0" to-layer="2" to-port="0"/><edge from-layer="1" from-port="0" to-layer="2" to-port="1"/><edge from-layer="2" from-port="2" to-layer="3" to-port="0"/></edges></net>"#,
        large.replace(r#"id="0""#, r#"id="2""#)
    );
    std::fs::write(at("m.xml"), model).expect("written");
    std::fs::write(at("m.bin"), [30_000u64.to_le_bytes(); 2].concat()).expect("written");
    let run = |arguments: &str| {
        let output = Command::new("sh")
            .current_dir(at("."))
            .args(["-c", &format!("ulimit -v 2000000; exec \"$0\" {arguments}")])
            .arg(env!("CARGO_BIN_EXE_ovir"))
            .output()
            .expect("the shell runs");
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(5), "{arguments}: {error}");
        assert!(
            error.contains("cannot allocate 3600000000 bytes"),
            "{error}"
        );
    };
    run("eval m.xml -i x=[1]");
    // A file with a hole, of a size that is allowed.
    let hole = std::fs::File::create(at("x.npy")).expect("created");
    let mut header = b"\x93NUMPY\x01\0".to_vec();
    let text = "{'descr': '|u1', 'fortran_order': True, 'shape': (3600000000,)}";
    header.extend((text.len() as u16).to_le_bytes());
    header.extend(text.as_bytes());
    let mut file = &hole;
    file.write_all(&header).expect("written");
    hole.set_len(3_600_000_000).expect("a hole");
    run("eval m.xml -i x=x.npy");
    run("eval m.xml -i x.npy");
}

/// Bytes come from a pipe where the user asks for it.
#[test]
fn standard_input_is_an_input() {
    let arguments = [
        "eval",
        GATHER,
        "-i",
        "data=raw:/dev/stdin",
        "-i",
        "indices=[3,10,-20]",
    ];
    let mut child = command(&project(""), &arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let bytes: Vec<u8> = [1i32, 2, 3, 4, 5]
        .iter()
        .flat_map(|n| n.to_le_bytes())
        .collect();
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(&bytes).expect("written");
    drop(stdin);
    let mut shown = String::new();
    let mut stdout = child.stdout.take().expect("a pipe");
    stdout.read_to_string(&mut shown).expect("read");
    assert!(child.wait().expect("it ends").success());
    assert!(shown.contains("[4, 0, 0]"), "{shown}");
}
