use std::path::Path;
use std::time::Duration;

use clap::Args;

use crate::cli::error::CliError;
use crate::cli::home::Home;
use crate::history;

/// Readers have a look at the lock, which takes them no time.
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
        // Whoever has the store open drains the spool, too.
        if history::is_waiting(home) || !history::is_indexed(home) {
            let mut store = history::drain(home, PATIENCE)?;
            if !history::is_indexed(home) {
                history::publish(&mut store)?;
            }
            // Nobody waits for it here.
            if store.is_bloated() {
                store.compact()?;
            }
        }
        Ok(())
    }
}
