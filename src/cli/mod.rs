//! The command line: one file a subcommand, one place where errors become advice.

mod analyze;
mod calibrate;
mod error;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The post-mortem for out-of-memory failures of LLM training and serving jobs.
#[derive(Debug, Parser)]
#[command(name = "oomdoc", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Analyze(analyze::Analyze),
    /// The rules by which causes are told
    #[command(subcommand)]
    Rules(Rules),
}

#[derive(Debug, Subcommand)]
enum Rules {
    Calibrate(calibrate::Calibrate),
}

/// Runs the command that the process was started with.
pub fn run() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Analyze(analyze) => analyze.run(),
        Command::Rules(Rules::Calibrate(calibrate)) => calibrate.run(),
    };
    done.unwrap_or_else(|error| error.report())
}
