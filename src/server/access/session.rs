use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use super::Token;
use super::secret;
use crate::durable;

/// The cookie's name.
pub const COOKIE: &str = "oomdoc_session";
/// Seconds: people sign in once a month.
pub const LIFETIME: i64 = 30 * 86_400;
/// More sessions are not kept: the oldest ends.
const MOST: usize = 4096;

/// A person who signed in with a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// The token's id.
    pub token: String,
    /// What the token is called.
    pub name: String,
    /// What their forms must carry.
    pub csrf: String,
    /// When it ends, in seconds since 1970.
    pub ends: i64,
}

/// All sessions, by the digest of their cookies; in a file, so that a restart signs nobody out.
pub struct Sessions {
    path: PathBuf,
    /// Of this start alone: what people whom a proxy names must carry.
    people: String,
    all: Mutex<HashMap<String, Session>>,
}

impl Sessions {
    /// Those in `folder`; none where they cannot be read.
    pub fn open(folder: &Path) -> Sessions {
        let path = folder.join("sessions.json");
        let kept = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        // Without random words nobody whom a proxy names gets a form through.
        let people = secret::random(32).unwrap_or_default();
        Sessions { path, people, all: Mutex::new(kept.unwrap_or_default()) }
    }

    /// Begins one for who brought `token`; the cookie's value.
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

    /// The one whose cookie this is.
    pub fn find(&self, cookie: &str) -> Option<Session> {
        self.all().get(&secret::digest(cookie)).filter(|session| session.ends > seconds()).cloned()
    }

    /// What stands for a session of somebody whom a trusted proxy names.
    pub fn of_person(&self, name: &str) -> Session {
        let csrf = secret::digest(&format!("{}\n{name}", self.people));
        Session { token: String::new(), name: name.to_owned(), csrf, ends: i64::MAX }
    }

    /// Ends the one whose cookie this is.
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
}
