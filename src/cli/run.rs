use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::error::CliError;
use super::facts::ToldFacts;
use super::flags::size;
use super::home::Home;
use super::language::Lang;
use crate::model::Bytes;

/// How `run` ends.
pub(super) const EXIT_CODES: &str = "Exit codes: the command's own; 128 + n if signal n ended it
  0    with --attach: the process has ended
  2    the recorder could not start, or the options are wrong
  126  the command cannot be run
  127  there is no such command";

/// Run a command and record its memory, so that its end can be explained without the kernel's log.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Run {
    /// The command and its arguments
    #[arg(value_name = "CMD", trailing_var_arg = true, allow_hyphen_values = true, required_unless_present = "attach")]
    command: Vec<OsString>,
    /// Record a process that runs already, and those below it, until it ends
    #[arg(long, value_name = "PID", conflicts_with_all = ["command", "log", "no_log"])]
    attach: Option<u32>,
    /// Keep what the command prints in this file [default: oomdoc-TIME-HOST-PID.log]
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Keep at most this much of it: the beginning and the end
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = |text: &str| size(text, "64MiB"))]
    log_size: Bytes,
    /// Keep no log: the command prints where oomdoc would
    #[arg(long, conflicts_with = "log")]
    no_log: bool,
    /// Write the record to this file [default: next to the log, ending in .record]
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Let the record take at most this much
    #[arg(long, value_name = "SIZE", default_value = "8MiB", value_parser = |text: &str| size(text, "64MiB"))]
    record_size: Bytes,
    /// Look at memory once in so many seconds; oftener while it rises towards a limit
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    interval: f64,
    /// Print nothing if the command succeeds
    #[arg(long)]
    quiet_success: bool,
    #[command(flatten)]
    lang: Lang,
    #[command(flatten)]
    told: ToldFacts,
    /// Do not keep the incident in the history
    #[arg(long)]
    no_save: bool,
}

/// `0.5`
fn seconds(text: &str) -> Result<f64, String> {
    let seconds: Option<f64> = text.parse().ok();
    seconds
        .filter(|seconds| (0.1..=3600.0).contains(seconds))
        .ok_or_else(|| "write a number from 0.1 to 3600".to_owned())
}

#[cfg(not(target_os = "linux"))]
impl Run {
    pub fn run(self, _: &Home) -> Result<ExitCode, CliError> {
        Err(CliError::NoRecorder)
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io::Write as _;
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::Options;
    use crate::cli::home::warn;
    use crate::cli::save;
    use crate::cli::screen::{self, printed};
    use crate::jobs::Grouping;
    use crate::model::{Kind, Report};
    use crate::recorder::{Ended, Names, Plan, Subject, record};
    use crate::redact::Redactor;
    use crate::report::{self, Length};
    use crate::when::Calendar;

    impl Run {
        pub fn run(self, home: &Home) -> Result<ExitCode, CliError> {
            let redactor = home.redactor()?;
            let names = Names::of_this_process();
            let default = names.log(Path::new(""));
            let log = if self.no_log || self.attach.is_some() {
                None
            } else {
                Some(self.log.clone().unwrap_or_else(|| default.clone()))
            };
            let beside = || Names::record_beside(log.as_ref().unwrap_or(&default));
            let path = self.record.clone().unwrap_or_else(beside);
            let bytes = |size: Bytes| u64::try_from(size.0).unwrap_or_default();
            let subject = match self.attach {
                Some(pid) => Subject::Process(pid),
                None => Subject::Command(self.command.clone(), log.clone().map(|log| (log, bytes(self.log_size)))),
            };
            let mask = |text: &str| redactor.text(text).into_owned();
            let interval = Duration::from_secs_f64(self.interval);
            let record_size = bytes(self.record_size);
            let plan = Plan { subject, record: (path.clone(), record_size), interval, names, mask: &mask };
            let ended = match record(plan) {
                Ok(ended) => ended,
                Err(error) => {
                    let status = error.status();
                    CliError::Run(error).report();
                    return Ok(ExitCode::from(status));
                }
            };
            let Ended { status, problems } = ended;
            problems.iter().for_each(|problem| warn(problem, "the command was not disturbed"));
            let status = status.unwrap_or(0);
            let inputs: Vec<String> = log.iter().chain([&path]).map(|path| path.display().to_string()).collect();
            // Whatever goes wrong from here on is no fault of the command's.
            if let Err(error) = self.conclude(&inputs, status, &redactor, home) {
                error.report();
            }
            Ok(ExitCode::from(status))
        }

        /// Says what the log and the record amount to, on standard error: standard output is the command's.
        fn conclude(&self, inputs: &[String], status: u8, redactor: &Redactor, home: &Home) -> Result<(), CliError> {
            let (knowledge, experience) = home.knowledge_and_experience()?;
            self.told.check(&knowledge)?;
            let options = Options {
                language: self.lang.language,
                facts: self.told.fact.clone(),
                knowledge: Some(Arc::clone(&knowledge)),
                calendar: Calendar { told: None, clocks: true },
                experience,
                site: home.site(&knowledge)?,
                ..Options::default()
            };
            let reports = crate::analyze_jobs(inputs, &options, Grouping::Together)?;
            let went_well = |report: &Report| report.verdict == Kind::None && status == 0;
            if !(self.quiet_success && reports.iter().all(went_well)) {
                let text = report::text_of_jobs(&reports, self.lang.language, Length::Screen, screen::width());
                anstream::stderr().write_all(printed(&text).as_bytes())?;
            }
            if !self.no_save {
                let sent = reports.iter().map(|report| report::outgoing(report, redactor).0);
                sent.for_each(|report| save::save(&report, Default::default(), redactor, home));
            }
            Ok(())
        }
    }
}
