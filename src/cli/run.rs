use std::ffi::OsString;
use std::path::PathBuf;
#[cfg(not(target_os = "linux"))]
use std::process::ExitCode;

use clap::Args;

#[cfg(not(target_os = "linux"))]
use super::error::CliError;
use super::facts::ToldFacts;
use super::flags::size;
#[cfg(not(target_os = "linux"))]
use super::home::Home;
use super::language::Lang;
use crate::model::Bytes;

/// Exit codes of `run`.
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
    /// Record a running process and its children, until it ends
    #[arg(long, value_name = "PID", conflicts_with_all = ["command", "log", "no_log"])]
    attach: Option<u32>,
    /// Keep what the command prints in this file [default: oomdoc-TIME-HOST-PID.log]
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Keep at most this much of it: the beginning and the end
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = |text: &str| size(text, "64MiB"))]
    log_size: Bytes,
    /// Keep no log: the command prints directly to oomdoc's own output
    #[arg(long, conflicts_with = "log")]
    no_log: bool,
    /// Write the record to this file [default: next to the log, ending in .record]
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Limit the size of the record
    #[arg(long, value_name = "SIZE", default_value = "8MiB", value_parser = |text: &str| size(text, "64MiB"))]
    record_size: Bytes,
    /// Sample memory at this interval; more often while it rises towards a limit
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    interval: f64,
    /// Print nothing if the command succeeds
    #[arg(long)]
    quiet_success: bool,
    /// If it runs out of memory, make the proposed change in copies of its files and run it again, at most N times
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=9), conflicts_with = "attach")]
    retry: u32,
    #[command(flatten)]
    lang: Lang,
    #[command(flatten)]
    told: ToldFacts,
    /// Do not keep the incident in the history
    #[arg(long)]
    no_save: bool,
}

/// Parses a number of seconds: `0.5`.
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
mod attempts;
