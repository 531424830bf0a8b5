use clap::Args;

use super::{HistoryPlace, ListFormat, page};
use crate::cli::error::CliError;
use crate::cli::language::Lang;
use crate::history::{Order, Query};

/// List incidents, newest first
#[derive(Debug, Args)]
pub(super) struct List {
    /// How to show them
    #[arg(long, value_enum, default_value_t = ListFormat::Text)]
    format: ListFormat,
    /// Show at most this many
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    limit: usize,
    /// Skip this many first
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    offset: usize,
    #[command(flatten)]
    lang: Lang,
}

impl List {
    pub fn run(self, place: &HistoryPlace) -> Result<(), CliError> {
        let page = place.ask("", &Query::default(), Order::Time, self.offset, self.limit)?;
        page::print(page.in_language(self.lang.language), self.format, self.offset, self.lang.language)
    }
}
