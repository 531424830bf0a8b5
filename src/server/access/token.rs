use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;
use std::{fs, io};

use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, PasswordHasher, PasswordVerifier};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{FOLDER, Scope, secret};
use crate::durable;
use crate::history::now;

/// The first part of every token, by which people and secret scanners recognize one.
const PREFIX: &str = "oomdoc";
const ID_BYTES: usize = 6;
const SECRET_BYTES: usize = 32;
const SALT_BYTES: usize = 16;
/// At most this many verified tokens are remembered.
const REMEMBERED: usize = 1024;

/// Why a token was not created, listed or revoked. [`TokenError::advice`] says what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TokenError {
    /// A file or folder of tokens cannot be read or written.
    #[error("{}: {error}", .path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// There is no such token.
    #[error("there is no token `{0}`")]
    Unknown(String),
    /// The secret could not be hashed.
    #[error("the token could not be hashed: {0}")]
    Hash(String),
}

impl TokenError {
    /// What to do about it.
    pub fn advice(&self) -> &'static str {
        match self {
            TokenError::File { .. } => "check the folder, or name another one with --home or $OOMDOC_HOME",
            TokenError::Unknown(_) => "`oomdoc serve token list` lists them",
            TokenError::Hash(_) => "try again: nothing was kept",
        }
    }
}

/// A token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Token {
    /// Identifies the token.
    pub id: String,
    /// Whose it is, or what it is for.
    pub name: String,
    /// What its bearer may do.
    pub scope: Scope,
    /// When it was created, RFC 3339.
    pub created: String,
    /// When it expires, RFC 3339; absent for never.
    pub expires: Option<String>,
}

impl Token {
    fn holds(&self) -> bool {
        // Both times are written in one format, so their textual order is their order in time.
        self.expires.as_ref().is_none_or(|expires| *expires > now())
    }
}

#[derive(Serialize, Deserialize)]
struct Stored {
    #[serde(flatten)]
    token: Token,
    /// The Argon2id hash of the secret, in PHC format.
    hash: String,
}

/// All tokens, one file each, so that the command line can create and revoke them while a server runs.
pub struct Tokens {
    folder: PathBuf,
    /// Tokens that were verified, so that a request need not wait for Argon2: the digest of the secret, the token's id
    /// and the modification time of its file.
    checked: Mutex<HashMap<String, (String, SystemTime)>>,
}

impl Tokens {
    /// Opens the folder of tokens in `home`, creating it if need be.
    pub fn open(home: &Path) -> Result<Tokens, TokenError> {
        let folder = home.join(FOLDER).join("tokens");
        durable::make_folder(&folder).map_err(|error| TokenError::File { path: folder.clone(), error })?;
        Ok(Tokens { folder, checked: Mutex::default() })
    }

    /// Creates a token; returns it and the string that its bearer must send. The string is stored nowhere.
    pub fn create(&self, name: &str, scope: Scope, expires: Option<String>) -> Result<(Token, String), TokenError> {
        let drawn = |bytes| secret::random(bytes).map_err(|error| TokenError::File { path: "random".into(), error });
        let (id, secret, salt) = (drawn(ID_BYTES)?, drawn(SECRET_BYTES)?, drawn(SALT_BYTES)?);
        let hashed: Result<PasswordHash, _> =
            Argon2::default().hash_password_with_salt(secret.as_bytes(), salt.as_bytes());
        let hash = hashed.map_err(|error| TokenError::Hash(error.to_string()))?.to_string();
        let token = Token { id: id.clone(), name: name.to_owned(), scope, created: now(), expires };
        let stored = serde_json::to_vec_pretty(&Stored { token: token.clone(), hash });
        let path = self.file(&id);
        let kept = stored.map_err(io::Error::from).and_then(|bytes| durable::replace(&path, &bytes));
        kept.map_err(|error| TokenError::File { path, error })?;
        Ok((token, format!("{PREFIX}_{id}_{secret}")))
    }

    /// All tokens, expired ones included, the oldest first.
    pub fn list(&self) -> Result<Vec<Token>, TokenError> {
        let failed = |error| TokenError::File { path: self.folder.clone(), error };
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let id = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            found.extend(self.read(id).map(|(stored, _)| stored.token));
        }
        found.sort_by(|a, b| a.created.cmp(&b.created).then_with(|| a.id.cmp(&b.id)));
        Ok(found)
    }

    /// Revokes the token whose id is `word`, or whose name is, if no other has that name.
    pub fn revoke(&self, word: &str) -> Result<Token, TokenError> {
        let all = self.list()?;
        let mut named = all.iter().filter(|token| token.id == word || token.name == word);
        match (named.next(), named.next()) {
            (Some(token), None) => {
                let path = self.file(&token.id);
                fs::remove_file(&path).map_err(|error| TokenError::File { path, error })?;
                Ok(token.clone())
            }
            _ => Err(TokenError::Unknown(word.to_owned())),
        }
    }

    /// The unexpired token that `presented` is. Verifying one that was not seen recently takes long on purpose and
    /// happens only if `may` allows it.
    pub fn check(&self, presented: &str, may: impl FnOnce() -> bool) -> Option<Token> {
        let (id, secret) = presented.strip_prefix(PREFIX)?.strip_prefix('_')?.split_once('_')?;
        let (stored, changed) = self.read(id)?;
        let known = (id.to_owned(), changed);
        let digest = secret::digest(secret);
        let is_known = {
            let checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
            checked.get(&digest) == Some(&known)
        };
        if !is_known {
            if !may() {
                return None;
            }
            Argon2::default().verify_password(secret.as_bytes(), stored.hash.as_str()).ok()?;
            let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
            if checked.len() >= REMEMBERED {
                checked.clear();
            }
            checked.insert(digest, known);
        }
        Some(stored.token).filter(Token::holds)
    }

    /// The unexpired token with the id `id`.
    pub fn find(&self, id: &str) -> Option<Token> {
        self.read(id).map(|(stored, _)| stored.token).filter(Token::holds)
    }

    fn read(&self, id: &str) -> Option<(Stored, SystemTime)> {
        // The id comes from a request and becomes part of a path.
        if id.len() != 2 * ID_BYTES || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let path = self.file(id);
        let changed = fs::metadata(&path).and_then(|data| data.modified()).ok()?;
        Some((serde_json::from_slice(&fs::read(&path).ok()?).ok()?, changed))
    }

    fn file(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_holds_until_it_is_taken_back_or_expires() -> Result<(), Box<dyn std::error::Error>> {
        let home = tempfile::tempdir()?;
        let tokens = Tokens::open(home.path())?;
        let (token, secret) = tokens.create("ci", Scope::Write, None)?;
        assert_eq!(tokens.check(&secret, || true), Some(token.clone()));
        let kept = fs::read_to_string(tokens.file(&token.id))?;
        let (_, tail) = secret.rsplit_once('_').unwrap_or_default();
        assert!(kept.contains("$argon2id$") && !kept.contains(tail), "{kept}");
        let wrong = format!("{}0", &secret[..secret.len() - 1]);
        let wrong = if wrong == secret { format!("{}1", &secret[..secret.len() - 1]) } else { wrong };
        assert_eq!(tokens.check(&wrong, || true), None);
        assert_eq!(tokens.revoke("ci")?, token);
        assert_eq!(tokens.check(&secret, || true), None);
        let (_, old) = tokens.create("old", Scope::Read, Some("2020-01-01T00:00:00Z".to_owned()))?;
        assert_eq!(tokens.check(&old, || true), None);
        Ok(())
    }

    #[test]
    fn an_id_names_no_other_file() -> Result<(), TokenError> {
        let home = std::env::temp_dir().join(format!("oomdoc-token-{}", std::process::id()));
        let tokens = Tokens::open(&home)?;
        for id in ["../../etc/passwd", "..", "", "ffffffffffff/../x", "\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}"] {
            assert_eq!(tokens.check(&format!("oomdoc_{id}_00"), || true), None);
        }
        let _ = fs::remove_dir_all(home);
        Ok(())
    }
}
