use std::path::Path;

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{open, publish};
use crate::cli::error::CliError;
use crate::history;

/// Rebuild everything derived from the incidents: the index, the groups, and what analyses are told
#[derive(Debug, Args)]
pub(super) struct Reindex {}

impl Reindex {
    pub fn run(self, home: &Path) -> Result<(), CliError> {
        let mut store = open(home)?;
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{bar:20} {human_pos} of {human_len} incidents · {eta} left") {
            bar.set_style(style);
        }
        let done = history::reindex(&mut store, &|done, all| {
            bar.set_length(all);
            bar.set_position(done);
        });
        bar.finish_and_clear();
        done?;
        publish(&mut store)?;
        anstream::println!("done");
        Ok(())
    }
}
