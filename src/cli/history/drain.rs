use std::path::Path;
use std::time::Duration;

use clap::Args;

use crate::cli::error::CliError;
use crate::cli::home::Home;
use crate::history;

/// A reader may hold the lock for an instant, so this wait is short.
const PATIENCE: Duration = Duration::from_millis(100);

/// Move waiting incidents from the spool into the store, or hand them to the server, and bring the index up to date
#[derive(Debug, Args)]
#[command(hide = true)]
pub(super) struct Drain {}

impl Drain {
    pub fn run(self, settings: &Home, home: &Path) -> Result<(), CliError> {
        if let Some(remote) = settings.remote()? {
            remote.hand_over(home)?;
            return Ok(());
        }
        // Any other process that opens the store drains the spool as well.
        if history::is_waiting(home) || !history::is_indexed(home) {
            let mut store = history::drain(home, PATIENCE)?;
            if !history::is_indexed(home) {
                history::publish(&mut store)?;
            }
            // This process runs in the background, so compacting delays nobody.
            if store.is_bloated() {
                store.compact()?;
            }
        }
        Ok(())
    }
}
