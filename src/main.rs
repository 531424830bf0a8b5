//! The `oomdoc` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    oomdoc::internal::cli::run()
}
