//! Where the settings of this process come from: the one place that reads them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;

use super::error::CliError;
use super::home::warn;
use crate::knowledge::Language;
use crate::settings::{Flags, Layer, Places, Settings, SettingsError, find};

/// Which files of settings are read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(super) struct Files {
    /// Read this file of settings in the place of the project's oomdoc.toml [default: $OOMDOC_CONFIG]
    #[arg(long, global = true, value_name = "FILE", conflicts_with = "no_config")]
    config: Option<PathBuf>,
    /// Read no file of settings; $OOMDOC_NO_CONFIG says so, too
    #[arg(long, global = true)]
    no_config: bool,
}

/// What a command line says before it is parsed: help and errors speak the language that settings name.
#[derive(Debug, Default, PartialEq, Eq)]
struct Hasty {
    files: Files,
    language: Option<Language>,
}

impl Files {
    /// What holds with these files and `flags`.
    pub fn settings(&self, flags: Flags) -> Result<Settings, CliError> {
        let (settings, left_out) = self.read(flags)?;
        if let Some(path) = left_out {
            let problem = format!("{} is left out: it belongs to somebody else", path.display());
            warn(&problem, "name it with --config if you trust it, or say --no-config");
        }
        Ok(settings)
    }

    fn read(&self, flags: Flags) -> Result<(Settings, Option<PathBuf>), SettingsError> {
        let (places, set) = (Places::here(), |name| variable(name).filter(|value| !value.is_empty()));
        let of_environment = set("OOMDOC_CONFIG").map(PathBuf::from);
        let (found, left_out) = match (&self.config, self.no_config, set("OOMDOC_NO_CONFIG").is_some()) {
            (_, true, _) | (None, _, true) => (Vec::new(), None),
            (Some(named), ..) => find(&places, Some(named)),
            (None, ..) => find(&places, of_environment.as_deref()),
        };
        let layers: Vec<Layer> =
            found.into_iter().map(|found| Layer::read(found, &places)).collect::<Result<_, _>>()?;
        Ok((Settings::of(&layers, flags, &variable, &places)?, left_out))
    }
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// The language that the command line asks for.
pub(super) fn flagged_language() -> Option<Language> {
    Hasty::of(std::env::args_os().skip(1)).language
}

/// The reader's language, before the command line is parsed. Settings that cannot be read are told of later.
pub(super) fn language() -> Language {
    let Hasty { files, language } = Hasty::of(std::env::args_os().skip(1));
    let flags = Flags { language, ..Flags::default() };
    let without = Files { config: None, no_config: true };
    let read = files.read(flags.clone()).or_else(|_| without.read(flags));
    read.map(|(settings, _)| settings.language.value).unwrap_or_default()
}

impl Hasty {
    fn of(arguments: impl Iterator<Item = OsString>) -> Hasty {
        let (mut hasty, mut arguments) = (Hasty::default(), arguments);
        while let Some(argument) = arguments.next().filter(|argument| argument != "--") {
            let words = argument.to_string_lossy().into_owned();
            let (name, value) = words.split_once('=').map_or((&*words, None), |(name, value)| (name, Some(value)));
            let mut value = || value.map(OsString::from).or_else(|| arguments.next());
            match name {
                "--lang" => hasty.language = value().and_then(|word| word.to_str()?.parse().ok()).or(hasty.language),
                "--config" => hasty.files.config = value().map(|path| Path::new(&path).to_owned()),
                "--no-config" => hasty.files.no_config = true,
                _ => {}
            }
        }
        hasty
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_found_before_the_command_line_is_parsed() {
        let of = |words: &str| {
            let Hasty { language, files } = Hasty::of(words.split(' ').map(OsString::from));
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
