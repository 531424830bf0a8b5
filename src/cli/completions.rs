use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use clap_complete::Shell;

use super::error::CliError;

/// Write the completions of a shell: `oomdoc completions bash > ~/.local/share/bash-completion/completions/oomdoc`
#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell: `bash`, `zsh`, `fish`, `elvish` or `powershell`
    #[arg(value_name = "SHELL", hide_possible_values = true)]
    shell: Shell,
}

impl Completions {
    pub fn run(self) -> Result<ExitCode, CliError> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut super::command(), "oomdoc", &mut script);
        std::io::stdout().write_all(&script)?;
        Ok(ExitCode::SUCCESS)
    }
}
