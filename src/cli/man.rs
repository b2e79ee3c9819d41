//! `ovir man`

use std::io::Write;
use std::path::PathBuf;

use clap::CommandFactory;
use clap_mangen::Man;

use super::eval::file_error;
use super::{Cli, Failure, Outcome, shown};
use crate::error::{Error, Kind};
use crate::io::write_whole;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Where to write ovir.1 and a page for each command; without it ovir.1 is printed
    #[arg(value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    let mut all = Cli::command();
    all.build();
    let Some(folder) = &args.folder else {
        out.write_all(&page(all)?)?;
        return Ok(());
    };
    std::fs::create_dir_all(folder).map_err(|e| {
        let message = format!("{}: {e}", shown(folder));
        Failure::Error(Error::new(Kind::Io, message))
    })?;
    // Commands of commands come after them.
    let mut commands = vec![all];
    let mut count = 0;
    while let Some(command) = commands.pop() {
        commands.extend(
            command
                .get_subcommands()
                .filter(|c| c.get_name() != "help")
                .cloned(),
        );
        let name = command.get_display_name().unwrap_or(command.get_name());
        let path = folder.join(format!("{name}.1"));
        let page = page(command)?;
        write_whole(&path, |file| file.write_all(&page)).map_err(file_error)?;
        count += 1;
    }
    writeln!(out, "wrote {count} pages to {}", shown(folder))?;
    Ok(())
}

fn page(command: clap::Command) -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    Ok(page)
}
