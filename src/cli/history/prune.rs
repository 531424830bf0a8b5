use std::path::Path;

use clap::Args;

use super::{open, publish};
use crate::cli::error::CliError;
use crate::facts::Value;
use crate::history::{self, Age, Retention};

/// Remove old incidents
#[derive(Debug, Args)]
pub(super) struct Prune {
    /// Remove those older than this: `90d`, `12w`, `6m`, `1y`
    #[arg(long, value_name = "AGE", required_unless_present_any = ["keep_incidents", "keep_bytes"])]
    older_than: Option<Age>,
    /// Keep only this many of the newest
    #[arg(long, value_name = "NUMBER")]
    keep_incidents: Option<u64>,
    /// Keep only this much of the newest, by their size in an export: `20GiB`
    #[arg(long, value_name = "BYTES", value_parser = amount)]
    keep_bytes: Option<u64>,
    /// Keep those that a change solved
    #[arg(long)]
    keep_resolved: bool,
}

impl Prune {
    pub fn run(self, home: &Path) -> Result<(), CliError> {
        let mut store = open(home)?;
        let Prune { older_than, keep_incidents, keep_bytes, keep_resolved } = self;
        let retention = Retention { age: older_than, incidents: keep_incidents, bytes: keep_bytes, keep_resolved };
        let gone = history::prune(&mut store, &retention)?;
        publish(&mut store)?;
        anstream::println!("{gone} removed");
        if store.is_bloated() {
            store.compact()?;
        }
        Ok(())
    }
}

/// An amount of memory, as in queries.
fn amount(words: &str) -> Result<u64, String> {
    match Value::read(words) {
        Value::Number(bytes) if bytes.is_finite() && bytes >= 0.0 => Ok(bytes as u64),
        _ => Err("write an amount: 500MiB, 20GiB".to_owned()),
    }
}
