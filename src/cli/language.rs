//! The language that the reader is spoken to in: the one place that decides it.

use std::ffi::{OsStr, OsString};

use clap::Args;

use crate::knowledge::Language;

/// The language of what a command prints.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct Lang {
    /// The language, `en` or `zh` [default: $OOMDOC_LANG, else your locale]
    #[arg(long = "lang", value_name = "LANG", default_value_t = preferred(), hide_default_value = true)]
    pub language: Language,
}

/// Variables that say it where `--lang` does not, by rank; the first that is set decides.
const VARIABLES: [&str; 4] = ["OOMDOC_LANG", "LC_ALL", "LC_MESSAGES", "LANG"];

/// What the environment asks for: Chinese where it says `zh`, however it goes on (`zh_CN.UTF-8`), else English.
pub(super) fn preferred() -> Language {
    chosen(|name| std::env::var_os(name))
}

/// What a command line asks for before it is parsed, for help and errors: its `--lang`, else what is [`preferred`].
pub(super) fn of_command_line() -> Language {
    of_arguments(std::env::args_os().skip(1)).unwrap_or_else(preferred)
}

fn of_arguments(arguments: impl Iterator<Item = OsString>) -> Option<Language> {
    let mut arguments = arguments.map(|argument| argument.to_string_lossy().into_owned());
    while let Some(argument) = arguments.next().filter(|argument| argument != "--") {
        let value = match argument.strip_prefix("--lang") {
            Some("") => arguments.next(),
            Some(rest) => rest.strip_prefix('=').map(str::to_owned),
            None => None,
        };
        if let Some(language) = value.and_then(|value| value.parse().ok()) {
            return Some(language);
        }
    }
    None
}

fn chosen(variable: impl Fn(&str) -> Option<OsString>) -> Language {
    let said = VARIABLES.into_iter().filter_map(variable).find(|value| !value.is_empty());
    let is_chinese = |value: &OsStr| value.to_string_lossy().to_ascii_lowercase().starts_with("zh");
    match said {
        Some(value) if is_chinese(&value) => Language::Zh,
        _ => Language::En,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Language {
        chosen(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn the_reader_s_locale_decides_where_nothing_else_does() {
        for (variables, language) in [
            (&[][..], Language::En),
            (&[("LANG", "zh_CN.UTF-8")][..], Language::Zh),
            (&[("LANG", "de_DE.UTF-8")][..], Language::En),
            (&[("LC_ALL", "C"), ("LANG", "zh_CN.UTF-8")][..], Language::En),
            (&[("LC_ALL", ""), ("LC_MESSAGES", "zh_TW"), ("LANG", "en_US")][..], Language::Zh),
            (&[("OOMDOC_LANG", "en"), ("LC_ALL", "zh_CN.UTF-8")][..], Language::En),
            (&[("OOMDOC_LANG", "zh"), ("LC_ALL", "C")][..], Language::Zh),
        ] {
            assert_eq!(of(variables), language, "{variables:?}");
        }
    }

    #[test]
    fn an_option_is_found_before_the_command_line_is_parsed() {
        let of = |words: &str| of_arguments(words.split(' ').map(OsString::from));
        assert_eq!(of("analyze --lang zh job.log"), Some(Language::Zh));
        assert_eq!(of("analyze --lang=en job.log"), Some(Language::En));
        assert_eq!(of("analyze -- --lang zh"), None);
        assert_eq!(of("analyze --language zh"), None);
    }
}
