use std::path::Path;

use clap::Args;

use super::open;
use crate::cli::error::CliError;
use crate::model::Bytes;

/// Free the space that removed incidents still take
#[derive(Debug, Args)]
pub(super) struct Compact {}

impl Compact {
    pub fn run(self, home: &Path) -> Result<(), CliError> {
        let done = open(home)?.compact()?;
        let bytes = |bytes: u64| Bytes(bytes.into());
        anstream::println!("{} records: {} before, {} now", done.records, bytes(done.before), bytes(done.after));
        Ok(())
    }
}
