//! The command line: one file a subcommand, one place where errors become advice.

mod analyze;
mod error;
mod estimate;
mod explain;
mod facts;
mod fail_on;
mod fix;
mod help;
mod history;
mod home;
mod labels;
mod language;
mod messages;
mod outputs;
mod progress;
mod rules;
mod save;
mod screen;
mod table;
mod triage;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

/// The post-mortem for out-of-memory failures of LLM training and serving jobs.
#[derive(Debug, Parser)]
#[command(name = "oomdoc", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    home: home::Home,
}

#[derive(Debug, Subcommand)]
enum Command {
    Analyze(analyze::Analyze),
    Triage(triage::Triage),
    Fix(fix::Fix),
    Estimate(Box<estimate::Estimate>),
    Explain(explain::Explain),
    Rules(rules::Rules),
    History(history::History),
}

/// Runs the command that the process was started with.
pub fn run() -> ExitCode {
    let matches = help::in_language(Cli::command(), language::of_command_line()).get_matches();
    let Cli { command, home } = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let done = match command {
        Command::Analyze(analyze) => analyze.run(&home),
        Command::Triage(triage) => triage.run(&home),
        Command::Estimate(estimate) => estimate.run(&home),
        Command::Explain(explain) => explain.run(&home),
        Command::Fix(fix) => fix.run(&home),
        Command::Rules(rules) => rules.run(&home),
        Command::History(history) => history.run(&home),
    };
    done.unwrap_or_else(|error| error.report())
}
