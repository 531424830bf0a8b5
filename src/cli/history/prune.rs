use std::path::Path;

use clap::Args;

use super::{open, publish};
use crate::cli::error::CliError;
use crate::history::{self, Age};

/// Remove old incidents
#[derive(Debug, Args)]
pub(super) struct Prune {
    /// Remove those older than this: `90d`, `12w`, `6m`, `1y`
    #[arg(long, value_name = "AGE")]
    older_than: Age,
    /// Keep those that a change solved
    #[arg(long)]
    keep_resolved: bool,
}

impl Prune {
    pub fn run(self, home: &Path) -> Result<(), CliError> {
        let mut store = open(home)?;
        let gone = history::prune(&mut store, self.older_than, self.keep_resolved)?;
        publish(&mut store)?;
        anstream::println!("{gone} removed");
        if store.is_bloated() {
            store.compact()?;
        }
        Ok(())
    }
}
