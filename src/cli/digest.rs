use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use super::addresses;
use super::analyze::EXIT_CODES;
use super::error::CliError;
use super::home::Home;
use super::progress::Progress;
use crate::Options;
use crate::digest;
use crate::redact::Redactor;
use crate::store;
use crate::watch::Watch;

/// Read the logs of this node into a small digest, which `merge` joins with those of other nodes.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Digest {
    /// Logs, kernel logs, memory snapshots, folders and archives of them, configs, launch scripts; `-` is standard input,
    /// `s3://bucket/key`, `gs://…` and `https://…` what lies there
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
    /// Write the digest to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// What citations call this node [default: its host name]
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
}

impl Digest {
    pub fn run(self, home: &Home) -> Result<ExitCode, CliError> {
        let Digest { paths, output, node } = self;
        if output.is_none() && std::io::stdout().is_terminal() {
            return Err(CliError::DigestOnTerminal);
        }
        let (knowledge, _) = home.knowledge_and_experience()?;
        let site = home.site(&knowledge)?;
        let node = node.or_else(store::host_name).ok_or(CliError::NoNode)?;
        let watch = Arc::new(Watch::default());
        let (paths, elsewhere) = addresses::of_command_line(paths);
        let progress = Progress::of(&watch, &paths, elsewhere.clone());
        let (known, watch) = (Some(Arc::clone(&knowledge)), Some(watch));
        let options = Options { knowledge: known, watch, site, elsewhere, ..Options::default() };
        let content = crate::digest(&paths, &node, options)?;
        drop(progress);
        let digest = digest::Digest::of(&node, content, &Redactor::new(&knowledge.secrets)?)?;
        write(output, &digest.bytes())?;
        std::mem::forget(knowledge);
        Ok(ExitCode::SUCCESS)
    }
}

/// Writes bytes to `output`, or to standard output without one.
pub(super) fn write(output: Option<PathBuf>, bytes: &[u8]) -> Result<(), CliError> {
    match output {
        Some(path) => std::fs::write(&path, bytes).map_err(|error| CliError::Write { path, error }),
        None => {
            let mut out = std::io::stdout();
            out.write_all(bytes)?;
            Ok(out.flush()?)
        }
    }
}
