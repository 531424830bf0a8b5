use std::path::Path;

use clap::Args;

use super::{Format, found, page};
use crate::cli::error::CliError;
use crate::history::{Order, Query, ask};

/// List incidents, the newest first
#[derive(Debug, Args)]
pub(super) struct List {
    /// How to show them
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// As many at most
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    limit: usize,
    /// Leave out so many before
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    offset: usize,
}

impl List {
    pub fn run(self, home: &Path) -> Result<(), CliError> {
        let page = found(home, ask(home, &Query::default(), Order::Time, self.offset, self.limit)?);
        page::print(&page, self.format, self.offset)
    }
}
