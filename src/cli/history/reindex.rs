use std::path::Path;

use clap::Args;

use super::open;
use crate::cli::error::CliError;
use crate::history;

/// Makes everything anew that follows from the incidents: groups and what analyses are told
#[derive(Debug, Args)]
pub(super) struct Reindex {}

impl Reindex {
    pub fn run(self, home: &Path) -> Result<(), CliError> {
        let mut store = open(home)?;
        history::regroup(&mut store, |_| true)?;
        history::snapshot(&store)?;
        anstream::println!("done");
        Ok(())
    }
}
