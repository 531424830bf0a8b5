use std::path::Path;
use std::time::Duration;

use clap::Args;

use crate::cli::error::CliError;
use crate::history;

/// Moves into the store what analyses left in the spool
#[derive(Debug, Args)]
#[command(hide = true)]
pub(super) struct Drain {}

impl Drain {
    pub fn run(self, home: &Path) -> Result<(), CliError> {
        // Whoever has the store open drains the spool, too.
        if history::is_waiting(home) {
            history::drain(home, Duration::ZERO)?;
        }
        Ok(())
    }
}
