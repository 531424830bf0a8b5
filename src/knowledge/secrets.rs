mod example;
mod named;

use regex::Regex;
use serde::Deserialize;

use super::{KnowledgeError, Origin};

pub use example::example;

/// A row of `rules/redaction/*.toml`: what a secret looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// What stands in its place, in ‹›: `hf-token`.
    pub name: String,
    /// A regular expression of the crate `regex`; its groups whose names begin with `secret` are what is masked, without one all of it.
    pub pattern: String,
    /// Whether it is told by the name before it, and not by its own shape.
    pub is_named: bool,
    /// Literals of which one stands in all that `pattern` finds, in any case; without one every text is asked.
    pub triggers: Vec<String>,
    /// Literals of which one stands besides in all that `pattern` finds, as they are written; none: nothing else must.
    pub with: Vec<String>,
    /// Whatever `pattern` found is none if this finds something in all of it.
    pub unless: Option<String>,
    /// It is none if one of these finds something in what would be masked.
    pub harmless: Vec<String>,
    /// Texts in which something is masked, as they are written: [`example`] says what they stand for.
    pub examples: Vec<String>,
    /// Texts in which nothing is, though they look alike; written as `examples`.
    pub counter_examples: Vec<String>,
}

/// A file of rows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SecretFile {
    secret: Vec<Row>,
    /// Values that are no secret, whatever name stands before them: `None`, `${PASSWORD}`.
    #[serde(default)]
    harmless: Option<String>,
}

/// A row as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    /// What it looks like; or
    pattern: Option<String>,
    /// what it is called, in small letters, words joined by `_`; in capitals: only if it is written so.
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    triggers: Vec<String>,
    #[serde(default)]
    with: Vec<String>,
    unless: Option<String>,
    harmless: Option<String>,
    examples: Vec<String>,
    #[serde(default)]
    counter_examples: Vec<String>,
}

impl SecretFile {
    /// Adds the rows to `secrets`. Patterns that were not tested with the binary are read already here, which takes time.
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

impl Row {
    fn read(self, harmless: Option<&str>) -> Result<Secret, String> {
        let (pattern, triggers) = match (self.pattern, self.names.is_empty()) {
            (Some(pattern), true) => (pattern, self.triggers),
            (None, false) => (named::pattern(&self.names), named::triggers(&self.names)),
            _ => return Err(format!("`{}` needs either a pattern or names", self.name)),
        };
        if self.name.trim().is_empty() || self.examples.is_empty() {
            return Err(format!("`{pattern}` needs a name and an example"));
        }
        let is_named = !self.names.is_empty();
        let common = harmless.filter(|_| is_named).map(str::to_owned);
        Ok(Secret {
            name: self.name,
            pattern,
            is_named,
            triggers,
            with: self.with,
            unless: self.unless,
            harmless: self.harmless.into_iter().chain(common).collect(),
            examples: self.examples,
            counter_examples: self.counter_examples,
        })
    }
}

impl Secret {
    /// One that a user's settings describe: by its own shape, or by `names` before it.
    pub fn told(name: &str, pattern: Option<&str>, names: &[String]) -> Result<Secret, String> {
        let row = Row {
            name: name.to_owned(),
            pattern: pattern.map(str::to_owned),
            names: names.to_vec(),
            triggers: Vec::new(),
            with: Vec::new(),
            unless: None,
            harmless: None,
            // Nobody is asked for one there: what it finds is seen at once.
            examples: vec![String::new()],
            counter_examples: Vec::new(),
        };
        let secret = row.read(None)?;
        secret.check()?;
        Ok(Secret { examples: Vec::new(), ..secret })
    }

    /// Whether all its patterns are some.
    fn check(&self) -> Result<(), String> {
        for pattern in [&self.pattern].into_iter().chain(&self.unless).chain(&self.harmless) {
            Regex::new(pattern).map_err(|error| format!("`{}` has a pattern that is none: {error}", self.name))?;
        }
        Ok(())
    }
}
