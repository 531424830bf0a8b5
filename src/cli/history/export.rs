use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::error::CliError;
use crate::history;

/// Write all incidents and outcomes as JSON Lines, for another home or a backup
#[derive(Debug, Args)]
pub(super) struct Export {
    /// The file [default: standard output]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

impl Export {
    pub fn run(self, home: &Path) -> Result<(), CliError> {
        let store = history::look(home)?;
        match self.file {
            None => drop(history::export(&store, &mut BufWriter::new(std::io::stdout().lock()))?),
            Some(path) => {
                let written = |error| CliError::Write { path: path.clone(), error };
                let mut file = BufWriter::new(File::create(&path).map_err(written)?);
                let lines = history::export(&store, &mut file)?;
                file.flush().and_then(|()| file.get_ref().sync_all()).map_err(written)?;
                anstream::println!("{lines} lines written");
            }
        }
        Ok(())
    }
}
