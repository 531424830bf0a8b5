use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::error::CliError;
use crate::history;
use crate::model::Bytes;

/// Write everything to one file, while others go on writing
#[derive(Debug, Args)]
pub(super) struct Backup {
    /// The file; an older one is replaced once the new one is complete
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl Backup {
    pub fn run(self, home: &Path) -> Result<(), CliError> {
        let done = history::backup(home, &self.file)?;
        let bytes = Bytes(done.bytes.into());
        anstream::println!("{} records, {bytes}: {}", done.records, self.file.display());
        Ok(())
    }
}
