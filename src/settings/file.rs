//! What stands in `oomdoc.toml`, as it is written.

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
    /// The language of what is printed. Without it: what the locale says.
    pub language: Option<Language>,
    /// The folder for imported rules and the history. Only in your own file.
    pub home: Option<String>,
    /// Whether what is printed has colours.
    pub color: Option<Color>,
    /// Files and folders of rules that go over the shipped ones, from the file's folder. A project's lie in its folder.
    #[serde(default)]
    pub rules: Vec<String>,
    /// What is never read, whoever names it: a name (`*.pem`), or a path from the file's folder (`secrets/**`).
    #[serde(default)]
    pub never_read: Vec<String>,
    /// What else is a secret, which is masked in whatever is kept or sent.
    #[serde(default)]
    pub redaction: Vec<RedactionRow>,
    /// Hosts and clusters, and what is known of them.
    #[serde(default)]
    pub hosts: Vec<HostRow>,
    /// What `oomdoc triage` does where no flag says otherwise.
    #[serde(default)]
    pub triage: TriageTable,
    /// The team's server, which keeps incidents and is asked for the history.
    #[serde(default)]
    pub server: ServerTable,
    /// How `oomdoc serve` serves. Only in your own file.
    pub serve: Option<ServeTable>,
    /// Incidents that are known and accepted: they raise no alarm.
    #[serde(default)]
    pub ignore: Vec<IgnoreRow>,
}

/// When colours are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Color {
    /// Where a terminal shows it.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// The word for it.
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
    /// Verdicts with which it exits with 1: kinds, `any`, or `none`.
    pub fail_on: Option<Vec<FailOn>>,
    /// The address to which it posts a message about a failure. Only in your own file.
    pub notify: Option<String>,
}

/// `[server]`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerTable {
    /// Its address, `https://oomdoc.example.org`. Only in your own file.
    pub url: Option<String>,
    /// The file that holds a token for it, and nothing else. Only in your own file.
    pub token_file: Option<String>,
}

/// A row of `[[redaction]]`: what a secret looks like, or what it is called.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RedactionRow {
    /// What stands in its place, in ‹›.
    pub name: String,
    /// A regular expression for it; its groups whose names begin with `secret` are what is masked, without one all of it.
    pub pattern: Option<String>,
    /// Names before its values, in small letters, words joined by `_`: `deploy_key`.
    #[serde(default)]
    pub names: Vec<String>,
}

/// A row of `[[hosts]]`: a host, or a cluster of them.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostRow {
    /// The host's name, in which `*` is anything: `gpu-a100-*`.
    pub name: String,
    /// What is known of it, as `--fact` says it: `gpu`, `gpu.memory`, `host.memory` …
    pub facts: BTreeMap<String, HostFact>,
}

/// What is known of a host.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a fact is words, a number, an amount like \"500GiB\", true or false")]
pub enum HostFact {
    /// Yes or no.
    Flag(bool),
    /// A number.
    Number(f64),
    /// Words, or an amount of memory.
    Text(String),
    /// Facts whose names go on: `host.memory = "500GiB"`.
    Facts(BTreeMap<String, HostFact>),
}

impl HostFact {
    /// Its values by name, below `name`.
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

/// A row of `[[ignore]]`: incidents that are known and accepted. All that it says must hold for one, and it says something besides the
/// reason.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IgnoreRow {
    /// Their fingerprint's key, as reports in JSON have it, or eight or more of its first signs.
    pub fingerprint: Option<String>,
    /// Their likeliest cause.
    pub cause: Option<String>,
    /// What ran out.
    pub kind: Option<Kind>,
    /// The log that proves them: a name, or a path from the file's folder, in which `*` is anything.
    pub path: Option<String>,
    /// The last day on which it holds, UTC: `2026-12-31`.
    #[serde(default, deserialize_with = "date")]
    #[schemars(with = "Option<String>", extend("format" = "date"))]
    pub until: Option<Date>,
    /// Why they are accepted.
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
