use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use super::error::CliError;
use super::history::{HistoryPlace, asked};
use super::home::Home;
use super::save;
use crate::Options;
use crate::history::{self, Likeness, Order, Page, Record};
use crate::mcp::{self, Backend, KeptIncident, Problem, Reach, Tools};
use crate::redact::Redactor;
use crate::when::Calendar;

/// Serve oomdoc's tools to assistants that speak the Model Context Protocol, on standard input and output: docs/mcp.md
#[derive(Debug, Args)]
pub(super) struct Mcp {
    /// Read only files below this folder; may be repeated [default: whatever you may read]
    #[arg(long, value_name = "DIR")]
    root: Vec<PathBuf>,
    /// Keep no incident in the history, whatever the assistant asks
    #[arg(long)]
    no_save: bool,
}

impl Mcp {
    pub fn run(self, home: &Home) -> Result<ExitCode, CliError> {
        let real = |root: &PathBuf| root.canonicalize().map_err(|error| CliError::Root { path: root.clone(), error });
        let below = self.root.iter().map(real).collect::<Result<_, _>>()?;
        let knowledge = home.knowledge()?;
        // Report invalid settings to the user who starts the server, not to the assistant.
        home.site(&knowledge)?;
        let redactor = Redactor::new(&knowledge.secrets)?;
        let local = Local { home: home.clone(), redactor, reach: Reach::Files { below } };
        mcp::serve(Tools::new(Arc::new(local), !self.no_save))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The backend of a user's machine: their rules, settings and history.
struct Local {
    home: Home,
    redactor: Redactor,
    reach: Reach,
}

impl Backend for Local {
    fn options(&self) -> Result<Options, Problem> {
        let (knowledge, experience) = self.home.knowledge_and_experience()?;
        let site = self.home.site(&knowledge)?;
        let calendar = Calendar { told: None, clocks: true };
        Ok(Options { knowledge: Some(knowledge), experience, site, calendar, ..Options::default() })
    }

    fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    fn reach(&self) -> &Reach {
        &self.reach
    }

    fn search(&self, words: &str, order: Order, skip: usize, most: usize) -> Result<Page, Problem> {
        let place = HistoryPlace::of(&self.home)?;
        let query = asked(words, &self.home, &place)?;
        Ok(place.ask(words, &query, order, skip, most)?)
    }

    fn similar(&self, record: &Record, most: usize) -> Result<Vec<Likeness>, Problem> {
        Ok(HistoryPlace::of(&self.home)?.similar(record, most)?)
    }

    fn find(&self, id: &str) -> Result<KeptIncident, Problem> {
        let (record, outcomes) = HistoryPlace::of(&self.home)?.show(id)?;
        Ok(KeptIncident { record, outcomes })
    }

    fn keep(&self, record: &Record) -> Result<(), Problem> {
        let folder = self.home.path().map_err(CliError::from)?;
        history::put(&folder, record)?;
        save::drain(&folder, &self.home.settings);
        Ok(())
    }
}

impl From<CliError> for Problem {
    fn from(error: CliError) -> Problem {
        if let CliError::History(error) = error {
            return error.into();
        }
        let advice = error.hint().unwrap_or_else(|| "standard error of `oomdoc mcp` may say more".to_owned());
        Problem::new(error.to_string(), advice)
    }
}
