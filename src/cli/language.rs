//! The language that the reader is spoken to in.

use std::sync::OnceLock;

use clap::Args;

use crate::knowledge::Language;

/// The language of what a command prints.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct Lang {
    /// The language, `en` or `zh` [default: $OOMDOC_LANG, `language` of oomdoc.toml, else your locale]
    #[arg(long = "lang", value_name = "LANG", default_value_t = spoken(), hide_default_value = true)]
    pub language: Language,
}

/// Decided once, before anything is printed.
static SPOKEN: OnceLock<Language> = OnceLock::new();

/// From now on it is this one for all that this process prints.
pub(super) fn speak(language: Language) {
    // Whoever decided first had read the same.
    let _ = SPOKEN.set(language);
}

/// The language of help, errors and warnings.
pub(super) fn spoken() -> Language {
    SPOKEN.get().copied().unwrap_or_default()
}
