//! The one place that reads settings: from files, the environment and flags.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;

use super::error::CliError;
use super::home::warn;
use crate::knowledge::Language;
use crate::settings::{Flags, Layer, SearchPaths, Settings, SettingsError, find};

/// The flags that choose files of settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(super) struct Files {
    /// Read this settings file instead of the project's oomdoc.toml [default: $OOMDOC_CONFIG]
    #[arg(long, global = true, value_name = "FILE", conflicts_with = "no_config")]
    config: Option<PathBuf>,
    /// Read no settings file; the same as OOMDOC_NO_CONFIG=1
    #[arg(long, global = true)]
    no_config: bool,
}

/// What is needed of the command line before it is parsed: help and errors are in the language of the settings.
#[derive(Debug, Default)]
struct EarlyFlags {
    files: Files,
    language: Option<Language>,
}

/// Settings that were read before the command line was parsed. An error is reported later.
pub(super) struct Early {
    early: EarlyFlags,
    read: Result<Layers, SettingsError>,
}

/// The files in effect, and one that was left out.
struct Layers {
    all: Vec<Layer>,
    left_out: Option<PathBuf>,
}

impl Early {
    /// Reads the settings for this process.
    pub fn read() -> Early {
        let early = EarlyFlags::of(std::env::args_os().skip(1));
        Early { read: early.files.read(), early }
    }

    /// The reader's language.
    pub fn language(&self) -> Language {
        let layers = self.read.as_ref().map_or(&[][..], |layers| &layers.all);
        let of = |layers| merged(layers, Flags { language: self.early.language, ..Flags::default() });
        of(layers).or_else(|_| of(&[])).map(|settings| settings.language.value).unwrap_or_default()
    }

    /// The effective settings with `files` and `flags` from the parsed command line.
    pub fn settings(self, files: &Files, flags: Flags) -> Result<Settings, CliError> {
        let layers = if self.early.files == *files { self.read } else { files.read() }?;
        let settings = merged(&layers.all, Flags { language: self.early.language, ..flags })?;
        if let Some(path) = layers.left_out {
            let problem = format!("{} is left out: it belongs to somebody else", path.display());
            warn(&problem, "name it with --config if you trust it, or say --no-config");
        }
        Ok(settings)
    }
}

impl Files {
    fn read(&self) -> Result<Layers, SettingsError> {
        let (places, set) = (SearchPaths::here(), |name| variable(name).filter(|value| !value.is_empty()));
        let of_environment = set("OOMDOC_CONFIG").map(PathBuf::from);
        let (found, left_out) = match (&self.config, self.no_config, set("OOMDOC_NO_CONFIG").is_some()) {
            (_, true, _) | (None, _, true) => (Vec::new(), None),
            (Some(named), ..) => find(&places, Some(named)),
            (None, ..) => find(&places, of_environment.as_deref()),
        };
        let all = found.into_iter().map(|found| Layer::read(found, &places)).collect::<Result<_, _>>()?;
        Ok(Layers { all, left_out })
    }
}

/// Merges `layers`, the environment and `flags`.
fn merged(layers: &[Layer], flags: Flags) -> Result<Settings, SettingsError> {
    Settings::of(layers, flags, &variable, &SearchPaths::here())
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

impl EarlyFlags {
    fn of(arguments: impl Iterator<Item = OsString>) -> EarlyFlags {
        let (mut early, mut arguments) = (EarlyFlags::default(), arguments);
        while let Some(argument) = arguments.next().filter(|argument| argument != "--") {
            let words = argument.to_string_lossy().into_owned();
            let (name, value) = words.split_once('=').map_or((&*words, None), |(name, value)| (name, Some(value)));
            let mut value = || value.map(OsString::from).or_else(|| arguments.next());
            match name {
                "--lang" => early.language = value().and_then(|word| word.to_str()?.parse().ok()).or(early.language),
                "--config" => early.files.config = value().map(|path| Path::new(&path).to_owned()),
                "--no-config" => early.files.no_config = true,
                _ => {}
            }
        }
        early
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_found_before_the_command_line_is_parsed() {
        let of = |words: &str| {
            let EarlyFlags { language, files } = EarlyFlags::of(words.split(' ').map(OsString::from));
            (language, files.config, files.no_config)
        };
        let named = Some(PathBuf::from("a.toml"));
        assert_eq!(of("analyze --lang zh job.log"), (Some(Language::Zh), None, false));
        assert_eq!(of("analyze --lang=en job.log --no-config"), (Some(Language::En), None, true));
        assert_eq!(of("--config a.toml analyze"), (None, named.clone(), false));
        assert_eq!(of("analyze --config=a.toml"), (None, named, false));
        assert_eq!(of("analyze -- --lang zh --no-config"), (None, None, false));
        assert_eq!(of("analyze --language zh --lang xx"), (None, None, false));
    }
}
