//! A runtime that the user's own Python drives, in a process of its own.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::reference::{Answer, Backend, Executed, Tap};
use super::{Named, Run, Runtime, RuntimeKind};
use crate::error::{Error, Kind, Result, one_line, plain};
use crate::io::npz;
use crate::limits::{Limits, Watch};
use crate::tensor::{ElementType, Tensor};

/// What Python runs.
const SCRIPT: &str = include_str!("backend.py");

/// How often the process is looked at.
const PAUSE: Duration = Duration::from_millis(20);

/// A message of a runtime tells no more.
const LONGEST: usize = 600;

/// A runtime in a Python process, one for each request.
#[derive(Debug)]
pub struct Python {
    /// What to run.
    pub python: PathBuf,
    /// Which runtime.
    pub runtime: Runtime,
    /// The model's file.
    pub model: PathBuf,
    /// Options of the runtime, which win over those that keep it at the model's precision.
    pub config: Vec<(String, String)>,
    folder: TempDir,
    limits: Limits,
    requests: usize,
}

impl Python {
    /// A runtime for a model. Nothing runs yet.
    ///
    /// # Errors
    /// When there is no folder for temporary files.
    pub fn new(
        python: &Path,
        runtime: Runtime,
        model: &Path,
        config: &[(String, String)],
        limits: &Limits,
    ) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("ovir-").tempdir();
        let folder = folder.map_err(|e| io_error("a temporary folder", &e))?;
        let model = std::path::absolute(model).map_err(|e| io_error("the model's path", &e))?;
        Ok(Self {
            python: python.to_owned(),
            runtime,
            model,
            config: config.to_vec(),
            folder,
            limits: limits.clone(),
            requests: 0,
        })
    }

    fn failed(&self, message: impl AsRef<str>) -> Error {
        Error::new(Kind::Backend, one_line(message.as_ref()))
    }

    fn package(&self) -> &'static str {
        self.runtime.kind.package()
    }

    /// Writes what the script reads.
    fn write(&self, folder: &Path, inputs: &[(String, Tensor)], request: Value) -> Result<()> {
        let script = folder.join("backend.py");
        fs::write(&script, SCRIPT).map_err(|e| io_error("the script", &e))?;
        let names: Vec<String> = (0..inputs.len()).map(|index| index.to_string()).collect();
        let tensors = names
            .iter()
            .map(String::as_str)
            .zip(inputs.iter().map(|(_, t)| t));
        npz::write(&folder.join("inputs.npz"), tensors)
            .map_err(|e| Error::new(Kind::Io, e.to_string()))?;
        let text = request.to_string();
        fs::write(folder.join("request.json"), text).map_err(|e| io_error("the request", &e))
    }

    /// Runs the script, and ends it if the time is over or the work is cancelled.
    fn call(&self, folder: &Path) -> Result<ExitStatus> {
        let to_file = |name: &str| File::create(folder.join(name)).map_err(|e| io_error(name, &e));
        let mut command = Command::new(&self.python);
        command
            .arg(folder.join("backend.py"))
            .arg(folder.join("request.json"))
            .env("PYTHONIOENCODING", "utf-8")
            .stdin(Stdio::piped())
            .stdout(to_file("stdout")?)
            .stderr(to_file("stderr")?);
        let child = command.spawn().map_err(|e| {
            let python = plain(&self.python.to_string_lossy());
            self.failed(format!(
                "cannot run {python}: {e}; name a Python with --python"
            ))
        })?;
        Running(child).wait(&Watch::of(&self.limits))
    }

    /// Why there is no answer.
    fn crashed(&self, folder: &Path, status: ExitStatus) -> Error {
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
        let stage = read("stage");
        let how = match ended_by(status) {
            Some(signal) => format!("was ended by signal {signal}"),
            None => format!("ended with {status}"),
        };
        let doing = match stage.trim() {
            "" => String::new(),
            stage => format!(" while it was to {stage}"),
        };
        let stderr = read("stderr");
        let last = stderr
            .lines()
            .rev()
            .map(str::trim)
            .find(|line| !line.is_empty());
        let last = last.map_or_else(String::new, |line| format!(": {}", shortened(line)));
        let python = plain(&self.python.to_string_lossy());
        self.failed(format!("{python} {how}{doing}{last}"))
    }

    /// The error that the script tells of.
    fn told(&self, error: &Value) -> Error {
        let text = |key: &str| error[key].as_str().unwrap_or_default();
        let (stage, message) = (text("stage"), shortened(text("message")));
        let python = plain(&self.python.to_string_lossy());
        if let Some(package) = stage.strip_prefix("import ") {
            let package = package.split(',').next().unwrap_or(package);
            if text("kind") == "ModuleNotFoundError" {
                return self.failed(format!(
                    "{python} has no package {package}; install it (`{python} -m pip install {package}`) or name another Python with --python"
                ));
            }
            return self.failed(format!("{python} cannot import {package}: {message}"));
        }
        self.failed(format!("{} cannot {stage}: {message}", self.package()))
    }

    fn read(&self, folder: &Path, taps: &[Tap]) -> Result<Answer> {
        let wrong =
            |what: &str| self.failed(format!("the answer of {} has {what}", self.package()));
        let text = fs::read_to_string(folder.join("answer.json"));
        let answer: Value = text
            .ok()
            .and_then(|text| serde_json::from_str(&text).ok())
            .ok_or_else(|| wrong("no JSON"))?;
        if !answer["error"].is_null() {
            return Err(self.told(&answer["error"]));
        }
        let saved = Run::read(&folder.join("outputs.npz"), &self.limits)
            .map_err(|e| wrong(&format!("no tensors: {e}")))?;
        let tensor = |value: &Value, names: Vec<String>| -> Option<Named> {
            let entry = saved.layer(value["entry"].as_str()?)?;
            let ty = ElementType::from_port_name(value["element_type"].as_str()?);
            let mut named = entry.clone().meant(ty);
            named.names = names;
            Some(named)
        };
        let strings = |value: &Value| -> Vec<String> {
            let list = value.as_array().into_iter().flatten();
            list.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let mut outputs = Vec::new();
        for (index, output) in answer["outputs"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
        {
            let mut names = strings(&output["names"]);
            if names.is_empty() {
                names.push(index.to_string());
            }
            let named =
                tensor(output, names).ok_or_else(|| wrong("an output that is not there"))?;
            outputs.push(named);
        }
        let given = answer["taps"].as_array().map_or(&[][..], Vec::as_slice);
        let layers = taps.iter().zip(given);
        let layers = layers.filter_map(|(tap, value)| tensor(value, vec![tap.key.clone()]));
        let executed = answer["executed"].as_array().into_iter().flatten();
        let executed = executed.map(|node| {
            let text = |key: &str| node[key].as_str().unwrap_or_default().to_owned();
            Executed {
                name: text("name"),
                kind: text("type"),
                primitive: text("primitive"),
                precision: text("precision"),
                layers: strings(&node["layers"]),
            }
        });
        let versions = answer["versions"].as_object().into_iter().flatten();
        let versions =
            versions.map(|(name, v)| (name.clone(), v.as_str().unwrap_or_default().to_owned()));
        Ok(Answer {
            executed: executed.collect(),
            versions: versions.collect(),
            device: answer["device"].as_str().unwrap_or_default().to_owned(),
            run: Run::new(self.title(), outputs, layers.collect()),
        })
    }
}

impl Backend for Python {
    fn title(&self) -> String {
        let name = self.model.file_name().unwrap_or_default().to_string_lossy();
        let Runtime { kind, device } = &self.runtime;
        format!("{}:{device}:{name}", kind.package())
    }

    fn evaluate(
        &mut self,
        inputs: &[(String, Tensor)],
        taps: &[Tap],
        executed: bool,
    ) -> Result<Answer> {
        let folder = self.folder.path().join(self.requests.to_string());
        self.requests += 1;
        fs::create_dir(&folder).map_err(|e| io_error("a temporary folder", &e))?;
        let list = inputs.iter().enumerate().map(|(index, (_, tensor))| {
            json!({"entry": index.to_string(), "element_type": tensor.element_type().name()})
        });
        let wanted = taps
            .iter()
            .map(|tap| json!({"layer": tap.layer, "output": tap.output, "names": tap.names}));
        let config = self.config.iter().cloned();
        let config: serde_json::Map<String, Value> =
            config.map(|(key, value)| (key, value.into())).collect();
        let request = json!({
            "runtime": self.package(),
            "device": self.runtime.device,
            "model": self.model.to_string_lossy(),
            "config": config,
            "inputs": list.collect::<Vec<_>>(),
            "input_names": inputs.iter().map(|(name, _)| name).collect::<Vec<_>>(),
            "taps": wanted.collect::<Vec<_>>(),
            "executed": executed && self.runtime.kind == RuntimeKind::OpenVino,
        });
        self.write(&folder, inputs, request)?;
        let status = self.call(&folder)?;
        if !folder.join("answer.json").exists() {
            return Err(self.crashed(&folder, status));
        }
        self.read(&folder, taps)
    }
}

/// A process that ends with whoever waits for it.
struct Running(Child);

impl Running {
    fn wait(mut self, watch: &Watch) -> Result<ExitStatus> {
        loop {
            let ended = self.0.try_wait().map_err(|e| io_error("the process", &e))?;
            if let Some(status) = ended {
                return Ok(status);
            }
            watch.check()?;
            thread::sleep(PAUSE);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

#[cfg(unix)]
fn ended_by(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn ended_by(_: ExitStatus) -> Option<i32> {
    None
}

fn io_error(what: &str, error: &std::io::Error) -> Error {
    Error::new(Kind::Io, format!("{what}: {error}"))
}

fn shortened(message: &str) -> String {
    match message.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &message[..at]),
        None => message.to_owned(),
    }
}

#[cfg(all(test, unix))]
#[path = "tests/backend.rs"]
mod tests;
