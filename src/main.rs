//! The `oomdoc` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    oomdoc::cli::run()
}
