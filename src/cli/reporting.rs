//! Output of reports: their format and destination, keeping them in the history, messages about them.

use std::mem;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use clap::{Args, ValueEnum};

use super::analyze::{repository, summarize, tell};
use super::destination::Destination;
use super::error::CliError;
use super::facts::ToldFacts;
use super::fail_on;
use super::home::{Home, warn, warn_of_expired};
use super::labels::Labels;
use super::language::Lang;
use super::printing::{self, without_ci_commands};
use super::rank_rows::RankRows;
use super::save;
use crate::Options;
use crate::jobs::Grouping;
use crate::knowledge::Knowledge;
use crate::model::{InputSummary, Report, Role};
use crate::redact::Redactor;
use crate::report::{self, Length};
use crate::source::SourceError;
use crate::triage::FailOn;
use crate::when::{Calendar, StatedTime};

/// Flags for the output of reports.
#[derive(Debug, Args)]
pub(super) struct Reporting {
    /// How to show the report
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
    /// Show the whole text report, not only what fits on a screen
    #[arg(long, conflicts_with = "brief")]
    full: bool,
    /// Show three lines: what ran out, why, and what to do
    #[arg(long)]
    brief: bool,
    #[command(flatten)]
    rows: RankRows,
    /// With `--format json`: the verdict, causes, first patch and citations in less than 4 KB
    #[arg(long)]
    compact: bool,
    /// Write one report per log
    #[arg(long, conflicts_with = "together")]
    each: bool,
    /// Write one report over all logs, even if they seem to be from different jobs
    #[arg(long)]
    together: bool,
    #[command(flatten)]
    destination: Destination,
    #[command(flatten)]
    lang: Lang,
    #[command(flatten)]
    told: ToldFacts,
    /// Say when it happened, where the log does not: `2026-11-20T10:00`, or a date
    #[arg(long, value_name = "TIME")]
    when: Option<StatedTime>,
    /// Do not keep the incident in the history
    #[arg(long)]
    no_save: bool,
    #[command(flatten)]
    labels: Labels,
    /// Exit with 1 if the verdict is one of these kinds (comma-separated) or `any`; `none` never does
    #[arg(long, value_name = "KIND", value_delimiter = ',', default_value = "none")]
    fail_on: Vec<FailOn>,
    /// Post a message about it to this address as JSON (Slack and others)
    #[arg(long, value_name = "URL")]
    notify: Option<String>,
    /// Mask secrets in the output too, not only in what is kept or sent
    #[arg(long)]
    redact: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReportFormat {
    /// One screen for a terminal
    Text,
    /// Everything, for programs
    Json,
    /// For comments and chat
    Markdown,
    /// One self-contained page
    Html,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// An annotation, and the step summary of GitHub Actions
    Github,
}

impl Reporting {
    /// The options of the analysis.
    pub fn options(&self, home: &Home) -> Result<Options, CliError> {
        let (knowledge, experience) = home.knowledge_and_experience()?;
        self.told.check(&knowledge)?;
        let site = home.site(&knowledge)?;
        warn_of_expired(&site);
        // The process ends with the report, and ends sooner if it need not free this row by row.
        mem::forget(Arc::clone(&knowledge));
        Ok(Options {
            language: self.lang.language,
            facts: self.told.fact.clone(),
            knowledge: Some(knowledge),
            calendar: Calendar { told: self.when, clocks: true },
            experience,
            site,
            ..Options::default()
        })
    }

    /// How inputs are grouped into reports.
    pub fn grouping(&self) -> Grouping {
        match (self.each, self.together) {
            (true, _) => Grouping::Each,
            (_, true) => Grouping::Together,
            _ => Grouping::ByJob,
        }
    }

    /// The file given with `--output`.
    pub fn output(&self) -> Option<PathBuf> {
        self.destination.file().map(Path::to_path_buf)
    }

    /// Whether the format shows the lines around citations.
    pub fn shows_neighbours(&self) -> bool {
        self.format == ReportFormat::Html
    }

    /// Shows the reports, keeps their incidents and sends messages, without what `redactor` masks; returns the exit status.
    pub fn report(
        &self,
        reports: &[Report],
        knowledge: Arc<Knowledge>,
        redactor: Redactor,
        home: &Home,
    ) -> Result<ExitCode, CliError> {
        if !reports.iter().any(report::has_log) {
            if self.format != ReportFormat::Text {
                self.print(reports, &knowledge)?;
            }
            return Err(nothing_read(reports));
        }
        let unreadable = reports.iter().flat_map(|report| &report.inputs).filter_map(|input| input.warning.as_deref());
        for warning in unreadable.filter(|warning| warning.starts_with(SourceError::UNREADABLE)) {
            warn(warning, "the report covers the others");
        }
        let narrowed = self.rows.narrowed(reports)?;
        let shown = narrowed.as_deref().unwrap_or(reports);
        let mask = || -> (Vec<Report>, Vec<usize>) {
            reports.iter().map(|report| report::outgoing(report, &redactor)).unzip()
        };
        let is_verbatim = !self.redact && self.format != ReportFormat::Github;
        let (sent, masked) = if is_verbatim {
            // What people see need not wait for what is kept.
            thread::scope(|scope| {
                let masked = scope.spawn(mask);
                self.print(shown, &knowledge)?;
                Ok::<_, CliError>(masked.join().unwrap_or_else(|panic| resume_unwind(panic)))
            })?
        } else {
            let (sent, masked) = mask();
            let rows = self.rows.narrowed(&sent)?;
            self.print(rows.as_deref().unwrap_or(&sent), &knowledge)?;
            (sent, masked)
        };
        let masked: usize = masked.into_iter().sum();
        if is_verbatim && masked > 0 {
            let what = format!("{masked} of the texts above contain what looks like a secret, copied from the inputs");
            warn(&what, "`--redact` masks it; what is kept or sent is always masked");
        }
        if let Some(url) = &self.notify {
            let is_alarm = |sent: &&Report| sent.incidents.first().is_none_or(|root| root.ignored.is_none());
            sent.iter().filter(is_alarm).for_each(|sent| tell(url, sent, self.lang.language, None));
        }
        if !self.no_save {
            reports.iter().for_each(|report| save::save(report, self.labels.annotations(), &redactor, home));
        }
        // The process ends soon: freeing thousands of rules would be wasted time.
        mem::forget((knowledge, redactor));
        Ok(fail_on::status(&self.fail_on, reports))
    }

    fn text(&self, reports: &[Report]) -> String {
        if self.rows.is_asked() {
            return reports.iter().map(|report| report::rank_rows(report, self.lang.language)).collect();
        }
        let length = match (self.full, self.brief) {
            (true, _) => Length::Full,
            (_, true) => Length::Brief,
            _ => Length::Screen,
        };
        report::text_of_jobs(reports, self.lang.language, length, printing::width())
    }

    fn print(&self, reports: &[Report], knowledge: &Knowledge) -> Result<(), CliError> {
        let markdown = || report::markdown_of_jobs(reports, self.lang.language);
        let page = match self.format {
            ReportFormat::Text => return self.destination.write_styled(&without_ci_commands(&self.text(reports))),
            ReportFormat::Json if self.compact => {
                reports.iter().map(|report| Ok(report::compact(report)? + "\n")).collect::<Result<_, CliError>>()?
            }
            ReportFormat::Json => report::json_of_jobs(reports)? + "\n",
            ReportFormat::Markdown => markdown(),
            ReportFormat::Html => report::html(reports, self.lang.language),
            ReportFormat::Sarif => report::sarif(reports, self.lang.language, &repository(), &knowledge.causes)? + "\n",
            ReportFormat::Github => {
                reports.iter().map(|report| report::github(report, self.lang.language, &repository())).collect()
            }
        };
        self.destination.write(&page)?;
        if self.format == ReportFormat::Github {
            summarize(&markdown())?;
        }
        Ok(())
    }
}

/// The error that no input is a log, with what each of them is.
fn nothing_read(reports: &[Report]) -> CliError {
    let describe = |input: &InputSummary| {
        let what = match input.role {
            Role::Config => "a configuration",
            Role::Script => "a launch script",
            Role::Log | Role::Kernel | Role::Snapshot | Role::Other => "no lines of a log",
        };
        format!("{}: {}", input.path, input.warning.as_deref().unwrap_or(what))
    };
    CliError::NoLog(reports.iter().flat_map(|report| &report.inputs).map(describe).collect())
}
