use clap::{Args, ValueEnum};

use super::{HistoryPlace, ListFormat, asked, page};
use crate::cli::error::CliError;
use crate::cli::home::Home;
use crate::cli::language::Lang;
use crate::history::Order;

/// Find incidents by words, fields, figures and times: phase:optimizer_step requested:>2GiB "pinned memory"
#[derive(Debug, Args)]
pub(super) struct Search {
    /// Words, "words in a row", field:value, figure:>2GiB, figure:[1GiB TO *], since:2026-10-01 or since:30d; all must hold, unless OR,
    /// NOT (or a minus) and parentheses say otherwise; `--` before a query that begins with a minus
    #[arg(required = true, value_name = "QUERY")]
    query: Vec<String>,
    /// How to show them
    #[arg(long, value_enum, default_value_t = ListFormat::Text)]
    format: ListFormat,
    /// What to sort by
    #[arg(long, value_enum, default_value_t = Sort::Relevance)]
    sort: Sort,
    /// Show at most this many
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    limit: usize,
    /// Skip this many first
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    offset: usize,
    #[command(flatten)]
    lang: Lang,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sort {
    Relevance,
    Time,
}

impl Search {
    pub fn run(self, settings: &Home, place: &HistoryPlace) -> Result<(), CliError> {
        let words = self.query.join(" ");
        let query = asked(&words, settings, place)?;
        let order = match self.sort {
            Sort::Relevance => Order::Relevance,
            Sort::Time => Order::Time,
        };
        let page = place.ask(&words, &query, order, self.offset, self.limit)?;
        page::print(page.in_language(self.lang.language), self.format, self.offset, self.lang.language)
    }
}
