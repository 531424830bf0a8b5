use std::path::PathBuf;
use std::sync::Arc;

use anstyle::{AnsiColor, Style};
use clap::Args;

use super::error::CliError;
use super::facts::unknown_fact;
use super::language::spoken;
use super::messages::translate;
use super::printing::printable;
use crate::knowledge::{Knowledge, RuleFile};
use crate::model::Experience;
use crate::redact::Redactor;
use crate::remote::Remote;
use crate::rulebase::{RuleSource, SourcesError, nearest};
use crate::settings::{Row, Settings, SettingsError, Site};
use crate::store::{self, HomeUnknown, Snapshot};

/// The user's home folder, server and settings.
#[derive(Debug, Clone, Args)]
pub(super) struct Home {
    /// The folder for your rules and history [default: $OOMDOC_HOME, `home` of oomdoc.toml, else your data folder]
    #[arg(long, global = true, value_name = "DIR")]
    pub home: Option<PathBuf>,
    /// The team's server, which keeps the history; '' means none [default: $OOMDOC_SERVER, `server.url` of your oomdoc.toml]
    #[arg(long, global = true, value_name = "URL")]
    pub server: Option<String>,
    /// The effective settings, including the flags above.
    #[arg(skip)]
    pub settings: Settings,
}

impl Home {
    /// The folder; it need not exist.
    pub fn path(&self) -> Result<PathBuf, HomeUnknown> {
        store::find_home(self.settings.home.as_ref().map(|home| home.value.clone()))
    }

    /// The team's server, if there is one.
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

    /// The user's imported rules.
    pub fn own_rules(&self) -> Vec<RuleFile> {
        self.snapshot().rules
    }

    /// The rules that the settings name.
    pub fn named_rules(&self) -> Result<Vec<RuleSource>, CliError> {
        let read = self.settings.rules.iter().map(|path| RuleSource::read(&path.value));
        Ok(read.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    /// The shipped rules, overlaid with the user's own. Imported rules that do not fit are left out with a warning.
    pub fn knowledge(&self) -> Result<Arc<Knowledge>, CliError> {
        Ok(Arc::new(self.load()?))
    }

    /// A redactor for the secrets of the shipped rules, the user's rules and the settings.
    pub fn redactor(&self) -> Result<Redactor, CliError> {
        let mut secrets = self.fitting(&self.own_rules(), RuleSource::secrets)?;
        secrets.extend(self.settings.redaction.iter().map(|row| row.value.clone()));
        Ok(Redactor::new(&secrets)?)
    }

    /// Like [`Home::knowledge`], but owned.
    pub fn load(&self) -> Result<Knowledge, CliError> {
        self.overlaid(&self.own_rules())
    }

    /// Like [`Home::knowledge`], with earlier incidents and outcomes.
    pub fn knowledge_and_experience(&self) -> Result<(Arc<Knowledge>, Arc<Experience>), CliError> {
        let Snapshot { rules, experience, .. } = self.snapshot();
        Ok((Arc::new(self.overlaid(&rules)?), Arc::new(experience)))
    }

    /// The snapshot of the store; if it cannot be read, an empty one with a warning.
    fn snapshot(&self) -> Snapshot {
        let Ok(path) = self.path() else { return Snapshot::default() };
        Snapshot::read(&path).unwrap_or_else(|error| {
            warn(&format!("your rules and history are left out: {error}"), error.advice());
            Snapshot::default()
        })
    }

    /// The shipped rules, overlaid with the `imported` ones, those that the settings name, and the settings' secrets.
    fn overlaid(&self, imported: &[RuleFile]) -> Result<Knowledge, CliError> {
        let mut knowledge = self.fitting(imported, RuleSource::overlay)?;
        if !self.settings.redaction.is_empty() {
            knowledge.add_secrets(self.settings.redaction.iter().map(|row| row.value.clone()))?;
        }
        Ok(knowledge)
    }

    /// Applies `read` to the `imported` rules and those that the settings name; if that fails, to the latter alone,
    /// with a warning. Rules in the settings are never left out: they may define secrets to mask.
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

    /// What the settings say of the site, for analyses. Unknown facts and causes are errors: they would silently have
    /// no effect.
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
        Ok(Arc::new(self.settings.site(store::host_name(), Some(today()))))
    }
}

/// Today's date in UTC.
pub(super) fn today() -> jiff::civil::Date {
    jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date()
}

/// The error that `row` of the settings has a wrong value.
fn wrong<T>(row: &Row<T>, problem: String, nearest: &[String]) -> CliError {
    let advice = match nearest {
        [] => "`oomdoc explain` and docs/writing-rules.md list what there is".to_owned(),
        nearest => format!("did you mean {}?", nearest.join(", ")),
    };
    SettingsError::Wrong { place: row.place.clone(), problem, advice }.into()
}

/// Warns of ignore rows of the settings that have expired.
pub(super) fn warn_of_expired(site: &Site) {
    for row in site.expired() {
        let until = row.until.map(|until| until.to_string()).unwrap_or_default();
        let problem = format!("{}: no longer ignored since {until}: {}", row.by, row.reason);
        warn(&problem, "give it another `until`, or remove the row");
    }
}

/// Prints a warning and a hint on standard error.
pub(super) fn warn(problem: &str, advice: &str) {
    const WARNING: Style = AnsiColor::Yellow.on_default().bold();
    const HINT: Style = AnsiColor::Cyan.on_default();
    let language = spoken();
    let told = |words: &str| printable(&translate(words, language));
    anstream::eprintln!("{WARNING}{}{WARNING:#}: {}", told("warning"), told(problem));
    anstream::eprintln!("{HINT}{}{HINT:#}: {}", told("hint"), told(advice));
}
