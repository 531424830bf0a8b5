use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::file::File;
use super::read;

/// `rules/launchers.toml`: how command lines are read. Texts are read with it before anything is known of a job, so that it is the same
/// for everybody.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launchers {
    /// Programs that start others.
    pub launcher: Vec<Launcher>,
    /// The other words by which commands are told.
    pub programs: Programs,
    /// The variables that Slurm sets, by the option of the directive that decides them.
    pub granted: BTreeMap<String, Vec<String>>,
    /// Command lines and the commands in them.
    #[serde(default)]
    pub example: Vec<CommandLine>,
    /// Lines that start no program.
    #[serde(default)]
    pub near_miss: Vec<CommandLine>,
}

/// Programs that start others, and how they are told what.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launcher {
    /// The words that they are called with.
    pub names: Vec<String>,
    /// What stands behind their options.
    pub starts: Starts,
    /// Options that take no value.
    #[serde(default)]
    pub switches: Vec<String>,
    /// The letters of options that take no value.
    #[serde(default)]
    pub switch_letters: String,
    /// Options whose value may be called like a program.
    #[serde(default)]
    pub names_something: Vec<String>,
}

/// How a launcher says what it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Starts {
    /// Options, then a script, or a module behind `-m`.
    Python,
    /// Options, then any command.
    Command,
    /// Options, then an image, then any command.
    Container,
}

/// Words by which commands are told.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Programs {
    /// Programs that launchers start, besides Python and scripts.
    pub names: Vec<String>,
    /// Programs that read a script themselves.
    pub shells: Vec<String>,
    /// Programs that take a script for later.
    pub submitters: Vec<String>,
    /// Programs that run the script that they are given as their input.
    pub run_input: Vec<String>,
    /// How the names of those begin whose settings are the job's.
    pub of_jobs: Vec<String>,
    /// Commands that no setting is given to.
    pub utilities: Vec<String>,
    /// How the files end that scripts write to have them run.
    pub written_scripts: Vec<String>,
}

/// A command line, and the commands that must be found in it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandLine {
    /// As one types it.
    pub line: String,
    /// Each with what it runs.
    #[serde(default)]
    pub commands: Vec<String>,
}

static SHIPPED: LazyLock<Launchers> = LazyLock::new(|| read::launchers(&File::shipped()).unwrap_or_default());

impl Launchers {
    /// What is part of the binary.
    pub fn shipped() -> &'static Launchers {
        &SHIPPED
    }

    /// The names of launchers, each with what is known of it.
    pub fn named(&self) -> impl Iterator<Item = (&str, &Launcher)> {
        self.launcher.iter().flat_map(|launcher| launcher.names.iter().map(move |name| (name.as_str(), launcher)))
    }
}

impl Programs {
    /// Whether a launcher may start what is called `word`.
    pub fn is_named(&self, word: &str) -> bool {
        [&self.names, &self.shells, &self.submitters].iter().any(|known| is_among(known, word))
    }

    /// Whether what is called `word` is given a script.
    pub fn takes_script(&self, word: &str) -> bool {
        is_among(&self.shells, word) || is_among(&self.submitters, word)
    }

    /// Whether a job's settings are given to what is called `program`.
    pub fn is_of_jobs(&self, program: &str) -> bool {
        self.of_jobs.iter().any(|name| program.starts_with(name))
    }
}

/// Whether `word` is one of `words`.
pub fn is_among(words: &[String], word: &str) -> bool {
    words.iter().any(|known| known == word)
}
