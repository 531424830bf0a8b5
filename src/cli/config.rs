//! `oomdoc config`: the effective settings and the origin of each.

use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::error::CliError;
use super::home::{Home, warn_of_expired};
use super::language::Lang;
use super::printing::printable;
use super::table::table;
use crate::model::one_line;
use crate::settings::{Origin, ShownSetting};

/// Show the settings in effect, and where each comes from: docs/configuration.md
#[derive(Debug, Args)]
pub(super) struct Config {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Show(Show),
}

/// Show each value in effect, and the file and line, the variable or the flag that sets it
#[derive(Debug, Args)]
struct Show {
    /// How to show it
    #[arg(long, value_enum, default_value_t = ConfigFormat::Text)]
    format: ConfigFormat,
    #[command(flatten)]
    lang: Lang,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ConfigFormat {
    Text,
    Json,
}

impl Config {
    pub fn run(self, home: &Home) -> Result<ExitCode, CliError> {
        let Command::Show(show) = self.command;
        show.run(home)
    }
}

impl Show {
    fn run(self, home: &Home) -> Result<ExitCode, CliError> {
        // Report settings that are invalid as an analysis would.
        warn_of_expired(&*home.site(&*home.knowledge()?)?);
        let folder = home.path().ok().map(|path| path.to_string_lossy().into_owned());
        let shown = home.settings.shown(folder);
        let text = match self.format {
            ConfigFormat::Text => {
                let rows: Vec<[String; 3]> = shown
                    .iter()
                    .map(|ShownSetting { key, words, origin, .. }| {
                        [(*key).to_owned(), origin.to_string(), words.clone()]
                    })
                    .map(|row| row.map(|cell| printable(&one_line(&cell))))
                    .collect();
                table(&rows)
            }
            ConfigFormat::Json => serde_json::to_string_pretty(&self.json(home, &shown))? + "\n",
        };
        std::io::Write::write_all(&mut anstream::stdout(), text.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }

    fn json(&self, home: &Home, shown: &[ShownSetting]) -> Value {
        let files = home.settings.files.iter();
        let files: Vec<Value> = files.map(|(path, whose)| json!({ "path": path, "whose": whose.as_str() })).collect();
        let origin = |origin: &Origin| match origin {
            Origin::Flag(flag) => json!({ "from": "flag", "name": flag }),
            Origin::Variable(name) => json!({ "from": "variable", "name": name }),
            Origin::File(place) => json!({ "from": "file", "path": place.file, "line": place.line }),
            Origin::Default => json!({ "from": "default" }),
        };
        let settings: Vec<Value> = shown
            .iter()
            .map(|shown| json!({ "key": shown.key, "value": shown.value, "origin": origin(&shown.origin) }))
            .collect();
        json!({ "schema": "oomdoc.config/1", "files": files, "settings": settings })
    }
}
