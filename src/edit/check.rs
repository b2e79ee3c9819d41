//! A command that tells whether a model still shows a fault.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::reproduction::Reproduction;
use crate::error::{Error, Kind, Result, plain};
use crate::limits::{Limits, Watch};

/// What a command says of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The fault is there: the command ended with another code than zero, or by a signal.
    Fails,
    /// It is not: the command ended with zero.
    Passes,
    /// The command took too long, and was ended.
    TimedOut,
}

/// A command, and the folder where it finds what it checks.
pub(crate) struct Check {
    template: String,
    timeout: Duration,
    folder: Folder,
    limits: Limits,
}

impl Check {
    /// A command for the system's shell. In it `{}` stands for the path of the model, `{inputs}` for
    /// that of the tensors of its inputs and `{outputs}` for that of the outputs that this crate
    /// evaluates, both .npz files.
    ///
    /// # Errors
    /// When there is no folder for the files.
    pub(crate) fn new(template: &str, timeout: Duration, limits: &Limits) -> Result<Self> {
        Ok(Self {
            template: template.to_owned(),
            timeout,
            folder: Folder::new()?,
            limits: limits.clone(),
        })
    }

    /// Asks the command.
    ///
    /// # Errors
    /// When a file cannot be written, the command cannot be run, or it is ended by the limits.
    pub(crate) fn ask(&self, candidate: &Reproduction) -> Result<Verdict> {
        candidate.write(&self.folder.0)?;
        let command = fill(&self.template, &self.folder.0);
        let log = self.folder.0.join("log.txt");
        let cannot = |error: std::io::Error| {
            Error::new(Kind::Io, format!("the check cannot be run: {error}"))
        };
        let out = File::create(&log).map_err(cannot)?;
        let errors = out.try_clone().map_err(cannot)?;
        let mut shell = shell(&command);
        shell
            .stdin(Stdio::null())
            .stdout(Stdio::from(out))
            .stderr(Stdio::from(errors));
        let child = shell.spawn().map_err(cannot)?;
        let Some(status) = self.wait(child)? else {
            return Ok(Verdict::TimedOut);
        };
        match status.code() {
            Some(0) => Ok(Verdict::Passes),
            // What shells say of a command that is not there, or is no program.
            Some(code @ (126 | 127)) => {
                let said = fs::read_to_string(&log).unwrap_or_default();
                let said = said.lines().last().map(plain).unwrap_or_default();
                let message = format!("the check cannot be run (exit code {code}): {said}");
                Err(Error::new(Kind::Io, message))
            }
            _ => Ok(Verdict::Fails),
        }
    }

    /// The exit status, unless it takes too long.
    fn wait(&self, mut child: Child) -> Result<Option<ExitStatus>> {
        let watch = Watch::of(&self.limits);
        let begun = Instant::now();
        let mut pause = Duration::from_millis(1);
        loop {
            let status = child.try_wait();
            let status = status.map_err(|e| Error::new(Kind::Io, format!("the check: {e}")))?;
            if status.is_some() {
                return Ok(status);
            }
            let stopped = watch.check();
            if stopped.is_err() || begun.elapsed() > self.timeout {
                end(&mut child);
                return match stopped {
                    Err(stop) => Err(Error::new(stop.kind(), stop.message())),
                    Ok(()) => Ok(None),
                };
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }
}

/// The command with the paths of the files in it.
pub(crate) fn fill(template: &str, folder: &Path) -> String {
    let path = |name: &str| quoted(&folder.join(name).to_string_lossy());
    template
        .replace("{inputs}", &path("inputs.npz"))
        .replace("{outputs}", &path("outputs.npz"))
        .replace("{}", &path("model.xml"))
}

/// One word of a shell.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:".contains(c);
    match (cfg!(windows), text.chars().all(plain)) {
        (_, true) => text.to_owned(),
        (true, false) => format!("\"{text}\""),
        (false, false) => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(unix)]
fn shell(command: &str) -> Command {
    use std::os::unix::process::CommandExt;
    let mut shell = Command::new("sh");
    // In a group of its own, so that all it starts can be ended.
    shell.arg("-c").arg(command).process_group(0);
    shell
}

#[cfg(not(unix))]
fn shell(command: &str) -> Command {
    let mut shell = Command::new("cmd");
    shell.arg("/C").arg(command);
    shell
}

/// Ends a process and what it started.
fn end(child: &mut Child) {
    #[cfg(unix)]
    {
        let group = format!("-{}", child.id());
        let mut kill = Command::new("kill");
        kill.args(["-KILL", "--", &group]);
        let quiet = kill.stdout(Stdio::null()).stderr(Stdio::null());
        // Without that program the shell alone is ended.
        let _ = quiet.status();
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// A folder that goes with its owner.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self> {
        let home = std::env::temp_dir();
        let made = (0..1000).find_map(|number| {
            let path = home.join(format!("ovir-check-{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => None,
                made => Some(made.map(|()| path)),
            }
        });
        match made {
            Some(Ok(path)) => Ok(Self(path)),
            Some(Err(error)) => Err(Error::new(
                Kind::Io,
                format!("{}: {error}", plain(&home.to_string_lossy())),
            )),
            None => Err(Error::new(Kind::Io, "there is no name for a folder")),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left over is the system's to clean.
        let _ = fs::remove_dir_all(&self.0);
    }
}
