use std::path::{Path, PathBuf};
use std::{env, fmt, fs};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Where a secret is found: `{ file = "/etc/oomdoc/token" }` or `{ env = "OOMDOC_GITHUB_TOKEN" }`. The configuration
/// never contains the secret itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SecretSource {
    /// A file that contains nothing else; line ends behind the secret are ignored.
    File(PathBuf),
    /// The environment variable that contains it.
    Env(String),
}

/// A secret, which `Debug` does not print.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// Why a secret cannot be read.
#[derive(Debug, Error)]
pub enum SecretError {
    /// The file cannot be read.
    #[error("the secret in {} cannot be read: {error}", .path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// The variable is not set.
    #[error("the secret in ${0} is not set")]
    Variable(String),
    /// The file or variable is empty.
    #[error("the secret in {0} is empty")]
    Empty(String),
}

impl SecretSource {
    /// Reads the secret anew, so that a changed one is used from then on.
    pub fn read(&self) -> Result<Secret, SecretError> {
        let (words, place) = match self {
            SecretSource::File(path) => (read(path)?, path.display().to_string()),
            SecretSource::Env(name) => {
                (env::var(name).map_err(|_| SecretError::Variable(name.clone()))?, format!("${name}"))
            }
        };
        let words = words.trim_end_matches(['\n', '\r']);
        // Anybody could sign with an empty key.
        if words.is_empty() { Err(SecretError::Empty(place)) } else { Ok(Secret(words.to_owned())) }
    }
}

fn read(path: &Path) -> Result<String, SecretError> {
    fs::read_to_string(path).map_err(|error| SecretError::File { path: path.to_owned(), error })
}

impl Secret {
    pub fn new(words: impl Into<String>) -> Secret {
        Secret(words.into())
    }

    /// The secret itself, for its recipient alone.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("‹secret›")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_and_never_shown() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let (path, empty) = (folder.path().join("token"), folder.path().join("empty"));
        fs::write(&path, "abc\n")?;
        fs::write(&empty, "\n")?;
        let secret = SecretSource::File(path).read()?;
        assert_eq!((secret.expose(), format!("{secret:?}")), ("abc", "‹secret›".to_owned()));
        assert!(matches!(SecretSource::File(empty).read(), Err(SecretError::Empty(_))));
        assert!(matches!(SecretSource::Env("OOMDOC_NO_SUCH".to_owned()).read(), Err(SecretError::Variable(_))));
        Ok(())
    }
}
