use std::path::Path;

use clap::Args;

use super::open;
use crate::cli::error::CliError;

/// Reads every record and checks it
#[derive(Debug, Args)]
pub(super) struct Verify {}

impl Verify {
    pub fn run(self, home: &Path) -> Result<(), CliError> {
        let records = open(home)?.verify()?;
        anstream::println!("{records} records, all as they were written");
        Ok(())
    }
}
