use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{TokenError, Visitor};
use crate::durable;
use crate::history::now;

/// A file that is longer takes the place of the one before it.
const LONGEST: u64 = 16 << 20;

/// Somebody did something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// When, RFC 3339.
    pub time: String,
    /// Who: the name of a token or a person.
    pub who: String,
    /// From where.
    pub address: String,
    /// What they did.
    pub what: String,
    /// To what.
    pub whom: String,
}

/// Who did what: a line of JSON each, in a file that only grows, and the one before it.
pub struct Audit {
    path: PathBuf,
    file: Mutex<File>,
}

impl Audit {
    /// The one in `folder`.
    pub fn open(folder: &Path) -> Result<Audit, TokenError> {
        let path = folder.join("audit.jsonl");
        let opened = durable::make_folder(folder).and_then(|()| append(&path));
        let file = opened.map_err(|error| TokenError::File { path: path.clone(), error })?;
        Ok(Audit { path, file: Mutex::new(file) })
    }

    /// Writes down that `visitor` did `what` to `whom`. What cannot be written is told in the log of the server: it stops nobody.
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

    /// The last `most`, the newest first.
    pub fn last(&self, most: usize) -> io::Result<Vec<Entry>> {
        let mut entries = std::collections::VecDeque::new();
        for path in [self.path.with_extension("old.jsonl"), self.path.clone()] {
            let Ok(file) = File::open(path) else { continue };
            for line in BufReader::new(file).lines() {
                // A line that was cut off by a crash is none.
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
