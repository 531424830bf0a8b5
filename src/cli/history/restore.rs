use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::error::CliError;
use crate::history;

/// Restore a backup into an empty home, after checking all of it
#[derive(Debug, Args)]
pub(super) struct Restore {
    /// The backup
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl Restore {
    pub fn run(self, home: &Path) -> Result<(), CliError> {
        let done = history::restore(&self.file, home)?;
        anstream::println!("{} records restored", done.records);
        Ok(())
    }
}
