use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use super::Token;
use super::secret;
use crate::durable;

/// The name of the session's cookie.
pub const COOKIE: &str = "oomdoc_session";
/// How long a session lasts, in seconds: a month.
pub const LIFETIME: i64 = 30 * 86_400;
/// At most this many sessions are kept; beyond it the oldest ends.
const MOST: usize = 4096;

/// A session that a person began with a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// The token's id.
    pub token: String,
    /// The token's name.
    pub name: String,
    /// The CSRF token that the session's forms must carry.
    pub csrf: String,
    /// When it ends, in seconds since 1970.
    pub ends: i64,
}

/// All sessions, by the digest of their cookies. They are kept in a file, so that a restart signs nobody out.
pub struct Sessions {
    path: PathBuf,
    /// Seed of the CSRF tokens of people that a proxy names; drawn anew at each start.
    proxy_seed: String,
    all: Mutex<HashMap<String, Session>>,
}

impl Sessions {
    /// Reads the sessions in `folder`; starts with none where the file cannot be read.
    pub fn open(folder: &Path) -> Sessions {
        let path = folder.join("sessions.json");
        let kept = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        // Without randomness the seed stays empty, and no form of a person that a proxy names is accepted.
        let proxy_seed = secret::random(32).unwrap_or_default();
        Sessions { path, proxy_seed, all: Mutex::new(kept.unwrap_or_default()) }
    }

    /// Begins a session for the holder of `token`; returns the cookie's value.
    pub fn begin(&self, token: &Token) -> io::Result<String> {
        let (cookie, csrf) = (secret::random(32)?, secret::random(16)?);
        let ends = seconds() + LIFETIME;
        let session = Session { token: token.id.clone(), name: token.name.clone(), csrf, ends };
        let mut all = self.all();
        all.retain(|_, session| session.ends > seconds());
        if all.len() >= MOST
            && let Some(oldest) = all.iter().min_by_key(|(_, session)| session.ends).map(|(key, _)| key.clone())
        {
            all.remove(&oldest);
        }
        all.insert(secret::digest(&cookie), session);
        self.keep(&all)?;
        Ok(cookie)
    }

    /// The unexpired session of a cookie.
    pub fn find(&self, cookie: &str) -> Option<Session> {
        self.all().get(&secret::digest(cookie)).filter(|session| session.ends > seconds()).cloned()
    }

    /// The session of a person that a trusted proxy names; it is not stored.
    pub fn of_person(&self, name: &str) -> Session {
        let csrf = match self.proxy_seed.as_str() {
            "" => String::new(),
            seed => secret::digest(&format!("{seed}\n{name}")),
        };
        Session { token: String::new(), name: name.to_owned(), csrf, ends: i64::MAX }
    }

    /// Ends the session of a cookie.
    pub fn end(&self, cookie: &str) -> io::Result<()> {
        let mut all = self.all();
        all.remove(&secret::digest(cookie));
        self.keep(&all)
    }

    fn keep(&self, all: &HashMap<String, Session>) -> io::Result<()> {
        durable::replace(&self.path, &serde_json::to_vec(all)?)
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn seconds() -> i64 {
    jiff::Timestamp::now().as_second()
}

#[cfg(test)]
mod tests {
    use super::super::Scope;
    use super::*;

    #[test]
    fn a_session_outlives_a_restart_and_ends_when_told() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let token = Token {
            id: "000000000000".to_owned(),
            name: "ada".to_owned(),
            scope: Scope::Write,
            created: String::new(),
            expires: None,
        };
        let cookie = Sessions::open(folder.path()).begin(&token)?;
        let again = Sessions::open(folder.path());
        assert_eq!(again.find(&cookie).map(|session| session.name), Some("ada".to_owned()));
        let kept = fs::read_to_string(folder.path().join("sessions.json"))?;
        assert!(!kept.contains(&cookie), "the cookie itself is kept");
        again.end(&cookie)?;
        assert_eq!((again.find(&cookie), Sessions::open(folder.path()).find(&cookie)), (None, None));
        Ok(())
    }

    #[test]
    fn without_randomness_a_proxys_people_have_no_token_that_can_be_guessed() {
        let sessions = Sessions { path: PathBuf::new(), proxy_seed: String::new(), all: Mutex::default() };
        assert_eq!(sessions.of_person("ada").csrf, "");
    }
}
