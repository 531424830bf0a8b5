//! The tables of `oomdoc.toml`, as serde reads them.

use std::collections::BTreeMap;
use std::str::FromStr;

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};

use super::serve::ServeTable;
use crate::facts::Value;
use crate::knowledge::Language;
use crate::model::Kind;
use crate::triage::FailOn;

/// Settings of oomdoc: `oomdoc.toml` in a project, above the working folder, or in the user's configuration folder.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "oomdoc.toml")]
pub struct File {
    /// The language of output; by default that of the locale.
    pub language: Option<Language>,
    /// The folder for imported rules and the history. Only in your own file.
    pub home: Option<String>,
    /// Whether output is coloured.
    pub color: Option<Color>,
    /// Files and folders of rules that are added to the shipped ones, relative to this file. A project's must be below
    /// its folder.
    #[serde(default)]
    pub rules: Vec<String>,
    /// Files that are never read: a name (`*.pem`), or a path relative to this file (`secrets/**`).
    #[serde(default)]
    pub never_read: Vec<String>,
    /// Further secrets to mask in whatever is kept or sent.
    #[serde(default)]
    pub redaction: Vec<RedactionRow>,
    /// Hosts and clusters, and facts about them.
    #[serde(default)]
    pub hosts: Vec<HostRow>,
    /// Defaults for the flags of `oomdoc triage`.
    #[serde(default)]
    pub triage: TriageTable,
    /// The team's server, which keeps incidents and is asked for the history.
    #[serde(default)]
    pub server: ServerTable,
    /// Settings of `oomdoc serve`. Only in your own file.
    pub serve: Option<ServeTable>,
    /// Incidents that are known and accepted: they raise no alarm.
    #[serde(default)]
    pub ignore: Vec<IgnoreRow>,
}

/// When output is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Color {
    /// If it is shown on a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    pub fn as_str(self) -> &'static str {
        match self {
            Color::Auto => "auto",
            Color::Always => "always",
            Color::Never => "never",
        }
    }
}

impl FromStr for Color {
    type Err = String;

    fn from_str(word: &str) -> Result<Color, String> {
        let known = [Color::Auto, Color::Always, Color::Never];
        known
            .into_iter()
            .find(|color| color.as_str() == word)
            .ok_or_else(|| format!("no color `{word}`; one of: auto, always, never"))
    }
}

/// `[triage]`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TriageTable {
    /// The verdicts for which it exits with 1: kinds, `any`, or `none`.
    pub fail_on: Option<Vec<FailOn>>,
    /// The address to which it posts a message about a failure. Only in your own file.
    pub notify: Option<String>,
}

/// `[server]`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerTable {
    /// The server's URL, `https://oomdoc.example.org`. Only in your own file.
    pub url: Option<String>,
    /// A file that contains a token and nothing else. Only in your own file.
    pub token_file: Option<String>,
}

/// A row of `[[redaction]]`: a pattern for a secret, or the name before one.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RedactionRow {
    /// The name that replaces the secret, in ‹›.
    pub name: String,
    /// A regular expression. Groups whose names begin with `secret` are masked; without such a group the whole match
    /// is.
    pub pattern: Option<String>,
    /// Names whose values are masked, in small letters, with words joined by `_`: `deploy_key`.
    #[serde(default)]
    pub names: Vec<String>,
}

/// A row of `[[hosts]]`: a host, or a cluster of them.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostRow {
    /// The host's name, with `*` for any characters: `gpu-a100-*`.
    pub name: String,
    /// Facts about it, as for `--fact`: `gpu`, `gpu.memory`, `host.memory` …
    pub facts: BTreeMap<String, HostFact>,
}

/// A fact about a host.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a fact is words, a number, an amount like \"500GiB\", true or false")]
pub enum HostFact {
    /// Yes or no.
    Flag(bool),
    /// A number.
    Number(f64),
    /// Words, or an amount of memory.
    Text(String),
    /// Facts with a longer name: `host.memory = "500GiB"`.
    Facts(BTreeMap<String, HostFact>),
}

impl HostFact {
    /// Appends its values to `facts`, with names below `name`.
    pub(super) fn flat(&self, name: &str, facts: &mut Vec<(String, Value)>) {
        let value = match self {
            HostFact::Flag(flag) => Value::Flag(*flag),
            HostFact::Number(number) => Value::Number(*number),
            HostFact::Text(words) => Value::read(words),
            HostFact::Facts(inner) => {
                return inner.iter().for_each(|(key, fact)| fact.flat(&format!("{name}.{key}"), facts));
            }
        };
        facts.push((name.to_owned(), value));
    }
}

/// A row of `[[ignore]]`: incidents that are known and accepted. An incident must match all fields of the row; besides
/// the reason there must be at least one.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IgnoreRow {
    /// The key of the fingerprint, as in JSON reports, or at least its first eight characters.
    pub fingerprint: Option<String>,
    /// The likeliest cause.
    pub cause: Option<String>,
    /// What ran out.
    pub kind: Option<Kind>,
    /// The log with the evidence: a name, or a path relative to this file, with `*` for any characters.
    pub path: Option<String>,
    /// The last day on which the row applies, UTC: `2026-12-31`.
    #[serde(default, deserialize_with = "date")]
    #[schemars(with = "Option<String>", extend("format" = "date"))]
    pub until: Option<Date>,
    /// Why these incidents are accepted.
    pub reason: String,
}

/// A date, with or without quotes.
fn date<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Option<Date>, D::Error> {
    let written = match toml::Value::deserialize(deserializer)? {
        toml::Value::Datetime(moment) => moment.to_string(),
        toml::Value::String(words) => words,
        _ => String::new(),
    };
    let date = written.parse::<Date>().ok().filter(|_| written.len() == "2026-12-31".len());
    date.map(Some).ok_or_else(|| D::Error::custom("`until` is a date: 2026-12-31"))
}
