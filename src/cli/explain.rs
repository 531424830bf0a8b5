use std::io::Write;
use std::process::ExitCode;

use clap::Args;

use super::error::CliError;
use super::home::Home;
use super::language::Lang;
use crate::knowledge::Glossary;
use crate::rulebase;

/// Explain a word of reports and rules: a cause, kind, phase, figure, lever, fact, or a knob as you spell it.
#[derive(Debug, Args)]
pub(super) struct Explain {
    /// `fragmentation`, `weight_sync`, `--gpu-memory-utilization`, `deepspeed.offload_optimizer` …
    #[arg(allow_hyphen_values = true)]
    word: String,
    #[command(flatten)]
    lang: Lang,
}

impl Explain {
    pub fn run(self, home: &Home) -> Result<ExitCode, CliError> {
        let (knowledge, glossary) = (home.knowledge()?, Glossary::shipped()?);
        let text = rulebase::explain(&self.word, &knowledge, &glossary, self.lang.language)
            .map_err(|unknown| CliError::Unexplained { word: self.word, nearest: unknown.nearest })?;
        anstream::stdout().write_all(text.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}
