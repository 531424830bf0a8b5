mod example;
mod named;

use regex::Regex;
use serde::Deserialize;

use super::{KnowledgeError, Origin};

pub use example::example;

/// A row of `rules/redaction/*.toml`: what a secret looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// The name that replaces it, in ‹›: `hf-token`.
    pub name: String,
    /// A regular expression of the crate `regex`; the groups whose names begin with `secret` are masked, or the whole match if there is
    /// none.
    pub pattern: String,
    /// The names before it by which it is recognised, words joined by `_`; empty if it is recognised by its own shape.
    pub names: Vec<String>,
    /// Literals, in any case, of which one occurs in every match of `pattern`; if empty, every text is searched.
    pub triggers: Vec<String>,
    /// Literals of which one stands in every text in which `pattern` matches; empty if there are none.
    pub with: Vec<String>,
    /// Every match of `pattern` has so many letters, digits, `_` and `-` in a row,
    pub run: usize,
    /// and so many letters, digits, `+` and `/`.
    pub base64_run: usize,
    /// A match of `pattern` is no secret if this matches within it.
    pub unless: Option<String>,
    /// It is no secret if one of these matches the part that would be masked.
    pub harmless: Vec<String>,
    /// Texts in which something is masked, with placeholders that [`example`] fills in.
    pub examples: Vec<String>,
    /// Similar texts in which nothing is masked, with the same placeholders.
    pub counter_examples: Vec<String>,
}

/// A file of rows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SecretFile {
    secret: Vec<SecretRow>,
    /// Values that are never a secret, whatever name precedes them: `None`, `${PASSWORD}`.
    #[serde(default)]
    harmless: Option<String>,
}

/// A row as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SecretRow {
    name: String,
    /// A regular expression; or
    pattern: Option<String>,
    /// names in lower case with words joined by `_`; a name in capitals counts only in capitals.
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    triggers: Vec<String>,
    #[serde(default)]
    with: Vec<String>,
    #[serde(default)]
    run: usize,
    #[serde(default)]
    base64_run: usize,
    unless: Option<String>,
    harmless: Option<String>,
    examples: Vec<String>,
    #[serde(default)]
    counter_examples: Vec<String>,
}

impl SecretFile {
    /// Adds the rows to `secrets`. A user's patterns are compiled here to check them, which takes time; tests check the shipped ones.
    pub fn read(self, file: &str, origin: Origin, secrets: &mut Vec<Secret>) -> Result<(), KnowledgeError> {
        let wrong = |problem| KnowledgeError::Wrong { file: file.to_owned(), problem };
        for row in self.secret {
            let secret = row.read(self.harmless.as_deref()).map_err(wrong)?;
            if origin == Origin::Own {
                secret.check().map_err(wrong)?;
            }
            secrets.push(secret);
        }
        Ok(())
    }
}

impl SecretRow {
    fn read(self, harmless: Option<&str>) -> Result<Secret, String> {
        let (pattern, triggers) = match (self.pattern, self.names.is_empty()) {
            (Some(pattern), true) => (pattern, self.triggers),
            (None, false) => (named::pattern(&self.names), named::triggers(&self.names)),
            _ => return Err(format!("`{}` needs either a pattern or names", self.name)),
        };
        if self.name.trim().is_empty() || self.examples.is_empty() {
            return Err(format!("`{pattern}` needs a name and an example"));
        }
        let common = harmless.filter(|_| !self.names.is_empty()).map(str::to_owned);
        Ok(Secret {
            name: self.name,
            pattern,
            names: self.names,
            triggers,
            with: self.with,
            run: self.run,
            base64_run: self.base64_run,
            unless: self.unless,
            harmless: self.harmless.into_iter().chain(common).collect(),
            examples: self.examples,
            counter_examples: self.counter_examples,
        })
    }
}

impl Secret {
    /// Whether it is recognised by the name before it, and not by its own shape.
    pub fn is_named(&self) -> bool {
        !self.names.is_empty()
    }

    /// A secret that a user's settings describe by its own shape or by `names` before it.
    pub fn told(name: &str, pattern: Option<&str>, names: &[String]) -> Result<Secret, String> {
        let row = SecretRow {
            name: name.to_owned(),
            pattern: pattern.map(str::to_owned),
            names: names.to_vec(),
            triggers: Vec::new(),
            with: Vec::new(),
            run: 0,
            base64_run: 0,
            unless: None,
            harmless: None,
            // Settings need no example, because its effect is visible at once.
            examples: vec![String::new()],
            counter_examples: Vec::new(),
        };
        let secret = row.read(None)?;
        secret.check()?;
        Ok(Secret { examples: Vec::new(), ..secret })
    }

    /// Checks that all its patterns compile.
    fn check(&self) -> Result<(), String> {
        for pattern in [&self.pattern].into_iter().chain(&self.unless).chain(&self.harmless) {
            Regex::new(pattern).map_err(|error| format!("`{}` has a pattern that is none: {error}", self.name))?;
        }
        Ok(())
    }
}
