use std::path::{Path, PathBuf};
use std::{env, fmt, fs};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Where a secret is: `{ file = "/etc/oomdoc/token" }` or `{ env = "OOMDOC_GITHUB_TOKEN" }`. It stands in no configuration itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SecretSource {
    /// A file that holds it, and nothing else but line ends behind it.
    File(PathBuf),
    /// The name of a variable of the environment that holds it.
    Env(String),
}

/// A secret. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// Why there is no secret.
#[derive(Debug, Error)]
pub enum SecretError {
    /// The file.
    #[error("the secret in {} cannot be read: {error}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// The variable is not set.
    #[error("the secret in ${0} is not set")]
    Variable(String),
    /// There is nothing in it.
    #[error("the secret in {0} is empty")]
    Empty(String),
}

impl SecretSource {
    /// The secret, as it is now: one that was changed holds from then on.
    pub fn read(&self) -> Result<Secret, SecretError> {
        let (words, place) = match self {
            SecretSource::File(path) => (read(path)?, path.display().to_string()),
            SecretSource::Env(name) => {
                (env::var(name).map_err(|_| SecretError::Variable(name.clone()))?, format!("${name}"))
            }
        };
        let words = words.trim_end_matches(['\n', '\r']);
        // Whoever knows that it is empty could sign with it.
        if words.is_empty() { Err(SecretError::Empty(place)) } else { Ok(Secret(words.to_owned())) }
    }
}

fn read(path: &Path) -> Result<String, SecretError> {
    fs::read_to_string(path).map_err(|error| SecretError::File { path: path.to_owned(), error })
}

impl Secret {
    /// One that is there already.
    pub fn new(words: impl Into<String>) -> Secret {
        Secret(words.into())
    }

    /// Its words, to be shown to whom it belongs.
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
