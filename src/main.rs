//! The command line; see the library's module `cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ovir::cli::main()
}
