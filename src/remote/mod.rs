//! A client of a team's server.
//!
//! In: what waits in the spool, and questions of the command line. Out: the server's answers. What the server did not
//! acknowledge stays in the spool and is sent again.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use thiserror::Error;
use ureq::http::Method;

use crate::history::{
    self, Export, Format, HistoryError, Likeness, Mark, Order, Outcome, Page, Record, Stats, Waiting,
};
use crate::triage::{Client, HttpError, Patience};

/// The most that a user waits for an answer, over all attempts.
const PATIENCE: Patience = Patience {
    attempts: 3,
    first_wait: Duration::from_millis(500),
    longest_wait: Duration::from_secs(5),
    in_all: Duration::from_secs(20),
};

/// The header of an export that says where the next one continues.
pub const NEXT_HEADER: &str = "oomdoc-next";
/// The status of a mark whose changes are no longer known.
const GONE: u16 = 410;
/// Bytes of an export that are written at once.
const PIECE: usize = 64 << 10;
/// Incidents per request.
const AT_ONCE: usize = 100;

/// Why the server gave no answer. [`RemoteError::advice`] says what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The token's file cannot be read.
    #[error("the token in {} cannot be read: {error}", .path.display())]
    Token {
        /// Its path.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The request failed.
    #[error("the server {url}: {error}")]
    Http {
        /// The server's address.
        url: String,
        /// What went wrong.
        error: HttpError,
    },
    /// The answer cannot be parsed.
    #[error("the server {url} answers what this oomdoc does not know: {error}")]
    Answer {
        /// The server's address.
        url: String,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// The spool cannot be read.
    #[error(transparent)]
    History(#[from] HistoryError),
}

impl RemoteError {
    /// What to do about it.
    pub fn advice(&self) -> String {
        match self {
            RemoteError::Token { .. } => "check `server.token_file` of your oomdoc.toml".to_owned(),
            RemoteError::Http { error: HttpError::NotAllowed(401 | 403), .. } => {
                "ask whoever operates the server for a token, and name its file: docs/server.md".to_owned()
            }
            RemoteError::Http { error: HttpError::NotAllowed(_), .. } => {
                "`oomdoc history list` lists what there is".to_owned()
            }
            RemoteError::Http { error: HttpError::Certificates { .. }, .. } => {
                "name a file of certificates (PEM) with SSL_CERT_FILE, or unset it".to_owned()
            }
            RemoteError::Http { .. } => {
                "check the address; what waits for it is kept, and `--server ''` asks the history here".to_owned()
            }
            RemoteError::Answer { .. } => "use an oomdoc as new as the server's".to_owned(),
            RemoteError::History(error) => error.advice(),
        }
    }
}

/// A team's server.
pub struct Remote {
    url: String,
    client: Client,
}

impl Remote {
    /// The server at `url`, authenticating with `token`.
    pub fn new(url: &str, token: Option<&str>) -> Result<Remote, RemoteError> {
        let url = url.trim_end_matches('/').to_owned();
        let headers = token.map(|token| ("authorization", format!("Bearer {token}"))).into_iter().collect();
        match Client::new(headers, PATIENCE, None) {
            Ok(client) => Ok(Remote { url, client }),
            Err(error) => Err(RemoteError::Http { url, error }),
        }
    }

    /// Reads the token in the file at `path`.
    pub fn token(path: &Path) -> Result<String, RemoteError> {
        let text = fs::read_to_string(path).map_err(|error| RemoteError::Token { path: path.to_owned(), error })?;
        Ok(text.trim().to_owned())
    }

    /// Sends what waits in the spool of `home`; returns how much that was.
    pub fn hand_over(&self, home: &Path) -> Result<usize, RemoteError> {
        history::hand_over(home, |waiting| {
            let line = match waiting {
                Waiting::Incident(record) => json!({ "incident": record }),
                Waiting::Outcome(outcome) => json!({ "outcome": outcome }),
            };
            match self.ask::<Value>(&Method::POST, "incidents", Some(&line)) {
                Ok(_) => Ok(true),
                // The server will always refuse this entry for its content; the others must not wait behind it.
                Err(RemoteError::Http { error: HttpError::Refused(400 | 413 | 422), .. }) => Ok(false),
                Err(error) => Err(error),
            }
        })
    }

    /// At most `most` incidents that match `query`, after skipping `skip`.
    pub fn search(&self, query: &str, order: Order, skip: usize, most: usize) -> Result<Page, RemoteError> {
        #[derive(Deserialize)]
        struct Part {
            #[serde(flatten)]
            page: Page,
            next: Option<String>,
        }
        let order = match order {
            Order::Time => "time",
            Order::Relevance => "relevance",
        };
        let asked = format!("incidents?order={order}&limit={AT_ONCE}&q={}", escaped(query));
        let Part { mut page, mut next } = self.get(&asked)?;
        while let Some(cursor) = next.take().filter(|_| page.incidents.len() < skip.saturating_add(most)) {
            let more: Part = self.get(&format!("{asked}&cursor={}", escaped(&cursor)))?;
            page.incidents.extend(more.page.incidents);
            next = more.next;
        }
        page.incidents = page.incidents.into_iter().skip(skip).take(most).collect();
        Ok(page)
    }

    /// Counts the incidents that match `query`.
    pub fn stats(&self, query: &str) -> Result<Stats, RemoteError> {
        self.get(&format!("stats?q={}", escaped(query)))
    }

    /// The incident `id` and its outcomes.
    pub fn show(&self, id: &str) -> Result<(Record, Vec<Outcome>), RemoteError> {
        #[derive(Deserialize)]
        struct Shown {
            #[serde(flatten)]
            record: Record,
            outcomes: Vec<Outcome>,
        }
        let Shown { record, outcomes } = self.get(&format!("incidents/{}", escaped(id)))?;
        Ok((record, outcomes))
    }

    /// At most `most` incidents similar to `record`.
    pub fn similar(&self, record: &Record, most: usize) -> Result<Vec<Likeness>, RemoteError> {
        self.ask(&Method::POST, &format!("similar?limit={most}"), Some(&json!(record)))
    }

    /// Records an outcome.
    pub fn resolve(&self, outcome: &Outcome) -> Result<(), RemoteError> {
        self.ask(&Method::POST, "incidents", Some(&json!({ "outcome": outcome }))).map(|_: Value| ())
    }

    /// Records the annotations of `record`.
    pub fn annotate(&self, record: &Record) -> Result<(), RemoteError> {
        self.ask(&Method::POST, "incidents", Some(&json!({ "incident": record }))).map(|_: Value| ())
    }

    /// Writes `export` to `out`; returns the number of lines and the mark where the next export continues.
    pub fn export(&self, export: &Export, out: &mut dyn Write) -> Result<(u64, Mark), RemoteError> {
        let format = match &export.format {
            Format::Lines => "format=jsonl".to_owned(),
            Format::Bulk(index) => format!("format=bulk&index={index}"),
        };
        let asked = format!("{}/api/v1/export?{format}&since={}", self.url, export.since);
        let failed = |error| match error {
            HttpError::Refused(GONE) => HistoryError::Forgotten { since: export.since.clone() }.into(),
            error => RemoteError::Http { url: self.url.clone(), error },
        };
        let mut sent = self.client.download(&asked, u64::MAX).map_err(failed)?;
        // An older server does not send the header; it would not know `since` and `format` either and sends everything.
        let next = sent.header(NEXT_HEADER).and_then(|next| next.parse().ok());
        let next = next.ok_or_else(|| failed(HttpError::Answer(format!("it does not say `{NEXT_HEADER}`"))))?;
        let (mut piece, mut lines) = (vec![0; PIECE], 0);
        loop {
            let read = sent.read(&mut piece).map_err(|error| failed(HttpError::Unavailable(error.to_string())))?;
            if read == 0 {
                return Ok((lines, next));
            }
            lines += piece[..read].iter().filter(|byte| **byte == b'\n').count() as u64;
            out.write_all(&piece[..read]).map_err(|error| HistoryError::file("export".as_ref(), error))?;
        }
    }

    fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, RemoteError> {
        self.ask(&Method::GET, path, None)
    }

    /// Retries are safe: every request may be repeated without a further effect.
    fn ask<T: DeserializeOwned>(&self, method: &Method, path: &str, body: Option<&Value>) -> Result<T, RemoteError> {
        let url = || self.url.clone();
        let answer = self
            .client
            .send(method, &format!("{}/api/v1/{path}", self.url), body)
            .map_err(|error| RemoteError::Http { url: url(), error })?;
        serde_json::from_value(answer).map_err(|error| RemoteError::Answer { url: url(), error })
    }
}

/// Percent-encodes `text` for a URL.
fn escaped(text: &str) -> String {
    use std::fmt::Write as _;
    text.bytes().fold(String::new(), |mut escaped, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => escaped.push(byte.into()),
            // Writing to a string cannot fail.
            _ => drop(write!(escaped, "%{byte:02X}")),
        }
        escaped
    })
}
