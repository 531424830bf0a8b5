//! The command line: one file per subcommand, and one place where errors become advice.

mod addresses;
mod analyze;
mod color;
mod completions;
mod config;
mod destination;
mod digest;
mod error;
mod estimate;
mod explain;
mod facts;
mod fail_on;
mod fix;
mod flags;
mod github_outputs;
mod help;
mod history;
mod home;
mod labels;
mod language;
#[cfg(feature = "mcp")]
mod mcp;
mod merge;
mod messages;
mod printing;
mod progress;
mod rank_rows;
mod reporting;
mod rules;
mod run;
mod save;
#[cfg(feature = "server")]
mod serve;
mod settings;
mod table;
mod triage;

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use error::CliError;
pub use flags::{Flags, Quantised, Recomputation};

/// The post-mortem for out-of-memory failures of LLM training and serving jobs.
#[derive(Debug, Parser)]
#[command(name = "oomdoc", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    home: home::Home,
    #[command(flatten)]
    color: color::Color,
    #[command(flatten)]
    files: settings::Files,
}

#[derive(Debug, Subcommand)]
enum Command {
    Analyze(analyze::Analyze),
    Digest(digest::Digest),
    Merge(merge::Merge),
    Run(run::Run),
    Triage(triage::Triage),
    #[cfg(feature = "server")]
    Serve(serve::Serve),
    Fix(fix::Fix),
    Estimate(Box<estimate::Estimate>),
    Explain(explain::Explain),
    Rules(rules::Rules),
    History(history::History),
    #[cfg(feature = "mcp")]
    Mcp(mcp::Mcp),
    Config(config::Config),
    Completions(completions::Completions),
}

/// All commands and options, in English; manual pages and completions are generated from it.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the command that the process was started with.
pub fn run() -> ExitCode {
    let early = settings::Early::read();
    language::speak(early.language());
    let matches = match help::in_language(command(), language::spoken()).try_get_matches() {
        Ok(matches) => matches,
        Err(error) if asks_for_left_out_server(&error) => return CliError::NoServer.report(),
        Err(error) => match bare_path(&error) {
            Some(path) => return CliError::NoCommand { path }.report(),
            None => error.exit(),
        },
    };
    let Cli { command, home, color, files } = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let flags = crate::settings::Flags {
        home: home.home.clone(),
        color: color.choice(),
        server: home.server.clone(),
        ..Default::default()
    };
    let settings = match &command {
        // Completions do not depend on settings, so invalid ones must not prevent them.
        Command::Completions(_) => Ok(Default::default()),
        _ => early.settings(&files, flags),
    };
    let home = match settings {
        Ok(settings) => home::Home { settings, ..home },
        Err(error) => return error.report(),
    };
    color::apply(home.settings.color.value);
    let done = match command {
        Command::Analyze(analyze) => analyze.run(&home),
        Command::Digest(digest) => digest.run(&home),
        Command::Merge(merge) => merge.run(&home),
        Command::Run(run) => run.run(&home),
        Command::Triage(triage) => triage.run(&home),
        #[cfg(feature = "server")]
        Command::Serve(serve) => serve.run(&home),
        Command::Estimate(estimate) => estimate.run(&home),
        Command::Explain(explain) => explain.run(&home),
        Command::Fix(fix) => fix.run(&home),
        Command::Rules(rules) => rules.run(&home),
        Command::History(history) => history.run(&home),
        #[cfg(feature = "mcp")]
        Command::Mcp(mcp) => mcp.run(&home),
        Command::Config(config) => config.run(&home),
        Command::Completions(completions) => completions.run(),
    };
    done.unwrap_or_else(|error| error.report())
}

/// Whether it is about `oomdoc serve` in a build without it, such as the wheel's.
fn asks_for_left_out_server(error: &clap::Error) -> bool {
    cfg!(not(feature = "server")) && unknown_command(error) == Some("serve")
}

/// What stands in place of a command.
fn unknown_command(error: &clap::Error) -> Option<&str> {
    match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) => Some(word),
        _ => None,
    }
}

/// A path in place of a command, as in `oomdoc job.log`.
fn bare_path(error: &clap::Error) -> Option<String> {
    let word = unknown_command(error)?;
    let is_path = word.contains(['.', '/', '\\']) || std::path::Path::new(word).exists();
    (error.kind() == ErrorKind::InvalidSubcommand && is_path).then(|| word.to_owned())
}
