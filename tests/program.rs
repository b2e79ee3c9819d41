//! The program as a user runs it.

use std::path::Path;
use std::process::{Command, Output};

use crate::support::project;

/// A call in a folder, without colours.
pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ovir"));
    command
        .current_dir(folder)
        .args(arguments)
        .env("NO_COLOR", "1")
        .env("LC_ALL", "C");
    command
}

/// What a call in a folder gives.
pub(crate) fn ovir_in(folder: &Path, arguments: &[&str]) -> Output {
    let output = command(folder, arguments).output();
    output.expect("the binary runs")
}

/// What a call in the project's folder gives.
pub(crate) fn ovir(arguments: &[&str]) -> Output {
    ovir_in(&project(""), arguments)
}
