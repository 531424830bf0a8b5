//! The command line: one file a subcommand, one place where errors become advice.

mod analyze;
mod error;
mod estimate;
mod explain;
mod fix;
mod home;
mod progress;
mod rules;
mod table;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

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
    Fix(fix::Fix),
    Estimate(Box<estimate::Estimate>),
    Explain(explain::Explain),
    Rules(rules::Rules),
}

/// Runs the command that the process was started with.
pub fn run() -> ExitCode {
    let Cli { command, home } = Cli::parse();
    let done = match command {
        Command::Analyze(analyze) => analyze.run(&home),
        Command::Estimate(estimate) => estimate.run(&home),
        Command::Explain(explain) => explain.run(&home),
        Command::Fix(fix) => fix.run(&home),
        Command::Rules(rules) => rules.run(&home),
    };
    done.unwrap_or_else(|error| error.report())
}
