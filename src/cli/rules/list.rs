use std::io::Write;
use std::process::ExitCode;

use clap::Args;

use crate::cli::error::CliError;
use crate::cli::home::Home;
use crate::cli::language::Lang;
use crate::cli::table::table;
use crate::knowledge::{Knowledge, Origin};

/// List the rules of causes and where they come from
#[derive(Debug, Args)]
pub(super) struct List {
    #[command(flatten)]
    lang: Lang,
}

impl List {
    pub fn run(self, home: &Home) -> Result<ExitCode, CliError> {
        let knowledge = home.knowledge()?;
        let shipped = Knowledge::shipped()?;
        let mut rows: Vec<[String; 3]> = knowledge
            .causes
            .iter()
            .map(|rule| {
                let replaces = shipped.causes.iter().any(|known| known.id == rule.id);
                let origin = match rule.origin {
                    Origin::Shipped => concat!("shipped ", env!("CARGO_PKG_VERSION")),
                    Origin::Own if replaces => concat!("yours, instead of ", env!("CARGO_PKG_VERSION")),
                    Origin::Own => "yours",
                };
                [rule.id.to_string(), origin.to_owned(), rule.title.in_language(self.lang.language).to_owned()]
            })
            .collect();
        rows.sort();
        anstream::stdout().write_all(table(&rows).as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}
