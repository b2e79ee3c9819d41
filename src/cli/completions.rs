//! `ovir completions`

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;

use super::{Cli, Outcome};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The shell
    ///
    /// bash: `ovir completions bash > ~/.local/share/bash-completion/completions/ovir`; zsh: into a
    /// file `_ovir` of a folder of $fpath; fish: `ovir completions fish >
    /// ~/.config/fish/completions/ovir.fish`.
    shell: Shell,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    // The generator takes no error of a pipe that is closed.
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ovir", &mut text);
    out.write_all(&text)?;
    Ok(())
}
