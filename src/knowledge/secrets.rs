use regex::Regex;
use serde::Deserialize;

use super::{KnowledgeError, Origin};

/// A row of `rules/redaction/*.toml`: what a secret looks like.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Secret {
    /// What stands in its place, in ‹›: `hf-token`.
    pub name: String,
    /// A regular expression of the crate `regex`; its group `secret` is what is masked, without one all of it.
    pub pattern: String,
    /// Texts in which something is masked.
    pub examples: Vec<String>,
    /// Texts in which nothing is, though they look alike.
    #[serde(default)]
    pub counter_examples: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SecretFile {
    secret: Vec<Secret>,
}

impl SecretFile {
    /// The rows. Patterns that were not tested with the binary are read already here, which takes time.
    pub fn read(self, file: &str, origin: Origin) -> Result<Vec<Secret>, KnowledgeError> {
        for secret in &self.secret {
            let wrong = |problem| Err(KnowledgeError::Wrong { file: file.to_owned(), problem });
            if secret.name.trim().is_empty() || secret.examples.is_empty() {
                return wrong(format!("`{}` needs a name and an example", secret.pattern));
            }
            if origin == Origin::Own
                && let Err(error) = secret.regex()
            {
                return wrong(format!("`{}` has a pattern that is none: {error}", secret.name));
            }
        }
        Ok(self.secret)
    }
}

impl Secret {
    /// What finds it.
    pub fn regex(&self) -> Result<Regex, regex::Error> {
        Regex::new(&self.pattern)
    }
}
