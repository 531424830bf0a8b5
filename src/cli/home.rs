use std::path::PathBuf;
use std::sync::Arc;

use anstyle::{AnsiColor, Style};
use clap::Args;

use super::error::CliError;
use super::facts::unknown_fact;
use super::language::spoken;
use super::messages::told;
use super::screen::said;
use crate::knowledge::{Knowledge, RuleFile};
use crate::model::Experience;
use crate::redact::Redactor;
use crate::remote::Remote;
use crate::rulebase::{RuleSource, SourcesError, nearest};
use crate::settings::{Row, Settings, SettingsError, Site};
use crate::store::{self, HomeUnknown, Snapshot};

/// Where oomdoc keeps what is the user's.
#[derive(Debug, Clone, Args)]
pub(super) struct Home {
    /// The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]
    #[arg(long, global = true, value_name = "DIR")]
    pub home: Option<PathBuf>,
    /// The team's server, which keeps the history; '' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]
    #[arg(long, global = true, value_name = "URL")]
    pub server: Option<String>,
    /// What holds, that flag included.
    #[arg(skip)]
    pub settings: Settings,
}

impl Home {
    /// The folder; it need not exist.
    pub fn path(&self) -> Result<PathBuf, HomeUnknown> {
        store::find_home(self.settings.home.as_ref().map(|home| home.value.clone()))
    }

    /// The team's server, where there is one.
    pub fn remote(&self) -> Result<Option<Remote>, CliError> {
        let Some(url) = self.settings.server.as_ref().filter(|url| !url.value.is_empty()) else { return Ok(None) };
        let told = std::env::var("OOMDOC_SERVER_TOKEN").ok().filter(|token| !token.is_empty());
        let token = match (told, &self.settings.server_token) {
            (Some(token), _) => Some(token),
            (None, Some(path)) => Some(Remote::token(&path.value)?),
            (None, None) => None,
        };
        Ok(Some(Remote::new(&url.value, token.as_deref())?))
    }

    /// The user's own rules.
    pub fn own_rules(&self) -> Vec<RuleFile> {
        self.snapshot().rules
    }

    /// The rules that settings name.
    pub fn named_rules(&self) -> Result<Vec<RuleSource>, CliError> {
        let read = self.settings.rules.iter().map(|path| RuleSource::read(&path.value));
        Ok(read.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    /// The shipped rules with the user's own over them, or without those that were imported where they do not fit.
    pub fn knowledge(&self) -> Result<Arc<Knowledge>, CliError> {
        Ok(Arc::new(self.load()?))
    }

    /// Masks what the shipped rules and the user's own call secret.
    pub fn redactor(&self) -> Result<Redactor, CliError> {
        let mut secrets = self.fitting(&self.own_rules(), RuleSource::secrets)?;
        secrets.extend(self.settings.redaction.iter().map(|row| row.value.clone()));
        Ok(Redactor::new(&secrets)?)
    }

    /// [`Home::knowledge`], to be changed.
    pub fn load(&self) -> Result<Knowledge, CliError> {
        self.overlaid(&self.own_rules())
    }

    /// [`Home::knowledge`], and what came up and was tried before.
    pub fn knowledge_and_experience(&self) -> Result<(Arc<Knowledge>, Arc<Experience>), CliError> {
        let Snapshot { rules, experience, .. } = self.snapshot();
        Ok((Arc::new(self.overlaid(&rules)?), Arc::new(experience)))
    }

    /// What is told of the store. What cannot be read is said on standard error: it costs nobody an answer.
    fn snapshot(&self) -> Snapshot {
        let Ok(path) = self.path() else { return Snapshot::default() };
        Snapshot::read(&path).unwrap_or_else(|error| {
            warn(&format!("your rules and history are left out: {error}"), error.advice());
            Snapshot::default()
        })
    }

    /// The shipped rules with the `imported` ones, those that settings name and their secrets over them.
    fn overlaid(&self, imported: &[RuleFile]) -> Result<Knowledge, CliError> {
        let mut knowledge = self.fitting(imported, RuleSource::overlay)?;
        if !self.settings.redaction.is_empty() {
            knowledge.add_secrets(self.settings.redaction.iter().map(|row| row.value.clone()))?;
        }
        Ok(knowledge)
    }

    /// What `read` makes of the `imported` rules and those that settings name. What settings name must fit: who masks more than others must
    /// not find that left out.
    fn fitting<T>(
        &self,
        imported: &[RuleFile],
        read: impl Fn(&[RuleSource]) -> Result<T, SourcesError>,
    ) -> Result<T, CliError> {
        let (imported, named) = (RuleSource::imported(imported), self.named_rules()?);
        let all: Vec<RuleSource> = imported.into_iter().chain(named.iter().cloned()).collect();
        read(&all).or_else(|error| {
            let without = read(&named)?;
            warn(&format!("your rules are left out: {error}"), "`oomdoc rules check` says what to fix");
            Ok(without)
        })
    }

    /// What settings say of this place, as analyses take it. Facts and causes that nobody knows are errors: they would change nothing, and
    /// nobody would notice.
    pub fn site(&self, knowledge: &Knowledge) -> Result<Arc<Site>, CliError> {
        let Settings { hosts, ignore, .. } = &self.settings;
        for known in hosts {
            if let Some((name, nearest)) = unknown_fact(&known.value.facts, knowledge)? {
                return Err(wrong(known, format!("no fact is called `{name}`"), &nearest));
            }
        }
        for row in ignore {
            let Some(cause) = row.value.cause.as_deref() else { continue };
            let causes = || knowledge.causes.iter().map(|rule| &*rule.cause).chain(["unknown"]);
            if !causes().any(|known| known == cause) {
                let nearest: Vec<String> = nearest(cause, causes()).into_iter().map(str::to_owned).collect();
                return Err(wrong(row, format!("no cause is called `{cause}`"), &nearest));
            }
        }
        Ok(Arc::new(self.settings.site(store::machine(), Some(today()))))
    }
}

/// The day, UTC.
pub(super) fn today() -> jiff::civil::Date {
    jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date()
}

/// That `row` of settings cannot be meant so.
fn wrong<T>(row: &Row<T>, problem: String, nearest: &[String]) -> CliError {
    let advice = match nearest {
        [] => "`oomdoc explain` and docs/writing-rules.md list what there is".to_owned(),
        nearest => format!("did you mean {}?", nearest.join(", ")),
    };
    SettingsError::Wrong { place: row.place.clone(), problem, advice }.into()
}

/// Says which rows of settings are over.
pub(super) fn warn_of_expired(site: &Site) {
    for row in site.expired() {
        let until = row.until.map(|until| until.to_string()).unwrap_or_default();
        let problem = format!("{}: no longer ignored since {until}: {}", row.by, row.reason);
        warn(&problem, "give it another `until`, or remove the row");
    }
}

/// Says on standard error what went wrong and what to do about it.
pub(super) fn warn(problem: &str, advice: &str) {
    const WARNING: Style = AnsiColor::Yellow.on_default().bold();
    const HINT: Style = AnsiColor::Cyan.on_default();
    let language = spoken();
    let told = |words: &str| said(&told(words, language));
    anstream::eprintln!("{WARNING}{}{WARNING:#}: {}", told("warning"), told(problem));
    anstream::eprintln!("{HINT}{}{HINT:#}: {}", told("hint"), told(advice));
}
