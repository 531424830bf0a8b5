use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::shown;
use crate::cli::error::CliError;
use crate::rulebase::skeleton;

/// Write a commented rule to start from, and a message of your own program that it recognises
#[derive(Debug, Args)]
pub(super) struct New {
    /// Its name: lower-case letters, digits and `_`
    name: String,
    /// The folder of your rules
    #[arg(long = "in", value_name = "DIR", default_value = "my-rules")]
    folder: PathBuf,
}

impl New {
    pub fn run(self) -> Result<ExitCode, CliError> {
        let files = skeleton(&self.name)?.map(|(path, content)| (self.folder.join(path), content));
        // Write both files or none, and never overwrite one.
        if let Some((path, _)) = files.iter().find(|(path, _)| path.exists()) {
            return Err(CliError::IsThere { path: path.clone() });
        }
        for (path, content) in &files {
            let written = |error| CliError::Write { path: path.clone(), error };
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).map_err(written)?;
            }
            let mut file = fs::File::create_new(path).map_err(written)?;
            file.write_all(content.as_bytes()).map_err(written)?;
            anstream::println!("{}", path.display());
        }
        let folder = shown(&self.folder);
        anstream::println!("mend them, then `oomdoc rules check {folder}` and `oomdoc rules import {folder}`");
        Ok(ExitCode::SUCCESS)
    }
}
