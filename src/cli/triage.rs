use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use super::analyze::{summarize, tell, told};
use super::error::CliError;
use super::fail_on::{self, FailOn};
use super::home::{Home, warn};
use super::save;
use super::screen::{self, printed};
use crate::Options;
use crate::facts::Value;
use crate::knowledge::{CauseRule, Language};
use crate::model::Report;
use crate::redact::Redactor;
use crate::report::{self, Length};
use crate::triage::{self, Environment, HttpError, Missing, Patience, Pipeline, Posted};

/// What to do about certificates.
const TRUST: &str = "name a file of certificates (PEM) with SSL_CERT_FILE, or unset it: docs/ci.md";

/// Earlier incidents that are linked.
const EARLIER: usize = 3;

/// Analyze in a pipeline: report files, an annotation, the step's summary, one comment on the pull or merge request.
#[derive(Debug, Args)]
pub(super) struct Triage {
    /// Logs, folders of them, configs, launch scripts, as for `analyze`
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
    /// The folder for the report as JSON, HTML, Markdown and SARIF
    #[arg(long, value_name = "DIR", default_value = "oomdoc-report")]
    output: PathBuf,
    /// The language of the report, `en` or `zh` [default: $OOMDOC_LANG, else your locale]
    #[arg(long, value_name = "LANG", default_value_t = super::language::preferred(), hide_default_value = true)]
    lang: Language,
    /// Facts that the logs do not state: `model=8b`, `gpu=A100-80G`, `host.memory=500GiB`
    #[arg(long, value_name = "KEY=VALUE", value_parser = told)]
    fact: Vec<(String, Value)>,
    /// Whose comment it is, where several jobs of one name run [default: the job's name]
    #[arg(long, value_name = "NAME")]
    comment_key: Option<String>,
    /// Do not keep the incident in the history
    #[arg(long)]
    no_save: bool,
    /// Write no comment
    #[arg(long)]
    no_comment: bool,
    /// Exit with 1 if the verdict is one of these kinds (comma-separated) or `any`; `none` never does
    #[arg(long, value_name = "KIND", value_delimiter = ',', default_value = "none")]
    fail_on: Vec<FailOn>,
    /// Post a message about a failure to this address as JSON (Slack and others)
    #[arg(long, value_name = "URL")]
    notify: Option<String>,
}

impl Triage {
    pub fn run(self, home: &Home) -> Result<ExitCode, CliError> {
        let mut environment = Environment::read(|name| std::env::var(name).ok());
        environment.job = self.comment_key.clone().or(environment.job);
        let (knowledge, experience) = home.knowledge_and_experience()?;
        let options = Options {
            language: self.lang,
            facts: self.fact.clone(),
            knowledge: Some(Arc::clone(&knowledge)),
            experience: Arc::clone(&experience),
            ..Options::default()
        };
        let mut report = match crate::analyze(&self.paths, &options) {
            Ok(report) => report,
            // A job that wrote no log has its own result.
            Err(error @ crate::Error::NothingRead(_)) => {
                CliError::from(error).report();
                return Ok(ExitCode::SUCCESS);
            }
            Err(error) => return Err(error.into()),
        };
        report::neighbours(&mut report, &self.paths);
        let redactor = Redactor::new(&knowledge.secrets)?;
        let earlier = save::earlier(&report, &redactor, &experience, home, EARLIER);
        if let Some(root) = report.incidents.first_mut() {
            root.seen.earlier = earlier;
        }
        let (sent, _) = report::outgoing(&report, &redactor);
        // First what nobody can refuse.
        self.write(&sent, &environment, &knowledge.causes)?;
        self.show(&sent, &environment)?;
        if !self.no_save {
            save::save(&report, &redactor, home);
        }
        if !self.no_comment {
            self.comment(&sent, &environment)?;
        }
        let has_failed = triage::state(&sent, &environment) == triage::State::Failed;
        if let Some(url) = self.notify.as_ref().filter(|_| has_failed) {
            tell(url, &sent, self.lang, environment.run.as_deref());
        }
        Ok(fail_on::status(&self.fail_on, std::slice::from_ref(&report)))
    }

    /// Writes the report's files.
    fn write(&self, sent: &Report, environment: &Environment, causes: &[CauseRule]) -> Result<(), CliError> {
        let written = |path: &Path, text: &str| {
            fs::write(path, text).map_err(|error| CliError::Write { path: path.to_owned(), error })
        };
        fs::create_dir_all(&self.output).map_err(|error| CliError::Write { path: self.output.clone(), error })?;
        written(&self.output.join("report.json"), &report::json(sent)?)?;
        written(&self.output.join("report.html"), &report::html(sent, self.lang))?;
        written(&self.output.join("report.md"), &report::markdown(sent, self.lang))?;
        written(&self.output.join("report.sarif"), &report::sarif(sent, self.lang, &environment.root, causes)?)
    }

    /// Prints what the pipeline shows: GitHub obeys what it finds in a log, so nothing else of ours is there.
    fn show(&self, sent: &Report, environment: &Environment) -> Result<(), CliError> {
        if matches!(environment.pipeline, Pipeline::GitHub { .. }) {
            let annotation = report::github(sent, self.lang, &environment.root);
            std::io::stdout().write_all(annotation.as_bytes())?;
            summarize(&report::markdown(sent, self.lang))
        } else {
            Ok(anstream::stdout()
                .write_all(printed(&report::text(sent, self.lang, Length::Screen, screen::width())).as_bytes())?)
        }
    }

    /// Writes the comment; says so where there is none.
    fn comment(&self, sent: &Report, environment: &Environment) -> Result<(), CliError> {
        let done = match environment.forge(Patience::default()) {
            Ok(forge) => triage::comment(&*forge, sent, self.lang, environment),
            Err(Missing::Request) => return Ok(()),
            Err(Missing::Trust(error)) => {
                warn(&format!("no comment was written: {error}"), TRUST);
                return Ok(());
            }
            Err(Missing::Token) => {
                let advice = "give GITHUB_TOKEN, or GITLAB_TOKEN with the scope `api`, to this step: docs/ci.md";
                warn("no comment was written: there is no token", advice);
                return Ok(());
            }
        };
        let words = match done {
            Ok(Posted::Nothing) => return Ok(()),
            Ok(Posted::Created) => "comment written",
            Ok(Posted::Updated) => "comment renewed",
            Ok(Posted::Solved) => "comment marked as solved",
            Err(error) => {
                let advice = match &error {
                    HttpError::NotAllowed(_) => {
                        "the token may not write comments, as for pull requests from forks: the report is in the summary"
                    }
                    _ => "the report is in the summary and in the folder of --output",
                };
                warn(&format!("no comment was written: {error}"), advice);
                if matches!(environment.pipeline, Pipeline::GitHub { .. }) {
                    summarize(&format!("No comment was written ({error}): {advice}."))?;
                }
                return Ok(());
            }
        };
        Ok(writeln!(std::io::stdout(), "oomdoc: {words}")?)
    }
}
