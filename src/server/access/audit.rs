use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{TokenError, Visitor};
use crate::durable;
use crate::history::now;

/// A file that grew beyond this many bytes becomes `audit.old.jsonl`, in place of the older one.
const LONGEST: u64 = 16 << 20;

/// One action of one visitor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// When, RFC 3339.
    pub time: String,
    /// Who: the name of a token or a person; `-` where nobody gave one.
    pub who: String,
    /// The IP address that the request came from.
    pub address: String,
    /// What was done: `resolve`.
    pub what: String,
    /// The object that it was done to: an incident's id, a query's name.
    pub whom: String,
}

/// The audit log: one line of JSON per action, in a file that is only appended to, and its predecessor.
pub struct Audit {
    path: PathBuf,
    file: Mutex<File>,
}

impl Audit {
    /// Opens the log in `folder` for appending.
    pub fn open(folder: &Path) -> Result<Audit, TokenError> {
        let path = folder.join("audit.jsonl");
        let opened = durable::make_folder(folder).and_then(|()| append(&path));
        let file = opened.map_err(|error| TokenError::File { path: path.clone(), error })?;
        Ok(Audit { path, file: Mutex::new(file) })
    }

    /// Records that `visitor` did `what` to `whom`. A failure to write is logged and does not stop the action.
    pub fn write(&self, visitor: &Visitor, what: &str, whom: &str) {
        let entry = Entry {
            time: now(),
            who: visitor.name.clone().unwrap_or_else(|| "-".to_owned()),
            address: visitor.address.to_string(),
            what: what.to_owned(),
            whom: whom.to_owned(),
        };
        if let Err(error) = self.line(&entry) {
            tracing::error!(%error, "the audit log cannot be written");
        }
    }

    fn line(&self, entry: &Entry) -> io::Result<()> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.metadata()?.len() > LONGEST {
            durable::rename(&self.path, &self.path.with_extension("old.jsonl"))?;
            *file = append(&self.path)?;
        }
        file.write_all(&line)
    }

    /// The newest `most` entries, the newest first.
    pub fn last(&self, most: usize) -> io::Result<Vec<Entry>> {
        let mut entries = std::collections::VecDeque::new();
        for path in [self.path.with_extension("old.jsonl"), self.path.clone()] {
            let Ok(file) = File::open(path) else { continue };
            for line in BufReader::new(file).lines() {
                // A line that a crash cut off does not parse and is skipped.
                entries.extend(serde_json::from_str::<Entry>(&line?).ok());
                if entries.len() > most {
                    entries.pop_front();
                }
            }
        }
        Ok(entries.into_iter().rev().collect())
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}
