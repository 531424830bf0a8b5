use std::path::Path;

use clap::Args;

use super::{behind, open};
use crate::cli::error::CliError;
use crate::history;

/// Read and check every record and the index
#[derive(Debug, Args)]
pub(super) struct Verify {}

impl Verify {
    pub fn run(self, home: &Path) -> Result<(), CliError> {
        let mut store = open(home)?;
        let records = store.verify()?;
        anstream::println!("{records} records, all as they were written");
        if let Err(error) = history::verify_index(&store) {
            behind(&error);
        }
        Ok(())
    }
}
