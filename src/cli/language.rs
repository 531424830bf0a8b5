//! The reader's language.

use std::sync::OnceLock;

use clap::Args;

use crate::knowledge::Language;

/// The language of a command's output.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct Lang {
    /// The language, `en` or `zh` [default: $OOMDOC_LANG, `language` of oomdoc.toml, else your locale]
    #[arg(long = "lang", value_name = "LANG", default_value_t = spoken(), hide_default_value = true)]
    pub language: Language,
}

/// Set once, before anything is printed.
static SPOKEN: OnceLock<Language> = OnceLock::new();

/// Sets the language of this process.
pub(super) fn speak(language: Language) {
    // It can only be set once; a later call has the same language.
    let _ = SPOKEN.set(language);
}

/// The language of help, errors and warnings.
pub(super) fn spoken() -> Language {
    SPOKEN.get().copied().unwrap_or_default()
}
