use std::io::stdout;
use std::path::Path;

use clap::Args;

use super::{open, publish};
use crate::cli::error::CliError;
use crate::{history, store};

/// Save whatever can still be read of a damaged history; the damaged file is kept
#[derive(Debug, Args)]
pub(super) struct Salvage {}

impl Salvage {
    pub fn run(self, home: &Path) -> Result<(), CliError> {
        use std::io::Write;
        let found = store::salvage(home)?;
        let mut store = open(home)?;
        // The log of changes may have gaps now, so exports cannot continue from earlier marks.
        history::forget_changes(&mut store)?;
        // Data derived from the incidents may be lost as well.
        history::reindex(&mut store, &|_, _| {})?;
        publish(&mut store)?;
        let mut out = stdout();
        write!(out, "{} records are kept", found.records)?;
        if found.gaps > 0 {
            write!(out, ", {} places made no sense", found.gaps)?;
        }
        if found.restored > 0 {
            write!(out, ", {} were lost there and found in sled", found.restored)?;
        }
        writeln!(out, "; what was damaged is now {}", found.damaged.display())?;
        Ok(())
    }
}
