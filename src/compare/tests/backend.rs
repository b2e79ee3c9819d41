//! What a Python does wrong: scripts stand for it.

use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

use super::*;
use crate::limits::CancelToken;

/// A `python` that does this, with its arguments: the script and the request.
fn python(script: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("python");
    fs::write(
        &path,
        format!("#!/bin/sh\nfolder=$(dirname \"$2\")\n{script}\n"),
    )
    .expect("a script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
    (folder, path)
}

fn ask(python: &Path, limits: &Limits) -> Result<Answer> {
    let runtime = Runtime {
        kind: RuntimeKind::OpenVino,
        device: "CPU".to_owned(),
    };
    let mut backend = Python::new(python, runtime, Path::new("model.xml"), &[], limits)?;
    let inputs = [("x".to_owned(), Tensor::vector(&[1f32, 2.0]))];
    let taps = [Tap {
        key: "k".to_owned(),
        layer: "l".to_owned(),
        output: 0,
        names: Vec::new(),
    }];
    backend.evaluate(&inputs, &taps, true)
}

fn error(script: &str) -> String {
    let (_folder, python) = python(script);
    let error = ask(&python, &Limits::default()).expect_err(script);
    assert_eq!(
        (error.kind(), error.kind().exit_code()),
        (Kind::Backend, 6),
        "{error}"
    );
    let text = error.to_string();
    assert_eq!(text.lines().count(), 1, "{text}");
    text.replace(&*python.to_string_lossy(), "PYTHON")
}

#[test]
fn every_failure_is_one_line() {
    let missing = ask(Path::new("/nowhere/python"), &Limits::default()).expect_err("no such file");
    assert_eq!(missing.kind(), Kind::Backend);
    let text = missing.to_string();
    assert!(
        text.starts_with("cannot run /nowhere/python: ") && text.ends_with("--python"),
        "{text}"
    );
    let answer = |json: &str| error(&format!("printf %s '{json}' > \"$folder/answer.json\""));
    assert_eq!(
        answer(
            r#"{"error": {"stage": "import openvino", "kind": "ModuleNotFoundError", "message": "x"}}"#
        ),
        "PYTHON has no package openvino; install it (`PYTHON -m pip install openvino`) or name \
         another Python with --python"
    );
    assert_eq!(
        answer(
            r#"{"error": {"stage": "import openvino", "kind": "ImportError", "message": "libx"}}"#
        ),
        "PYTHON cannot import openvino: libx"
    );
    assert_eq!(
        answer(
            r#"{"error": {"stage": "compile the model for CPU", "kind": "E", "message": "no\nway"}}"#
        ),
        "openvino cannot compile the model for CPU: no\\nway"
    );
    assert_eq!(answer("nonsense"), "the answer of openvino has no JSON");
    assert!(answer("{}").starts_with("the answer of openvino has no tensors: "));
    let text =
        error("printf 'read the model' > \"$folder/stage\"; echo oh >&2; echo no >&2; exit 3");
    assert_eq!(
        text,
        "PYTHON ended with exit status: 3 while it was to read the model: no"
    );
    assert_eq!(error("kill -9 $$"), "PYTHON was ended by signal 9");
}

#[test]
fn time_and_cancellation_end_the_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let pid = folder.path().join("pid");
    let script = format!("echo $$ > '{}'; exec sleep 1000", pid.display());
    let (_folder, python) = python(&script);
    let mut limits = Limits {
        deadline: Some(Instant::now() + Duration::from_millis(300)),
        ..Limits::default()
    };
    let error = ask(&python, &limits).expect_err("late");
    assert_eq!(error.kind(), Kind::Deadline);
    let token = CancelToken::new();
    (limits.deadline, limits.cancel) = (None, Some(token.clone()));
    let waiter = thread::spawn({
        let pid = pid.clone();
        move || {
            while fs::read_to_string(&pid).map_or(true, |text| text.is_empty()) {
                thread::sleep(PAUSE);
            }
            token.cancel();
        }
    });
    fs::remove_file(&pid).ok();
    let error = ask(&python, &limits).expect_err("cancelled");
    assert_eq!(error.kind(), Kind::Cancelled);
    waiter.join().expect("a thread");
    let pid = fs::read_to_string(&pid).expect("written");
    assert!(
        !Path::new("/proc").join(pid.trim()).exists(),
        "the process still runs"
    );
}

#[test]
fn an_answer_is_read() {
    // The request's own tensors come back: as an output, and as what was asked for.
    let script = r#"
cp "$folder/inputs.npz" "$folder/outputs.npz"
grep -q '"layer":"l"' "$folder/request.json" || exit 1
cat > "$folder/answer.json" <<'END'
{"versions": {"openvino": "9.9"}, "device": "Fake", "executed": [
  {"name": "n", "type": "T", "primitive": "p", "precision": "f32", "layers": ["a", "b"]}],
 "outputs": [{"entry": "0", "element_type": "f32", "names": ["y"]}],
 "taps": [{"entry": "0", "element_type": "f32"}]}
END"#;
    let (_folder, python) = python(script);
    let answer = ask(&python, &Limits::default()).expect("an answer");
    let limits = Limits::default();
    let tensor = |named: &Named| named.load(&limits).expect("a tensor");
    assert_eq!(answer.run.outputs()[0].name(), "y");
    assert_eq!(
        tensor(&answer.run.outputs()[0]),
        Tensor::vector(&[1f32, 2.0])
    );
    let layer = answer.run.layer("k").expect("the tensor asked for");
    assert_eq!(tensor(layer), Tensor::vector(&[1f32, 2.0]));
    assert_eq!(answer.versions, [("openvino".to_owned(), "9.9".to_owned())]);
    assert_eq!(
        (answer.device.as_str(), answer.executed[0].layers.len()),
        ("Fake", 2)
    );
    assert_eq!(answer.run.title, "openvino:CPU:model.xml");
}
