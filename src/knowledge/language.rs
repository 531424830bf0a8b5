use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A language that reports are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// English.
    #[default]
    En,
    /// Chinese.
    Zh,
}

impl Language {
    /// All of them.
    pub const ALL: [Language; 2] = [Language::En, Language::Zh];

    /// What stands between two sentences.
    pub fn blank(self) -> &'static str {
        match self {
            Language::En => " ",
            Language::Zh => "",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Language::En => "en",
            Language::Zh => "zh",
        })
    }
}

impl FromStr for Language {
    type Err = String;

    fn from_str(word: &str) -> Result<Language, String> {
        match word {
            "en" => Ok(Language::En),
            "zh" => Ok(Language::Zh),
            word => Err(format!("no language `{word}`; one of: en, zh")),
        }
    }
}

/// The same words in every language. Shipped rules say everything in all of them; a user's own may leave out Chinese, and
/// English stands in for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Words {
    /// English.
    pub en: String,
    /// Chinese.
    #[serde(default)]
    pub zh: String,
}

impl Words {
    /// The words in `language`.
    pub fn in_language(&self, language: Language) -> &str {
        match language {
            Language::En => &self.en,
            Language::Zh if self.zh.trim().is_empty() => &self.en,
            Language::Zh => &self.zh,
        }
    }

    /// Whether a language is missing.
    pub fn is_partial(&self) -> bool {
        self.en.trim().is_empty() || self.zh.trim().is_empty()
    }
}
