//! Limits, time and interruption of the command line.

use std::fs;
use std::process::{Command, Output};

use crate::program::command;
use crate::support::project;

const GATHER: &str = "ir-samples/ops/movement/gather-8/example-7.xml";

fn fails(arguments: &[&str], code: i32) -> String {
    let output: Output = command(&project(""), arguments)
        .output()
        .expect("the binary runs");
    let text = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(code), "{text}");
    text
}

/// A Loop that never ends.
fn endless() -> String {
    let parameter = |id: u32, ty: &str| {
        format!(
            "<layer id='{id}' name='p{id}' type='Parameter' version='opset1'>\
             <data element_type='{ty}' shape=''/><output><port id='0' precision='FP32'/></output></layer>"
        )
    };
    let result = |id: u32| {
        format!(
            "<layer id='{id}' name='r{id}' type='Result' version='opset1'>\
             <input><port id='0'/></input></layer>"
        )
    };
    format!(
        "<net name='m' version='11'><layers>{}{}{}<layer id='3' name='loop' type='Loop' version='opset5'>\
         <port_map><input external_port_id='1' internal_layer_id='0'/>\
         <input external_port_id='2' internal_layer_id='1'/>\
         <output external_port_id='3' internal_layer_id='2'/>\
         <output external_port_id='-1' internal_layer_id='3' purpose='execution_condition'/>\
         </port_map><input><port id='0'/><port id='1'/><port id='2'/></input>\
         <output><port id='3' precision='FP32'/></output><body><layers>{}{}{}{}</layers><edges>\
         <edge from-layer='1' from-port='0' to-layer='2' to-port='0'/>\
         <edge from-layer='0' from-port='0' to-layer='3' to-port='0'/></edges></body></layer>{}\
         </layers><edges><edge from-layer='0' from-port='0' to-layer='3' to-port='0'/>\
         <edge from-layer='1' from-port='0' to-layer='3' to-port='1'/>\
         <edge from-layer='2' from-port='0' to-layer='3' to-port='2'/>\
         <edge from-layer='3' from-port='3' to-layer='4' to-port='0'/></edges></net>",
        parameter(0, "i64"),
        parameter(1, "boolean"),
        parameter(2, "f32"),
        parameter(0, "boolean"),
        parameter(1, "f32"),
        result(2),
        result(3),
        result(4),
    )
}

const FOR_EVER: [&str; 6] = ["-i", "0=-1", "-i", "1=true", "-i", "2=0.5"];

#[test]
fn limits_by_name() {
    let text = fails(&["check", GATHER, "--limit", "layer=3"], 2);
    assert!(
        text.contains("did you mean `layers`? the limits are document-bytes, layers,"),
        "{text}"
    );
    fails(&["inspect", GATHER, "--limit", "layers"], 2);
    fails(&["shapes", GATHER, "--limit", "rank=MiB"], 2);
    fails(&["bench", GATHER, "--timeout", "soon"], 2);
    for command in ["eval", "inspect", "shapes", "bench"] {
        let text = fails(&[command, GATHER, "--limit", "layers=2"], 5);
        assert!(text.contains("2"), "{text}");
    }
    fails(&["check", GATHER, "--limit", "document-bytes=1KiB"], 5);
    let inputs = ["-i", "data=[1,2,3,4,5]", "-i", "indices=[0,0,0]"];
    let mut all = vec!["eval", GATHER, "--untrusted", "--limit", "output-bytes=11"];
    all.extend(inputs);
    fails(&all, 5);
    all[4] = "output-bytes=1KiB";
    assert!(
        command(&project(""), &all)
            .output()
            .expect("runs")
            .status
            .success()
    );
}

#[test]
fn the_time_of_a_command_is_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("endless.xml");
    fs::write(&path, endless()).expect("a model");
    let path = path.to_str().expect("UTF-8");
    let mut all = vec!["eval", path, "--timeout", "50ms"];
    all.extend(FOR_EVER);
    let text = fails(&all, 124);
    assert!(text.contains("the time limit is over"), "{text}");
    for command in ["eval", "check", "inspect", "shapes", "bench"] {
        fails(&[command, GATHER, "--timeout", "0s"], 124);
    }
    all[3] = "1h";
    all.extend(["--limit", "loop-trips=1000"]);
    fails(&all, 5);
}

#[cfg(target_os = "linux")]
mod signals {
    use std::process::{Child, Stdio};
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;

    fn send(signal: &str, child: &Child) {
        let pid = child.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status();
        assert!(sent.expect("kill runs").success());
    }

    /// Starts an evaluation, and waits until it handles signals.
    fn start(arguments: &[&str]) -> Child {
        let mut command = command(&project(""), arguments);
        let mut child = command.stderr(Stdio::piped()).spawn().expect("starts");
        let caught = |child: &Child| {
            let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
            let mask = status
                .lines()
                .find_map(|l| l.strip_prefix("SigCgt:"))?
                .trim();
            Some(u64::from_str_radix(mask, 16).ok()? & 2 != 0)
        };
        while caught(&child) != Some(true) {
            assert_eq!(child.try_wait().expect("a child"), None, "it has ended");
            sleep(Duration::from_millis(5));
        }
        child
    }

    fn ended(child: Child) -> (Option<i32>, String) {
        let output = child.wait_with_output().expect("ends");
        let text = String::from_utf8(output.stderr).expect("UTF-8");
        (output.status.code(), text)
    }

    #[test]
    fn end_a_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("endless.xml");
        fs::write(&path, endless()).expect("a model");
        for signal in ["-INT", "-TERM"] {
            let mut all = vec!["eval", path.to_str().expect("UTF-8")];
            all.extend(FOR_EVER);
            let child = start(&all);
            send(signal, &child);
            let (code, text) = ended(child);
            assert_eq!(code, Some(130), "{text}");
            assert!(text.contains("cancelled"), "{text}");
        }
    }

    /// Nobody ever reads from the pipe, so that nothing but the end of the process helps.
    #[test]
    fn end_what_does_not_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe.npz");
        let made = Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo runs").success());
        let pipe = pipe.to_str().expect("UTF-8");
        let inputs = [
            "-i",
            "data=[1,2,3,4,5]",
            "-i",
            "indices=[0,0,0]",
            "-o",
            pipe,
        ];
        let mut all = vec!["eval", GATHER];
        all.extend(inputs);
        let child = start(&all);
        send("-INT", &child);
        sleep(Duration::from_millis(20));
        send("-INT", &child);
        let (code, text) = ended(child);
        assert_eq!(code, Some(130), "{text}");
        all.extend(["--timeout", "100ms"]);
        let text = fails(&all, 124);
        assert!(text.contains("the time limit is over"), "{text}");
    }
}
