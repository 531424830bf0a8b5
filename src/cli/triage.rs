use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use super::analyze::{summarize, tell};
use super::error::CliError;
use super::facts::ToldFacts;
use super::fail_on;
use super::github_outputs;
use super::home::{Home, warn, warn_of_expired};
use super::labels::Labels;
use super::language::Lang;
use super::printing::{self, printable, without_ci_commands};
use super::save;
use crate::Options;
use crate::jobs::Grouping;
use crate::knowledge::CauseRule;
use crate::model::Report;
use crate::redact::Redactor;
use crate::report::{self, Length};
use crate::triage::{self, Environment, FailOn, HttpError, Missing, Patience, Pipeline, Posted};
use crate::when::{Calendar, StatedTime};

/// The hint about certificates.
const TRUST: &str = "name a file of certificates (PEM) with SSL_CERT_FILE, or unset it: docs/ci.md";

/// At most this many earlier incidents are linked.
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
    #[command(flatten)]
    lang: Lang,
    #[command(flatten)]
    told: ToldFacts,
    /// Tell this job's comment from others, if several jobs share a name [default: the job's name]
    #[arg(long, value_name = "NAME")]
    comment_key: Option<String>,
    /// Say when it happened, where the log does not: `2026-11-20T10:00`, or a date
    #[arg(long, value_name = "TIME")]
    when: Option<StatedTime>,
    /// Do not keep the incident in the history
    #[arg(long)]
    no_save: bool,
    #[command(flatten)]
    labels: Labels,
    /// Write no comment
    #[arg(long)]
    no_comment: bool,
    /// Exit with 1 if the verdict is one of these kinds (comma-separated) or `any`; `none` never does [default: `triage.fail_on` of oomdoc.toml, else none]
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    fail_on: Vec<FailOn>,
    /// Post a message about a failure to this address as JSON (Slack and others) [default: `triage.notify` of your oomdoc.toml]
    #[arg(long, value_name = "URL")]
    notify: Option<String>,
}

impl Triage {
    pub fn run(self, home: &Home) -> Result<ExitCode, CliError> {
        let mut environment = Environment::read(|name| std::env::var(name).ok());
        environment.job = self.comment_key.clone().or(environment.job);
        let (knowledge, experience) = home.knowledge_and_experience()?;
        self.told.check(&knowledge)?;
        let site = home.site(&knowledge)?;
        warn_of_expired(&site);
        let options = Options {
            language: self.lang.language,
            facts: self.told.fact.clone(),
            knowledge: Some(Arc::clone(&knowledge)),
            experience: Arc::clone(&experience),
            calendar: Calendar { told: self.when, clocks: true },
            site,
            ..Options::default()
        };
        let mut reports = match crate::analyze_jobs(&self.paths, &options, Grouping::ByJob) {
            Ok(reports) => reports,
            // A job without a log has a result of its own, so this step does not fail.
            Err(error @ crate::Error::NothingRead(_)) => {
                CliError::from(error).report();
                return Ok(ExitCode::SUCCESS);
            }
            Err(error) => return Err(error.into()),
        };
        let redactor = Redactor::new(&knowledge.secrets)?;
        for report in &mut reports {
            report::neighbours(report, &self.paths, options.places());
            let earlier = save::earlier(report, &redactor, &experience, home, EARLIER);
            if let Some(root) = report.incidents.first_mut() {
                root.seen.earlier = earlier;
            }
        }
        let sent: Vec<Report> = reports.iter().map(|report| report::outgoing(report, &redactor).0).collect();
        // First the steps that need no server.
        self.write(&sent, &environment, &knowledge.causes)?;
        self.show(&sent, &environment)?;
        self.say_where()?;
        if !self.no_save {
            reports.iter().for_each(|report| save::save(report, self.labels.annotations(), &redactor, home));
        }
        let comment = if self.no_comment { None } else { self.comment(&sent, &environment)? };
        let has_failed = |report: &&Report| triage::state(report, &environment) == triage::State::Failed;
        if let (Pipeline::GitHub { .. }, Some(first)) =
            (&environment.pipeline, sent.iter().find(has_failed).or(sent.first()))
        {
            github_outputs::write(first, &self.output, comment.as_deref())?;
        }
        let settings = &home.settings;
        if let Some(url) = self.notify.as_ref().or(settings.notify.as_ref().map(|address| &address.value)) {
            sent.iter()
                .filter(has_failed)
                .for_each(|sent| tell(url, sent, self.lang.language, environment.run.as_deref()));
        }
        Ok(fail_on::status(if self.fail_on.is_empty() { &settings.fail_on.value } else { &self.fail_on }, &reports))
    }

    /// Writes the report in all formats.
    fn write(&self, sent: &[Report], environment: &Environment, causes: &[CauseRule]) -> Result<(), CliError> {
        let written = |path: &Path, text: &str| {
            fs::write(path, text).map_err(|error| CliError::Write { path: path.to_owned(), error })
        };
        fs::create_dir_all(&self.output).map_err(|error| CliError::Write { path: self.output.clone(), error })?;
        written(&self.output.join("report.json"), &report::json_of_jobs(sent)?)?;
        written(&self.output.join("report.html"), &report::html(sent, self.lang.language))?;
        written(&self.output.join("report.md"), &report::markdown_of_jobs(sent, self.lang.language))?;
        written(&self.output.join("report.sarif"), &report::sarif(sent, self.lang.language, &environment.root, causes)?)
    }

    /// Prints the report. On GitHub only annotations are printed, because the runner parses the output.
    fn show(&self, sent: &[Report], environment: &Environment) -> Result<(), CliError> {
        if matches!(environment.pipeline, Pipeline::GitHub { .. }) {
            for report in sent {
                let annotation = report::github(report, self.lang.language, &environment.root);
                std::io::stdout().write_all(annotation.as_bytes())?;
            }
            summarize(&report::markdown_of_jobs(sent, self.lang.language))
        } else {
            Ok(anstream::stdout().write_all(
                without_ci_commands(&report::text_of_jobs(sent, self.lang.language, Length::Screen, printing::width()))
                    .as_bytes(),
            )?)
        }
    }

    /// Prints where the files are.
    fn say_where(&self) -> Result<(), CliError> {
        let folder = self.output.join("").display().to_string();
        Ok(writeln!(
            std::io::stdout(),
            "oomdoc: report.html, report.md, report.json and report.sarif are in {}",
            printable(&folder)
        )?)
    }

    /// Writes the comment, or warns why there is none; returns its URL if it is known.
    fn comment(&self, sent: &[Report], environment: &Environment) -> Result<Option<String>, CliError> {
        let done = match environment.forge(Patience::default()) {
            Ok(forge) => triage::comment(&*forge, sent, self.lang.language, environment),
            Err(Missing::Request) => return Ok(None),
            Err(Missing::Trust(error)) => {
                warn(&format!("no comment was written: {error}"), TRUST);
                return Ok(None);
            }
            Err(Missing::Token) => {
                let advice = "give GITHUB_TOKEN, or GITLAB_TOKEN with the scope `api`, to this step: docs/ci.md";
                warn("no comment was written: there is no token", advice);
                return Ok(None);
            }
        };
        let (words, page) = match done {
            Ok((Posted::Nothing, _)) => return Ok(None),
            Ok((Posted::Created, page)) => ("comment written", page),
            Ok((Posted::Updated, page)) => ("comment renewed", page),
            Ok((Posted::Solved, page)) => ("comment marked as solved", page),
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
                return Ok(None);
            }
        };
        let there = page.as_deref().map(|page| format!(": {}", printable(page))).unwrap_or_default();
        writeln!(std::io::stdout(), "oomdoc: {words}{there}")?;
        Ok(page)
    }
}
